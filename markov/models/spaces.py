"""The states of a model: named components with finitely many values each.

A field of ``State`` is one component, with a range of whole numbers or any list of values (strings, an
Enum), or a vector of components: a tuple of ranges, such as the queue lengths of N stations.
The code of a component is its value if its values are a range, otherwise the index of the value in the list.
"""

from __future__ import annotations

import enum
import itertools
import math
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.callers import warn_caller
from hopflow.checks import count_of
from hopflow.errors import RuleError
from hopflow.fork_safety import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "NO_END",
    "NUMBERED",
    "SAMPLE",
    "Component",
    "Space",
    "extreme_states",
    "fields_of",
    "format_state",
    "refuse_unhashable",
    "sample_of",
    "warn_of_unintended_states",
]


NO_END = 2**52
"""Upper limit of the range of a component without a last value."""
MAX_CODE = 2**62
"""Limit of codes, so that differences of two of them have 64 bits as well."""
NUMBERED = 2**63
"""Smallest size of a space whose states have no numbers of 64 bits."""
SAMPLE = 120
"""Random states in which arrays are compared with plain Python, besides the extreme states of each component."""
ROUNDING = 1e-12
"""Difference of two values, relative to the largest one, that is taken for rounding."""
MAX_ROUNDED = 1e10
"""Limit of the values that are searched for rounding: neighbouring whole numbers differ by more below it."""
ALLOWED = (
    "a range with step 1, not empty; a list of different values, such as an Enum; or, for a vector, "
    "a tuple of such ranges"
)


