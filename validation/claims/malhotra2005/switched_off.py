"""T1 = B2 switches the control off (M02)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from validation.checks import claim
from validation.claims.malhotra2005 import bundled, chain, conservation
from validation.claims.malhotra2005.chain import LIGHT, Setting, solve
from validation.claims.malhotra2005.conservation import EXACT, spread
from validation.display.drawing import figure, label, legend_above, points, reference
from validation.judgements.verdicts import Judgement, Sides, Verdict
from validation.statistics import (
    LEVEL,
    Estimate,
    absent,
    average,
    combine,
    difference,
    everywhere,
    ratio,
    ratio_gain,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = ("throughput", "effective_rate_1", "loss_rate_2", "mean_queue_1", "mean_queue_2")
SHOWN = ("throughput", "loss_rate_2", "mean_queue_2")
MARGIN = 0.03
"""Largest relative difference of a measure between sets of packet runs that are equal: a convention of ours."""
VARIANTS = ((None, 2.0), (5, 2.0), (None, 50.0), (5, 0.5), (1, 14.0))
"""T2 and mu2."""


@dataclass(frozen=True)
class SwitchedOff:
    """The chain and the packet runs with T1 = B2 over T2 and mu2.

    Attributes
    ----------
    spread
        Largest relative spread of five measures in the chain.
    off
        The chain with T1 = B2.
    on
        Throughputs of the chain with T1 = 15.
    """

    spread: float
    off: chain.Answer
    on: list[float]
    runs: tuple[bundled.Run, ...]
    agreements: tuple[bundled.Agreement, ...]

    @property
    def deviations(self) -> dict[str, list[Estimate]]:
        """Relative deviation of each set of packet runs from the mean of the others, by measure."""
        return {
            measure.replace("_", " "): [
                difference(ratio(values[n], average(values[:n] + values[n + 1 :])), Estimate(1.0, 0.0))
                for n in range(len(values))
            ]
            for measure in MEASURES
            for values in [[run.estimates[measure] for run in self.runs]]
        }

    @property
    def pausing(self) -> list[bool]:
        """Whether a packet run ever pauses, over all sets and seeds."""
        return [seed["pause_fraction"] > 0.0 for run in self.runs for seed in run.seeds]

    @property
    def widest(self) -> float:
        """The largest half-width of a throughput in packets, packets/s."""
        return max(run.estimates["throughput"].half_width for run in self.runs)


def largest_spread(answers: Iterable[list[chain.Answer]]) -> float:
    """Return the largest relative spread of the five measures within groups."""
    return max(spread([a[m] for a in group]) for group in answers for m in MEASURES)


@claim("M02", cases=(bundled.OFF,))
def measure() -> SwitchedOff:
    """Solve the chain with T1 = B2 over T2, mu2 and the readings, and read the packet runs."""
    readings = (("always", "exclusive"), ("up", "both"))
    groups = (
        [
            solve(Setting(rates, chain.B2, low, rtt, paused_rate, *reading))
            for low, paused_rate in VARIANTS
            for reading in readings
        ]
        for rates, rtt in ((LIGHT, 0.1), (LIGHT, 1.0), (LIGHT, 20.0), (chain.THREE, 1.0))
    )
    packets = tuple(bundled.runs(bundled.OFF).values())
    return SwitchedOff(
        largest_spread(groups),
        solve(Setting(high=chain.B2)),
        [solve(Setting(LIGHT, 15, low, 1.0, rate)).throughput for low, rate in VARIANTS],
        packets,
        tuple(bundled.agreement(packets, measure) for measure in SHOWN),
    )


measure.constants_of(chain, conservation)


@measure.judge
def judge(found: SwitchedOff, *, exact: float = EXACT, margin: float = MARGIN, level: float = LEVEL) -> Judgement:
    """Judge the chain by rounding and the time paused, the packets by measures equal within a margin and runs that never pause."""
    room = Estimate(margin, 0.0)
    deviations = [each for values in found.deviations.values() for each in values]
    equal = everywhere([combine((room, each), (1.0, sign)) for each in deviations for sign in (1.0, -1.0)], level)
    packets = Verdict.all_of((equal, absent(found.pausing, level)))
    model = Verdict.of(max(found.spread, found.off.pause_fraction) <= exact)
    return {"off": Sides(model, packets)}


@measure.draw
def deviations(found: SwitchedOff) -> Figure:
    """Draw the deviations of the packet runs from the chain."""
    fig, ax = figure()
    names = [f"T2 = {r.setting.low or r.setting.high}\nmu2 = {r.setting.paused_rate:g}" for r in found.runs]
    for n, measure in enumerate(SHOWN):
        exact = Estimate(found.off[measure], 0.0)
        values = [ratio_gain(run.estimates[measure], exact) for run in found.runs]
        x = [k + 0.15 * (n - 1) for k in range(len(found.runs))]
        name = measure.replace("_2", ", queue 2").replace("_", " ")
        points(ax, x, values, n, label=name)
    reference(ax, lw=1)
    ax.text(0.5, 0.03, "chain", ha="center", fontsize=8)
    label(ax, "mu2 in packets/s", "packets against chain (%)", xticks=range(len(names)))
    ax.set_xticklabels(names)
    legend_above(ax)
    return fig
