"""The evidence of malhotra2005 against itself: the pause tandem in ns-3 beside pi Q = 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from hopflow.results import COLOURS, figure
from validation.claims.malhotra2005.chain import solve
from validation.claims.malhotra2005.packets import (
    GRANULARITY,
    LEVELS,
    LOW_THRESHOLD,
    OFF,
    THRESHOLDS,
    Run,
    runs,
)
from validation.claims.malhotra2005.significance import LEVEL, p_text
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure


CASES = (
    THRESHOLDS,
    GRANULARITY,
    LOW_THRESHOLD,
    OFF,
    LEVELS,
    "malhotra2005/pause-recovery-up",
    "malhotra2005/pause-both-rules",
    "malhotra2005/pause-large-rtt",
    "malhotra2005/pause-load",
    "malhotra2005/pause-signalling",
)
FARTHEST = 4.0
MANY = 1000
"""Events (losses, pauses) in all seeds below which a rate is not tested: its law is skew."""

MEASURES = {
    "throughput": None,
    "mean_queue_1": None,
    "mean_queue_2": None,
    "loss_rate_1": "dropped_1",
    "loss_rate_2": "dropped_2",
    "pause_fraction": "pauses",
}
"""What is compared, and the events that it counts."""


class Normality(NamedTuple):
    """Whether independent scores look standard normal."""

    number: int
    squares: float
    p_squares: float
    p_shape: float
    largest: float

    @property
    def holds(self) -> bool:
        """Neither test rejects, at `LEVEL` over the measures (Bonferroni), and none is too far."""
        level = LEVEL / len(MEASURES)
        return min(self.p_squares, self.p_shape) > level and self.largest < FARTHEST

    def __str__(self) -> str:
        return (
            f"{self.number} scores: chi2 = {self.squares:.0f}, {p_text(self.p_squares)}; "
            f"Kolmogorov-Smirnov {p_text(self.p_shape)}; largest {self.largest:.2f}"
        )


def normality(scores: Sequence[float]) -> Normality:
    """Test scores against the standard normal law: their squares (two-sided) and their shape."""
    squares = math.fsum(z * z for z in scores)
    law = stats.chi2(len(scores))
    p_squares = 2.0 * min(float(law.sf(squares)), float(law.cdf(squares)))
    p_shape = float(stats.kstest(scores, "norm").pvalue)
    return Normality(
        len(scores), squares, min(1.0, p_squares), p_shape, float(max(map(abs, scores)))
    )


def events(run: Run, kind: str) -> float:
    """Return the losses or pauses that a parameter set saw, all seeds together."""
    if kind == "pauses":
        return math.fsum(seed["pause_rate"] * seed["measured_time"] for seed in run.seeds)
    return math.fsum(seed[kind] for seed in run.seeds)


def scores(points: Sequence[Run], measure: str) -> list[float]:
    """Return the score of every parameter set that saw enough events."""
    kind = MEASURES[measure]
    return [
        run.estimates[measure].score(solve(run.setting)[measure])
        for run in points
        if kind is None or events(run, kind) >= MANY
    ]


def scatter_of_seeds(run: Run, measure: str = "throughput") -> float:
    """Return the p-value of the variance between seeds against that of the batch means (F test)."""
    count, dof = len(run.seeds), run.estimates[measure].dof
    between = np.var([seed[measure] for seed in run.seeds], ddof=1)
    within = count * run.estimates[measure].error ** 2  # of the mean of one seed
    return float(stats.f.sf(between / within, count - 1, dof))


@claim("S04")
def pause_tandem_against_the_chain() -> Finding:
    """Check that ns-3's pause tandem agrees with pi Q = 0, as far as chance lets it."""
    points = [run for case in CASES for run in runs(case).values()]
    by_measure = {measure: scores(points, measure) for measure in MEASURES}
    tests = {measure: normality(z) for measure, z in by_measure.items()}
    headline = tests["throughput"]
    rest = [test for measure, test in tests.items() if measure != "throughput"]
    total = sum(test.number for test in tests.values())
    by_chance = -math.expm1(total * math.log1p(-2.0 * float(stats.norm.sf(FARTHEST))))
    uniform = [scatter_of_seeds(run) for run in points]
    seeds = stats.kstest(uniform, "uniform")
    widths = [
        run.estimates["throughput"].half_width / run.estimates["throughput"].value for run in points
    ]

    def draw() -> Figure:
        fig, ax = figure(6.4, 4.2)
        for n, (measure, z) in enumerate(by_measure.items()):
            quantiles = stats.norm.ppf((np.arange(len(z)) + 0.5) / len(z))
            label = f"{measure.replace('_', ' ')} ({len(z)})"
            ax.plot(quantiles, sorted(z), "os^Dvx"[n], ms=3, color=COLOURS[n], label=label)
        ax.plot((-FARTHEST, FARTHEST), (-FARTHEST, FARTHEST), color="black", lw=0.8)
        ax.set(
            xlim=(-3.6, 3.6),
            ylim=(-4.4, 4.4),
            xlabel="quantile of the standard normal law",
            ylabel="score of the parameter set",
        )
        for side in (-FARTHEST, FARTHEST):
            ax.axhline(side, color="black", ls=":", lw=1)
        ax.legend(loc="center right", bbox_to_anchor=(1.0, 0.3), frameon=False, fontsize=8)
        return fig

    return Finding(
        parts=(
            Part(
                "throughput: the scores are standard normal, none beyond 4",
                Verdict.NOT_APPLICABLE,
                Verdict.of(headline.holds),
            ),
            Part(
                "so are those of queues, losses and the time paused",
                Verdict.NOT_APPLICABLE,
                Verdict.of(all(test.holds for test in rest)),
            ),
        ),
        summary=(
            f"Over {len(points)} parameter sets, both readings of rules 6 and 13 among them, the "
            f"throughput in packets deviates from pi Q = 0 as chance would have it "
            f"(chi2 = {headline.squares:.0f}, {p_text(headline.p_squares)}; largest score "
            f"{headline.largest:.2f})."
        ),
        numbers=(
            *(
                Number(
                    measure.replace("_", " "),
                    simulation=str(test),
                    tolerance=(
                        f"normal unless p < {LEVEL:g}/{len(MEASURES)} (Bonferroni over the "
                        "measures), chi-square two-sided; batch means, Student's t turned into "
                        "the normal score of equal probability"
                        + (f"; at least {MANY} {MEASURES[measure]}" if MEASURES[measure] else "")
                    ),
                )
                for measure, test in tests.items()
            ),
            Number(
                f"largest of all {total} scores",
                simulation=f"{max(test.largest for test in tests.values()):.2f}",
                tolerance=f"one beyond 4 has probability {by_chance:.2f} by chance",
            ),
            Number(
                "scatter of the seeds against that of their batch means, throughput (F tests)",
                simulation=f"smallest p = {min(uniform):.1g} of {len(uniform)}; uniform: "
                f"{p_text(float(seeds.pvalue))}",
                tolerance="p-values uniform (Kolmogorov-Smirnov): batches are long enough",
            ),
            Number(
                "relative half width of the throughput (95 %)",
                simulation=f"median {100 * float(np.median(widths)):.2f} %, largest "
                f"{100 * max(widths):.2f} %",
                tolerance="a gain of 1 % shows",
            ),
        ),
        pictures=(
            Picture(
                draw,
                "Scores of the packet runs against pi Q = 0, sorted, over the quantiles of the "
                "standard normal law; the number of parameter sets in brackets. Dotted: 4.",
                "Quantile plot: the points of all six measures lie on the diagonal, between "
                "minus 4 and 4.",
            ),
        ),
        cases=CASES,
    )
