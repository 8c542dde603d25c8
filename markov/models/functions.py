"""Functions of a state (labels, rewards, sets) in every state of a chain, with the values of plain Python.

1. Up to `PLAIN_STATES` states the function is called with each of them.
2. Beyond, it is called in a sample of states, corners included, twice. Then its source is translated to run on arrays
   (`markov.computing.array_functions`). The result is accepted, for this call alone, if it is that of plain Python in
   the sample.
3. A function without a translation, or with another result, is called with each state.
"""

from __future__ import annotations

import dis
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from hopflow.checks import format_value
from hopflow.errors import RuleError, location_of, rule_error
from markov.computing.array_functions import States, call_for_states, codes_in, value_of_name
from markov.computing.arrays import NotOnArraysError, as_uniform, holds_arrays, unwrap
from markov.models.spaces import format_state

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.state_tables import StateTable

__all__ = [
    "INSTEAD_OF_INVERTED",
    "INVERTED",
    "PLAIN_STATES",
    "Mean",
    "elementwise",
    "evaluate_condition",
    "evaluate_mapping",
    "evaluate_number",
    "is_inverted",
    "name_of",
]

PLAIN_STATES = 10_000
"""States up to which a function is called with each of them: it takes some 5 ms, as long as a translation."""
CHUNK = 1 << 17
"""States that run together: their arrays stay in the cache."""
MIN_GROUPS, STATES_PER_GROUP = 64, 100
"""Largest number of groups of states that differ in other values than whole numbers: each is a run of its own."""
MIN_REPEATED_CALLS = 32
"""Calls that are repeated, to notice a function whose values change."""
ONE_STATE = "it is called with one state, as rules are: plain Python values, no arrays"
SAME = "no random numbers, no time, no counters: the same state has the same value"
RETURN_NUMBERS = "return a number or a truth value"
RETURN_MAPPING = "return a mapping of names to values, such as {'empty': s.n == 0}"
RETURN_TRUTH = "return True or False; states themselves are given as values or lists, not by a function"
F = TypeVar("F", bound=Callable[..., Any])


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function, without the names of its scopes, for messages."""
    return str(getattr(function, "__qualname__", repr(function))).rpartition(".")[2]


def elementwise(function: F) -> F:
    """Decorate ``labels`` or ``rewards`` of this library that take arrays of states as well as one state.

    The method is called with all states at once. Tests compare it with plain Python in every state.
    """
    function.__elementwise__ = True  # type: ignore[attr-defined]
    return function


def evaluate_mapping(function: Callable[[Any, Any], Any], q: Any, table: StateTable, name: str) -> dict[str, Mean]:
    """Return {name: `Mean` of its values in all states} of a function that returns a mapping: labels or rewards.

    Parameters
    ----------
    function
        Function of the state and the parameters, as `ChainModel.function_of_state` returns it.
    q
        The parameters.
    table
        The states.
    name
        Name of the function in messages.

    Raises
    ------
    RuleError
        Naming the function, the state, the file and the line of an error.
    """
    if getattr(function, "__elementwise__", False):
        return {key: as_mean(value, table.count) for key, value in function(table.arrays, q).items()}

    of_state = getattr(function, "of_state", None)
    target, parameters = (function, (q,)) if of_state is None else (of_state, ())

    def call(state: Any) -> Mapping[str, Any]:
        """Return the mapping for one state as a dict."""
        values = function(state, q)
        try:
            return dict(values)
        except (TypeError, ValueError):
            message = f"{name}: {format_state(state)}: {format_value(values)} is returned"
            raise RuleError.at(location_of(target), message, RETURN_MAPPING) from None

    return _evaluate(StateFunction(call, target, parameters, name, _number_or_mean, RETURN_NUMBERS), table)


def evaluate_condition(function: Callable[..., Any], table: StateTable, name: str) -> NDArray[np.bool_]:
    """Return a boolean array, shape (states,): whether a condition, a function of the state, holds in each state.

    The values are read as Python reads conditions: ``n % 2`` selects the odd numbers.

    Raises
    ------
    RuleError
        When a value is no truth value and no number: a string, None, a state, a collection.
    """
    subject = StateFunction(lambda state: {"": function(state)}, function, None, name, _truth, RETURN_TRUTH)
    values = _evaluate(subject, table)[""].of
    for value in np.unique(values[np.isin(values, INVERTED)]).tolist():
        if is_inverted(value, function):
            state = next(table.plain([int(np.argmax(values == value))]))
            raise subject.error_of_value(state, f"is {value:g}", INSTEAD_OF_INVERTED)
    if np.isnan(values).any():
        state = next(table.plain([int(np.argmax(np.isnan(values)))]))
        raise subject.error_of_value(state, "NaN is no truth value", RETURN_TRUTH)
    holds: NDArray[np.bool_] = values != 0.0
    return holds


def evaluate_number(function: Callable[..., Any], table: StateTable, name: str) -> Mean:
    """Return the values in all states of a function that returns a number or a `Mean`, as one `Mean`."""
    subject = StateFunction(lambda state: {"": function(state)}, function, None, name, _number_or_mean, RETURN_NUMBERS)
    return _evaluate(subject, table)[""]


class StateFunction(NamedTuple):
    """A user's function of the state (labels, rewards, a condition), and how its values are converted and refused.

    Attributes
    ----------
    call
        Returns the values in one state, by name.
    source
        The user's function.
    parameters
        Arguments of the user's function after the state, if it returns a mapping; None if it returns one value.
    name
        Name of the function in messages.
    convert
        Converts a value in one state to a number or a `Mean`.
    remedy
        What to return instead of another object.
    """

    call: Callable[[Any], Mapping[str, Any]]
    source: Callable[..., Any]
    parameters: tuple[Any, ...] | None
    name: str
    convert: Callable[[Any], float | Mean]
    remedy: str

    def error_of_call(self, error: Exception, state: Any) -> RuleError:
        """Return the RuleError for an exception that the function raised in ``state``, with file and line."""
        kinds = (AttributeError, TypeError, ValueError)
        remedy = ONE_STATE if type(error) in kinds else None
        return rule_error(error, self.source, f"{self.name}: {format_state(state)}", remedy)

    def error_of_value(self, state: Any, message: str, hint: str) -> RuleError:
        """Return the RuleError for an invalid value that the function returned in ``state``."""
        return RuleError.at(location_of(self.source), f"{self.name}: {format_state(state)}: {message}", hint)


def _number_or_mean(value: Any) -> float | Mean:
    """Return a label or reward of one state as a float, or as a `Mean` if it is an array or a `Mean`."""
    return as_mean(value, 1) if isinstance(value, (Mean, np.ndarray)) else number_of(value)


def _truth(value: Any) -> float:
    """Return the value of a condition in one state as a float, which is zero if the condition is false."""
    try:
        return number_of(value)
    except OverflowError:  # a whole number that is no float
        return 1.0


def _evaluate(function: StateFunction, table: StateTable) -> dict[str, Mean]:
    """Return {name: `Mean`} of a function in all states: from arrays if they agree with plain Python, else by state."""
    if table.count <= PLAIN_STATES:
        values = evaluate_by_state(function, table, None)
        refuse_changing_values(function, table, values)
        return values
    sample = table.sample()
    expected = evaluate_by_state(function, table, sample)
    refuse_changing_values(function, table, expected, sample)
    on_arrays = evaluate_on_arrays(function, table)
    if on_arrays is None or on_arrays.keys() != expected.keys():
        return evaluate_by_state(function, table, None)
    differs = (
        first_difference(mean_at_states(mean, np.asarray(sample)), expected[key], 0.0) is not None
        for key, mean in on_arrays.items()
    )
    return evaluate_by_state(function, table, None) if any(differs) else on_arrays


# Plain Python


def evaluate_by_state(function: StateFunction, table: StateTable, indices: Iterable[int] | None) -> dict[str, Mean]:
    """Return {name: `Mean`} of a function in the states at ``indices`` (None: all), by a call for each state."""
    rows = None if indices is None else np.asarray(indices)
    columns: dict[str, list[Any]] | None = None
    state: Any = None
    call = function.call
    try:
        for state in table.plain(rows):
            values = call(state)
            if columns is None:
                columns = {key: [] for key in values}
                names = columns.keys()
            if values.keys() != names:
                raise RuleError.at(
                    location_of(function.source),
                    f"{function.name}: other names in other states",
                    "give every name in every state",
                )
            for key, value in values.items():
                columns[key].append(value)
    except Exception as error:
        raise function.error_of_call(error, state) from error
    assert columns is not None, "a chain has states"
    return {key: _mean_of_values(function, table, rows, values) for key, values in columns.items()}


def _mean_of_values(function: StateFunction, table: StateTable, rows: NDArray[Any] | None, values: list[Any]) -> Mean:
    """Return the values of one name, one per state, as a `Mean` of arrays; RuleError for an invalid value."""
    if set(map(type, values)) <= {bool, float}:
        return Mean(np.array(values, dtype=np.float64))
    convert, numbers = function.convert, []
    try:
        for value in values:
            numbers.append(convert(value))  # their count is used below
        if not any(isinstance(value, Mean) for value in numbers):
            return Mean(np.array(numbers, dtype=np.float64))
        return concatenate_means([v if isinstance(v, Mean) else as_mean(v, 1) for v in numbers])
    except Exception as error:
        x = min(len(numbers), len(values) - 1)
        state = next(table.plain([x if rows is None else int(rows[x])]))
        raise function.error_of_value(state, str(error), function.remedy) from error


def refuse_changing_values(
    function: StateFunction, table: StateTable, values: dict[str, Mean], indices: list[int] | None = None
) -> None:
    """Call a function again in a sample of states; RuleError if it returns other values than ``values``.

    Parameters
    ----------
    function, table
        The function and the states.
    values
        Values of the function in all states, or in those at ``indices``.
    indices
        Indices of the states in which the function is called again; None: a sample.
    """
    sample = table.sample() if indices is None else indices
    for _ in range(-(-MIN_REPEATED_CALLS // len(sample))):
        repeated = evaluate_by_state(function, table, sample)
        for key, mean in values.items():
            second = repeated.get(key, Mean(np.zeros(0)))
            first = mean if indices is not None else mean_at_states(mean, sample)
            if (x := first_difference(first, second, 0.0)) is None:
                continue
            state = next(table.plain([sample[x]]))
            was, now = (format_numbers(m, x) for m in (first, second))
            label = f" {key!r}" if key else ""
            raise function.error_of_value(state, f"gives{label} {was} and, called again, {now}", SAME)


# Arrays of states


def evaluate_on_arrays(function: StateFunction, table: StateTable) -> dict[str, Mean] | None:
    """Return {name: `Mean`} of a function in all states from runs on arrays; None if it cannot run on arrays."""
    groups = table.equal_groups(max(MIN_GROUPS, table.count // STATES_PER_GROUP))
    totals: dict[str, Mean] | None = None
    for rows in _chunks(groups or []):
        try:
            arguments = (_state_on_arrays(table, rows), *map(as_uniform, function.parameters or ()))
            result = unwrap(call_for_states(function.source, arguments, len(rows)))
            named = {"": result} if function.parameters is None else dict(result)
            values = {key: _mean_on_arrays(value, function, len(rows)) for key, value in named.items()}
        except (NotOnArraysError, TypeError, ValueError, OverflowError):
            return None
        if totals is None:
            totals = {key: _allocate(mean, table.count) for key, mean in values.items()}
        if values.keys() != totals.keys():
            return None
        for key, mean in values.items():
            total = totals[key]
            if (total.over is None) != (mean.over is None) or (total.dims, total.units) != (mean.dims, mean.units):
                return None
            for target, part in zip(total.parts(), mean.parts(), strict=True):
                if target.shape[:-1] != part.shape[:-1]:
                    return None
                target[..., rows] = part
    return totals


def _chunks(groups: list[NDArray[np.int64]]) -> Iterator[NDArray[np.int64]]:
    """Yield the index arrays of groups of states in pieces of at most `CHUNK` indices."""
    for rows in groups:
        for begin in range(0, len(rows), CHUNK):
            yield rows[begin : begin + CHUNK]


def _state_on_arrays(table: StateTable, rows: NDArray[np.int64]) -> Any:
    """Return the states ``rows``, which differ in integers only, as one state of arrays: a function's argument."""
    values = [
        code[rows] if isinstance(component.values, range) else component.values[int(code[rows[0]])]
        for component, code in zip(table.space.components, table.codes, strict=True)
    ]
    state = table.space.assemble(values)
    return States(type(state), tuple(state)) if hasattr(state, "_fields") else state


