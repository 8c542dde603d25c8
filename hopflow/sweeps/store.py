"""Results of a grid on disk.

A store records the sweep that it belongs to and which points are done. Points are collected in blocks of the grid, one
chunk of every array each. A block is written when it is complete, every `SECONDS_BETWEEN_WRITES`, and at the end.
The array ``_done`` is written after the others are on the disk, so that a store stays consistent after a killed process
or a power failure. Chunks and metadata have checksums, which are verified when a store is opened. A record of the
checksums of each block shows exchanged chunks. One process writes at a time, `writing_alone`.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib
import importlib.util
import itertools
import json
import math
import os
import platform
import shutil
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hopflow.checks import format_value
from hopflow.sweeps.grid import Field, Grid, Row, Schema, array_of
from hopflow.whole_files import replacing, synchronize

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

__all__ = ["Store", "writing_alone"]


MAX_BLOCK_POINTS = 1024
"""Maximum number of points in a block."""
SECONDS_BETWEEN_WRITES = 5.0
"""Interval in s after which incomplete blocks are written."""
MAX_VALUES_NAMED = 8
"""Maximum number of values named in a message about different stores."""
IDENTITY = "sweep"
"""Attribute that identifies the sweep of a store."""
DONE, ORDER, COORDS, CHECKSUM = "_done", "_order", "_coords", "_checksum"
"""Array of finished points; attributes with the names of results and coordinates, and the checksum."""
DIMENSIONS = "_ARRAY_DIMENSIONS"
"""Attribute with the dimensions of an array, as xarray reads it."""
RAW_READING: Mapping[str, Any] = {
    "mask_and_scale": False,
    "decode_times": False,
    "decode_timedelta": False,
}
"""Options with which xarray reads numbers as they were written."""
MIN_TEXT_WIDTH = 8
"""Minimum string length on disk; it doubles for longer strings."""
CHECKSUM_BYTES = 4
"""Length of the CRC-32 at the start of a chunk."""
CHECKSUMS = ".checksums."
"""Start of the names of files in the folder of `DONE` with the checksums of a block's chunks; its index follows."""
SIGNATURE = b"hopflow store, SHA-256:"
"""Precedes the digest after the content of a NetCDF file; HDF5 ignores bytes after its own end."""
WITH_EMPTY_CHUNKS = {"write_empty_chunks": True}
"""Option of Zarr arrays: chunks of fill values are written too, so that an absent chunk is a missing one."""
MAX_OWNER_BYTES = 200
"""Length of the description of a process in the lock of a store."""
_threads, _written_here = threading.Lock(), set[str]()
"""Lock files that threads of this process hold: record locks do not tell threads apart."""
STORABLE_KINDS = "a store keeps numbers of at most 64 bits, truth values and texts, one of these kinds under a name"


