"""Searches in the graph of a sparse matrix, without `scipy.sparse.csgraph` if it is not loaded and the graph is small.

`csgraph` loads `scipy.linalg`, 0.06 s of CPU, which a first small chain does not need otherwise. Both return the same.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from markov.computing.matrices import row_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["breadth_first_order", "cuthill_mckee_order", "leads_to", "reachable_from", "strong_components"]

PLAIN_ENTRIES = 20_000
"""Entries of a matrix whose search by plain Python takes less than a tenth of the import."""
MAX_PLAIN_ENTRIES = 300_000
"""Total of entries that plain Python searches in a process: in the time of the import, eight times as long as SciPy."""


def breadth_first_order(graph: sp.csr_matrix, start: int, *, directed: bool = True) -> NDArray[np.int64]:
    """Return the states that a start state leads to, in the order of a breadth-first search, the start first.

    Parameters
    ----------
    graph
        Every entry is an edge from its row to its column.
    start
        Number of a state.
    directed
        Whether edges are followed from row to column only; otherwise edges out of a state come before edges into it.
    """
    if not _fits_plain_python(graph):
        from scipy.sparse import csgraph

        numbers = csgraph.breadth_first_order(graph, start, directed=directed, return_predecessors=False)
        return numbers.astype(np.int64)
    graphs = [graph] if directed else [graph, graph.T.tocsr()]
    order = _search_order([(way.indptr.tolist(), way.indices.tolist()) for way in graphs], int(start))
    return np.array(order, dtype=np.int64)


def reachable_from(graph: sp.csr_matrix, first: int) -> NDArray[np.bool_]:
    """Return whether the state ``first`` leads to each state, shape (states,); it leads to itself."""
    entered = np.zeros(graph.shape[0], dtype=bool)
    entered[breadth_first_order(graph, first)] = True
    return entered


def leads_to(
    backward: sp.csr_matrix, target: NDArray[np.bool_], within: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Return whether each state can reach a target set, shape (n,); states of the target can.

    Parameters
    ----------
    backward
        Rates between states, transposed, shape (n, n).
    target
        Shape (n,); its states are included.
    within
        The states that a path may visit; None: all.
    """
    n, starts = len(target), np.flatnonzero(target)
    indices, indptr = backward.indices, backward.indptr
    if within is not None:
        allowed = within[indices]
        indices, indptr = indices[allowed], np.append(0, np.cumsum(allowed))[indptr]
    # an additional node, from which all states of the target are reached
    columns = np.append(indices, starts).astype(np.int64)
    row_ends = np.append(indptr, len(columns)).astype(np.int64)
    graph = sp.csr_matrix((np.ones(len(columns)), columns, row_ends), shape=(n + 1, n + 1))
    return reachable_from(graph, n)[:n]


def strong_components(graph: sp.csr_matrix) -> tuple[int, NDArray[np.int32]]:
    """Return the number of strongly connected components, and each state's component number, shape (n,)."""
    n = graph.shape[0]
    if n and _fits_plain_python(graph):
        reached_count = len(breadth_first_order(graph, 0))
        if reached_count == n == len(breadth_first_order(graph.T.tocsr(), 0)):
            return 1, np.zeros(n, dtype=np.int32)
    from scipy.sparse import csgraph

    count, labels = csgraph.connected_components(graph, directed=True, connection="strong")
    return int(count), labels


def cuthill_mckee_order(graph: sp.csr_matrix) -> NDArray[np.int64]:
    """Return the states in the order of Cuthill and McKee (1969), shape (n,); edges count in both directions.

    Breadth first from a state with the fewest neighbours, neighbours of a state in the order of their degrees; then
    the next component.
    """
    if not _fits_plain_python(graph):
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        return reverse_cuthill_mckee(graph)[::-1].astype(np.int64)
    both = (graph + graph.T).tocsr()
    loops = both.indices == row_numbers(both.indptr)
    degrees = np.diff(both.indptr) + np.bincount(both.indices[loops], minlength=both.shape[0])
    degrees = degrees.astype(np.int32)  # the type of SciPy's: equal degrees are sorted identically
    begins, targets, rank = both.indptr.tolist(), both.indices.tolist(), degrees.tolist()
    visited: set[int] = set()
    order: list[int] = []
    for first in np.argsort(degrees).tolist():
        if first in visited:
            continue
        visited.add(first)
        part = [first]
        for state in part:  # grows in the loop
            new = [x for x in targets[begins[state] : begins[state + 1]] if x not in visited]
            visited.update(new)
            part += sorted(new, key=rank.__getitem__)
        order += part
    return np.array(order, dtype=np.int64)


_searched = {"entries": 0}


def _fits_plain_python(graph: sp.csr_matrix) -> bool:
    """Return whether to search a graph in plain Python: SciPy's search is not loaded and all searches are small."""
    if "scipy.sparse.csgraph" in sys.modules or graph.nnz > PLAIN_ENTRIES:
        return False
    _searched["entries"] += graph.nnz
    return _searched["entries"] <= MAX_PLAIN_ENTRIES


def _search_order(matrices: list[tuple[list[int], list[int]]], start: int) -> list[int]:
    """Return the states in breadth-first order along several matrices, each a pair of row pointers and columns."""
    visited, order = {start}, [start]
    for state in order:  # grows in the loop
        for begins, targets in matrices:
            for target in targets[begins[state] : begins[state + 1]]:
                if target not in visited:
                    visited.add(target)
                    order.append(target)
    return order