def _mean_on_arrays(value: Any, function: StateFunction, count: int) -> Mean:
    """Return what a function returned for ``count`` states on arrays as a `Mean` of arrays over these states."""
    value = unwrap(value)
    if isinstance(value, Mean):
        parts = [_part_on_arrays(part, len(value.dims), count) for part in value.parts()]
        return value._replace(of=parts[0], over=parts[1] if len(parts) > 1 else None)
    if type(value) is np.ndarray and value.shape == (count,):
        return Mean(value.astype(np.float64))
    if holds_arrays(value):
        raise NotOnArraysError("a value that is no number")
    return as_mean(function.convert(value), count)


def _part_on_arrays(part: Any, depth: int, count: int) -> NDArray[np.float64]:
    """Return numbers of shape (..., states) from nested tuples or lists of numbers, uniform or per state."""
    part = unwrap(part)
    if depth and isinstance(part, (tuple, list)):
        return np.array([_part_on_arrays(item, depth - 1, count) for item in part])
    if depth == 0 and type(part) is np.ndarray and part.shape == (count,):
        return part.astype(np.float64)
    if isinstance(part, np.ndarray) and part.ndim != depth:
        raise NotOnArraysError("an array of another shape")
    numbers: NDArray[np.float64] = as_mean(Mean(part, dims=tuple(map(str, range(depth)))), count).of
    return numbers


