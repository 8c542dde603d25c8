"""Values with errors in each state, numbers with bounds and three-valued truth, and filters over the states.

Truth values combine by Kleene's strong three-valued logic (S. C. Kleene, Introduction to Metamathematics,
1952, section 64): a set of states lies between the states that surely belong to it and those possibly in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import count_of
from markov.computing.rounding import U
from markov.files.language import COMPARISONS, FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Marks = NDArray[np.bool_]

__all__ = [
    "OPERATIONS",
    "Enclosure",
    "Estimate",
    "FilterValue",
    "Truth",
    "apply_filter",
    "calculate",
    "compare",
    "probability",
    "select",
]

# ----------------------------------------------------------------------------------- truth and numbers


ROUNDED_UP = 1.0 + 8.0 * U


@dataclass(frozen=True)
class Truth:
    """Three-valued truth of a condition in each state: the states where it surely, and possibly, holds, shape (n,)."""

    surely: Marks
    possibly: Marks

    @classmethod
    def exactly(cls, marks: Marks) -> Truth:
        """Return the truth that is decided in every state: true in the marked states, otherwise false."""
        return cls(marks, marks)

    @property
    def undecided(self) -> Marks:
        """Which states are possibly but not surely in the set, shape (n,)."""
        return self.possibly & ~self.surely

    @property
    def decided(self) -> bool:
        """Whether the truth value is decided in every state."""
        return not self.undecided.any()

    def map(self, change: Callable[[Marks], Marks]) -> Truth:
        """Return the truth of ``change`` of this set of states; ``change`` maps sets to sets and is monotone."""
        surely = change(self.surely)
        return Truth(surely, surely if self.decided else change(self.possibly))

    def __invert__(self) -> Truth:
        return Truth(~self.possibly, ~self.surely)

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.surely & other.surely, self.possibly & other.possibly)

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.surely | other.surely, self.possibly | other.possibly)

    def same_as(self, other: Truth) -> Truth:
        """Return in which states two three-valued truths agree: their equivalence."""
        return (self & other) | (~self & ~other)


@dataclass(frozen=True)
class Estimate:
    """A number in each state and a bound on its absolute error, shape (n,) each.

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

    def complement(self) -> Estimate:
        """Return one minus the numbers, with error bounds."""
        error = self.error + np.where(self.error > 0.0, U, 0.0)
        return Estimate(1.0 - self.values, error, self.partial, self.positive)

    @classmethod
    def between(cls, low: Estimate, high: Estimate) -> Estimate:
        """Return numbers and errors that enclose all values from a lower to an upper estimate."""
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
    """Return probabilities with errors, set to exactly 0 or 1 in the states where the chain's graph decides them."""
    zero, one = ~positive.possibly, ~partial.possibly
    values = np.where(one, 1.0, np.where(zero, 0.0, values))
    error = np.where(np.isfinite(error), np.minimum(error, 1.0), error)  # both lie between 0 and 1
    return Estimate(values, np.where(zero | one, 0.0, error), positive, partial)


def compare(sign: str, a: Estimate, b: Estimate) -> Truth:
    """Return where a comparison such as ``a < b`` holds; undecided where the errors allow both answers."""
    with np.errstate(invalid="ignore"):
        holds = np.asarray(COMPARISONS[sign](a.values, b.values))
        allowance = (a.error + b.error) * ROUNDED_UP
        separated = np.abs(a.values - b.values) * (1.0 - 4.0 * U) > allowance
    sure = separated | ((a.error == 0.0) & (b.error == 0.0))
    return Truth(holds & sure, holds | ~sure)


def _product(a: Estimate, b: Estimate) -> Estimate:
    """Return a * b with error bounds."""
    error = np.abs(a.values) * b.error + np.abs(b.values) * a.error + a.error * b.error
    return _with_rounding(a.values * b.values, error)


def _quotient(a: Estimate, b: Estimate) -> Estimate:
    """Return a / b with error bounds; the error is inf where the divisor may be zero."""
    quotient = a.values / b.values
    min_divisor = np.abs(b.values) - b.error
    exact = (a.error == 0.0) & (b.error == 0.0)
    error = np.where(exact, 0.0, (a.error + np.abs(quotient) * b.error) / np.maximum(min_divisor, 0.0))
    return _with_rounding(quotient, np.where(exact | (min_divisor > 0.0), error, np.inf))


