"""Links and queues at t = 0: their rates, buffers, ways and managers, how long orders are kept, and the feedback of DFC."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.engine.kernel.records import (
    CLOCK,
    INPUT_LINK,
    INPUT_SENDING,
    LINK,
    PER_FLOW_RATE,
    QUEUE,
    SENDING,
    SLOT,
)
from dfcmodel.network.callback_events import Signature, manager_signature_of
from dfcmodel.network.path_elements import DelayTrace
from dfcmodel.network.queueing.disciplines import dfc_of, manager_of

if TYPE_CHECKING:
    from dfcmodel.engine.layouts import Layout
    from dfcmodel.network.networks import Scenario

__all__ = [
    "Way",
    "feedback",
    "largest_holds",
    "link_records",
    "manager_records",
    "order_rows",
    "power_of_two",
    "queue_records",
    "traced_ways",
]

MAX_ROWS = 2**20
"""Rows of the order of what waits; beyond them steps share a row."""
SPARE_ROWS = 8
"""More rows than steps of a full buffer. Where a link waits longer, paused or at a rate of DFC, steps share a row."""
SEVERAL_FLOWS = 3
"""The kernel has separate loops for links with one flow, with two, and with this many or more."""


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
    links["first_pooled"], links["manager"] = links["first_band"], -1
    return links


def queue_records(scenario: Scenario, layout: Layout, links: Any, h: float, quantum: float) -> Any:
    """Return the records of the queues at t = 0; the last is for messages that nobody receives."""
    queues: Any = np.zeros(len(layout.up) + 1, dtype=QUEUE)
    queues["peak"] = np.inf
    queues["origin"][:-1], queues["lag"][:-1] = layout.up, layout.lag
    queues["flow"][:-1], queues["link"][:-1] = layout.flow_of, layout.link_of
    paces = scenario.by_link(lambda link: link.rate)[scenario.routes.first] * h
    paces = np.where(scenario.at_once, np.inf, np.floor(paces / quantum) * quantum)
    queues["service"][: len(paces)] = paces
    queues["weight"][:-1] = layout.weight
    pairs = layout.lags_and_weights
    lags = [set(pairs[first:end]) for first, end in layout.queues.tolist()]
    common = [lag.pop() if len(lag) == 1 else (-1, 1.0) for lag in lags]
    links["lag"], links["weight"] = np.transpose(common)
    for i, link in enumerate(layout.links(scenario)):
        rows = queues[slice(*layout.queues[i])]
        rows["link_rate"] = link.rate * h
        if dfc := dfc_of(link.discipline):
            rows["intensity"] = dfc.intensity
            rows["gain"] = dfc.diffusion / link.delay * h
        if i < layout.per_flow_links:
            rows["service"] = 0.0 if dfc else links["rate"][i]
            rows["peak"][0 if link.shared else slice(None)] = 0.0
    return queues


def order_rows(links: Any, layout: Layout, quantum: float, steps: float) -> int:
    """Return how many steps the orders of queues remember: for as long as full buffers last, and no more than the run has.

    Interfaces of hosts have room without bound.
    """
    steps_to_empty = 1.0
    for link, _ in zip(links, layout.order, strict=False):
        buffers = 1.0 if link["shared"] else float(link["end"] - link["first"])
        steps_to_empty = max(steps_to_empty, buffers * link["limit"] / max(link["rate"], quantum))
    return power_of_two(math.ceil(min(steps_to_empty, steps, MAX_ROWS)) + SPARE_ROWS)


def manager_records(scenario: Scenario, layout: Layout, links: Any) -> tuple[Signature, ...]:
    """Fill in the queue managers of the links; return those that there are."""
    kinds: list[Signature] = []
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
    managed = [b for b, f in enumerate(flows, first) if scenario.flows[f].priority == only]
    return (managed[0], managed[0] + 1) if managed else (first, first)


def power_of_two(minimum: int) -> int:
    """Return the smallest power of two that is not below a number."""
    return 1 << math.ceil(math.log2(minimum))


def feedback(scenario: Scenario, layout: Layout, h: float, rng: np.random.Generator) -> dict[str, Any]:
    """Return the tables of DFC's feedback, fields of `records.Feedback`.

    There is one clock per period; a slot is a step of a period. The message over a link is sent by the
    node at its end, whose phase it has.
    """
    phase = dict(zip(scenario.nodes, rng.random(len(scenario.nodes)), strict=True))
    links = layout.links(scenario)
    L = len(layout.order)
    dfc = [link.discipline.diffuses for link in links]
    by_input = any(link.discipline.queue_per == "input" for link in links)
    per_flow = [dfc[i] and not (by_input and i < L) for i in range(len(links))]
    link_numbers = [*layout.order, *(scenario.path_index(scenario.flows[f])[0] for f in layout.shaped)]
    periods: dict[int, list[list[int]]] = {}
    for i, link in enumerate(links):
        if law := dfc_of(link.discipline):
            period = max(1, round(layout.delays[link_numbers[i]]))
            slots = periods.setdefault(period, [[] for _ in range(period)])
            node = link.target if i < L else link.source
            random = law.phases == "random"
            slots[int(phase[node] * period) if random else 0].append(i)
    rows: list[tuple[int, ...]] = []
    clocks: list[tuple[int, int, int]] = []
    hearing: list[tuple[int, ...]] = []
    sending: list[tuple[int, ...]] = []
    input_hearing: list[int] = []
    input_sending: list[tuple[int, int, int]] = []
    for period, slots in periods.items():
        clocks.append((period, 0, len(rows)))
        for slot in slots:
            hear = [_queues(layout, i) for i in slot if per_flow[i]]
            send = [entry for i in slot for entry in _senders_to(layout, per_flow, i)]
            inputs = [i for i in slot if not per_flow[i]]
            messages = [entry for i in slot if by_input for entry in _inputs_of(layout, dfc, i)]
            rows.append(
                (
                    *_add(hearing, hear), *_add(sending, send),
                    len(input_hearing), len(input_hearing) + len(inputs),
                    len(input_sending), len(input_sending) + len(messages),
                )
            )  # fmt: skip
            input_hearing += inputs
            input_sending += messages
    return {
        "clocks": np.array(clocks, dtype=CLOCK),
        "slots": np.array(rows, dtype=SLOT),
        "hearing": np.array(hearing, dtype=np.uint64).reshape(-1, 2),
        "sending": np.array(sending, dtype=SENDING),
        "input_hearing": np.array(input_hearing, dtype=np.int64),
        "input_sending": np.array(input_sending, dtype=INPUT_SENDING),
        "input_links": np.array([(link.rate * h, 0.0) * 2 for link in links], dtype=INPUT_LINK),
    }


def _add(table: list[tuple[int, ...]], entries: list[tuple[int, ...]]) -> tuple[int, int, int, int]:
    """Append a slot's entries; return where those of one, two and more flows begin, and their end."""
    starts = [len(table) + sum(entry[0] < n for entry in entries) for n in (1, 2, SEVERAL_FLOWS, SEVERAL_FLOWS + 1)]
    table += [entry[1:] for entry in sorted(entries)]
    return tuple(starts)  # type: ignore[return-value]


