"""Scenario 4 with other chains and other TCPs (D12 to D15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from validation.checks import claim
from validation.claims.takano2006 import studies
from validation.claims.takano2006.studies import Study
from validation.drawing import BLUE, GREEN, RED, figure
from validation.statistics import Swing, Values, above, below, interval, settles
from validation.verdicts import Judgement, Sides

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
    with_dfc
        The target with DFC, per run.
    alone, plain
        Mean efficiencies of target and background without DFC, shapes (runs, 2): of the variant,
        and of scenario 4.
    bias
        Of the fluid's means without DFC, which widens their intervals.
    """

    name: str
    with_dfc: Sides[Swing]
    alone: Sides[Values]
    plain: Sides[Values]
    bias: float

    @property
    def share(self) -> Sides[float]:
        """The mean efficiency of the target with DFC."""
        return self.with_dfc.each(lambda runs: float(runs.mean.mean()))

    @property
    def targets(self) -> dict[str, Sides[Values]]:
        """The target's means without DFC, by scenario."""
        both = {self.name: self.alone, PLAIN: self.plain}
        return {name: sides.each(lambda runs: runs[:, 0]) for name, sides in both.items()}

    @property
    def sums(self) -> dict[str, Sides[Values]]:
        """The sums of both flows' means without DFC, by scenario."""
        both = {self.name: self.alone, PLAIN: self.plain}
        return {name: sides.each(lambda runs: runs.sum(axis=1)) for name, sides in both.items()}


def without_dfc(name: str) -> Sides[Values]:
    """Return the mean efficiencies of target and background without DFC, shapes (runs, 2)."""
    return (
        Study(name)
        .without_dfc()
        .each(
            lambda runs: np.stack(
                [runs.after(studies.START, flow).mean for flow in studies.FLOWS], axis=1
            )
        )
    )


def cases(name: str) -> tuple[str, ...]:
    """Return the bundled cases of a variant."""
    study = Study(name)
    return study.without_dfc_case, Study(PLAIN).without_dfc_case, study.with_dfc_case


@claim("D12", "4S", cases=cases("4S"))
@claim("D13", "4L", cases=cases("4L"))
@claim("D14", "4R", cases=cases("4R"))
@claim("D15", "4N", cases=cases("4N"))
def measure(name: str) -> Variant:
    """Return the efficiencies of the variant and of scenario 4."""
    dfc = Study(name).with_dfc().each(lambda runs: runs.after(studies.SETTLED))
    return Variant(name, dfc, without_dfc(name), without_dfc(PLAIN), studies.bias())


measure.constants_of(studies)


@measure.judge
def judge(found: Variant, *, near: float = studies.NEAR) -> Judgement:
    """Judge TCP alone: better than in scenario 4 (4L: worse), and worse than with DFC."""
    margins = Sides(found.bias, 0.0)
    judged = {"settles": found.with_dfc.each(lambda runs: settles(runs, studies.FAIR, near))}
    here, there = found.targets.values()
    larger, smaller = (there, here) if found.name == "4L" else (here, there)
    judged["compared"] = Sides(*map(above, larger, smaller, margins))
    if found.name not in CHAINS:
        judged["below"] = Sides(*map(below, here.each(interval), found.share, margins))
    return judged


@measure.draw
def every_run(found: Variant) -> Figure:
    """Draw the target's mean efficiency of every run, here and in scenario 4."""
    fig, ax = figure()
    for n, (sides, colour) in enumerate(zip(found.targets.values(), (RED, BLUE), strict=True)):
        for x, values in zip((n - 0.12, n + 0.12), sides, strict=True):
            ax.plot(np.full(len(values), x), values, "o", color=colour, alpha=0.6)
    ax.axhline(found.share.model, color=GREEN, label="fluid with DFC")
    ax.set_xticks([-0.12, 0.12, 0.88, 1.12], ["fluid", "ns-2"] * 2)
    ax.set(
        xlabel=f"runs of scenario {found.name} (left) and scenario {PLAIN} (right), without DFC",
        ylabel="mean efficiency of the target",
        ylim=(0, 1),
    )
    ax.legend(fontsize=8)
    return fig
