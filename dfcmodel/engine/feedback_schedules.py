"""Schedules of hop-by-hop feedback in the engine: rates and queues of DFC, 802.3x pauses."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.kernel.state import Ports
from dfcmodel.network.disciplines import DFC, Pause

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import Floats, Ints
    from dfcmodel.engine.layouts import Layout
    from dfcmodel.network.networks import Scenario

__all__ = ["feedback", "pauses"]

LARGEST_ROUNDING = 0.1
"""Relative rounding of a pause to whole steps above which a warning is issued."""
MANY = 3
"""The kernel has separate loops for links with one flow, with two, and with this many or more."""


def feedback(
    scenario: Scenario, layout: Layout, h: float, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the feedback clocks, one per period, and the messages of each of their slots.

    The feedback over a link is sent by the node at its end and has that node's phase. A slot is a
    step of a period; see ``clock``, ``ticks``, ``tick_cells``, ``tells``, ``tell_cells`` of `State`.
    """
    phase = dict(zip(scenario.nodes, rng.random(len(scenario.nodes)), strict=True))
    links = layout.links(scenario)
    L = len(layout.order)
    dfc = [isinstance(link.discipline, DFC) for link in links]
    by_input = any(getattr(link.discipline, "per", "") == "input" for link in links)
    own = [dfc[i] and not (by_input and i < L) for i in range(len(links))]
    places = [*layout.order, *(scenario.path_index(scenario.flows[f])[0] for f in layout.shaped)]
    periods: dict[int, list[list[int]]] = {}
    for i, link in enumerate(links):
        if not isinstance(link.discipline, DFC):
            continue
        period = layout.delays[places[i]]
        slots = periods.setdefault(period, [[] for _ in range(period)])
        node = link.target if i < L else link.source
        random = link.discipline.phases == "random"
        slots[int(phase[node] * period) if random else 0].append(i)
    clock: list[tuple[int, int, int]] = []
    ticks: list[list[tuple[int, ...]]] = []
    tells: list[list[tuple[int, ...]]] = []
    hear: list[list[int]] = []
    pairs: list[list[tuple[int, int, int]]] = []
    for period, slots in periods.items():
        clock.append((period, 0, len(ticks)))
        for slot in slots:
            ticks.append([_cells(layout, i) for i in slot if own[i]])
            tells.append([entry for i in slot for entry in _told_by(layout, own, i)])
            hear.append([i for i in slot if not own[i]])
            pairs.append([entry for i in slot if by_input for entry in _ports_told(layout, dfc, i)])
    tick_starts, tick_cells = _table(ticks, 2)
    tell_starts, tell_cells = _table(tells, 4)
    return {
        "clock": np.array(clock, dtype=np.int64).reshape(-1, 3),
        "ticks": tick_starts,
        "tick_cells": tick_cells,
        "tells": tell_starts,
        "tell_cells": tell_cells,
        "ports": Ports(
            ticks=np.cumsum([0, *map(len, hear)]),
            links=np.array([i for slot in hear for i in slot], dtype=np.int64),
            tells=np.cumsum([0, *map(len, pairs)]),
            pairs=np.array([p for slot in pairs for p in slot], dtype=np.int64).reshape(-1, 3),
            told=np.array([[link.rate * h, 0.0] * 2 for link in links]),
        ),
    }


def _ports_told(layout: Layout, dfc: list[bool], i: int) -> list[tuple[int, int, int]]:
    """Return the bands that report to link i, or to a shaped host, about the queues that it feeds."""
    who = i if i < len(layout.order) else -1 - layout.shaped[i - len(layout.order)]
    found = set()
    for c in range(*layout.cells[i]):
        d = int(layout.down[c])
        if d < 0 or not dfc[layout.link_of[d]]:
            found.add((who, -1, c))
            continue
        at = slice(*layout.bands_at[layout.link_of[d] :][:2])
        inside = (layout.bands[at, 1] <= d) & (d < layout.bands[at, 2])
        found.add((who, at.start + int(np.argmax(inside)), 0))
    return sorted(found)


def _cells(layout: Layout, i: int) -> tuple[int, int, int]:
    """Return a link's number of flows, at most `MANY`, and its cells in the form of the kernel."""
    first, end = map(int, layout.cells[i])
    return min(end - first, MANY), first, end if end - first >= MANY else end - 1


def _told_by(layout: Layout, dfc: list[bool], i: int) -> list[tuple[int, ...]]:
    """Return the entries of the links that send feedback to link i."""
    fed = [int(d) for d in layout.down[slice(*layout.cells[i])] if d >= 0]
    found: list[tuple[int, ...]] = []
    for j in sorted({int(layout.link_of[d]) for d in fed}):
        own = [d for d in fed if layout.link_of[d] == j]
        if not dfc[j]:
            continue
        flows, first, last = _cells(layout, j)
        nobody = len(layout.up)
        hear = [min(own), max(own) + 1]
        if flows < MANY:
            hear = [int(layout.up[d]) if d in own else nobody for d in (first, last)]
        found.append((flows, first, last, *hear))
    return found


def _table(slots: list[list[tuple[int, ...]]], width: int) -> tuple[Any, Any]:
    """Return the offsets of the entries for one, two and more flows in each slot, and all entries."""
    entries = [entry[1:] for slot in slots for entry in sorted(slot)]
    counts = [sum(entry[0] == n for entry in slot) for slot in slots for n in (1, 2, MANY)]
    at = np.cumsum([0, *counts])
    starts = np.column_stack([at[0:-1:3], at[1::3], at[2::3], at[3::3]])
    return starts.astype(np.uint64), np.array(entries, dtype=np.uint64).reshape(-1, width)


def pauses(scenario: Scenario, layout: Layout, h: float, quantum: float) -> tuple[Ints, Floats]:
    """Return the pairs of a pausing and a paused link (hosts: -1 - flow), and their thresholds."""
    place = {n: i for i, n in enumerate(layout.order)}
    pairs, levels = [], []
    for n in layout.order:
        d = scenario.links[n].discipline
        if not isinstance(d, Pause):
            continue
        feeders = {}
        for f, flow in enumerate(scenario.flows):
            hops = scenario.path_index(flow)
            if n in hops:
                before = hops.index(n) - 1
                u = hops[before] if before >= 0 else -1 - f
                feeders[u] = layout.delays[hops[max(0, before)]]
        for u, delay in feeders.items():
            if u < 0 and scenario.flows[-1 - u].host == "direct":
                continue
            fed = scenario.links[u] if u >= 0 else scenario.path(scenario.flows[-1 - u])[0]
            quanta = 0
            if d.quanta is not None:
                lasts = d.quanta * 512.0 / (fed.rate * 8.0 * scenario.packet_size)
                quanta = max(1, round(lasts / h))
                if abs(quanta * h / lasts - 1.0) > LARGEST_ROUNDING:
                    name = f"quanta of link {scenario.links[n].name} = {d.quanta:g}"
                    msg = f"a pause of {lasts:.3g} s is rounded to {quanta * h:.3g} s, whole steps"
                    warnings.warn(f"{name}: {msg}; increase steps_per_delay", stacklevel=4)
            lag = delay + round(d.signalling / h)
            pairs.append((place[n], place[u] if u >= 0 else u, lag, quanta, 0, 0))
            levels.append((d.high, d.low, math.floor(d.paused_rate * h / quantum) * quantum))
    return np.array(pairs, dtype=np.int64).reshape(-1, 6), np.array(levels).reshape(-1, 3)
