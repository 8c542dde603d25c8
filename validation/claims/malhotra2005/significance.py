"""Tests of what packet runs show, and of their agreement with the chain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scipy import stats

from validation.claims.malhotra2005.chain import solve
from validation.claims.malhotra2005.packets import Estimate, Run
from validation.verdicts import Number, Verdict

LEVEL = 0.01
"""Level of every test: 99 % confidence, after the correction for their number."""


def everywhere(estimates: Iterable[Estimate]) -> Verdict:
    """Return whether all of the quantities are positive.

    REPRODUCED when each one is, at `LEVEL`: an intersection-union test, which needs no correction
    since all have to pass. CONTRADICTED when some one is negative at `LEVEL` over their number
    (Bonferroni). NOT_REPRODUCED otherwise.
    """
    estimates = list(estimates)
    if all(e.p_positive() < LEVEL for e in estimates):
        return Verdict.REPRODUCED
    if any((-e).p_positive() < LEVEL / len(estimates) for e in estimates):
        return Verdict.CONTRADICTED
    return Verdict.NOT_REPRODUCED


def opposite(verdict: Verdict) -> Verdict:
    """Return the verdict on the opposite statement."""
    swap = {Verdict.REPRODUCED: Verdict.CONTRADICTED, Verdict.CONTRADICTED: Verdict.REPRODUCED}
    return swap.get(verdict, verdict)


class Outcome(NamedTuple):
    """A test statistic with its degrees of freedom and p-value."""

    statistic: float
    dof: int
    p: float


def chi2_test(scores: Sequence[float]) -> Outcome:
    """Return the chi-square test that independent scores are standard normal."""
    statistic = math.fsum(z * z for z in scores)
    return Outcome(statistic, len(scores), float(stats.chi2.sf(statistic, len(scores))))


def welch_test(estimates: Sequence[Estimate]) -> Outcome:
    """Return Welch's test that k independent means with unequal errors are equal.

    B. L. Welch, On the comparison of several mean values, Biometrika 38, 1951: the chi-square
    statistic of homogeneity, corrected for errors that are themselves estimated.
    """
    k = len(estimates)
    weights = [1.0 / e.error**2 for e in estimates]
    total = math.fsum(weights)
    mean = math.fsum(w * e.value for w, e in zip(weights, estimates, strict=True)) / total
    chi2 = math.fsum(w * (e.value - mean) ** 2 for w, e in zip(weights, estimates, strict=True))
    spread = math.fsum(
        (1.0 - w / total) ** 2 / e.dof for w, e in zip(weights, estimates, strict=True)
    )
    f = chi2 / (k - 1) / (1.0 + 2.0 * (k - 2) / (k * k - 1) * spread)
    return Outcome(chi2, k - 1, float(stats.f.sf(f, k - 1, (k * k - 1) / (3.0 * spread))))


def p_text(p: float) -> str:
    """Return a p-value as text."""
    return f"p = {p:.3f}" if p >= 0.001 else f"p = {p:.0e}"


def agreement(measured: Iterable[Run], what: str, measure: str = "throughput") -> Number:
    """Return the row that compares the chain with packet runs, point by point."""
    pairs = [(run.estimates[measure], solve(run.setting)[measure]) for run in measured]
    test = chi2_test([e.score(expected) for e, expected in pairs])
    worst = max(abs(e.value / expected - 1.0) for e, expected in pairs)
    return Number(
        f"chain against packets, {measure.replace('_', ' ')}: {what}",
        model=f"{len(pairs)} points",
        simulation=(
            f"chi2 = {test.statistic:.1f}, {test.dof} degrees of freedom, {p_text(test.p)}; "
            f"largest difference {100 * worst:.2f} %"
        ),
        tolerance="scores from batch means, Student's law; they agree when p > 0.01",
    )
