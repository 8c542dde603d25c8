"""Pauses in the fluid at t = 0: who pauses whom, and the rooms that PFC reserves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.fluid import whole_and_part
from dfcmodel.engine.kernel.records import PAUSE, STORM, WHOLE
from dfcmodel.network.queueing.class_pauses import PFC
from dfcmodel.network.queueing.disciplines import Pause

if TYPE_CHECKING:
    from dfcmodel.engine.layouts import Layout
    from dfcmodel.network.networks import Scenario

__all__ = ["pauses", "reserve_rooms"]


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


def _pairs(scenario: Scenario, layout: Layout, n: int, d: Pause, h: float, quantum: float) -> list[Any]:
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


def _ingress(scenario: Scenario, layout: Layout, n: int, d: PFC, h: float, quantum: float) -> list[Any]:
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


def _message(scenario: Scenario, layout: Layout, n: int, u: int, signalling: float, h: float) -> Any:
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


def reserve_rooms(scenario: Scenario, layout: Layout, links: Any, stops: Any, h: float, quantum: float) -> None:
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
