"""Ways between queues with a trace of delays (`dfcmodel.DelayTrace`) in front of the second one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dfcmodel.network.path_elements import DelayTrace

if TYPE_CHECKING:
    from dfcmodel.engine.layouts import Layout
    from dfcmodel.network.networks import Scenario

__all__ = ["Way", "largest_holds", "traced_ways"]


class Way(NamedTuple):
    """The way from a queue to the next one with a trace in front of it.

    queue: the first one's place; steps: of the way without the trace; trace: of its delays.
    """

    queue: int
    steps: float
    trace: DelayTrace


def traced_ways(scenario: Scenario, layout: Layout) -> list[Way]:
    """Return the ways of the flows that have a trace of delays.

    Raises
    ------
    ValueError
        Where two traces act on one flow at a link.
    """
    found: dict[int, Way] = {}
    names = scenario.link_table.names
    for element in scenario.elements:
        if not isinstance(element, DelayTrace):
            continue
        n = names.index(element.link)
        for f, flow in enumerate(scenario.flows):
            hops = scenario.path_index(flow)
            if n not in hops or (element.flows and flow.name not in element.flows):
                continue
            c = int(layout.up[layout.hop_queues[f][hops.index(n)]])
            if c in found:
                msg = f"a second one acts on flow {flow.name!r}; use method=Packets()"
                raise ValueError(f"elements: DelayTrace at {element.link}: {msg}")
            found[c] = Way(c, float(layout.lag[c] + 1.0 - layout.weight[c]), element)
    return list(found.values())


def largest_holds(scenario: Scenario) -> list[float]:
    """Return the longest times for which the traces hold a packet, s, and 0."""
    traces = (each for each in scenario.elements if isinstance(each, DelayTrace))
    return [0.0, *(each.largest_hold for each in traces)]