@dataclass(frozen=True)
class Component:
    """One component of a model's state: a name, and the values that it may have.

    Attributes
    ----------
    name
        The field of ``State``, with an index for a component of a vector: ``n[2]``.
    values
        A range with step 1, or different values in the order that numbers them.
    """

    name: str
    values: Sequence[Any]

    @property
    def low(self) -> int:
        """The smallest code of the component: the first value of a range, 0 for a list of values."""
        return self.values.start if isinstance(self.values, range) else 0

    @property
    def count(self) -> int:
        """Number of values of the component, which may exceed the limit of ``len`` for a range."""
        values = self.values
        return values.stop - values.start if isinstance(values, range) else len(values)

    def values_at(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the component's values for an array of codes, an array of the same shape."""
        if isinstance(self.values, range):
            return codes
        if all(isinstance(value, str) for value in self.values):
            return np.array(self.values)[codes]
        table = np.empty(len(self.values), dtype=object)
        for index, value in enumerate(self.values):
            table[index] = value  # an assignment of all would make rows of tuples of one length
        return table[codes]


class Space:
    """Product space of a state's components, which converts states between objects, codes and numbers.

    States are numbered with the last component varying fastest.

    Parameters
    ----------
    make
        Constructor of a state from the values of its fields: a NamedTuple class, or None for plain tuples.
    fields
        The values of each field: a `range`, a sequence, or a tuple of ranges.
    exact
        Whether only an ``int`` is a value of a range, neither 2.0 nor True.
    """

    def __init__(self, make: Any, fields: Mapping[str, Any], *, exact: bool = False) -> None:
        self.make = _tuple if make is None else make
        self.exact = exact
        self.fields = tuple(fields)
        self.widths: list[int | None] = []
        components: list[Component] = []
        for name, values in fields.items():
            if is_vector(values):
                self.widths.append(len(values))
                components += [Component(f"{name}[{k}]", part) for k, part in enumerate(values)]
            else:
                self.widths.append(None)
                listed = values if isinstance(values, range) else tuple(values)
                components.append(Component(name, listed))
        self.components = tuple(components)
        self.shape = tuple(c.count for c in components)
        self.low = tuple(c.low for c in components)
        self.size = math.prod(self.shape)

    @classmethod
    def of(cls, make: Any, declared: Any, owner: str) -> Space:
        """Return the space that the model named ``owner`` declares as {field: values}, after validation.

        Raises
        ------
        RuleError
            Unless the declaration maps the fields of ``State`` to values as in the class.
        """
        if not isinstance(declared, Mapping):
            msg = f"{owner}.space() returns {declared!r}: must be a dict of the fields of State"
            raise RuleError(msg)
        if all(type(values) is range for values in declared.values()):
            return _of_ranges(make, tuple(declared), tuple(declared.values()), owner)
        return cls._from_declaration(make, declared, owner)

    @classmethod
    def _from_declaration(cls, make: Any, declared: Mapping[str, Any], owner: str) -> Space:
        """Return the space of a declaration {field: values}; RuleError if fields or values are invalid."""
        if tuple(declared) != fields_of(make, owner):
            fields = ", ".join(make._fields)
            raise RuleError(f"{owner}.space() has {', '.join(declared)}: must be {fields}")
        for name, values in declared.items():
            parts = values if is_vector(values) else [values]
            if not all(map(are_valid_values, parts)):
                raise RuleError(f"{owner}.space(): {name} = {values!r}: must be {ALLOWED}")
        return cls(make, declared)

    @classmethod
    def of_single(cls, values: Any) -> Space:
        """Return the space whose states are the single values in ``values``, of any type."""
        return cls(_single, {"state": values})

    @classmethod
    def of_states(cls, make: Any, states: Sequence[Any]) -> Space:
        """Return the smallest product space that contains the states in ``states``.

        Integers become a range; other values, and integers beyond 62 bits, are numbered in the order of
        their discovery. States that are not all tuples of the same length have one component,
        called ``state``.
        """
        width = len(states[0]) if isinstance(states[0], tuple) else 0
        tuples = (isinstance(state, tuple) and len(state) == width for state in states)
        if make is None and not (width and all(tuples)):
            return cls(_single, {"state": column_values(states)})
        names = getattr(make, "_fields", None) or tuple(f"state[{k}]" for k in range(width))
        columns = zip(*states, strict=True)
        return cls(make, {name: column_values(c) for name, c in zip(names, columns, strict=True)})

    @property
    def is_single(self) -> bool:
        """Whether a state of the space is a single value, not a tuple."""
        return self.make is _single

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components of a state."""
        return tuple(c.name for c in self.components)

    @cached_property
    def has_only_integers(self) -> bool:
        """Whether the values of every component are a range of integers."""
        return all(isinstance(c.values, range) for c in self.components)

    @cached_property
    def has_codes(self) -> bool:
        """Whether the codes of all components fit into 64 bits."""
        bounds = zip(self.low, self.shape, strict=True)
        return all(-MAX_CODE < low <= low + count < MAX_CODE for low, count in bounds)

    @cached_property
    def states_are_codes(self) -> bool:
        """Whether a state is the tuple of its codes: every field is one component with a range of integers."""
        single = all(width is None for width in self.widths) and self.make is not _single
        return single and self.has_only_integers

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """Increment of a state's number per unit of each component's code."""
        return tuple(math.prod(self.shape[k + 1 :]) for k in range(len(self.shape)))

    def flatten(self, state: Any) -> tuple[Any, ...]:
        """Return the values of all components of a state as one tuple, in which vectors are unpacked."""
        if self.make is _single:
            return (state,)
        if all(width is None for width in self.widths):
            return tuple(state)
        parts: list[Any] = []
        for value, width in zip(state, self.widths, strict=True):
            parts.extend([value] if width is None else value)
        return tuple(parts)

    def assemble(self, values: Sequence[Any]) -> Any:
        """Return the state whose components have these values, one for each component; vectors become tuples."""
        if self.states_are_codes:
            return self.make(*values)
        remaining = iter(values)
        return self.make(
            *(next(remaining) if width is None else tuple(itertools.islice(remaining, width)) for width in self.widths)
        )

    def canonical_state(self, state: Any) -> Any:
        """Return a state with the values that the space lists: 2.0 becomes 2, a member of an IntEnum an int.

        Raises
        ------
        ValueError
            When ``state`` is no state of this space, with the reason.
        """
        values = self.flatten(self.as_tuple(state))
        if len(values) != len(self.components):
            lengths = ", ".join(str(width) for width in self.widths if width is not None)
            raise ValueError(f"{state!r}: vectors of {lengths} values are expected")
        if self.exact and any(type(value) is not int for value in values):
            raise ValueError("a component is no int")
        return self.assemble([canonical_value(c, v) for c, v in zip(self.components, values, strict=True)])

    def with_ranges(self, ranges: Sequence[range], *, exact: bool = False) -> Space:
        """Return a space of the same fields in which each component has the values of one of ``ranges``."""
        remaining = iter(ranges)
        fields = {
            name: next(remaining) if width is None else tuple(itertools.islice(remaining, width))
            for name, width in zip(self.fields, self.widths, strict=True)
        }
        return Space(None if self.make is _tuple else self.make, fields, exact=exact)

    def as_tuple(self, state: Any) -> Any:
        """Return a target, a tuple or a mapping, as a tuple of field values; ValueError unless it has their form."""
        fields = self.fields
        if self.make is _single:
            return state
        if isinstance(state, Mapping):
            if set(state) != set(fields):
                raise ValueError(f"a state with {', '.join(fields)} is expected")
            return tuple(state[name] for name in fields)
        if not isinstance(state, tuple):
            raise ValueError("a target is a state: write s._replace(...) or State(...)")  # noqa: TRY004
        if len(state) != len(fields):
            raise ValueError(f"a state has {count_of(len(fields), 'value')} ({', '.join(fields)})")
        for value, width in zip(state, self.widths, strict=True):
            if width is not None and not isinstance(value, tuple):
                raise ValueError(f"{value!r} must be a tuple of {count_of(width, 'value')}")
        return state

    def states_from_columns(self, columns: Sequence[Sequence[Any]]) -> Iterator[Any]:
        """Return an iterator over states from columns: for each component, the list of its values in all states."""
        if self.make is _single:
            return iter(columns[0])
        remaining = iter(columns)
        fields = (
            next(remaining) if width is None else zip(*itertools.islice(remaining, width), strict=True)
            for width in self.widths
        )
        rows = zip(*fields, strict=True)
        return rows if self.make is _tuple else itertools.starmap(self.make, rows)

    def membership_test(self) -> Callable[[Any], bool]:
        """Return a fast function that tells whether a tuple is a state of this space and needs no conversion."""
        if not self.has_only_integers or self.make is _single:
            return lambda _state: False
        names, indices, tests = [], iter(range(len(self.components))), []
        for field, width in enumerate(self.widths):
            inner = [f"v{next(indices)}" for _ in range(width or 1)]
            names.append(inner[0] if width is None else f"({', '.join(inner)},)")
            if width is not None:
                tests.append(f"type(state[{field}]) is tuple")
        for k, (c, n) in enumerate(zip(self.components, self.shape, strict=True)):
            tests.append(f"type(v{k}) is int and {c.low} <= v{k} < {c.low + n}")
        text = f"def admit(state):\n {', '.join(names)}, = state\n return {' and '.join(tests)}"
        return _compile_test(text)

    def codes(self, states: Sequence[Any]) -> NDArray[np.int64]:
        """Return the codes of states of this space, shape (components, len(states))."""
        count, width = len(states), len(self.components)
        if self.has_only_integers:
            rows = states if self.states_are_codes else map(self.flatten, states)
            flat = np.fromiter(itertools.chain.from_iterable(rows), np.int64, count * width)
            return np.ascontiguousarray(flat.reshape(count, width).T)
        columns = zip(*map(self.flatten, states), strict=True)
        return np.array([codes_of(c, v) for c, v in zip(self.components, columns, strict=True)])

    def numbers(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of states in the product space from their codes, shape (states,), for sizes below 2^63."""
        numbers = np.zeros(codes.shape[1], dtype=np.int64)
        for code, low, size in zip(codes, self.low, self.shape, strict=True):
            numbers = numbers * size + (code - low)
        return numbers

    def sort_order(self, codes: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the indices that sort states by their components, the last fastest; None if they are sorted."""
        if self.size >= NUMBERED:
            return np.lexsort(codes[::-1])
        numbers = self.numbers(codes)
        return None if np.all(numbers[1:] > numbers[:-1]) else np.argsort(numbers, kind="stable")

    def codes_of_numbers(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the codes of the states with these numbers in the space, shape (components, len(numbers))."""
        quotient, codes = numbers.astype(np.int64), []
        for low, size in zip(reversed(self.low), reversed(self.shape), strict=True):
            quotient, code = np.divmod(quotient, size)
            codes.append(code + low)
        return np.array(codes[::-1], dtype=np.int64).reshape(len(codes), len(numbers))

    def columns(self, codes: NDArray[np.int64]) -> Any:
        """Return states as one ``State`` of arrays, from their codes, shape (components, n).

        Each field is a read-only array of its values, shape (n,); a vector is a tuple of such arrays.
        """
        arrays = []
        for component, code in zip(self.components, codes, strict=True):
            view = component.values_at(code).view()
            view.flags.writeable = False
            arrays.append(view)
        return self.assemble(arrays)

    def state(self, codes: Sequence[int] | NDArray[np.int64]) -> Any:
        """Return the state with the codes of its components, as a plain Python object."""
        return self.assemble(
            [
                int(code) if isinstance(c.values, range) else c.values[int(code)]
                for c, code in zip(self.components, codes, strict=True)
            ]
        )

    def states(self) -> Iterator[Any]:
        """Return an iterator over all states of the product space, the last component varying fastest."""
        parts = itertools.product(*(c.values for c in self.components))
        return itertools.starmap(self.make, parts) if self.states_are_codes else map(self.assemble, parts)


def refuse_unhashable(state: Any) -> None:
    """Raise TypeError for a state that cannot be hashed, such as a list."""
    try:
        hash(state)
    except TypeError:
        raise TypeError("must be hashable, as a tuple") from None


def warn_of_unintended_states(owner: str, space: Space) -> None:
    """Warn of discovered states that are probably none: whole numbers beside others, and values parted by rounding.

    A state 2.0 beside 0 may be the rate of a pair in the wrong order. Values that differ by the rounding of float64
    alone, such as 0.3 and 0.1 + 0.2, are different states, among which the probability of one is divided.
    """
    if space.is_single and not isinstance(listed := space.components[0].values, range):
        first = {type(value): value for value in reversed(listed)}
        if int in first and float in first:
            message = f"the states {first[int]!r} and {first[float]!r} are a whole number and a float"
            remedy = "rules yield pairs (target, rate), in this order; where both are states, write float(target)"
            warn_caller(UserWarning(f"{owner}: {message}: {remedy}"), "markov")
            return
    for component in space.components:
        values: Sequence[Any] = () if isinstance(component.values, range) else component.values
        widths = {len(value) if isinstance(value, tuple) else None for value in values}
        columns = [values] if None in widths or len(widths) != 1 else list(zip(*values, strict=True))
        for pair in filter(None, map(_pair_by_rounding, columns)):
            message = f"{component.name} has the values {pair[0]!r} and {pair[1]!r}, which differ by rounding alone"
            remedy = "they are different states; count in whole numbers, as steps of 0.1, or round() what rules return"
            warn_caller(UserWarning(f"{owner}: {message}: {remedy}"), "markov")
            return


def _pair_by_rounding(values: Sequence[Any]) -> tuple[float, float] | None:
    """Return two neighbouring numbers of ``values`` that differ by rounding alone; None if there are none."""
    if not any(isinstance(value, float) for value in values):
        return None
    real = (value for value in values if isinstance(value, (int, float)) and abs(value) < MAX_ROUNDED)
    ascending = np.unique(np.fromiter(real, dtype=np.float64))
    gaps = np.diff(ascending)
    if not len(gaps) or gaps.min() > ROUNDING * np.abs(ascending[[0, -1]]).max():
        return None
    k = int(np.argmin(gaps))
    return float(ascending[k]), float(ascending[k + 1])


def column_values(column: Sequence[Any]) -> Any:
    """Return values of a field that include all entries of ``column``: a range, a tuple of ranges, or a list."""
    if _are_codes(column):
        return range(min(column), max(column) + 1)
    vectors = all(type(v) is tuple and _are_codes(v) for v in column)
    if vectors and len({len(value) for value in column}) == 1 and column[0]:
        return tuple(map(column_values, zip(*column, strict=True)))
    return list(dict.fromkeys(column))


def _are_codes(values: Sequence[Any]) -> bool:
    """Return whether all values are ``int`` and fit into the codes of a component."""
    return set(map(type, values)) == {int} and -MAX_CODE < min(values) <= max(values) < MAX_CODE


def is_vector(values: Any) -> bool:
    """Return whether the declared values of a field are those of a vector: a tuple or list of ranges."""
    return isinstance(values, (tuple, list)) and len(values) > 0 and all(isinstance(part, range) for part in values)


def are_valid_values(values: Any) -> bool:
    """Return whether declared values are a range with step 1 or a list of distinct values, and not empty."""
    if isinstance(values, range):
        return values.step == 1 and values.stop > values.start
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, (Sequence, enum.EnumMeta)):
        return False
    listed = list(values)
    try:
        return 0 < len(listed) == len(set(listed))
    except TypeError:  # values without a hash
        return False


def canonical_value(component: Component, value: Any) -> Any:
    """Return the value of a component's list or range that equals ``value``; ValueError if none does."""
    if not isinstance(component.values, range):
        if value not in component.values:
            raise ValueError(f"{component.name} = {value!r}: the target is outside the space")
        return component.values[component.values.index(value)]
    real = isinstance(value, numbers.Real)
    if not (real and value in component.values):
        raise ValueError("the target is outside the space")
    return int(value)


def codes_of(component: Component, values: Sequence[Any]) -> NDArray[np.int64]:
    """Return the codes of a component's values in several states, shape (len(values),)."""
    if isinstance(component.values, range):
        return np.fromiter(values, np.int64, len(values))
    index = {value: k for k, value in enumerate(component.values)}
    return np.fromiter((index[value] for value in values), np.int64, len(values))


@lru_cache(maxsize=64)
def _of_ranges(make: Any, names: tuple[str, ...], ranges: tuple[range, ...], owner: str) -> Space:
    """Return the space of fields with integer ranges; equal declarations share one cached `Space`."""
    return Space._from_declaration(make, dict(zip(names, ranges, strict=True)), owner)


def fields_of(make: Any, owner: str) -> tuple[str, ...]:
    """Return the names of the components of a model's states; RuleError unless ``State`` is a NamedTuple."""
    if not (isinstance(make, type) and issubclass(make, tuple) and hasattr(make, "_fields")):
        msg = "must be a NamedTuple class with the components of a state"
        raise RuleError(f"{owner}.State = {make!r}: {msg}")
    return tuple(make._fields)


@lru_cache(maxsize=64)
def _compile_test(text: str) -> Callable[[Any], bool]:
    """Return the function ``admit`` that is defined by Python source ``text``."""
    scope: dict[str, Any] = {}
    exec(text, scope)  # noqa: S102  # of numbers only
    admit: Callable[[Any], bool] = scope["admit"]
    return admit


def _tuple(*values: Any) -> tuple[Any, ...]:
    """Return the values as a tuple: the constructor of states without a NamedTuple class."""
    return values


def _single(value: Any) -> Any:
    """Return the value unchanged: the constructor of states that are a single value."""
    return value


def format_state(state: Any) -> str:
    """Return a state as a string for messages: ``str`` of a tuple, ``repr`` of any other object."""
    return str(state) if isinstance(state, tuple) else repr(state)


def sample_of(space: Space, codes: NDArray[np.int64], count: int = SAMPLE) -> list[int]:
    """Return sorted indices of a sample of states: extreme states, corners, and ``count`` random ones, at most 120."""
    n, count = codes.shape[1], min(count, SAMPLE)
    if n <= count:
        return list(range(n))
    chosen = extreme_states(codes)
    bounds = zip(codes.min(axis=1), codes.max(axis=1), strict=True)
    corners = np.array(list(itertools.islice(itertools.product(*bounds), count // 2))).T
    near = np.searchsorted(space.numbers(codes), space.numbers(corners))
    chosen |= set(np.minimum(near, n - 1).tolist())
    return sorted(chosen | set(np.random.default_rng(2).integers(n, size=count).tolist()))


def extreme_states(codes: NDArray[np.int64]) -> set[int]:
    """Return the indices of the first and last state, and of a minimum and a maximum of each component."""
    indices = {0, codes.shape[1] - 1}
    return indices.union(*({int(np.argmin(code)), int(np.argmax(code))} for code in codes))
