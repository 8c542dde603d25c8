"""Scenario 4 with Vegas (D16)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from validation.checks import claim
from validation.claims.takano2006 import level, studies, vegas_runs, vegas_small_buffers
from validation.claims.takano2006.matrices import moves
from validation.claims.takano2006.vegas_runs import SIDES
from validation.claims.takano2006.vegas_small_buffers import BUNDLED_FACTOR as MORE
from validation.display.drawing import BLUE, RED, panels
from validation.judgements.judges import NONE, ByReading, BySimulator
from validation.judgements.labels import agreed
from validation.judgements.verdicts import Judgement, Sides, Verdict, model_only
from validation.statistics import LEVEL, Swing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FINE = "1 ms"
"""The bin of the bundled tables; `studies.BIN` is ten of them."""


@dataclass(frozen=True)
class Oscillation:
    """The runs with DFC and without.

    Attributes
    ----------
    runs
        Fluid and ns-3, by side.
    ns2
        ns-2, which has no DFC.
    level, paced, patient, bursty
        hopflow's packet level, by side: as it is, with spaced packets, with spaced packets and
        `MORE` times Vegas' thresholds, and with the thresholds alone.
    more
        Fluid and packet simulations, by side, with `MORE` times the thresholds: the reading that D17 has.
    """

    runs: dict[str, Sides[vegas_runs.VegasRuns]]
    ns2: vegas_runs.VegasRuns
    level: dict[str, vegas_runs.VegasRuns]
    paced: dict[str, vegas_runs.VegasRuns]
    patient: dict[str, vegas_runs.VegasRuns]
    bursty: dict[str, vegas_runs.VegasRuns]
    more: dict[str, Sides[vegas_small_buffers.Thresholds]]


@claim("D16", cases=(vegas_runs.NS2, *studies.with_further_seeds(vegas_runs.NS3), *vegas_small_buffers.THRESHOLD_CASES))
def measure() -> Oscillation:
    """Return the runs of scenario 4V."""
    usual, paced, patient, bursty = (
        {side: level.vegas(side, pacing, times) for side in SIDES}
        for pacing, times in ((False, 1), (True, 1), (True, MORE), (False, MORE))
    )
    more = {
        side: vegas_small_buffers.by_threshold(side, MORE).each(lambda each: each.runs[vegas_runs.LARGE_BUFFER])
        for side in SIDES
    }
    runs = {side: vegas_runs.runs_of(side) for side in SIDES}
    return Oscillation(runs, vegas_runs.ns2_runs(), usual, paced, patient, bursty, more)


measure.constants_of(studies, vegas_runs)


Binned = Callable[[vegas_runs.VegasRuns], Swing]
"""Mean and standard deviation of runs over time, in bins of some length."""
Runs = Mapping[str, Sides[vegas_runs.VegasRuns]]
"""The runs of two sources by side, with DFC and without."""
ALONE = "without DFC"
BINS = f"efficiency in bins of {studies.BIN}"
"""A reading: means over more than a round trip, of which the paper says that they do not oscillate."""


@measure.judge
def judge(
    found: Oscillation,
    *,
    unstable: float = studies.UNSTABLE,
    steady: float = studies.STEADY,
    apart: float = vegas_runs.SAME_MEAN,
    level: float = LEVEL,
) -> Judgement:
    """Judge strong oscillation, the same with and without DFC, and no loss."""
    judged = _of_runs(found.runs, unstable, steady, apart, level)
    for key, verdict in _of_ns2(found, unstable, steady, level)[""].items():
        judged[key] = judged[key]._replace(packets=agreed((judged[key].packets, verdict)))
    return judged


def _of_runs(runs: Runs, unstable: float, steady: float, apart: float, level: float) -> Judgement:
    """Judge runs of both sides."""
    judged = oscillates(runs, _bursts, unstable, steady, level)
    for side, each in runs.items():
        judged[f"lossless, {side}"] = each.each(lambda one: studies.lossless(one.lost, level))
    pairs = zip(*runs.values(), strict=True)
    return judged | {"same": Sides(*(studies.alike(one.means, other.means, apart, level) for one, other in pairs))}


def _of_ns2(found: Oscillation, unstable: float, steady: float, level: float) -> dict[str, dict[str, Verdict]]:
    """Judge ns-2 by reading, which has no DFC."""
    oscillating = {
        name: {f"oscillates, {ALONE}": moves(binned(found.ns2), unstable, steady, level)}
        for name, binned in (("", _bursts), (BINS, _swing))
    }
    oscillating[""][f"lossless, {ALONE}"] = studies.lossless(found.ns2.lost, level)
    return oscillating


def oscillates(runs: Runs, binned: Binned, unstable: float, steady: float, level: float) -> Judgement:
    """Judge strong oscillation on both sides, in the bins of ``binned``."""
    return {
        f"oscillates, {side}": each.each(lambda one: moves(binned(one), unstable, steady, level))
        for side, each in runs.items()
    }


def _bursts(runs: vegas_runs.VegasRuns) -> Swing:
    return runs.bursts


def _swing(runs: vegas_runs.VegasRuns) -> Swing:
    return runs.swing


@measure.readings
def readings(
    found: Oscillation,
    *,
    unstable: float = studies.UNSTABLE,
    steady: float = studies.STEADY,
    apart: float = vegas_runs.SAME_MEAN,
    level: float = LEVEL,
) -> dict[str, Judgement]:
    """Judge the oscillation of means over more than a round trip, and the Vegas of D17.

    With the thresholds of D17 no packet simulator has both sides: ns-3 ran them with DFC, ns-2 without and for twice the
    time. Their means are not compared.
    """
    patient = {
        f"lossless, {side}": runs.each(lambda each: studies.lossless(each.lost, level))
        for side, runs in found.more.items()
    }
    one, other = (runs.model.means for runs in found.more.values())
    patient["same"] = model_only(studies.alike(one, other, apart, level))
    return {
        BINS: oscillates(found.runs, _swing, unstable, steady, level),
        vegas_small_buffers.PATIENT: patient,
    }


@measure.simulators
def by_simulator(
    found: Oscillation,
    *,
    unstable: float = studies.UNSTABLE,
    steady: float = studies.STEADY,
    apart: float = vegas_runs.SAME_MEAN,
    level: float = LEVEL,
) -> BySimulator:
    """Judge each simulator by its own runs: ns-3 has both sides, ns-2 none with DFC.

    With the Vegas of D17 ns-3 has the runs with DFC, ns-2 those without.
    """
    others = readings(found, unstable=unstable, steady=steady, apart=apart, level=level)
    every = {"": _of_runs(found.runs, unstable, steady, apart, level)} | others
    verdicts = {
        name: {key: {"ns-3": sides.packets} for key, sides in judgement.items() if sides.packets is not NONE}
        for name, judgement in every.items()
    }
    for name, judged in _of_ns2(found, unstable, steady, level).items():
        for key, verdict in judged.items():
            verdicts[name][key]["ns-2"] = verdict
    patient = others[vegas_small_buffers.PATIENT][f"lossless, {ALONE}"].packets
    verdicts[vegas_small_buffers.PATIENT][f"lossless, {ALONE}"] = {"ns-2": patient}
    return verdicts


@measure.packet_level
def at_packet_level(
    found: Oscillation,
    *,
    unstable: float = studies.UNSTABLE,
    steady: float = studies.STEADY,
    apart: float = vegas_runs.SAME_MEAN,
    level: float = LEVEL,
) -> dict[str, Verdict]:
    """Judge the same at hopflow's packet level."""
    runs = {side: Sides(each, each) for side, each in found.level.items()}
    return {key: sides.packets for key, sides in _of_runs(runs, unstable, steady, apart, level).items()}


@measure.level_in_readings
def at_packet_level_in_readings(found: Oscillation, **asked: float) -> ByReading:
    """Judge the Vegas of D17 at hopflow's packet level."""
    return {vegas_small_buffers.PATIENT: at_packet_level(replace(found, level=found.bursty), **asked)}


@measure.draw
def bursts(found: Oscillation) -> Figure:  # noqa: ARG001
    """Draw the target by the millisecond with DFC and without, a run of each side."""
    fig, axes = panels(tuple(SIDES), height=3.2)
    for ax, side in zip(axes, SIDES, strict=True):
        data = vegas_runs.packets(side, "efficiency")
        one = data[(data["seed"] == data["seed"].min()) & (data["flow"] == "target")]
        ax.plot(one["time"], one["efficiency"], color=BLUE, lw=0.8, label="ns-3")
        run = vegas_runs.fluid(side)
        style = {"color": RED, "ls": "--", "lw": 0.8}
        ax.plot(run.time, run.efficiency.to_numpy()[0], label="fluid", **style)
        ax.set(xlim=(0.2, 0.3), xlabel="time (s)")
        ax.set_ylim(bottom=0)
    axes[0].set_ylabel("efficiency of the target")
    axes[0].legend(fontsize=8)
    return fig
