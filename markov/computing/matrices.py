"""Generator matrices out of rates, in compressed rows; searches in their graphs; inner products of long vectors.

Searches do without `scipy.sparse.csgraph` if it is not loaded and the graph is small: it loads
`scipy.linalg`, 0.06 s of CPU, which a first small chain does not need otherwise. Both return the same.

Inner products use one core: NumPy calls a BLAS that starts its threads for ten thousand numbers, and lets them spin
for a while afterwards. On a busy machine that takes longer than the other parts of a solution together.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from markov.computing.rounding import WIDE_U

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "MAX_INT32",
    "breadth_first_order",
    "cuthill_mckee_order",
    "exit_errors",
    "from_edges",
    "inner",
    "leads_to",
    "norm",
    "off_diagonal",
    "rank_of",
    "reachable_from",
    "row_numbers",
    "stop_outside",
    "strong_components",
    "transpose_advice",
    "with_diagonal",
]

MAX_INT32 = 2**31 - 1
"""Largest index of an entry or a state in 32 bits."""
PLAIN_ENTRIES = 20_000
"""Entries of a matrix whose search by plain Python takes less than a tenth of the import."""
MAX_PLAIN_ENTRIES = 300_000
"""Total of entries that plain Python searches in a process: in the time of the import, eight times as long as SciPy."""


def row_numbers(pointers: NDArray[np.integer[Any]], numbers: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return the row number of each stored entry of a matrix in compressed rows, shape (entries,).

    Parameters
    ----------
    pointers
        Index of the first entry of each row, shape (rows + 1,).
    numbers
        Value to return for each row, shape (rows,); None: its number.

    Examples
    --------
    >>> row_numbers(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    rows = np.arange(len(pointers) - 1, dtype=np.int64) if numbers is None else numbers
    return np.repeat(rows, np.diff(pointers).astype(np.intp, copy=False))  # 32 bits in a browser


def from_edges(sources: NDArray[Any], targets: NDArray[Any], rates: NDArray[np.float64], n: int) -> sp.csr_matrix:
    """Return the generator, shape (n, n), of transitions in arrays of sources, targets and rates, shape (transitions,).

    Rates between the same two states add up; loops are dropped.
    """
    moves = sources != targets
    if not moves.all():
        sources, targets, rates = sources[moves], targets[moves], rates[moves]
    kind: Any = np.int32 if max(len(rates) + n, n) < MAX_INT32 else np.int64
    index = sources.astype(kind, copy=False), targets.astype(kind, copy=False)
    matrix = sp.coo_matrix((rates, index), shape=(n, n)).tocsr()
    matrix.sum_duplicates()
    return with_diagonal(matrix)


def with_diagonal(rates: sp.csr_matrix) -> sp.csr_matrix:
    """Return the generator of off-diagonal rates > 0, shape (n, n): sorted rows, each with the sum zero.

    States without transitions have no entry on the diagonal.
    """
    n = rates.shape[0]
    counts = np.diff(rates.indptr)
    sources = np.repeat(np.arange(n, dtype=rates.indices.dtype), counts)
    leaves = counts > 0
    exit_rates = np.bincount(sources, rates.data, minlength=n)
    before: NDArray[np.int64] = np.cumsum(leaves) - leaves  # diagonal entries of earlier rows
    below = np.bincount(sources[rates.indices < sources], minlength=n)
    position = np.arange(len(sources)) + before[sources] + (rates.indices > sources)
    diagonal = (rates.indptr[:-1] + before + below)[leaves]
    total = len(sources) + int(leaves.sum())
    data, indices = np.empty(total), np.empty(total, dtype=rates.indices.dtype)
    data[position], indices[position] = rates.data, rates.indices
    data[diagonal], indices[diagonal] = -exit_rates[leaves], np.flatnonzero(leaves)
    indptr = rates.indptr + np.append(0, np.cumsum(leaves)).astype(rates.indptr.dtype)
    parts: Any = data, indices, indptr
    matrix = sp.csr_matrix(parts, shape=(n, n))
    matrix.has_canonical_format = True
    return matrix


def exit_errors(Q: sp.csr_matrix) -> NDArray[np.float64]:
    """Return a bound on the absolute value of the sum of each row of a generator, shape (n,)."""
    rates, count = off_diagonal(Q), Q.shape[0]
    sums = np.zeros(count, dtype=np.longdouble)
    terms = np.diff(rates.indptr)
    if rates.nnz:
        sums[terms > 0] = np.add.reduceat(rates.data.astype(np.longdouble), rates.indptr[:-1][terms > 0])
    return np.asarray(np.abs(np.asarray(Q.diagonal()) + sums) + terms * WIDE_U * sums, dtype=np.float64)


def transpose_advice(matrix: Any, total: float, tolerance: float, name: str, meaning: str) -> str:
    """Return the advice to transpose a matrix whose columns sum to ``total``, as rows must; otherwise an empty string.

    ``meaning`` is what row i has, as in "rates out of state i".
    """
    sums = np.asarray(matrix.sum(axis=0)).ravel()
    if (np.abs(sums - total) > tolerance).any():
        return ""
    return f"; its columns sum to {total:g}: row i of {name} has the {meaning}, give the transpose"


def off_diagonal(Q: sp.csr_matrix) -> sp.csr_matrix:
    """Return the positive rates between different states of a generator, a matrix of shape (n, n)."""
    entries = sp.coo_matrix(Q)
    moves = (entries.row != entries.col) & (entries.data > 0.0)
    pairs = entries.row[moves], entries.col[moves]
    return sp.csr_matrix((entries.data[moves], pairs), shape=Q.shape)


def rank_of(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the inverse of a permutation: the position of each state in an order of the states, shape (n,)."""
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank


def expand(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for all members of groups of ``counts`` members the group and the number in it, shape (members,) each."""
    group = np.repeat(np.arange(len(counts)), counts)
    return group, np.arange(len(group)) - np.repeat(np.cumsum(counts) - counts, counts)


def stop_outside(
    rates: sp.csr_matrix, running: NDArray[np.bool_], target: NDArray[np.bool_]
) -> tuple[sp.csr_matrix, NDArray[np.float64]]:
    """Return the chain on a subset of states, plus an absorbing state for the target and for all other states.

    Parameters
    ----------
    rates
        Rates between different states, shape (n, n).
    running
        The subset of m states, shape (n,).
    target
        Shape (n,), disjoint from the subset.

    Returns
    -------
    scipy.sparse.csr_matrix, numpy.ndarray
        Generator, shape (m + 2, m + 2), and the indicator of the state m, the target.
    """
    rows = sp.csr_matrix(rates[running])
    inner = sp.csr_matrix(rows[:, running])
    m = inner.shape[0]
    to_target = np.asarray(rows @ target.astype(float))
    elsewhere = np.asarray(rows @ (~(running | target)).astype(float))
    diagonal = sp.diags(-(np.asarray(inner.sum(axis=1)).ravel() + to_target + elsewhere))
    absorbing = sp.csr_matrix(np.column_stack([to_target, elsewhere]))
    top = sp.hstack([inner + diagonal, absorbing])
    generator = sp.csr_matrix(sp.vstack([top, sp.csr_matrix((2, m + 2))]))
    target_distribution = np.zeros(m + 2)
    target_distribution[m] = 1.0
    return generator, target_distribution


def inner(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the inner product sum_i x(i) y(i) of two vectors of shape (n,), computed on one core."""
    return float(np.einsum("i,i", x, y))


def norm(x: NDArray[np.float64]) -> float:
    """Return the Euclidean norm of a vector, shape (n,)."""
    return math.sqrt(inner(x, x))


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