def _allocate(mean: Mean, count: int) -> Mean:
    """Return a `Mean` like ``mean`` whose arrays are uninitialized and over ``count`` states."""
    of, *over = (np.empty((*part.shape[:-1], count)) for part in mean.parts())
    return mean._replace(of=of, over=over[0] if over else None)


# Conditions with ``~`` instead of ``not``: ~True is -2 and ~False is -1, and both count as true


INVERTED = (-1, -2)
INSTEAD_OF_INVERTED = "write not, or np.logical_not: ~ of a truth value is -1 or -2, which both count as true"


def is_inverted(value: Any, function: Any) -> bool:
    """Return whether the value of a condition in one state is that of ``~`` applied to a truth value.

    The value is -1 or -2, and the function, or one that it refers to by name, has a ``~``.
    """
    return value in INVERTED and _has_invert(function)


def _has_invert(function: Any) -> bool:
    """Return whether the bytecode of a function, or of one that it refers to by name, has the operator ``~``."""
    visited: set[int] = set()
    stack = [function]
    while stack:
        function = stack.pop()
        function = getattr(function, "__func__", function)
        if not isinstance(function, FunctionType) or id(function) in visited:
            continue
        visited.add(id(function))
        for code in codes_in(function.__code__):
            if any(step.opname == "UNARY_INVERT" for step in dis.get_instructions(code)):
                return True
            stack += [value_of_name(function, name) for name in (*code.co_names, *code.co_freevars)]
    return False


