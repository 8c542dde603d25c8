"""Scenario 4 with Vegas (D16)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from validation.checks import claim
from validation.claims.takano2006 import level, studies, vegas_runs, vegas_small_buffers
from validation.claims.takano2006.hosts import BOTH, NS2, NS3, by_simulator
from validation.claims.takano2006.matrices import moves
from validation.claims.takano2006.vegas_runs import SIDES
from validation.claims.takano2006.vegas_small_buffers import BUNDLED_FACTOR as MORE
from validation.display.drawing import BLUE, RED, panels
from validation.judgements.judges import BySimulator
from validation.judgements.verdicts import Judgement, Sides, Verdict
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
        Fluid and packet simulations, by side.
    level, paced, patient
        hopflow's packet level, by side: as it is, with spaced packets, and with spaced packets and
        `MORE` times Vegas' thresholds.
    more
        Fluid and packet simulations, by side, with `MORE` times the thresholds: the reading that D17 has.
    """

    runs: dict[str, Sides[vegas_runs.VegasRuns]]
    level: dict[str, vegas_runs.VegasRuns]
    paced: dict[str, vegas_runs.VegasRuns]
    patient: dict[str, vegas_runs.VegasRuns]
    more: dict[str, Sides[vegas_small_buffers.Thresholds]]


@claim("D16", cases=(vegas_runs.NS2, *studies.with_further_seeds(vegas_runs.NS3), *vegas_small_buffers.THRESHOLD_CASES))
def measure() -> Oscillation:
    """Return the runs of scenario 4V."""
    usual, paced, patient = (
        {side: level.vegas(side, pacing, times) for side in SIDES}
        for pacing, times in ((False, 1), (True, 1), (True, MORE))
    )
    more = {
        side: vegas_small_buffers.by_threshold(side, MORE).each(lambda each: each.runs[vegas_runs.LARGE_BUFFER])
        for side in SIDES
    }
    return Oscillation({side: vegas_runs.runs_of(side) for side in SIDES}, usual, paced, patient, more)


measure.constants_of(studies, vegas_runs)


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
    judged = oscillates(found, lambda each: each.bursts, unstable, steady, level)
    for side, runs in found.runs.items():
        judged[f"lossless, {side}"] = runs.each(lambda each: studies.lossless(each.lost, level))
    pairs = zip(*found.runs.values(), strict=True)
    same = (studies.alike(one.means, other.means, apart, level) for one, other in pairs)
    return judged | {"same": Sides(*same)}


def oscillates(
    found: Oscillation,
    seen: Callable[[vegas_runs.VegasRuns], Swing],
    unstable: float,
    steady: float,
    level: float,
) -> Judgement:
    """Judge strong oscillation on both sides, in the bins of ``seen``."""
    return {
        f"oscillates, {side}": runs.each(lambda each: moves(seen(each), unstable, steady, level))
        for side, runs in found.runs.items()
    }


@measure.readings
def readings(
    found: Oscillation,
    *,
    unstable: float = studies.UNSTABLE,
    steady: float = studies.STEADY,
    apart: float = vegas_runs.SAME_MEAN,
    level: float = LEVEL,
) -> dict[str, Judgement]:
    """Judge the oscillation of means over more than a round trip, which the paper says do not have it; and the Vegas of D17."""
    patient = {f"lossless, {side}": runs.each(lambda each: studies.lossless(each.lost, level))
               for side, runs in found.more.items()}  # fmt: skip
    pairs = zip(*found.more.values(), strict=True)
    patient["same"] = Sides(*(studies.alike(one.means, other.means, apart, level) for one, other in pairs))
    return {
        f"efficiency in bins of {studies.BIN}": oscillates(found, lambda each: each.swing, unstable, steady, level),
        vegas_small_buffers.PATIENT: patient,
    }


@measure.simulators
def apart(found: Oscillation, **asked: float) -> BySimulator:
    """Tell the simulators apart: ns-3 has both sides, ns-2 losses without DFC; with the Vegas of D17 ns-3 has DFC, ns-2 none."""
    alone = "without DFC"
    default = {key: NS3 for side in SIDES for key in (f"oscillates, {side}", f"lossless, {side}")} | {"same": NS3}
    usual = {"": judge(found, **asked)} | readings(found, **asked)
    patient = {vegas_small_buffers.PATIENT: usual.pop(vegas_small_buffers.PATIENT)}
    return by_simulator(usual, default | {f"lossless, {alone}": BOTH}) | by_simulator(
        patient, default | {f"lossless, {alone}": NS2, "same": BOTH}
    )


@measure.packet_level
def at_packet_level(found: Oscillation, **asked: float) -> dict[str, Verdict]:
    """Judge the same at hopflow's packet level."""
    own = replace(found, runs={side: Sides(each, each) for side, each in found.level.items()})
    return {key: sides.packets for key, sides in judge(own, **asked).items()}


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
