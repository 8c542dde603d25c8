"""Phase-type distributions and arrival processes with given moments, or fitted to measured times."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import integer, number, one_number
from hopflow.results import Result, Status, figure
from hopflow.units import WithUnit, quantities
from markov.phases.hyper_erlang import Groups, HyperErlang, free_fits, grouped, log_likelihood, matched_fits, may_match
from markov.phases.phase_types import FOR_FEW_VALUES, MOMENTS_FIX_NO_LOSS, PhaseType
from markov.phases.sample_fits import Moment, moments_of, warn_of_difference

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["PhaseFit", "fit_phase_type", "phase_type_of"]

SMALLEST_SCV = 1.0 / 1000.0
DEFAULT_PHASES, MAX_PHASES = 8, 40
LIKELIHOOD_GAP = 4.605
"""Loss of log-likelihood by two conditions that chance explains: half of the 99 % quantile of chi-square with two degrees of
freedom (the mean is that of the sample without a condition)."""


@quantities(mean="time")
def phase_type_of(mean: WithUnit, scv: float, skewness: float | None = None) -> PhaseType:
    """Return a phase-type distribution with given moments.

    Two or three moments fix neither the distribution nor the loss of a queue; for a service of few values or of fixed
    length `DiscreteChain.of_rules` is exact.

    Parameters
    ----------
    mean
        In s.
    scv
        Squared coefficient of variation, variance / mean^2, at least 1/1000. Below one: a mixture of two
        Erlang distributions; one: the exponential; above: hyperexponential of two phases with balanced
        means (H. C. Tijms, Stochastic Models: An Algorithmic Approach, 1994, Sect. 3.A).
    skewness
        Third central moment over the 3/2 power of the variance, for an scv above one; two phases reach
        those above that of a limiting case, which the message names.

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
    mean = one_number("mean", mean, above=0.0)
    scv = one_number("scv", scv, at_least=SMALLEST_SCV, at_most=1e9)
    if skewness is not None:
        return _of_three(mean, scv, one_number("skewness", skewness))
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


def _of_three(mean: float, scv: float, skewness: float) -> PhaseType:
    """Return the hyperexponential distribution of two phases with three moments."""
    if scv <= 1.0:
        raise ValueError(f"skewness: with scv = {scv:g} it follows from the mean and the scv; leave it")
    deviation = mean * math.sqrt(scv)
    second = mean**2 * (1.0 + scv)
    third = skewness * deviation**3 + 3.0 * mean * second - 2.0 * mean**3
    t = (1.0, mean, second / 2.0, third / 6.0)  # moments of the means of the phases
    least = t[2] ** 2 / t[1]
    if not t[3] > least:
        lowest = (6.0 * least - 3.0 * mean * second + 2.0 * mean**3) / deviation**3
        raise ValueError(f"skewness = {skewness:g}: must be > {lowest:g} with scv = {scv:g}")
    c1, c0 = np.linalg.solve([[t[1], t[0]], [t[2], t[1]]], [t[2], t[3]])
    high = 0.5 * (c1 + math.sqrt(c1 * c1 + 4.0 * c0))
    low = c1 - high
    p = (mean - low) / (high - low)
    return PhaseType.hyperexponential([p, 1.0 - p], [1.0 / high, 1.0 / low])


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class PhaseFit(Result):
    """A phase-type distribution fitted to times, with its moments beside those of the sample.

    Attributes
    ----------
    distribution
        The `PhaseType`; its ``fits`` has the moments too, and answers of queues with it say so.
    log_likelihood
        Of all times, for densities in 1/s.
    branches
        Phases of each Erlang branch.
    matched
        Number of moments that are those of the sample, 1 to 3. With 1, the variance is that of the largest likelihood.
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
        """Mean, scv and skewness of sample and fit, each with the half width of the sample's 95 % interval."""
        return self.distribution.fits[0].moments

    @property
    def status(self) -> Status:
        """SOLVED: the likelihood is a local maximum, and no bound says how far the distribution is from the times'."""
        return Status.SOLVED

    def summary(self) -> dict[str, object]:
        """Return the distribution, the moments of fit and sample, and what the fit does not determine."""
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
        """Return sample, half_width and fit over ``moment``, and ``differs``."""
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


