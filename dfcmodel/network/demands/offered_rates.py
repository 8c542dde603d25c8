"""Rates that flows offer to their links, predicted from equal shares without a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.network.endpoints.arrivals import ArrivalProcess, Replay
from dfcmodel.network.endpoints.sources import CBR, OnOff
from responsefn import FixedRate, WindowRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.endpoints.sources import Source
    from dfcmodel.network.networks import Scenario

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = [
    "bottlenecks",
    "crowds",
    "equal_shares",
    "may_lose",
    "offers_all_at_once",
    "packet_demand",
    "shares_of_links",
    "source_rate",
]


def crowds(scenario: Scenario) -> Integers:
    """Return the number of flows that cross each link, (L,)."""
    return np.bincount(scenario.routes.places, minlength=len(scenario.links))


def bottlenecks(scenario: Scenario) -> Integers:
    """Return each flow's link with the smallest equal share, the first of equals, by index, (F,)."""
    return scenario.routes.link_of_minimum(shares_of_links(scenario))


def shares_of_links(scenario: Scenario) -> Floats:
    """Return each link's rate over its number of flows, packets/s, (L,); its rate without flows."""
    crowd = crowds(scenario)
    return np.asarray(scenario.link_table.rates / np.maximum(crowd, 1))


def may_lose(scenario: Scenario) -> NDArray[np.bool_]:
    """Return flags, (F,), of flows at bottlenecks that their windows together can overfill.

    Slow start sends two packets per ACK, so that half of a window may wait.
    """
    table, routes, at = scenario.table, scenario.routes, bottlenecks(scenario)
    endless = table.numbers("idle") < np.inf
    sizes = np.where(endless, np.inf, table.numbers("size"))
    max_windows = np.minimum(table.numbers("max_window"), sizes)
    max_windows = np.where(table.of_kind(WindowRule), max_windows, np.inf)
    windows = np.bincount(routes.places, max_windows[routes.flow], len(scenario.link_table))
    used, which = np.unique(at, return_inverse=True)
    rooms = np.array([scenario.room_of(n) for n in used.tolist()])[which.reshape(-1)]
    rates = scenario.link_table.rates[at]
    holds = rooms + np.minimum(rooms, rates * scenario.base_rtts())
    return np.asarray(windows[at] > holds)


def equal_shares(scenario: Scenario) -> list[float]:
    """Return F rates, packets/s: the source's if known, else the least of equal shares, window / RTT and arrivals.

    A window limits it to a window per round trip, a source without a window sends at its rate (`OnOff`: the rate of its
    on periods; an arrival process: its mean rate, or its share if that is unknown).
    """
    table, routes = scenario.table, scenario.routes
    source_rates = table.each("source", source_rate)
    rates = np.minimum.reduceat(shares_of_links(scenario)[routes.places], routes.begin)
    windows = table.numbers("max_window") / scenario.base_rtts()
    rates = np.where(table.of_kind(WindowRule), np.minimum(rates, windows), rates)
    rates = np.fmin(rates, table.each("arrivals", source_rate))
    shares: list[float] = np.where(np.isnan(source_rates), rates, source_rates).tolist()
    return shares


def source_rate(source: Source | None) -> float:
    """Return the rate, packets/s, of a source or arrival process without window; NaN if unknown."""
    if isinstance(source, (CBR, OnOff)):
        return source.rate
    if not isinstance(source, (ArrivalProcess, Replay)) or not math.isfinite(source.mean_rate):
        return math.nan
    return source.mean_rate


def packet_demand(scenario: Scenario, duration: float) -> list[float]:
    """Return an upper bound of the packets of each flow in ``duration`` s at equal shares, as a list of F numbers."""
    table = scenario.table
    stops = np.minimum(duration, table.numbers("stop"))
    times = np.maximum(0.0, stops - table.numbers("start"))
    endless = table.numbers("idle") < math.inf
    sizes = np.where(endless, math.inf, table.numbers("size"))
    of_trace = table.each("source", lambda s: s.total if isinstance(s, Replay) else math.inf)
    of_trace = np.minimum(of_trace, table.each("arrivals", lambda s: s.total if isinstance(s, Replay) else math.inf))
    sent = np.array(equal_shares(scenario)) * times
    packets: list[float] = np.minimum(np.minimum(sizes, of_trace), sent).tolist()
    return packets


def offers_all_at_once(scenario: Scenario) -> bool:
    """Return whether all flows are transfers that begin at one time, each at least at the rate of its interface.

    They are finite, have no predecessors, and send by `responsefn.FixedRate` with at least the rate of their first
    link, which is the interface.
    """
    table = scenario.table
    begins, sizes = table.numbers("start"), table.numbers("size")
    if table.waits.any() or not (np.isfinite(sizes) & np.isinf(table.numbers("stop"))).all():
        return False
    first = scenario.routes.first
    rates = table.each("source", _sending_rate)
    lines = scenario.link_table.rates[first]
    return bool((begins == begins[0]).all() and scenario.is_interface[first].all() and (rates >= lines).all())


def _sending_rate(source: Source) -> float:
    """Return the rate of a `FixedRate`, packets/s; 0 for other sources."""
    return float(source.params.sending_rate) if isinstance(source, FixedRate) else 0.0
