"""Sweeps of models, rules, scenarios and functions over a grid.

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
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import itertools
import math
import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    Executor,
)
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import numpy as np

from hopflow.checks import format_value, instance, instances
from hopflow.keywords import WithFields
from hopflow.public_names import package
from hopflow.results import Interrupted
from hopflow.sources import is_plain, source_of
from hopflow.sweeps.executors import Bar, check_executor, run_tasks
from hopflow.sweeps.grid import Grid, Row, Schema, dtype_with_gaps
from hopflow.sweeps.store import Store, writing_alone
from hopflow.units import BARE, PacketUnits, bandwidth_delay_products, in_units, quantities_of

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

__all__ = ["over_grid", "products_of", "row_of", "sweep"]

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
        As for `hopflow.sweeps.executors.run_tasks`.
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
        path = Path(store)
        if not path.name:
            raise ValueError(f"store = {str(store)!r}: must end with .zarr or .nc")
        with writing_alone(path):
            return _into_store(function, grid, Store(path, grid, about), executor, bar)
    rows = _Subset(grid, range(len(grid)))
    return _collect(grid, run_tasks(function, rows, executor, bar=bar), about)


def _into_store(
    function: Callable[[Sequence[T]], Iterable[Row]], grid: Grid[T], results: Store, executor: Executor | None, bar: Bar
) -> xr.Dataset:
    """Evaluate the remaining points of a store; return all."""
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


MANY_POINTS, MAX_POINTS, BYTES_PER_NUMBER = 1_000_000, 100_000_000, 8
"""Points from which a sweep says its size first; the most that it takes, as each is checked before the first runs, at
1 us or more; bytes of a result at a point."""
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
        - a chain: a `ChainModel`, or the result of `explore` for a function with parameters;
        - a passage: what `markov.passage` returned, asked again of its chain with other parameters;
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
        this process. Points assigned to a worker that died are recomputed. Results do not depend on the executor.
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
        bytes or fractions of 1. Fields of a function's option object, such as ``duration`` of `PathOptions`, are
        parameters too. A buffer may be in multiples of bandwidth times round-trip time, ``"0.5BDP"``; the
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
        Chains: the model's measures, ``residual`` and ``error_bound`` (total variation).
        Passages: ``probability``, ``mean`` (s) and their errors.
        Disciplines, rules and other objects are strings on an axis, such as ``"DFC()"``.

    Raises
    ------
    ValueError
        For an unknown parameter, one without values, a value that is refused, and more than 1e8 points, before
        anything is run; for a store of another sweep, a damaged one, and one that another process writes; for a result
        that is no number or text, or has other dimensions or coordinates than those at earlier points, with its name
        and point.
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

    >>> runs = sweep(takano2006, name=["1", "4"], levels=["fluid", "packets"], duration="200ms")
    >>> dict(runs.goodput.sizes)
    {'name': 2, 'level': 2, 'flow': 2}
    """
    if _is_rules(thing):
        if levels is not None or method is not None:
            raise ValueError("levels, method: are for scenarios and chains; rules run at the packet level")
        shares: xr.Dataset = WithFields(package("dfcmodel").coexist_sweep)(
            rules=thing, executor=executor, store=store, **parameters
        )
        return shares
    if hasattr(thing, "__option_objects__"):
        thing = WithFields(thing)
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


def _check_size(columns: Mapping[str, Sequence[Any]]) -> None:
    """Warn of many points before the first one is checked, and refuse more than `MAX_POINTS`, with the bytes.

    Raises
    ------
    ValueError
        Naming the number of points, the bytes, and the number of values of each parameter.
    """
    points = math.prod(map(len, columns.values()))
    if points < MANY_POINTS:
        return
    sizes = " x ".join(f"{len(values):,} of {name}" for name, values in columns.items())
    message = (
        f"sweep of {points:,} points ({sizes}): at least {points * BYTES_PER_NUMBER / 1e9:,.3g} GB for each result"
    )
    if points > MAX_POINTS:
        raise ValueError(f"{message}; must be at most {MAX_POINTS:,} points")
    warnings.warn(message, stacklevel=4)


def _is_rules(thing: Any) -> bool:
    is_list = isinstance(thing, (list, tuple)) and not hasattr(thing, "_fields") and len(thing) > 0
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
    _check_size(columns)
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
    source = thing.function if isinstance(thing, WithFields) else thing if make is thing else make()
    objects = (value for value in values if not is_plain(value))  # code; numbers and strings are compared by value
    return _Plan(label, grid, kind, options, about, (source, *objects))


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
