"""The two loss sweeps, one flow over a lossy path in ns-2: their rates over response functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.intervals import t_quantile
from responsefn import AIMD, independent_constant
from validation import evidence
from validation.display.drawing import COLOURS, errorbars
from validation.judgements.verdicts import Verdict
from validation.statistics import LEVEL, Values, within

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

REFERENCE = "TCP(1,1/2)"
RULES = {REFERENCE: (1.0, 1 / 2), "TCP(3/7,1/4)": (3 / 7, 1 / 4), "TCP(1/5,1/8)": (1 / 5, 1 / 8)}
GENTLE = "TCP(1/5,1/8)"
PERIODIC, INDEPENDENT = "periodic", "independent"
CASES = {
    PERIODIC: dict.fromkeys((*RULES, "TFRC"), "zheng2002/periodic-loss"),
    INDEPENDENT: {
        rule: f"zheng2002/independent-loss-{name}"
        for rule, name in zip((*RULES, "TFRC"), ("tcp", "tcp-quarter", "tcp-eighth", "tfrc"), strict=True)
    },
}
"""The bundled case of a sweep that has a rule."""
LIFT = {rule: float(independent_constant(b)) for rule, (_, b) in RULES.items()}
"""Ratio of the rate under independent loss to the square-root law as p -> 0, by rule."""
LARGEST = 10_000  # the claims' smallest p is 1e-4
RAREST = 100_000
COLOUR = dict(zip((*RULES, "TFRC"), COLOURS, strict=False))
MARKER = dict(zip((*RULES, "TFRC"), "osD^", strict=True))
LOOK = 0.01
"""Interval in s at which the simulation samples its counters."""
ONE_SIDED = 1.0 - 2.0 * LEVEL
"""Level of intervals that miss a rate with the probability `LEVEL` to either side, as a comparison with a tolerance needs."""

Steps = Mapping[int, float]
"""A tolerance that widens in steps: by the smallest k = 1/p at which it applies."""


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
        Ratio and half-width of its interval, shape (n,): 99 % confidence to either side (Student's t
        over the seeds); for a single run the discretization of its duration.
    runs
        How many, shape (n,).
    """

    k: Values
    p: Values
    ratio: Values
    half: Values
    runs: NDArray[np.integer[Any]]

    def where(self, keep: NDArray[np.bool_]) -> Points:
        """Return the points that a mask of shape (n,) keeps."""
        return Points(self.k[keep], self.p[keep], self.ratio[keep], self.half[keep], self.runs[keep])

    def between(self, smallest: float, below: float = np.inf) -> Points:
        """Return the points with ``smallest`` <= k < ``below``."""
        return self.where((self.k >= smallest) & (self.k < below))

    def at(self, k: int) -> Points:
        """Return the point at one k."""
        return self.between(k, k + 1)

    def worst(self) -> str:
        """Return the largest deviation from 1, with its interval and its place."""
        at = int(np.argmax(np.abs(self.ratio - 1)))
        deviation, half = 100 * (self.ratio[at] - 1), 100 * self.half[at]
        interval = f" ± {half:.1f}" if half >= 0.05 else ""
        return f"{deviation:+.1f}{interval} % at p = 1/{self.k[at]:g}"

    def largest(self, smallest: int = 1) -> float:
        """Return the largest deviation from 1 in per cent for k >= smallest."""
        return 100 * float(np.max(np.abs(self.between(smallest).ratio - 1)))

    def span(self) -> str:
        """Return the range of p in words."""
        first, last = self.k.max(), self.k.min()
        return f"p = 1/{first:g} to 1/{last:g}" if first > last else f"p = 1/{last:g}"

    def steps(self, steps: Steps) -> list[tuple[float, Points]]:
        """Return each step of a tolerance with the points in it."""
        edges = sorted(steps, reverse=True)
        upper = [np.inf, *edges[:-1]]
        return [(steps[k], self.between(k, above)) for k, above in zip(edges, upper, strict=True)]

    def keeps(self, tolerance: float, level: float = LEVEL) -> Verdict:
        """Return whether every ratio is 1 within a tolerance, with error probability ``level`` to either side."""
        dof = np.maximum(self.runs - 1, 1)
        part = np.where(self.runs > 1, t_quantile(dof, 1.0 - 2.0 * level) / t_quantile(dof, ONE_SIDED), 1.0)
        return within(self.ratio, part * self.half, tolerance)

    def __str__(self) -> str:
        ((ratio, half),) = zip(self.ratio, self.half, strict=True)
        return f"{ratio:.3f} ± {half:.3f}" if half >= 5e-4 else f"{ratio:.3f}"