# Measures: numbers over the states of a chain whose mean, or ratio of means, is the answer


class Mean(NamedTuple):
    """A measure that is a mean of numbers over the states, or a ratio of two such means.

    Attributes
    ----------
    of
        The numbers, shape (..., states).
    over
        Numbers of the mean to divide by, of the same shape; None: no division.
    dims, units
        Names of the leading dimensions; units of the measure.

    Examples
    --------
    >>> import numpy as np
    >>> from markov import Mean
    >>> waiting = Mean(np.array([0.0, 1.0, 2.0]), over=np.array([1.0, 1.0, 0.0]), units="s")
    >>> float(waiting.value(np.array([0.5, 0.25, 0.25])))
    1.0
    """

    of: Any
    over: Any = None
    dims: tuple[str, ...] = ()
    units: str = ""

    def value(self, pi: NDArray[np.float64]) -> Any:
        """Return the measure under the distribution ``pi``, shape (states,); NaN where a ratio is 0 / 0."""
        above = self.sum_of(pi)
        if self.over is None:
            return above
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.divide(above, self._replace(of=self.over).sum_of(pi))

    def sum_of(self, pi: NDArray[np.float64]) -> Any:
        """Return the sum over states of the numbers times ``pi``, a distribution or part of one, shape (states,)."""
        total = np.einsum("...x,x->...", self.of, pi)
        return total if total.ndim else float(total)

    def parts(self) -> tuple[Any, ...]:
        """Return the arrays of the measure: (numbers,), or (numbers, numbers of the divisor) for a ratio."""
        return (self.of,) if self.over is None else (self.of, self.over)


