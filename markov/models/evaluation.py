"""The values of a function of a state in every state of a chain, as plain Python has them.

1. Up to `PLAIN_STATES` states the function is called with each of them.
2. Beyond, it is called in a sample of states, corners included, twice. Then it runs on sets of states
   (`markov.models.set_evaluation`) or, if it uses NumPy, on arrays (`markov.models.array_evaluation`).
   Their values are accepted, for this call alone, where they are those of plain Python in the sample.
3. Otherwise, and in the states that these leave out, it is called with each state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from hopflow.errors import RuleError, failed_rule, place_of
from markov.models.array_evaluation import values_on_arrays
from markov.models.means import Mean, as_mean, number_of, stacked
from markov.models.set_evaluation import Partial, values_on_sets
from markov.models.signatures import two_arguments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.state_tables import StateTable

__all__ = ["PLAIN_STATES", "called", "elementwise", "members_of", "numbers_of", "values_of"]

PLAIN_STATES = 10_000
"""States up to which a function is called with each of them."""
CALLS_ASKED_AGAIN = 32
"""Calls that are repeated at least, to see whether the answers stay."""
MAX_CONSTANT_CHECKS = 2_000
"""States in which an array that is the same everywhere is compared besides the sample."""
ROUNDING = 1e-13
"""Relative: elementary functions of another library."""
ONE_STATE = "it is called with one state, as rules are: plain Python values, no arrays"
RETURN_NUMBERS = "return a number or a truth value"
RETURN_TRUTH = (
    "return True or False; states themselves are given as values or lists, not by a function"
)
SAME = "no random numbers, no time, no counters: the same state has the same value"

F = TypeVar("F", bound=Callable[..., Any])


class Function(NamedTuple):
    """A function of the state.

    Attributes
    ----------
    call
        Gives its values in one state, by name.
    source
        What the user wrote, for the place in messages.
    name
        For messages.
    value
        Makes a number or a `Mean` of a value in one state.
    remedy
        What to return, where it returns something else.
    """

    call: Callable[[Any], Mapping[str, Any]]
    source: Callable[..., Any]
    name: str
    value: Callable[[Any], float | Mean]
    remedy: str

    def failed(self, error: Exception, state: Any) -> RuleError:
        """Return the error with the function, the state, the file and the line."""
        kinds = (AttributeError, TypeError, ValueError)
        remedy = ONE_STATE if type(error) in kinds else None
        return failed_rule(error, self.source, f"{self.name}: {_shown(state)}", remedy)

    def refused(self, state: Any, said: str, hint: str) -> RuleError:
        """Return the error for a value, with the function, the state and its file."""
        return RuleError.at(place_of(self.source), f"{self.name}: {_shown(state)}: {said}", hint)


def called(function: Callable[..., Any]) -> str:
    """Return the name of a function for messages."""
    return str(getattr(function, "__qualname__", repr(function))).rpartition(".")[2]


def elementwise(function: F) -> F:
    """Mark labels or rewards of this library that hold for arrays of states as for one.

    They are called with all states at once. Tests compare them with plain Python in every state.
    """
    function.__elementwise__ = True  # type: ignore[attr-defined]
    return function


def values_of(
    function: Callable[..., Any], q: Any, table: StateTable, name: str
) -> dict[str, Mean]:
    """Return labels or rewards in each state, by name.

    Parameters
    ----------
    function
        Of the state, or of the state and the parameters; returns a mapping of names to values.
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
    asked = two_arguments(function, name, q)
    if getattr(function, "__elementwise__", False):
        found = asked(table.arrays, q)
        return {key: as_mean(value, table.count) for key, value in found.items()}

    def call(state: Any) -> Mapping[str, Any]:
        return dict(asked(state, q))

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
    if np.isin(values, (-1.0, -2.0)).all():
        state = next(table.plain([0]))
        hint = (
            "write not, or np.logical_not: ~ of a truth value is -1 or -2, which both count as true"
        )
        raise subject.refused(state, "its values are -1 and -2", hint)
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


def _value(value: Any) -> float | Mean:
    """Return a label or reward of one state."""
    return as_mean(value, 1) if isinstance(value, (Mean, np.ndarray)) else number_of(value)


def _truth(value: Any) -> float:
    """Return a number that is zero where a value is false."""
    if isinstance(value, int) and not -2 <= value <= 1:
        return 1.0  # of any size
    return number_of(value)


# ---------------------------------------------------------------------- the ways


