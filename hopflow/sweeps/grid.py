"""Grids of parameter values, and the schema of their results."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from hopflow.checks import format_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Field", "Grid", "Row", "Schema", "array_of", "axis", "dtype_with_gaps"]

T = TypeVar("T")


NUMBER_KINDS = "biufc"
"""Kinds of NumPy dtypes that are numbers or booleans."""


class Row(NamedTuple):
    """Result at one grid point.

    Attributes
    ----------
    variables
        Dimensions, values and attributes by name.
    coords
        Coordinates of these dimensions, in the same format; equal at every point.
    """

    variables: Mapping[Any, tuple[tuple[Any, ...], Any, Mapping[Any, Any]]]
    coords: Mapping[Any, tuple[tuple[Any, ...], Any, Mapping[Any, Any]]]


class Grid(Generic[T]):
    """All combinations of values, the last parameter varying fastest, with a task at each point.

    Parameters
    ----------
    values
        The values by name.
    task
        Function that makes the task of a point from its values by name, at each access.
    units
        Unit by name, for values that have one.

    Raises
    ------
    ValueError
        For an argument that is no list of values, or an empty list.
    """

    def __init__(
        self,
        values: Mapping[str, Iterable[Any]],
        task: Callable[[dict[str, Any]], T],
        units: Mapping[str, str] | None = None,
    ) -> None:
        for name, column in values.items():
            if isinstance(column, (str, bytes)) or not hasattr(column, "__iter__"):
                msg = "values to sweep over are expected"
                raise ValueError(f"{name} = {column!r}: {msg}")
        self.values = {name: list(column) for name, column in values.items()}
        for name, column in self.values.items():
            if not column:
                raise ValueError(f"{name} = {column!r}: at least one value is expected")
        self.task = task
        self.units = dict(units or {})
        self.shape = tuple(map(len, self.values.values()))

    def __len__(self) -> int:
        return math.prod(self.shape)

    def __getitem__(self, number: int) -> T:
        indices = np.unravel_index(number, self.shape) if self.shape else ()
        pairs = zip(self.values.items(), indices, strict=True)
        return self.task({name: column[index] for (name, column), index in pairs})

    def __iter__(self) -> Iterator[T]:
        return (self[number] for number in range(len(self)))

    def point(self, number: int) -> str:
        """Format the values of a point for messages.

        >>> Grid({"x": [1, 2], "y": ["a"]}, print).point(1)
        "x = 2, y = 'a'"
        """
        indices = np.unravel_index(number, self.shape) if self.shape else ()
        pairs = zip(self.values.items(), indices, strict=True)
        return ", ".join(f"{name} = {format_value(values[k])}" for (name, values), k in pairs)

    def coords(self) -> dict[str, Any]:
        """Return the values as coordinates of a Dataset."""
        return {name: (name, axis(column), self.attrs(name)) for name, column in self.values.items()}

    def attrs(self, name: str) -> dict[str, str]:
        """Return the attributes of a coordinate: its ``units``, if it has them."""
        return {"units": self.units[name]} if name in self.units else {}


def axis(values: list[Any]) -> Any:
    """Return values as a coordinate.

    Numbers or strings are unchanged. Mixtures, tuples and None become objects. Other values become strings. Strings can
    be selected, ``data.sel(discipline="DFC()")``, and written to files.

    Examples
    --------
    >>> axis([1, 2]), axis([None, (1, 2)]).tolist(), axis([1.0, "all"]).tolist()
    ([1, 2], [None, (1, 2)], [1.0, 'all'])
    """
    for kinds in ((int, float, np.number), str):
        if all(isinstance(value, kinds) for value in values):
            return values
    if not all(value is None or isinstance(value, (tuple, float, int, np.number, str)) for value in values):
        return [str(value) for value in values]
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


class Field(NamedTuple):
    """Schema of one result: dimensions and shape, equal at every point, and a dtype that holds all values."""

    dims: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    attrs: Mapping[Any, Any]


class Schema:
    """Schema of the rows of a grid, the same in memory and in a store.

    The first row sets names, dimensions, shapes and coordinates. Dtypes are promoted: integers and booleans to floats
    if a float occurs, strings to the greatest length. A missing number is NaN. Mixtures of numbers and strings, and
    other objects, have dtype object, which memory keeps and a store refuses.

    Attributes
    ----------
    fields
        Schema of each result by name.
    coords
        Coordinates of the first row.
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
            Naming the value and the point: for a value that is no scalar although the row has no dimension for it, and
            for dimensions, shapes or coordinates that differ from earlier points.
        """
        arrays = {}
        for name, (dims, value, _) in row.variables.items():
            try:
                arrays[name] = array = array_of(value)
            except (TypeError, ValueError):  # a list of lists of several lengths, a Dataset
                raise ValueError(self._refusal(name, value, number, SCALAR_EXPECTED)) from None
            if array.ndim != len(dims):
                raise ValueError(self._refusal(name, value, number, SCALAR_EXPECTED))
            if shadowed := {name, *dims}.intersection(self.grid.values):
                fault = f"{min(shadowed, key=str)} is a parameter of the sweep; give the result another name"
                raise ValueError(self._refusal(name, value, number, fault))
            field = self.fields.get(name)
            if field is not None and (field.dims, field.shape) != (tuple(dims), array.shape):
                before, after = (
                    ", ".join(f"{dim}: {size}" for dim, size in zip(names, sizes, strict=True)) or "none"
                    for names, sizes in ((field.dims, field.shape), (dims, array.shape))
                )
                fault = f"has the dimensions {after}, at earlier points {before}"
                raise ValueError(self._refusal(name, value, number, fault))
        for name, (dims, value, _) in row.coords.items() if self.coords is not None else ():
            if name in self.grid.values:
                continue
            first = (self.coords or {}).get(name)
            if first is None or first[0] != tuple(dims) or not _equal(first[1], value):
                fault = "differs from the coordinate at earlier points, so that there is none for all"
                raise ValueError(self._refusal(name, value, number, fault))
        return arrays

    def fields_with(self, row: Row, arrays: Mapping[Hashable, NDArray[Any]]) -> dict[Hashable, Field]:
        """Return the fields after a row with these arrays; the first row sets the names."""
        fields = dict(self.fields)
        for name, array in arrays.items():
            dims, _, attrs = row.variables[name]
            field = fields.get(name)
            if field is None:
                dtype = dtype_with_gaps(array.dtype) if self.coords is not None else array.dtype
                fields[name] = Field(tuple(dims), array.shape, dtype, dict(attrs))
            else:
                fields[name] = field._replace(dtype=common_dtype(field.dtype, array.dtype))
        for name in fields.keys() - arrays.keys():
            fields[name] = fields[name]._replace(dtype=dtype_with_gaps(fields[name].dtype))
        return fields

    def add(self, row: Row, fields: Mapping[Hashable, Field]) -> None:
        """Add a valid row: update the fields, and take the coordinates from the first."""
        self.fields = dict(fields)
        if self.coords is None:
            self.coords = {
                name: (tuple(dims), values, attrs)
                for name, (dims, values, attrs) in row.coords.items()
                if name not in self.grid.values
            }

    def _refusal(self, name: Hashable, value: object, number: int, fault: str) -> str:
        at = f" at {self.grid.point(number)}" if self.grid.values else ""
        return f"{name}{at} is {format_value(value)}: {fault}"


SCALAR_EXPECTED = "must be a single number or text; return a Dataset, or an object with to_xarray(), for arrays"


def array_of(value: Any) -> NDArray[Any]:
    """Convert a value to an array: numbers and strings by their dtype, other objects as dtype object.

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


def common_dtype(one: np.dtype[Any], other: np.dtype[Any]) -> np.dtype[Any]:
    """Return the common dtype of two dtypes.

    >>> common_dtype(np.dtype(int), np.dtype(float))
    dtype('float64')
    >>> common_dtype(np.dtype("U2"), np.dtype("U8")), common_dtype(np.dtype(int), np.dtype("U2"))
    (dtype('<U8'), dtype('O'))
    """
    if one == other:
        return one
    kinds = one.kind + other.kind
    if not set(kinds) <= set(NUMBER_KINDS) and (kinds[0] != kinds[1] or kinds[0] not in "UMm"):
        return np.dtype(object)
    dtype = np.promote_types(one, other)
    inexact = dtype.kind == "f" and "f" not in kinds  # signed and unsigned numbers of 64 bits
    return np.dtype(object) if inexact else dtype


def dtype_with_gaps(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype for values with gaps: NaN among numbers, None among others."""
    return np.promote_types(dtype, np.float64) if dtype.kind in NUMBER_KINDS else np.dtype(object)


def _equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    one, other = np.asarray(one), np.asarray(other)
    numbers = one.dtype.kind in "fc" and other.dtype.kind in "fc"
    return np.array_equal(one, other, equal_nan=numbers)
