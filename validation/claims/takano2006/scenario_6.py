"""Efficiency at 123 Gb/s: does DFC lose packets there? (D09)."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dfcmodel import simulate, takano2006
from validation.checks import claim
from validation.claims.takano2006 import studies
from validation.claims.takano2006.axes import band, efficiency_axes
from validation.claims.takano2006.studies import FAIR
from validation.drawing import BLUE, GREEN, RED, panels
from validation.statistics import Swing, Values, below, interval, swings
from validation.verdicts import Judgement, Sides, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STUDY = studies.Study("6")
BUFFERS = (400, 800, 1200, 1400, 1600, 1800)


@dataclass(frozen=True)
class Scenario6:
    """The target flow of scenario 6: without DFC, and with it by host.

    Attributes
    ----------
    peak
        The largest queue with DFC and shaped hosts, packets.
    losses
        Packets that the fluid loses with DFC and shaped hosts, by the buffer in packets.
    """

    without: Sides[Swing]
    lost: Sides[Values]
    starts: Sides[Values]
    bias: float
    hosts: dict[str, Sides[studies.HostRuns]]
    peak: Sides[float]
    losses: dict[int, float]

    @property
    def enough(self) -> int:
        """The smallest buffer without losses, packets."""
        return min(buffer for buffer, lost in self.losses.items() if lost == 0.0)


@functools.cache
def shaped_losses(buffer: int) -> float:
    """Return the packets that scenario 6 with DFC and shaped hosts loses in the fluid."""
    scenario = takano2006("6")
    links = tuple(replace(link, buffer=buffer) for link in scenario.links)
    run = simulate(replace(scenario, links=links), duration=0.5, sample=1e-2)
    return float(run.lost.sum())


@claim("D09", cases=(STUDY.without_dfc_case, STUDY.starts_case, STUDY.with_dfc_case))
def measure() -> Scenario6:
    """Return the efficiencies and losses of scenario 6."""
    return Scenario6(
        STUDY.without_dfc().each(lambda runs: runs.after(studies.START)),
        STUDY.lost_without_dfc(),
        STUDY.spread_starts(),
        studies.bias(),
        {host: STUDY.with_host(host) for host in studies.HOSTS},
        Sides(
            max(float(run.peak_queue.max()) for run in studies.fluid_with_dfc("6").runs),
            float(studies.rows(STUDY.with_dfc_case, "nodes")["peak"].max()),
        ),
        {buffer: shaped_losses(buffer) for buffer in BUFFERS},
    )


measure.constants_of(studies)


@measure.judge
def judge(
    found: Scenario6, *, near: float = studies.NEAR, swing: float = studies.SWING
) -> Judgement:
    """Judge low, unstable and lossy, without DFC and with it (shaped hosts)."""
    shaped = found.hosts["shaped"]

    def lossy(lost: Values) -> Verdict:
        return Verdict.of(bool((lost > 0).all()))

    return {
        "low": Sides(
            below(interval(found.without.model.mean), FAIR, found.bias),
            below(interval(found.without.packets.mean), FAIR),
        ),
        "unstable": found.without.each(lambda runs: swings(runs.absolute, swing, near)),
        "lossy": found.lost.each(lossy),
        "dfc_low": shaped.each(lambda runs: below(interval(runs.target.mean), FAIR - near)),
        "dfc_unstable": shaped.each(lambda runs: swings(runs.target.absolute, swing, near)),
        "dfc_lossy": shaped.each(lambda runs: lossy(runs.lost)),
    }


@measure.draw
def efficiencies(found: Scenario6) -> Figure:  # noqa: ARG001
    """Draw the target's efficiency with each host and without DFC."""
    fig, axes = panels(("packets", "fluid"))
    runs = {f"with DFC, {host}": STUDY.with_dfc(host) for host in studies.HOSTS}
    runs["without DFC"] = STUDY.without_dfc()
    for (name, sides), colour in zip(runs.items(), (GREEN, RED, "0.3", BLUE), strict=True):
        for ax, side in zip(axes, (sides.packets, sides.model), strict=True):
            band(ax, side, name, colour)
    for ax in axes:
        efficiency_axes(ax, ax.get_title(), 0.5)
    axes[1].set_ylabel("")
    axes[1].get_legend().remove()
    return fig
