"""Efficiency from 370 Mb/s to 37 Gb/s, with DFC and without (D04 to D08)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from validation.checks import claim
from validation.claims.takano2006 import studies
from validation.claims.takano2006.hosts import BOTH, NS3, READINGS, Hosts, by_simulator
from validation.claims.takano2006.level import by_convention, swings_of
from validation.claims.takano2006.level import efficiencies as at_level
from validation.claims.takano2006.matrices import (
    STEADIER,
    WRONG,
    Matrix,
    in_own_links,
    less_steady,
    low,
    matrix,
    of_sources,
)
from validation.claims.takano2006.own_links import CASE, first_losses
from validation.claims.takano2006.studies import Study, band, efficiency_axes
from validation.display.drawing import BLUE, COLOURS, GREEN, RED, panels
from validation.judgements.judges import ByReading, BySimulator
from validation.judgements.verdicts import Judgement, Sides, Verdict, packets_only
from validation.statistics import LEVEL, Swing, Values, ranked, settles

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Speed:
    """Efficiencies of a scenario on all hosts.

    Attributes
    ----------
    starts
        Mean efficiencies of the target without DFC when the starts vary by a millisecond.
    kept
        The same of the fluid when node 1 has room for every window: the target does not overshoot.
    level
        The target with DFC and without at hopflow's packet level; None: not run.
    conventions
        Its mean efficiencies there without DFC in more runs, by convention; empty: not run.
    first
        The target's part of the first losses at node 15, hosts with a link of their own, by kind of run.
    """

    name: str
    matrix: Matrix
    starts: Sides[Values]
    kept: Values
    level: tuple[Swing, Swing] | None
    conventions: dict[str, Values]
    first: dict[str, Values]

    @property
    def share(self) -> float:
        """The target's mean with DFC at hopflow's packet level; nan: not run."""
        return float(self.level[0].mean.mean()) if self.level else math.nan

    @property
    def lows(self) -> dict[str, Verdict]:
        """Whether the efficiency without DFC is low, by the few runs that are judged and by convention, at `LEVEL`."""
        if self.level is None:
            return {}
        dfc, alone = self.level
        runs = {"few": alone.mean, **self.conventions}
        return {name: ranked(dfc.mean, means, LEVEL) for name, means in runs.items()}


def cases(name: str) -> tuple[str, ...]:
    """Return the bundled cases of a speed."""
    return (*Study(name).cases, CASE)


@claim("D04", "1", cases=cases("1"))
@claim("D05", "2", cases=cases("2"))
@claim("D06", "3", cases=cases("3"))
@claim("D07", "4", cases=(*cases("4"), studies.TRACES))
@claim("D08", "5", cases=cases("5"))
def measure(name: str) -> Speed:
    """Return the efficiencies of the scenario."""
    kept = studies.without_overshoot(name).target()
    starts = Study(name).spread_starts()
    return Speed(name, matrix(name), starts, kept, swings_of(name), by_convention(name), first_losses(name))


measure.constants_of(studies)


@measure.judge
def judge(
    found: Speed,
    hosts: Hosts = Hosts(),  # noqa: B008
    *,
    near: float = studies.NEAR,
    times: float = STEADIER,
    wrong: float = WRONG,
    level: float = LEVEL,
) -> Judgement:
    """Judge the paper's statements on one speed: near 0.5 with DFC, less steady and low without."""
    one = found.matrix
    return of_sources(judged(one, hosts, near, times, level), (one,), hosts, wrong)


@measure.readings
def readings(found: Speed, **asked: float) -> dict[str, Judgement]:
    """Judge the same with other hosts, and of the whole network."""
    return {name: judge(found, hosts, **asked) for name, hosts in READINGS.items()}


@measure.level_in_readings
def own_links(found: Speed, *, near: float = studies.NEAR, times: float = STEADIER, level: float = LEVEL) -> ByReading:
    """Judge hosts with a link of their own at hopflow's packet level."""

    def judged_at(kind: str, hosts: Hosts) -> Judgement:
        verdicts = judged(found.matrix.at_level(kind), hosts, near, times, level)
        if found.level is None:
            return verdicts
        longer = settles(found.level[0], studies.FAIR, near, level)
        return verdicts | {"settles": packets_only(longer)}

    return in_own_links(judged_at)


@measure.simulators
def apart(found: Speed, **asked: float) -> BySimulator:
    """Tell the simulators apart: with DFC ns-3, without ns-2; comparisons need both."""
    needed = {"settles": NS3, "unstable": BOTH, "low": BOTH}
    return by_simulator({"": judge(found, **asked)} | readings(found, **asked), needed)


@measure.packet_level
def at_packet_level(
    found: Speed, *, near: float = studies.NEAR, times: float = STEADIER, level: float = LEVEL
) -> dict[str, Verdict]:
    """Judge the same at hopflow's packet level, where the scenario is run."""
    if found.level is None:
        return {}
    dfc, alone = found.level
    return {
        "settles": settles(dfc, studies.FAIR, near, level),
        "unstable": ranked(alone.absolute, times * dfc.absolute, level),
        "low": ranked(dfc.mean, alone.mean, level),
    }


def judged(matrix: Matrix, hosts: Hosts, near: float, times: float, level: float) -> Judgement:
    """Judge one reading of the hosts."""
    fair, dfc = matrix.fair(hosts), matrix.with_dfc[hosts.with_dfc]
    return {
        "settles": dfc.each(lambda cell: settles(cell.of(hosts), fair, near, level)),
        "unstable": less_steady(matrix, hosts, times, level),
        "low": low(matrix, hosts, level),
    }


@measure.draw
def efficiencies(found: Speed) -> Figure:
    """Draw the target's efficiency by every source that judges: with DFC as means, without it one panel each."""
    study = Study(found.name)
    alone = study.without_dfc()
    without = {"ns-2": alone.packets, "fluid": alone.model}
    if found.level:
        without["hopflow's packets"] = at_level(found.name, False)
    titles = ["with DFC", *(f"without DFC, {source}" for source in without)]
    fig, axes = panels(titles, width=3.2 * len(titles), height=3.6)
    fluid, packets = study.with_dfc("shaped")
    with_dfc = {f"fluid, {host}": study.with_dfc(host).model for host in studies.HOSTS}
    with_dfc["ns-3, shaped"] = packets
    if found.level:
        with_dfc["hopflow's packets, shaped"] = at_level(found.name, True)
    for (name, runs), style in zip(with_dfc.items(), ("-", "--", ":", "-", "-"), strict=False):
        colour = GREEN if name.startswith("fluid") else BLUE if name.startswith("ns-3") else RED
        mean = studies.smooth(runs.flows["target"], studies.WIDTH).mean(axis=0)
        axes[0].plot(runs.time, mean, style, color=colour, lw=1.2, label=name)
    efficiency_axes(axes[0], axes[0].get_title(), float(fluid.time[-1]))
    for ax, (source, runs), colour in zip(axes[1:], without.items(), COLOURS, strict=False):
        band(ax, runs, source, colour)
        efficiency_axes(ax, ax.get_title(), float(runs.time[-1]))
    return fig
