"""Which states lead to a set, and a chain that stops in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Truth = NDArray[np.bool_]

__all__ = ["leads_to", "off_diagonal", "stopped"]


def off_diagonal(Q: sp.csr_matrix) -> sp.csr_matrix:
    """Return the rates between different states, shape (n, n)."""
    entries = sp.coo_matrix(Q)
    moves = (entries.row != entries.col) & (entries.data > 0.0)
    pairs = entries.row[moves], entries.col[moves]
    return sp.csr_matrix((entries.data[moves], pairs), shape=Q.shape)


def leads_to(backward: sp.csr_matrix, target: Truth, within: Truth | None = None) -> Truth:
    """Return the states from which a target can be reached, shape (n,).

    Parameters
    ----------
    backward
        Rates between states, transposed, shape (n, n).
    target
        Shape (n,); its states are among those found.
    within
        The states that may be passed on the way; None: all.
    """
    found = target.copy()
    frontier = np.flatnonzero(target)
    while len(frontier):
        before = _neighbours(backward, frontier)
        before = before[~found[before]]
        if within is not None:
            before = before[within[before]]
        frontier = np.unique(before)
        found[frontier] = True
    return found


def stopped(rates: sp.csr_matrix, running: Truth, target: Truth) -> tuple[sp.csr_matrix, Vector]:
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


def _neighbours(graph: sp.csr_matrix, states: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the entries of some rows are, one after the other."""
    counts = graph.indptr[states + 1] - graph.indptr[states]
    total = int(counts.sum())
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(graph.indices[np.repeat(graph.indptr[states], counts) + within])
