"""One sweep for scenarios, chains, rules, headrooms and functions that return one of them.

A class whose objects are swept names a module in ``SWEPT_BY``. That module has ``units(thing)``, the units of its
parameters by name (None: no unit), ``variant(thing, **changes)``, the same with other parameters, ``rows(things,
settings, options)``, which yields what is found of each, ``about(thing)``, which describes it, ``SETTINGS``, the
settings at which a thing may be looked at, with their units, and ``checked(things, points)``, which raises for what cannot be
run and returns options for ``rows``. It may have ``remarks(data)``, which yields warnings about the results.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hopflow.checks import listed, shown
from hopflow.execution.executing import Bar
from hopflow.execution.grids import Grid, Row
from hopflow.execution.sweeping import over_grid
from hopflow.naming.packages import package
from hopflow.sources import is_plain, source_of
from hopflow.units import BARE, PacketUnits, in_units, quantities_of

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["sweep"]

SCALARS = (str, bytes)
"""Iterables that are one value."""
LIST = re.compile(
    r"(?:typing\.|collections\.abc\.)?(?:Iterable|Sequence|Collection|[Ll]ist|[Tt]uple)\[[^|]*\](?: \| None)?"
)
"""Annotations of parameters whose values are lists."""


def sweep(
    thing: Any,
    *,
    levels: Iterable[str] | None = None,
    method: Any = None,
    executor: Executor | None = None,
    store: str | Path | None = None,
    **parameters: Any,
) -> xr.Dataset:
    """Return what is found at every combination of some parameters' values.

    Work of more than a second shows a progress bar on terminals.

    Parameters
    ----------
    thing
        - a function that returns a `Scenario`, such as ``takano2006`` or your own: it is called at each combination,
          and its scenario simulated; one that returns links, such as ``dumbbell``, needs ``source=``, the rule of a flow
          from each first node to the last node of the same number;
        - a `Scenario`: its fields and the settings of `simulate` are the parameters;
        - a chain: a `ChainModel`, or what `explore` found of a function with parameters;
        - a rule, such as ``CUBIC()``: its own parameters, ``p``, ``rtt`` and ``bandwidth`` give its rate;
        - a list of rules: they share a bottleneck, with the parameters of `coexist_sweep`;
        - another function, such as ``headroom``: what it returns is a number, a mapping of numbers, or has
          ``to_xarray()``.
    levels
        Of scenarios: ``"fluid"``, ``"packets"`` or both, the dimension ``level``; None: that of ``method``, or the
        one that `choose_level` picks at each point.
    method
        Of scenarios: the settings of a level, as for `simulate`. Of chains: as for `stationary`.
    executor
        Any `concurrent.futures.Executor`, such as a ``ProcessPoolExecutor`` or Dask's ``client.get_executor()``; None:
        this process. Points assigned to a worker that died are recomputed. A process chooses methods and kernels by
        their predicted costs, loading included, so that results of chains may differ by rounding, within their bounds.
    store
        A ``.zarr`` folder or a ``.nc`` file (with ``pip install hopflow[scale]``): results stream into it, and the same
        call after an interruption computes what is missing. The result is that of memory; the first value that cannot be
        stored is refused.
    **parameters
        The values of each parameter: several (a list, a range, an array) are a dimension of the result, in the order
        given; one value is the same everywhere. A parameter that a function annotates as a list, such as ``rules`` of `compare`,
        takes one list as one value, and a list of lists as several. Strings such as ``"40ms"`` are numbers in the parameter's unit there. If
        a function's parameter declares no unit and all values are such strings, the function is called with the strings, and
        the coordinate has the numbers: s, packets/s, m, packets, bytes or fractions of 1.
        Of scenarios also ``seed``, ``duration``, ``jitter`` and ``packet_jitter`` of `simulate`, and ``since``, from which time
        on goodput, losses and efficiency are measured (0: the whole run, its start included).

    Returns
    -------
    xarray.Dataset
        Over the swept parameters, in SI units and with ``units`` attributes. Scenarios: ``goodput`` (packets/s),
        ``efficiency``, ``loss_ratio``, ``timeouts`` and ``loss_events`` over ``flow``, only where all points have the same flows;
        always ``total_goodput``, ``total_loss_ratio`` and ``jain`` of all flows together; ``peak_queue``, ``completed`` and ``limits`` (flags of the known limits
        of the level that apply to a run, which are warned of). Chains: the model's measures,
        ``residual`` and ``error_bound`` (total variation). Disciplines, rules and other
        objects are their texts on an axis, such as ``"DFC()"``.

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
            raise ValueError(
                "levels, method: are for scenarios and chains; rules run at the packet level"
            )
        found: xr.Dataset = package("dfcmodel").coexist_sweep(
            thing, executor=executor, store=store, **parameters
        )
        return found
    if levels is not None:
        chosen = [levels] if isinstance(levels, str) else list(listed("levels", levels, str))
        parameters = {**parameters, "level": chosen}
    plan = _plan(thing, parameters)
    if method is not None and plan.kind is None:
        raise ValueError(f"method = {shown(method)}: is for scenarios and chains")
    about = dict(plan.about)
    if method is not None or store is not None:
        about["method"] = repr(method)
    if store is not None:
        about["source"] = source_of(*plan.sources)
    rows = functools.partial(_rows, kind=plan.kind, options={**plan.options, "method": method})
    data = over_grid(
        rows, plan.grid, about=about, executor=executor, store=store, bar=Bar(plan.called, "point")
    )
    if plan.kind is not None:
        remarks = getattr(importlib.import_module(plan.kind), "remarks", None)
        for remark in () if remarks is None else remarks(data):
            warnings.warn(remark, stacklevel=2)
    return data


