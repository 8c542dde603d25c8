"""All combinations of some parameters' values, what is computed at each, and the types of the results of all."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from hopflow.checks import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Field", "Form", "Grid", "Row", "array_of", "axis", "missing"]

NUMBERS = "biufc"
"""Kinds of NumPy's types that are numbers or truth values."""

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

    def point(self, number: int) -> str:
        """Return the values of a point in words, for messages.

        >>> Grid({"x": [1, 2], "y": ["a"]}, print).point(1)
        "x = 2, y = 'a'"
        """
        indices = np.unravel_index(number, self.shape) if self.shape else ()
        pairs = zip(self.values.items(), indices, strict=True)
        return ", ".join(f"{name} = {shown(values[k])}" for (name, values), k in pairs)

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


class Field(NamedTuple):
    """The form of the results under one name: the same dimensions and shape at every point, and a type that holds all values."""

    dims: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    attrs: Mapping[Any, Any]


class Form:
    """The form of the rows of a grid, the same in memory and in a store.

    The first row decides names, dimensions, shapes and coordinates. Types grow: whole numbers and truth values become
    floating-point numbers beside those, texts become longer. Where a point has no number under a name, it is NaN.
    Numbers beside texts, and other objects, are objects, which memory keeps and a store refuses.

    Attributes
    ----------
    fields
        By name.
    coords
        Of the first row.
    """

    def __init__(self, grid: Grid[Any]) -> None:
        self.grid = grid
        self.fields: dict[Hashable, Field] = {}
        self.coords: dict[Hashable, tuple[tuple[Any, ...], Any, Mapping[Any, Any]]] | None = None

    def arrays(self, number: int, row: Row) -> dict[Hashable, NDArray[Any]]:
        """Return the values of a row as arrays.

        Raises
        ------
        ValueError
            For a value that is no single number, text or object where the row has no dimension for it, and for dimensions,
            shapes or coordinates that differ from those of the points before; it names the value and the point.
        """
        found = {}
        for name, (dims, value, _) in row.variables.items():
            try:
                found[name] = array = array_of(value)
            except (TypeError, ValueError):  # a list of lists of several lengths, a Dataset
                raise ValueError(self._refusal(name, value, number, SINGLE)) from None
            if array.ndim != len(dims):
                raise ValueError(self._refusal(name, value, number, SINGLE))
            if taken := {name, *dims}.intersection(self.grid.values):
                said = f"{min(taken, key=str)} is a parameter of the sweep; give the result another name"
                raise ValueError(self._refusal(name, value, number, said))
            field = self.fields.get(name)
            if field is not None and (field.dims, field.shape) != (tuple(dims), array.shape):
                before, after = (
                    ", ".join(f"{dim}: {size}" for dim, size in zip(names, sizes, strict=True))
                    or "none"
                    for names, sizes in ((field.dims, field.shape), (dims, array.shape))
                )
                said = f"has the dimensions {after}, at earlier points {before}"
                raise ValueError(self._refusal(name, value, number, said))
        for name, (dims, value, _) in row.coords.items() if self.coords is not None else ():
            if name in self.grid.values:
                continue
            first = (self.coords or {}).get(name)
            if first is None or first[0] != tuple(dims) or not _equal(first[1], value):
                said = (
                    "differs from the coordinate at earlier points, so that there is none for all"
                )
                raise ValueError(self._refusal(name, value, number, said))
        return found

    def fields_with(
        self, row: Row, arrays: Mapping[Hashable, NDArray[Any]]
    ) -> dict[Hashable, Field]:
        """Return the fields as they are with a row, whose values are these arrays; the first row counts the names."""
        fields = dict(self.fields)
        for name, array in arrays.items():
            dims, _, attrs = row.variables[name]
            field = fields.get(name)
            if field is None:
                dtype = missing(array.dtype) if self.coords is not None else array.dtype
                fields[name] = Field(tuple(dims), array.shape, dtype, dict(attrs))
            else:
                fields[name] = field._replace(dtype=common(field.dtype, array.dtype))
        for name in fields.keys() - arrays.keys():
            fields[name] = fields[name]._replace(dtype=missing(fields[name].dtype))
        return fields

    def take(self, row: Row, fields: Mapping[Hashable, Field]) -> None:
        """Let a row, which has no fault, be the first or a further one."""
        self.fields = dict(fields)
        if self.coords is None:
            self.coords = {
                name: (tuple(dims), values, attrs)
                for name, (dims, values, attrs) in row.coords.items()
                if name not in self.grid.values
            }

    def _refusal(self, name: Hashable, value: object, number: int, said: str) -> str:
        at = f" at {self.grid.point(number)}" if self.grid.values else ""
        return f"{name}{at} is {shown(value)}: {said}"


SINGLE = (
    "must be a single number or text; return a Dataset, or an object with to_xarray(), for arrays"
)


def array_of(value: Any) -> NDArray[Any]:
    """Return a value as an array: texts in an array of texts, other objects than numbers and texts as objects.

    >>> array_of("a").dtype, array_of(None).dtype, array_of(2**70).dtype
    (dtype('<U1'), dtype('O'), dtype('O'))
    """
    if hasattr(value, "__array__") or isinstance(value, (bool, int, float, complex, list, tuple)):
        array = np.asarray(value)
    else:
        array = np.empty((), dtype=object)
        array[()] = value
    if array.dtype.kind in "OT" and all(type(text) is str for text in array.flat):
        texts = array.astype(str)
        if all(map(str.__eq__, texts.flat, array.flat)):  # NumPy cuts zero characters at the end
            return texts
    return array.astype(object) if array.dtype.kind == "T" else array


def common(one: np.dtype[Any], other: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type that holds the values of two.

    >>> common(np.dtype(int), np.dtype(float)), common(np.dtype("U2"), np.dtype("U8")), common(np.dtype(int), np.dtype("U2"))
    (dtype('float64'), dtype('<U8'), dtype('O'))
    """
    if one == other:
        return one
    kinds = one.kind + other.kind
    if not set(kinds) <= set(NUMBERS) and (kinds[0] != kinds[1] or kinds[0] not in "UMm"):
        return np.dtype(object)
    dtype = np.promote_types(one, other)
    inexact = dtype.kind == "f" and "f" not in kinds  # signed and unsigned numbers of 64 bits
    return np.dtype(object) if inexact else dtype


def missing(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of values of which some are missing: NaN among numbers, None among others."""
    return np.promote_types(dtype, np.float64) if dtype.kind in NUMBERS else np.dtype(object)


def _equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    one, other = np.asarray(one), np.asarray(other)
    numbers = one.dtype.kind in "fc" and other.dtype.kind in "fc"
    return np.array_equal(one, other, equal_nan=numbers)
