"""Generator matrices out of rates: sorted rows, no entry twice, a diagonal that makes rows sum to 0; the order of their states."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from markov.computing.graphs import breadth_first_order
from markov.computing.vectors import row_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.generators.enumeration import Rows
    from markov.models.spaces import Space

__all__ = [
    "MAX_INT32",
    "Pattern",
    "ascending",
    "closed_part",
    "from_edges",
    "generator_of",
    "led_to",
    "rank_of",
    "with_diagonal",
]

MAX_INT32 = 2**31 - 1
"""The last number of an entry or a state that 32 bits hold."""
NUMBERED = 2**63  # states of a space that have numbers


def generator_of(rows: Rows, rank: NDArray[np.int64] | None = None) -> sp.csr_matrix:
    """Return the generator of some rows of rates, shape (n, n).

    Parameters
    ----------
    rows
        Rates out of n states; those to one target add up, those of a state to itself are dropped.
    rank
        The number that each state gets, shape (n,); None: as it is.
    """
    n = len(rows.indptr) - 1
    sources = row_numbers(rows.indptr)
    targets = rows.targets
    if rank is not None:
        sources, targets = rank[sources], rank[targets]
    return from_edges(sources, targets, rows.rates, n)


def from_edges(
    sources: NDArray[Any], targets: NDArray[Any], rates: NDArray[np.float64], n: int
) -> sp.csr_matrix:
    """Return the generator of rates from sources to targets, shape (transitions,) each."""
    moves = sources != targets
    if not moves.all():
        sources, targets, rates = sources[moves], targets[moves], rates[moves]
    kind: Any = np.int32 if max(len(rates) + n, n) < MAX_INT32 else np.int64
    index = sources.astype(kind, copy=False), targets.astype(kind, copy=False)
    matrix = sp.coo_matrix((rates, index), shape=(n, n)).tocsr()
    matrix.sum_duplicates()
    return with_diagonal(matrix)


class Pattern:
    """Where the rates of some rows go in their generator, for rows with the same transitions.

    Parameters
    ----------
    numbers
        The states in the product space, in the order of the rows, shape (n,).
    rows
        The rows: of others only the rates may differ.

    Attributes
    ----------
    order
        The states in ascending order, as places in the rows, shape (n,).
    """

    def __init__(self, numbers: NDArray[np.int64], rows: Rows) -> None:
        self.numbers, self.rows = numbers, rows
        self.order = np.argsort(numbers, kind="stable")
        self._matrix = generator_of(rows, rank_of(self.order))
        rank, n = rank_of(self.order), len(numbers)
        sources = row_numbers(rows.indptr, rank)
        entries = row_numbers(self._matrix.indptr) * n + self._matrix.indices
        self._moves = sources != rank[rows.targets]
        key = (sources * n + rank[rows.targets])[self._moves]
        self._place = np.searchsorted(entries, key)
        self._leaves = np.unique(sources[self._moves])
        self._own = np.searchsorted(entries, self._leaves * (n + 1))
        within = row_numbers(self._matrix.indptr)
        self._off = np.flatnonzero(within != self._matrix.indices)
        self._rows = within[self._off]

    def fits(self, numbers: NDArray[np.int64], rows: Rows) -> bool:
        """Whether other rows have the same states and transitions."""
        return (
            np.array_equal(numbers, self.numbers)
            and np.array_equal(rows.indptr, self.rows.indptr)
            and np.array_equal(rows.targets, self.rows.targets)
        )

    def generator(self, rates: NDArray[np.float64]) -> sp.csr_matrix:
        """Return the generator of rows with these rates, shape (n, n)."""
        kept = rates[self._moves]
        data = np.bincount(self._place, kept, minlength=self._matrix.nnz)
        data[self._own] = -np.bincount(self._rows, data[self._off])[
            self._leaves
        ]  # as `with_diagonal`
        matrix = copy(self._matrix)  # shallow: chains that are alike share the pattern
        matrix.data = data
        return matrix


def with_diagonal(rates: sp.csr_matrix) -> sp.csr_matrix:
    """Return the generator of off-diagonal rates > 0, shape (n, n), with sorted rows.

    States without transitions have no entry on the diagonal.
    """
    n = rates.shape[0]
    counts = np.diff(rates.indptr)
    sources = np.repeat(np.arange(n, dtype=rates.indices.dtype), counts)
    leaves = counts > 0
    exit_rates = np.bincount(sources, rates.data, minlength=n)
    before: NDArray[np.int64] = (
        np.cumsum(leaves) - leaves
    )  # entries of the diagonal in the rows before
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


def rank_of(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each of n things in an order of them, shape (n,)."""
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank


def ascending(space: Space, codes: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the order of states by their components, the last varying fastest; None: as they are."""
    if space.size < NUMBERED:
        numbers = space.numbers(codes)
        if np.all(numbers[1:] > numbers[:-1]):
            return None
        return np.argsort(numbers, kind="stable")
    return np.lexsort(codes[::-1])


def led_to(graph: sp.csr_matrix, first: int) -> NDArray[np.bool_]:
    """Return which states a state leads to, itself included; shape (states,)."""
    entered = np.zeros(graph.shape[0], dtype=bool)
    entered[breadth_first_order(graph, first)] = True
    return entered


def closed_part(Q: sp.csr_matrix, inside: NDArray[np.bool_]) -> sp.csr_matrix:
    """Return a generator on a set of states that it does not lead out of."""
    if inside.all():
        return Q
    counts = np.diff(Q.indptr)
    kept = np.repeat(inside, counts)
    place = (np.cumsum(inside) - 1).astype(Q.indices.dtype)
    indptr = np.append(0, np.cumsum(counts[inside])).astype(Q.indptr.dtype)
    found: Any = Q.data[kept], place[Q.indices[kept]], indptr
    n = len(indptr) - 1
    part = sp.csr_matrix(found, shape=(n, n))
    part.has_canonical_format = True
    return part
