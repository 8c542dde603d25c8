"""Evaluation of a function at every grid point: on any executor, in memory or streaming into a store."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from hopflow.checks import instance
from hopflow.execution.executing import Bar, check_executor, run_tasks
from hopflow.execution.grids import Form, Grid, Row, dtype_with_gaps
from hopflow.status import Interrupted

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

__all__ = ["over_grid"]

T = TypeVar("T")


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
        As for `hopflow.execution.executing.run_tasks`.
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
        On Ctrl-C after the first complete point: missing numbers in its ``result`` are NaN, other values None. With a store,
        ``result`` is None.
    """
    check_executor(executor)
    if store is not None:
        from hopflow.execution.stores import Store

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


def _collect(
    grid: Grid[Any], rows: Iterable[tuple[int, Row]], about: Mapping[str, str]
) -> xr.Dataset:
    """Assemble rows, in any order, into a Dataset."""
    import xarray as xr

    columns: dict[Hashable, dict[int, NDArray[Any]]] = {}
    form = Form(grid)
    done, interrupted = 0, False
    try:
        for n, row in rows:
            arrays = form.arrays(n, row)
            form.add(row, form.fields_with(row, arrays))
            for name, array in arrays.items():
                columns.setdefault(name, {})[n] = array
            done += 1
    except KeyboardInterrupt:
        if not done:
            raise
        interrupted = True
    variables = {}
    for name, column in columns.items():
        field = form.fields[name]
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
    data = xr.Dataset(variables, coords={**(form.coords or {}), **grid.coords()}, attrs=dict(about))
    if interrupted:
        raise Interrupted(data, f"{done} of {len(grid)} points")
    return data