class Store:
    """Results at grid points, on disk; a context manager that writes pending blocks at its end.

    Parameters
    ----------
    path
        A ``.zarr`` folder, or a ``.nc`` file, which is created when all points are done: until then results
        are in the folder ``.nc.partial`` beside it.
    grid
        The points.
    about
        Further dependencies of the results, as text.

    Raises
    ------
    ValueError
        For another suffix; for an existing store of another sweep, with the differences; for a damaged store, with the
        file.
    ImportError
        Without the packages of ``pip install hopflow[scale]``.

    Notes
    -----
    Memory: one byte per point, 8 more per point missing at the start, and the open blocks. Two processes must not
    write to one store: `writing_alone` refuses the second.
    """

    def __init__(self, path: Path, grid: Grid[Any], about: Mapping[str, str]) -> None:
        _check_packages(path)
        self.path, self.grid, self.about = path, grid, about
        self.folder = path if path.suffix == ".zarr" else path.with_name(f"{path.name}.partial")
        self.block = _block(grid.shape)
        self.open: dict[tuple[int, ...], _Block] = {}
        self.unmarked: dict[tuple[int, ...], NDArray[Any]] = {}
        self.schema = Schema(grid)
        self.arrays: dict[Any, Any] = {}
        self.written = time.monotonic()
        self.identity = {
            **about,
            **{name: _describe_values(values) for name, values in grid.values.items()},
        }
        self.complete = path.suffix != ".zarr" and path.exists()
        if self.complete:
            self._netcdf(verify=True).close()
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            self._open()

    def _open(self) -> None:
        """Open the Zarr group of the folder, or create it, and verify its content."""
        import zarr

        scratch, old = self._beside("new"), self._beside("old")
        if old.exists():  # a process was killed while it replaced an array
            for replaced in old.iterdir():
                if not (self.folder / replaced.name).exists():
                    replaced.rename(self.folder / replaced.name)
            shutil.rmtree(old)
        if not self.folder.exists():
            group = zarr.open_group(scratch, mode="w", zarr_format=2)
            for name, values in self.grid.values.items():
                array = _encode_coordinate(values)
                field = Field((), array.shape, array.dtype, self.grid.attrs(name))
                self._array(group, scratch, name, (name,), field, array.shape)[...] = array
            _seal(scratch, {**self.about, IDENTITY: json.dumps(self.identity), ORDER: None})
            for file in [*scratch.rglob("*"), scratch]:
                synchronize(file)
            scratch.rename(self.folder)
        shutil.rmtree(scratch, ignore_errors=True)
        if not (self.folder / ".zgroup").is_file():
            fault = "holds no sweep" if (self.folder / "zarr.json").is_file() else "is no Zarr folder"
            raise ValueError(f"store = {str(self.path)!r}: {self.folder} exists and {fault}")
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
            is_valid = attrs.pop(CHECKSUM) == _checksum(folder, attrs)
        except FileNotFoundError as error:
            if folder != self.folder:
                raise self._damage_error(Path(error.filename), "is missing") from None
            is_valid = False
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            is_valid = False
        if not is_valid:
            if folder == self.folder and isinstance(attrs, dict) and IDENTITY not in attrs:
                fault = f"{folder} exists and holds no sweep"
                raise ValueError(f"store = {str(self.path)!r}: {fault}")
            fault = "has no right checksum: it is damaged, or of an older version"
            raise self._damage_error(folder / ".zattrs", fault)
        return dict(attrs)

    def _damage_error(self, file: Path, fault: str, marks: Path | None = None) -> ValueError:
        """Return the error for a damaged file, with the file to delete so that its points are computed again."""
        remedy = f"without {marks or self.location} the same call computes its points again"
        return ValueError(f"store = {str(self.path)!r}: {file} {fault}; {remedy}")

    def _verify(self, attrs: Mapping[str, Any]) -> None:
        """Verify metadata and chunks, then open the arrays; ValueError for the first damaged file."""
        described = {}
        for name in (*self.grid.values, *attrs[COORDS], *attrs[ORDER], DONE):
            described[name] = self._attributes(self.folder / name)
            self.arrays[name] = self._open_array(name)
        self._verify_chunks(attrs)
        self.schema.coords, count = {}, len(self.grid.shape)
        for name in (*attrs[COORDS], *attrs[ORDER]):
            array, array_attrs = self.arrays[name], described[name]
            dims = tuple(array_attrs.pop(DIMENSIONS))
            if name in attrs[COORDS]:
                self.schema.coords[name] = dims, np.asarray(array[...]), array_attrs
            else:
                self.schema.fields[name] = Field(dims[count:], array.shape[count:], array.dtype, array_attrs)
        self.arrays = {name: self.arrays[name] for name in (*attrs[ORDER], DONE)}

    def _verify_chunks(self, attrs: Mapping[str, Any]) -> None:
        """Raise ValueError for a chunk that is damaged, missing, or not the one that was written there."""
        for index in ((), *self._indices()):
            marks = self._chunk(DONE, index) if index else None
            if marks is not None and not marks.exists():
                continue
            recorded = self._recorded_checksums(index, marks)
            for name in (DONE, *attrs[ORDER]) if index else (*self.grid.values, *attrs[COORDS]):
                if not self.arrays[name].size:
                    continue
                file = self._chunk(name, index)
                checksum = self._check_chunk(file, marks)
                if recorded is not None and name != DONE and recorded.get(name) != checksum:
                    raise self._damage_error(file, "is not the file that was written there", marks)

    def _record_of_checksums(self, index: tuple[int, ...]) -> Path:
        """Return the file with the checksums of the chunks of a block; for an empty index of the coordinates."""
        return self.folder / DONE / f"{CHECKSUMS}{'.'.join(map(str, index)) or 'coordinates'}"

    def _recorded_checksums(self, index: tuple[int, ...], marks: Path | None) -> dict[str, int] | None:
        """Return the recorded checksums of a block by array; None without a record; ValueError for a damaged one.

        A process that was killed while it wrote a block leaves no record of it.
        """
        file = self._record_of_checksums(index)
        try:
            recorded = json.loads(file.read_text(encoding="utf-8"))
            if recorded.pop(CHECKSUM) == _digest_of_checksums(recorded):
                return dict(recorded)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            pass
        raise self._damage_error(file, "is damaged: its content has another checksum", marks)

    def _remove_record(self, index: tuple[int, ...]) -> None:
        """Remove the record of a block's checksums before its chunks change."""
        file = self._record_of_checksums(index)
        if file.exists():
            file.unlink()
            synchronize(file.parent)

    def _record_checksums(self, index: tuple[int, ...], names: Iterable[Any]) -> None:
        """Record the checksums with which the chunks of a block begin."""
        recorded = {}
        for name in names:
            if self.arrays[name].size:
                with self._chunk(name, index).open("rb") as file:
                    recorded[name] = int.from_bytes(file.read(CHECKSUM_BYTES), "little")
        with replacing(self._record_of_checksums(index)) as scratch:
            content = json.dumps({**recorded, CHECKSUM: _digest_of_checksums(recorded)})
            scratch.write_text(content, encoding="utf-8")

    def _check_chunk(self, file: Path, marks: Path | None = None) -> int:
        """Return the checksum of a chunk; ValueError for one that is missing or has another checksum."""
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            raise self._damage_error(file, "is missing", marks) from None
        checksum = int.from_bytes(content[:CHECKSUM_BYTES], "little")
        if len(content) <= CHECKSUM_BYTES or zlib.crc32(content[CHECKSUM_BYTES:]) != checksum:
            raise self._damage_error(file, "is damaged: its content has another checksum", marks)
        return checksum

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
        """Return the file of a block of an array; for an empty index the single chunk of an unblocked array."""
        zeros = (0,) * (self.arrays[name].ndim - len(index))
        return self.folder / str(name) / (".".join(map(str, (*index, *zeros))) or "0")

    def _compare(self, attrs: Mapping[Any, Any], location: Path) -> None:
        """Raise ValueError unless the attributes belong to the same sweep."""
        if IDENTITY not in attrs:
            raise ValueError(f"store = {str(self.path)!r}: {location} exists and holds no sweep")
        stored = json.loads(str(attrs[IDENTITY]))
        if differ := [name for name in {**stored, **self.identity} if stored.get(name) != self.identity.get(name)]:
            differences = "; ".join(self._difference(name, stored) for name in differ)
            advice = (
                f"; sweep further values into a store of their own, and join both: xarray.concat([...], {differ[0]!r})"
            )
            further = advice if len(differ) == 1 and differ[0] in self.grid.values else ""
            raise ValueError(f"store = {str(self.path)!r}: {location} is of another sweep: {differences}{further}")
        if list(stored) != list(self.identity):
            raise ValueError(
                f"store = {str(self.path)!r}: {location} has its dimensions in another order, "
                f"give the parameters in it: {', '.join(name for name in stored if name in self.grid.values)}"
            )

    def _difference(self, name: str, stored: Mapping[str, str]) -> str:
        """Describe how a parameter, or the code, differs between the store and this sweep."""
        requested, stored_value = (values.get(name, "not swept") for values in (self.identity, stored))
        if name == "source" and requested.split()[:-1] == stored_value.split()[:-1] != []:
            label = " ".join(requested.split()[:-1])
            return f"the code of {label}, or a function, class or constant that it leads to, has changed"
        return f"{name}: {stored_value} there, {requested} here"

    def remaining(self) -> NDArray[np.int64]:
        """Return the numbers of the points that are not done, ascending."""
        if self.complete:
            return np.empty(0, dtype=np.int64)
        if not self.arrays:
            return np.arange(len(self.grid))
        return np.flatnonzero(~np.asarray(self.arrays[DONE][...], dtype=bool).ravel())

    @property
    def location(self) -> Path:
        """Path of the results: the folder until a NetCDF file is complete."""
        return self.path if self.complete else self.folder

    def put(self, number: int, row: Row) -> None:
        """Add the row of a point.

        Raises
        ------
        ValueError
            Naming the value and the point, for a value that cannot be stored unchanged. Earlier points stay in the
            store.
        """
        try:
            arrays = self.schema.arrays(number, row)
            fields = self.schema.fields_with(row, arrays)
            self._check_storable(number, row, fields)
        except ValueError as error:
            message = f"store = {str(self.path)!r}: {error}; the points before are kept"
            raise ValueError(message) from None
        if not self.arrays:
            self._create(row, fields)
        for name, field in fields.items():
            stored = self.arrays.get(name)
            if stored is None or stored.dtype != np.promote_types(stored.dtype, _on_disk(field.dtype)):
                self._replace(name, field)
        self.schema.add(row, fields)
        position = tuple(int(k) for k in np.unravel_index(number, self.grid.shape))
        index = tuple(k // width for k, width in zip(position, self.block, strict=True))
        block = self.open.get(index)
        if block is None:
            box = self._box(index)
            values = {name: np.array(array[box]) for name, array in self.arrays.items()}
            block = self.open[index] = _Block(box, values)
        block.put(position, arrays)
        if block.complete:
            self._write(index, self.open.pop(index))
        if time.monotonic() - self.written > SECONDS_BETWEEN_WRITES:
            self.flush()

    def _check_storable(self, number: int, row: Row, fields: Mapping[Any, Field]) -> None:
        """Raise ValueError, with name and point, for the first value of a row that cannot be stored."""
        first = self.schema.coords is None
        at = f" at {self.grid.point(number)}" if self.grid.values else ""
        for name, field in fields.items():
            before = self.schema.fields.get(name)
            if before == field:
                continue
            if name not in row.variables:
                if not self._can_store(field.dtype):
                    raise ValueError(f"{name}{at} is missing: only numbers may be, which are NaN there")
                continue
            value = format_value(row.variables[name][1])
            if not self._can_store(field.dtype):
                new = before is None and not first
                fault = "had no value at earlier points, where only numbers may be missing" if new else STORABLE_KINDS
                raise ValueError(f"{name}{at} is {value}: {fault}")
            if before is None:
                _check_name(name, f"{name}{at} is {value}", field.dims, field.attrs)
        for name, (dims, values, attrs) in row.coords.items() if first else ():
            if not self._can_store(array_of(values).dtype):
                raise ValueError(f"the coordinate {name}{at} is {format_value(values)}: {STORABLE_KINDS}")
            _check_name(name, f"the coordinate {name}{at} is {format_value(values)}", dims, attrs)

    def _can_store(self, dtype: np.dtype[Any]) -> bool:
        """Return whether the format supports a dtype; NetCDF has no complex numbers."""
        kinds = {"b": 1, "i": 8, "u": 8, "f": 8, "c": 16 if self.path.suffix == ".zarr" else 0}
        half = dtype == np.float16 and self.path.suffix == ".nc"
        return dtype.kind == "U" or (dtype.itemsize <= kinds.get(dtype.kind, 0) and not half)

    def _create(self, row: Row, fields: Mapping[Any, Field]) -> None:
        """Create the arrays with the dtypes and shapes of the first row."""
        coords = [name for name in row.coords if name not in self.grid.values]
        for name in coords:
            dims, values, attrs = row.coords[name]
            array = array_of(values)
            field = Field((), array.shape, array.dtype, attrs)
            self._array(self.group, self.folder, name, dims, field, array.shape)[...] = array
        for name, field in fields.items():
            self.arrays[name] = self._result(self.group, self.folder, name, field)
        self.arrays[DONE] = self._result(self.group, self.folder, DONE, Field((), (), np.dtype(np.int8), {}))
        for name in (*self.grid.values, *coords):
            self.arrays[name] = self._open_array(name)
        self._record_checksums((), (*self.grid.values, *coords))
        self.arrays = {name: self.arrays[name] for name in (*fields, DONE)}
        for file in self.folder.rglob("*"):
            synchronize(file)
        self._list(coords, list(fields))

    def _list(self, coords: list[Any], names: list[Any]) -> None:
        """Record the names of coordinates and results in the attributes of the store."""
        attrs = {**self.about, IDENTITY: json.dumps(self.identity), ORDER: names, COORDS: coords}
        _seal(self.folder, attrs)

    def _result(self, group: Any, folder: Path, name: Any, field: Field) -> Any:
        """Create the array of a result, one chunk per block."""
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
        """Create an array whose chunks are compressed and begin with their CRC-32."""
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

    def _open_array(self, name: Any) -> Any:
        """Open an array of the folder so that it also writes chunks of nothing but NaN."""
        import zarr

        with zarr.config.set({f"array.{key}": value for key, value in WITH_EMPTY_CHUNKS.items()}):
            return self.group[name]

    def _replace(self, name: Any, field: Field) -> None:
        """Replace the array of a result by one of another dtype, or by NaN at all points so far, atomically.

        A killed process leaves the old array, perhaps in the folder beside the store, or the new array.
        """
        import zarr

        self.flush()
        scratch, old = self._beside("new"), self._beside("old")
        array = self._result(zarr.open_group(scratch, mode="w", zarr_format=2), scratch, name, field)
        previous = self.arrays.get(name)
        for index in self._indices():
            if self._chunk(DONE, index).exists():
                box = self._box(index)
                array[box] = math.nan if previous is None else previous[box].astype(array.dtype)
        for file in [*(scratch / name).iterdir(), scratch / name]:
            synchronize(file)
        done = [index for index in self._indices() if self._chunk(DONE, index).exists()]
        for index in done:
            self._remove_record(index)
        old.mkdir()
        if (self.folder / name).exists():
            (self.folder / name).rename(old / name)
        (scratch / name).rename(self.folder / name)
        synchronize(self.folder)
        shutil.rmtree(old)
        shutil.rmtree(scratch)
        self.arrays[name] = self._open_array(name)
        for index in done:
            self._record_checksums(index, (other for other in self.arrays if other != DONE))
        for block in self.open.values():
            values = block.arrays.get(name)
            if values is None:
                shape = (*block.arrays[DONE].shape, *field.shape)
                block.arrays[name] = np.full(shape, math.nan, array.dtype)
            else:
                block.arrays[name] = values.astype(array.dtype)
        if previous is None:
            self._list(list(self.schema.coords or ()), [name for name in self.arrays if name != DONE])

    def flush(self) -> None:
        """Write all open blocks, and mark their points as done once all chunks are on the disk."""
        for index, block in self.open.items():
            self._write(index, block)
        files = [self._chunk(name, index) for index in self.unmarked for name in self.arrays if name != DONE]
        self._synchronize(files)
        for index, done in self.unmarked.items():
            self._record_checksums(index, (name for name in self.arrays if name != DONE))
            self.arrays[DONE][self._box(index)] = done
        self._synchronize([self._chunk(DONE, index) for index in self.unmarked])
        self.unmarked.clear()
        self.written = time.monotonic()

    def _synchronize(self, files: list[Path]) -> None:
        """Wait until chunks are on the disk; an empty array has no chunks."""
        for file in (*files, *dict.fromkeys(file.parent for file in files)):
            if file.exists():
                synchronize(file)

    def _write(self, index: tuple[int, ...], block: _Block) -> None:
        """Write a block, except the array of finished points, which `flush` writes last."""
        self._remove_record(index)
        for name, values in block.arrays.items():
            if name != DONE:
                self.arrays[name][block.box] = values
        self.unmarked[index] = block.arrays[DONE]

    def dataset(self) -> xr.Dataset:
        """Return the content of the store; values are read when used."""
        if self.path.suffix == ".zarr":
            data = self._read_folder()
        else:
            if not self.complete:
                self._convert()
            data = self._netcdf(verify=False)
        strings = {
            name: variable.copy(data=variable.values.astype(object).astype(str))  # in the width of the longest
            for name, variable in data.variables.items()
            if variable.dtype.kind in "UO" and name not in self.grid.values
        }
        dataset = data.assign({name: strings[name] for name in strings if name in data.data_vars})
        coords = {name: strings[name] for name in strings if name in data.coords}
        dataset = dataset.assign_coords(coords | self.grid.coords())
        dataset.set_close(data.close)
        return dataset

    def _read_folder(self, chunks: dict[Any, Any] | None = None) -> xr.Dataset:
        """Return the content of the folder, as Dask arrays of its blocks for ``chunks={}``."""
        import xarray as xr

        data = xr.open_zarr(self.folder, consolidated=False, chunks=chunks, **RAW_READING)
        order, coords = data.attrs.pop(ORDER), data.attrs.pop(COORDS)
        dataset: xr.Dataset = data.set_coords(coords)[order]
        for attrs in (dataset.attrs, *(variable.attrs for variable in dataset.variables.values())):
            attrs.pop(CHECKSUM, None)
            attrs.pop("_FillValue", None)
        return dataset

    def _netcdf(self, *, verify: bool) -> xr.Dataset:
        """Return the content of the NetCDF file; ValueError for a damaged file or one of another sweep."""
        import xarray as xr

        if verify and not _is_signed(self.path):
            fault = "has no right checksum: it is damaged, or of an older version"
            raise self._damage_error(self.path, fault)
        data = xr.open_dataset(self.path, engine="h5netcdf", **RAW_READING)
        try:
            self._compare(data.attrs, self.path)
        except ValueError:
            data.close()
            raise
        return data

    def _convert(self) -> None:
        """Convert the folder to a NetCDF file, block by block."""
        with replacing(self.path) as scratch:
            with self._read_folder(chunks={}) as data:
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


@contextlib.contextmanager
def writing_alone(path: Path) -> Iterator[None]:
    """Hold the lock of a store inside the context; it ends with the process that holds it.

    The lock is a POSIX record lock, which children do not inherit, on the file ``.lock`` beside the store. On systems
    without such locks nothing is locked.

    Raises
    ------
    ValueError
        If another process, or another thread of this one, writes to the store; naming the process.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    file = path.with_name(f"{path.name}.lock")
    key = os.path.realpath(file)
    with _threads:
        if key in _written_here:
            raise ValueError(_lock_message(path, f"process {os.getpid()}, this one,"))
        handle = _locked(path, file, fcntl)
        _written_here.add(key)
    try:
        yield
    finally:
        with _threads:
            _written_here.discard(key)
            if handle is not None:
                file.unlink(missing_ok=True)  # before the lock ends: a process that waits for it looks again
                os.close(handle)


def _locked(path: Path, file: Path, fcntl: Any) -> int | None:
    """Return the open, locked file; None in a folder that cannot be written, where a store can only be read."""
    while True:
        try:
            handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            if path.exists() and error.errno in (errno.EACCES, errno.EROFS):
                return None
            raise
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.read(handle, MAX_OWNER_BYTES).decode("utf-8", "replace") or "another process"
            os.close(handle)
            raise ValueError(_lock_message(path, owner)) from None
        if file.exists() and file.stat().st_ino == os.fstat(handle).st_ino:
            os.ftruncate(handle, 0)
            os.write(handle, f"process {os.getpid()} on {platform.node()}".encode())
            return handle
        os.close(handle)  # removed by its last owner between both calls


def _lock_message(path: Path, owner: str) -> str:
    remedy = "one process at a time can: wait for its end, or name another store"
    return f"store = {str(path)!r}: {owner} writes to it; {remedy}"


class _Block:
    """A box of the grid: one chunk of each array."""

    def __init__(self, box: tuple[slice, ...], arrays: dict[Any, NDArray[Any]]) -> None:
        self.box, self.arrays = box, arrays

    def put(self, position: tuple[int, ...], arrays: Mapping[Any, NDArray[Any]]) -> None:
        offsets = tuple(k - part.start for k, part in zip(position, self.box, strict=True))
        for name, values in self.arrays.items():
            values[offsets] = 1 if name == DONE else arrays.get(name, math.nan)

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
    """Return the shape of blocks: at most `MAX_BLOCK_POINTS` consecutive points, last dimensions first."""
    remaining, widths = MAX_BLOCK_POINTS, []
    for size in reversed(shape):
        widths.append(min(size, remaining))
        remaining = remaining // size if widths[-1] == size else 1
        remaining = max(remaining, 1)
    return tuple(reversed(widths))


def _encode_coordinate(values: list[Any]) -> NDArray[Any]:
    """Convert values to a coordinate on disk: mixtures, tuples and None as strings."""
    numbers = all(isinstance(value, (int, float, np.number)) for value in values)
    array = np.asarray(values) if numbers else np.asarray(list(map(str, values)))
    return np.asarray(list(map(str, values))) if array.dtype.kind not in "biufU" else array


def _on_disk(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype on disk, where strings have room to grow."""
    if dtype.kind != "U":
        return np.dtype(dtype.str)  # NumPy has two types of the same 64 bits, Zarr knows one
    characters = dtype.itemsize // np.dtype("U1").itemsize
    return np.dtype(f"U{max(MIN_TEXT_WIDTH, 1 << (characters - 1).bit_length())}")


def _check_name(name: Any, subject: str, dims: tuple[Any, ...], attrs: Mapping[Any, Any]) -> None:
    """Raise ValueError for a name that is no file name, and for attributes other than numbers and strings."""
    if not isinstance(name, str) or not name.isprintable() or name[:1] in ("", ".") or "/" in name or name == DONE:
        allowed = f"printable, without /, not {DONE}, and begin with no ."
        raise ValueError(f"{subject}: the name of a result in a store must be a text: {allowed}")
    if others := [dim for dim in dims if not isinstance(dim, str)]:
        raise ValueError(f"{subject}, with the dimension {format_value(others[0])}: must be a text")
    for key, value in attrs.items():
        array = np.asarray(value)
        if not isinstance(key, str) or array.dtype.kind not in "biufU" or array.ndim > 1:
            raise ValueError(f"{subject}, with the attribute {key} = {format_value(value)}: must be a number or a text")


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
    """Return the checksum of the metadata of a group, or of those and the name of an array."""
    group = folder / ".zgroup"
    metadata = group.read_bytes() if group.exists() else folder.name.encode() + (folder / ".zarray").read_bytes()
    return hashlib.sha256(metadata + json.dumps(attrs, sort_keys=True).encode()).hexdigest()


def _digest_of_checksums(recorded: Mapping[str, int]) -> str:
    """Return the checksum of a record of checksums."""
    return hashlib.sha256(json.dumps(recorded, sort_keys=True).encode()).hexdigest()


def _describe_values(values: list[Any]) -> str:
    """Describe values as text, many values by their hash."""
    scalars = [value.item() if isinstance(value, np.generic) else value for value in values]
    if len(scalars) <= MAX_VALUES_NAMED:
        return repr(scalars)
    digest = hashlib.sha256(repr(scalars).encode()).hexdigest()[:16]
    return f"{len(scalars)} values from {scalars[0]!r} to {scalars[-1]!r} (hash {digest})"
