"""Filters of properties: reduction of the values in the states."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.files.errors import FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["filtered"]


def filtered(
    how: str,
    values: NDArray[Any],
    errors: NDArray[np.float64],
    chosen: NDArray[np.bool_] | None,
    initial: NDArray[np.int64],
    place: Any,
) -> tuple[Any, float]:
    """Return a number or a truth value, and a bound on its error.

    Parameters
    ----------
    how
        The filter; ``"default"``: the value in the initial state, of several the one that all have.
    values, errors
        In each state, shape (n,).
    chosen
        The states of the filter, shape (n,); None: all; for ``default`` and ``state`` the initial ones.
    initial
        Indices of the initial states.
    place
        In messages.

    Raises
    ------
    FileError
        Where the filter does not fit the values or the states.
    """
    if chosen is not None:
        places = np.flatnonzero(chosen)
    elif how in ("default", "state"):
        places = initial
    else:
        places = np.arange(len(values))
    if not len(places):
        raise FileError(place, f"filter {how}: there is no state that it is about")
    inside, wrong = values[places], errors[places]
    truth = values.dtype == bool
    if how in ("forall", "exists", "count") and not truth:
        raise FileError(place, f"filter {how}: must be of truth values")
    if how in ("min", "max", "sum", "avg", "range", "argmin", "argmax") and truth:
        raise FileError(place, f"filter {how}: must be of numbers")
    if how == "default":
        if truth:
            return bool(inside.all()), 0.0
        if len(places) > 1 and inside.max() != inside.min():
            raise FileError(place, "the initial states have different values: use a filter")
        return inside[0].item(), float(wrong[0])
    if how == "state":
        if len(places) != 1:
            raise FileError(place, f"filter state: {len(places)} states; must be one")
        return inside[0].item(), 0.0 if truth else float(wrong[0])
    return _combined(how, inside, wrong, places)


def _combined(how: str, inside: Any, wrong: Any, places: Any) -> tuple[Any, float]:
    match how:
        case "forall":
            return bool(inside.all()), 0.0
        case "exists":
            return bool(inside.any()), 0.0
        case "count":
            return int(inside.sum()), 0.0
        case "first":
            return inside[0].item(), 0.0 if inside.dtype == bool else float(wrong[0])
        case "min":
            return float(inside.min()), float(wrong.max())
        case "max":
            return float(inside.max()), float(wrong.max())
        case "sum":
            return math.fsum(inside), math.fsum(wrong) + 2.0**-53 * math.fsum(np.abs(inside))
        case "avg":
            mean = math.fsum(inside) / len(inside)
            return mean, math.fsum(wrong) / len(inside) + 2.0**-52 * abs(mean)
        case "range":
            return [float(inside.min()), float(inside.max())], float(wrong.max())
        case "argmin" | "argmax":
            best = np.argmin(inside) if how == "argmin" else np.argmax(inside)
            return [int(places[best])], 0.0
    return inside.tolist(), float(wrong.max())  # print, printall
