"""Rates that depend on a count: a constant, and curves over the coordinates of the cell.

Cells with the same transitions are of one kind, also where rates grow with a count: an entry of a kind then has
curves, tables of what is added to its rate at each coordinate along an axis. Kernels write the rates of a cell to their
places in the arrays of all rates before they come to it (`markov.multigrid.grids.loops.count_kernels`); elsewhere those
are not numbers, so that nothing can be computed from rates that were forgotten.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.generators.curves import Curve

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Numbers = NDArray[np.int64]

__all__ = ["Counts", "Terms", "Varying", "by_count", "terms_of"]


class Along(NamedTuple):
    """What is added to a rate: ``values[coordinate - offset]``, as float64, along an axis."""

    axis: int
    offset: int
    values: bytes


@dataclass(frozen=True)
class Varying:
    """A rate that depends on coordinates: a constant, and one curve along each of some axes."""

    constant: float
    curves: tuple[Along, ...]

    def __add__(self, other: Any) -> Varying:
        if not isinstance(other, Varying):
            return Varying(self.constant + other, self.curves)
        by_axis = {(c.axis, c.offset): c for c in self.curves}
        for curve in other.curves:
            key = curve.axis, curve.offset
            if key in by_axis:
                with np.errstate(all="ignore"):
                    both = np.frombuffer(by_axis[key].values) + np.frombuffer(curve.values)
                curve = Along(*key, both.tobytes())
            by_axis[key] = curve
        return Varying(self.constant + other.constant, tuple(sorted(by_axis.values())))

    __radd__ = __add__

    def shift(self, axis: int, by: int) -> Varying:
        """Return the same for states that are so many cells further along an axis."""
        curves = (c._replace(offset=c.offset + by * (c.axis == axis)) for c in self.curves)
        return Varying(self.constant, tuple(curves))


def by_count(
    rate: Any, low: Sequence[int], high: Sequence[int], axes: Sequence[int]
) -> Iterator[tuple[int | None, int, Any]]:
    """Yield (component, value, rate) of what becomes of a rate on a box.

    Along an axis, or where it is the same in all of the box, it is one rate, of no component; where it
    depends on another component it is one for each value of that.
    """
    if type(rate) is not Curve:
        yield None, 0, rate
        return
    n, first = rate.number, rate.first
    inside = rate.values[low[n] - first : high[n] - first + 1].astype(np.float64)
    if (inside == inside[0]).all():
        yield None, 0, float(inside[0])
    elif n in axes:
        values = rate.values.astype(np.float64).tobytes()
        yield None, 0, Varying(0.0, (Along(tuple(axes).index(n), 0, values),))
    else:
        for value, number in zip(range(low[n], high[n] + 1), inside.tolist(), strict=True):
            yield n, value, number


class Terms(NamedTuple):
    """What is added to some numbers at a cell: ``curves[place + coordinate]`` along ``axis`` to ``target``.

    Attributes
    ----------
    constant
        Of each number, to which it is added.
    target, axis, place
        Of each term, shape (terms,); targets ascend.
    """

    constant: Vector
    target: Numbers
    axis: Numbers
    curve_offset: Numbers

    def at(self, curves: Vector, coordinates: Sequence[int]) -> Vector:
        """Return the numbers at a cell; those of kinds that the cell is not of mean nothing."""
        values = self.constant.copy()
        positions = self.curve_offset + np.array(coordinates, dtype=np.int64)[self.axis]
        np.add.at(values, self.target, curves[np.clip(positions, 0, len(curves) - 1)])
        return values

    def select(self, numbers: Numbers, offsets: Numbers) -> Terms:
        """Return the terms of some of the numbers, at cells so far away, shape (numbers, axes)."""
        first = np.searchsorted(self.target, numbers)
        counts = np.searchsorted(self.target, numbers, "right") - first
        target = np.repeat(np.arange(len(numbers)), counts)
        term = np.arange(len(target)) - np.repeat(np.cumsum(counts) - counts, counts)
        term += np.repeat(first, counts)
        axis = self.axis[term]
        curve_offset = self.curve_offset[term] + offsets[target, axis]
        return Terms(self.constant[numbers], target, axis, curve_offset)


def terms_of(
    rates: Sequence[Any], offsets: NDArray[np.int64], curves: dict[bytes, int], length: int
) -> tuple[Vector, Terms]:
    """Return numbers, not a number where they vary, and their terms.

    Parameters
    ----------
    rates
        Numbers, or varying.
    offsets
        From the cell to that whose coordinates the rates depend on, shape (rates, axes).
    curves
        Where each curve begins; new ones are added to it.
    length
        Room for a curve.
    """
    terms: list[tuple[int, int, int]] = []
    constants = np.empty(len(rates))
    for n, rate in enumerate(rates):
        constants[n] = rate.constant if isinstance(rate, Varying) else rate
        for c in rate.curves if isinstance(rate, Varying) else ():
            begin = curves.setdefault(c.values, len(curves) * length)
            terms.append((n, c.axis, begin - c.offset + int(offsets[n, c.axis])))
    target, axis, curve_offset = np.array(terms, dtype=np.int64).reshape(-1, 3).T
    values = constants.copy()
    values[target] = math.nan
    return values, Terms(constants, *map(np.ascontiguousarray, (target, axis, curve_offset)))


class Counts(NamedTuple):
    """The terms of the rates of a grid, and of the total rates out of states.

    Attributes
    ----------
    curves
        All of them, one after the other.
    rates, exits
        Of the rate of each entry, and of the total rate out of each slot of each kind.
    """

    curves: Vector
    rates: Terms
    exits: Terms
