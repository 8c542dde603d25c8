"""Efficiency at 123 Gb/s: does DFC lose packets there? (D09)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dfcmodel import simulate, takano2006
from validation.checks import claim
from validation.claims.takano2006 import matrices, studies
from validation.claims.takano2006.hosts import NS2, NS3, READINGS, Hosts, by_simulator
from validation.claims.takano2006.matrices import (
    NONE,
    SCENARIOS,
    WRONG,
    Cell,
    Matrix,
    in_own_links,
    matrix,
    moves,
    of_sources,
    without,
)
from validation.claims.takano2006.own_links import CASE
from validation.claims.takano2006.studies import FAIR, band, efficiency_axes
from validation.display.drawing import BLUE, GREEN, RED, panels
from validation.judgements.judges import ByReading, BySimulator
from validation.judgements.keeping import kept
from validation.judgements.verdicts import Judgement, Sides, Verdict
from validation.statistics import LEVEL, Swing, Values, below, bounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STUDY = studies.Study("6")
BUFFERS = (400, 800, 1200, 1400, 1600, 1800)


@dataclass(frozen=True)
class Scenario6:
    """Scenario 6 on all hosts.

    Attributes
    ----------
    starts, kept
        As in `speeds`.
    peak
        The largest queue with DFC and shaped hosts, packets.
    losses
        Packets that the fluid loses with DFC and shaped hosts, by the buffer in packets.
    worse
        Scenarios in which the target's efficiency is lower with DFC than without, direct hosts.
    figures
        By host, whether scenario 4 is as in Fig. 13 (D11) and scenario 6 as in Fig. 11 with DFC.
    hosts
        Those of the reading that is judged.
    """

    matrix: Matrix
    starts: Sides[Values]
    kept: Values
    peak: Sides[float]
    losses: dict[int, float]
    worse: Sides[tuple[str, ...]]
    figures: dict[str, Sides[tuple[bool, bool]]]
    hosts: Hosts = Hosts()  # noqa: RUF009

    @property
    def enough(self) -> int:
        """The smallest buffer without losses, packets."""
        return min(buffer for buffer, lost in self.losses.items() if lost == 0.0)


@kept
def shaped_losses(buffer: int) -> float:
    """Return the packets that scenario 6 with DFC and shaped hosts loses in the fluid."""
    scenario = takano2006("6")
    links = tuple(replace(link, buffer=buffer) for link in scenario.links)
    run = simulate(replace(scenario, links=links), duration=0.5, sample=1e-2, level="fluid")
    return float(run.lost.sum())


@claim("D09", cases=(*STUDY.cases, CASE))
def measure() -> Scenario6:
    """Return the efficiencies and losses of scenario 6."""
    every = {name: matrix(name).worse_on_the_same_host for name in SCENARIOS}
    worse = (tuple(name for name, sides in every.items() if sides[n]) for n in (0, 1))
    here = matrix(STUDY.name)
    return Scenario6(
        here,
        STUDY.spread_starts(),
        studies.without_overshoot(STUDY.name).target(),
        Sides(
            float(studies.fluid_with_dfc("6").peak.max()),
            float(studies.rows(STUDY.with_dfc_case, "nodes")["peak"].max()),
        ),
        {buffer: shaped_losses(buffer) for buffer in BUFFERS},
        Sides(*worse),
        {host: _figures(here, host) for host in studies.HOSTS},
    )


measure.constants_of(studies, matrices)


def _figures(here: Matrix, host: str) -> Sides[tuple[bool, bool]]:
    """Return whether a host gives Fig. 13 (nothing lost) and Fig. 11 with DFC (low and lossy)."""
    four, six = matrix("4").with_dfc[host], here.with_dfc[host]
    return Sides(
        *(
            (not a.lost.any(), bool((b.target.mean < FAIR - studies.NEAR).all() and b.lost.all()))
            for a, b in zip(four, six, strict=True)
        )
    )


@measure.judge
def judge(
    found: Scenario6,
    *,
    near: float = studies.NEAR,
    unstable: float = studies.UNSTABLE,
    steady: float = studies.STEADY,
    wrong: float = WRONG,
    level: float = LEVEL,
) -> Judgement:
    """Judge low, unstable and lossy, without DFC and with it (shaped hosts)."""
    one, hosts = found.matrix, found.hosts
    return of_sources(judged(one, hosts, near, unstable, steady, level), (one,), hosts, wrong)


@measure.readings
def readings(found: Scenario6, **asked: float) -> dict[str, Judgement]:
    """Judge the same with other hosts, and of the whole network."""
    return {name: judge(replace(found, hosts=hosts), **asked) for name, hosts in READINGS.items()}


@measure.level_in_readings
def own_links(
    found: Scenario6,
    *,
    near: float = studies.NEAR,
    unstable: float = studies.UNSTABLE,
    steady: float = studies.STEADY,
    level: float = LEVEL,
) -> ByReading:
    """Judge hosts with a link of their own at hopflow's packet level."""
    return in_own_links(lambda kind, hosts: judged(found.matrix.at_level(kind), hosts, near, unstable, steady, level))


@measure.simulators
def apart(found: Scenario6, **asked: float) -> BySimulator:
    """Tell the simulators apart: with DFC ns-3, without ns-2."""
    needed = dict.fromkeys(("low", "unstable", "lossy"), NS2)
    needed |= dict.fromkeys(("dfc_low", "dfc_unstable", "dfc_lossy"), NS3)
    return by_simulator({"": judge(found, **asked)} | readings(found, **asked), needed)


def judged(matrix: Matrix, hosts: Hosts, near: float, unstable: float, steady: float, level: float) -> Judgement:
    """Judge one reading of the hosts."""
    limit = matrix.fair(hosts) - near

    def lossy(cell: Cell | None) -> Verdict:
        return studies.lossless(cell.lost, level).opposite if cell else NONE

    def is_low(runs: Swing) -> Verdict:
        return below(bounds(runs.mean, level), limit)

    dfc = matrix.with_dfc[hosts.with_dfc]
    return {
        "low": without(matrix, hosts, is_low),
        "unstable": without(matrix, hosts, lambda runs: moves(runs, unstable, steady, level)),
        "lossy": Sides(*map(lossy, matrix.without(hosts))),
        "dfc_low": dfc.each(lambda cell: is_low(cell.of(hosts))),
        "dfc_unstable": dfc.each(lambda cell: moves(cell.of(hosts), unstable, steady, level)),
        "dfc_lossy": dfc.each(lossy),
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