def rows(sweep: str, rule: str, smallest: int = 1, largest: int = LARGEST) -> pd.DataFrame:
    """Return the runs of one rule with ``smallest`` <= k = 1/p <= ``largest``, smallest p first."""
    table = evidence.frame(CASES[sweep][rule])
    table = table[(table["rule"] == rule) & table["packets_per_loss"].between(smallest, largest)]
    return table.sort_values("packets_per_loss", ascending=False, kind="stable")


def rows_at(sweep: str, rule: str, k: int) -> pd.DataFrame:
    """Return the runs of one rule at one k."""
    runs = rows(sweep, rule)
    return runs[runs["packets_per_loss"] == k]


def bundled(*sweeps: str) -> tuple[str, ...]:
    """Return the names of the cases of loss sweeps."""
    return tuple(dict.fromkeys(case for sweep in sweeps for case in CASES[sweep].values()))


def against(runs: pd.DataFrame, law: Values) -> Points:
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


def _points(runs: pd.DataFrame, ratio: Values) -> Points:
    frame = runs.assign(ratio=ratio, error=ratio * 2 * LOOK / runs["duration"])
    groups = frame.groupby("packets_per_loss", sort=False)
    count = groups.size().to_numpy()
    scatter = groups["ratio"].std().fillna(0.0).to_numpy() / np.sqrt(count)
    quantiles = t_quantile(np.maximum(count - 1, 1), ONE_SIDED)
    half = np.where(count > 1, quantiles * scatter, groups["error"].mean().to_numpy())
    k = groups["packets_per_loss"].first().to_numpy(dtype=np.float64)
    return Points(k, groups["p"].mean().to_numpy(), groups["ratio"].mean().to_numpy(), half, count)


def aimd(runs: pd.DataFrame, form: str, loss: str = "p") -> Values:
    """Return the rate of AIMD at the measured mean RTT and column ``loss`` of each row, packets/s."""
    ((a, b),) = set(zip(runs["increase"], runs["decrease"], strict=True))
    rule = AIMD(float(a), float(b), form=form)
    return np.asarray(rule.rate(runs[loss].to_numpy(), runs["mean_rtt"].to_numpy()))


def over_form(sweep: str, form: str, loss: str = "p") -> dict[str, Points]:
    """Return the rates of every TCP(a, b) over those of a form of AIMD."""
    runs = {rule: rows(sweep, rule) for rule in RULES}
    return {rule: against(each, aimd(each, form, loss)) for rule, each in runs.items()}


def judge_steps(points: Mapping[str, Points], steps: Steps) -> Verdict:
    """Return whether the ratios of all rules keep a tolerance that widens in steps."""
    return Verdict.all_of(
        inside.keeps(tolerance) for each in points.values() for tolerance, inside in each.steps(steps)
    )


def cycle(rule: str, k: int) -> float:
    """Return the measured length of a periodic loss cycle in round trips."""
    runs = rows_at(PERIODIC, rule, k)
    return float((runs["duration"] / runs["drops"] / runs["mean_rtt"]).mean())


def shade(ax: Any, steps: Steps, smallest_p: float = 8e-5) -> None:
    """Shade a tolerance that widens in steps, over p."""
    left = smallest_p
    for k, tolerance in sorted(steps.items(), reverse=True):
        name = None if left > smallest_p else "tolerance"
        ends = 1 - tolerance, 1 + tolerance
        ax.fill_between([left, 1 / k], *ends, color="0.88", zorder=0, lw=0, label=name)
        left = 1 / k
    ax.axhline(1, color="0.4", lw=0.8, zorder=1)


def draw_points(ax: Any, rule: str, points: Points, name: str | None = None, **style: Any) -> None:
    """Draw ratios with their intervals in the colour and marker of a rule."""
    chosen = {"color": COLOUR[rule], "linestyle": "none", "label": name or rule, **style}
    marker = chosen.pop("marker", MARKER[rule])
    errorbars(ax, points.p, points.ratio, points.half, marker, **chosen)
