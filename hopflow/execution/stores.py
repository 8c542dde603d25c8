"""Results of a grid of points on disk: a Zarr folder that they stream into, or NetCDF made from one.

A store knows what it is of, and which of its points are done. Points are collected in blocks of the
grid, each one chunk of every array: a block is written when it is complete, after some seconds, and at
the end. The array ``_done`` is written after the others, so that a process may be killed at any time.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hopflow.whole_files import replacing

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from hopflow.execution.grids import Grid, Row

__all__ = ["Store"]

POINTS = 1024
"""Of a block, at most."""
SECONDS_BETWEEN_WRITES = 5.0
"""Seconds after which a block is written that is not complete."""
LISTED = 8
"""Values of a parameter that are named in full where stores differ."""
OF = "sweep"
"""Attribute that says what a store is of."""
DONE, ORDER = "_done", "_order"
"""Array of the points that are done; attribute with the names of the others."""


class Store:
    """Results at the points of a grid, on disk; writes the remaining ones when its ``with`` ends.

    Parameters
    ----------
    path
        A ``.zarr`` folder, or a ``.nc`` file, which appears when all points are done: until then they
        are in a folder beside it, ``.nc.partial``.
    grid
        The points.
    about
        What else the results depend on, in words.

    Raises
    ------
    ValueError
        For another ending, and for what exists and is of something else, naming what differs.
    ImportError
        Without the packages of ``pip install hopflow[scale]``.

    Notes
    -----
    In memory: a byte for each point, 8 more for each that is missing at the start, and the blocks that
    are under way. Two processes must not write to one store.
    """

    def __init__(self, path: Path, grid: Grid[Any], about: Mapping[str, str]) -> None:
        _check_packages(path)
        self.path, self.grid, self.about = path, grid, about
        self.folder = path if path.suffix == ".zarr" else path.with_name(f"{path.name}.partial")
        self.block = _block(grid.shape)
        self.open: dict[tuple[int, ...], _Block] = {}
        self.written = time.monotonic()
        self.of = {**about, **{name: _listed(values) for name, values in grid.values.items()}}
        self.complete = path.suffix != ".zarr" and path.exists()
        if self.complete:
            with self.dataset() as data:
                self._compare(data.attrs, path)
        else:
            self.group = self._group()
            self.arrays = {
                name: self.group[name]
                for name in (*self.group.attrs.get(ORDER, ()), DONE)
                if DONE in self.group
            }

    def _group(self) -> Any:
        """Return the Zarr group of the folder, made if there is none."""
        import xarray as xr
        import zarr

        if not self.folder.exists():
            coords = {
                name: (name, _stored(values), self.grid.attrs(name))
                for name, values in self.grid.values.items()
            }
            attrs = {**self.about, OF: json.dumps(self.of)}
            scratch = self.folder.with_name(f"{self.folder.name}.new")
            empty = xr.Dataset(coords=coords, attrs=attrs)
            empty.to_zarr(scratch, mode="w", consolidated=False, zarr_format=2)
            scratch.rename(self.folder)
        try:
            group = zarr.open_group(self.folder, mode="r+")
        except (FileNotFoundError, ValueError):
            msg = "exists and is no Zarr folder"
            raise ValueError(f"store = {str(self.path)!r}: {self.folder} {msg}") from None
        self._compare(dict(group.attrs), self.folder)
        return group

    def _compare(self, attrs: Mapping[Any, Any], place: Path) -> None:
        """Raise ValueError unless attributes are those of the same grid of the same things."""
        if OF not in attrs:
            raise ValueError(f"store = {str(self.path)!r}: {place} exists and holds no sweep")
        there = json.loads(str(attrs[OF]))
        if differ := [
            name for name in {**there, **self.of} if there.get(name) != self.of.get(name)
        ]:
            said = "; ".join(self._difference(name, there) for name in differ)
            join = f"; sweep further values into a store of their own, and join both: xarray.concat([...], {differ[0]!r})"
            further = join if len(differ) == 1 and differ[0] in self.grid.values else ""
            raise ValueError(
                f"store = {str(self.path)!r}: {place} is of another sweep: {said}{further}"
            )
        if list(there) != list(self.of):
            raise ValueError(
                f"store = {str(self.path)!r}: {place} has its dimensions in another order, give the parameters in it: "
                f"{', '.join(name for name in there if name in self.grid.values)}"
            )

    def _difference(self, name: str, there: Mapping[str, str]) -> str:
        """Return in words what a store has there of a parameter, or of the code, and what is asked here."""
        own, other = (each.get(name, "not swept") for each in (self.of, there))
        if name == "source" and own.split()[:-1] == other.split()[:-1] != []:
            called = " ".join(own.split()[:-1])
            return f"the code of {called}, or a function, class or constant that it leads to, has changed"
        return f"{name}: {other} there, {own} here"

    def missing(self) -> NDArray[np.int64]:
        """Return the numbers of the points that are not done, ascending."""
        if self.complete:
            return np.empty(0, dtype=np.int64)
        if not self.arrays:
            return np.arange(len(self.grid))
        return np.flatnonzero(~np.asarray(self.arrays[DONE][...], dtype=bool).ravel())

    @property
    def place(self) -> Path:
        """Where the results are: the folder until a NetCDF file is complete."""
        return self.path if self.complete else self.folder

    def put(self, number: int, row: Row) -> None:
        """Take what was found at a point."""
        if not self.arrays:
            self._create(row)
        place = tuple(int(k) for k in np.unravel_index(number, self.grid.shape))
        key = tuple(k // width for k, width in zip(place, self.block, strict=True))
        block = self.open.get(key)
        if block is None:
            begins = [k * width for k, width in zip(key, self.block, strict=True)]
            box = tuple(
                slice(begin, min(begin + width, size))
                for begin, width, size in zip(begins, self.block, self.grid.shape, strict=True)
            )
            block = self.open[key] = _Block(
                box, {name: np.array(array[box]) for name, array in self.arrays.items()}
            )
        block.put(place, row)
        if block.complete:
            self._write(self.open.pop(key))
        if time.monotonic() - self.written > SECONDS_BETWEEN_WRITES:
            self.flush()

    def _create(self, row: Row) -> None:
        """Make the arrays, in the types and shapes of a first row."""
        for name, (dims, values, attrs) in row.coords.items():
            self._array(name, np.asarray(values), dims, attrs)[...] = np.asarray(values)
        for name, (dims, values, attrs) in row.variables.items():
            shape = (*self.grid.shape, *np.shape(values))
            chunks = (*self.block, *np.shape(values))
            like = np.asarray(values)
            made = self._array(name, like, (*self.grid.values, *dims), attrs, shape, chunks)
            self.arrays[name] = made
        self.group.attrs[ORDER] = list(map(str, row.variables))
        flags = np.zeros((), dtype=np.int8)
        made = self._array(DONE, flags, tuple(self.grid.values), {}, self.grid.shape, self.block)
        self.arrays[DONE] = made

    def _array(
        self,
        name: Any,
        like: NDArray[Any],
        dims: tuple[Any, ...],
        attrs: Mapping[Any, Any],
        shape: tuple[int, ...] | None = None,
        chunks: tuple[int, ...] | None = None,
    ) -> Any:
        if like.dtype.kind == "O":
            raise ValueError(f"store = {str(self.path)!r}: {name} is no array of numbers or texts")
        shape = like.shape if shape is None else shape
        named = {"_ARRAY_DIMENSIONS": list(dims)}
        return self.group.create_array(
            str(name),
            shape=shape,
            dtype=like.dtype,
            chunks=tuple(max(1, n) for n in (chunks or shape)) or "auto",
            fill_value=math.nan if like.dtype.kind == "f" else None,
            attributes=named | {str(key): _plain(value) for key, value in attrs.items()},
            overwrite=True,
        )

    def flush(self) -> None:
        """Write all blocks that are under way."""
        for block in self.open.values():
            self._write(block)
        self.written = time.monotonic()

    def _write(self, block: _Block) -> None:
        for name, values in block.arrays.items():  # DONE is the last
            self.arrays[name][block.box] = values

    def dataset(self) -> xr.Dataset:
        """Return what is in the store; values are read when they are used."""
        import xarray as xr

        if self.path.suffix == ".zarr":
            return self._streamed()
        if not self.complete:
            self._convert()
        return xr.open_dataset(self.path, engine="h5netcdf")

    def _streamed(self, chunks: dict[Any, Any] | None = None) -> xr.Dataset:
        """Return what is in the folder, in Dask arrays of its blocks for ``chunks={}``."""
        import xarray as xr

        data = xr.open_zarr(self.folder, consolidated=False, chunks=chunks)
        found: xr.Dataset = data[data.attrs.pop(ORDER)]
        return found

    def _convert(self) -> None:
        """Make a NetCDF file of the folder, block by block."""
        with replacing(self.path) as scratch, self._streamed(chunks={}) as data:
            for name in data.variables:
                data[name].encoding.clear()
            data.to_netcdf(scratch, engine="h5netcdf")
        shutil.rmtree(self.folder)
        self.complete = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.complete:
            self.flush()
            self.open.clear()


class _Block:
    """A box of the grid, one chunk of each array."""

    def __init__(self, box: tuple[slice, ...], arrays: dict[Any, NDArray[Any]]) -> None:
        self.box, self.arrays = box, arrays

    def put(self, place: tuple[int, ...], row: Row) -> None:
        here = tuple(k - part.start for k, part in zip(place, self.box, strict=True))
        for name, (_, values, _) in row.variables.items():
            self.arrays[name][here] = values
        self.arrays[DONE][here] = 1

    @property
    def complete(self) -> bool:
        return bool(self.arrays[DONE].all())


def _check_packages(path: Path) -> None:
    needed = {".zarr": ["zarr"], ".nc": ["zarr", "dask", "h5netcdf"]}
    if path.suffix not in needed:
        raise ValueError(f"store = {str(path)!r}: must end with .zarr or .nc")
    if absent := [name for name in needed[path.suffix] if not importlib.util.find_spec(name)]:
        raise ImportError(f"store = {str(path)!r} needs {', '.join(absent)}: hopflow[scale]")


def _block(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of blocks: consecutive points, as many of the last dimensions as fit."""
    left, found = POINTS, []
    for size in reversed(shape):
        found.append(min(size, left))
        left = left // size if found[-1] == size else 1
        left = max(left, 1)
    return tuple(reversed(found))


def _stored(values: list[Any]) -> Any:
    """Return values as a coordinate on disk, where tuples and None are texts."""
    if all(isinstance(value, (int, float, np.number)) for value in values):
        return values
    return list(map(str, values))


def _listed(values: list[Any]) -> str:
    """Return values as text, or many by their hash."""
    plain = [_plain(value) for value in values]
    if len(plain) <= LISTED:
        return repr(plain)
    digest = hashlib.sha256(repr(plain).encode()).hexdigest()[:16]
    return f"{len(plain)} values from {plain[0]!r} to {plain[-1]!r} (hash {digest})"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