def _evaluated(function: Function, table: StateTable) -> dict[str, Mean]:
    """Return the values in all states."""
    if table.count <= PLAIN_STATES:
        found = _in_each(function, table, None)
        _ask_again(function, table, found)
        return found
    sample = table.sample()
    expected = _in_each(function, table, sample)
    _ask_again(function, table, expected, sample)
    partial, uses_numpy = values_on_sets(function.call, function.value, table)
    checks = [sample]
    if uses_numpy:
        partial = values_on_arrays(function.call, function.value, table)
        checks += [] if partial is None else [_for_constants(partial, table)]
    if partial is None:
        return _in_each(function, table, None)
    for places in filter(None, checks):
        plain = expected if places is sample else _in_each(function, table, places)
        if not _agrees(partial, plain, places):
            return _in_each(function, table, None)
    if len(partial.left):
        partial.fill(_in_each(function, table, partial.left))
    return partial.values


def _in_each(
    function: Function, table: StateTable, places: Iterable[int] | None
) -> dict[str, Mean]:
    """Return the values in some states, or in all of them, by plain Python."""
    where = None if places is None else np.asarray(places)
    columns: dict[str, list[Any]] | None = None
    state: Any = None
    call = function.call
    try:
        for state in table.plain(where):
            found = call(state)
            if columns is None:
                columns = {key: [] for key in found}
                names = columns.keys()
            if found.keys() != names:
                said = "other names in other states"
                raise RuleError.at(
                    place_of(function.source),
                    f"{function.name}: {said}",
                    "give every name in every state",
                )
            for key, value in found.items():
                columns[key].append(value)
    except Exception as error:
        raise function.failed(error, state) from error
    assert columns is not None, "a chain has states"
    return {key: _column(function, table, where, values) for key, values in columns.items()}


def _column(
    function: Function, table: StateTable, where: NDArray[Any] | None, values: list[Any]
) -> Mean:
    """Return the values of one name in some states as arrays."""
    kinds = set(map(type, values))
    if kinds <= {bool, float}:
        return Mean(np.array(values, dtype=np.float64))
    convert, found = function.value, []
    try:
        for value in values:
            found.append(convert(value))  # how many there are is used below
        if not any(isinstance(value, Mean) for value in found):
            return Mean(np.array(found, dtype=np.float64))
        return stacked([v if isinstance(v, Mean) else as_mean(v, 1) for v in found])
    except Exception as error:
        x = min(len(found), len(values) - 1)
        state = next(table.plain([x if where is None else int(where[x])]))
        raise function.refused(state, str(error), function.remedy) from error


def _ask_again(
    function: Function,
    table: StateTable,
    found: dict[str, Mean],
    places: list[int] | None = None,
) -> None:
    """Refuse a function whose values are others when it is called again."""
    sample = table.sample() if places is None else places
    for _ in range(-(-CALLS_ASKED_AGAIN // len(sample))):
        again = _in_each(function, table, sample)
        for key, mean in found.items():
            other = again.get(key, Mean(np.zeros(0)))
            mine = mean if places is not None else _at(mean, sample)
            if (x := _first_difference(mine, other, 0.0)) is None:
                continue
            state = next(table.plain([sample[x]]))
            was, now = (_text(m, x) for m in (mine, other))
            label = f" {key!r}" if key else ""
            said = f"gives{label} {was} and, called again, {now}"
            raise function.refused(state, said, SAME)


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
        _first_difference(_at(mean, where[known]), _at(plain[key], known), ROUNDING) is None
        for key, mean in partial.values.items()
    )


def _at(mean: Mean, places: Any) -> Mean:
    over = None if mean.over is None else mean.over[..., places]
    return mean._replace(of=mean.of[..., places], over=over)


def _first_difference(one: Mean, other: Mean, rounding: float) -> int | None:
    """Return the first place at which two measures differ, or None."""
    if (one.over is None) != (other.over is None) or one.dims != other.dims:
        return 0
    for a, b in zip(one.parts(), other.parts(), strict=True):
        if a.shape != b.shape:
            return 0
        with np.errstate(invalid="ignore"):
            near = np.abs(a - b) <= rounding * np.abs(b)
        same = (a == b) | near | (np.isnan(a) & np.isnan(b))
        wrong = ~same.reshape(-1, a.shape[-1]).all(axis=0)
        if wrong.any():
            return int(np.argmax(wrong))
    return None


def _text(mean: Mean, x: int) -> str:
    if mean.of.shape[-1] <= x:
        return "other names"
    return ", ".join(f"{value:.17g}" for value in np.ravel(mean.of[..., x]))


def _shown(state: Any) -> str:
    return str(state) if isinstance(state, tuple) else repr(state)
