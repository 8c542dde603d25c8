"""Rates that flows offer to their links, predicted from equal shares without running anything."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from dfcmodel.network.arrivals import ArrivalProcess, Replay
from dfcmodel.network.flows import CBR, OnOff
from responsefn import WindowRule

if TYPE_CHECKING:
    from dfcmodel.network.flows import Flow
    from dfcmodel.network.networks import Link, Scenario

__all__ = ["bottleneck_of", "equal_shares", "flows_per_link", "offered_packets"]


def flows_per_link(scenario: Scenario) -> Counter[str]:
    """Return the number of flows over each link, by the links' names."""
    return Counter(link.name for flow in scenario.flows for link in scenario.path(flow))


def bottleneck_of(scenario: Scenario, flow: Flow, crowd: Counter[str]) -> Link:
    """Return the link of a flow's path with the smallest equal share; ``crowd`` is `flows_per_link`."""
    return min(scenario.path(flow), key=lambda link: link.rate / crowd[link.name])


def equal_shares(scenario: Scenario) -> list[float]:
    """Return each flow's rate at equal shares of its links, packets/s, shape (F,).

    A window limits it to a window per round trip, a source without a window sends at its own rate (`OnOff`: that of
    its on periods; an arrival process its mean rate, and its share where that is not known).
    """
    crowd = flows_per_link(scenario)
    rates = []
    for flow in scenario.flows:
        if isinstance(flow.source, (CBR, OnOff)):
            rates.append(flow.source.rate)
            continue
        if isinstance(flow.source, (ArrivalProcess, Replay)) and math.isfinite(
            flow.source.mean_rate
        ):
            rates.append(flow.source.mean_rate)
            continue
        rate = min(link.rate / crowd[link.name] for link in scenario.path(flow))
        if isinstance(flow.source, WindowRule):
            rate = min(rate, flow.max_window / scenario.base_rtt(flow))
        rates.append(rate)
    return rates


def _most_packets(flow: Flow) -> float:
    """Return the most packets that a flow sends, however long it is simulated."""
    total = flow.source.total if isinstance(flow.source, Replay) else math.inf
    return min(flow.all_packets, total)


def offered_packets(scenario: Scenario, duration: float) -> list[float]:
    """Return the packets that each flow sends at most in ``duration`` s, at equal shares, shape (F,)."""
    return [
        min(_most_packets(flow), rate * max(0.0, min(duration, flow.stop) - flow.start))
        for flow, rate in zip(scenario.flows, equal_shares(scenario), strict=True)
    ]