def _with_rounding(values: Vector, error: Vector) -> Estimate:
    """Return computed values with an error that adds their rounding to the error from the operands; inf of NaN."""
    error = np.where(np.isnan(error) | np.isnan(values), np.inf, error) * ROUNDED_UP
    finite = np.isfinite(values)
    return Estimate(values, error + np.where(finite, U * np.abs(values), 0.0))


def _pick_extreme(pick: Any) -> Callable[..., Estimate]:
    """Return a function of several estimates that picks the minimum or the maximum in each state, with error bounds."""

    def pick_extreme(*operands: Estimate) -> Estimate:
        """Return the extreme of the operands in each state; the error is the largest of theirs."""
        values, error = [part.values for part in operands], [part.error for part in operands]
        return Estimate(reduce(pick, values), reduce(np.maximum, error))

    return pick_extreme


OPERATIONS: dict[str, Callable[..., Estimate]] = {
    "+": lambda a, b: _with_rounding(a.values + b.values, a.error + b.error),
    "-": lambda a, b: _with_rounding(a.values - b.values, a.error + b.error),
    "*": _product,
    "/": _quotient,
    "min": _pick_extreme(np.minimum),
    "max": _pick_extreme(np.maximum),
}
"""Operators and functions of numbers with errors, by their names in expressions."""


def calculate(name: str, *operands: Estimate) -> Estimate | None:
    """Return the result of ``+ - * /``, ``min`` or ``max`` of estimates, with errors; None for other names."""
    if name not in OPERATIONS:
        return None
    with np.errstate(all="ignore"):
        return OPERATIONS[name](*operands)


def select(condition: Truth, yes: Enclosure, no: Enclosure) -> Enclosure:
    """Return ``yes`` where the condition holds and ``no`` elsewhere; the error is inf where it is undecided."""
    if isinstance(yes, Truth) and isinstance(no, Truth):
        return (condition & yes) | (~condition & no) | (yes & no)
    assert isinstance(yes, Estimate)
    assert isinstance(no, Estimate)
    values = np.where(condition.surely, yes.values, no.values)
    error = np.where(condition.surely, yes.error, no.error)
    return Estimate(values, np.where(condition.undecided, np.inf, error))


# --------------------------------------------------------------------------------------------- filters


class FilterValue(NamedTuple):
    """The value of a filter over the states (None if undecided), its error bound, and why it is undecided."""

    value: Any
    error: float = 0.0
    reason: str = ""


def apply_filter(
    how: str,
    values: Enclosure,
    chosen: Truth | None,
    initial: NDArray[np.int64],
    location: Any,
) -> FilterValue:
    """Return the number, truth value or list that a filter makes of the values in the states, with an error bound.

    Parameters
    ----------
    how
        The filter; ``"default"``: the value in the initial state, or the common value of several initial states.
    values
        Values in each state.
    chosen
        The states of the filter; None: all states, or the initial states for ``default`` and ``state``.
    initial
        Indices of the initial states; empty of a file that marks none.
    location
        File and line, in messages.

    Raises
    ------
    FileError
        For a filter that does not fit the values or the states.
    """
    truth = isinstance(values, Truth)
    if how in ("forall", "exists", "count") and not truth:
        raise FileError(location, f"filter {how}: must be of truth values")
    if how in ("min", "max", "sum", "avg", "range", "argmin", "argmax") and truth:
        raise FileError(location, f"filter {how}: must be of numbers")
    n = len(values.surely) if isinstance(values, Truth) else len(values.values)
    if chosen is None:
        indices = initial if how in ("default", "state") else np.arange(n)
        if not len(indices) and how == "default" and _is_equal_everywhere(values):
            indices = np.arange(n)
        if not len(indices):
            raise FileError(location, "the file marks no initial state: use a filter, such as filter(max, ...)")
        marks = np.zeros(n, dtype=bool)
        marks[indices] = True
        chosen = Truth.exactly(marks)
    if not chosen.possibly.any():
        raise FileError(location, f"filter {how}: there is no state that it is about")
    if isinstance(values, Truth) and how in ("forall", "exists", "count", "default"):
        return _reduce_truth(how, values, chosen)
    if not chosen.decided:
        count = int(chosen.undecided.sum())
        return FilterValue(None, math.inf, f"whether {count} states belong to those of the filter")
    indices = np.flatnonzero(chosen.surely)
    if how == "state" and len(indices) != 1:
        raise FileError(location, f"filter state: {count_of(len(indices), 'state')}; must be one")
    if isinstance(values, Truth):
        return _truth_values(how, values, indices)
    return _reduce(how, values, indices, location)


