"""Mixtures of Erlang distributions fitted to times: by likelihood alone, or with the first moments of the times.

Of given branches, the EM algorithm climbs to a local maximum of the likelihood (A. Thummler, P. Buchholz, M. Telek, A
novel approach for phase-type fitting with the EM algorithm, IEEE Transactions on Dependable and Secure Computing 3(3),
2006). It matches the mean and no other moment: where the density of the times has peaks that few phases cannot follow,
the likelihood is highest with another variance. So the likelihood is also maximized subject to equal moments, by
sequential quadratic programming (D. Kraft, A software package for sequential quadratic programming, DFVLR-FB 88-28,
1988). Three moments are within the reach of two branches of equal order if the order is large enough (M. A. Johnson,
M. R. Taaffe, Matching moments to phase distributions: mixtures of Erlang distributions of common order, Stochastic
Models 5, 1989), which also gives a start.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Groups", "HyperErlang", "free_fits", "grouped", "log_likelihood", "matched_fits", "may_match"]

MAX_VALUES = 300
"""Number of different times up to which each is a group of its own."""
GROUP_WIDTH = 0.02
"""Width of the other groups, relative to the times. The log density of an Erlang distribution of order k over log time has
curvature of about k, so that a group's mean stands for its times up to k * 2e-5 of the log-likelihood of each."""
ALL_DIVISIONS = 12
"""Number of phases up to which all divisions into branches are tried; beyond it those into one or two."""
EM_ROUNDS, EM_GAIN = 150, 1e-8
"""Iterations of the EM algorithm at most, and relative gain that ends them."""
PROGRAM_ROUNDS, PROGRAM_TOLERANCE = 200, 1e-9
MAX_STAGNANT = 10
"""Starts in a row without a gain that end the search for a fit with equal moments."""
MATCHED = 1e-7
"""Relative difference of moments that counts as equal."""
LOG_RANGE = 25.0
"""Range of log rates, for times with a mean of one."""


class HyperErlang(NamedTuple):
    """A mixture of Erlang distributions.

    Attributes
    ----------
    orders, weights, rates
        Phases, probability and rate of the phases of each branch, shape (B,).
    log_likelihood
        Of all times, as far as the groups resolve it.
    """

    orders: tuple[int, ...]
    weights: Floats
    rates: Floats
    log_likelihood: float

    def moments(self, count: int) -> Floats:
        """Return E X^j for j = 1 .. count."""
        return _moments_of_branches(self.orders, self.rates, count) @ self.weights


class Groups(NamedTuple):
    """Times of mean one with their numbers, shape (G,), and their raw moments 1 to 3."""

    values: Floats
    counts: Floats
    moments: Floats

    @property
    def total(self) -> float:
        """Number of times."""
        return float(self.counts.sum())


def grouped(times: Floats) -> Groups:
    """Return times of mean one as groups of nearly equal ones; the moments are those of the times themselves."""
    moments = np.array([np.mean(times**j) for j in (1, 2, 3)])
    values, counts = np.unique(times, return_counts=True)
    if len(values) > MAX_VALUES:
        number = np.floor(np.log(values) / GROUP_WIDTH).astype(np.int64)
        _, number = np.unique(number, return_inverse=True)
        sums = np.bincount(number, counts * values)
        counts = np.bincount(number, counts)
        values = sums / counts
    return Groups(values, counts.astype(float), moments)


def log_likelihood(times: Floats, fit: HyperErlang) -> float:
    """Return the log-likelihood of all times, without grouping them."""
    return _expectation(Groups(times, np.ones(len(times)), np.zeros(3)), fit.orders, fit.weights, fit.rates)[0]


def free_fits(groups: Groups, phases: int) -> list[HyperErlang]:
    """Return the fits of the EM algorithm, one or two for each division into branches, by falling likelihood."""
    fits = []
    for orders in progress_bar(list(_divisions(phases)), desc="phase-type fits by likelihood"):
        fits += [_climb(groups, orders, direction) for direction in ((1, -1) if len(set(orders)) > 1 else (1,))]
    return sorted(fits, key=lambda fit: -fit.log_likelihood)


