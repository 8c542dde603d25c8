"""The transitions of regions of a model's rules, as arrays: one row for each step between two combinations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from markov.generators.regions import Region

    Numbers = NDArray[np.int64]

__all__ = ["Moves", "moves_of", "products"]


class Moves(NamedTuple):
    """Transitions out of boxes of cells, each by one step at one rate.

    Attributes
    ----------
    low, high
        The cells of each box along each axis, ``low`` up to but not ``high``, shape (moves, axes).
    step
        From each cell to the other one.
    source, target
        Combinations of the values of the components that are no axes, before and after, shape (moves,).
    rate
        Shape (moves,).
    """

    low: Numbers
    high: Numbers
    step: Numbers
    source: Numbers
    target: Numbers
    rate: NDArray[np.float64]

    @property
    def back(self) -> Moves:
        """The same seen from where they lead."""
        ends = self.low + self.step, self.high + self.step
        return Moves(*ends, -self.step, self.target, self.source, self.rate)

    def shifted(self, n: int, shift: Numbers) -> Moves:
        """Return the same with states moved along axis ``n``, each combination by its own distance."""
        low, high, step = self.low.copy(), self.high.copy(), self.step.copy()
        low[:, n] += shift[self.source]
        high[:, n] += shift[self.source]
        step[:, n] += shift[self.target] - shift[self.source]
        return self._replace(low=low, high=high, step=step)


def moves_of(
    regions: Sequence[Region],
    low: Sequence[int],
    axes: Sequence[int],
    inner: Sequence[int],
    inner_shape: Sequence[int],
) -> Moves:
    """Return the transitions of regions that change the state, in the order of the regions."""
    moves = [[move for move in region.moves or () if any(move[0])] for region in regions]
    region = np.repeat(np.arange(len(moves)), list(map(len, moves)))
    changes = np.array([changes for own in moves for changes, _ in own], dtype=np.int64)
    rates = np.array([rate for own in moves for _, rate in own], dtype=np.float64)
    begin = (np.array([r.low for r in regions]) - np.array(low))[region]
    end = (np.array([r.high for r in regions]) - np.array(low))[region] + 1
    which, source = products(begin[:, inner], end[:, inner], inner_shape)
    weights = [math.prod(inner_shape[n + 1 :]) for n in range(len(inner_shape))]
    target = source + (changes[:, inner] @ np.array(weights, dtype=np.int64))[which]
    low_cells, high_cells, steps = (each[which][:, axes] for each in (begin, end, changes))
    return Moves(low_cells, high_cells, steps, source, target, rates[which])


def products(low: Numbers, high: Numbers, shape: Sequence[int]) -> tuple[Numbers, Numbers]:
    """Return the numbers of all places in some boxes of an array, and which box each is from.

    Parameters
    ----------
    low, high
        Of each box along each axis, ``low`` up to but not ``high``, shape (boxes, axes).
    shape
        Of the array.
    """
    which = np.arange(len(low))
    numbers = np.zeros(len(low), dtype=np.int64)
    for n, size in enumerate(shape):
        counts = np.maximum(high[:, n] - low[:, n], 0)[which]
        each = np.repeat(np.arange(len(which)), counts)
        within = np.arange(len(each)) - np.repeat(np.cumsum(counts) - counts, counts)
        which = which[each]
        numbers = numbers[each] * size + low[which, n] + within
    return which, numbers
