"""A number with a bound on its error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from markov.proofs.checker import decimal_exponent, format_decimal, format_rounded_up

__all__ = ["Bounded", "ExactBounded"]


@dataclass(frozen=True, repr=False)
class Bounded:
    """A computed value and an interval that holds the exact value.

    Attributes
    ----------
    value
        The best approximation, in the unit of the requested quantity.
    lower, upper
        Bounds of the exact value for the rates in float64, rounding errors included;
        infinite without a proof.

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
        """Bound on the difference of the exact value from this value, in its unit."""
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


@dataclass(frozen=True, repr=False)
class ExactBounded:
    """An interval with rational ends that holds an exact value, and its middle.

    Attributes
    ----------
    value
        The middle, in the unit of the requested quantity.
    lower, upper
        Bounds of the exact value for the rates in float64. They may have hundreds of digits.

    Examples
    --------
    >>> ExactBounded.between(Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**20))
    0.33333333333333333333833 +- 5.01e-21
    """

    value: Fraction
    lower: Fraction
    upper: Fraction

    @classmethod
    def between(cls, lower: Fraction, upper: Fraction) -> ExactBounded:
        """Return the interval between two rational ends, with its middle as the value."""
        return cls((lower + upper) / 2, lower, upper)

    @property
    def error(self) -> float:
        """Bound on the difference of the exact value from the middle, in its unit, rounded up to a float64."""
        return _round_up(self.upper - self.value)

    @property
    def relative_error(self) -> float:
        """The error relative to the smallest size that the exact value may have; inf if that is zero."""
        smallest = max(self.lower, -self.upper, Fraction(0))
        if smallest > 0:
            return _round_up((self.upper - self.value) / smallest)
        return 0.0 if self.upper == self.value else math.inf

    def __float__(self) -> float:
        return float(self.value)

    def __contains__(self, value: float | Fraction) -> bool:
        return self.lower <= Fraction(value) <= self.upper

    def __repr__(self) -> str:
        half_width = self.upper - self.value
        if half_width == 0:
            return f"{self.value} +- 0"
        e = decimal_exponent(half_width) - 2
        rounded = round(self.value / Fraction(10) ** e)
        rounding = abs(rounded * Fraction(10) ** e - self.value)
        return f"{format_decimal(rounded, e)} +- {format_rounded_up(half_width + rounding)}"


def _round_up(value: Fraction) -> float:
    """Return the smallest float64 that is not below a fraction."""
    rounded = float(value)
    return rounded if Fraction(rounded) >= value else math.nextafter(rounded, math.inf)