def matched_fits(groups: Groups, free: Sequence[HyperErlang], count: int) -> list[HyperErlang]:
    """Return fits with the first ``count`` moments of the times, by falling likelihood.

    A condition lowers the likelihood, so divisions are tried by falling likelihood without it, until that is below the
    largest with it, or `MAX_STAGNANT` in a row have not raised it.

    Parameters
    ----------
    groups
        Times of mean one.
    free
        Fits without the condition, from `free_fits`: they are the starts.
    count
        2 or 3.
    """
    fits: list[HyperErlang] = []
    largest, stagnant = -math.inf, 0
    for start in progress_bar(free, desc=f"phase-type fits with {count} moments"):
        if start.log_likelihood < largest or stagnant == MAX_STAGNANT:
            break
        if not may_match(groups, max(start.orders), count):
            continue
        starts = [start, *_two_point_starts(groups, start.orders)] if len(start.orders) > 1 else []
        fits += [fit for fit in (_match(groups, each, count) for each in starts) if fit is not None]
        before, largest = largest, max((fit.log_likelihood for fit in fits), default=-math.inf)
        stagnant = stagnant + 1 if before == largest > -math.inf else 0
    return sorted(fits, key=lambda fit: -fit.log_likelihood)


def may_match(groups: Groups, order: int, count: int) -> bool:
    """Return whether branches of at most an order may have the first moments of the times: necessary conditions.

    E X^2 / (E X)^2 of an Erlang distribution of order k is (k + 1) / k, and E X E X^3 / (E X^2)^2 is (k + 2) / (k + 1).
    By the inequality of Cauchy and Schwarz no mixture is below the values of its largest order.
    """
    m1, m2, m3 = groups.moments
    by_second = m2 / m1**2 > (order + 1.0) / order
    return bool(by_second and (count == 2 or m1 * m3 / m2**2 > (order + 2.0) / (order + 1.0)))


