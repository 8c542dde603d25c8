"""Rules at one bottleneck over grids of paths: rates, shares, losses and delays, run by run."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.sharing.bottlenecks import Bottleneck, PathOptions, bottleneck_of, validate_rules
from hopflow.checks import instances, integer, seed_number, unwrap_scalar
from hopflow.deprecations import takes_options
from hopflow.intervals import half_width, prediction_half_width, spawn_seeds
from hopflow.parameters import canonical_text, in_packets_of
from hopflow.sources import source_of
from hopflow.sweeps.executors import Bar
from hopflow.sweeps.grid import Grid, Row
from hopflow.sweeps.planning import over_grid, products_of
from hopflow.units import PacketUnits, bandwidth_delay_products, declares, in_units
from responsefn import WindowRule

if TYPE_CHECKING:
    import xarray as xr


__all__ = ["coexist_sweep"]

UNITS = {"bandwidth": "packets/s", "rtt": "s", "buffer": "packets", "loss": "1"}
PER_FLOW = {
    "rate": ("packets/s", "delivered in order"),
    "share": ("1", "of all flows' rate"),
    "loss_ratio": ("1", "packets lost over packets delivered and lost"),
    "timeouts": ("1", "in the whole run"),
}
OF_ALL_PATHS = ("duration", "warm_up", "recovery", "discipline", "pacing", "packet_size")
"""Parameters of the paths that are no axes."""
OF_ALL = {
    "delay": ("s", "mean queueing delay"),
    "utilisation": ("1", "sum of the rates over the bandwidth"),
    "jain": ("1", "Jain's index of the rates"),
}


@takes_options(PathOptions, seconds="duration")
@declares(bandwidth="rate", rtt="time", buffer="amount")
def coexist_sweep(
    rules: Iterable[WindowRule],
    *,
    bandwidth: Any,
    rtt: Any,
    buffer: Any,
    runs: int = 5,
    executor: Executor | None = None,
    store: str | Path | None = None,
    options: PathOptions | None = None,
) -> xr.Dataset:
    """Return rates and shares of flows, one per rule, at one bottleneck over a grid of paths, at packet level.

    Parameters
    ----------
    rules
        Window rules, one per flow; the same rule may come several times.
    bandwidth
        Packets/s, or texts such as ``"20Mbps"`` (in packets of ``packet_size``); one value or several.
    rtt
        Propagation there and back, without the time of transmission: s, or texts such as ``"40ms"``; one
        or several.
    buffer
        Packets that wait in the queue, besides the packet in transmission; also ``"80pkt"`` or
        ``"120kB"``; one or several.
    runs
        Independent simulations of each path. All paths have the same seeds. One run has no intervals.
    executor
        Any `concurrent.futures.Executor`, such as a ``ProcessPoolExecutor`` or Dask's
        ``client.get_executor()``; None: this process. Points assigned to a worker that died are recomputed.
        The results do not depend on it.
    store
        A ``.zarr`` folder or a ``.nc`` file (with ``pip install hopflow[scale]``): results stream into
        it, and the same call after an interruption simulates the missing runs. It holds the values of the runs alone.
        A store of a version with other seeds is refused.
    options
        Loss, one value or several, duration, recovery, discipline, packet size and seed, see `PathOptions`; None: the
        defaults, 60 s.

    Returns
    -------
    xarray.Dataset
        Values of each run: ``rate`` in packets/s, ``share``, ``loss_ratio`` and ``timeouts`` over ``flow``; ``delay``
        in s, ``utilisation`` and ``jain``; all over ``run`` and over each of bandwidth, rtt, buffer and loss that has
        several values. For each such ``X`` also, without ``run``: ``X_mean`` over seeds and starts, ``X_half_width`` of
        its 95 % interval (Student's t over the runs), and ``X_prediction_half_width``, half the width of the interval
        that contains one further run in 95 % of the cases. They hold for the same duration, without the error of the
        model.

    Raises
    ------
    TypeError, ValueError
        Naming the parameter, its value and the allowed values, before anything is simulated; for a store of
        another sweep.

    Examples
    --------
    >>> from dfcmodel import PathOptions, coexist_sweep
    >>> from responsefn import CUBIC, NewReno
    >>> data = coexist_sweep(
    ...     [NewReno(), CUBIC()], bandwidth=1000.0, rtt=[0.02, 0.08], buffer=20, options=PathOptions(duration=10.0)
    ... )
    >>> dict(data.share.sizes), dict(data.share_half_width.sizes)
    ({'rtt': 2, 'run': 5, 'flow': 2}, {'rtt': 2, 'flow': 2})
    """
    chosen = PathOptions.of(options)
    flows = instances("rules", rules, WindowRule, "a window rule")  # type: ignore[type-abstract]
    validate_rules(tuple(dict.fromkeys(flows)), chosen.discipline)
    integer("number of rules", len(flows), 1, 1000)
    root, size = seed_number("seed", chosen.seed), chosen.packet_size
    axes = {
        "bandwidth": _axis_values("bandwidth", bandwidth, "rate", size),
        "rtt": _axis_values("rtt", rtt, "time", size),
        "buffer": _axis_values("buffer", buffer, "amount", size),
        "loss": _axis_values("loss", chosen.loss, "share", size),
    }
    several = {name: values for name, values in axes.items() if isinstance(values, list)}
    fixed = {name: values for name, values in axes.items() if name not in several}
    runs = integer("runs", runs, 1, 10_000)
    several["run"] = list(range(runs))
    seeds = spawn_seeds(root, runs).tolist()

    products = products_of("buffer", several.get("buffer", ()))
    if products:
        several["buffer"] = products

    def task(point: dict[str, Any]) -> tuple[Bottleneck, int]:
        run = point.pop("run")
        if products:
            point["buffer"] = f"{point['buffer']!r}BDP"
        values = fixed | point
        options = replace(chosen, loss=values.pop("loss"))
        return bottleneck_of(**values, options=options), seeds[run]

    grid = Grid(several, task, UNITS | ({"buffer": "BDP"} if products else {}))
    paths = [path for path, _ in grid]  # each checks its parameters
    about = {"rules": ", ".join(map(canonical_text, flows)), "seed": f"spawned from {root}"}
    about |= {name: repr(value) for name, value in fixed.items()}
    about |= {name: repr(getattr(paths[0], name)) for name in OF_ALL_PATHS}
    if store is not None:
        about["source"] = source_of(flows[0], flows, chosen.discipline)
    rows = functools.partial(_rows, flows)
    return _add_intervals(over_grid(rows, grid, about=about, executor=executor, store=store, bar=Bar("coexist", "run")))


def _add_intervals(data: xr.Dataset) -> xr.Dataset:
    """Return a sweep with means over the runs and half widths of their intervals as further variables."""
    columns: dict[str, tuple[str, Any]] = {
        "mean": ("mean over seeds and starts", functools.partial(np.mean, axis=0)),
        "half_width": ("of the 95 % interval of the mean over seeds and starts", half_width),
        "prediction_half_width": ("of the interval of one further run, 95 %", prediction_half_width),
    }
    intervals: dict[str, Any] = {}
    for name in (*PER_FLOW, *OF_ALL):
        by_run = data[name].transpose("run", ...)
        values = by_run.to_numpy()
        for suffix, (about, function) in columns.items():
            attrs = {"units": by_run.attrs["units"], "long_name": f"{by_run.attrs['long_name']}: {about}"}
            intervals[f"{name}_{suffix}"] = by_run.dims[1:], function(values), attrs
    return data.assign(intervals)


def _axis_values(name: str, values: Any, dimension: Any, packet_size: float) -> Any:
    """Return an argument of a sweep in packets and seconds: a list for an iterable, otherwise one value."""
    values = unwrap_scalar(values)
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes)):
        return [_axis_value(name, value, dimension, packet_size) for value in values]
    return _axis_value(name, values, dimension, packet_size)


def _axis_value(name: str, argument: Any, dimension: Any, packet_size: float) -> Any:
    """Return one value of a sweep in packets and seconds; a buffer in bandwidth-delay products is unchanged."""
    if name == "buffer" and bandwidth_delay_products(name, argument) is not None:
        return argument
    value = in_units(name, argument, dimension)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (Fraction, Decimal)):
        value = float(value)
    value = in_packets_of(value, packet_size)
    return int(value) if name == "buffer" and isinstance(value, PacketUnits) else value


def _rows(flows: tuple[WindowRule, ...], tasks: Sequence[tuple[Bottleneck, int]]) -> Iterator[Row]:
    """Simulate each task, a path with a seed, and yield the measures of its flows as a row."""
    names = [f"{n} {rule!r}" for n, rule in enumerate(flows, 1)]
    for path, seed in tasks:
        shared = path.run(flows, seed=seed)
        per_flow = (shared.rate, shared.share, shared.loss, shared.timeouts)
        of_all = (shared.delay, shared.utilisation, shared.jain)
        variables: dict[Any, Any] = {}
        for (name, (units, meaning)), values in zip(PER_FLOW.items(), per_flow, strict=True):
            variables[name] = ("flow",), values, {"units": units, "long_name": meaning}
        for (name, (units, meaning)), value in zip(OF_ALL.items(), of_all, strict=True):
            variables[name] = (), value, {"units": units, "long_name": meaning}
        yield Row(variables, {"flow": (("flow",), np.array(names), {})})
