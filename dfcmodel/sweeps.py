"""Scenarios over ranges of parameters, for `hopflow.sweep`."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.demands.collectives import flows_from
from dfcmodel.network.links import Link
from dfcmodel.network.networks import Scenario
from dfcmodel.results.limits import LIMIT_KINDS, flags_of_limits
from dfcmodel.results.trajectories import Trajectory
from dfcmodel.simulation import method_of, simulate
from hopflow.checks import format_value, instances, one_number
from hopflow.sweeps.grid import Row
from hopflow.units import quantities_of
from responsefn import jain_index

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["SETTINGS", "about", "remarks", "rows", "units", "validate", "variant"]

SETTINGS: Mapping[str, str | None] = {
    "level": None, "seed": None, "duration": "time", "jitter": "time", "packet_jitter": None, "since": "time",
    "source": None,
}  # fmt: skip
LIMITS: Mapping[str, Any] = {
    "long_name": "known limits of the level that apply to the run, in full in `run.limits`",
    "flag_masks": [1 << n for n in range(len(LIMIT_KINDS))],
    "flag_meanings": " ".join(kind.replace(" ", "_") for kind in LIMIT_KINDS),
}
"""Attributes of the flags of limits, by the CF conventions (3.5)."""
ADVICE = {"phase effects": "; sweep(..., packet_jitter='1pkt') removes them, a random time of one packet"}
MAX_NAMED_POINTS = 3
"""Largest number of points of a sweep in a warning."""


def units(thing: Scenario) -> dict[str, str | None]:
    """Return the dimension of each field of a scenario, such as "time", by name; None for a field without a unit."""
    declared = quantities_of(type(thing))
    return {field.name: declared.get(field.name) for field in dataclasses.fields(thing)}


def variant(thing: Scenario, **changes: Any) -> Scenario:
    """Return a copy of a scenario with the fields in ``changes`` replaced."""
    return dataclasses.replace(thing, **changes)


def about(thing: Scenario) -> dict[str, str]:
    """Return attributes that describe a scenario in a dataset: its name."""
    return {"scenario": thing.name}


def validate(things: Sequence[Any], points: Sequence[Any]) -> dict[str, Any]:
    """Validate all points; return {"by_flow": whether all scenarios have flows of the same names}."""
    names = set()
    for n, thing in enumerate(things):
        settings = points[n].settings
        scenario = _scenario(thing, settings.get("source"))
        method_of(settings.get("level"), None)
        end = settings.get("duration", scenario.duration)
        one_number("since", settings.get("since", 0.0), at_least=0.0, below=end, hint="in s")
        names.add(tuple(scenario.table.names))
    return {"by_flow": len(names) == 1}


def rows(
    things: Sequence[Scenario], settings: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> Iterator[Row]:
    """Simulate scenarios with the arguments of `simulate` in ``settings``, and yield a row of measures for each."""
    for thing, point in zip(things, settings, strict=True):
        changes = dict(point)
        scenario, since = _scenario(thing, changes.pop("source", None)), changes.pop("since", 0.0)
        run = simulate(scenario, options["method"], **changes)
        yield _row(run, since, by_flow=options["by_flow"])


def remarks(data: xr.Dataset) -> Iterator[str]:
    """Yield warnings about the results: limits of the levels, and seeds that change nothing."""
    yield from _ineffective_seeds(data)
    if "limits" not in data:  # a store of an earlier version
        return
    flags = data.limits.astype(int)
    for n, kind in enumerate(LIMIT_KINDS):
        affected = (flags & 1 << n) != 0
        count = int(affected.sum())
        if count:
            points = affected.any("seed") if "seed" in flags.dims else affected
            names = list(itertools.islice(_point_names(points), MAX_NAMED_POINTS + 1))
            where = "; ".join([*names[:MAX_NAMED_POINTS], *(["..."] if len(names) > MAX_NAMED_POINTS else [])])
            yield (
                f"{kind}: a known limit of the level at {count} of {flags.size} points ({where}), as `limits` of the "
                f"result; `run.limits` of `simulate` at such a point says what was measured{ADVICE.get(kind, '')}"
            )


def _point_names(flags: xr.DataArray) -> Iterator[str]:
    """Yield the coordinates of each true value, such as "rate = 10, seed = 1"."""
    for index in np.argwhere(flags.to_numpy()).tolist():
        pairs = zip(flags.dims, index, strict=True)
        values = [(dim, flags[dim].to_numpy().tolist()[n]) for dim, n in pairs]
        yield ", ".join(f"{d} = {f'{v:.4g}' if type(v) is float else format_value(v)}" for d, v in values)


def _ineffective_seeds(data: xr.Dataset) -> Iterator[str]:
    """Yield a warning for each level whose results are the same for all seeds, at every point."""
    if data.sizes.get("seed", 1) < 2:
        return
    measured = data[["total_goodput", "jain", "peak_queue"]]
    levels = data.level.to_numpy().tolist() if "level" in data.dims else [None]
    for level in levels:
        at = measured if level is None else measured.sel(level=level)
        if all(
            at.isel(seed=n).drop_vars("seed").equals(at.isel(seed=0).drop_vars("seed"))
            for n in range(1, at.sizes["seed"])
        ):
            where = "" if level is None else f" at level {level!r}"
            yield (
                f"seed: the {at.sizes['seed']} seeds gave identical results{where}: nothing in these runs is random, "
                "or random times changed nothing; jitter= gives random starts of the flows, packet_jitter= random "
                "times of packets"
            )


def _scenario(thing: Any, source: Any) -> Scenario:
    """Return a scenario unchanged, or from links one with flows of ``source`` from first to last nodes."""
    if isinstance(thing, Scenario):
        if source is not None:
            raise ValueError(f"source = {format_value(source)}: is for functions that return links alone")
        return thing
    links = instances("thing", thing, Link, "a scenario, or a list of links, at every point")
    if source is None:
        raise ValueError("source: must be given, the rule of each flow, where a function returns links alone")
    targets, sources = ({getattr(link, end): 0 for link in links} for end in ("target", "source"))
    first_nodes = [node for node in sources if node not in targets]
    last_nodes = [node for node in targets if node not in sources]
    if not first_nodes or len(first_nodes) != len(last_nodes):
        counts = f"{len(first_nodes)} first nodes and {len(last_nodes)} last nodes"
        raise ValueError(f"thing: links with {counts} give no flows; return a Scenario with your own")
    flows = flows_from(first_nodes, last_nodes, source=source, links=links, routes="first")
    return Scenario("sweep", links, flows)


def _row(run: Trajectory, since: float, *, by_flow: bool) -> Row:
    """Return the measures of a run from ``since``, s, on as a row; with ``by_flow`` also of each flow."""
    counts = run.counts(since)
    goodput = counts.delivered / counts.seconds
    lost, delivered = float(counts.lost.sum()), float(counts.delivered.sum())
    all_lost = lost / (lost + delivered) if lost + delivered else np.nan
    variables: dict[Any, Any] = {
        "total_goodput": ((), float(goodput.sum()), {"units": "packets/s"}),
        "total_loss_ratio": ((), all_lost, {"units": "1"}),
        "jain": ((), jain_index(goodput) if goodput.any() else np.nan, {"units": "1"}),
        "peak_queue": ((), float(np.max(run.peak_queue)), {"units": "packets"}),
        "completed": ((), run.status.ok, {"long_name": "whether every packet is accounted for"}),
        "limits": ((), flags_of_limits(run.limits), dict(LIMITS)),
    }
    if not by_flow:
        return Row(variables, {})
    measures = {
        "goodput": (goodput, "packets/s"),
        "efficiency": (run.mean_efficiency(since), "1"),
        "loss_ratio": (counts.loss_ratio, "1"),
        "timeouts": (run.timeouts, "1"),
        "loss_events": (run.loss_events, "1"),
    }
    flows = np.array(list(run.scenario.table.names))
    of_flows = {n: (("flow",), values, {"units": unit}) for n, (values, unit) in measures.items()}
    return Row({**of_flows, **variables}, {"flow": (("flow",), flows, {})})
