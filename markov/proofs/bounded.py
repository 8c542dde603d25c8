"""A number with a bound on its error."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Bounded"]


@dataclass(frozen=True, repr=False)
class Bounded:
    """A computed value and an interval that holds the exact one.

    Attributes
    ----------
    value
        The best approximation, in the unit of the requested quantity.
    lower, upper
        Bounds of the exact value for the rates as given in float64, rounding errors included;
        infinite if nothing is proved.

    Examples
    --------
    >>> Bounded(0.25, 0.25 - 1e-15, 0.25 + 2e-15)
    0.25 +- 2e-15
    """

    value: float
    lower: float
    upper: float

    @property
    def error(self) -> float:
        """How far the exact value is from this one at most, in its unit."""
        if self.lower == self.upper:
            return 0.0
        return max(self.upper - self.value, self.value - self.lower)

    @property
    def relative_error(self) -> float:
        """The error relative to the smallest size that the exact value may have; inf if that is zero."""
        smallest = max(self.lower, -self.upper, 0.0)
        return self.error / smallest if smallest > 0.0 else (0.0 if self.error == 0.0 else math.inf)

    def __float__(self) -> float:
        return self.value

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    def __repr__(self) -> str:
        return f"{self.value:.17g} +- {self.error:.2g}"
