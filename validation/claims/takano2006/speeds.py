"""Efficiency from 1.23 to 37 Gb/s, with DFC and without (D05 to D08)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from validation.checks import claim
from validation.claims.takano2006 import axes, studies
from validation.claims.takano2006.axes import band, efficiency_axes
from validation.claims.takano2006.studies import Study
from validation.drawing import BLUE, GREEN, RED, figure
from validation.statistics import Swing, Values, below, interval, settles, swings
from validation.verdicts import Judgement, Sides

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WITH_HOSTS = ("4", "5")
"""Scenarios of which the three hosts are shown."""


@dataclass(frozen=True)
class Speed:
    """Efficiencies of a scenario with DFC and without, of the target flow unless stated.

    Attributes
    ----------
    with_dfc, without
        Mean and standard deviation over time (10 ms), per run.
    background
        Mean efficiency of the other flow without DFC.
    bias
        Of the fluid's means without DFC, which widens their interval.
    starts
        Mean efficiencies without DFC when the starts vary by a millisecond.
    lost
        Packets of both flows lost without DFC, per run.
    hosts
        With DFC, by host.
    """

    study: Study
    with_dfc: Sides[Swing]
    without: Sides[Swing]
    background: Sides[float]
    bias: float
    starts: Sides[Values]
    lost: Sides[Values]
    hosts: dict[str, Sides[studies.HostRuns]]

    @property
    def share(self) -> Sides[float]:
        """The mean efficiency of the target with DFC."""
        return self.with_dfc.each(lambda runs: float(runs.mean.mean()))


def speed_of(study: Study) -> Speed:
    """Return the efficiencies of a scenario with its default host and, where bundled, all three."""
    without = study.without_dfc()
    hosts = studies.HOSTS if study.name in WITH_HOSTS else ()
    return Speed(
        study,
        study.with_dfc().each(lambda runs: runs.after(studies.SETTLED)),
        without.each(lambda runs: runs.after(studies.START)),
        without.each(lambda runs: float(runs.after(studies.START, "background").mean.mean())),
        studies.bias(),
        study.spread_starts(),
        study.lost_without_dfc(),
        {host: study.with_host(host) for host in hosts},
    )


@claim("D05", "2", cases=(*Study("2").cases, Study("2").starts_case))
@claim("D06", "3", cases=(*Study("3").cases, Study("3").starts_case))
@claim("D07", "4", cases=(*Study("4").cases, Study("4").starts_case))
@claim("D08", "5", cases=(*Study("5").cases, Study("5").starts_case))
def measure(name: str) -> Speed:
    """Return the efficiencies of the scenario."""
    return speed_of(Study(name))


measure.constants_of(studies, axes)


@measure.judge
def judge(found: Speed, *, near: float = studies.NEAR, swing: float = studies.SWING) -> Judgement:
    """Judge the paper's statements on one speed: near 0.5 with DFC, unstable and low without."""
    margins = Sides(found.bias, 0.0)
    low = (
        below(interval(runs.mean), share, margin)
        for runs, share, margin in zip(found.without, found.share, margins, strict=True)
    )
    return {
        "settles": found.with_dfc.each(lambda runs: settles(runs, studies.FAIR, near)),
        "unstable": found.without.each(lambda runs: swings(runs.absolute, swing, near)),
        "low": Sides(*low),
    }


@measure.draw
def efficiencies(found: Speed) -> Figure:
    """Draw the target's efficiency with DFC and without."""
    fig, ax = figure()
    without = found.study.without_dfc()
    band(ax, without.packets, f"ns-2, {found.without.packets.runs} runs", BLUE)
    band(ax, without.model, f"fluid, {found.without.model.runs} runs", RED)
    dfc = found.study.with_dfc().model
    ax.plot(dfc.time, dfc.flows["target"][0], color=GREEN, lw=1.2, label="fluid with DFC")
    efficiency_axes(ax)
    return fig
