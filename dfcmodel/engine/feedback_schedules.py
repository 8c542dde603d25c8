"""Feedback schedules: which links send rates and backlogs (DFC) or pauses (802.3x) to which, and when."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.kernel.records import (
    CLOCK,
    INPUT_LINK,
    INPUT_SENDING,
    PAUSE,
    SENDING,
    SLOT,
    STORM,
    WHOLE,
)
from dfcmodel.network.queueing.class_pauses import PFC
from dfcmodel.network.queueing.disciplines import Pause, dfc_of
from dfcmodel.network.time_steps import whole_and_part

if TYPE_CHECKING:
    from dfcmodel.engine.layouts import Layout
    from dfcmodel.network.networks import Scenario

__all__ = ["feedback", "pauses", "rooms_of"]

SEVERAL_FLOWS = 3
"""The kernel has separate loops for links with one flow, with two, and with this many or more."""


def feedback(
    scenario: Scenario, layout: Layout, h: float, rng: np.random.Generator
) -> dict[str, Any]:
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
    places = [*layout.order, *(scenario.path_index(scenario.flows[f])[0] for f in layout.shaped)]
    periods: dict[int, list[list[int]]] = {}
    for i, link in enumerate(links):
        if dfc_law := dfc_of(link.discipline):
            period = max(1, round(layout.delays[places[i]]))
            slots = periods.setdefault(period, [[] for _ in range(period)])
            node = link.target if i < L else link.source
            random = dfc_law.phases == "random"
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
            told = [entry for i in slot if by_input for entry in _inputs_of(layout, dfc, i)]
            rows.append(
                (
                    *_add(hearing, hear), *_add(sending, send),
                    len(input_hearing), len(input_hearing) + len(inputs),
                    len(input_sending), len(input_sending) + len(told),
                )
            )  # fmt: skip
            input_hearing += inputs
            input_sending += told
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
    starts = [
        len(table) + sum(entry[0] < n for entry in entries)
        for n in (1, 2, SEVERAL_FLOWS, SEVERAL_FLOWS + 1)
    ]
    table += [entry[1:] for entry in sorted(entries)]
    return tuple(starts)  # type: ignore[return-value]


def _inputs_of(layout: Layout, dfc: list[bool], i: int) -> list[tuple[int, int, int]]:
    """Return who tells link i, or a host that imitates one, about the queues that it feeds."""
    who = i if i < len(layout.order) else -1 - layout.shaped[i - len(layout.order)]
    found = set()
    for c in range(*layout.queues[i]):
        d = int(layout.down[c])
        if d < 0 or not dfc[layout.link_of[d]]:
            found.add((who, -1, c))
            continue
        at = slice(*layout.bands_at[layout.link_of[d] :][:2])
        inside = (layout.bands[at, 2] <= d) & (d < layout.bands[at, 3])
        found.add((who, at.start + int(np.argmax(inside)), 0))
    return sorted(found)


def _queues(layout: Layout, i: int) -> tuple[int, ...]:
    """Return how many flows a link has, at most `SEVERAL_FLOWS`, and its queues as the loops want them."""
    first, end = map(int, layout.queues[i])
    return min(end - first, SEVERAL_FLOWS), first, end if end - first >= SEVERAL_FLOWS else end - 1


def _senders_to(layout: Layout, per_flow: list[bool], i: int) -> list[tuple[int, ...]]:
    """Return the links that send feedback to link i, as its slot's entries."""
    fed = [int(d) for d in layout.down[slice(*layout.queues[i])] if d >= 0]
    found: list[tuple[int, ...]] = []
    for j in sorted({int(layout.link_of[d]) for d in fed}):
        own = [d for d in fed if layout.link_of[d] == j]
        if not per_flow[j]:
            continue
        flows, first, last = _queues(layout, j)
        nobody = len(layout.up)
        hear = [min(own), max(own) + 1]
        if flows < SEVERAL_FLOWS:
            hear = [int(layout.up[d]) if d in own else nobody for d in (first, last)]
        found.append((flows, first, last, *hear))
    return found


def pauses(scenario: Scenario, layout: Layout, h: float, quantum: float) -> Any:
    """Return who pauses whom (`records.PAUSE`), the rows of a link one after the other."""
    rows: list[Any] = []
    for n in layout.order:
        d: Any = scenario.links[n].discipline
        if d.pauses == "link":
            own = _pairs(scenario, layout, n, d, h, quantum)
        elif d.pauses == "class":
            own = _ingress(scenario, layout, n, d, h, quantum)
        else:
            continue
        rows += [*own, *(() if d.storm is None else _for_ever(own, d.storm / h))]
    _count_together(scenario, layout, rows)
    return np.array([row.item() for row in rows], dtype=PAUSE)


