"""The records of links and queues at t = 0: rates, buffers, rooms of classes, managers, ways, and how long orders are kept."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.engine.feedback_schedules import rooms_of
from dfcmodel.engine.kernel.records import LINK, PER_FLOW_RATE, QUEUE, STORM
from dfcmodel.network.callback_events import Signature, manager_signature_of
from dfcmodel.network.path_elements import DelayTrace
from dfcmodel.network.queueing.disciplines import dfc_of, manager_of

if TYPE_CHECKING:
    from dfcmodel.engine.layouts import Layout
    from dfcmodel.network.networks import Scenario

__all__ = [
    "Way",
    "largest_holds",
    "link_records",
    "manager_records",
    "order_rows",
    "power_of_two",
    "queue_records",
    "reserve_rooms",
    "traced_ways",
]

MAX_ROWS = 2**20
"""Rows of the order of what waits; beyond them steps share a row."""
SPARE_ROWS = 8
"""More rows than steps of a full buffer. Where a link waits longer, paused or at a rate of DFC, steps share a row."""


def link_records(scenario: Scenario, layout: Layout, h: float, quantum: float) -> Any:
    """Return the records of the links at t = 0, those of shaped hosts last."""
    rows = layout.links(scenario)
    L = len(layout.order)
    links: Any = np.zeros(len(rows), dtype=LINK)
    links["rate"] = [math.floor(link.rate * h / quantum) * quantum for link in rows]
    links["pace"] = links["rate"]
    rooms = np.array([scenario.room_of(n) for n in layout.order])
    links["limit"] = np.inf
    links["limit"][:L] = np.floor(rooms / quantum) * quantum
    links["kind"] = [*layout.queue_types, *([PER_FLOW_RATE] * len(layout.shaped))]
    links["shared"] = [link.shared for link in rows]
    links["first"], links["end"] = layout.queues.T
    links["per_buffer"] = np.where(links["shared"], links["end"] - links["first"], 1)
    links["first_band"], links["end_band"] = layout.bands_at[:-1], layout.bands_at[1:]
    links["first_pooled"] = links["first_band"]
    return links


def reserve_rooms(
    scenario: Scenario, layout: Layout, links: Any, stops: Any, h: float, quantum: float
) -> None:
    """Give the lossless classes of links with PFC rooms of their own."""
    for i, n in enumerate(layout.order):
        rule: Any = scenario.links[n].discipline
        if rule.pauses != "class":
            continue
        own = np.flatnonzero((stops["pausing"] == i) & (stops["held"] != STORM))
        first, end = layout.bands_at[i : i + 2]
        flows = layout.flow_of[layout.bands[first:end, 2]]
        lossless = sum(scenario.flows[f].priority in rule.classes for f in flows)
        links["first_pooled"][i] = first + lossless
        if len(own):
            _check_rooms(scenario, n)
            links["first_ingress"][i], links["end_ingress"][i] = own[0], own[-1] + 1
            rooms = rooms_of(scenario, n, h, quantum)
            links["reserved"][i] = scenario.part_of_rooms(n, sum(rooms.values()))


def _check_rooms(scenario: Scenario, n: int) -> None:
    """Refuse a buffer without room for each flow of a host: in the fluid each has an access link of its own."""
    reserved, link = scenario.part_of_rooms(n, sum(scenario.rooms(n).values())), scenario.links[n]
    if reserved > scenario.buffer_of(n):
        msg = f"in the fluid each flow of a host has an access link, for which PFC reserves room, {reserved:g} packets in all"
        hint = "increase it, or use method=Packets() (--level packets in the shell)"
        raise ValueError(f"buffer of link {link.name!r} = {link.buffer!r}: {msg}; {hint}")


def queue_records(scenario: Scenario, layout: Layout, links: Any, h: float, quantum: float) -> Any:
    """Return the records of the queues at t = 0; the last is for messages that nobody receives."""
    queues: Any = np.zeros(len(layout.up) + 1, dtype=QUEUE)
    queues["peak"] = np.inf
    queues["origin"][:-1], queues["lag"][:-1] = layout.up, layout.lag
    queues["flow"][:-1], queues["link"][:-1] = layout.flow_of, layout.link_of
    for f, flow in enumerate(scenario.flows):
        pace = scenario.path(flow)[0].rate * h
        queues["service"][f] = (
            math.inf if scenario.enters_at_once(flow) else math.floor(pace / quantum) * quantum
        )
    queues["weight"][:-1] = layout.weight
    for i, (first, end) in enumerate(layout.queues.tolist()):
        lags = {(queue["lag"], queue["weight"]) for queue in queues[first:end]}
        links["lag"][i], links["weight"][i] = next(iter(lags)) if len(lags) == 1 else (-1, 1.0)
    for i, link in enumerate(layout.links(scenario)):
        own = queues[slice(*layout.queues[i])]
        own["link_rate"] = link.rate * h
        if dfc := dfc_of(link.discipline):
            own["intensity"] = dfc.intensity
            own["gain"] = dfc.diffusion / link.delay * h
        if i < layout.per_flow_links:
            own["service"] = 0.0 if dfc else links["rate"][i]
            own["peak"][0 if link.shared else slice(None)] = 0.0
    return queues


def order_rows(links: Any, layout: Layout, quantum: float) -> int:
    """Return how many steps the orders of queues remember: for as long as full buffers last."""
    longest = 1.0
    for link, _ in zip(links, layout.order, strict=False):
        buffers = 1.0 if link["shared"] else float(link["end"] - link["first"])
        longest = max(longest, buffers * link["limit"] / max(link["rate"], quantum))
    return power_of_two(int(min(longest, MAX_ROWS)) + SPARE_ROWS)


def manager_records(scenario: Scenario, layout: Layout, links: Any) -> tuple[Signature, ...]:
    """Fill in the queue managers of the links; return those that there are."""
    kinds: list[Signature] = []
    links["manager"] = -1
    for i, n in enumerate(layout.order):
        manager = manager_of(scenario.links[n].discipline)
        if manager is not None and n not in scenario.interfaces:
            kind = manager_signature_of(manager)
            if kind not in kinds:
                kinds.append(kind)
            links["manager"][i] = kinds.index(kind)
            links["late"][i] = manager.at == "departure"
            links["fractional"][i] = manager.fractional
            state = [float(value) for value in manager.State()]
            links["drop"][i], links["mark"][i] = state[:2]
            links["state"][i, : len(state) - 2] = state[2:]
            numbers = list(manager.numbers(scenario.packet_size).values())
            links["parameters"][i, : len(numbers)] = numbers
            first, end = _managed_bands(scenario, layout, i)
            links["first_managed"][i], links["end_managed"][i] = first, end
            links["manager"][i] = -1 if first == end else links["manager"][i]
    return tuple(kinds)


def _managed_bands(scenario: Scenario, layout: Layout, i: int) -> tuple[int, int]:
    """Return the FIFO queues that the manager of a link sees, the first and one past the last."""
    first, end = map(int, layout.bands_at[i : i + 2])
    only = getattr(scenario.links[layout.order[i]].discipline, "managed", None)
    if only is None:
        return first, end
    flows = [layout.flow_of[layout.bands[b, 2]] for b in range(first, end)]
    own = [b for b, f in enumerate(flows, first) if scenario.flows[f].priority == only]
    return (own[0], own[0] + 1) if own else (first, first)


def power_of_two(least: int) -> int:
    """Return the least power of two that is not less."""
    return 1 << math.ceil(math.log2(least))


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
