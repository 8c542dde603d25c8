"""Which links can queue, and how their cells are numbered.

A cell is a flow at a link, or at its host. Cells are numbered: hosts first, then the cells of links
whose queues are served one by one at a rate of their own, then those of links that share (FIFO of
several flows, RED, fair shares, priorities, DFC per input). A FIFO link that can never queue, because all its flows
come over one link that is no faster, is no cell: its delay joins that of the next one.
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
    """Cells and links of the engine, C and L + S, the last S being the access links of shaped hosts.

    Attributes
    ----------
    delays
        Of the scenario's links, in steps.
    order
        Places in the scenario's links of the L links that have cells.
    kinds
        Of those, shape (L,).
    shaped
        The S flows whose hosts hear rates.
    rated_links
        One past the last link whose queues are served at rates of their own.
    cells
        First cell of each link and one past the last, shape (L + S, 2).
    bands, bands_at
        Link, first cell and end of the flows of one rank, or with DFC per input from one link, shape
        (B, 3); where those of a link begin.
    up, down
        The cell before (a host: itself) and the next one (-1: the receiver), shape (C,).
    lag
        Steps from a cell to the next or the receiver, shape (C,).
    link_of, flow_of
        Shape (C,); -1 for a host that is not shaped.
    path, path_at
        The flows' cells without hosts, one after the other, and where each flow's begin.
    hop_cells
        Per flow and link of its path the cell, -1 where there is none.
    """

    delays: tuple[int, ...]
    order: tuple[int, ...]
    kinds: tuple[int, ...]
    shaped: tuple[int, ...]
    rated_links: int
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
        """Return the links of the engine, those that hosts imitate at the end."""
        firsts = [scenario.path_index(scenario.flows[f])[0] for f in self.shaped]
        return [scenario.links[n] for n in (*self.order, *firsts)]

    def runs(self, shared: list[bool]) -> Ints:
        """Return the runs of links whose cells are served one by one, see `cells`.

        ``shared`` says which links have one buffer for all flows.
        """
        rows: list[list[int]] = []
        for (first, end), together in zip(
            self.cells[: self.rated_links].tolist(), shared, strict=False
        ):
            flows = end - first if together else 1
            for c in range(first, end, flows):
                ways = set(self.lag[c : c + flows].tolist())
                alike = flows if flows <= 2 and len(ways) == 1 else 0
                last = rows[-1] if rows else [0, 0, 0, 0]
                if alike and last[3] == alike and ways == {self.lag[last[0]]}:
                    last[1] = c + flows
                else:
                    rows.append([c, c + flows, flows, alike, 1])
        return np.array(rows, dtype=np.int64).reshape(-1, 5)


def queueing(scenario: Scenario) -> tuple[list[bool], list[int]]:
    """Return which links can queue, and the kind of each."""
    flows_on: dict[int, list[int]] = {}
    before: dict[int, set[int]] = {}  # links over which a link's packets come; hosts are -1 - flow
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
        (u,) = before[n]  # a host's link is kept: there packets enter the network
        queues[n] = u < 0 or scenario.links[u].rate > link.rate
    kinds = []
    for n, link in enumerate(scenario.links):
        kind = RATED
        several = len(flows_on.get(n, ())) > 1
        if isinstance(link.discipline, (Fair, Priority)):
            kind = DIVIDED
        elif isinstance(link.discipline, RED):
            kind = RANDOM
        elif isinstance(link.discipline, DFC):
            kind = PORTS if link.discipline.per == "input" else RATED
        elif several or n in fed_by_pause or isinstance(link.discipline, Pause):
            kind = SHARED
        kinds.append(kind)
    return queues, kinds


def layout_of(scenario: Scenario, delays: list[int]) -> Layout:
    """Return how a scenario's cells are numbered, ``delays`` being those of its links in steps."""
    F = len(scenario.flows)
    queues, kinds = queueing(scenario)
    order = [n for n in range(len(queues)) if queues[n] and kinds[n] == RATED]
    order += [n for n in range(len(queues)) if queues[n] and kinds[n] != RATED]
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
        by_input = _before if kinds[n] == PORTS else _rank
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
        at, wait = f, 0 if flow.host == "direct" else delays[hops[0]]
        for n in hops:
            if queues[n]:
                c = cell[f, n]
                up[c], lag[at], down[at], at, wait = at, wait, c, c, 0
                flow_of[c], link_of[c] = f, place[n]
                path.append(c)
            wait += delays[n]
        lag[at] = wait
        path_at.append(len(path))
        hop_cells.append(tuple(cell.get((f, n), -1) for n in hops))
    for s, f in enumerate(shaped):
        link_of[f] = len(order) + s
    return Layout(
        delays=tuple(delays),
        order=tuple(order),
        kinds=tuple(kinds[n] for n in order),
        shaped=tuple(shaped),
        rated_links=sum(kinds[n] == RATED for n in order),
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
    """Return the order of a flow at a link: its priority there."""
    ranked = isinstance(scenario.links[n].discipline, Priority)
    return scenario.flows[f].priority if ranked else 0


def _before(scenario: Scenario, n: int, f: int) -> int:
    """Return the link over which a flow comes to link n, -1 - f from its host."""
    hops = scenario.path_index(scenario.flows[f])
    at = hops.index(n)
    return hops[at - 1] if at else -1 - f
