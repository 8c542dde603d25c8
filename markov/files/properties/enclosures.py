"""Values with errors in each state: numbers with bounds, and three-valued truth.

Truth values combine by Kleene's strong three-valued logic (S. C. Kleene, Introduction to Metamathematics,
1952, section 64): a set of states lies between the states that surely belong to it and those possibly in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.computing.rounding import U
from markov.files.values import COMPARISONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Marks = NDArray[np.bool_]

__all__ = ["Enclosure", "Estimate", "Truth", "calculate", "compare", "probability", "select"]

ROUNDED_UP = 1.0 + 8.0 * U


@dataclass(frozen=True)
class Truth:
    """A set of states: the states surely in it, and the states possibly in it, shape (n,) both."""

    surely: Marks
    possibly: Marks

    @classmethod
    def exactly(cls, marks: Marks) -> Truth:
        """Return a decided set."""
        return cls(marks, marks)

    @property
    def undecided(self) -> Marks:
        """The undecided states, shape (n,)."""
        return self.possibly & ~self.surely

    @property
    def decided(self) -> bool:
        """Whether no state is undecided."""
        return not self.undecided.any()

    def map(self, change: Callable[[Marks], Marks]) -> Truth:
        """Return the result of a monotone function of the set."""
        surely = change(self.surely)
        return Truth(surely, surely if self.decided else change(self.possibly))

    def __invert__(self) -> Truth:
        return Truth(~self.possibly, ~self.surely)

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.surely & other.surely, self.possibly & other.possibly)

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.surely | other.surely, self.possibly | other.possibly)

    def same_as(self, other: Truth) -> Truth:
        """Return the set of states in which both have the same truth value."""
        return (self & other) | (~self & ~other)


@dataclass(frozen=True)
class Estimate:
    """Numbers in each state with a bound on the error of each, shape (n,) both.

    Attributes
    ----------
    values, error
        An infinite value with the error zero is infinite.
    positive, partial
        States in which a probability is positive or below one, by the graph of the chain.
    """

    values: Vector
    error: Vector
    positive: Truth | None = None
    partial: Truth | None = None

    def negated(self) -> Estimate:
        """Return one minus the numbers."""
        error = self.error + np.where(self.error > 0.0, U, 0.0)
        return Estimate(1.0 - self.values, error, self.partial, self.positive)

    @classmethod
    def between(cls, low: Estimate, high: Estimate) -> Estimate:
        """Return an enclosure of numbers between a lower and an upper estimate."""
        with np.errstate(invalid="ignore"):
            same = (low.values == high.values) & (low.error == high.error)
            lower, upper = low.values - low.error, high.values + high.error
            middle = np.where(np.isfinite(upper), 0.5 * (lower + upper), low.values)
            half = np.maximum(upper - middle, middle - lower) * ROUNDED_UP
        values, error = np.where(same, low.values, middle), np.where(same, low.error, half)
        positive = partial = None
        if low.positive is not None and high.positive is not None:
            positive = Truth(low.positive.surely, high.positive.possibly)
        if low.partial is not None and high.partial is not None:
            partial = Truth(high.partial.surely, low.partial.possibly)
        return cls(values, error, positive, partial)


Enclosure = Estimate | Truth


def probability(values: Vector, error: Vector, positive: Truth, partial: Truth) -> Estimate:
    """Return probabilities, exactly zero or one in the states that the graph decides."""
    zero, one = ~positive.possibly, ~partial.possibly
    values = np.where(one, 1.0, np.where(zero, 0.0, values))
    error = np.where(np.isfinite(error), np.minimum(error, 1.0), error)  # both lie between 0 and 1
    return Estimate(values, np.where(zero | one, 0.0, error), positive, partial)


def compare(sign: str, a: Estimate, b: Estimate) -> Truth:
    """Return the states in which a comparison such as ``a < b`` holds."""
    with np.errstate(invalid="ignore"):
        holds = np.asarray(COMPARISONS[sign](a.values, b.values))
        allowance = (a.error + b.error) * ROUNDED_UP
        separated = np.abs(a.values - b.values) * (1.0 - 4.0 * U) > allowance
    sure = separated | ((a.error == 0.0) & (b.error == 0.0))
    return Truth(holds & sure, holds | ~sure)


def _sum(a: Estimate, b: Estimate) -> Estimate:
    return _with_rounding(a.values + b.values, a.error + b.error)


def _difference(a: Estimate, b: Estimate) -> Estimate:
    return _with_rounding(a.values - b.values, a.error + b.error)


def _product(a: Estimate, b: Estimate) -> Estimate:
    error = np.abs(a.values) * b.error + np.abs(b.values) * a.error + a.error * b.error
    return _with_rounding(a.values * b.values, error)


def _quotient(a: Estimate, b: Estimate) -> Estimate:
    quotient = a.values / b.values
    min_divisor = np.abs(b.values) - b.error
    exact = (a.error == 0.0) & (b.error == 0.0)
    error = np.where(exact, 0.0, (a.error + np.abs(quotient) * b.error) / np.maximum(min_divisor, 0.0))
    return _with_rounding(quotient, np.where(exact | (min_divisor > 0.0), error, np.inf))


def _with_rounding(values: Vector, error: Vector) -> Estimate:
    """Return the result of a floating-point operation, with the error of its operands and its rounding."""
    error = np.where(np.isnan(error), np.inf, error) * ROUNDED_UP
    finite = np.isfinite(values)
    return Estimate(values, error + np.where(finite, U * np.abs(values), 0.0))


def _extreme(pick: Any) -> Callable[..., Estimate]:
    def pick_extreme(*operands: Estimate) -> Estimate:
        values, error = [part.values for part in operands], [part.error for part in operands]
        return Estimate(reduce(pick, values), reduce(np.maximum, error))

    return pick_extreme


_OPERATIONS: dict[str, Callable[..., Estimate]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "/": _quotient,
    "min": _extreme(np.minimum),
    "max": _extreme(np.maximum),
}


def calculate(name: str, *operands: Estimate) -> Estimate | None:
    """Return the result of an operator or a function with its error; None for other names."""
    if name not in _OPERATIONS:
        return None
    with np.errstate(all="ignore"):
        return _OPERATIONS[name](*operands)


def select(condition: Truth, yes: Enclosure, no: Enclosure) -> Enclosure:
    """Return one value where a condition holds and another where it does not."""
    if isinstance(yes, Truth) and isinstance(no, Truth):
        return (condition & yes) | (~condition & no) | (yes & no)
    assert isinstance(yes, Estimate)
    assert isinstance(no, Estimate)
    values = np.where(condition.surely, yes.values, no.values)
    error = np.where(condition.surely, yes.error, no.error)
    return Estimate(values, np.where(condition.undecided, np.inf, error))
