"""Decisions: each function returns the verdict on one kind of statement."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from hopflow.intervals import clopper_pearson
from validation.judgements.verdicts import Verdict
from validation.statistics.estimates import Estimate, Values
from validation.statistics.intervals import Swing, bounds
from validation.statistics.significance import rank_test

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def everywhere(estimates: Iterable[Estimate], level: float) -> Verdict:
    """Return whether all of several quantities are positive.

    HOLDS when each one is, at ``level``: an intersection-union test, which needs no correction
    since all have to pass. CONTRADICTED when one of them is negative at ``level`` over their number
    (Bonferroni), or is exact and not positive: without noise there is nothing left open. INCONCLUSIVE
    otherwise. Of runs that happen to be equal at least seven decide at 0.01, by their signs.

    Examples
    --------
    >>> print(everywhere([Estimate(5.0, 1.0), Estimate(4.0, 1.0)], 0.01))
    holds
    >>> print(everywhere([Estimate(5.0, 1.0), Estimate(1.0, 1.0)], 0.01))
    inconclusive
    >>> print(everywhere([Estimate(0.0, 0.0)], 0.01))
    contradicted
    """
    estimates = list(estimates)
    if all(e.p_positive() < level for e in estimates):
        return Verdict.HOLDS
    if any(e.exact and e.value <= 0.0 for e in estimates):
        return Verdict.CONTRADICTED
    if any((-e).p_positive() < level / len(estimates) for e in estimates):
        return Verdict.CONTRADICTED
    return Verdict.INCONCLUSIVE


def within(values: ArrayLike, half: ArrayLike, tolerance: float, target: float = 1.0) -> Verdict:
    """Return whether several quantities are a target within a tolerance.

    HOLDS when every interval lies inside the tolerance, CONTRADICTED when one lies outside.

    Parameters
    ----------
    values, half
        The quantities and the half-widths of their intervals, shape (n,).
    tolerance
        The largest difference allowed.

    Examples
    --------
    >>> print(within([1.02, 0.97], half=[0.01, 0.01], tolerance=0.05))
    holds
    """
    deviation = np.abs(np.asarray(values, dtype=np.float64) - target)
    widths = np.asarray(half, dtype=np.float64)
    inside, outside = deviation + widths <= tolerance, deviation - widths > tolerance
    return Verdict.of(bool(inside.all()), bool(outside.any()))


def below(ends: tuple[float, float], limit: float, margin: float = 0.0) -> Verdict:
    """Return whether an interval, widened by a margin, lies below a limit; above is the opposite."""
    low, high = ends
    return Verdict.of(high + margin < limit, low - margin > limit)


def ranked(larger: Values, smaller: Values, level: float) -> Verdict:
    """Return whether runs of one kind rank above those of another (`rank_test`).

    HOLDS when the test rejects the opposite at ``level``, CONTRADICTED when it rejects the statement.

    Examples
    --------
    >>> runs = np.arange(8.0)
    >>> print(ranked(runs + 4.0, runs, 0.01), ranked(runs + 4.0, runs, 0.001), sep=", ")
    holds, inconclusive
    """
    return Verdict.of(rank_test(larger, smaller) < level, rank_test(smaller, larger) < level)


def monotone(steps: ArrayLike) -> Verdict:
    """Return whether an exact quantity grows at every step; one step down is the opposite.

    Examples
    --------
    >>> print(monotone(np.diff([0.1, 4.8, 13.8])))
    holds
    """
    return Verdict.of(bool(np.all(np.asarray(steps, dtype=np.float64) > 0)))


def absent(events: Iterable[bool], level: float) -> Verdict:
    """Return whether an event is absent: it occurs in fewer than half of independent runs, by a sign test.

    Seven runs without it suffice at 0.01, fewer do not: an event that occurs in half of the runs is absent from five of
    five in 3 per cent of the cases.

    Examples
    --------
    >>> print(absent([False] * 5, 0.01), absent([False] * 7, 0.01), sep=", ")
    inconclusive, holds
    """
    return mostly((not event for event in events), level)


def mostly(holds: Iterable[bool], level: float) -> Verdict:
    """Return whether a statement holds in most of independent runs, by a sign test.

    HOLDS when at least so many runs would hold by chance with a probability below ``level`` if half
    of all runs did; CONTRADICTED when at most so many would. A few runs decide nothing.

    Examples
    --------
    >>> print(mostly([True] * 14 + [False] * 2, 0.01), mostly([True] * 3, 0.01), sep=", ")
    holds, inconclusive
    """
    flags = [bool(flag) for flag in holds]
    at_least, at_most = _tails_of_coins(sum(flags), len(flags))
    return Verdict.of(at_least < level, at_most < level)


@functools.lru_cache(maxsize=4096)
def _tails_of_coins(heads: int, coins: int) -> tuple[float, float]:
    """Return the probabilities of at least, and of at most, a number of heads among fair coins."""
    from scipy import stats

    return float(stats.binom.sf(heads - 1, coins, 0.5)), float(stats.binom.cdf(heads, coins, 0.5))


def covers(inside: Iterable[bool], confidence: float, slack: float, level: float) -> Verdict:
    """Return whether intervals contain what they should at least as often as ``confidence`` less ``slack``.

    HOLDS when the lower limit of Clopper and Pearson for the part that does is at least that, CONTRADICTED when the upper
    limit is below ``confidence``.

    Examples
    --------
    >>> print(covers([True] * 8, 0.95, 0.1, 0.01), covers([True] * 60 + [False] * 2, 0.95, 0.1, 0.01), sep=", ")
    inconclusive, holds
    """
    flags = [bool(flag) for flag in inside]
    low, high = clopper_pearson(sum(flags), len(flags) - sum(flags), level)
    return Verdict.of(low >= confidence - slack, high < confidence)


def settles(runs: Swing, target: float, near: float, level: float) -> Verdict:
    """Return whether runs stay at a target: their means, and their swings, within ``near`` of it on average.

    HOLDS when Student's intervals at ``level`` lie within ``near``, CONTRADICTED when one lies outside. A
    single run, such as that of a model without noise, decides by itself.
    """
    (low, high), (least, most) = bounds(runs.mean - target, level), bounds(runs.absolute, level)
    inside = -near < low and high < near and most < near
    return Verdict.of(inside, high <= -near or low >= near or least >= near)


def swings(deviations: Values, least: float, steady: float, level: float) -> Verdict:
    """Return whether runs move by more than ``least`` on average, by Student's interval at ``level``.

    That they move by less than ``steady`` is the opposite. ``deviations`` are absolute or relative
    (`Swing`), shape (runs,), at one bin. A single run decides by itself.
    """
    low, high = bounds(deviations, level)
    return Verdict.of(low > least, high < steady)