def _divisions(phases: int) -> Iterator[tuple[int, ...]]:
    """Yield ascending sums of a number: all of them, or those of at most two terms."""
    if phases <= ALL_DIVISIONS:
        yield from _sums(phases, 1)
    else:
        yield from ((phases,), *((first, phases - first) for first in range(1, phases // 2 + 1)))


def _sums(total: int, minimum: int) -> Iterator[tuple[int, ...]]:
    """Yield the ascending sums of a number whose terms have a minimum."""
    yield (total,)
    for first in range(minimum, total // 2 + 1):
        for others in _sums(total - first, first):
            yield (first, *others)


def _log_densities(values: Floats, orders: tuple[int, ...], rates: Floats) -> Floats:
    """Return the log density of each branch at each value, shape (B, G)."""
    k = np.array(orders, dtype=float)[:, None]
    constants = np.array([math.lgamma(order) for order in orders])[:, None]
    densities: Floats = k * np.log(rates)[:, None] + (k - 1.0) * np.log(values) - rates[:, None] * values - constants
    return densities


def _expectation(groups: Groups, orders: tuple[int, ...], weights: Floats, rates: Floats) -> tuple[float, Floats]:
    """Return the log-likelihood, and the expected number of times of each branch in each group, shape (B, G)."""
    with np.errstate(divide="ignore"):
        logs = np.log(weights)[:, None] + _log_densities(groups.values, orders, rates)
    top = logs.max(axis=0)
    parts = np.exp(logs - top)
    total = parts.sum(axis=0)
    likelihood = float(groups.counts @ (top + np.log(total)))
    return likelihood, parts * (groups.counts / total)


def _climb(groups: Groups, orders: tuple[int, ...], direction: int) -> HyperErlang:
    """Return the fit of the EM algorithm, from branches in the order of the times' quantiles, or the reverse."""
    size = len(orders)
    ranks = np.cumsum(groups.counts) / groups.total
    middles = np.interp((np.arange(size) + 0.5) / size, ranks, groups.values)[::direction]
    weights, rates = np.full(size, 1.0 / size), np.array(orders) / middles
    before = -math.inf
    for _ in range(EM_ROUNDS):
        likelihood, expected = _expectation(groups, orders, weights, rates)
        if likelihood - before <= EM_GAIN * abs(likelihood):
            break
        before = likelihood
        sizes = expected.sum(axis=1)
        weights = sizes / groups.total
        rates = np.array(orders) * sizes / np.maximum(expected @ groups.values, 1e-300)
    return HyperErlang(orders, weights, rates, likelihood)


def _two_point_starts(groups: Groups, orders: tuple[int, ...]) -> list[HyperErlang]:
    """Return starts whose branches have one of the two means of Johnson and Taaffe, in two arrangements."""
    m1, m2, m3 = groups.moments
    for k in range(1, 100):
        second, third = m2 * k / (k + 1.0), m3 * k * k / ((k + 1.0) * (k + 2.0))
        spread, determinant = second - m1 * m1, m1 * third - second * second
        if spread > 0.0 and determinant > 0.0:
            break
    else:
        return []
    sum_of_means, product = (third - m1 * second) / spread, determinant / spread
    high = 0.5 * (sum_of_means + math.sqrt(max(sum_of_means**2 - 4.0 * product, 0.0)))
    low = product / high
    part = min(max((m1 - low) / max(high - low, 1e-300), 1e-6), 1.0 - 1e-6)
    size, starts = len(orders), []
    for longest in {0, size - 1}:
        long = np.arange(size) == longest
        weights = np.where(long, part, (1.0 - part) / (size - 1))
        # equal branches would stay equal: the short ones are spread by half
        means = np.where(long, high, low * np.linspace(0.75, 1.25, size))
        starts.append(HyperErlang(orders, weights, np.array(orders) / means, -math.inf))
    return starts


def _moments_of_branches(orders: tuple[int, ...], rates: Floats, count: int) -> Floats:
    """Return E X^j of each branch, shape (count, B)."""
    k = np.array(orders, dtype=float)
    factors = np.cumprod([k + j for j in range(count)], axis=0)
    moments: Floats = factors / rates ** np.arange(1, count + 1)[:, None]
    return moments


def _match(groups: Groups, start: HyperErlang, count: int) -> HyperErlang | None:
    """Return the likeliest fit near a start with the first moments of the times; None where none was reached.

    The variables are logarithms of weights, up to a common factor, and of rates.
    """
    from scipy import optimize

    minimize: Any = optimize.minimize  # its stubs know no gradient in the value
    size, orders = len(start.orders), start.orders
    k, targets, powers = np.array(orders, dtype=float), groups.moments[:count], np.arange(1, count + 1)[:, None]

    def parts(x: Floats) -> tuple[Floats, Floats]:
        weights = np.exp(x[:size] - x[:size].max())
        return weights / weights.sum(), np.exp(x[size:])

    def loss(x: Floats) -> tuple[float, Floats]:
        weights, rates = parts(x)
        likelihood, expected = _expectation(groups, orders, np.maximum(weights, 1e-300), rates)
        sizes = expected.sum(axis=1)
        slopes = np.concatenate([sizes - groups.total * weights, k * sizes - rates * (expected @ groups.values)])
        return -likelihood / groups.total, -slopes / groups.total

    def differences(x: Floats) -> Floats:
        weights, rates = parts(x)
        ratios: Floats = np.log(_moments_of_branches(orders, rates, count) @ weights / targets)
        return ratios

    def slopes_of_differences(x: Floats) -> Floats:
        weights, rates = parts(x)
        moments = _moments_of_branches(orders, rates, count)
        total = (moments @ weights)[:, None]
        slopes: Floats = np.concatenate([weights * (moments - total), -powers * moments * weights], axis=1) / total
        return slopes

    with np.errstate(all="ignore"):
        x = np.concatenate([np.log(np.maximum(start.weights, 1e-6)), np.log(start.rates)])
        program: Any = minimize(
            loss,
            np.clip(x, -LOG_RANGE, LOG_RANGE),
            jac=True,
            method="SLSQP",
            bounds=[(-LOG_RANGE, LOG_RANGE)] * (2 * size),
            constraints=[{"type": "eq", "fun": differences, "jac": slopes_of_differences}],
            options={"maxiter": PROGRAM_ROUNDS, "ftol": PROGRAM_TOLERANCE},
        )
        error = float(np.abs(differences(program.x)).max())
    if not error < MATCHED:
        return None
    weights, rates = parts(program.x)
    return HyperErlang(orders, weights, rates, -float(program.fun) * groups.total)
