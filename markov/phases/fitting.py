"""Phase-type distributions with given moments, and fits of such distributions to measured times.

A fit is a mixture of Erlang distributions. For a division of the phases into branches the EM algorithm climbs to a
local maximum of the likelihood (A. Thummler, P. Buchholz, M. Telek, A novel approach for phase-type fitting with the EM
algorithm, IEEE Transactions on Dependable and Secure Computing 3(3), 2006). The maximum has the mean of the sample and
no other moment: if the density of the times has peaks that few phases cannot follow, the likelihood is highest with
another variance. So the likelihood is also maximized subject to equal moments, by sequential quadratic programming (D.
Kraft, A software package for sequential quadratic programming, DFVLR-FB 88-28, 1988). Two branches of equal order reach
three moments if the order is large enough (M. A. Johnson, M. R. Taaffe, Matching moments to phase distributions:
mixtures of Erlang distributions of common order, Stochastic Models 5, 1989), which also gives a start.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.callers import warn_caller
from hopflow.parameters import param, validate_parameters
from hopflow.progress import progress_bar
from hopflow.results import Result, Status, figure
from hopflow.units import WithUnit
from markov.phases.phase_types import FOR_FEW_VALUES, MOMENTS_FIX_NO_LOSS, PhaseType
from markov.phases.sample_fits import Moment, record_fit, warn_of_difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import xarray as xr
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["PhaseFit", "fit_phase_type", "phase_type_of"]

MIN_SCV = 1.0 / 1000.0
DEFAULT_PHASES, MAX_FITTED_PHASES = 8, 40
LIKELIHOOD_GAP = 4.605
"""Loss of log-likelihood by two conditions that chance explains: half of the 99 % quantile of chi-square with two
degrees of freedom. The mean is no condition, since a fit without conditions already has it."""
MAX_UNGROUPED_VALUES = 300
"""Number of different times up to which the times are not grouped."""
GROUP_WIDTH = 0.02
"""Width of a group, relative to the times. The log density of an Erlang distribution of order k over log time has
curvature of about k, so that a group's mean stands for its times up to k * 2e-5 of their log-likelihood."""
MAX_PHASES_FOR_ALL_DIVISIONS = 12
"""Number of phases up to which all divisions into branches are tried; above it those into one or two."""
EM_ROUNDS, EM_GAIN = 150, 1e-8
"""Maximum number of iterations of the EM algorithm, and relative gain below which it stops."""
PROGRAM_ROUNDS, PROGRAM_TOLERANCE = 200, 1e-9
MAX_STAGNANT = 10
"""Consecutive starts without a gain after which the search for a fit with equal moments stops."""
MOMENT_TOLERANCE = 1e-7
"""Relative difference of the moments of a fit with equal moments."""
LOG_RANGE = 25.0
"""Range of log rates, for times with a mean of one."""
MIN_ASCENDING = 10
"""Number of times that ascend by chance with a probability below 1e-6."""


@validate_parameters
def phase_type_of(
    mean: WithUnit = param(unit="time", above=0.0),
    scv: float = param(at_least=MIN_SCV, at_most=1e9),
    skewness: float | None = param(None),
) -> PhaseType:
    """Return a phase-type distribution with this mean, variance (as scv) and possibly skewness.

    Two or three moments fix neither the distribution nor the loss of a queue; for a service of few values or of fixed
    length `DiscreteChain.of_rules` is exact.

    Parameters
    ----------
    mean
        Mean in s.
    scv
        Squared coefficient of variation, variance / mean^2, at least 1/1000. Below one: a mixture of two
        Erlang distributions; one: the exponential; above: hyperexponential of two phases with balanced
        means (H. C. Tijms, Stochastic Models: An Algorithmic Approach, 1994, Sect. 3.A).
    skewness
        Third central moment over the 3/2 power of the variance, for an scv above one. Two phases have any skewness
        above that of a limiting case, which the message names.

    Raises
    ------
    ValueError
        For moments that no distribution of these phases has, or an ``scv`` below 1/1000.

    Examples
    --------
    >>> from markov import phase_type_of
    >>> service = phase_type_of(2.0, 0.3)
    >>> service.order, round(service.mean, 12), round(service.scv, 12)
    (4, 2.0, 0.3)
    """
    if skewness is not None:
        return _from_three_moments(mean, scv, skewness)
    if scv < 1.0:
        k = math.ceil(1.0 / scv - 1e-12)
        p = (k * scv - math.sqrt(max(k * (1.0 + scv) - k * k * scv, 0.0))) / (1.0 + scv)
        rate = (k - p) / mean
        alpha = np.zeros(k)
        alpha[0], alpha[min(1, k - 1)] = 1.0 - p, p
        return PhaseType(alpha, rate * (np.eye(k, k=1) - np.eye(k)))
    if scv == 1.0:
        return PhaseType.exponential(1.0 / mean)
    p = 0.5 * (1.0 + math.sqrt((scv - 1.0) / (scv + 1.0)))
    return PhaseType.hyperexponential([p, 1.0 - p], [2.0 * p / mean, 2.0 * (1.0 - p) / mean])


