"""The transitions of regions of a model's rules, as arrays: one row for each step between two combinations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.multigrid.grids.counts import Varying, by_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from markov.generators.regions import Region

    Numbers = NDArray[np.int64]

__all__ = ["Moves", "moves_of", "products"]


class Moves(NamedTuple):
    """Transitions out of boxes of cells, each by one step at one rate, or at one that depends on counts.

    Attributes
    ----------
    low, high
        The cells of each box along each axis, ``low`` up to but not ``high``, shape (moves, axes).
    step
        From each cell to the other one.
    source, target
        Combinations of the values of the components that are no axes, before and after, shape (moves,).
    rate
        Shape (moves,); zero where it depends on counts.
    varying
        Where it does, which of ``variants`` it is; -1: none.
    variants
        Different rates that depend on counts.
    """

    low: Numbers
    high: Numbers
    step: Numbers
    source: Numbers
    target: Numbers
    rate: NDArray[np.float64]
    varying: Numbers
    variants: tuple[Varying, ...]

    @property
    def back(self) -> Moves:
        """The same seen from where they lead."""
        targets = self.low + self.step, self.high + self.step
        return self._replace(low=targets[0], high=targets[1], step=-self.step, source=self.target, target=self.source)

    def shift_states(self, n: int, shift: Numbers) -> Moves:
        """Return the same with states moved along axis ``n``, each combination by its own distance."""
        low, high, step = self.low.copy(), self.high.copy(), self.step.copy()
        low[:, n] += shift[self.source]
        high[:, n] += shift[self.source]
        step[:, n] += shift[self.target] - shift[self.source]
        varying, numbers = self.varying.copy(), dict[Varying, int]()
        for row in np.flatnonzero(varying >= 0).tolist():
            moved = self.variants[varying[row]].shift(n, int(shift[self.source[row]]))
            varying[row] = numbers.setdefault(moved, len(numbers))
        return self._replace(low=low, high=high, step=step, varying=varying, variants=tuple(numbers))


def moves_of(
    regions: Sequence[Region],
    low: Sequence[int],
    axes: Sequence[int],
    inner: Sequence[int],
    inner_shape: Sequence[int],
) -> Moves:
    """Return the transitions of regions that change the state, in the order of the regions."""
    cells = [
        (n, changes, *part)
        for n, region in enumerate(regions)
        for changes, rate in region.moves or ()
        if any(changes)
        for part in by_count(rate, region.low, region.high, axes)
    ]
    region_numbers, changes_of_rows, components, values, rates = zip(*cells, strict=True)
    changes = np.array(changes_of_rows, dtype=np.int64)
    region = np.array(region_numbers)
    begin = (np.array([r.low for r in regions]) - np.array(low))[region]
    end = (np.array([r.high for r in regions]) - np.array(low))[region] + 1
    for row, (n, value) in enumerate(zip(components, values, strict=True)):
        if n is not None:  # a part of the region, with one value of a component
            begin[row, n], end[row, n] = value - low[n], value - low[n] + 1
    which, source = products(begin[:, inner], end[:, inner], inner_shape)
    weights = [math.prod(inner_shape[n + 1 :]) for n in range(len(inner_shape))]
    target = source + (changes[:, inner] @ np.array(weights, dtype=np.int64))[which]
    low_cells, high_cells, steps = (part[which][:, axes] for part in (begin, end, changes))
    numbers: dict[Varying, int] = {}
    varying = [numbers.setdefault(r, len(numbers)) if isinstance(r, Varying) else -1 for r in rates]
    rate = np.array([0.0 if isinstance(r, Varying) else r for r in rates])[which]
    kinds = np.array(varying, dtype=np.int64)[which]
    return Moves(low_cells, high_cells, steps, source, target, rate, kinds, tuple(numbers))


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
        index = np.repeat(np.arange(len(which)), counts)
        within = np.arange(len(index)) - np.repeat(np.cumsum(counts) - counts, counts)
        which = which[index]
        numbers = numbers[index] * size + low[which, n] + within
    return which, numbers
