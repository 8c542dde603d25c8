"""Rates that flows offer to their links, predicted from equal shares without running anything."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.network.arrivals import ArrivalProcess, Replay
from dfcmodel.network.flows import CBR, OnOff
from responsefn import WindowRule

if TYPE_CHECKING:
    from dfcmodel.network.flows import Flow, Source
    from dfcmodel.network.links import Link
    from dfcmodel.network.networks import Scenario

__all__ = ["bottleneck_of", "equal_shares", "flows_per_link", "offered_packets"]


def flows_per_link(scenario: Scenario) -> Counter[str]:
    """Return the number of flows over each link, by the links' names."""
    counts = np.bincount(scenario.routes.places, minlength=len(scenario.links)).tolist()
    return Counter(
        {n.name: count for n, count in zip(scenario.links, counts, strict=True) if count}
    )


def bottleneck_of(scenario: Scenario, flow: Flow, crowd: Counter[str]) -> Link:
    """Return the link of a flow's path with the smallest equal share; ``crowd`` is `flows_per_link`."""
    return min(scenario.path(flow), key=lambda link: link.rate / crowd[link.name])


def equal_shares(scenario: Scenario) -> list[float]:
    """Return each flow's rate at equal shares of its links, packets/s, shape (F,).

    A window limits it to a window per round trip, a source without a window sends at its own rate (`OnOff`: that of
    its on periods; an arrival process its mean rate, and its share where that is not known).
    """
    table, routes = scenario.table, scenario.routes
    own = table.each("source", _own_rate)
    crowd = np.bincount(routes.places, minlength=len(scenario.links))
    share = scenario.by_link(lambda link: link.rate) / np.maximum(crowd, 1)
    rates = np.minimum.reduceat(share[routes.places], routes.begin)
    windows = table.numbers("max_window") / scenario.base_rtts()
    rates = np.where(table.of_kind(WindowRule), np.minimum(rates, windows), rates)
    rates = np.fmin(rates, table.each("arrivals", _own_rate))
    found: list[float] = np.where(np.isnan(own), rates, own).tolist()
    return found


def _own_rate(source: Source | None) -> float:
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
    of_trace = np.minimum(
        of_trace, table.each("arrivals", lambda s: s.total if isinstance(s, Replay) else math.inf)
    )
    sent = np.array(equal_shares(scenario)) * times
    found: list[float] = np.minimum(np.minimum(most, of_trace), sent).tolist()
    return found
