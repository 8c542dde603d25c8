"""A function at every point of a grid: on any executor, in memory or streaming into a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from hopflow.checks import instance
from hopflow.execution.executing import Bar, check_executor, completed
from hopflow.execution.grids import Grid, Row
from hopflow.status import Interrupted

if TYPE_CHECKING:
    import xarray as xr

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

    columns: dict[Any, list[Any]] = {}
    form: dict[Any, tuple[tuple[Any, ...], Mapping[Any, Any]]] = {}
    coords: dict[Any, Any] = {}
    done, interrupted = 0, False
    try:
        for n, row in rows:
            coords = coords or dict(row.coords)
            for name, (dims, values, attrs) in row.variables.items():
                columns.setdefault(name, [None] * len(grid))[n] = values
                form[name] = dims, attrs
            done += 1
    except KeyboardInterrupt:
        if not done:
            raise
        interrupted = True
        columns = {name: _filled(column) for name, column in columns.items()}
    swept = {
        name: (
            (*grid.values, *form[name][0]),
            np.reshape(column, (*grid.shape, *np.shape(column[0]))),
            form[name][1],
        )
        for name, column in columns.items()
    }
    data = xr.Dataset(swept, coords={**coords, **grid.coords()}, attrs=dict(about))
    if interrupted:
        raise Interrupted(data, f"{done} of {len(grid)} points")
    return data


def _filled(column: list[Any]) -> list[Any]:
    """Return the values of a column with NaN, or None for what is no number, where there are none."""
    known = np.asarray(next(each for each in column if each is not None))
    blank = np.full(known.shape, np.nan if known.dtype.kind in "fiub" else None)
    return [blank if each is None else each for each in column]
