"""The values of a function of a state in every state of a chain, as plain Python has them.

1. Up to `PLAIN_STATES` states the function is called with each of them.
2. Beyond, it is called in a sample of states, corners included, twice. Then it runs on sets of states
   (`markov.models.functions.set_evaluation`) or, if it uses NumPy, on arrays (`markov.models.functions.array_evaluation`).
   Their values are accepted, for this call alone, where they are those of plain Python in the sample.
3. Otherwise, and in the states that these leave out, it is called with each state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hopflow.errors import RuleError, location_of
from markov.models.functions.array_evaluation import values_on_arrays
from markov.models.functions.executed_code import Execution
from markov.models.functions.inversions import INSTEAD_OF_INVERTED, INVERTED, is_inverted
from markov.models.functions.plain_evaluation import Function, ask_again, in_each
from markov.models.functions.set_evaluation import Partial, values_on_sets
from markov.models.means import Mean, as_mean, at_places, first_difference, number_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.state_tables import StateTable

__all__ = [
    "PLAIN_STATES",
    "called",
    "check_on_arrays",
    "elementwise",
    "members_of",
    "numbers_of",
    "values_of",
]

PLAIN_STATES = 10_000
"""States up to which a function is called with each of them."""
MAX_CONSTANT_CHECKS = 2_000
"""States in which an array that is the same everywhere is compared besides the sample."""
FOR_ARRAYS = "use arithmetic, comparisons, & and |, or functions of arrays"
ROUNDING = 1e-13
"""Relative: elementary functions of another library."""
RETURN_NUMBERS = "return a number or a truth value"
RETURN_TRUTH = "return True or False; states themselves are given as values or lists, not by a function"
F = TypeVar("F", bound=Callable[..., Any])


def called(function: Callable[..., Any]) -> str:
    """Return the name of a function for messages."""
    return str(getattr(function, "__qualname__", repr(function))).rpartition(".")[2]


def elementwise(function: F) -> F:
    """Mark labels or rewards of this library that hold for arrays of states as for one.

    They are called with all states at once. Tests compare them with plain Python in every state.
    """
    function.__elementwise__ = True  # type: ignore[attr-defined]
    return function


def values_of(function: Callable[[Any, Any], Any], q: Any, table: StateTable, name: str) -> dict[str, Mean]:
    """Return labels or rewards in each state, by name.

    Parameters
    ----------
    function
        Of the state and the parameters; returns a mapping of names to values.
    q
        The parameters.
    table
        The states.
    name
        For messages.

    Raises
    ------
    RuleError
        Naming the function, the state, the file and the line where it goes wrong.
    """
    if getattr(function, "__elementwise__", False):
        found = function(table.arrays, q)
        return {key: as_mean(value, table.count) for key, value in found.items()}

    def call(state: Any) -> Mapping[str, Any]:
        return dict(function(state, q))

    return _evaluated(Function(call, function, name, _value, RETURN_NUMBERS), table)


def members_of(function: Callable[..., Any], table: StateTable, name: str) -> NDArray[np.bool_]:
    """Return whether a function of the state holds in each state, shape (states,).

    Its values are read as Python reads conditions: ``n % 2`` selects the odd numbers.

    Raises
    ------
    RuleError
        Where a value is no truth value and no number: a string, None, a state, a collection.
    """

    def call(state: Any) -> Mapping[str, Any]:
        return {"": function(state)}

    subject = Function(call, function, name, _truth, RETURN_TRUTH)
    values = _evaluated(subject, table)[""].of
    for value in np.unique(values[np.isin(values, INVERTED)]).tolist():
        if is_inverted(value, function):
            state = next(table.plain([int(np.argmax(values == value))]))
            raise subject.refused(state, f"is {value:g}", INSTEAD_OF_INVERTED)
    if np.isnan(values).any():
        state = next(table.plain([int(np.argmax(np.isnan(values)))]))
        raise subject.refused(state, "NaN is no truth value", RETURN_TRUTH)
    found: NDArray[np.bool_] = values != 0.0
    return found


def numbers_of(function: Callable[..., Any], table: StateTable, name: str) -> Mean:
    """Return the values of a function of the state, or the ratio that it stands for."""

    def call(state: Any) -> Mapping[str, Any]:
        return {"": function(state)}

    return _evaluated(Function(call, function, name, _value, RETURN_NUMBERS), table)[""]


def check_on_arrays(function: Callable[..., Any], table: StateTable, arrays: Any, name: str) -> None:
    """Refuse a function that is to run on arrays where they give other values than single states.

    Parameters
    ----------
    function
        Of the state.
    table
        States to compare it in, no more than plain Python has time for.
    arrays
        These states as the arrays that it will be called with.
    name
        For messages.

    Raises
    ------
    RuleError
        Naming the function, a state, the file and the line.
    """

    def call(state: Any) -> Mapping[str, Any]:
        return {"": function(state)}

    subject = Function(call, function, name, number_of, RETURN_NUMBERS)
    expected = in_each(subject, table, None)
    ask_again(subject, table, expected)
    try:
        with Execution() as execution:
            found = function(arrays)
        given = as_mean(np.asarray(found), table.count)
    except Exception as error:
        said = f"{name} fails for arrays: {type(error).__name__}: {error}"
        raise RuleError.at(location_of(function), said, FOR_ARRAYS) from error
    x = first_difference(given, expected[""], ROUNDING)
    if x is not None or not execution.arrays:
        state = next(table.plain([x or 0]))
        raise subject.refused(state, "arrays may give another value than one state", FOR_ARRAYS)


def _value(value: Any) -> float | Mean:
    """Return a label or reward of one state."""
    return as_mean(value, 1) if isinstance(value, (Mean, np.ndarray)) else number_of(value)


def _truth(value: Any) -> float:
    """Return a number that is zero where a value is false."""
    try:
        return number_of(value)
    except OverflowError:  # a whole number that is no float
        return 1.0


# ---------------------------------------------------------------------- the ways


def _evaluated(function: Function, table: StateTable) -> dict[str, Mean]:
    """Return the values in all states."""
    if table.count <= PLAIN_STATES:
        found = in_each(function, table, None)
        ask_again(function, table, found)
        return found
    sample = table.sample()
    expected = in_each(function, table, sample)
    ask_again(function, table, expected, sample)
    partial, uses_numpy = values_on_sets(function.call, function.value, table)
    checks = [sample]
    if uses_numpy:
        partial = values_on_arrays(function.call, function.value, table)
        checks += [] if partial is None else [_for_constants(partial, table)]
    if partial is None:
        return in_each(function, table, None)
    for places in filter(None, checks):
        plain = expected if places is sample else in_each(function, table, places)
        if not _agrees(partial, plain, places):
            return in_each(function, table, None)
    if len(partial.left):
        partial.fill(in_each(function, table, partial.left))
    return partial.values


def _for_constants(partial: Partial, table: StateTable) -> list[int]:
    """Return states with each value of each component, where an array has one value everywhere."""
    parts = [part for mean in partial.values.values() for part in mean.parts()]
    flat = [row for part in parts for row in part.reshape(-1, table.count)]
    if not any(row.min() == row.max() for row in flat):
        return []
    places = [np.unique(code, return_index=True)[1] for code in table.codes]
    listed: list[int] = np.unique(np.concatenate(places)).tolist()
    step = -(-len(listed) // MAX_CONSTANT_CHECKS)
    return listed[::step]


def _agrees(partial: Partial, plain: dict[str, Mean], places: list[int]) -> bool:
    """Whether values are those of plain Python at some places."""
    late = np.zeros(partial.count, dtype=bool)
    late[partial.left] = True
    where = np.asarray(places)
    known = np.flatnonzero(~late[where])
    if not len(known):
        return True
    if partial.values.keys() != plain.keys():
        return False
    return all(
        first_difference(at_places(mean, where[known]), at_places(plain[key], known), ROUNDING) is None
        for key, mean in partial.values.items()
    )
