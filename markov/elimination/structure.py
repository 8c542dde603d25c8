"""Structure of a chain: its closed classes, their periods, and absorption of transient states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from markov.computing.matrices import strong_components
from markov.elimination.bands import eliminate_down_to
from markov.elimination.lu import factorize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["absorption", "closed_classes", "period"]

DENSE_LIMIT = 1500
"""Number of transient states up to which absorption probabilities are computed by elimination."""


def closed_classes(Q: sp.csr_matrix) -> list[NDArray[np.int64]]:
    """Return the closed communicating classes of a generator: a list with the sorted state indices of each.

    They are the strongly connected components that no transition leaves, in the order of their first states.
    """
    count, labels = strong_components(Q)
    edges = Q.tocoo()
    leaves = np.zeros(count, dtype=bool)
    out = (labels[edges.row] != labels[edges.col]) & (edges.data > 0)
    leaves[labels[edges.row[out]]] = True
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(count + 1))
    closed = np.flatnonzero(~leaves)
    closed = closed[np.argsort(order[bounds[closed]])]
    return [order[bounds[c] : bounds[c + 1]] for c in closed]


def period(Q: sp.csr_matrix) -> int:
    """Return the period of the jump chain of an irreducible generator; 1 if it is aperiodic.

    The greatest common divisor of d(x) + 1 - d(y) over the transitions x -> y, d being the distance
    from any state. A chain of one state, which never jumps, has period 1.
    """
    edges = Q.tocoo()
    off = edges.row != edges.col
    if not off.any():
        return 1
    from scipy.sparse.csgraph import dijkstra

    distance = dijkstra(abs(Q), indices=[0], unweighted=True)[0].astype(np.int64)
    excess = distance[edges.row[off]] + 1 - distance[edges.col[off]]
    return int(np.gcd.reduce(np.abs(excess)))


def absorption(
    Q: sp.csr_matrix, transient: NDArray[np.int64], classes: Sequence[NDArray[np.int64]]
) -> NDArray[np.float64]:
    """Return the probability to end in each closed class from each transient state, shape (transient states, classes).

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    transient
        Indices of transient states; none of them leads outside of themselves and the classes.
    classes
        Closed sets of states.

    Returns
    -------
    shape (len(transient), len(classes)); rows sum to one.

    Notes
    -----
    Up to 1,500 transient states by elimination without subtractions, entrywise accurate; beyond, by
    sparse LU of the M-matrix, which has only diagonal pivots and one refinement.
    """
    count = len(classes)
    rows = Q[transient]
    exit_rates = np.column_stack([np.asarray(rows[:, c].sum(axis=1)).ravel() for c in classes])
    inside = rows[:, transient]
    if len(transient) > DENSE_LIMIT:
        matrix = sp.csc_matrix(-inside)
        lu = factorize(matrix)
        probabilities = lu.solve(exit_rates)
        probabilities += lu.solve(exit_rates - matrix @ probabilities)
        return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))
    n = count + len(transient)
    rates = np.zeros((n, n))
    rates[count:, :count] = exit_rates
    rates[count:, count:] = inside.toarray()
    np.fill_diagonal(rates, 0.0)
    eliminate_down_to(rates, count)
    ending = np.zeros((n, count))
    ending[:count] = np.eye(count)
    for k in range(count, n):
        ending[k] = rates[k, :k] @ ending[:k] / rates[k, :k].sum()
    return ending[count:]