class Point(NamedTuple):
    """What is computed at a point: a call that makes the thing, and the settings at which it is looked at."""

    make: Callable[..., Any]
    given: Mapping[str, Any]
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class _Plan:
    """The points of a sweep, the module of their kind (None: any other result), and words about them."""

    called: str
    grid: Grid[Point]
    kind: str | None
    options: Mapping[str, Any]
    about: Mapping[str, str]
    sources: tuple[Any, ...]


def _is_rules(thing: Any) -> bool:
    listed = isinstance(thing, (list, tuple)) and len(thing) > 0 and not hasattr(thing, "_fields")
    return listed and all(_kind_of(each) == "responsefn.sweeps" for each in thing)


def _kind_of(thing: object) -> str | None:
    """Return the name of the module by which a thing, or a list of things, is swept; None: it has none."""
    if type(thing) is tuple and thing:
        thing = thing[0]
    found: str | None = getattr(type(thing), "SWEPT_BY", None)
    return found


class _Made(NamedTuple):
    """A thing that is swept as a function of its parameters: what it is called, their dimensions, and notes on it."""

    make: Callable[..., Any]
    called: str
    own: dict[str, str | None]
    about: dict[str, Any]


def _plan(thing: Any, parameters: Mapping[str, Any]) -> _Plan:
    """Return the points of a thing, or of a function that makes one; all are checked."""
    if inspect.isclass(thing) and hasattr(thing, "SWEPT_BY") and hasattr(thing, "Params"):
        thing = thing()
    kind = _kind_of(thing)
    make, called, own, about = _made(thing, kind)
    several, fixed = _split(parameters, _lists_of(make) if kind is None else frozenset())
    if kind is None:
        first = {n: several[n][0] if n in several else fixed[n] for n in parameters}
        kind = _kind_of(_first_made(thing, called, own, first))
    settings = {} if kind is None else dict(importlib.import_module(kind).SETTINGS)
    for name in parameters:
        if name not in own and name not in settings:
            known = ", ".join([*own, *settings]) or "none"
            other = "; to vary others, write a function of them that returns the scenario or chain"
            raise ValueError(f"{name}: thing = {called} has no such parameter, but {known}{other}")
    units = {**settings, **own}
    undeclared = {n: _inferred(n, values) for n, values in several.items() if units[n] is None}
    units |= undeclared
    axes = {name: _converted(name, values, units[name]) for name, values in several.items()}
    written = {
        name: dict(zip(axes[name], several[name], strict=True))
        for name, dimension in undeclared.items()
        if dimension is not None
    }
    constant = {n: _converted(n, [v], units[n])[0] for n, v in fixed.items()}
    grid = Grid(
        axes,
        functools.partial(_point, make, own, constant, written),
        {name: unit for name in several if (unit := _unit(units[name]))},
    )
    options = {} if kind is None else importlib.import_module(kind).checked(_Things(grid), grid)
    about |= {name: repr(value) for name, value in fixed.items()}
    objects = thing if make is thing else make(), *_objects(axes, fixed)
    return _Plan(called, grid, kind, options, about, objects)


def _made(thing: Any, kind: str | None) -> _Made:
    """Return a thing of a kind that is swept, or a function that makes one, as a function of its parameters."""
    if kind is not None:
        module: Any = importlib.import_module(kind)
        make = functools.partial(module.variant, thing)
        return _Made(make, type(thing).__name__, module.units(thing), module.about(thing))
    if not callable(thing):
        said = (
            "must be a scenario, a chain, a rule, a list of rules, or a function that returns one"
        )
        raise ValueError(f"thing = {shown(thing)}: {said}")  # noqa: TRY004
    called = getattr(thing, "__name__", repr(thing))
    return _Made(thing, called, _parameters_of(thing), {"function": called})


def _first_made(
    function: Any, called: str, own: Mapping[str, str | None], first: Mapping[str, Any]
) -> Any:
    """Return what a function makes of the first values of its parameters; ValueError where some are missing."""
    if missing := _required(function) - first.keys():
        names, given = ", ".join(sorted(missing)), ", ".join(first) or "none"
        raise ValueError(
            f"thing = {called}: needs values of {names}, without a default; given are {given}"
        )
    return function(**{name: first[name] for name in first if name in own})


