"""Numbering of the per-flow queues; links that can never queue are merged into the next.

A *cell* is the queue of one flow at a link, or at its host. Numbering starts with the hosts, then
come the cells of links with per-flow rates, then those of links whose flows share the service (FIFO
of several flows, RED, fair shares, priorities, DFC per input). A FIFO link that can never queue,
because all its flows arrive over one link that is no faster, has no cells: its delay is added to
that of the next link.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.engine.kernel.columns import DIVIDED, PORTS, RANDOM, RATED, SHARED
from dfcmodel.network.disciplines import DFC, FIFO, RED, Fair, Pause, Priority

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import Ints
    from dfcmodel.network.networks import Link, Scenario

__all__ = ["Layout", "layout_of"]


@dataclass(frozen=True)
class Layout:
    """C cells and L + S links of the engine; the last S are the access links of shaped hosts.

    Attributes
    ----------
    delays
        Delays of the scenario's links in steps.
    order
        Indices in the scenario's links of the L links that have cells.
    queue_types
        Queue types of those links, shape (L,); see `columns`.
    shaped
        The S flows whose hosts receive rate feedback.
    per_flow_links
        Number of links with per-flow rates; they are the first ones.
    cells
        First cell of each link and one past the last, shape (L + S, 2).
    bands, bands_at
        Link, first cell and end of the flows of equal priority, or with DFC per input of the flows
        from one link, shape (B, 3); index of the first band of each link.
    up, down
        Previous cell (a host: itself) and next cell (-1: the receiver), shape (C,).
    lag
        Steps from a cell to the next one or to the receiver, shape (C,).
    link_of, flow_of
        Link and flow of a cell, shape (C,); link -1 for a host that is not shaped.
    path, path_at
        Cells of the flows without hosts, concatenated, and the index of each flow's first.
    hop_cells
        Cell of each flow at each link of its path, -1 if there is none.
    """

    delays: tuple[int, ...]
    order: tuple[int, ...]
    queue_types: tuple[int, ...]
    shaped: tuple[int, ...]
    per_flow_links: int
    cells: Ints
    bands: Ints
    bands_at: Ints
    up: Ints
    down: Ints
    lag: Ints
    link_of: Ints
    flow_of: Ints
    path: Ints
    path_at: Ints
    hop_cells: tuple[tuple[int, ...], ...]

    def links(self, scenario: Scenario) -> list[Link]:
        """Return the links of the engine, the access links of shaped hosts at the end."""
        firsts = [scenario.path_index(scenario.flows[f])[0] for f in self.shaped]
        return [scenario.links[n] for n in (*self.order, *firsts)]

    def blocks(self, shared: list[bool]) -> Ints:
        """Return blocks of consecutive cells with per-flow rates and equal buffers, see `columns`.

        ``shared`` tells which links have one buffer for all flows.
        """
        rows: list[list[int]] = []
        for (first, end), together in zip(
            self.cells[: self.per_flow_links].tolist(), shared, strict=False
        ):
            flows = end - first if together else 1
            for c in range(first, end, flows):
                lags = set(self.lag[c : c + flows].tolist())
                alike = flows if flows <= 2 and len(lags) == 1 else 0
                last = rows[-1] if rows else [0, 0, 0, 0]
                if alike and last[3] == alike and lags == {self.lag[last[0]]}:
                    last[1] = c + flows
                else:
                    rows.append([c, c + flows, flows, alike, 1])
        return np.array(rows, dtype=np.int64).reshape(-1, 5)


def queueing(scenario: Scenario) -> tuple[list[bool], list[int]]:
    """Return which links can queue, and the queue type of each."""
    flows_on: dict[int, list[int]] = {}
    before: dict[int, set[int]] = {}  # links that feed a link; hosts are -1 - flow
    for f, flow in enumerate(scenario.flows):
        for previous, n in itertools.pairwise((-1 - f, *scenario.path_index(flow))):
            flows_on.setdefault(n, []).append(f)
            before.setdefault(n, set()).add(previous)
    fed_by_pause = {
        u
        for n, sources in before.items()
        if isinstance(scenario.links[n].discipline, Pause)
        for u in sources
    }
    queues = [n in flows_on for n in range(len(scenario.links))]
    for n in flows_on:
        link = scenario.links[n]
        if type(link.discipline) is not FIFO or n in fed_by_pause or len(before[n]) > 1:
            continue
        (u,) = before[n]  # the first link of a path is kept: packets enter the network there
        queues[n] = u < 0 or scenario.links[u].rate > link.rate
    queue_types = []
    for n, link in enumerate(scenario.links):
        queue_type = RATED
        several = len(flows_on.get(n, ())) > 1
        if isinstance(link.discipline, (Fair, Priority)):
            queue_type = DIVIDED
        elif isinstance(link.discipline, RED):
            queue_type = RANDOM
        elif isinstance(link.discipline, DFC):
            queue_type = PORTS if link.discipline.per == "input" else RATED
        elif several or n in fed_by_pause or isinstance(link.discipline, Pause):
            queue_type = SHARED
        queue_types.append(queue_type)
    return queues, queue_types


def layout_of(scenario: Scenario, delays: list[int]) -> Layout:
    """Return the layout of a scenario, with ``delays`` of its links in steps."""
    F = len(scenario.flows)
    queues, queue_types = queueing(scenario)
    order = [n for n in range(len(queues)) if queues[n] and queue_types[n] == RATED]
    order += [n for n in range(len(queues)) if queues[n] and queue_types[n] != RATED]
    on_link: list[list[int]] = [[] for _ in scenario.links]
    for f, flow in enumerate(scenario.flows):
        for n in scenario.path_index(flow):
            on_link[n].append(f)
    shaped = [f for f, flow in enumerate(scenario.flows) if flow.host == "shaped"]

    cell: dict[tuple[int, int], int] = {}
    cells: list[tuple[int, int]] = []
    bands: list[tuple[int, int, int]] = []
    bands_at = [0]
    C = F
    for i, n in enumerate(order):
        by_input = _before if queue_types[n] == PORTS else _rank
        rank = {f: by_input(scenario, n, f) for f in on_link[n]}
        flows = sorted(on_link[n], key=lambda f: (rank[f], _before(scenario, n, f)))
        cells.append((C, C + len(flows)))
        for _, group in itertools.groupby(flows, key=rank.__getitem__):
            begin = C
            for f in group:
                cell[f, n] = C
                C += 1
            bands.append((i, begin, C))
        bands_at.append(len(bands))
    cells += [(f, f + 1) for f in shaped]
    bands_at += [len(bands)] * len(shaped)

    place = {n: i for i, n in enumerate(order)}
    up, lag = np.arange(C), np.zeros(C, dtype=np.int64)
    down, flow_of, link_of = np.full(C, -1), np.arange(C), np.full(C, -1)
    path, path_at, hop_cells = [], [0], []
    for f, flow in enumerate(scenario.flows):
        hops = scenario.path_index(flow)
        at, delay = f, 0 if flow.host == "direct" else delays[hops[0]]
        for n in hops:
            if queues[n]:
                c = cell[f, n]
                up[c], lag[at], down[at], at, delay = at, delay, c, c, 0
                flow_of[c], link_of[c] = f, place[n]
                path.append(c)
            delay += delays[n]
        lag[at] = delay
        path_at.append(len(path))
        hop_cells.append(tuple(cell.get((f, n), -1) for n in hops))
    for s, f in enumerate(shaped):
        link_of[f] = len(order) + s
    return Layout(
        delays=tuple(delays),
        order=tuple(order),
        queue_types=tuple(queue_types[n] for n in order),
        shaped=tuple(shaped),
        per_flow_links=sum(queue_types[n] == RATED for n in order),
        cells=np.array(cells, dtype=np.int64).reshape(-1, 2),
        bands=np.array(bands, dtype=np.int64).reshape(-1, 3),
        bands_at=np.array(bands_at),
        up=up,
        down=down,
        lag=lag,
        link_of=link_of,
        flow_of=flow_of,
        path=np.array(path, dtype=np.int64),
        path_at=np.array(path_at),
        hop_cells=tuple(hop_cells),
    )


def _rank(scenario: Scenario, n: int, f: int) -> int:
    """Return the rank of a flow at a link: its priority, or 0 for other disciplines."""
    ranked = isinstance(scenario.links[n].discipline, Priority)
    return scenario.flows[f].priority if ranked else 0


def _before(scenario: Scenario, n: int, f: int) -> int:
    """Return the link before link n on a flow's path, -1 - f for its host."""
    hops = scenario.path_index(scenario.flows[f])
    at = hops.index(n)
    return hops[at - 1] if at else -1 - f
