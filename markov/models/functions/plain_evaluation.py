"""A function of the state called with one state after the other, which defines its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.errors import RuleError, location_of, rule_error
from markov.models.means import Mean, as_mean, at_places, first_difference, stacked, text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.state_tables import StateTable

__all__ = ["Function", "ask_again", "in_each"]

CALLS_ASKED_AGAIN = 32
"""Calls that are repeated at least, to see whether the answers stay."""
ONE_STATE = "it is called with one state, as rules are: plain Python values, no arrays"
SAME = "no random numbers, no time, no counters: the same state has the same value"


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
        return rule_error(error, self.source, f"{self.name}: {_shown(state)}", remedy)

    def refused(self, state: Any, said: str, hint: str) -> RuleError:
        """Return the error for a value, with the function, the state and its file."""
        return RuleError.at(location_of(self.source), f"{self.name}: {_shown(state)}: {said}", hint)


def in_each(function: Function, table: StateTable, places: Iterable[int] | None) -> dict[str, Mean]:
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
                    location_of(function.source),
                    f"{function.name}: {said}",
                    "give every name in every state",
                )
            for key, value in found.items():
                columns[key].append(value)
    except Exception as error:
        raise function.failed(error, state) from error
    assert columns is not None, "a chain has states"
    return {key: _column(function, table, where, values) for key, values in columns.items()}


def _column(function: Function, table: StateTable, where: NDArray[Any] | None, values: list[Any]) -> Mean:
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


def ask_again(
    function: Function,
    table: StateTable,
    found: dict[str, Mean],
    places: list[int] | None = None,
) -> None:
    """Refuse a function whose values are others when it is called again."""
    sample = table.sample() if places is None else places
    for _ in range(-(-CALLS_ASKED_AGAIN // len(sample))):
        again = in_each(function, table, sample)
        for key, mean in found.items():
            other = again.get(key, Mean(np.zeros(0)))
            mine = mean if places is not None else at_places(mean, sample)
            if (x := first_difference(mine, other, 0.0)) is None:
                continue
            state = next(table.plain([sample[x]]))
            was, now = (text_of(m, x) for m in (mine, other))
            label = f" {key!r}" if key else ""
            said = f"gives{label} {was} and, called again, {now}"
            raise function.refused(state, said, SAME)


def _shown(state: Any) -> str:
    return str(state) if isinstance(state, tuple) else repr(state)
