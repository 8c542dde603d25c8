"""Generator matrices out of rates, in compressed rows; inner products of long vectors.

Inner products use one core: NumPy calls a BLAS that starts its threads for ten thousand numbers, and lets them spin
for a while afterwards. On a busy machine that takes longer than the other parts of a solution together.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from markov.computing.rounding import WIDE_U

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "MAX_INT32",
    "exit_errors",
    "from_edges",
    "inner",
    "norm",
    "off_diagonal",
    "rank_of",
    "row_numbers",
    "stop_outside",
    "with_diagonal",
]

MAX_INT32 = 2**31 - 1
"""Largest index of an entry or a state in 32 bits."""


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
