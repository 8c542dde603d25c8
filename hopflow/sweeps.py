"""Sweeps over grids of parameter values, with executors and stores.

Data flow: `sweep` validates the parameters and makes a `Grid` of tasks; `run_tasks` evaluates them in batches on any
executor; rows are assembled in memory or streamed into a `Store` of the same `Schema`.

A class that supports sweeps names a module in ``SWEPT_BY``. That module has

- ``units(thing)``: units of its parameters by name (None: no unit),
- ``variant(thing, **changes)``: a copy with other parameters,
- ``rows(things, settings, options)``: yields the row of each thing,
- ``about(thing)``: a description,
- ``SETTINGS``: settings of a run, with their units,
- ``validate(things, points)``: validates all points and returns options for ``rows``,
- optionally ``remarks(data)``: yields warnings about the results.

A store records the sweep that it belongs to and which points are done. Points are collected in blocks of the grid, one
chunk of every array each. A block is written when it is complete, every `SECONDS_BETWEEN_WRITES`, and at the end.
The array ``_done`` is written after the others are on the disk, so that a store stays consistent after a killed process
or a power failure. Chunks and metadata have checksums, which are verified when a store is opened.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import inspect
import itertools
import json
import math
import os
import re
import shutil
import sys
import threading
import time
import warnings
import zlib
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar, overload

import numpy as np

from hopflow.checks import format_value, instance, instances
from hopflow.progress import progress_bar, thread
from hopflow.public_names import package
from hopflow.results import Interrupted
from hopflow.sources import is_plain, source_of
from hopflow.units import BARE, PacketUnits, bandwidth_delay_products, in_units, quantities_of
from hopflow.whole_files import replacing, synchronize

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

__all__ = [
    "Bar",
    "Field",
    "Grid",
    "Row",
    "Schema",
    "Store",
    "array_of",
    "axis",
    "check_executor",
    "cores",
    "dtype_with_gaps",
    "over_grid",
    "products_of",
    "run_tasks",
    "sweep",
]

R = TypeVar("R")
T = TypeVar("T")

# Grids, and the schema of their results


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


# Tasks on executors


BATCH_SECONDS = 1.0
"""Target duration of a batch in s."""
BATCHES_PER_WORKER = 2
"""Batches in flight per worker."""
DEFAULT_WORKERS = 32
"""Workers assumed for an executor that does not report their number."""
MAX_LOSSES = 3
"""Worker deaths on one batch, or broken pools in a row without a finished batch, after which the run ends."""


class Bar(NamedTuple):
    """A progress bar: description and name of a step."""

    desc: str
    unit: str


def cores() -> int:
    """Return the number of cores available to this process."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def check_executor(executor: object) -> None:
    """Raise TypeError unless ``executor`` is an Executor or None.

    >>> check_executor(2)
    Traceback (most recent call last):
    ...
    TypeError: executor = 2: must be an Executor of concurrent.futures, or None
    """
    if executor is not None:
        instance("executor", executor, Executor, "an Executor of concurrent.futures, or None")


def run_tasks(
    function: Callable[[Sequence[T]], Iterable[R]],
    tasks: Sequence[T],
    executor: Executor | None = None,
    *,
    threads: bool = False,
    max_batch: int | None = None,
    bar: Bar | None = None,
) -> Iterator[tuple[int, R]]:
    """Yield the number and the result of each task as it completes, in any order.

    Parameters
    ----------
    function
        Yields the results of consecutive tasks. The results must not depend on the partition into batches.
    tasks
        Indexed from 0; a task is looked up when it is submitted.
    executor
        Any `concurrent.futures.Executor`. It belongs to the caller and stays open. None: this process.
    threads
        Without an executor: use one thread per core, after a first task that compiles the shared kernels.
    max_batch
        Maximum number of tasks per batch; None: as many as take one second.
    bar
        Progress bar over all tasks; None: no bar.

    Raises
    ------
    BrokenExecutor
        When three pools in a row broke before any batch was done, or three workers died on one batch.
    Exception
        Any exception of the function; other tasks are cancelled, as on Ctrl-C.

    Notes
    -----
    A broken ``ProcessPoolExecutor`` is replaced by a new one with the same settings, any other broken
    executor by this process, with a warning. Dask itself moves tasks to other workers; a task that it
    drops after several lost workers is submitted again.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from hopflow.sweeps import run_tasks
    >>> with ThreadPoolExecutor(2) as pool:
    ...     results = dict(run_tasks(lambda part: [n * n for n in part], range(5), pool))
    >>> [results[n] for n in range(5)]
    [0, 1, 4, 9, 16]
    """
    results = _dispatch(function, tasks, executor, threads, max_batch or len(tasks))
    if bar is None:
        yield from results
        return
    yield from progress_bar(results, total=len(tasks), desc=bar.desc, unit=bar.unit)