def number_of(value: Any) -> float:
    """Return a number or a truth value as a float; an array of shape () counts as a number.

    Raises
    ------
    TypeError
        For any other object: a string, None, a set, a state.
    """
    if isinstance(value, (bool, int, float, np.bool_, np.number, numbers.Real, Decimal)) and not (
        isinstance(value, np.complexfloating)
    ):
        return float(value)
    if getattr(value, "ndim", None) == 0 and getattr(value.dtype, "kind", "") in "biuf":
        return float(value)  # an array of NumPy or of JAX
    raise TypeError(f"{value!r} is no number and no truth value")


def as_mean(value: Any, count: int) -> Mean:
    """Return a label, a reward or a `Mean` as a `Mean` of float arrays over ``count`` states.

    Raises
    ------
    TypeError
        Unless the value consists of numbers and truth values.
    """
    mean = value if isinstance(value, Mean) else Mean(value)

    def broadcast(part: Any) -> NDArray[np.float64]:
        """Return numbers, uniform or one per state, as an array of shape (..., count)."""
        array = np.asarray(part)
        if array.dtype.kind not in "biuf":
            if array.ndim:
                array = np.array([number_of(item) for item in array.ravel()]).reshape(array.shape)
            else:
                array = np.asarray(number_of(part))
        if array.ndim == len(mean.dims):  # the same in all states, or one state
            array = array[..., None]
        if array.ndim != len(mean.dims) + 1 or array.shape[-1] not in (1, count):
            raise TypeError(f"{part!r} has shape {array.shape}: one number per state is expected")
        return np.broadcast_to(array.astype(float), (*array.shape[:-1], count))

    return mean._replace(of=broadcast(mean.of), over=None if mean.over is None else broadcast(mean.over))


def concatenate_means(means: list[Mean]) -> Mean:
    """Return one `Mean` over the states of all ``means``, in order.

    Raises
    ------
    TypeError
        When ratios and means are mixed, or their shapes or dimensions differ.
    """
    first = means[0]
    shape = first.of.shape[:-1]
    for mean in means:
        same = (mean.over is None) == (first.over is None) and mean.dims == first.dims
        if not same or mean.of.shape[:-1] != shape:
            raise TypeError("a ratio, or another shape, in some states only")
    over = None if first.over is None else np.concatenate([m.over for m in means], axis=-1)
    return first._replace(of=np.concatenate([m.of for m in means], axis=-1), over=over)


def mean_at_states(mean: Mean, indices: Any) -> Mean:
    """Return a `Mean` of the numbers in the states at ``indices`` only."""
    over = None if mean.over is None else mean.over[..., indices]
    return mean._replace(of=mean.of[..., indices], over=over)


def first_difference(one: Mean, other: Mean, rounding: float) -> int | None:
    """Return the index of the first state in which the numbers of two `Mean` differ; None if they agree.

    They agree up to ``rounding`` relative to ``other``; NaN agrees with NaN. Two of different form differ in state 0.
    """
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


def format_numbers(mean: Mean, x: int) -> str:
    """Return the numbers of a `Mean` in state ``x`` as a string for messages."""
    if mean.of.shape[-1] <= x:
        return "other names"
    return ", ".join(f"{value:.17g}" for value in np.ravel(mean.of[..., x]))
