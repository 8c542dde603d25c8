"""The two loss sweeps, one flow over a lossy path in ns-2: their rates over response functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopflow.results import COLOURS
from responsefn import AIMD, independent_constant
from validation import evidence
from validation.verdicts import Number, Verdict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = [
    "INDEPENDENT",
    "LIFT",
    "PERIODIC",
    "RULES",
    "Points",
    "against",
    "aimd",
    "band",
    "bundled",
    "judge",
    "judge_steps",
    "largest_deviation",
    "paired",
    "rows",
    "span",
    "step_numbers",
    "step_text",
]

RULES = {"TCP(1,1/2)": (1.0, 1 / 2), "TCP(3/7,1/4)": (3 / 7, 1 / 4), "TCP(1/5,1/8)": (1 / 5, 1 / 8)}
PERIODIC = "periodic"
INDEPENDENT = "independent"
CASES = {
    PERIODIC: dict.fromkeys((*RULES, "TFRC"), "zheng2002/periodic-loss"),
    INDEPENDENT: {
        rule: f"zheng2002/independent-loss-{name}"
        for rule, name in zip(
            (*RULES, "TFRC"), ("tcp", "tcp-quarter", "tcp-eighth", "tfrc"), strict=True
        )
    },
}
"""The bundled case of a sweep that has a rule."""
LIFT = {rule: float(independent_constant(b)) for rule, (_, b) in RULES.items()}
"""How far independent loss lifts a rule above its square-root law as p -> 0."""
LARGEST = 10_000  # the claims' smallest p is 1e-4
RAREST = 100_000
BEYOND = "none claimed: the claim begins at p = 1e-4"
COLOUR = dict(zip((*RULES, "TFRC"), COLOURS, strict=False))
MARKER = dict(zip((*RULES, "TFRC"), "osD^", strict=True))
LOOK = 0.01  # s, between two looks of the simulation at its counters
CONFIDENCE = 0.95

MEASURED_BEFORE = "model bias, measured on earlier runs than these"
SEEDS = f"{MEASURED_BEFORE}; ± sampling, 95 % to either side by five seeds"


@dataclass(frozen=True)
class Points:
    """Ratios of simulated rates to something, one per k, with their intervals.

    Attributes
    ----------
    k
        Packets per loss, shape (n,).
    p
        Measured loss rates, shape (n,).
    ratio, half
        Ratio and half-width of its interval, shape (n,): 95 % confidence to either side, as a
        one-sided comparison with a tolerance needs it (Student's t over the seeds); for a single
        run the discretization of its duration.
    """

    k: NDArray[np.float64]
    p: NDArray[np.float64]
    ratio: NDArray[np.float64]
    half: NDArray[np.float64]

    def where(self, keep: NDArray[np.bool_]) -> Points:
        """Return the points that a mask of shape (n,) keeps."""
        return Points(self.k[keep], self.p[keep], self.ratio[keep], self.half[keep])

    def between(self, smallest: float, below: float = np.inf) -> Points:
        """Return the points with ``smallest`` <= k < ``below``."""
        return self.where((self.k >= smallest) & (self.k < below))

    def worst(self) -> str:
        """Return the largest deviation from 1, with its interval and its place."""
        at = int(np.argmax(np.abs(self.ratio - 1)))
        deviation, half = 100 * (self.ratio[at] - 1), 100 * self.half[at]
        interval = f" ± {half:.1f}" if half >= 0.05 else ""
        return f"{deviation:+.1f}{interval} % at p = 1/{self.k[at]:g}"


def rows(sweep: str, rule: str, smallest: int = 1, largest: int = LARGEST) -> pd.DataFrame:
    """Return the runs of one rule with ``smallest`` <= k = 1/p <= ``largest``, smallest p first."""
    table = evidence.table(CASES[sweep][rule])
    table = table[(table["rule"] == rule) & table["packets_per_loss"].between(smallest, largest)]
    return table.sort_values("packets_per_loss", ascending=False, kind="stable")


def bundled(*sweeps: str) -> tuple[str, ...]:
    """Return the cases that sweeps are in."""
    return tuple(dict.fromkeys(case for sweep in sweeps for case in CASES[sweep].values()))


def against(runs: pd.DataFrame, law: NDArray[np.float64]) -> Points:
    """Return simulated rates over those of a law.

    Parameters
    ----------
    runs
        Rows of a case, n of them.
    law
        Rate in packets/s at the p and mean RTT of each row, shape (n,).
    """
    return _points(runs, runs["rate"].to_numpy() / law)


def paired(runs: pd.DataFrame, reference: pd.DataFrame) -> Points:
    """Return rates over those of a reference at the same k and seed (the same random numbers)."""
    keys = [key for key in ("packets_per_loss", "seed") if key in runs]
    both = runs.merge(reference, on=keys, suffixes=("", "_reference"), validate="one_to_one")
    return _points(both, (both["rate"] / both["rate_reference"]).to_numpy())


def _points(runs: pd.DataFrame, ratio: NDArray[np.float64]) -> Points:
    from scipy.stats import t as student

    frame = runs.assign(ratio=ratio, error=ratio * 2 * LOOK / runs["duration"])
    groups = frame.groupby("packets_per_loss", sort=False)
    count = groups.size().to_numpy()
    quantile = student.ppf(CONFIDENCE, np.maximum(count - 1, 1))
    scatter = quantile * groups["ratio"].std().fillna(0.0).to_numpy() / np.sqrt(count)
    half = np.where(count > 1, scatter, groups["error"].mean().to_numpy())
    k = groups["packets_per_loss"].first().to_numpy(dtype=np.float64)
    return Points(k, groups["p"].mean().to_numpy(), groups["ratio"].mean().to_numpy(), half)


def aimd(runs: pd.DataFrame, form: str, loss: str = "p") -> NDArray[np.float64]:
    """Return the rate of AIMD at the measured mean RTT and column ``loss`` of each row, packets/s."""
    ((a, b),) = set(zip(runs["increase"], runs["decrease"], strict=True))
    rule = AIMD(float(a), float(b), form=form)
    return np.asarray(rule.rate(runs[loss].to_numpy(), runs["mean_rtt"].to_numpy()))


def judge(points: Points, tolerance: float) -> Verdict:
    """Decide whether ratios are 1 within a tolerance.

    Reproduced when every interval lies inside of it, contradicted when one lies outside, not
    reproduced when neither can be said.
    """
    deviation = np.abs(points.ratio - 1)
    return Verdict.of(
        bool(np.all(deviation + points.half <= tolerance)),
        bool(np.any(deviation - points.half > tolerance)),
    )


def band(points: Points, steps: Mapping[int, float]) -> list[tuple[int, float, Points]]:
    """Return for each step of a tolerance the smallest k, the tolerance and the points in it."""
    edges = sorted(steps, reverse=True)
    upper = [np.inf, *edges[:-1]]
    return [(k, steps[k], points.between(k, above)) for k, above in zip(edges, upper, strict=True)]


def judge_steps(points: Mapping[str, Points], steps: Mapping[int, float]) -> Verdict:
    """Decide whether the ratios of all rules keep a tolerance that widens in steps."""
    return Verdict.all_of(
        judge(inside, tolerance)
        for each in points.values()
        for _, tolerance, inside in band(each, steps)
    )


def span(points: Points) -> str:
    """Return the range of p in words."""
    first, last = points.k.max(), points.k.min()
    return f"p = 1/{first:g} to 1/{last:g}" if first > last else f"p = 1/{last:g}"


def step_numbers(
    points: Mapping[str, Points],
    steps: Mapping[int, float],
    law: str,
    reason: str = MEASURED_BEFORE,
) -> list[Number]:
    """Return a row for each rule and each step of a tolerance: the largest deviation in it."""
    return [
        Number(
            f"{rule}: ns-2 over {law}, {span(inside)}",
            simulation=inside.worst(),
            tolerance=f"{100 * tolerance:g} %: {reason}",
        )
        for rule, each in points.items()
        for _, tolerance, inside in band(each, steps)
    ]


def step_text(steps: Mapping[int, float]) -> str:
    """Return the steps of a tolerance in words."""
    return ", ".join(f"{100 * steps[k]:g} % to p = 1/{k}" for k in sorted(steps, reverse=True))


def loss_axis(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlabel("loss rate p (1)")


def shade(axes: Axes, steps: Mapping[int, float], smallest_p: float = 8e-5) -> None:
    left = smallest_p
    for label, (k, tolerance) in enumerate(sorted(steps.items(), reverse=True)):
        axes.fill_between(
            [left, 1 / k],
            1 - tolerance,
            1 + tolerance,
            color="0.88",
            zorder=0,
            linewidth=0,
            label=None if label else "tolerance",
        )
        left = 1 / k
    axes.axhline(1, color="0.4", linewidth=0.8, zorder=1)


def errorbar(axes: Axes, rule: str, points: Points, label: str | None = None) -> None:
    axes.errorbar(
        points.p,
        points.ratio,
        yerr=points.half,
        fmt=MARKER[rule],
        color=COLOUR[rule],
        markersize=4,
        capsize=2,
        linestyle="none",
        label=rule if label is None else label,
    )


def largest_deviation(points: Mapping[str, Points], smallest: int) -> float:
    """Return the largest deviation from 1 in % for k >= smallest."""
    return 100 * max(
        float(np.max(np.abs(each.between(smallest).ratio - 1))) for each in points.values()
    )
