"""All combinations of some parameters' values, and what is computed at each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

__all__ = ["Grid", "Row", "axis"]

T = TypeVar("T")


class Row(NamedTuple):
    """What was computed at one point.

    Attributes
    ----------
    variables
        Dimensions, values and attributes by name.
    coords
        Coordinates of those dimensions, in the same form; the same at every point.
    """

    variables: Mapping[Any, tuple[tuple[Any, ...], Any, Mapping[Any, Any]]]
    coords: Mapping[Any, tuple[tuple[Any, ...], Any, Mapping[Any, Any]]]


class Grid(Generic[T]):
    """All combinations of values, the last name's varying fastest; what is to be done at each.

    Parameters
    ----------
    values
        The values by name.
    task
        Makes the task of a point from its values by name, whenever it is asked for.
    units
        Units by name, of the values that have one.

    Raises
    ------
    ValueError
        For what is no list of values, or an empty one.
    """

    def __init__(
        self,
        values: Mapping[str, Iterable[Any]],
        task: Callable[[dict[str, Any]], T],
        units: Mapping[str, str] | None = None,
    ) -> None:
        for name, given in values.items():
            if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
                msg = "values to sweep over are expected"
                raise ValueError(f"{name} = {given!r}: {msg}")
        self.values = {name: list(given) for name, given in values.items()}
        for name, listed in self.values.items():
            if not listed:
                raise ValueError(f"{name} = {listed!r}: at least one value is expected")
        self.task = task
        self.units = dict(units or {})
        self.shape = tuple(map(len, self.values.values()))

    def __len__(self) -> int:
        return math.prod(self.shape)

    def __getitem__(self, number: int) -> T:
        places = np.unravel_index(number, self.shape) if self.shape else ()
        pairs = zip(self.values.items(), places, strict=True)
        return self.task({name: listed[place] for (name, listed), place in pairs})

    def __iter__(self) -> Iterator[T]:
        return (self[number] for number in range(len(self)))

    def coords(self) -> dict[str, Any]:
        """Return the values as coordinates of a Dataset."""
        return {
            name: (name, axis(listed), self.attrs(name)) for name, listed in self.values.items()
        }

    def attrs(self, name: str) -> dict[str, str]:
        """Return the attributes of a coordinate: its ``units``, if it has them."""
        return {"units": self.units[name]} if name in self.units else {}


def axis(values: list[Any]) -> Any:
    """Return values as a coordinate: numbers, or strings, as they are; a mixture, tuples and None as objects; others as texts.

    A text selects, ``found.sel(discipline="DFC()")``, and can be written to files.

    Examples
    --------
    >>> axis([1, 2]), axis([None, (1, 2)]).tolist(), axis([1.0, "all"]).tolist()
    ([1, 2], [None, (1, 2)], [1.0, 'all'])
    """
    for kinds in ((int, float, np.number), str):
        if all(isinstance(value, kinds) for value in values):
            return values
    if not all(
        value is None or isinstance(value, (tuple, float, int, np.number, str)) for value in values
    ):
        return [str(value) for value in values]
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
