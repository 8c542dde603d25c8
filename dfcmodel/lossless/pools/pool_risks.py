"""The probability that a shared headroom pool is too small, with bounds, and the size for a given probability.

Model: at a random instant each priority group holds its full headroom with a probability ``paused``, otherwise
nothing, independently of the others in the same state of the fabric (classes of a port on request together).
The full headroom is an upper bound of its occupancy. Only the probability of being paused matters:
for independent groups that alternate between two conditions the distribution of their number depends on
the mean durations alone. Common causes are states of the fabric, over which the distribution is
averaged. Nothing is extrapolated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dfcmodel.lossless.pools.headroom_pools import HeadroomPool, spread_over_groups
from dfcmodel.lossless.pools.pool_traffic import PausedGroups
from hopflow.checks import number, one_number
from hopflow.results import Result, figure
from hopflow.units import WithUnit, quantities

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["PoolRisk", "convolve"]

MAX_GRAINS = 20_000
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False, repr=False)
class PoolRisk(Result):
    """The distribution of the demand on a pool, bytes, as `overflow` returns it for `PausedGroups`.

    Attributes
    ----------
    pool
        The pool.
    grain
        Bytes: demands are whole multiples of it, rounded up for the upper and down for the lower bound.
    above, below
        Probabilities of 0, 1, 2 ... grains, each headroom rounded up and down, shape (n,).
    chernoff
        Chernoff's bound of the probability of overflow.

    Examples
    --------
    >>> from dfcmodel.lossless import PausedGroups, headroom_pool, overflow
    >>> pool = headroom_pool(1e5, 10, 2, size="1 MB", shared="9 MB", alpha=1.0, rate="100Gbps")
    >>> risk = overflow(pool, PausedGroups(0.05))
    >>> f"{risk.probability:.3e}"  # more than 10 of 20 groups
    '5.380e-10'
    >>> risk.least_size(1e-9)
    1000000.0
    """

    pool: HeadroomPool
    grain: float
    above: Floats
    below: Floats
    chernoff: float
    DIMENSIONS: ClassVar[Mapping[str, tuple[str, ...]]] = {"above": ("grains",), "below": ("grains",)}

    def survival(self, size: ArrayLike) -> Floats:
        """Return the probability that the demand exceeds ``size`` bytes, rounded up: an upper bound."""
        return self._survival(number("size", size, at_least=0.0), self.above, 1.0)

    @property
    def probability(self) -> float:
        """Upper bound of the fraction of time in which the demand exceeds the pool."""
        return float(self.survival(self.pool.size))

    @property
    def interval(self) -> tuple[float, float]:
        """(lower, upper) proved bounds of the probability of overflow."""
        return self.lower, self.probability

    @property
    def lower(self) -> float:
        """Lower bound of the probability; equal to the upper bound up to rounding if grains are exact."""
        return float(self._survival(np.asarray(self.pool.size), self.below, -1.0))

    @quantities(probability="share")
    def least_size(self, probability: WithUnit) -> float:
        """Return the smallest pool in bytes, whole grains, exceeded with at most ``probability``."""
        limit = one_number("probability", probability, above=0.0, below=1.0)
        sizes = self.grain * np.arange(len(self.above))
        return float(sizes[int(np.argmax(self.survival(sizes) <= limit))])

    @quantities(probability="share")
    def oversubscription(self, probability: WithUnit) -> float:
        """Return the sum of all headrooms over `least_size` for an overflow probability; inf if none is needed."""
        size = self.least_size(probability)
        return self.pool.demand / size if size else np.inf

    def summary(self) -> dict[str, object]:
        """Return texts by name: bounds of the overflow probability, grain, and pool sizes for three probabilities."""
        rows: dict[str, object] = {
            "demand above the pool": f"{self.lower:.4g} to {self.probability:.4g} of the time",
            "Chernoff's bound": f"{self.chernoff:.3g}",
            "grain": f"{self.grain:,.0f} B",
        }
        for limit in (1e-6, 1e-9, 1e-12):
            size, factor = self.least_size(limit), self.oversubscription(limit)
            rows[f"size for {limit:g}"] = f"{size:,.0f} B, {factor:.3g} times oversubscribed"
        return rows

    def plot(self, ax: Any = None) -> Any:
        """Draw the probability of a larger demand over the size of the pool; return the Axes."""
        axes = figure()[1] if ax is None else ax
        sizes = self.grain * np.arange(len(self.above))
        survival = self.survival(sizes)
        visible = survival > 1e-18
        axes.step(sizes[visible] / 1e6, survival[visible], where="post")
        axes.axvline(self.pool.size / 1e6, color="#000000", ls=":", label="pool")
        scale = "log" if visible.any() else "linear"
        axes.set(yscale=scale, xlabel="MB of pool", ylabel="P(demand above it)")
        axes.legend()
        return axes

    def _survival(self, size: Floats, weights: Floats, side: float) -> Floats:
        """Return a bound on P(more than ``size`` bytes) from P(multiples of the grain); ``side`` 1 upper, -1 lower."""
        tail = np.concatenate([np.cumsum(weights[::-1])[::-1], [0.0]])
        first = np.floor(size / self.grain * (1.0 + 8 * EPS)).astype(np.int64) + 1
        slack = 1.0 + side * EPS * (len(weights) + 8 * self.pool.groups)
        bound: Floats = np.minimum(1.0, tail[np.minimum(first, len(weights))] * slack)
        return bound


def convolve(pool: HeadroomPool, traffic: PausedGroups, grain: float | None) -> PoolRisk:
    """Return the distribution of the demand on a pool by convolution.

    All terms are non-negative, so that small tail probabilities have full relative accuracy.

    Raises
    ------
    ValueError
        For fractions of time outside 0 to 1 or above 1 together, and a grain too fine for the headrooms.

    Examples
    --------
    >>> from dfcmodel.lossless import PausedGroups, headroom_pool, overflow
    >>> pool = headroom_pool(225_792, 64, 8, size="16 MB", shared="60 MB", alpha=0.125, rate="400Gbps")
    >>> calm = overflow(pool, PausedGroups(0.01))
    >>> round(calm.oversubscription(1e-9), 1)
    22.3
    >>> incast = overflow(pool, PausedGroups(0.01, others=[(1e-4, 0.5)]))  # half of all groups at a time
    >>> round(incast.oversubscription(1e-9), 2)
    1.68
    """
    paused, others, classes_together = traffic.paused, traffic.others, traffic.classes_together
    shape = pool.headroom.shape
    states = [(1.0, paused), *others]
    weights = [float(w) for w, _ in others]
    weights.insert(0, 1.0 - sum(weights))
    chances = [spread_over_groups("paused", np.asarray(p, dtype=float), shape) for _, p in states]
    unit = _grain(pool) if grain is None else float(grain)
    if pool.demand / unit > 50 * MAX_GRAINS:
        raise ValueError(f"grain = {unit:g}: more than {50 * MAX_GRAINS} of them are in the headrooms")
    ratio = pool.headroom / unit
    exact = np.abs(ratio - np.round(ratio)) < 1e-9
    ups = np.where(exact, np.round(ratio), np.ceil(ratio)).astype(np.int64)
    downs = np.where(exact, np.round(ratio), np.floor(ratio)).astype(np.int64)
    above, below = (
        sum(w * _distribution(grains, p, together=classes_together) for w, p in zip(weights, chances, strict=True))
        for grains in (ups, downs)
    )
    bound = sum(w * _chernoff(pool, p, together=classes_together) for w, p in zip(weights, chances, strict=True))
    return PoolRisk(pool, unit, np.asarray(above), np.asarray(below), float(bound))


def _grain(pool: HeadroomPool) -> float:
    """Return the greatest common divisor of integer headrooms, bytes; a larger size if that gives too many grains."""
    headrooms = np.unique(pool.headroom)
    common = float(np.gcd.reduce(headrooms.astype(np.int64))) if (headrooms == np.floor(headrooms)).all() else 0.0
    return max(common, pool.demand / MAX_GRAINS)


def _distribution(grains: NDArray[np.int64], paused: Floats, *, together: bool) -> Floats:
    """Return the probabilities of 0, 1 ... grains in the pool, (n,), from grains and chances by (port, class)."""
    distribution = np.ones(1)
    for row, chance in zip(grains, paused, strict=True):
        pairs = [(int(row.sum()), chance[0])] if together else zip(row, chance, strict=True)
        for amount, p in pairs:
            extended = np.zeros(len(distribution) + int(amount))
            extended[: len(distribution)] = distribution * (1.0 - p)
            extended[int(amount) :] += distribution * p
            distribution = extended
    return distribution


def _chernoff(pool: HeadroomPool, paused: Floats, *, together: bool) -> float:
    """Return Chernoff's bound on the overflow probability: the minimum over t >= 0 of E exp(t (D - size))."""
    from scipy.optimize import minimize_scalar

    amounts = pool.headroom.sum(axis=1) if together else pool.headroom.ravel()
    p = paused[:, 0] if together else paused.ravel()
    unit = float(amounts.max())

    def exponent(t: float) -> float:
        with np.errstate(divide="ignore"):
            logs = np.logaddexp(np.log1p(-p), np.log(p) + t * amounts / unit)
        return float(logs.sum() - t * pool.size / unit)

    minimum = minimize_scalar(exponent, bounds=(0.0, 200.0), method="bounded")
    return float(min(1.0, np.exp(exponent(float(minimum.x)))))
