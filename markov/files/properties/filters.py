"""Filters of properties: reduction of the values in the states."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import count_of
from markov.computing.rounding import U
from markov.files.errors import FileError
from markov.files.properties.enclosures import ROUNDED_UP, Enclosure, Truth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.properties.enclosures import Estimate

__all__ = ["FilterValue", "apply_filter"]


class FilterValue(NamedTuple):
    """The value of a filter, None if undecided, the bound on its error, and the reason if undecided."""

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
    """Return a number or a truth value, with a bound on its error.

    Parameters
    ----------
    how
        The filter; ``"default"``: the value in the initial state, or the common value of several initial states.
    values
        Values in each state.
    chosen
        The states of the filter; None: all states, or the initial states for ``default`` and ``state``.
    initial
        Indices of the initial states.
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
        marks = np.zeros(n, dtype=bool)
        marks[indices] = True
        chosen = Truth.exactly(marks)
    if not chosen.possibly.any():
        raise FileError(location, f"filter {how}: there is no state that it is about")
    if isinstance(values, Truth) and how in ("forall", "exists", "count", "default"):
        return _count(how, values, chosen)
    if not chosen.decided:
        count = int(chosen.undecided.sum())
        return FilterValue(None, math.inf, f"whether {count} states belong to those of the filter")
    indices = np.flatnonzero(chosen.surely)
    if how == "state" and len(indices) != 1:
        raise FileError(location, f"filter state: {count_of(len(indices), 'state')}; must be one")
    if isinstance(values, Truth):
        return _truth_values(how, values, indices)
    return _reduce(how, values, indices, location)


def _count(how: str, values: Truth, chosen: Truth) -> FilterValue:
    """Return the number of chosen states in a set, or whether all or any belong to it."""
    if how == "count":
        inside = values & chosen
        minimum, maximum = int(inside.surely.sum()), int(inside.possibly.sum())
        undecided = minimum != maximum
        return FilterValue(None if undecided else minimum, 0.0, f"{minimum} to {maximum}" if undecided else "")
    if how == "exists":
        inside = values & chosen
        return _decide(sure=bool(inside.surely.any()), possible=bool(inside.possibly.any()))
    inside = ~chosen | values
    return _decide(sure=bool(inside.surely.all()), possible=bool(inside.possibly.all()))


def _decide(*, sure: bool, possible: bool) -> FilterValue:
    return FilterValue(sure if sure == possible else None)


def _truth_values(how: str, values: Truth, indices: NDArray[np.int64]) -> FilterValue:
    """Return the truth value in one state, or a list of them."""
    results = [_decide(sure=bool(values.surely[k]), possible=bool(values.possibly[k])) for k in indices]
    if how in ("state", "first"):
        return results[0]
    return FilterValue([value.value for value in results])  # print, printall


def _reduce(how: str, values: Estimate, indices: NDArray[np.int64], location: Any) -> FilterValue:
    inside, errors = values.values[indices], values.error[indices]
    if how == "default" and len(indices) > 1 and inside.max() != inside.min():
        raise FileError(location, "the initial states have different values: use a filter")
    match how:
        case "default" | "state" | "first":
            return FilterValue(inside[0].item(), float(errors[0]))
        case "min":
            return FilterValue(float(inside.min()), _largest_error(-inside, errors))
        case "max":
            return FilterValue(float(inside.max()), _largest_error(inside, errors))
        case "sum":
            rounding = U * math.fsum(np.abs(inside))
            return FilterValue(math.fsum(inside), math.fsum(errors) * ROUNDED_UP + rounding)
        case "avg":
            mean = math.fsum(inside) / len(inside)
            return FilterValue(mean, math.fsum(errors) / len(inside) * ROUNDED_UP + 2.0 * U * abs(mean))
        case "range":
            return FilterValue([float(inside.min()), float(inside.max())], float(errors.max()))
        case "argmin" | "argmax":
            return _best(inside if how == "argmin" else -inside, errors, indices)
    return FilterValue(inside.tolist(), float(errors.max()))  # print, printall


def _largest_error(sizes: Any, errors: Any) -> float:
    """Return the error of the maximum: another number may exceed it, and it may be smaller itself."""
    if not np.isfinite(sizes).all():
        return float(errors.max())
    below = (sizes.max() - sizes) * (1.0 - 8.0 * U)
    return float(max((errors - below).max(), (below + errors).min(), 0.0)) * ROUNDED_UP


def _best(sizes: Any, errors: Any, indices: Any) -> FilterValue:
    """Return the state of the minimum; undecided if the errors allow several."""
    best = int(np.argmin(sizes))
    rivals = (sizes - errors <= sizes[best] + errors[best]) & (errors + errors[best] > 0.0)
    rivals[best] = False
    if rivals.any():
        names = ", ".join(str(k) for k in sorted([*indices[rivals], indices[best]])[:5])
        message = f"{1 + int(rivals.sum())} states within their errors: {names}"
        return FilterValue(None, float(errors.max()), message)
    return FilterValue([int(indices[best])])