@quantities(times="time")
def fit_phase_type(times: ArrayLike, *, phases: int | None = None) -> PhaseFit:
    """Return a mixture of Erlang distributions fitted to times, with their mean, scv and skewness.

    Of the mixtures with the three moments of the sample it is the likeliest one that was reached. Moments come first,
    since a queue answers to them, and the mixture of largest likelihood may miss even the variance: where times have
    few values, more phases follow the peaks more closely and the variance less. Only where the condition costs more
    likelihood than chance (`LIKELIHOOD_GAP`), and the three moments of the likeliest fit lie within the sample's error,
    is that one returned. Where too few phases are given for three moments, mean and scv are matched, and where these are
    out of reach the mean.

    Parameters
    ----------
    times
        Measured, in s, positive, at least two; taken as independent.
    phases
        Total number in all branches, 1 to 40. None: 8, and where the three moments need more, the number with which two
        branches of equal order have them, at most 40.

    Warns
    -----
    FitWarning
        Naming the first of mean, scv and skewness that is outside of the sample's 95 % interval, by the delta method.
        The interval is too short where few of the longest times decide.

    Raises
    ------
    ValueError
        For times that are not positive or fewer than two, and a number of phases outside 1 to 40.

    Notes
    -----
    Divisions into branches: all of them up to 12 phases, beyond that those into one or two branches. Likelihood, moments
    and their sources: `markov.phases.hyper_erlang`. A local maximum: the likelihood of others may be larger.

    Three moments fix neither the distribution nor a loss. In M/PH/1/K the losses above 1e-3 were within 5 % of those of
    the sample (`python -m benchmarks.phase_fits` has the exceptions); smaller ones hang on the shape. A service of few values or of fixed
    length has exact answers in `DiscreteChain.of_rules`, the chain at the ends of services.

    Examples
    --------
    >>> from markov import PhaseType, fit_phase_type
    >>> times = PhaseType.erlang(3, mean=2.0).sample(2000, seed=1)
    >>> fit = fit_phase_type(times, phases=6)
    >>> fit.matched, [moment.differs for moment in fit.moments]
    (3, [False, False, False])
    """
    sample = number("times", times, above=0.0)
    if sample.ndim != 1 or len(sample) < 2:
        raise ValueError(f"times has shape {sample.shape}: at least two times in one row are expected")
    count = None if phases is None else integer("phases", phases, 1, MAX_PHASES)
    scale = float(sample.mean())
    groups = grouped(sample / scale)
    enough = _enough_phases(groups)
    if count is not None:
        fit, matched = _best(sample / scale, groups, count)
    else:
        fit, matched = _best(sample / scale, groups, DEFAULT_PHASES if enough is not None else MAX_PHASES)
        if matched < 3 and enough is not None and enough > DEFAULT_PHASES:
            fit, matched = _best(sample / scale, groups, enough)
    used = fit.weights > 0.0
    weights = fit.weights[used] / fit.weights[used].sum()
    orders = tuple(itertools.compress(fit.orders, used))
    rates = fit.rates[used] / scale
    parts = [PhaseType.erlang(order, mean=order / rate) for order, rate in zip(orders, rates.tolist(), strict=True)]
    mixture = PhaseType.mixture(weights.tolist(), parts)
    origin = moments_of(sample, (mixture.mean, mixture.scv, mixture.skewness))
    result = PhaseFit(
        distribution=mixture.with_fits((origin,)),
        log_likelihood=log_likelihood(sample / scale, fit) - len(sample) * math.log(scale),
        branches=orders,
        matched=matched,
        times=np.sort(sample),
    )
    more = f"phases={enough} reach three moments" if enough is not None else f"{MAX_PHASES} phases do not reach it"
    warn_of_difference(origin, f"{more}; losses may be far off. {FOR_FEW_VALUES}")
    return result


def _enough_phases(groups: Groups) -> int | None:
    """Return a number of phases with which two branches of equal order have the three moments; None above 40."""
    return next((2 * k for k in range(1, MAX_PHASES // 2 + 1) if may_match(groups, k, 3)), None)


def _best(times: Floats, groups: Groups, phases: int) -> tuple[HyperErlang, int]:
    """Return the fit to times of mean one that is chosen, and how many moments it matches."""
    free = free_fits(groups, phases)
    by_three = matched_fits(groups, free, 3)
    threshold = by_three[0].log_likelihood + LIKELIHOOD_GAP if by_three else -math.inf
    for fit in free:
        if fit.log_likelihood <= threshold:
            break
        moments = _moments_of_mixture(fit)
        if moments_of(times, moments).first_difference is None:
            return fit, 1
    if by_three:
        return by_three[0], 3
    by_two = matched_fits(groups, free, 2)
    if by_two:
        target = groups.moments[2]
        return min(by_two, key=lambda fit: abs(float(fit.moments(3)[2]) - target)), 2
    return free[0], 1


def _moments_of_mixture(fit: HyperErlang) -> tuple[float, float, float]:
    m1, m2, m3 = fit.moments(3).tolist()
    variance = m2 - m1 * m1
    return m1, variance / m1**2, (m3 - 3.0 * m1 * m2 + 2.0 * m1**3) / variance**1.5
