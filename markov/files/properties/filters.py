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

    from markov.files.properties.enclosures import Known

__all__ = ["Filtered", "filtered"]


class Filtered(NamedTuple):
    """The value of a filter, None where it is undecided, the bound on its error, and why it is undecided."""

    value: Any
    error: float = 0.0
    reason: str = ""


def filtered(
    how: str,
    values: Enclosure,
    chosen: Truth | None,
    initial: NDArray[np.int64],
    place: Any,
) -> Filtered:
    """Return a number or a truth value, with a bound on its error.

    Parameters
    ----------
    how
        The filter; ``"default"``: the value in the initial state, of several the one that all have.
    values
        In each state.
    chosen
        The states of the filter; None: all; for ``default`` and ``state`` the initial ones.
    initial
        Indices of the initial states.
    place
        In messages.

    Raises
    ------
    FileError
        Where the filter does not fit the values or the states.
    """
    truth = isinstance(values, Truth)
    if how in ("forall", "exists", "count") and not truth:
        raise FileError(place, f"filter {how}: must be of truth values")
    if how in ("min", "max", "sum", "avg", "range", "argmin", "argmax") and truth:
        raise FileError(place, f"filter {how}: must be of numbers")
    n = len(values.surely) if isinstance(values, Truth) else len(values.values)
    if chosen is None:
        places = initial if how in ("default", "state") else np.arange(n)
        marks = np.zeros(n, dtype=bool)
        marks[places] = True
        chosen = Truth.exactly(marks)
    if not chosen.possibly.any():
        raise FileError(place, f"filter {how}: there is no state that it is about")
    if isinstance(values, Truth) and how in ("forall", "exists", "count", "default"):
        return _counted(how, values, chosen)
    if not chosen.decided:
        count = int(chosen.undecided.sum())
        return Filtered(None, math.inf, f"whether {count} states belong to those of the filter")
    places = np.flatnonzero(chosen.surely)
    if how == "state" and len(places) != 1:
        raise FileError(place, f"filter state: {count_of(len(places), 'state')}; must be one")
    if isinstance(values, Truth):
        return _listed(how, values, places)
    return _reduced(how, values, places, place)


def _counted(how: str, values: Truth, chosen: Truth) -> Filtered:
    """Return how many of some states are in a set, or whether all or any are."""
    if how == "count":
        inside = values & chosen
        least, most = int(inside.surely.sum()), int(inside.possibly.sum())
        open_ = least != most
        return Filtered(None if open_ else least, 0.0, f"{least} to {most}" if open_ else "")
    if how == "exists":
        inside = values & chosen
        return _single(sure=bool(inside.surely.any()), possible=bool(inside.possibly.any()))
    inside = ~chosen | values
    return _single(sure=bool(inside.surely.all()), possible=bool(inside.possibly.all()))


def _single(*, sure: bool, possible: bool) -> Filtered:
    return Filtered(sure if sure == possible else None)


def _listed(how: str, values: Truth, places: NDArray[np.int64]) -> Filtered:
    """Return the truth value in one state, or those in each."""
    found = [_single(sure=bool(values.surely[k]), possible=bool(values.possibly[k])) for k in places]
    if how in ("state", "first"):
        return found[0]
    return Filtered([each.value for each in found])  # print, printall


def _reduced(how: str, values: Known, places: NDArray[np.int64], place: Any) -> Filtered:
    inside, wrong = values.values[places], values.error[places]
    if how == "default" and len(places) > 1 and inside.max() != inside.min():
        raise FileError(place, "the initial states have different values: use a filter")
    match how:
        case "default" | "state" | "first":
            return Filtered(inside[0].item(), float(wrong[0]))
        case "min":
            return Filtered(float(inside.min()), _largest_error(-inside, wrong))
        case "max":
            return Filtered(float(inside.max()), _largest_error(inside, wrong))
        case "sum":
            rounding = U * math.fsum(np.abs(inside))
            return Filtered(math.fsum(inside), math.fsum(wrong) * ROUNDED_UP + rounding)
        case "avg":
            mean = math.fsum(inside) / len(inside)
            return Filtered(mean, math.fsum(wrong) / len(inside) * ROUNDED_UP + 2.0 * U * abs(mean))
        case "range":
            return Filtered([float(inside.min()), float(inside.max())], float(wrong.max()))
        case "argmin" | "argmax":
            return _best(inside if how == "argmin" else -inside, wrong, places)
    return Filtered(inside.tolist(), float(wrong.max()))  # print, printall


def _largest_error(sizes: Any, wrong: Any) -> float:
    """Return the error of the largest number: others may exceed it, and it may be smaller."""
    if not np.isfinite(sizes).all():
        return float(wrong.max())
    below = (sizes.max() - sizes) * (1.0 - 8.0 * U)
    return float(max((wrong - below).max(), (below + wrong).min(), 0.0)) * ROUNDED_UP


def _best(sizes: Any, wrong: Any, places: Any) -> Filtered:
    """Return the state of the smallest number; undecided where errors leave several."""
    best = int(np.argmin(sizes))
    rivals = (sizes - wrong <= sizes[best] + wrong[best]) & (wrong + wrong[best] > 0.0)
    rivals[best] = False
    if rivals.any():
        names = ", ".join(str(k) for k in sorted([*places[rivals], places[best]])[:5])
        said = f"{1 + int(rivals.sum())} states within their errors: {names}"
        return Filtered(None, float(wrong.max()), said)
    return Filtered([int(places[best])])
