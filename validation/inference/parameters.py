"""Open parameters: what a paper leaves unstated, the range that is plausible, and points in that range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Value = int | float | str
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Range:
    """A number between two bounds; its logarithm is uniform unless ``linear``.

    Attributes
    ----------
    name
        Option of the simulator's program.
    low, high
        Bounds, in ``unit``.
    unit, meaning
        For tables.
    digits
        Significant digits that a setting has.
    whole
        Whether it is a whole number.

    Examples
    --------
    >>> from validation.inference.parameters import Range
    >>> Range("buffer", 5, 50, "packets", "queue under FCFS", whole=True).value(0.5)
    16
    """

    name: str
    low: float
    high: float
    unit: str
    meaning: str
    whole: bool = False
    linear: bool = False
    digits: int = 3

    def value(self, u: float) -> float:
        """Return the value at a coordinate in [0, 1]."""
        found = self.low + u * (self.high - self.low) if self.linear else self.low * (self.high / self.low) ** u
        return round(found) if self.whole else float(f"{found:.{self.digits}g}")

    def coordinate(self, value: Value) -> float:
        """Return the coordinate in [0, 1] of a value."""
        number = float(value)
        if self.linear:
            return (number - self.low) / (self.high - self.low)
        return math.log(number / self.low) / math.log(self.high / self.low)

    @property
    def span(self) -> str:
        """The range in words."""
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Choice:
    """One of some alternatives, all equally probable.

    Examples
    --------
    >>> from validation.inference.parameters import Choice
    >>> Choice("stop", ("top", "one"), "", "levels that a signal stops").value(0.7)
    'one'
    """

    name: str
    alternatives: tuple[Value, ...]
    unit: str
    meaning: str

    def value(self, u: float) -> Value:
        """Return the alternative at a coordinate in [0, 1]."""
        return self.alternatives[min(int(u * len(self.alternatives)), len(self.alternatives) - 1)]

    def coordinate(self, value: Value) -> float:
        """Return the coordinate of an alternative: equally spaced over [0, 1]."""
        kind = type(self.alternatives[0])
        return self.alternatives.index(kind(value)) / (len(self.alternatives) - 1)

    @property
    def span(self) -> str:
        """The alternatives in words."""
        return ", ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in self.alternatives)


Open = Range | Choice


def values_at(parameters: Sequence[Open], u: Sequence[float] | Values) -> dict[str, Value]:
    """Return the setting at a point of the unit cube, by name."""
    return {each.name: each.value(x) for each, x in zip(parameters, u, strict=True)}


def points(parameters: Sequence[Open], settings: Sequence[Mapping[str, Value]]) -> Values:
    """Return the points of the unit cube of settings, shape (settings, parameters)."""
    return np.array([[p.coordinate(each[p.name]) for p in parameters] for each in settings])


def snapped(parameters: Sequence[Open], cube: Values) -> Values:
    """Return points of the unit cube with the coordinates of alternatives in place of what stands for them.

    Parameters
    ----------
    cube
        Shape (points, parameters), each in [0, 1].
    """
    found = cube.copy()
    for n, each in enumerate(parameters):
        if isinstance(each, Choice):
            last = len(each.alternatives) - 1
            found[:, n] = np.minimum(np.floor(cube[:, n] * (last + 1)), last) / last
    return found


def sobol(parameters: Sequence[Open], number: int, seed: int) -> list[dict[str, Value]]:
    """Return the first settings of a scrambled Sobol sequence: more of them fill the gaps between fewer.

    Examples
    --------
    >>> from validation.inference.parameters import Range, sobol
    >>> one = Range("delay", 1, 10, "s", "")
    >>> [point["delay"] for point in sobol([one], 2, seed=1)]
    [1.93, 8.03]
    """
    from scipy.stats import qmc

    exponent = max(0, math.ceil(math.log2(number)))
    cube = qmc.Sobol(len(parameters), rng=np.random.default_rng(seed)).random_base2(exponent)
    return [values_at(parameters, point) for point in cube[:number]]
