"""Which states lead to a set, and a chain that stops in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from markov.computing.graphs import breadth_first_order

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
    n, starts = len(target), np.flatnonzero(target)
    indices, indptr = backward.indices, backward.indptr
    if within is not None:
        kept = within[indices]
        indices, indptr = indices[kept], np.append(0, np.cumsum(kept))[indptr]
    # one node more, from which all states of the target are reached
    columns = np.append(indices, starts).astype(np.int64)
    ends = np.append(indptr, len(columns)).astype(np.int64)
    graph = sp.csr_matrix((np.ones(len(columns)), columns, ends), shape=(n + 1, n + 1))
    found = np.zeros(n + 1, dtype=bool)
    found[breadth_first_order(graph, n)] = True
    return found[:n]


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
