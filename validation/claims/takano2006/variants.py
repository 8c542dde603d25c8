"""Scenario 4 with other chains and other TCPs (D12 to D15)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from validation.checks import claim
from validation.claims.takano2006 import studies
from validation.claims.takano2006.hosts import BOTH, NS2, NS3, READINGS, Hosts, by_simulator
from validation.claims.takano2006.matrices import (
    NONE,
    WRONG,
    Matrix,
    in_own_links,
    low,
    matrix,
    of_sources,
)
from validation.claims.takano2006.own_links import CASE
from validation.claims.takano2006.studies import Study
from validation.display.drawing import BLUE, GREEN, RED, figure
from validation.judgements.judges import ByReading, BySimulator
from validation.judgements.verdicts import Judgement, Sides, Verdict
from validation.statistics import LEVEL, Values, ranked, settles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLAIN = "4"
CHAINS = {"4S": 16, "4L": 60}
"""Nodes of the variants that keep Tahoe; scenario 4 has 30."""


@dataclass(frozen=True)
class Variant:
    """A variant of scenario 4, and scenario 4 itself.

    Attributes
    ----------
    kept, plain_kept
        Mean efficiencies of the fluid's target without DFC when node 1 has room for every window.
    """

    name: str
    matrix: Matrix
    plain: Matrix
    kept: Values
    plain_kept: Values

    @property
    def matrices(self) -> tuple[Matrix, Matrix]:
        """Both scenarios."""
        return self.matrix, self.plain

    def at_level(self, kind: str) -> Variant:
        """Return the variant with the runs of hopflow's packet level (`Matrix.at_level`)."""
        return replace(self, matrix=self.matrix.at_level(kind), plain=self.plain.at_level(kind))

    def targets(self, hosts: Hosts = Hosts()) -> dict[str, tuple[Values, Values | None]]:  # noqa: B008
        """Return the means without DFC of fluid and packets, by scenario."""
        found: dict[str, tuple[Values, Values | None]] = {}
        for name, each in ((self.name, self.matrix), (PLAIN, self.plain)):
            fluid, packets = each.without(hosts)
            assert fluid is not None
            found[name] = fluid.of(hosts).mean, packets.of(hosts).mean if packets else None
        return found


def cases(name: str) -> tuple[str, ...]:
    """Return the bundled cases of a variant and of scenario 4."""
    return tuple(dict.fromkeys((*Study(name).cases, *Study(PLAIN).cases, CASE)))


@claim("D12", "4S", cases=cases("4S"))
@claim("D13", "4L", cases=cases("4L"))
@claim("D14", "4R", cases=(*cases("4R"), studies.TRACES))
@claim("D15", "4N", cases=(*cases("4N"), studies.TRACES))
def measure(name: str) -> Variant:
    """Return the efficiencies of the variant and of scenario 4."""
    kept = (studies.without_overshoot(each).target() for each in (name, PLAIN))
    return Variant(name, matrix(name), matrix(PLAIN), *kept)


measure.constants_of(studies)


@measure.judge
def judge(
    found: Variant,
    hosts: Hosts = Hosts(),  # noqa: B008
    *,
    near: float = studies.NEAR,
    wrong: float = WRONG,
    level: float = LEVEL,
) -> Judgement:
    """Judge TCP alone: better than in scenario 4 (4L: worse), and worse than with DFC."""
    return of_sources(judged(found, hosts, near, level), found.matrices, hosts, wrong)


@measure.readings
def readings(found: Variant, **asked: float) -> dict[str, Judgement]:
    """Judge the same with other hosts, and of the whole network."""
    return {name: judge(found, hosts, **asked) for name, hosts in READINGS.items()}


@measure.level_in_readings
def own_links(found: Variant, *, near: float = studies.NEAR, level: float = LEVEL) -> ByReading:
    """Judge hosts with a link of their own at hopflow's packet level."""
    return in_own_links(lambda kind, hosts: judged(found.at_level(kind), hosts, near, level))


@measure.simulators
def apart(found: Variant, **asked: float) -> BySimulator:
    """Tell the simulators apart: with DFC ns-3, without ns-2; a comparison of these needs both."""
    needed = {"settles": NS3, "compared": NS2, "below": BOTH}
    return by_simulator({"": judge(found, **asked)} | readings(found, **asked), needed)


def judged(found: Variant, hosts: Hosts, near: float, level: float) -> Judgement:
    """Judge one reading of the hosts."""
    fair, dfc = found.matrix.fair(hosts), found.matrix.with_dfc[hosts.with_dfc]
    here, there = found.targets(hosts).values()
    larger, smaller = (there, here) if found.name == "4L" else (here, there)
    statements = {
        "settles": dfc.each(lambda cell: settles(cell.of(hosts), fair, near, level)),
        "compared": Sides(
            *(
                _above(more, less, bias, level)
                for more, less, bias in zip(larger, smaller, (found.matrix.bias, 0.0), strict=True)
            )
        ),
    }
    if found.name not in CHAINS:
        statements["below"] = low(found.matrix, hosts, level)
    return statements


def _above(larger: Values | None, smaller: Values | None, bias: float, level: float) -> Verdict:
    """Judge an order of runs whose means may each be wrong by a bias, to either side."""
    if larger is None or smaller is None:
        return NONE
    moved = {ranked(larger - b, smaller + b, level) for b in (bias, -bias)}
    return moved.pop() if len(moved) == 1 else Verdict.INCONCLUSIVE


@measure.draw
def every_run(found: Variant) -> Figure:
    """Draw the target's mean efficiency of every run, here and in scenario 4."""
    fig, ax = figure()
    for n, (each, colour) in enumerate(zip((found.matrix, found.plain), (RED, BLUE), strict=True)):
        for x, cell in zip((n - 0.12, n + 0.12), each.direct, strict=True):
            values = cell.target.mean
            ax.plot(np.full(len(values), x), values, "o", color=colour, alpha=0.6)
    for host, style in zip(studies.HOSTS, ("-", "--", ":"), strict=True):
        level = found.matrix.with_dfc[host].model.target.mean.mean()
        ax.axhline(level, color=GREEN, ls=style, label=f"fluid with DFC, {host}")
    ax.set_xticks([-0.12, 0.12, 0.88, 1.12], ["fluid", "ns-2"] * 2)
    ax.set(
        xlabel=f"runs of scenario {found.name} (left) and scenario {PLAIN} (right), without DFC",
        ylabel="mean efficiency of the target",
        ylim=(0, 1),
    )
    ax.legend(fontsize=8)
    return fig