def _count_together(scenario: Scenario, layout: Layout, rows: list[Any]) -> None:
    """Join the rows of one ingress and class at several links of a switch in a circle; the first asks."""
    circles: dict[tuple[int, ...], list[int]] = {}
    for i, row in enumerate(rows):
        first = scenario.counted_together(layout.order[row["pausing"]])[0]
        key: tuple[int, ...] = (-1, i)
        if row["first"] < row["end"] and row["held"] != STORM:
            flow = scenario.flows[layout.flow_of[row["first"]]]
            key = first, int(row["paused"]), flow.priority
        circles.setdefault(key, []).append(i)
    for circle in circles.values():
        for i, following in zip(circle, [*circle[1:], circle[0]], strict=True):
            rows[i]["also"] = following
        for i in circle[1:]:
            rows[i]["high"] = rows[i]["low"] = math.inf


def _pairs(
    scenario: Scenario, layout: Layout, n: int, d: Pause, h: float, quantum: float
) -> list[Any]:
    """Return the rows of a link that pauses all that feed it, with all that they carry."""
    found = []
    for u in scenario.feeders(n):
        if u < 0 and scenario.enters_at_once(scenario.flows[-1 - u]):
            continue
        row = _message(scenario, layout, n, u, d.signalling, h)
        fed = scenario.links[u if u >= 0 else n]
        row["high"], row["low"] = d.high, d.low
        row["quanta"] = (d.quanta or 0) * 512.0 / (fed.rate * 8.0 * scenario.packet_size) / h
        row["paused_rate"] = math.floor(d.paused_rate * h / quantum) * quantum
        found.append(row)
    return found


def _for_ever(rows: list[Any], begin: float) -> list[Any]:
    """Return rows for the same pauses that begin at a step, whatever waits, and never end."""
    found = [row.copy() for row in rows if row["high"] < math.inf]
    for row in found:
        row["held"], row["room"], row["backlog"] = STORM, begin, -begin
        row["high"], row["low"], row["quanta"], row["paused_rate"] = 0.0, -math.inf, 0.0, 0.0
    return found


def rooms_of(scenario: Scenario, n: int, h: float, quantum: float) -> dict[tuple[int, int], float]:
    """Return the rooms of `Scenario.rooms` at a link with PFC in packets, as the engine has them.

    Where headroom follows from delays there is room for what comes in a step more, if the buffer has it:
    ways of parts of steps spread packets over one.
    """
    rooms = scenario.rooms(n)
    more = dict.fromkeys(rooms, 0.0)
    if scenario.links[n].discipline.headroom is None:  # type: ignore[attr-defined]
        most = scenario.spare_of_rooms(n) / max(1, len(rooms))
        more = {key: min(scenario.feeding(key[0]).rate * h, most) for key in rooms}
    return {key: math.floor((room + more[key]) / quantum) * quantum for key, room in rooms.items()}


def _ingress(
    scenario: Scenario, layout: Layout, n: int, d: PFC, h: float, quantum: float
) -> list[Any]:
    """Return the rows of a link with PFC: what comes over one link in one lossless class."""
    found = []
    rooms = rooms_of(scenario, n, h, quantum)
    for u, priority, _ in scenario.ingress(n):
        row = _message(scenario, layout, n, u, d.signalling, h)
        direct = u < 0 and scenario.enters_at_once(scenario.flows[-1 - u])
        row["high"], row["low"] = (math.inf, math.inf) if direct else d.thresholds
        flows = [f for f in scenario.feeders(n)[u] if scenario.flows[f].priority == priority]
        own = [layout.hop_queues[f][scenario.path_index(scenario.flows[f]).index(n)] for f in flows]
        row["first"], row["end"] = min(own), max(own) + 1
        row["room"] = rooms[u, priority]
        row["held"] = _band(scenario, layout, n, priority)
        if u >= 0 and scenario.links[u].discipline.queue_per == "class":
            several = np.diff(layout.bands_at[row["paused"] :][:2])[0] > 1
            row["band"] = _band(scenario, layout, u, priority) if several else WHOLE
        found.append(row)
    return found


def _message(
    scenario: Scenario, layout: Layout, n: int, u: int, signalling: float, h: float
) -> Any:
    """Return a row of link n that pauses link u, or a host (-1 - flow), with the delay of its messages."""
    row = np.zeros((), dtype=PAUSE)
    steps = max(1.0, (scenario.links[u if u >= 0 else n].delay + signalling) / h)
    row["wait"], row["part"] = whole_and_part(steps)
    row["pausing"], row["paused"] = layout.order.index(n), layout.order.index(u) if u >= 0 else u
    row["band"] = WHOLE
    return row


def _band(scenario: Scenario, layout: Layout, n: int, priority: int) -> int:
    """Return the FIFO queue of a class at a link."""
    bands = range(*layout.bands_at[layout.order.index(n) :][:2])
    classes = [scenario.flows[layout.flow_of[layout.bands[b, 2]]].priority for b in bands]
    return bands[classes.index(priority)]
