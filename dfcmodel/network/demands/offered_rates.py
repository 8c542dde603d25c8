"""Rates that flows offer to their links, predicted from equal shares without running anything."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.network.demands.arrivals import ArrivalProcess, Replay
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
    "offered_packets",
    "offers_all_at_once",
    "own_rate",
    "shares_of_links",
]


def crowds(scenario: Scenario) -> Integers:
    """Return the number of flows over each link, shape (L,)."""
    return np.bincount(scenario.routes.places, minlength=len(scenario.links))


def bottlenecks(scenario: Scenario) -> Integers:
    """Return for each flow the link of its path with the smallest equal share, the first of several, shape (F,)."""
    return scenario.routes.first_least(shares_of_links(scenario))


def shares_of_links(scenario: Scenario) -> Floats:
    """Return the equal share of a flow at each link, packets/s, shape (L,); of a link without flows its rate."""
    crowd = crowds(scenario)
    return np.asarray(scenario.by_link(lambda link: link.rate) / np.maximum(crowd, 1))


def may_lose(scenario: Scenario) -> NDArray[np.bool_]:
    """Return whether a flow's bottleneck can overflow, shape (F,): windows above what it and the path hold.

    Slow start sends two packets per ACK, so that half of a window may wait.
    """
    table, routes, at = scenario.table, scenario.routes, bottlenecks(scenario)
    endless = table.numbers("idle") < np.inf
    sizes = np.where(endless, np.inf, table.numbers("size"))
    most = np.minimum(table.numbers("max_window"), sizes)
    most = np.where(table.of_kind(WindowRule), most, np.inf)
    windows = np.bincount(routes.places, most[routes.flow], len(scenario.link_table))
    used, which = np.unique(at, return_inverse=True)
    rooms = np.array([scenario.room_of(n) for n in used.tolist()])[which.reshape(-1)]
    rates = scenario.by_link(lambda link: link.rate)[at]
    holds = rooms + np.minimum(rooms, rates * scenario.base_rtts())
    return np.asarray(windows[at] > holds)


def equal_shares(scenario: Scenario) -> list[float]:
    """Return each flow's rate at equal shares of its links, packets/s, shape (F,).

    A window limits it to a window per round trip, a source without a window sends at its own rate (`OnOff`: that of
    its on periods; an arrival process its mean rate, and its share where that is not known).
    """
    table, routes = scenario.table, scenario.routes
    own = table.each("source", own_rate)
    rates = np.minimum.reduceat(shares_of_links(scenario)[routes.places], routes.begin)
    windows = table.numbers("max_window") / scenario.base_rtts()
    rates = np.where(table.of_kind(WindowRule), np.minimum(rates, windows), rates)
    rates = np.fmin(rates, table.each("arrivals", own_rate))
    found: list[float] = np.where(np.isnan(own), rates, own).tolist()
    return found


def own_rate(source: Source | None) -> float:
    """Return the rate at which a source without a window sends, or data arrive, packets/s; nan where it is not known."""
    if isinstance(source, (CBR, OnOff)):
        return source.rate
    if not isinstance(source, (ArrivalProcess, Replay)) or not math.isfinite(source.mean_rate):
        return math.nan
    return source.mean_rate


def offered_packets(scenario: Scenario, duration: float) -> list[float]:
    """Return the packets that each flow sends at most in ``duration`` s, at equal shares, shape (F,)."""
    table = scenario.table
    ends = np.minimum(duration, table.numbers("stop"))
    times = np.maximum(0.0, ends - table.numbers("start"))
    endless = table.numbers("idle") < math.inf
    most = np.where(endless, math.inf, table.numbers("size"))
    of_trace = table.each("source", lambda s: s.total if isinstance(s, Replay) else math.inf)
    of_trace = np.minimum(of_trace, table.each("arrivals", lambda s: s.total if isinstance(s, Replay) else math.inf))
    sent = np.array(equal_shares(scenario)) * times
    found: list[float] = np.minimum(np.minimum(most, of_trace), sent).tolist()
    return found


def offers_all_at_once(scenario: Scenario) -> bool:
    """Return whether all flows are transfers that begin together, each at the rate of its host's interface.

    They are finite, wait for no others, and have `responsefn.FixedRate` of at least the rate of their first link, which is the
    interface.
    """
    table = scenario.table
    begins, sizes = table.numbers("start"), table.numbers("size")
    if table.waits.any() or not (np.isfinite(sizes) & np.isinf(table.numbers("stop"))).all():
        return False
    first = scenario.routes.first
    rates = table.each("source", _fixed_rate)
    lines = scenario.by_link(lambda link: link.rate)[first]
    return bool((begins == begins[0]).all() and scenario.is_interface[first].all() and (rates >= lines).all())


def _fixed_rate(source: Source) -> float:
    return float(source.params.sending_rate) if isinstance(source, FixedRate) else 0.0