def _from_three_moments(mean: float, scv: float, skewness: float) -> PhaseType:
    """Return the hyperexponential distribution with two phases that has this mean, scv > 1 and skewness."""
    if scv <= 1.0:
        raise ValueError(f"skewness: with scv = {scv:g} it follows from the mean and the scv; leave it")
    deviation = mean * math.sqrt(scv)
    second = mean**2 * (1.0 + scv)
    third = skewness * deviation**3 + 3.0 * mean * second - 2.0 * mean**3
    t = (1.0, mean, second / 2.0, third / 6.0)  # moments of the means of the phases
    minimum = t[2] ** 2 / t[1]
    if not t[3] > minimum:
        lowest = (6.0 * minimum - 3.0 * mean * second + 2.0 * mean**3) / deviation**3
        raise ValueError(f"skewness = {skewness:g}: must be > {lowest:g} with scv = {scv:g}")
    c1, c0 = np.linalg.solve([[t[1], t[0]], [t[2], t[1]]], [t[2], t[3]])
    high = 0.5 * (c1 + math.sqrt(c1 * c1 + 4.0 * c0))
    low = c1 - high
    p = (mean - low) / (high - low)
    return PhaseType.hyperexponential([p, 1.0 - p], [1.0 / high, 1.0 / low])


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class PhaseFit(Result):
    """Result of `fit_phase_type`: a phase-type distribution fitted to times, with moments of fit and sample.

    Attributes
    ----------
    distribution
        The `PhaseType`; its ``fits`` has the moments too, and answers of queues with it say so.
    log_likelihood
        Log-likelihood of the sample, for densities in 1/s.
    branches
        Number of phases of each Erlang branch.
    matched
        Number of moments that the fit shares with the sample, 1 to 3. With 1, the variance is that of the largest
        likelihood.
    times
        The sample in s, shape (n,), ascending.

    Examples
    --------
    >>> from markov import fit_phase_type
    >>> fit = fit_phase_type([1.0] * 9 + [10.0], phases=2)
    >>> fit.branches, fit.matched
    ((1, 1), 3)
    >>> for moment in fit.moments:
    ...     print(moment.name, moment)
    mean 1.9 s, sample 1.9 ± 2 s
    scv 2.019, sample 2.019 ± 0.27
    skewness 2.667, sample 2.667 ± 4.2
    """

    FOLDED = ("log-likelihood", "branches")

    distribution: PhaseType
    log_likelihood: float
    branches: tuple[int, ...]
    matched: int
    times: Floats

    @property
    def moments(self) -> tuple[Moment, ...]:
        """Mean, scv and skewness of sample and fit, with half widths of the sample's 95 % intervals."""
        return self.distribution.fits[0].moments

    @property
    def status(self) -> Status:
        """SOLVED: a local maximum of the likelihood, without a bound on the distance to the times' distribution."""
        return Status.SOLVED

    def summary(self) -> dict[str, object]:
        """Return the rows of a printed summary: distribution, moments of fit and sample, limits of the fit."""
        principle = {
            1: "largest likelihood",
            2: "largest likelihood among fits with the sample's mean and scv, then the nearest skewness",
            3: "largest likelihood among fits with the sample's mean, scv and skewness",
        }[self.matched]
        return {
            "distribution": repr(self.distribution),
            "times": len(self.times),
            **{moment.name: f"{moment}{' (differs)' if moment.differs else ''}" for moment in self.moments},
            "chosen by": principle,
            "limits": MOMENTS_FIX_NO_LOSS,
            "branches": ", ".join(map(str, self.branches)),
            "log-likelihood": f"{self.log_likelihood:.8g}",
        }

    def to_xarray(self) -> xr.Dataset:
        """Return moments of sample and fit, half widths and ``differs`` as a data set over ``moment``."""
        import xarray as xr

        rows = self.moments
        data = {
            name: ("moment", [getattr(row, name) for row in rows])
            for name in ("sample", "half_width", "fit", "differs")
        }
        return xr.Dataset(data, coords={"moment": [row.name for row in rows]})

    def plot(self, ax: Any = None) -> Any:
        """Draw P(X > x) of the sample and of the fit; return the Axes."""
        if ax is None:
            _, ax = figure()
        times = self.times
        ax.step(times, 1.0 - np.arange(1, len(times) + 1) / len(times), where="post", label=f"{len(times)} times")
        x = np.linspace(0.0, float(times[-1]), 400)
        ax.plot(x, self.distribution.survival(x), label="fit")
        ax.set(xlabel="time (s)", ylabel="P(X > x)", yscale="log", ylim=(0.5 / len(times), 1.1))
        ax.legend(frameon=False)
        return ax