def _objects(axes: Mapping[str, list[Any]], fixed: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return those values of parameters that lead to code; numbers and texts are compared by themselves."""
    values = itertools.chain(*axes.values(), fixed.values())
    return tuple(each for each in values if not is_plain(each))


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function, which some that are compiled do not have."""
    try:
        return inspect.signature(function)
    except ValueError:
        msg = "has no signature that Python can read; write a function around it, with named parameters"
        raise TypeError(f"thing = {shown(function)}: {msg}") from None


def _parameters_of(function: Callable[..., Any]) -> dict[str, str | None]:
    """Return the dimensions of the parameters of a function by name; None: it has no unit."""
    units, named = quantities_of(function), _signature(function).parameters.values()
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return {each.name: units.get(each.name) for each in named if each.kind in kinds}


def _required(function: Callable[..., Any]) -> set[str]:
    """Return the parameters of a function that have no default."""
    named = _signature(function).parameters.values()
    variable = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return {each.name for each in named if each.default is each.empty and each.kind not in variable}


def _lists_of(function: Callable[..., Any]) -> frozenset[str]:
    """Return the parameters of a function whose values are lists, by their annotations."""
    named = _signature(function).parameters.values()
    return frozenset(each.name for each in named if LIST.fullmatch(str(each.annotation)))


def _split(
    parameters: Mapping[str, Any], lists: frozenset[str]
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Return the parameters with several values, as lists, and those with one, which may be a list for some of them."""
    several, fixed = {}, {}
    for name, given in parameters.items():
        one = isinstance(given, SCALARS) or not isinstance(given, Iterable)
        if name in lists and isinstance(given, (list, tuple)) and given:
            one = not all(isinstance(value, (list, tuple)) for value in given)
        if one or getattr(given, "ndim", 1) == 0:
            fixed[name] = given
            continue
        several[name] = list(given)
        if not several[name]:
            raise ValueError(f"{name} = {several[name]!r}: at least one value is expected")
    return several, fixed


def _inferred(name: str, values: list[Any]) -> str | None:
    """Return the dimension of values that are all strings with units, of a parameter that declares none."""
    if not all(isinstance(value, str) for value in values):
        return None
    for dimension in ("time", "rate", "length", "share", "size", "amount"):
        known: Any = dimension
        with contextlib.suppress(ValueError):
            in_units(name, values, known)
            return dimension
    return None


def _unit(dimension: str | None) -> str | None:
    """Return the unit of a dimension."""
    units: Mapping[str, str] = BARE
    return dimension if dimension is None else units.get(dimension, dimension)


def _converted(name: str, values: list[Any], dimension: str | None) -> list[Any]:
    """Return values with strings in the unit of their dimension; whole amounts as integers."""
    if dimension not in BARE:
        return values
    known: Any = dimension
    found: list[Any] = in_units(name, values, known)
    return [_whole(value) for value in found] if dimension == "amount" else found


def _whole(value: Any) -> Any:
    """Return whole amounts as integers, in tuples too."""
    if type(value) in (tuple, list):
        return tuple(map(_whole, value))
    if isinstance(value, PacketUnits):
        return value  # another number in packets of another size
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _point(
    make: Callable[..., Any],
    own: Mapping[str, Any],
    fixed: Mapping[str, Any],
    written: Mapping[str, Mapping[float, str]],
    point: Mapping[str, Any],
) -> Point:
    """Return what is computed at a point; strings of undeclared units are passed on as they were written."""
    given = {**fixed, **{n: written[n][v] if n in written else v for n, v in point.items()}}
    of_thing = {name: value for name, value in given.items() if name in own}
    return Point(make, of_thing, {n: v for n, v in given.items() if n not in own})


class _Things(Sequence[Any]):
    """The things of some points, made when they are looked up."""

    def __init__(self, points: Sequence[Point] | Grid[Point]) -> None:
        self.points = points

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, n: Any) -> Any:
        if n >= len(self):
            raise IndexError(n)
        point = self.points[n]
        return point.make(**point.given)


def _rows(points: Sequence[Point], kind: str | None, options: Mapping[str, Any]) -> Iterator[Row]:
    """Yield what is found at some points."""
    if kind is None:
        for point in points:
            yield _row(point.make(**point.given))
        return
    module: Any = importlib.import_module(kind)
    yield from module.rows(_Things(points), [point.settings for point in points], options)


def _row(found: Any) -> Row:
    """Return the row of a result: of its Dataset, of a mapping of numbers, or of a number."""
    if hasattr(found, "to_xarray"):
        data = found.to_xarray()
        return row_of(data)
    named = found if isinstance(found, Mapping) else {"value": found}
    return Row({name: ((), value, {}) for name, value in named.items()}, {})


def row_of(data: xr.Dataset) -> Row:
    """Return a Dataset as the row of a point.

    Examples
    --------
    >>> import xarray as xr
    >>> row_of(xr.Dataset({"a": ((), 2.0, {"units": "s"})})).variables["a"]
    ((), np.float64(2.0), {'units': 's'})
    """
    variables, coords = (
        {name: (each.dims, each.to_numpy()[()], dict(each.attrs)) for name, each in of.items()}
        for of in (data.data_vars, data.coords)
    )
    return Row(variables, coords)
