"""Errors of goodput shares at each level in comparison with ns-2, and intervals that contain them.

The table ``accuracies.csv`` beside this module is written by ``python -m benchmarks.network_accuracies``: the networks
of the development of the levels, with the same random instances in both simulators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.methods import Fluid
from dfcmodel.network.queueing.disciplines import FIFO
from dfcmodel.results.ensembles import Ensemble, mean_interval
from dfcmodel.results.records import ROUNDING
from hopflow.checks import choice, format_value, instance, one_number
from hopflow.intervals import prediction_half_width
from hopflow.text_files import read_rows
from hopflow.units import WithUnit, quantities
from responsefn import WindowRule

if TYPE_CHECKING:
    import xarray as xr

    from dfcmodel.network.networks import Scenario

__all__ = ["Accuracy", "measured_accuracies", "share_intervals", "typical_errors"]

UNMEASURED_PART = 0.25
"""Part of a run before the measurement of its shares, on all networks of the table."""


@dataclass(frozen=True)
class Accuracy:
    """Errors of goodput shares (of the bottleneck's rate) at one level against ns-2, measured over networks.

    Attributes
    ----------
    level
        ``"fluid"`` or ``"packet level"``.
    networks, shares
        Numbers of compared networks and shares. A share is the goodput of a group of equal flows over the rate of the
        slowest link.
    mean_error, chance
        Mean absolute difference of the shares, means of 16 runs, and the part of it by chance alone.
    half_width
        Half of the 95 % interval of the error of the model, without chance: of the difference of a share's mean over
        seeds from ns-2's, over the shares of the networks.
    """

    level: str
    networks: int
    shares: int
    mean_error: float
    chance: float
    half_width: float


@cache
def measured_accuracies() -> dict[str, Accuracy]:
    """Return the measured accuracy of goodput shares of each level, by its name.

    Examples
    --------
    >>> list(measured_accuracies())
    ['fluid', 'packet level']
    """
    kinds = {"level": str, "networks": int, "shares": int}
    return {
        row["level"]: Accuracy(**{f.name: kinds.get(f.name, float)(row[f.name]) for f in fields(Accuracy)})
        for row in read_rows("dfcmodel.levels", "accuracies.csv")
    }


@quantities(since="time")
def share_intervals(
    many: Ensemble,
    groups: Mapping[str, Sequence[str]] | None = None,
    *,
    since: WithUnit | None = None,
) -> xr.Dataset:
    """Return goodput over the slowest link's rate of groups of flows, with 95 % intervals for chance and model error.

    Confidence intervals of means over runs (`Ensemble.intervals`) become arbitrarily narrow with more runs, but the
    error of the model stays. Half of Student's interval is added in quadrature to half of the 95 % interval of the
    error of the model, as it was measured beside ns-2 (`measured_accuracies`): on chains, parking lots, dumbbells and
    flows of different round-trip times and rules, with buffers of 0.4 to 2 times the product of bandwidth and delay,
    and a random time of one packet before each packet.

    Parameters
    ----------
    many
        Runs with ``packet_jitter``, of window rules over FIFO queues.
    groups
        Names of the flows of each group; None: each flow by itself.
    since
        Start of the measurement, s; None: a quarter of the run, as in the measurement of the errors. Less is
        refused: the levels differ more while flows start.

    Returns
    -------
    A data set by ``group``, with ``share`` (goodput over the rate of the slowest link of the group's paths, mean of the
    runs), ``low`` and ``high``, which contain the mean over the seeds of ns-2; ``by_chance``, half of Student's
    interval of the mean over seeds and starts at this level, ``model_error``, half of the interval of the model's
    error, and ``by_chance_prediction``, half of Student's interval of one further run at this level. The attribute
    ``level`` says which level it was.

    Raises
    ------
    ValueError
        For an unknown flow, and for runs of a kind without measurements; the message has the reason.

    Examples
    --------
    >>> from dfcmodel import Flow, Link, Packets, RunSettings, Scenario, ensemble, share_intervals
    >>> from responsefn import NewReno
    >>> near, far = Link("a", "c", 1e4, 2e-3, 100.0), Link("b", "c", 1e4, 9e-3, 100.0)
    >>> links = near, far, Link("c", "d", 1e3, 0.01, 40.0)
    >>> flows = [Flow(n, (n, "c", "d"), NewReno(), max_window=200.0) for n in "ab"]
    >>> pair = Scenario("two round-trip times", links, flows, duration=5.0)
    >>> runs = ensemble(pair, 4, method=Packets(), options=RunSettings(packet_jitter=1e-3))
    >>> shares = share_intervals(runs)
    >>> bool((shares["high"] - shares["low"] >= 2.0 * shares["model_error"]).all())
    True
    """
    import xarray as xr

    instance("many", many, Ensemble, "runs that `ensemble` returned")
    members = _validate_groups(many.scenario, groups)
    end = float(many.time[-1])
    earliest = UNMEASURED_PART * end
    start = one_number("since", earliest if since is None else since, below=end, hint="in s")
    if start < earliest * (1.0 - ROUNDING):
        msg = "a quarter of the run: the errors of the model were measured from there on"
        raise ValueError(f"since = {start:g}: must be at least {earliest:g} s, {msg}")
    accuracy = measured_accuracies()[_validate_level(many)]
    names = [flow.name for flow in many.scenario.flows]
    flows = [np.isin(names, flags) for flags in members.values()]
    rates = [many.scenario.slowest_rates[flags].min() for flags in flows]
    goodput = many.mean_goodput(start)
    of_runs = np.stack([goodput[:, flags].sum(axis=1) for flags in flows], axis=1) / rates
    low, high = mean_interval(of_runs)
    by_chance = (high - low) / 2.0
    mean, half = of_runs.mean(axis=0), np.hypot(by_chance, accuracy.half_width)
    return xr.Dataset(
        {
            "share": ("group", mean), "low": ("group", np.maximum(0.0, mean - half)),
            "high": ("group", np.minimum(1.0, mean + half)), "by_chance": ("group", by_chance),
            "by_chance_prediction": ("group", prediction_half_width(of_runs)), "model_error": accuracy.half_width,
        },
        {"group": list(members)}, {"level": accuracy.level},
    )  # fmt: skip


def typical_errors(scenario: Scenario) -> str:
    """Return a line on typical errors of shares of both levels, or why they were not measured."""
    try:
        _check_measured(scenario)
    except ValueError as reason:
        return f"error of shares not measured ({reason})"
    fluid, packets = measured_accuracies().values()
    return (
        f"shares differ from ns-2's by {fluid.mean_error:.3f} of the bottleneck's rate on average, 95 % of them by up "
        f"to {fluid.half_width:.3f}; packets {packets.mean_error:.3f} and {packets.half_width:.3f}"
    )


def _validate_groups(scenario: Scenario, groups: Mapping[str, Sequence[str]] | None) -> dict[str, Sequence[str]]:
    """Return the names of the flows in each group, by its name, validated; None: a group per flow."""
    names = [flow.name for flow in scenario.flows]
    if groups is None:
        return {name: [name] for name in names}
    instance("groups", groups, Mapping, "a mapping of names to lists of flows, or None")
    if not groups:
        raise ValueError("groups = {}: must have at least one group")
    for group, flows in groups.items():
        instance("groups", group, str, "names of groups")
        if not isinstance(flows, (list, tuple)) or not flows:
            raise ValueError(f"groups[{group!r}] = {format_value(flows)}: must be a list of names of flows, not empty")
        for flow in flows:
            choice(f"groups[{group!r}]", flow, names)
    return dict(groups)


def _validate_level(many: Ensemble) -> str:
    """Return the name of the level of the runs; ValueError for runs whose accuracy was not measured."""
    _check_measured(many.scenario)
    if many.packet_jitter <= 0.0:
        raise ValueError("packet_jitter = 0: the error of the model was measured with packet_jitter")
    run = many.runs[0]
    if run.step == 0.0:
        return "packet level"
    fluid = many.method if isinstance(many.method, Fluid) else Fluid()
    for name in ("store_and_forward", "timeouts", "whole_losses"):
        if not getattr(fluid, name):
            raise ValueError(f"{name} = False: the error of the model was measured with True")
    return "fluid"


def _check_measured(scenario: Scenario) -> None:
    """Raise ValueError for sources and queues with which the accuracy was not measured."""
    sources = {
        f"flow {flow.name}: {type(flow.source).__name__}: errors were measured of window rules only"
        for flow in scenario.flows
        if not isinstance(flow.source, WindowRule)
    }
    queues = {
        f"link {link.name}: {type(link.discipline).__name__}: errors were measured of FIFO queues only"
        for link in scenario.links
        if type(link.discipline) is not FIFO
    }
    if refused := sorted(sources | queues):
        raise ValueError(refused[0])
