"""Minimal cycles of a directed graph: a shortest one through each vertex, by breadth-first search.

The number of all cycles grows exponentially with their length.

The search is not `scipy.sparse.csgraph.breadth_first_order`, which visits all vertices: it stops at the first arc back
to its vertex, and cycles of fabrics are short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.kernels import make_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    import scipy.sparse as sp

__all__ = ["close_cycle", "minimal_cycles"]

INTERPRETED = 2_000
"""Arcs up to which loops run as plain Python: compiled loops take longer to load."""


def minimal_cycles(waits: sp.csr_matrix) -> Iterator[list[int]]:
    """Yield distinct chordless cycles of a matrix of arcs whose vertices are all on cycles; at most one per vertex.

    For every vertex a shortest cycle through it is computed. If that has a chord, a shortest cycle among its
    vertices replaces it.

    Parameters
    ----------
    waits
        Sparse matrix of a graph of which every vertex lies on a cycle.
    """
    close: Any = make_kernel(close_cycle) if waits.nnz > INTERPRETED else close_cycle
    count = waits.shape[0]
    before, queue, cycle = np.full(count, -1, dtype=np.int64), *np.empty((2, count), dtype=np.int64)
    visited = set[frozenset[int]]()
    for vertex in range(count):
        length = close(waits.indptr, waits.indices, vertex, before, queue, cycle)
        chordless = _without_chords(waits, cycle[length - 1 :: -1].tolist())
        if (key := frozenset(chordless)) not in visited:
            visited.add(key)
            first = chordless.index(min(chordless))
            yield chordless[first:] + chordless[:first]


def _without_chords(waits: sp.csr_matrix, cycle: list[int]) -> list[int]:
    """Return a shortest cycle among the vertices of a cycle; a chordless cycle is returned unchanged."""
    position = {v: k for k, v in enumerate(cycle)}
    inside = [
        [position[v] for v in waits.indices[waits.indptr[u] : waits.indptr[u + 1]].tolist() if v in position]
        for u in cycle
    ]  # fmt: skip
    if all(len(following) == 1 for following in inside):
        return cycle
    indptr = np.cumsum([0, *map(len, inside)])
    indices = np.concatenate(inside)
    candidates = []
    for k in range(len(cycle)):
        before, queue, shortest = np.full((3, len(cycle)), -1)
        length = close_cycle(indptr, indices, k, before, queue, shortest)  # type: ignore[no-untyped-call]
        candidates.append(shortest[length - 1 :: -1].tolist())
    return [cycle[k] for k in min(candidates, key=len)]


def close_cycle(indptr, indices, vertex, before, queue, cycle):  # type: ignore[no-untyped-def]
    """Kernel: write a shortest cycle through a vertex to ``cycle``, last vertex first; return its length, 0: none.

    ``before`` is -1 everywhere, before and afterwards.
    """
    queue[0] = vertex
    before[vertex] = vertex
    head = 0
    tail = 1
    length = 0
    while length == 0 and head < tail:
        at = queue[head]
        head += 1
        for k in range(indptr[at], indptr[at + 1]):
            v = indices[k]
            if v == vertex:
                while at != vertex:
                    cycle[length] = at
                    length += 1
                    at = before[at]
                cycle[length] = vertex
                length += 1
                break
            if before[v] < 0:
                before[v] = at
                queue[tail] = v
                tail += 1
    for k in range(tail):
        before[queue[k]] = -1
    return length
