"""Phase-type distributions and arrival processes with given moments, or fitted to measured times."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hopflow.checks import integer, number, one_number
from hopflow.progress import progress_bar
from hopflow.units import WithUnit, quantities
from markov.phases.phase_types import PhaseType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["PhaseFit", "fit_phase_type", "phase_type_of"]

SMALLEST_SCV = 1.0 / 1000.0
ROUNDS, GAIN = 2000, 1e-9


@quantities(mean="time")
def phase_type_of(mean: WithUnit, scv: float, skewness: float | None = None) -> PhaseType:
    """Return a phase-type distribution with given moments.

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
    >>> found = phase_type_of(2.0, 0.3)
    >>> found.order, round(found.mean, 12), round(found.scv, 12)
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


class PhaseFit(NamedTuple):
    """A phase-type distribution fitted to times.

    Attributes
    ----------
    distribution
        The `PhaseType`.
    log_likelihood
        Of all times, for densities in 1/s.
    branches
        Phases of each Erlang branch.

    Examples
    --------
    >>> from markov import fit_phase_type
    >>> found = fit_phase_type([1.0, 2.0, 6.0], phases=1)
    >>> found.branches, round(found.distribution.mean, 12), round(found.log_likelihood, 3)
    ((1,), 3.0, -6.296)
    """

    distribution: PhaseType
    log_likelihood: float
    branches: tuple[int, ...]


@quantities(times="time")
def fit_phase_type(times: ArrayLike, *, phases: int = 4) -> PhaseFit:
    """Return the hyper-Erlang distribution of greatest likelihood that an EM algorithm finds.

    A. Thummler, P. Buchholz, M. Telek, A novel approach for phase-type fitting with the EM algorithm,
    IEEE Transactions on Dependable and Secure Computing 3(3), 2006. Every division of the phases into
    branches is tried. A local maximum: the likelihood of others may be larger.

    Parameters
    ----------
    times
        Measured, in s, positive, at least two different ones.
    phases
        How many there are in all branches, 1 to 12.

    Raises
    ------
    ValueError
        For times that are not positive or all equal, and a number of phases outside 1 to 12.

    Examples
    --------
    >>> from markov import PhaseType, fit_phase_type
    >>> times = PhaseType.erlang(3, mean=2.0).sample(2000, seed=1)
    >>> found = fit_phase_type(times, phases=3)
    >>> found.branches, bool(abs(found.distribution.mean - times.mean()) < 1e-9)
    ((3,), True)
    """
    given = number("times", times, above=0.0)
    if given.ndim != 1 or len(np.unique(given)) < 2:
        raise ValueError(f"times has shape {given.shape}: at least two different times are expected")
    count = integer("phases", phases, 1, 12)
    scale = float(given.mean())
    divisions = progress_bar(list(_divisions(count)), desc="EM algorithm")
    fits = (_em(given / scale, orders) for orders in divisions)
    found = max(fits, key=lambda each: each.log_likelihood)
    likelihood = found.log_likelihood - len(given) * math.log(scale)
    return PhaseFit(found.distribution.scaled(scale), likelihood, found.branches)


def _divisions(total: int, least: int = 1) -> Iterator[tuple[int, ...]]:
    """Yield the ways to write a number as an ascending sum."""
    yield (total,)
    for first in range(least, total // 2 + 1):
        for rest in _divisions(total - first, first):
            yield (first, *rest)


def _em(times: Floats, orders: tuple[int, ...]) -> PhaseFit:
    k = np.array(orders, dtype=float)[:, None]
    constants = np.array([math.lgamma(order) for order in orders])[:, None]
    weights = np.full(len(orders), 1.0 / len(orders))
    middles = np.quantile(times, (np.arange(len(orders)) + 0.5) / len(orders))
    rates = np.array(orders) / np.maximum(middles, 1e-9)
    logs, before = np.log(times), -math.inf
    for _ in range(ROUNDS):
        with np.errstate(divide="ignore"):
            each = (
                np.log(weights)[:, None]
                + k * np.log(rates)[:, None]
                + (k - 1.0) * logs
                - rates[:, None] * times
                - constants
            )
        top = each.max(axis=0)
        parts = np.exp(each - top)
        total = parts.sum(axis=0)
        likelihood = float((top + np.log(total)).sum())
        if likelihood - before <= GAIN * abs(likelihood):
            break
        before = likelihood
        shares = parts / total
        weights = shares.mean(axis=1)
        rates = k[:, 0] * shares.sum(axis=1) / np.maximum(shares @ times, 1e-300)
    kept = weights > 0.0
    branches = [
        PhaseType.erlang(order, mean=order / rate)
        for order, rate in itertools.compress(zip(orders, rates, strict=True), kept)
    ]
    found = PhaseType.mixture((weights[kept] / weights[kept].sum()).tolist(), branches)
    return PhaseFit(found, likelihood, tuple(itertools.compress(orders, kept)))
