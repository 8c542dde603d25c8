"""The components of a state: their values, declared or found, and the codes of these.

The code of a component is its value where that is a whole number of a range, otherwise the place of the
value in the list.
"""

from __future__ import annotations

import enum
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ALLOWED",
    "MAX_CODE",
    "NO_END",
    "Component",
    "codes_of",
    "is_finite",
    "is_vector",
    "known_value",
    "values_of",
]

NO_END = 2**52
"""Where the values of a component end that has no last one."""
MAX_CODE = 2**62
"""Whole numbers below are codes of 64 bits, as are differences of two of them."""
ALLOWED = (
    "a range with step 1, not empty; a list of different values, such as an Enum; or, for a vector, "
    "a tuple of such ranges"
)


@dataclass(frozen=True)
class Component:
    """One number or label of the state.

    Attributes
    ----------
    name
        The field of ``State``; with its place for one of a vector: ``n[2]``.
    values
        A range with step 1, or different values in the order that numbers them.
    """

    name: str
    values: Sequence[Any]

    @property
    def low(self) -> int:
        """The least code: the least value of a range, 0 for values of any other kind."""
        return self.values.start if isinstance(self.values, range) else 0

    @property
    def count(self) -> int:
        """How many values there are: of a range it may be more than ``len`` can say."""
        values = self.values
        return values.stop - values.start if isinstance(values, range) else len(values)

    def values_at(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the values with some codes, an array of the same shape."""
        if isinstance(self.values, range):
            return codes
        if all(isinstance(value, str) for value in self.values):
            return np.array(self.values)[codes]
        table = np.empty(len(self.values), dtype=object)
        for place, value in enumerate(self.values):
            table[place] = value  # all at once, tuples of one length would be rows
        return table[codes]


def values_of(column: Sequence[Any]) -> Any:
    """Return the values of a field that were found: a range, a tuple of ranges, or a list."""
    if _are_codes(column):
        return range(min(column), max(column) + 1)
    vectors = all(type(v) is tuple and _are_codes(v) for v in column)
    if vectors and len({len(value) for value in column}) == 1 and column[0]:
        return tuple(map(values_of, zip(*column, strict=True)))
    return list(dict.fromkeys(column))


def _are_codes(values: Sequence[Any]) -> bool:
    """Whether values are whole numbers that are codes of 64 bits."""
    return set(map(type, values)) == {int} and -MAX_CODE < min(values) <= max(values) < MAX_CODE


def is_vector(values: Any) -> bool:
    """Return whether the values of a field are ranges, one for each entry of a vector."""
    return (
        isinstance(values, (tuple, list))
        and len(values) > 0
        and all(isinstance(part, range) for part in values)
    )


def is_finite(values: Any) -> bool:
    """Whether these may be the values of a component."""
    if isinstance(values, range):
        return values.step == 1 and values.stop > values.start
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(
        values, (Sequence, enum.EnumMeta)
    ):
        return False
    given = list(values)
    try:
        return 0 < len(given) == len(set(given))
    except TypeError:  # values that cannot be told apart by hash
        return False


def known_value(component: Component, value: Any) -> Any:
    """Return the component's value that equals this one."""
    if not isinstance(component.values, range):
        if value not in component.values:
            raise ValueError(f"{component.name} = {value!r}: the target is outside the space")
        return component.values[component.values.index(value)]
    real = isinstance(value, numbers.Real)
    if not (real and value in component.values):
        raise ValueError("the target is outside the space")
    return int(value)


def codes_of(component: Component, values: Sequence[Any]) -> NDArray[np.int64]:
    """Return the codes of some values of a component, shape (len(values),)."""
    if isinstance(component.values, range):
        return np.fromiter(values, np.int64, len(values))
    place = {value: k for k, value in enumerate(component.values)}
    return np.fromiter((place[value] for value in values), np.int64, len(values))
