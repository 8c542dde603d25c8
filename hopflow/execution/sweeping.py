"""A function at every point of a grid: on any executor, in memory or streaming into a store."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from hopflow.checks import instance
from hopflow.execution.executing import Bar, check_executor, completed
from hopflow.execution.grids import Form, Grid, Row, missing
from hopflow.status import Interrupted

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

__all__ = ["over_grid"]

T = TypeVar("T")


class _Some(Sequence[T]):
    """The tasks of some points of a grid, given by their numbers in a range or an array."""

    def __init__(self, grid: Grid[T], numbers: Any) -> None:
        self.grid, self.numbers = grid, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, number: int) -> T: ...
    @overload
    def __getitem__(self, number: slice) -> _Some[T]: ...
    def __getitem__(self, number: int | slice) -> T | _Some[T]:
        if isinstance(number, slice):
            return _Some(self.grid, self.numbers[number])
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
    """Return what a function finds at every point of a grid.

    Parameters
    ----------
    function
        Yields the rows of some tasks, in their order.
    grid
        Its points and their tasks.
    about
        What the results depend on besides the grid, in words: attributes of the Dataset, and what the
        store of a sweep is known by.
    executor, bar
        As for `hopflow.execution.executing.completed`.
    store
        A ``.zarr`` folder or a ``.nc`` file into which results stream; points that it has are not
        computed again. None: results stay in memory.

    Returns
    -------
    xarray.Dataset
        The grid's dimensions before those of the rows. From a store its values are read when used.

    Raises
    ------
    Interrupted
        On Ctrl-C once a point is complete: its ``result`` has NaN where none is, None for what is no number. With a store the
        points are there, and ``result`` is None.
    """
    check_executor(executor)
    if store is not None:
        from hopflow.execution.stores import Store

        instance("store", store, (str, Path), "a path that ends in .zarr or .nc, or None")
        kept = Store(Path(store), grid, about)
        numbers = kept.missing()
        done = len(grid) - len(numbers)
        try:
            with kept:
                for n, row in completed(function, _Some(grid, numbers), executor, bar=bar):
                    kept.put(int(numbers[n]), row)
                    done += 1
        except KeyboardInterrupt:
            said = (
                f"{done} of {len(grid)} points are in {kept.place}; the same call computes the rest"
            )
            raise Interrupted(None, said, kept="") from None
        return kept.dataset()
    rows = _Some(grid, range(len(grid)))
    return _dataset(grid, completed(function, rows, executor, bar=bar), about)


def _dataset(
    grid: Grid[Any], rows: Iterable[tuple[int, Row]], about: Mapping[str, str]
) -> xr.Dataset:
    """Return rows that come in any order as a Dataset."""
    import xarray as xr

    columns: dict[Hashable, dict[int, NDArray[Any]]] = {}
    form = Form(grid)
    done, interrupted = 0, False
    try:
        for n, row in rows:
            arrays = form.arrays(n, row)
            form.take(row, form.fields_with(row, arrays))
            for name, array in arrays.items():
                columns.setdefault(name, {})[n] = array
            done += 1
    except KeyboardInterrupt:
        if not done:
            raise
        interrupted = True
    swept = {}
    for name, column in columns.items():
        field = form.fields[name]
        dtype = field.dtype if len(column) == len(grid) else missing(field.dtype)
        values = np.empty((len(grid), *field.shape), dtype)
        if len(column) < len(grid):
            values[...] = None if dtype.kind == "O" else np.nan
        for n, array in column.items():
            values[n] = array.tolist() if array.ndim == 0 and dtype.kind == "O" else array
        dims, values = (*grid.values, *field.dims), values.reshape((*grid.shape, *field.shape))
        absent = dtype.kind == "O" and any(value is None for value in values.flat)
        # xarray makes NaN of None among texts, except in a variable that is already made
        swept[name] = xr.Variable(dims, values, field.attrs, fastpath=absent)
    data = xr.Dataset(swept, coords={**(form.coords or {}), **grid.coords()}, attrs=dict(about))
    if interrupted:
        raise Interrupted(data, f"{done} of {len(grid)} points")
    return data
