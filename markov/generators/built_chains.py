"""The chain of a model as it is built: its states and its generator, and what chains of one model share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.generators.assembly import Pattern
from markov.models.samples import ends_of

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.generators.enumeration import Rows
    from markov.models.spaces import Space

__all__ = ["Built", "Series"]


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