def _is_equal_everywhere(values: Enclosure) -> bool:
    """Return whether all states have the same number or the same decided truth value."""
    if isinstance(values, Truth):
        return bool(values.surely.all() or not values.possibly.any())
    return bool(values.values.max() == values.values.min())


def _reduce_truth(how: str, values: Truth, chosen: Truth) -> FilterValue:
    """Return the number of chosen states where the values are true, or whether they are in all or in any of them."""
    if how == "count":
        inside = values & chosen
        minimum, maximum = int(inside.surely.sum()), int(inside.possibly.sum())
        undecided = minimum != maximum
        return FilterValue(None if undecided else minimum, 0.0, f"{minimum} to {maximum}" if undecided else "")
    if how == "exists":
        inside = values & chosen
        return _value_if_decided(sure=bool(inside.surely.any()), possible=bool(inside.possibly.any()))
    inside = ~chosen | values
    return _value_if_decided(sure=bool(inside.surely.all()), possible=bool(inside.possibly.all()))


def _value_if_decided(*, sure: bool, possible: bool) -> FilterValue:
    """Return the truth value as a filter's result; None if it is possible but not sure."""
    return FilterValue(sure if sure == possible else None)


def _truth_values(how: str, values: Truth, indices: NDArray[np.int64]) -> FilterValue:
    """Return the truth value in the first chosen state for "state" and "first"; otherwise a list of all values."""
    results = [_value_if_decided(sure=bool(values.surely[k]), possible=bool(values.possibly[k])) for k in indices]
    if how in ("state", "first"):
        return results[0]
    return FilterValue([value.value for value in results])  # print, printall


def _reduce(how: str, values: Estimate, indices: NDArray[np.int64], location: Any) -> FilterValue:
    """Return the minimum, maximum, sum, mean, range or other reduction of the numbers in the chosen states."""
    inside, errors = values.values[indices], values.error[indices]
    if how == "default" and len(indices) > 1 and inside.max() != inside.min():
        raise FileError(location, "the initial states have different values: use a filter")
    match how:
        case "default" | "state" | "first":
            return FilterValue(inside[0].item(), float(errors[0]))
        case "min":
            return FilterValue(float(inside.min()), _error_of_maximum(-inside, errors))
        case "max":
            return FilterValue(float(inside.max()), _error_of_maximum(inside, errors))
        case "sum" | "avg" if np.isinf(inside).any():
            if np.isposinf(inside).any() and np.isneginf(inside).any():
                raise FileError(location, f"filter {how}: some states have inf, others -inf")
            return FilterValue(float(inside.sum()), math.inf if np.isinf(errors).any() else 0.0)
        case "sum":
            rounding = U * math.fsum(np.abs(inside))
            return FilterValue(math.fsum(inside), math.fsum(errors) * ROUNDED_UP + rounding)
        case "avg":
            mean = math.fsum(inside) / len(inside)
            return FilterValue(mean, math.fsum(errors) / len(inside) * ROUNDED_UP + 2.0 * U * abs(mean))
        case "range":
            return FilterValue([float(inside.min()), float(inside.max())], float(errors.max()))
        case "argmin" | "argmax":
            return _argmin(inside if how == "argmin" else -inside, errors, indices)
    return FilterValue(inside.tolist(), float(errors.max()))  # print, printall


def _error_of_maximum(sizes: Any, errors: Any) -> float:
    """Return a bound on the error of the maximum of numbers with errors."""
    if not np.isfinite(sizes).all():
        return float(errors.max())
    below = (sizes.max() - sizes) * (1.0 - 8.0 * U)
    return float(max((errors - below).max(), (below + errors).min(), 0.0)) * ROUNDED_UP


def _argmin(sizes: Any, errors: Any, indices: Any) -> FilterValue:
    """Return a list with the index of the state of the minimum; undecided if the errors allow several states."""
    best = int(np.argmin(sizes))
    rivals = (sizes - errors <= sizes[best] + errors[best]) & (errors + errors[best] > 0.0)
    rivals[best] = False
    if rivals.any():
        names = ", ".join(str(k) for k in sorted([*indices[rivals], indices[best]])[:5])
        message = f"{1 + int(rivals.sum())} states within their errors: {names}"
        return FilterValue(None, float(errors.max()), message)
    return FilterValue([int(indices[best])])
