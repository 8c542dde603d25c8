"""Generator matrices out of rates, in compressed rows; inner products of long vectors.

Inner products use one core: NumPy's own go to a BLAS that wakes its threads for ten thousand numbers, and lets them spin
for a while after. On a busy machine that takes longer than all the rest of a solution.
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
    "stopped",
    "with_diagonal",
]

MAX_INT32 = 2**31 - 1
"""The last number of an entry or a state that 32 bits hold."""


def row_numbers(pointers: NDArray[np.integer[Any]], numbers: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return the row of each entry of a matrix in compressed rows.

    Parameters
    ----------
    pointers
        Where each row begins and the last one ends, shape (rows + 1,).
    numbers
        What to return for each row, shape (rows,); None: its number.

    Examples
    --------
    >>> row_numbers(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    rows = np.arange(len(pointers) - 1, dtype=np.int64) if numbers is None else numbers
    return np.repeat(rows, np.diff(pointers).astype(np.intp, copy=False))  # 32 bits in a browser


def from_edges(sources: NDArray[Any], targets: NDArray[Any], rates: NDArray[np.float64], n: int) -> sp.csr_matrix:
    """Return the generator of rates from sources to targets, shape (transitions,) each, on n states.

    Rates between the same two states add up; those from a state to itself are dropped.
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
    """Return the generator of off-diagonal rates > 0, shape (n, n), with sorted rows.

    States without transitions have no entry on the diagonal.
    """
    n = rates.shape[0]
    counts = np.diff(rates.indptr)
    sources = np.repeat(np.arange(n, dtype=rates.indices.dtype), counts)
    leaves = counts > 0
    exit_rates = np.bincount(sources, rates.data, minlength=n)
    before: NDArray[np.int64] = np.cumsum(leaves) - leaves  # diagonal entries of earlier rows
    below = np.bincount(sources[rates.indices < sources], minlength=n)
    place = np.arange(len(sources)) + before[sources] + (rates.indices > sources)
    own = (rates.indptr[:-1] + before + below)[leaves]
    total = len(sources) + int(leaves.sum())
    data, indices = np.empty(total), np.empty(total, dtype=rates.indices.dtype)
    data[place], indices[place] = rates.data, rates.indices
    data[own], indices[own] = -exit_rates[leaves], np.flatnonzero(leaves)
    indptr = rates.indptr + np.append(0, np.cumsum(leaves)).astype(rates.indptr.dtype)
    found: Any = data, indices, indptr
    matrix = sp.csr_matrix(found, shape=(n, n))
    matrix.has_canonical_format = True
    return matrix


def exit_errors(Q: sp.csr_matrix) -> NDArray[np.float64]:
    """Return bounds on how far the diagonal of a generator is from less the sums of its other entries, shape (n,)."""
    rates, count = off_diagonal(Q), Q.shape[0]
    sums = np.zeros(count, dtype=np.longdouble)
    terms = np.diff(rates.indptr)
    if rates.nnz:
        sums[terms > 0] = np.add.reduceat(rates.data.astype(np.longdouble), rates.indptr[:-1][terms > 0])
    return np.asarray(np.abs(np.asarray(Q.diagonal()) + sums) + terms * WIDE_U * sums, dtype=np.float64)


def off_diagonal(Q: sp.csr_matrix) -> sp.csr_matrix:
    """Return the rates between different states, shape (n, n)."""
    entries = sp.coo_matrix(Q)
    moves = (entries.row != entries.col) & (entries.data > 0.0)
    pairs = entries.row[moves], entries.col[moves]
    return sp.csr_matrix((entries.data[moves], pairs), shape=Q.shape)


def rank_of(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each of n things in an order of them, shape (n,)."""
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank


def stopped(
    rates: sp.csr_matrix, running: NDArray[np.bool_], target: NDArray[np.bool_]
) -> tuple[sp.csr_matrix, NDArray[np.float64]]:
    """Return the chain on some states, and two states more where it stops: in the target, elsewhere.

    Parameters
    ----------
    rates
        Between different states, shape (n, n).
    running
        The m states where it goes on, shape (n,).
    target
        Shape (n,), none of them running.

    Returns
    -------
    scipy.sparse.csr_matrix, numpy.ndarray
        Generator, shape (m + 2, m + 2), and one in the state m, the target, zero elsewhere.
    """
    rows = sp.csr_matrix(rates[running])
    inner = sp.csr_matrix(rows[:, running])
    m = inner.shape[0]
    to_target = np.asarray(rows @ target.astype(float))
    elsewhere = np.asarray(rows @ (~(running | target)).astype(float))
    own = sp.diags(-(np.asarray(inner.sum(axis=1)).ravel() + to_target + elsewhere))
    ends = sp.csr_matrix(np.column_stack([to_target, elsewhere]))
    top = sp.hstack([inner + own, ends])
    found = sp.csr_matrix(sp.vstack([top, sp.csr_matrix((2, m + 2))]))
    reached = np.zeros(m + 2)
    reached[m] = 1.0
    return found, reached


def inner(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return sum_i x(i) y(i), for vectors of shape (n,)."""
    return float(np.einsum("i,i", x, y))


def norm(x: NDArray[np.float64]) -> float:
    """Return the Euclidean norm of a vector, shape (n,)."""
    return math.sqrt(inner(x, x))