@validate_parameters
def fit_phase_type(
    times: ArrayLike = param(unit="time", above=0.0),
    *,
    phases: int | None = param(None, at_least=1, at_most=MAX_FITTED_PHASES),
) -> PhaseFit:
    """Return a mixture of Erlang distributions fitted to times, with their mean, scv and skewness.

    The result is the most likely mixture with the three moments of the sample that the searches reach.
    Moments come first, since they decide the behaviour of a queue, and the mixture of largest likelihood may miss even
    the variance: if the times have few values, more phases follow the peaks more closely and the variance less. The
    mixture of largest likelihood is returned only if the condition costs more likelihood than chance explains
    (`LIKELIHOOD_GAP`) and its three moments lie within the sample's error. Too few phases for three moments match mean
    and scv, and too few for these the mean.

    Parameters
    ----------
    times
        Measured times in s, positive, at least two; taken as independent.
    phases
        Total number in all branches, 1 to 40. None: 8, or if the three moments need more, the number with which two
        branches of equal order have them, at most 40.

    Warns
    -----
    FitWarning
        Names the first of mean, scv and skewness outside of the sample's 95 % interval, by the delta method. The
        interval is too short if few of the longest times decide.

    Raises
    ------
    ValueError
        For times that are not positive or fewer than two, and a number of phases outside 1 to 40.

    Notes
    -----
    Up to 12 phases all divisions into branches are tried, above that those into one or two branches. The fit is a local
    maximum: other distributions may have a larger likelihood.

    Three moments fix neither the distribution nor a loss. In M/PH/1/K losses above 1e-3 were within 5 % of the sample's
    (`python -m benchmarks.phase_fits` has the exceptions); smaller losses depend on the shape. A service of few values
    or of fixed length has exact answers in `DiscreteChain.of_rules`, the chain at the ends of services.

    Examples
    --------
    >>> from markov import PhaseType, fit_phase_type
    >>> times = PhaseType.erlang(3, mean=2.0).sample(2000, seed=1)
    >>> fit = fit_phase_type(times, phases=6)
    >>> fit.matched, [moment.differs for moment in fit.moments]
    (3, [False, False, False])
    """
    sample: Floats = np.asarray(times)
    if sample.ndim != 1 or len(sample) < 2:
        raise ValueError(f"times has shape {sample.shape}: at least two times in one row are expected")
    if len(sample) >= MIN_ASCENDING and (np.diff(sample) > 0.0).all():
        message = "times ascend throughout, as times of events do: of these give the times between, np.diff(times)"
        warn_caller(UserWarning(message), "markov")
    scale = float(sample.mean())
    groups = group_times(sample / scale)
    # two branches of equal order have the three moments; None: not with up to 40 phases
    sufficient = next((2 * k for k in range(1, MAX_FITTED_PHASES // 2 + 1) if may_match(groups, k, 3)), None)
    if phases is not None:
        fit, matched = _fit_groups(sample / scale, groups, phases)
    else:
        phases_tried = DEFAULT_PHASES if sufficient is not None else MAX_FITTED_PHASES
        fit, matched = _fit_groups(sample / scale, groups, phases_tried)
        if matched < 3 and sufficient is not None and sufficient > DEFAULT_PHASES:
            fit, matched = _fit_groups(sample / scale, groups, sufficient)
    used = fit.weights > 0.0
    weights = fit.weights[used] / fit.weights[used].sum()
    orders = tuple(itertools.compress(fit.orders, used))
    rates = fit.rates[used] / scale
    parts = [PhaseType.erlang(order, mean=order / rate) for order, rate in zip(orders, rates.tolist(), strict=True)]
    mixture = PhaseType.mixture(weights.tolist(), parts)
    origin = record_fit(sample, (mixture.mean, mixture.scv, mixture.skewness))
    result = PhaseFit(
        distribution=mixture.with_fits((origin,)),
        log_likelihood=log_likelihood(sample / scale, fit) - len(sample) * math.log(scale),
        branches=orders,
        matched=matched,
        times=np.sort(sample),
    )
    hint = (
        f"{MAX_FITTED_PHASES} phases do not reach it"
        if sufficient is None
        else f"phases={sufficient} reach three moments"
    )
    warn_of_difference(origin, f"{hint}; losses may be far off. {FOR_FEW_VALUES}")
    return result


def _fit_groups(times: Floats, groups: Groups, phases: int) -> tuple[HyperErlang, int]:
    """Return the preferred fit to times of mean one with this number of phases, and how many moments it matches."""
    free = fits_by_likelihood(groups, phases)
    by_three = fits_with_moments(groups, free, 3)
    threshold = by_three[0].log_likelihood + LIKELIHOOD_GAP if by_three else -math.inf
    for fit in free:
        if fit.log_likelihood <= threshold:
            break
        m1, m2, m3 = fit.moments(3).tolist()
        variance = m2 - m1 * m1
        moments = m1, variance / m1**2, (m3 - 3.0 * m1 * m2 + 2.0 * m1**3) / variance**1.5
        if record_fit(times, moments).first_difference is None:
            return fit, 1
    if by_three:
        return by_three[0], 3
    by_two = fits_with_moments(groups, free, 2)
    if by_two:
        target = groups.moments[2]
        return min(by_two, key=lambda fit: abs(float(fit.moments(3)[2]) - target)), 2
    return free[0], 1


class HyperErlang(NamedTuple):
    """A fitted mixture of Erlang distributions: orders, weights and rates of its branches, and its likelihood.

    Attributes
    ----------
    orders, weights, rates
        Number of phases, probability and rate of the phases of each branch, shape (B,).
    log_likelihood
        Log-likelihood of all times, computed from their groups.
    """

    orders: tuple[int, ...]
    weights: Floats
    rates: Floats
    log_likelihood: float

    def moments(self, count: int) -> Floats:
        """Return the raw moments E X^j of the mixture for j = 1 .. count, shape (count,)."""
        return _moments_of_branches(self.orders, self.rates, count) @ self.weights


class Groups(NamedTuple):
    """Times of mean one in groups: value and number of times of each group, shape (G,), and the raw moments 1 to 3."""

    values: Floats
    counts: Floats
    moments: Floats

    @property
    def total(self) -> float:
        """Number of times in all groups."""
        return float(self.counts.sum())


def group_times(times: Floats) -> Groups:
    """Return times of mean one as groups of nearly equal times, with the raw moments of the ungrouped times."""
    moments = np.array([np.mean(times**j) for j in (1, 2, 3)])
    values, counts = np.unique(times, return_counts=True)
    if len(values) > MAX_UNGROUPED_VALUES:
        number = np.floor(np.log(values) / GROUP_WIDTH).astype(np.int64)
        _, number = np.unique(number, return_inverse=True)
        sums = np.bincount(number, counts * values)
        counts = np.bincount(number, counts)
        values = sums / counts
    return Groups(values, counts.astype(float), moments)


def log_likelihood(times: Floats, fit: HyperErlang) -> float:
    """Return the log-likelihood of ungrouped times under a mixture of Erlang distributions."""
    return _branch_expectations(Groups(times, np.ones(len(times)), np.zeros(3)), fit.orders, fit.weights, fit.rates)[0]


def fits_by_likelihood(groups: Groups, phases: int) -> list[HyperErlang]:
    """Return fits of the EM algorithm without moment conditions, for all divisions of phases, most likely first."""
    if phases <= MAX_PHASES_FOR_ALL_DIVISIONS:
        divisions = list(_ascending_sums(phases, 1))
    else:
        divisions = [(phases,), *((first, phases - first) for first in range(1, phases // 2 + 1))]
    fits = []
    for orders in progress_bar(divisions, desc="phase-type fits by likelihood"):
        fits += [_fit_by_em(groups, orders, direction) for direction in ((1, -1) if len(set(orders)) > 1 else (1,))]
    return sorted(fits, key=lambda fit: -fit.log_likelihood)


def fits_with_moments(groups: Groups, free: Sequence[HyperErlang], count: int) -> list[HyperErlang]:
    """Return fits with the first ``count`` moments of the times, sorted by falling likelihood.

    A condition lowers the likelihood. So divisions are tried in the order of their likelihood without the condition,
    until that is below the largest likelihood with it, or `MAX_STAGNANT` consecutive divisions have not raised it.

    Parameters
    ----------
    groups
        Times of mean one.
    free
        Fits without the condition, from `fits_by_likelihood`, which are the starts.
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
        fits += [fit for fit in (_fit_with_moments(groups, point, count) for point in starts) if fit is not None]
        before, largest = largest, max((fit.log_likelihood for fit in fits), default=-math.inf)
        stagnant = stagnant + 1 if before == largest > -math.inf else 0
    return sorted(fits, key=lambda fit: -fit.log_likelihood)


def may_match(groups: Groups, order: int, count: int) -> bool:
    """Return whether branches of at most ``order`` phases could have the first ``count`` moments of the times.

    E X^2 / (E X)^2 of an Erlang distribution of order k is (k + 1) / k, and E X E X^3 / (E X^2)^2 is (k + 2) / (k + 1).
    By the inequality of Cauchy and Schwarz no mixture is below the values of its largest order.
    """
    m1, m2, m3 = groups.moments
    by_second = m2 / m1**2 > (order + 1.0) / order
    return bool(by_second and (count == 2 or m1 * m3 / m2**2 > (order + 2.0) / (order + 1.0)))


def _ascending_sums(total: int, minimum: int) -> Iterator[tuple[int, ...]]:
    """Yield the ascending tuples of integers >= ``minimum`` that sum to ``total``."""
    yield (total,)
    for first in range(minimum, total // 2 + 1):
        for others in _ascending_sums(total - first, first):
            yield (first, *others)


def _log_densities(values: Floats, orders: tuple[int, ...], rates: Floats) -> Floats:
    """Return the log density of each Erlang branch at each value, shape (B, G)."""
    k = np.array(orders, dtype=float)[:, None]
    constants = np.array([math.lgamma(order) for order in orders])[:, None]
    densities: Floats = k * np.log(rates)[:, None] + (k - 1.0) * np.log(values) - rates[:, None] * values - constants
    return densities


def _branch_expectations(
    groups: Groups, orders: tuple[int, ...], weights: Floats, rates: Floats
) -> tuple[float, Floats]:
    """Return the log-likelihood, and the expected number of times per branch and group, shape (B, G)."""
    with np.errstate(divide="ignore"):
        logs = np.log(weights)[:, None] + _log_densities(groups.values, orders, rates)
    top = logs.max(axis=0)
    parts = np.exp(logs - top)
    total = parts.sum(axis=0)
    likelihood = float(groups.counts @ (top + np.log(total)))
    return likelihood, parts * (groups.counts / total)


def _fit_by_em(groups: Groups, orders: tuple[int, ...], direction: int) -> HyperErlang:
    """Return the EM fit from branch means at the times' quantiles, in ascending (1) or descending (-1) order."""
    size = len(orders)
    ranks = np.cumsum(groups.counts) / groups.total
    middles = np.interp((np.arange(size) + 0.5) / size, ranks, groups.values)[::direction]
    weights, rates = np.full(size, 1.0 / size), np.array(orders) / middles
    before = -math.inf
    for _ in range(EM_ROUNDS):
        likelihood, expected = _branch_expectations(groups, orders, weights, rates)
        if likelihood - before <= EM_GAIN * abs(likelihood):
            break
        before = likelihood
        sizes = expected.sum(axis=1)
        weights = sizes / groups.total
        rates = np.array(orders) * sizes / np.maximum(expected @ groups.values, 1e-300)
    return HyperErlang(orders, weights, rates, likelihood)


def _two_point_starts(groups: Groups, orders: tuple[int, ...]) -> list[HyperErlang]:
    """Return starts for a fit with three moments, whose branches have two different means; [] if impossible."""
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
        # equal branches would stay equal, so the means of the short branches differ by up to a half
        means = np.where(long, high, low * np.linspace(0.75, 1.25, size))
        starts.append(HyperErlang(orders, weights, np.array(orders) / means, -math.inf))
    return starts


def _moments_of_branches(orders: tuple[int, ...], rates: Floats, count: int) -> Floats:
    """Return the raw moments E X^j of each branch, j = 1 .. count, shape (count, B)."""
    k = np.array(orders, dtype=float)
    factors = np.cumprod([k + j for j in range(count)], axis=0)
    moments: Floats = factors / rates ** np.arange(1, count + 1)[:, None]
    return moments


def _fit_with_moments(groups: Groups, start: HyperErlang, count: int) -> HyperErlang | None:
    """Return the most likely fit near ``start`` with the first ``count`` moments of the times; None if none converges.

    The variables are logarithms of weights, up to a common factor, and of rates.
    """
    from scipy import optimize

    minimize: Any = optimize.minimize  # its stubs know no gradient in the value
    size, orders = len(start.orders), start.orders
    k, targets, powers = np.array(orders, dtype=float), groups.moments[:count], np.arange(1, count + 1)[:, None]

    def parts(x: Floats) -> tuple[Floats, Floats]:
        """Return weights and rates, shape (B,) each, from the variables x."""
        weights = np.exp(x[:size] - x[:size].max())
        return weights / weights.sum(), np.exp(x[size:])

    def loss(x: Floats) -> tuple[float, Floats]:
        """Return minus the mean log-likelihood of a time, and its gradient by x."""
        weights, rates = parts(x)
        likelihood, expected = _branch_expectations(groups, orders, np.maximum(weights, 1e-300), rates)
        sizes = expected.sum(axis=1)
        slopes = np.concatenate([sizes - groups.total * weights, k * sizes - rates * (expected @ groups.values)])
        return -likelihood / groups.total, -slopes / groups.total

    def differences(x: Floats) -> Floats:
        """Return the logarithms of the fit's moments over those of the times, shape (count,)."""
        weights, rates = parts(x)
        ratios: Floats = np.log(_moments_of_branches(orders, rates, count) @ weights / targets)
        return ratios

    def slopes_of_differences(x: Floats) -> Floats:
        """Return the derivatives of `differences` by x, shape (count, 2 B)."""
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
    if not error < MOMENT_TOLERANCE:
        return None
    weights, rates = parts(program.x)
    return HyperErlang(orders, weights, rates, -float(program.fun) * groups.total)