def _dispatch(
    function: Callable[[Sequence[T]], Iterable[R]],
    tasks: Sequence[T],
    executor: Executor | None,
    threads: bool,
    max_batch: int,
) -> Iterator[tuple[int, R]]:
    if executor is not None:
        yield from _Batches(function, tasks, executor, max_batch).results()
    elif not threads:
        yield from enumerate(function(tasks))
    elif len(tasks):
        yield from enumerate(function([tasks[0]]))
        stop = threading.Event()
        pool = ThreadPoolExecutor(cores(), initializer=setattr, initargs=(thread, "stop", stop))
        try:
            yield from _Batches(function, tasks, pool, max_batch, first=1).results()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


class _Batches(Generic[T, R]):
    """Batches of tasks, each waiting, in flight on an executor, or done."""

    def __init__(
        self,
        function: Callable[[Sequence[T]], Iterable[R]],
        tasks: Sequence[T],
        executor: Executor,
        max_batch: int,
        first: int = 0,
    ) -> None:
        self.function, self.tasks, self.max_batch = function, tasks, max_batch
        self.executor: Executor | None = executor
        self.replacement: Executor | None = None
        self.workers = _workers(executor)
        self.next_task = first
        self.retries: deque[tuple[range, int]] = deque()
        self.pending: dict[Future[tuple[list[R], float]], tuple[range, int]] = {}
        self.seconds_per_task: float | None = None
        self.broken_pools = 0

    def results(self) -> Iterator[tuple[int, R]]:
        """Yield the numbers and results of all tasks."""
        try:
            while self.pending or self.retries or self.next_task < len(self.tasks):
                if self.executor is None:
                    yield from self._run_locally()
                    continue
                self._submit(self.executor)
                done, _ = wait(self.pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield from self._collect(future)
        finally:
            for future in self.pending:
                future.cancel()
            if self.replacement is not None:
                self.replacement.shutdown(wait=False, cancel_futures=True)

    def _submit(self, executor: Executor) -> None:
        """Submit batches until each worker has a few in flight."""
        while len(self.pending) < BATCHES_PER_WORKER * self.workers and (batch := self._next_batch()):
            numbers, lost = batch
            tasks = [self.tasks[n] for n in numbers]
            try:  # with the count of losses Dask does not identify it with the lost task
                future = executor.submit(_run_timed, self.function, tasks, lost)
            except BrokenExecutor as error:
                self.retries.append(batch)
                if not self.pending:
                    self._replace(error)
                return
            self.pending[future] = batch

    def _next_batch(self) -> tuple[range, int] | None:
        """Return the numbers of the next tasks, and how often they were lost.

        A batch whose worker died is submitted alone: Dask blames every task that the dead worker held.
        """
        suspect = any(lost for _, lost in self.pending.values())
        if suspect or (self.retries and self.retries[0][1] and self.pending):
            return None
        if self.retries:
            return self.retries.popleft()
        remaining = len(self.tasks) - self.next_task
        if not remaining:
            return None
        size = 1
        if self.seconds_per_task is not None:
            fair = -(-remaining // (BATCHES_PER_WORKER * self.workers))
            size = max(1, min(int(BATCH_SECONDS / max(self.seconds_per_task, 1e-6)), fair, self.max_batch))
        numbers = range(self.next_task, self.next_task + min(size, remaining))
        self.next_task = numbers.stop
        return numbers, 0

    def _collect(self, future: Future[tuple[list[R], float]]) -> Iterator[tuple[int, R]]:
        """Yield the results of a batch, or queue it again if its worker was lost."""
        numbers, lost = self.pending.pop(future)
        try:
            results, seconds = future.result()
        except (BrokenExecutor, CancelledError) as error:
            self.retries.append((numbers, lost))
            if not self.pending:  # all others broke too, and are queued again
                self._replace(error)
            return
        except Exception as error:
            if not _worker_died(error):
                raise
            if lost + 1 == MAX_LOSSES:
                raise BrokenExecutor(_loss_message(numbers, lost + 1)) from error
            self.retries.append((numbers, lost + 1))
            return
        self.broken_pools = 0
        self.seconds_per_task = seconds / len(numbers)
        yield from zip(numbers, results, strict=True)

    def _replace(self, error: BaseException) -> None:
        """Replace a broken executor by a new pool or by this process."""
        self.broken_pools += 1
        if self.broken_pools == MAX_LOSSES:
            numbers = min((batch for batch, _ in self.retries), key=lambda batch: batch.start)
            raise BrokenExecutor(_loss_message(numbers, self.broken_pools)) from error
        if self.replacement is not None:
            self.replacement.shutdown(wait=False)
        self.replacement = self.executor = _new_pool(self.executor)
        if self.executor is None:
            remaining = len(self.tasks) - self.next_task + sum(len(batch) for batch, _ in self.retries)
            message = f"the executor broke ({error!r}): its {remaining} tasks run in this process"
            warnings.warn(message, RuntimeWarning, stacklevel=2)

    def _run_locally(self) -> Iterator[tuple[int, R]]:
        while batch := self._next_batch():
            numbers, _ = batch
            tasks = [self.tasks[n] for n in numbers]
            yield from zip(numbers, self.function(tasks), strict=True)


def _run_timed(
    function: Callable[[Sequence[T]], Iterable[R]],
    tasks: Sequence[T],
    lost: int,  # noqa: ARG001
) -> tuple[list[R], float]:
    """Run a batch on a worker; return the results and the wall time in s."""
    start = time.perf_counter()
    results = list(function(tasks))
    return results, time.perf_counter() - start


def _workers(executor: Any) -> int:
    """Return the number of workers of an executor, if it reports it."""
    client = getattr(executor, "_client", None)  # Dask's
    if client is not None and hasattr(client, "nthreads"):
        return max(int(sum(client.nthreads().values())), DEFAULT_WORKERS)  # others may join
    for name in ("num_workers", "_max_workers"):  # of mpi4py, of the standard library
        if isinstance(count := getattr(executor, name, None), int) and count > 0:
            return count
    return DEFAULT_WORKERS


def _new_pool(broken: Executor | None) -> Executor | None:
    """Return a new pool of processes in place of a broken one; None for other executors."""
    from concurrent.futures import ProcessPoolExecutor  # Python in a browser has none

    if type(broken) is not ProcessPoolExecutor:
        return None
    settings = vars(broken)  # they have no public names
    return ProcessPoolExecutor(
        settings["_max_workers"],
        mp_context=settings["_mp_context"],
        initializer=settings["_initializer"],
        initargs=settings["_initargs"],
    )


def _worker_died(error: Exception) -> bool:
    """Whether Dask dropped a task after the death of several workers that had it."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(error, distributed.KilledWorker)


def _loss_message(numbers: range, times: int) -> str:
    label = f"task {numbers[0]}" if len(numbers) == 1 else f"tasks {numbers[0]} to {numbers[-1]}"
    return (
        f"{label}: {times} workers died one after the other before it was done; is there memory enough? "
        'A script that uses processes begins its work under `if __name__ == "__main__":`'
    )


# Stores


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
SIGNATURE = b"hopflow store, SHA-256:"
"""Precedes the digest after the content of a NetCDF file; HDF5 ignores bytes after its own end."""
WITH_EMPTY_CHUNKS = {"write_empty_chunks": True}
"""Option of Zarr arrays: chunks of fill values are written too, so that an absent chunk is a missing one."""
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
    write to one store.
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
        for index in self._indices():
            marks = self._chunk(DONE, index)
            for name in (DONE, *attrs[ORDER]) if marks.exists() else ():
                if self.arrays[name].size:
                    self._check_chunk(self._chunk(name, index), marks)
        for name in (*self.grid.values, *attrs[COORDS]):
            if self.arrays[name].size:
                self._check_chunk(self._chunk(name, ()))
        self.schema.coords, count = {}, len(self.grid.shape)
        for name in (*attrs[COORDS], *attrs[ORDER]):
            array, array_attrs = self.arrays[name], described[name]
            dims = tuple(array_attrs.pop(DIMENSIONS))
            if name in attrs[COORDS]:
                self.schema.coords[name] = dims, np.asarray(array[...]), array_attrs
            else:
                self.schema.fields[name] = Field(dims[count:], array.shape[count:], array.dtype, array_attrs)
        self.arrays = {name: self.arrays[name] for name in (*attrs[ORDER], DONE)}

    def _check_chunk(self, file: Path, marks: Path | None = None) -> None:
        """Raise ValueError for a chunk that is missing or has another checksum."""
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            raise self._damage_error(file, "is missing", marks) from None
        checksum = int.from_bytes(content[:CHECKSUM_BYTES], "little")
        if len(content) <= CHECKSUM_BYTES or zlib.crc32(content[CHECKSUM_BYTES:]) != checksum:
            raise self._damage_error(file, "is damaged: its content has another checksum", marks)

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
        old.mkdir()
        if (self.folder / name).exists():
            (self.folder / name).rename(old / name)
        (scratch / name).rename(self.folder / name)
        synchronize(self.folder)
        shutil.rmtree(old)
        shutil.rmtree(scratch)
        self.arrays[name] = self._open_array(name)
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
    """Return the checksum of the metadata of a group or an array."""
    group = folder / ".zgroup"
    metadata = (group if group.exists() else folder / ".zarray").read_bytes()
    return hashlib.sha256(metadata + json.dumps(attrs, sort_keys=True).encode()).hexdigest()


def _describe_values(values: list[Any]) -> str:
    """Describe values as text, many values by their hash."""
    scalars = [value.item() if isinstance(value, np.generic) else value for value in values]
    if len(scalars) <= MAX_VALUES_NAMED:
        return repr(scalars)
    digest = hashlib.sha256(repr(scalars).encode()).hexdigest()[:16]
    return f"{len(scalars)} values from {scalars[0]!r} to {scalars[-1]!r} (hash {digest})"


# Evaluation of a grid


class _Subset(Sequence[T]):
    """Tasks of the grid points whose numbers are in a range or an array."""

    def __init__(self, grid: Grid[T], numbers: Any) -> None:
        self.grid, self.numbers = grid, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, number: int) -> T: ...
    @overload
    def __getitem__(self, number: slice) -> _Subset[T]: ...
    def __getitem__(self, number: int | slice) -> T | _Subset[T]:
        if isinstance(number, slice):
            return _Subset(self.grid, self.numbers[number])
        return self.grid[int(self.numbers[number])]


SWEEP = Bar("sweep", "point")


def over_grid(
    function: Callable[[Sequence[T]], Iterable[Row]],
    grid: Grid[T],
    *,
    about: Mapping[str, str],
    executor: Executor | None = None,
    store: str | Path | None = None,
    bar: Bar = SWEEP,
) -> xr.Dataset:
    """Evaluate a function at every grid point; return all results as a Dataset.

    Parameters
    ----------
    function
        Yields the rows of consecutive tasks, in their order.
    grid
        Points and their tasks.
    about
        Further dependencies of the results, as text: attributes of the Dataset, by which a store is
        identified too.
    executor, bar
        As for `hopflow.sweeps.run_tasks`.
    store
        A ``.zarr`` folder or a ``.nc`` file into which results stream; points in it are not computed
        again. None: results stay in memory.

    Returns
    -------
    xarray.Dataset
        Dimensions of the grid, then of the rows. Values from a store are read when used.

    Raises
    ------
    Interrupted
        On Ctrl-C after the first complete point. Missing numbers in its ``result`` are NaN, other values None. With a
        store, ``result`` is None.
    """
    check_executor(executor)
    if store is not None:
        instance("store", store, (str, Path), "a path that ends in .zarr or .nc, or None")
        results = Store(Path(store), grid, about)
        numbers = results.remaining()
        done = len(grid) - len(numbers)
        try:
            with results:
                for n, row in run_tasks(function, _Subset(grid, numbers), executor, bar=bar):
                    results.put(int(numbers[n]), row)
                    done += 1
        except KeyboardInterrupt:
            progress = f"{done} of {len(grid)} points are in {results.location}; the same call computes the rest"
            raise Interrupted(None, progress, location="") from None
        return results.dataset()
    rows = _Subset(grid, range(len(grid)))
    return _collect(grid, run_tasks(function, rows, executor, bar=bar), about)


def _collect(grid: Grid[Any], rows: Iterable[tuple[int, Row]], about: Mapping[str, str]) -> xr.Dataset:
    """Assemble rows, in any order, into a Dataset."""
    import xarray as xr

    columns: dict[Hashable, dict[int, NDArray[Any]]] = {}
    schema = Schema(grid)
    done, interrupted = 0, False
    try:
        for n, row in rows:
            arrays = schema.arrays(n, row)
            schema.add(row, schema.fields_with(row, arrays))
            for name, array in arrays.items():
                columns.setdefault(name, {})[n] = array
            done += 1
    except KeyboardInterrupt:
        if not done:
            raise
        interrupted = True
    variables = {}
    for name, column in columns.items():
        field = schema.fields[name]
        dtype = field.dtype if len(column) == len(grid) else dtype_with_gaps(field.dtype)
        values = np.empty((len(grid), *field.shape), dtype)
        if len(column) < len(grid):
            values[...] = None if dtype.kind == "O" else np.nan
        for n, array in column.items():
            values[n] = array.tolist() if array.ndim == 0 and dtype.kind == "O" else array
        dims, values = (*grid.values, *field.dims), values.reshape((*grid.shape, *field.shape))
        has_none = dtype.kind == "O" and any(value is None for value in values.flat)
        # xarray turns None among strings into NaN, except with fastpath
        variables[name] = xr.Variable(dims, values, field.attrs, fastpath=has_none)
    data = xr.Dataset(variables, coords={**(schema.coords or {}), **grid.coords()}, attrs=dict(about))
    if interrupted:
        raise Interrupted(data, f"{done} of {len(grid)} points")
    return data


# Sweeps of models


SCALAR_TYPES = (str, bytes)
"""Iterables that count as one value."""
LIST_ANNOTATION = re.compile(
    r"(?:typing\.|collections\.abc\.)?(?:Iterable|Sequence|Collection|[Ll]ist|[Tt]uple)\[[^|]*\](?: \| None)?"
)
"""Annotation of a parameter whose value is a list."""


def sweep(
    thing: Any,
    *,
    levels: Iterable[str] | None = None,
    method: Any = None,
    executor: Executor | None = None,
    store: str | Path | None = None,
    **parameters: Any,
) -> xr.Dataset:
    """Evaluate a model at every combination of parameter values.

    Work of more than a second shows a progress bar on terminals.

    Parameters
    ----------
    thing
        - a function that returns a `Scenario`, such as ``takano2006`` or your own: it is called at each combination,
          and its scenario simulated; a function that returns links, such as ``dumbbell``, needs ``source=``, the rule
          of a flow from each first node to the last node of the same number;
        - a `Scenario`: its fields and the settings of `simulate` are the parameters;
        - a chain: a `ChainModel`, or the result of `explore` for a function with parameters; or a passage, as `markov.passage` returns it;
        - a rule, such as ``CUBIC()``: its own parameters, ``p``, ``rtt`` and ``bandwidth`` give its rate;
        - a list of rules: they share a bottleneck, with the parameters of `coexist_sweep`;
        - another function, such as ``headroom``, whose result is a number, a mapping of numbers, or has
          ``to_xarray()``.
    levels
        Of scenarios: ``"fluid"``, ``"packets"`` or both, the dimension ``level``; None: the level of ``method``, or
        the choice of `choose_level` at each point.
    method
        Of scenarios: the settings of a level, as for `simulate`. Of chains: as for `stationary`.
    executor
        Any `concurrent.futures.Executor`, such as a ``ProcessPoolExecutor`` or Dask's ``client.get_executor()``; None:
        this process. Points assigned to a worker that died are recomputed. A process chooses methods and kernels by
        their predicted costs, loading included, so that results of chains may differ by rounding, within their bounds.
    store
        A ``.zarr`` folder or a ``.nc`` file (with ``pip install hopflow[scale]``): results stream into it, and the same
        call after an interruption computes the missing points. The result is the same as in memory. The first value
        that cannot be stored is refused.
    **parameters
        The values of each parameter. Several values (a list, a range, an array) are a dimension of the result, in the
        order given. One value is the same everywhere. A parameter that a function annotates as a list, such as
        ``rules`` of `compare`, takes one list as one value, and a list of lists as several. Strings such as ``"40ms"``
        are numbers in the parameter's unit there. If a function's parameter declares no unit and all values are such
        strings, the function is called with the strings. The coordinate then has the numbers: s, packets/s, m, packets,
        bytes or fractions of 1. A buffer may be in multiples of bandwidth times round-trip time, ``"0.5BDP"``; the
        coordinate then has the multiples.
        Scenarios also have ``seed``, ``duration``, ``jitter`` and ``packet_jitter`` of `simulate`, and ``since``, the
        time from which goodput, losses and efficiency are measured (0: the whole run, its start included).

    Returns
    -------
    xarray.Dataset
        Over the swept parameters, in SI units and with ``units`` attributes.
        Scenarios: ``goodput`` (packets/s), ``efficiency``, ``loss_ratio``, ``timeouts`` and ``loss_events`` over
        ``flow``, only where all points have the same flows; always ``total_goodput``, ``total_loss_ratio`` and ``jain``
        of all flows together; ``peak_queue``, ``completed`` and ``limits`` (flags of the known limits of the level that
        apply to a run, which are warned of).
        Chains: the model's measures, ``residual`` and ``error_bound`` (total variation). Passages: ``probability``, ``mean`` (s) and their errors.
        Disciplines, rules and other objects are strings on an axis, such as ``"DFC()"``.

    Raises
    ------
    ValueError
        For an unknown parameter, one without values, or a value that is refused, before anything is run; for a
        store of another sweep, and a damaged one; for a result that is no number or text, or has other dimensions or
        coordinates than those at earlier points, with its name and point.
    NotSolvedError
        When a chain is not solved.

    Examples
    --------
    The threshold of the most throughput at each round-trip time, of two:

    >>> from hopflow import PauseTandem, sweep, takano2006
    >>> data = sweep(PauseTandem(), high_threshold=[15, 18], rtt=[1.0, 2.0])
    >>> data.throughput.idxmax("high_threshold").values.tolist()
    [18.0, 18.0]

    Scenarios at both levels:

    >>> runs = sweep(takano2006, name="1", dfc=[True, False], levels=["fluid", "packets"], duration="20ms")
    >>> dict(runs.goodput.sizes)
    {'dfc': 2, 'level': 2, 'flow': 2}
    """
    if _is_rules(thing):
        if levels is not None or method is not None:
            raise ValueError("levels, method: are for scenarios and chains; rules run at the packet level")
        shares: xr.Dataset = package("dfcmodel").coexist_sweep(thing, executor=executor, store=store, **parameters)
        return shares
    if levels is not None:
        level_names = [levels] if isinstance(levels, str) else list(instances("levels", levels, str))
        parameters = {**parameters, "level": level_names}
    plan = _plan(thing, parameters)
    if method is not None and plan.kind is None:
        raise ValueError(f"method = {format_value(method)}: is for scenarios and chains")
    about = dict(plan.about)
    if method is not None or store is not None:
        about["method"] = repr(method)
    if store is not None:
        about["source"] = source_of(*plan.sources)
    rows = functools.partial(_rows, kind=plan.kind, options={**plan.options, "method": method})
    data = over_grid(rows, plan.grid, about=about, executor=executor, store=store, bar=Bar(plan.label, "point"))
    if plan.kind is not None:
        remarks = getattr(importlib.import_module(plan.kind), "remarks", None)
        for remark in () if remarks is None else remarks(data):
            warnings.warn(remark, stacklevel=2)
    return data


class Point(NamedTuple):
    """Task of a grid point: the call that makes the thing, and the settings of its run."""

    make: Callable[..., Any]
    arguments: Mapping[str, Any]
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class _Plan:
    """Points of a sweep, the module that runs them (None: plain results), and their description."""

    label: str
    grid: Grid[Point]
    kind: str | None
    options: Mapping[str, Any]
    about: Mapping[str, str]
    sources: tuple[Any, ...]


def _is_rules(thing: Any) -> bool:
    is_list = isinstance(thing, (list, tuple)) and len(thing) > 0 and not hasattr(thing, "_fields")
    return is_list and all(_kind_of(rule) == "responsefn.sweeps" for rule in thing)


def _kind_of(thing: object) -> str | None:
    """Return the module that sweeps a thing or a list of things; None without ``SWEPT_BY``."""
    if type(thing) is tuple and thing:
        thing = thing[0]
    module: str | None = getattr(type(thing), "SWEPT_BY", None)
    return module


class _Factory(NamedTuple):
    """Function that makes the thing of a point: its name, the dimensions of its parameters, and a description."""

    make: Callable[..., Any]
    label: str
    dimensions: dict[str, str | None]
    about: dict[str, Any]


def _plan(thing: Any, parameters: Mapping[str, Any]) -> _Plan:
    """Validate parameters and return the points of a thing or of a function that makes it."""
    if inspect.isclass(thing) and hasattr(thing, "SWEPT_BY") and hasattr(thing, "Params"):
        thing = thing()
    kind = _kind_of(thing)
    make, label, dimensions, about = _factory(thing, kind)
    columns, fixed = _split(parameters, _lists_of(make) if kind is None else frozenset())
    if kind is None:
        first = {n: columns[n][0] if n in columns else fixed[n] for n in parameters}
        if missing := _parameters_without_default(thing) - first.keys():
            names, named = ", ".join(sorted(missing)), ", ".join(first) or "none"
            raise ValueError(f"thing = {label}: needs values of {names}, without a default; given are {named}")
        kind = _kind_of(thing(**{name: first[name] for name in first if name in dimensions}))
    settings = {} if kind is None else dict(importlib.import_module(kind).SETTINGS)
    for name in parameters:
        if name not in dimensions and name not in settings:
            allowed = ", ".join([*dimensions, *settings]) or "none"
            other = "; to vary others, write a function of them that returns the scenario or chain"
            raise ValueError(f"{name}: thing = {label} has no such parameter, but {allowed}{other}")
    units = {**settings, **dimensions}
    undeclared = {n: _infer_dimension(n, values) for n, values in columns.items() if units[n] is None}
    units |= undeclared
    amounts = {name for name in parameters if units[name] == "amount"} if make is thing else set()
    of_products = {n: products for n, v in columns.items() if n in amounts and (products := products_of(n, v))}
    axes = {name: of_products.get(name) or _convert(name, values, units[name]) for name, values in columns.items()}
    for name, column in axes.items():
        _refuse_repeated(name, column)
    as_written = {*of_products, *(name for name, inferred in undeclared.items() if inferred is not None)}
    written = {name: dict(zip(axes[name], columns[name], strict=True)) for name in as_written}
    units |= dict.fromkeys(of_products, "BDP")
    relative = {n for n, v in fixed.items() if n in amounts and products_of(n, [v])}
    constant = {n: v if n in relative else _convert(n, [v], units[n])[0] for n, v in fixed.items()}
    grid = Grid(
        axes,
        functools.partial(_point, make, dimensions, constant, written),
        {name: BARE.get(unit, unit) for name in columns if (unit := units[name])},
    )
    options = {} if kind is None else importlib.import_module(kind).validate(_Things(grid), grid)
    about |= {name: repr(value) for name, value in fixed.items()}
    values = itertools.chain(*axes.values(), fixed.values())
    objects = (value for value in values if not is_plain(value))  # code; numbers and strings are compared by value
    return _Plan(label, grid, kind, options, about, (thing if make is thing else make(), *objects))


def _factory(thing: Any, kind: str | None) -> _Factory:
    """Return a thing, or a function that makes it, as a function of its parameters."""
    if kind is not None:
        module: Any = importlib.import_module(kind)
        make = functools.partial(module.variant, thing)
        return _Factory(make, type(thing).__name__, module.units(thing), module.about(thing))
    if not callable(thing):
        expected = "must be a scenario, a chain, a rule, a list of rules, or a function that returns one"
        raise ValueError(f"thing = {format_value(thing)}: {expected}")  # noqa: TRY004
    label = getattr(thing, "__name__", repr(thing))
    return _Factory(thing, label, _parameters_of(thing), {"function": label})


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function; TypeError if Python cannot read it."""
    try:
        return inspect.signature(function)
    except ValueError:
        msg = "has no signature that Python can read; write a function around it, with named parameters"
        raise TypeError(f"thing = {format_value(function)}: {msg}") from None


def _parameters_of(function: Callable[..., Any]) -> dict[str, str | None]:
    """Return the dimension of each parameter of a function; None: no unit."""
    units, parameters = quantities_of(function), _signature(function).parameters.values()
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return {parameter.name: units.get(parameter.name) for parameter in parameters if parameter.kind in kinds}


def _parameters_without_default(function: Callable[..., Any]) -> set[str]:
    """Return the parameters of a function without a default."""
    parameters = _signature(function).parameters.values()
    variable = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return {
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind not in variable
    }


def _lists_of(function: Callable[..., Any]) -> frozenset[str]:
    """Return the parameters of a function that are annotated as lists."""
    parameters = _signature(function).parameters.values()
    return frozenset(parameter.name for parameter in parameters if LIST_ANNOTATION.fullmatch(str(parameter.annotation)))


def _split(parameters: Mapping[str, Any], lists: frozenset[str]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Split parameters into swept columns and single values; a parameter in ``lists`` takes a list as one value."""
    columns, fixed = {}, {}
    for name, argument in parameters.items():
        is_single = isinstance(argument, SCALAR_TYPES) or not isinstance(argument, Iterable)
        if name in lists and isinstance(argument, (list, tuple)) and argument:
            is_single = not all(isinstance(value, (list, tuple)) for value in argument)
        if is_single or getattr(argument, "ndim", 1) == 0:
            fixed[name] = argument
            continue
        columns[name] = list(argument)
        if not columns[name]:
            raise ValueError(f"{name} = {columns[name]!r}: at least one value is expected")
    return columns, fixed


def _refuse_repeated(name: str, values: list[Any]) -> None:
    """Raise ValueError for a value that is given twice; values without a hash are not compared."""
    seen = set[Any]()
    for value in values:
        try:
            if value not in seen:
                seen.add(value)
                continue
        except TypeError:  # it has no hash
            continue
        joint = "" if is_plain(value) else f"; for one point with a list of them write {name}=[[...]]"
        raise ValueError(f"{name} = {format_value(value)} is given twice: each value is a point of the sweep{joint}")


def _infer_dimension(name: str, values: list[Any]) -> str | None:
    """Return the dimension of strings with units, for a parameter without a declared unit; None for other values."""
    if not all(isinstance(value, str) for value in values):
        return None
    for dimension in ("time", "rate", "length", "share", "size", "amount"):
        untyped: Any = dimension
        with contextlib.suppress(ValueError):
            in_units(name, values, untyped)
            return dimension
    return None


def products_of(name: str, values: Sequence[Any]) -> list[float] | None:
    """Return values in multiples of bandwidth times round-trip time, which the function of a sweep converts.

    None for other values.

    Raises
    ------
    ValueError
        For such values and others.
    """
    multiples = [bandwidth_delay_products(name, value) for value in values]
    numbers = [multiple for multiple in multiples if multiple is not None]
    if numbers and len(numbers) < len(values):
        raise ValueError(f"{name} = {format_value(values)}: give all values in BDP, or none of them")
    return numbers or None


def _convert(name: str, values: list[Any], dimension: str | None) -> list[Any]:
    """Convert strings to the unit of their dimension, and whole amounts to integers."""
    if dimension not in BARE:
        return values
    untyped: Any = dimension
    converted: list[Any] = in_units(name, values, untyped)
    return [_integers(value) for value in converted] if dimension == "amount" else converted


def _integers(value: Any) -> Any:
    """Convert whole amounts to integers, in tuples too."""
    if type(value) in (tuple, list):
        return tuple(map(_integers, value))
    if isinstance(value, PacketUnits):
        return value  # another number in packets of another size
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _point(
    make: Callable[..., Any],
    dimensions: Mapping[str, Any],
    fixed: Mapping[str, Any],
    written: Mapping[str, Mapping[float, str]],
    point: Mapping[str, Any],
) -> Point:
    """Return the task of a point; strings of undeclared units are passed on as they were written."""
    arguments = {**fixed, **{n: written[n][v] if n in written else v for n, v in point.items()}}
    thing_arguments = {name: value for name, value in arguments.items() if name in dimensions}
    return Point(make, thing_arguments, {n: v for n, v in arguments.items() if n not in dimensions})


class _Things(Sequence[Any]):
    """Things of grid points, made at each access."""

    def __init__(self, points: Sequence[Point] | Grid[Point]) -> None:
        self.points = points

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, n: Any) -> Any:
        if n >= len(self):
            raise IndexError(n)
        point = self.points[n]
        return point.make(**point.arguments)


def _rows(points: Sequence[Point], kind: str | None, options: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the row of each point."""
    if kind is None:
        for point in points:
            yield _row(point.make(**point.arguments))
        return
    module: Any = importlib.import_module(kind)
    yield from module.rows(_Things(points), [point.settings for point in points], options)


def _row(result: Any) -> Row:
    """Convert a result to a row: a Dataset, a mapping of numbers, or a number."""
    if hasattr(result, "to_xarray"):
        data = result.to_xarray()
        return row_of(data)
    values = result if isinstance(result, Mapping) else {"value": result}
    return Row({name: ((), value, {}) for name, value in values.items()}, {})


def row_of(data: xr.Dataset) -> Row:
    """Convert a Dataset to the row of a point.

    Examples
    --------
    >>> import xarray as xr
    >>> row_of(xr.Dataset({"a": ((), 2.0, {"units": "s"})})).variables["a"]
    ((), np.float64(2.0), {'units': 's'})
    """
    variables, coords = (
        {name: (array.dims, array.to_numpy()[()], dict(array.attrs)) for name, array in arrays.items()}
        for arrays in (data.data_vars, data.coords)
    )
    return Row(variables, coords)