def _inputs_of(layout: Layout, dfc: list[bool], i: int) -> list[tuple[int, int, int]]:
    """Return who tells link i, or a host that imitates one, about the queues that it feeds."""
    who = i if i < len(layout.order) else -1 - layout.shaped[i - len(layout.order)]
    senders = set()
    for c in range(*layout.queues[i]):
        d = int(layout.down[c])
        if d < 0 or not dfc[layout.link_of[d]]:
            senders.add((who, -1, c))
            continue
        bands = slice(*layout.bands_at[layout.link_of[d] :][:2])
        inside = (layout.bands[bands, 2] <= d) & (d < layout.bands[bands, 3])
        senders.add((who, bands.start + int(np.argmax(inside)), 0))
    return sorted(senders)


def _queues(layout: Layout, i: int) -> tuple[int, ...]:
    """Return how many flows a link has, at most `SEVERAL_FLOWS`, and its queues as the loops want them."""
    first, end = map(int, layout.queues[i])
    return min(end - first, SEVERAL_FLOWS), first, end if end - first >= SEVERAL_FLOWS else end - 1


def _senders_to(layout: Layout, per_flow: list[bool], i: int) -> list[tuple[int, ...]]:
    """Return the links that send feedback to link i, as its slot's entries."""
    fed = [int(d) for d in layout.down[slice(*layout.queues[i])] if d >= 0]
    senders: list[tuple[int, ...]] = []
    for j in sorted({int(layout.link_of[d]) for d in fed}):
        queues = [d for d in fed if layout.link_of[d] == j]
        if not per_flow[j]:
            continue
        flows, first, last = _queues(layout, j)
        nobody = len(layout.up)
        hear = [min(queues), max(queues) + 1]
        if flows < SEVERAL_FLOWS:
            hear = [int(layout.up[d]) if d in queues else nobody for d in (first, last)]
        senders.append((flows, first, last, *hear))
    return senders


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
    ways: dict[int, Way] = {}
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
            if c in ways:
                msg = f"a second one acts on flow {flow.name!r}; use method=Packets()"
                raise ValueError(f"elements: DelayTrace at {element.link}: {msg}")
            ways[c] = Way(c, float(layout.lag[c] + 1.0 - layout.weight[c]), element)
    return list(ways.values())


def largest_holds(scenario: Scenario) -> list[float]:
    """Return the longest times for which the traces hold a packet, s, and 0."""
    traces = (element for element in scenario.elements if isinstance(element, DelayTrace))
    return [0.0, *(element.largest_hold for element in traces)]
