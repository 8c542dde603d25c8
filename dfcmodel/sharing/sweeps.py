"""Rules at one bottleneck over grids of paths: rates, shares, losses and delays, run by run."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from dfcmodel.network.queueing.disciplines import FIFO
from dfcmodel.sharing.bottlenecks import Bottleneck, QueueOptions, checked_rules
from hopflow.checks import instances, integer, one_number, seed_number, unwrap_scalar
from hopflow.deprecations import accept_old_names
from hopflow.keywords import check_keywords, takes_keywords
from hopflow.parameters import canonical_text, in_packets_of
from hopflow.sources import source_of
from hopflow.sweeps import Bar, Grid, Row, over_grid, products_of
from hopflow.units import PACKET_SIZE, PacketUnits, bandwidth_delay_products, declares, in_units
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
OF_ALL = {
    "delay": ("s", "mean queueing delay"),
    "utilisation": ("1", "sum of the rates over the bandwidth"),
    "jain": ("1", "Jain's index of the rates"),
}


DEFAULTS: QueueOptions = {
    "loss": 0.0, "duration": 60.0, "warm_up": None, "recovery": "sack", "discipline": None, "pacing": False,
    "packet_size": PACKET_SIZE,
}  # fmt: skip


@declares(
    bandwidth="rate", rtt="time", buffer="amount", loss="share", duration="time", warm_up="time", packet_size="size"
)
@accept_old_names(seconds="duration")
@takes_keywords(QueueOptions, DEFAULTS)
def coexist_sweep(
    rules: Iterable[WindowRule],
    *,
    bandwidth: Any,
    rtt: Any,
    buffer: Any,
    runs: int = 3,
    seed: int | np.random.Generator = 0,
    executor: Executor | None = None,
    store: str | Path | None = None,
    **options: Unpack[QueueOptions],
) -> xr.Dataset:
    """Return what flows get of one bottleneck, by packet-level simulation, over a grid of paths.

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
        Packets that wait in the queue, besides the one in transmission; also ``"80pkt"`` or
        ``"120kB"``; one or several.
    runs, seed
        Simulations of each path, and the first one's seed; the others follow it.
    executor
        Any `concurrent.futures.Executor`, such as a ``ProcessPoolExecutor`` or Dask's
        ``client.get_executor()``; None: this process. Points assigned to a worker that died are recomputed.
        The results do not depend on it.
    store
        A ``.zarr`` folder or a ``.nc`` file (with ``pip install hopflow[scale]``): results stream into
        it, and the same call after an interruption simulates what is missing.
    **options
        ``loss``, one value or several, ``duration``, ``warm_up``, ``recovery``, ``discipline``, ``pacing`` and
        ``packet_size``, as for `compare`.

    Returns
    -------
    xarray.Dataset
        ``rate`` in packets/s, ``share``, ``loss_ratio`` and ``timeouts`` over ``flow``; ``delay`` in s,
        ``utilisation`` and ``jain``; all over ``run`` and over each of bandwidth, rtt, buffer and loss
        that has several values.

    Raises
    ------
    TypeError, ValueError
        Naming the parameter, its value and what is allowed, before anything is simulated; for a store of
        another sweep.

    Examples
    --------
    >>> from dfcmodel import coexist_sweep
    >>> from responsefn import CUBIC, NewReno
    >>> found = coexist_sweep(
    ...     [NewReno(), CUBIC()], bandwidth=1000.0, rtt=[0.02, 0.08], buffer=20, duration=10.0
    ... )
    >>> dict(found.share.sizes)
    {'rtt': 2, 'run': 3, 'flow': 2}
    """
    asked = check_keywords(coexist_sweep, options)
    flows = instances("rules", rules, WindowRule, "a window rule")  # type: ignore[type-abstract]
    discipline, warm_up = asked["discipline"], asked["warm_up"]
    checked_rules(tuple(dict.fromkeys(flows)), discipline)
    integer("number of rules", len(flows), 1, 1000)
    time = in_units("duration", asked["duration"], "time")
    time = one_number("duration", time, above=0.0)
    first = seed_number("seed", seed, maximum=2**30) % 2**30
    size = one_number("packet_size", in_units("packet_size", asked["packet_size"], "size"), above=0.0, hint="in bytes")
    given = {
        "bandwidth": _values("bandwidth", bandwidth, "rate", size),
        "rtt": _values("rtt", rtt, "time", size),
        "buffer": _values("buffer", buffer, "amount", size),
        "loss": _values("loss", asked["loss"], "share", size),
    }
    several = {name: values for name, values in given.items() if isinstance(values, list)}
    fixed = {name: values for name, values in given.items() if name not in several}
    common = fixed | {
        "duration": time,
        "warm_up": 0.2 * time if warm_up is None else in_units("warm_up", warm_up, "time"),
        "recovery": asked["recovery"],
        "discipline": FIFO() if discipline is None else discipline,
        "pacing": asked["pacing"],
        "packet_size": size,
    }
    several["run"] = list(range(integer("runs", runs, 1, 10_000)))

    products = products_of("buffer", several.get("buffer", ()))
    if products:
        several["buffer"] = products

    def task(point: dict[str, Any]) -> tuple[Bottleneck, int]:
        run = point.pop("run")
        if products:
            point["buffer"] = f"{point['buffer']!r}BDP"
        return Bottleneck(**common, **point), first + run

    grid = Grid(several, task, UNITS | ({"buffer": "BDP"} if products else {}))
    for _ in grid:  # each path checks its parameters
        pass
    about = {"rules": ", ".join(map(canonical_text, flows)), "seed": repr(first)}
    about |= {name: repr(value) for name, value in common.items()}
    if store is not None:
        about["source"] = source_of(flows[0], flows, discipline)
    rows = functools.partial(_rows, flows)
    return over_grid(rows, grid, about=about, executor=executor, store=store, bar=Bar("coexist", "run"))


def _values(name: str, given: Any, dimension: Any, packet_size: float) -> Any:
    """Return one value as it is, several as a list, in packets and seconds."""
    given = unwrap_scalar(given)
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
        return [_value(name, each, dimension, packet_size) for each in given]
    return _value(name, given, dimension, packet_size)


def _value(name: str, given: Any, dimension: Any, packet_size: float) -> Any:
    if name == "buffer" and bandwidth_delay_products(name, given) is not None:
        return given
    value = in_units(name, given, dimension)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (Fraction, Decimal)):
        value = float(value)
    value = in_packets_of(value, packet_size)
    return int(value) if name == "buffer" and isinstance(value, PacketUnits) else value


def _rows(flows: tuple[WindowRule, ...], tasks: Sequence[tuple[Bottleneck, int]]) -> Iterator[Row]:
    """Yield what the flows got on some paths."""
    names = [f"{n} {rule!r}" for n, rule in enumerate(flows, 1)]
    for path, seed in tasks:
        found = path.run(flows, seed=seed)
        per_flow = (found.rate, found.share, found.loss, found.timeouts)
        of_all = (found.delay, found.utilisation, found.jain)
        variables: dict[Any, Any] = {}
        for (name, (units, what)), values in zip(PER_FLOW.items(), per_flow, strict=True):
            variables[name] = ("flow",), values, {"units": units, "long_name": what}
        for (name, (units, what)), value in zip(OF_ALL.items(), of_all, strict=True):
            variables[name] = (), value, {"units": units, "long_name": what}
        yield Row(variables, {"flow": (("flow",), np.array(names), {})})
