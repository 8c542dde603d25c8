"""Results of a grid of points on disk: a Zarr folder that they stream into, or NetCDF made from one.

A store knows what it is of, and which of its points are done. Points are collected in blocks of the
grid, each one chunk of every array: a block is written when it is complete, after some seconds, and at
the end. The array ``_done`` is written after the others are on the disk, so that a process may be killed, and the power fail,
at any time. Every chunk and all metadata have checksums, which are verified when a store is opened.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import math
import shutil
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hopflow.checks import shown
from hopflow.execution.grids import Field, Form, array_of
from hopflow.whole_files import replacing, synchronize

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
DONE, ORDER, COORDS, CHECKSUM = "_done", "_order", "_coords", "_checksum"
"""Array of the points that are done; attributes with the names of the others and of coordinates, and with a checksum."""
DIMENSIONS = "_ARRAY_DIMENSIONS"
"""Attribute with the dimensions of an array, as xarray reads it."""
RAW: Mapping[str, Any] = {"mask_and_scale": False, "decode_times": False, "decode_timedelta": False}
"""Options with which xarray reads numbers as they were written."""
MIN_TEXT_WIDTH = 8
"""Characters of texts on the disk; longer ones double them."""
CHECKSUM_BYTES = 4
"""Of the CRC-32 at the start of a chunk."""
SIGNATURE = b"hopflow store, SHA-256:"
"""What follows the content of a NetCDF file, before its digest; HDF5 reads nothing after its own end."""
WITH_EMPTY_CHUNKS = {"write_empty_chunks": True}
"""Option of Zarr's arrays: a chunk that is not there is then missing, whatever its values would be."""
KINDS = "a store keeps numbers of at most 64 bits, truth values and texts, one of these kinds under a name"


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
        For another ending, for what exists and is of something else, naming what differs, and for a damaged store,
        naming the file.
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
        self.unmarked: dict[tuple[int, ...], NDArray[Any]] = {}
        self.form = Form(grid)
        self.arrays: dict[Any, Any] = {}
        self.written = time.monotonic()
        self.of = {**about, **{name: _listed(values) for name, values in grid.values.items()}}
        self.complete = path.suffix != ".zarr" and path.exists()
        if self.complete:
            self._netcdf(verify=True).close()
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            self._open()

    def _open(self) -> None:
        """Open the Zarr group of the folder, made if there is none, and verify what it holds."""
        import zarr

        scratch, old = self._beside("new"), self._beside("old")
        if old.exists():  # a process was killed while it replaced an array
            for kept in old.iterdir():
                if not (self.folder / kept.name).exists():
                    kept.rename(self.folder / kept.name)
            shutil.rmtree(old)
        if not self.folder.exists():
            group = zarr.open_group(scratch, mode="w", zarr_format=2)
            for name, values in self.grid.values.items():
                array = _stored(values)
                field = Field((), array.shape, array.dtype, self.grid.attrs(name))
                self._array(group, scratch, name, (name,), field, array.shape)[...] = array
            _seal(scratch, {**self.about, OF: json.dumps(self.of), ORDER: None})
            for file in [*scratch.rglob("*"), scratch]:
                synchronize(file)
            scratch.rename(self.folder)
        shutil.rmtree(scratch, ignore_errors=True)
        if not (self.folder / ".zgroup").is_file():
            said = (
                "holds no sweep" if (self.folder / "zarr.json").is_file() else "is no Zarr folder"
            )
            raise ValueError(f"store = {str(self.path)!r}: {self.folder} exists and {said}")
        attrs = self._attributes(self.folder)
        self._compare(attrs, self.folder)
        self.group = zarr.open_group(self.folder, mode="r+", zarr_format=2)
        if attrs[ORDER] is not None:
            self._verify(attrs)

    def _beside(self, ending: str) -> Path:
        return self.folder.with_name(f"{self.folder.name}.{ending}")

    def _attributes(self, folder: Path) -> dict[str, Any]:
        """Return the attributes of a group or an array; ValueError where the checksum of its metadata differs."""
        attrs: Any = {}
        try:
            attrs = json.loads((folder / ".zattrs").read_text(encoding="utf-8"))
            right = attrs.pop(CHECKSUM) == _checksum(folder, attrs)
        except FileNotFoundError as error:
            if folder != self.folder:
                raise self._damaged(Path(error.filename), "is missing") from None
            right = False
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            right = False
        if not right:
            if folder == self.folder and isinstance(attrs, dict) and OF not in attrs:
                said = f"{folder} exists and holds no sweep"
                raise ValueError(f"store = {str(self.path)!r}: {said}")
            said = "has no right checksum: it is damaged, or of an older version"
            raise self._damaged(folder / ".zattrs", said)
        return dict(attrs)

    def _damaged(self, file: Path, said: str, marks: Path | None = None) -> ValueError:
        """Return the error for a file of the store, with what to delete so that its points are computed again."""
        remedy = f"without {marks or self.place} the same call computes its points again"
        return ValueError(f"store = {str(self.path)!r}: {file} {said}; {remedy}")

    def _verify(self, attrs: Mapping[str, Any]) -> None:
        """Open the arrays after their metadata and chunks are verified; ValueError for the first damaged file."""
        described = {}
        for name in (*self.grid.values, *attrs[COORDS], *attrs[ORDER], DONE):
            described[name] = self._attributes(self.folder / name)
            self.arrays[name] = self._array_of(name)
        for index in self._indices():
            marks = self._chunk(DONE, index)
            for name in (DONE, *attrs[ORDER]) if marks.exists() else ():
                if self.arrays[name].size:
                    self._check_chunk(self._chunk(name, index), marks)
        for name in (*self.grid.values, *attrs[COORDS]):
            if self.arrays[name].size:
                self._check_chunk(self._chunk(name, ()))
        self.form.coords, count = {}, len(self.grid.shape)
        for name in (*attrs[COORDS], *attrs[ORDER]):
            array, own = self.arrays[name], described[name]
            dims = tuple(own.pop(DIMENSIONS))
            if name in attrs[COORDS]:
                self.form.coords[name] = dims, np.asarray(array[...]), own
            else:
                self.form.fields[name] = Field(dims[count:], array.shape[count:], array.dtype, own)
        self.arrays = {name: self.arrays[name] for name in (*attrs[ORDER], DONE)}

    def _check_chunk(self, file: Path, marks: Path | None = None) -> None:
        """Raise ValueError for a chunk that is missing or has another checksum."""
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            raise self._damaged(file, "is missing", marks) from None
        checksum = int.from_bytes(content[:CHECKSUM_BYTES], "little")
        if len(content) <= CHECKSUM_BYTES or zlib.crc32(content[CHECKSUM_BYTES:]) != checksum:
            raise self._damaged(file, "is damaged: its content has another checksum", marks)

    def _indices(self) -> Iterator[tuple[int, ...]]:
        """Yield the indices of the blocks."""
        counts = (-(-n // width) for n, width in zip(self.grid.shape, self.block, strict=True))
        return itertools.product(*map(range, counts))

    def _box(self, index: tuple[int, ...]) -> tuple[slice, ...]:
        return tuple(
            slice(k * width, min((k + 1) * width, size))
            for k, width, size in zip(index, self.block, self.grid.shape, strict=True)
        )

    def _chunk(self, name: Any, index: tuple[int, ...]) -> Path:
        """Return the file of a block in an array, or for an empty index the only one of an array."""
        zeros = (0,) * (self.arrays[name].ndim - len(index))
        return self.folder / str(name) / (".".join(map(str, (*index, *zeros))) or "0")

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
        """Take what was found at a point.

        Raises
        ------
        ValueError
            For a value that cannot be stored as it is; it names the value and the point. The points before stay in the store.
        """
        try:
            arrays = self.form.arrays(number, row)
            fields = self.form.fields_with(row, arrays)
            self._check_storable(number, row, fields)
        except ValueError as error:
            said = f"store = {str(self.path)!r}: {error}; the points before are kept"
            raise ValueError(said) from None
        if not self.arrays:
            self._create(row, fields)
        for name, field in fields.items():
            known = self.arrays.get(name)
            if known is None or known.dtype != np.promote_types(known.dtype, _on_disk(field.dtype)):
                self._replace(name, field)
        self.form.take(row, fields)
        place = tuple(int(k) for k in np.unravel_index(number, self.grid.shape))
        index = tuple(k // width for k, width in zip(place, self.block, strict=True))
        block = self.open.get(index)
        if block is None:
            box = self._box(index)
            values = {name: np.array(array[box]) for name, array in self.arrays.items()}
            block = self.open[index] = _Block(box, values)
        block.put(place, arrays)
        if block.complete:
            self._write(index, self.open.pop(index))
        if time.monotonic() - self.written > SECONDS_BETWEEN_WRITES:
            self.flush()

    def _check_storable(self, number: int, row: Row, fields: Mapping[Any, Field]) -> None:
        """Raise ValueError, with name and point, for the first value of a row that the store cannot keep."""
        first = self.form.coords is None
        at = f" at {self.grid.point(number)}" if self.grid.values else ""
        for name, field in fields.items():
            before = self.form.fields.get(name)
            if before == field:
                continue
            if name not in row.variables:
                if not self._keeps(field.dtype):
                    raise ValueError(
                        f"{name}{at} is missing: only numbers may be, which are NaN there"
                    )
                continue
            value = shown(row.variables[name][1])
            if not self._keeps(field.dtype):
                new = before is None and not first
                said = (
                    "had no value at earlier points, where only numbers may be missing"
                    if new
                    else KINDS
                )
                raise ValueError(f"{name}{at} is {value}: {said}")
            if before is None:
                _check_name(name, f"{name}{at} is {value}", field.dims, field.attrs)
        for name, (dims, values, attrs) in row.coords.items() if first else ():
            if not self._keeps(array_of(values).dtype):
                raise ValueError(f"the coordinate {name}{at} is {shown(values)}: {KINDS}")
            _check_name(name, f"the coordinate {name}{at} is {shown(values)}", dims, attrs)

    def _keeps(self, dtype: np.dtype[Any]) -> bool:
        """Return whether the format has a type; NetCDF has no complex numbers."""
        kinds = {"b": 1, "i": 8, "u": 8, "f": 8, "c": 16 if self.path.suffix == ".zarr" else 0}
        half = dtype == np.float16 and self.path.suffix == ".nc"
        return dtype.kind == "U" or (dtype.itemsize <= kinds.get(dtype.kind, 0) and not half)

    def _create(self, row: Row, fields: Mapping[Any, Field]) -> None:
        """Make the arrays, in the types and shapes of a first row."""
        coords = [name for name in row.coords if name not in self.grid.values]
        for name in coords:
            dims, values, attrs = row.coords[name]
            array = array_of(values)
            field = Field((), array.shape, array.dtype, attrs)
            self._array(self.group, self.folder, name, dims, field, array.shape)[...] = array
        for name, field in fields.items():
            self.arrays[name] = self._result(self.group, self.folder, name, field)
        self.arrays[DONE] = self._result(
            self.group, self.folder, DONE, Field((), (), np.dtype(np.int8), {})
        )
        for file in self.folder.rglob("*"):
            synchronize(file)
        self._list(coords, list(fields))

    def _list(self, coords: list[Any], names: list[Any]) -> None:
        """Write the names of the coordinates and of the results, which the store has from then on."""
        attrs = {**self.about, OF: json.dumps(self.of), ORDER: names, COORDS: coords}
        _seal(self.folder, attrs)

    def _result(self, group: Any, folder: Path, name: Any, field: Field) -> Any:
        """Make the array of a result, in the chunks of the blocks."""
        shaped = field._replace(shape=(*self.grid.shape, *field.shape))
        dims = (*self.grid.values, *field.dims)
        return self._array(group, folder, name, dims, shaped, (*self.block, *field.shape))

    def _array(
        self,
        group: Any,
        folder: Path,
        name: str,
        dims: tuple[Any, ...],
        field: Field,
        chunks: tuple[int, ...],
    ) -> Any:
        """Make an array whose chunks are compressed and begin with their CRC-32."""
        import numcodecs

        array = group.create_array(
            name,
            shape=field.shape,
            dtype=_on_disk(field.dtype),
            chunks=tuple(max(1, n) for n in chunks),
            filters=[numcodecs.Blosc()],
            compressors=numcodecs.CRC32(),
            fill_value=math.nan if field.dtype.kind == "f" else None,
            config=WITH_EMPTY_CHUNKS,
            overwrite=True,
        )
        attrs = {key: np.asarray(value).tolist() for key, value in field.attrs.items()}
        _seal(folder / name, {DIMENSIONS: list(dims), **attrs})
        return array

    def _array_of(self, name: Any) -> Any:
        """Return an array of the folder, which also writes chunks that hold nothing but NaN."""
        import zarr

        with zarr.config.set({f"array.{key}": value for key, value in WITH_EMPTY_CHUNKS.items()}):
            return self.group[name]

    def _replace(self, name: Any, field: Field) -> None:
        """Give a result another type, or NaN at all points so far, in one step.

        A process that is killed leaves the old array, perhaps in the folder beside the store, or the new one.
        """
        import zarr

        self.flush()
        scratch, old = self._beside("new"), self._beside("old")
        array = self._result(
            zarr.open_group(scratch, mode="w", zarr_format=2), scratch, name, field
        )
        known = self.arrays.get(name)
        for index in self._indices():
            if self._chunk(DONE, index).exists():
                box = self._box(index)
                array[box] = math.nan if known is None else known[box].astype(array.dtype)
        for file in [*(scratch / name).iterdir(), scratch / name]:
            synchronize(file)
        old.mkdir()
        if (self.folder / name).exists():
            (self.folder / name).rename(old / name)
        (scratch / name).rename(self.folder / name)
        synchronize(self.folder)
        shutil.rmtree(old)
        shutil.rmtree(scratch)
        self.arrays[name] = self._array_of(name)
        for block in self.open.values():
            values = block.arrays.get(name)
            if values is None:
                shape = (*block.arrays[DONE].shape, *field.shape)
                block.arrays[name] = np.full(shape, math.nan, array.dtype)
            else:
                block.arrays[name] = values.astype(array.dtype)
        if known is None:
            self._list(list(self.form.coords or ()), [name for name in self.arrays if name != DONE])

    def flush(self) -> None:
        """Write all blocks that are under way, and mark their points as done when all of them are on the disk."""
        for index, block in self.open.items():
            self._write(index, block)
        files = [
            self._chunk(name, index)
            for index in self.unmarked
            for name in self.arrays
            if name != DONE
        ]
        self._synchronize(files)
        for index, done in self.unmarked.items():
            self.arrays[DONE][self._box(index)] = done
        self._synchronize([self._chunk(DONE, index) for index in self.unmarked])
        self.unmarked.clear()
        self.written = time.monotonic()

    def _synchronize(self, files: list[Path]) -> None:
        """Wait until chunks are on the disk; an array without values has none."""
        for file in (*files, *dict.fromkeys(file.parent for file in files)):
            if file.exists():
                synchronize(file)

    def _write(self, index: tuple[int, ...], block: _Block) -> None:
        """Write a block, except its points that are done."""
        for name, values in block.arrays.items():
            if name != DONE:
                self.arrays[name][block.box] = values
        self.unmarked[index] = block.arrays[DONE]

    def dataset(self) -> xr.Dataset:
        """Return what is in the store; values are read when they are used."""
        if self.path.suffix == ".zarr":
            data = self._streamed()
        else:
            if not self.complete:
                self._convert()
            data = self._netcdf(verify=False)
        texts = {
            name: variable.copy(
                data=variable.values.astype(object).astype(str)
            )  # in the width of the longest
            for name, variable in data.variables.items()
            if variable.dtype.kind in "UO" and name not in self.grid.values
        }
        found = data.assign({name: texts[name] for name in texts if name in data.data_vars})
        coords = {name: texts[name] for name in texts if name in data.coords}
        found = found.assign_coords(coords | self.grid.coords())
        found.set_close(data.close)
        return found

    def _streamed(self, chunks: dict[Any, Any] | None = None) -> xr.Dataset:
        """Return what is in the folder, in Dask arrays of its blocks for ``chunks={}``."""
        import xarray as xr

        data = xr.open_zarr(self.folder, consolidated=False, chunks=chunks, **RAW)
        order, coords = data.attrs.pop(ORDER), data.attrs.pop(COORDS)
        found: xr.Dataset = data.set_coords(coords)[order]
        for attrs in (found.attrs, *(variable.attrs for variable in found.variables.values())):
            attrs.pop(CHECKSUM, None)
            attrs.pop("_FillValue", None)
        return found

    def _netcdf(self, *, verify: bool) -> xr.Dataset:
        """Return what is in the NetCDF file; ValueError for a damaged one, and one of another sweep."""
        import xarray as xr

        if verify and not _is_signed(self.path):
            said = "has no right checksum: it is damaged, or of an older version"
            raise self._damaged(self.path, said)
        data = xr.open_dataset(self.path, engine="h5netcdf", **RAW)
        try:
            self._compare(data.attrs, self.path)
        except ValueError:
            data.close()
            raise
        return data

    def _convert(self) -> None:
        """Make a NetCDF file of the folder, block by block."""
        with replacing(self.path) as scratch:
            with self._streamed(chunks={}) as data:
                for variable in data.variables.values():
                    variable.encoding = {"_FillValue": None} if variable.dtype.kind == "f" else {}
                data.to_netcdf(scratch, engine="h5netcdf")
            with scratch.open("r+b") as file:
                digest = hashlib.file_digest(file, "sha256").digest()
                file.write(SIGNATURE + digest)
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

    def put(self, place: tuple[int, ...], arrays: Mapping[Any, NDArray[Any]]) -> None:
        here = tuple(k - part.start for k, part in zip(place, self.box, strict=True))
        for name, values in self.arrays.items():
            values[here] = 1 if name == DONE else arrays.get(name, math.nan)

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


def _stored(values: list[Any]) -> NDArray[Any]:
    """Return values as a coordinate on disk, where mixtures, tuples and None are texts."""
    numbers = all(isinstance(value, (int, float, np.number)) for value in values)
    array = np.asarray(values) if numbers else np.asarray(list(map(str, values)))
    return np.asarray(list(map(str, values))) if array.dtype.kind not in "biufU" else array


def _on_disk(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of an array on the disk, where texts have room to grow."""
    if dtype.kind != "U":
        return np.dtype(dtype.str)  # NumPy has two types of the same 64 bits, Zarr knows one
    characters = dtype.itemsize // np.dtype("U1").itemsize
    return np.dtype(f"U{max(MIN_TEXT_WIDTH, 1 << (characters - 1).bit_length())}")


def _check_name(name: Any, said: str, dims: tuple[Any, ...], attrs: Mapping[Any, Any]) -> None:
    """Raise ValueError for a name that no file can have, and attributes that are not numbers and texts."""
    if (
        not isinstance(name, str)
        or not name.isprintable()
        or name[:1] in ("", ".")
        or "/" in name
        or name == DONE
    ):
        allowed = f"printable, without /, not {DONE}, and begin with no ."
        raise ValueError(f"{said}: the name of a result in a store must be a text: {allowed}")
    if others := [dim for dim in dims if not isinstance(dim, str)]:
        raise ValueError(f"{said}, with the dimension {shown(others[0])}: must be a text")
    for key, value in attrs.items():
        plain = np.asarray(value)
        if not isinstance(key, str) or plain.dtype.kind not in "biufU" or plain.ndim > 1:
            raise ValueError(
                f"{said}, with the attribute {key} = {shown(value)}: must be a number or a text"
            )


def _is_signed(path: Path) -> bool:
    """Return whether a file ends with the digest of its content."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        remaining = path.stat().st_size - len(SIGNATURE) - digest.digest_size
        while remaining > 0 and (part := file.read(min(remaining, 1 << 20))):
            digest.update(part)
            remaining -= len(part)
        return file.read() == SIGNATURE + digest.digest()


def _seal(folder: Path, attrs: Mapping[str, Any]) -> None:
    """Write the attributes of a group or an array, with a checksum of them and of its other metadata."""
    content = json.dumps({**attrs, CHECKSUM: _checksum(folder, attrs)}, indent=4)
    with replacing(folder / ".zattrs") as scratch:
        scratch.write_text(content, encoding="utf-8")


def _checksum(folder: Path, attrs: Mapping[str, Any]) -> str:
    """Return the checksum of the metadata of a group or an array."""
    group = folder / ".zgroup"
    metadata = (group if group.exists() else folder / ".zarray").read_bytes()
    return hashlib.sha256(metadata + json.dumps(attrs, sort_keys=True).encode()).hexdigest()


def _listed(values: list[Any]) -> str:
    """Return values as text, or many by their hash."""
    plain = [_plain(value) for value in values]
    if len(plain) <= LISTED:
        return repr(plain)
    digest = hashlib.sha256(repr(plain).encode()).hexdigest()[:16]
    return f"{len(plain)} values from {plain[0]!r} to {plain[-1]!r} (hash {digest})"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
