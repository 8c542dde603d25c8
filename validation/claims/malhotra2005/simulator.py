"""The pause tandem in ns-3 against the stationary chain, pi Q = 0 (S04)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from validation.checks import claim
from validation.claims.malhotra2005 import bundled
from validation.claims.malhotra2005.chain import solve
from validation.display.drawing import COLOURS, figure, label
from validation.judgements.verdicts import Judgement, Verdict, model_only
from validation.statistics import (
    LEVEL,
    Estimate,
    Normality,
    Values,
    combine,
    difference,
    everywhere,
    normality,
    ratio,
    variance_test,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CASES = (
    *(
        bundled.THRESHOLDS,
        bundled.GRANULARITY,
        bundled.LOW_THRESHOLD,
        bundled.OFF,
        bundled.LEVELS,
        "malhotra2005/pause-recovery-up",
    ),
    *(
        "malhotra2005/pause-both-rules",
        bundled.LARGE_RTT,
        bundled.LOAD,
        "malhotra2005/pause-signalling",
    ),
)
FARTHEST = 4.0
"""Largest absolute score that one point may have."""
MIN_EVENTS = 1000
"""Fewest events (losses, pauses) of all seeds for a test of their rate: fewer are skewed."""
MEASURES = {
    "throughput": None,
    "mean_queue_1": None,
    "mean_queue_2": None,
    "loss_rate_1": "dropped_1",
    "loss_rate_2": "dropped_2",
    "pause_fraction": "pauses",
}
"""Measures that are compared, and the count of the events behind each."""
QUEUES = "mean_queue_1", "mean_queue_2"
RARE = "loss_rate_1", "loss_rate_2", "pause_fraction"


@dataclass(frozen=True)
class Scores:
    """Scores of the packet runs against pi Q = 0, by measure, one per parameter set.

    ``deviations`` are relative. ``seeds`` has the p-values of the scatter of the seeds against that of their batch means, and
    ``widths`` the relative half-widths of the throughput.
    """

    by_measure: dict[str, list[float]]
    deviations: dict[str, list[Estimate]]
    seeds: Values
    widths: Values

    @property
    def tests(self) -> dict[str, Normality]:
        """Tests of the scores against the standard normal distribution, by measure."""
        return {measure: normality(scores) for measure, scores in self.by_measure.items()}

    @property
    def total(self) -> int:
        """The number of all scores."""
        return sum(map(len, self.by_measure.values()))

    @property
    def farthest(self) -> float:
        """The largest absolute score."""
        return max(test.largest for test in self.tests.values())

    @property
    def by_chance(self) -> float:
        """Probability that at least one of all scores exceeds the limit by chance."""
        from scipy import stats

        return -math.expm1(self.total * math.log1p(-2.0 * float(stats.norm.sf(FARTHEST))))

    @property
    def uniform(self) -> float:
        """p-value of a Kolmogorov-Smirnov test that the seeds' p-values are uniform."""
        from scipy import stats

        return float(stats.kstest(self.seeds, "uniform").pvalue)


def events(run: bundled.Run, kind: str) -> float:
    """Return the number of losses or pauses of a parameter set, over all seeds."""
    if kind == "pauses":
        return math.fsum(seed["pause_rate"] * seed["measured_time"] for seed in run.seeds)
    return math.fsum(seed[kind] for seed in run.seeds)


def counted(points: Sequence[bundled.Run], measure: str) -> list[bundled.Run]:
    """Return the parameter sets that saw enough events for a measure."""
    kind = MEASURES[measure]
    return [run for run in points if kind is None or events(run, kind) >= MIN_EVENTS]


def scores(points: Sequence[bundled.Run], measure: str) -> list[float]:
    """Return the score of every parameter set that saw enough events."""
    return [run.estimates[measure].score(solve(run.setting)[measure]) for run in counted(points, measure)]


def deviations(points: Sequence[bundled.Run], measure: str) -> list[Estimate]:
    """Return the relative deviation from the chain of every parameter set that saw enough events."""
    return [
        difference(ratio(run.estimates[measure], Estimate(solve(run.setting)[measure], 0.0)), Estimate(1.0, 0.0))
        for run in counted(points, measure)
    ]


def scatter_of_seeds(run: bundled.Run, measure: str = "throughput") -> float:
    """Return the p-value of the variance between seeds against that of the batch means (F test)."""
    count, estimate = len(run.seeds), run.estimates[measure]
    between = float(np.var([seed[measure] for seed in run.seeds], ddof=1))
    within = count * estimate.error**2  # of the mean of one seed
    return variance_test(between, count - 1, within, estimate.dof)


@claim("S04", cases=CASES)
def measure() -> Scores:
    """Score every packet run against the chain."""
    points = [run for case in CASES for run in bundled.runs(case).values()]
    rates = [run.estimates["throughput"] for run in points]
    return Scores(
        {measure: scores(points, measure) for measure in MEASURES},
        {measure: deviations(points, measure) for measure in MEASURES},
        np.array([scatter_of_seeds(run) for run in points]),
        np.array([rate.half_width / rate.value for rate in rates]),
    )


@measure.judge
def judge(
    found: Scores, *, margin: float = 0.03, queues: float = 0.06, rare: float = 0.4, level: float = LEVEL
) -> Judgement:
    """Judge whether all parameter sets are certainly within a margin of the chain.

    That scores look normal would not do: few runs with wide intervals look so whatever they deviate from.
    """
    kinds = {"near": (("throughput",), margin), "queues": (QUEUES, queues), "rare": (RARE, rare)}

    def is_near(measures: Sequence[str], largest: float) -> Verdict:
        apart = [e for measure in measures for e in found.deviations[measure]]
        ends = (combine((Estimate(largest, 0.0), e), (1.0, sign)) for e in apart for sign in (1.0, -1.0))
        return everywhere(ends, level)

    return {key: model_only(is_near(*kind)) for key, kind in kinds.items()}


@measure.draw
def quantiles(found: Scores) -> Figure:
    """Draw the sorted scores over the quantiles of the standard normal law."""
    from scipy import stats

    fig, ax = figure(6.4, 4.2)
    for n, (measure, values) in enumerate(found.by_measure.items()):
        x = stats.norm.ppf((np.arange(len(values)) + 0.5) / len(values))
        name = f"{measure.replace('_', ' ')} ({len(values)})"
        ax.plot(x, sorted(values), "os^Dvx"[n], ms=3, color=COLOURS[n], label=name)
    ax.plot((-FARTHEST, FARTHEST), (-FARTHEST, FARTHEST), color="black", lw=0.8)
    x_label, y_label = "quantile of the standard normal law", "score of the parameter set"
    label(ax, x_label, y_label, xlim=(-3.6, 3.6), ylim=(-4.4, 4.4))
    for side in (-FARTHEST, FARTHEST):
        ax.axhline(side, color="black", ls=":", lw=1)
    ax.legend(loc="center right", bbox_to_anchor=(1.0, 0.3), frameon=False, fontsize=8)
    return fig
