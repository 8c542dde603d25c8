"""The chain of a model as it is built: its states and its generator, and what chains of one model share."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.computing.matrices import rank_of, row_numbers
from markov.models.state_tables import ends_of

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.generators.enumeration import Rows
    from markov.models.spaces import Space

__all__ = ["Built", "Pattern", "Series"]


class Built(NamedTuple):
    """The states of a chain and its generator.

    Attributes
    ----------
    space
        What a state is made of.
    codes
        The states, ascending in the product of their components, shape (components, states).
    Q
        The generator, rates in 1/s.
    how
        How it was found, in words.
    led_to
        Whether the states are those that the model's start leads to, and no others.
    """

    space: Space
    codes: NDArray[np.int64]
    Q: sp.csr_matrix
    how: str
    led_to: bool = False


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
        self._matrix = rows.generator(rank_of(self.order))
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


class Series:
    """Data shared by chains with the same transitions."""

    def __init__(self) -> None:
        self.pattern: Pattern | None = None
        self.codes = np.zeros((0, 0), dtype=np.int64)
        self.places: list[int] = []  # of the states on which chains after the first are compared

    def generator(
        self, space: Space, numbers: NDArray[np.int64], rows: Rows
    ) -> tuple[NDArray[np.int64], sp.csr_matrix]:
        """Return the codes of the states in ascending order, and the generator on them."""
        if self.pattern is None or not self.pattern.fits(numbers, rows):
            self.pattern = Pattern(numbers, rows)
            self.codes = space.unnumbered(numbers[self.pattern.order])
            self.places = sorted(ends_of(self.codes))
        return self.codes, self.pattern.generator(rows.rates)
