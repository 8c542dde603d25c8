"""Time until a headroom pool overflows: exactly by a chain, and by importance splitting.

Each priority group starts an episode at the rate ``starts`` while it has none, and holds its full headroom
for a phase-type time. For equal groups and exponential times the number of episodes is a birth-death chain.
Otherwise fixed-effort splitting (M. J. J. Garvels, PhD thesis, Univ. of Twente, 2000, Ch. 2) estimates the
probability of an overflow within a time, without bias. The same number of paths starts at each level of demand,
from states drawn among the entrance states of the level. The estimate is the product of the fractions that reach
the next level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dfcmodel.lossless.pools.headroom_pools import HeadroomPool
from dfcmodel.lossless.pools.pool_traffic import Episodes
from hopflow.checks import instance, integer, random_generator
from hopflow.intervals import half_width
from hopflow.progress import progress_bar
from hopflow.results import Result, figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from markov import PhaseType
    from markov.results import Passage

    Floats = NDArray[np.float64]

__all__ = ["OverflowEstimate", "OverflowTime", "chain_time", "split_episodes"]


@dataclass(frozen=True, eq=False, repr=False)
class OverflowTime(Result):
    """The time until a pool first overflows, s, exactly, as `overflow` returns it for `OverflowChain`.

    Attributes
    ----------
    passage
        The passage time of the chain of the number of groups, from equilibrium: mean, distribution, bounds.
    empty
        Mean time from an empty pool.
    within
        Time within which an overflow counts, s.

    Examples
    --------
    >>> from dfcmodel.lossless import Episodes, headroom_pool, overflow
    >>> pool = headroom_pool(1e5, 10, 2, size="600 kB", shared="9 MB", alpha=1.0, rate="100Gbps")
    >>> time = overflow(pool, Episodes(starts=50.0, held=1e-3, within=0.01))
    >>> round(time.empty.mean, 3)  # s
    7.128
    """

    passage: Passage
    empty: Passage
    within: float

    @property
    def probability(self) -> float:
        """Probability that the pool overflows within the time."""
        return float(self.passage.distribution(self.within).cdf[0])

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of the probability by its proved error."""
        distribution = self.passage.distribution(self.within)
        error = float(distribution.error_bound[0])
        return max(0.0, float(distribution.cdf[0]) - error), min(1.0, float(distribution.cdf[0]) + error)

    def summary(self) -> dict[str, object]:
        """Return texts by name: the probability with its proved interval, and the mean times until overflow."""
        low, high = self.interval
        return {
            f"overflow within {self.within:g} s": f"{self.probability:.6g}",
            "proved": f"{low:.6g} to {high:.6g}",
            "mean time from equilibrium": f"{self.passage.mean:.6g} s",
            "mean time from an empty pool": f"{self.empty.mean:.6g} s",
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the probability over time; return the Axes."""
        axes = figure()[1] if ax is None else ax
        times = np.linspace(0.0, 3.0 * self.within, 61)
        axes.plot(times, self.passage.distribution(times).cdf)
        axes.axvline(self.within, color="#000000", ls=":")
        axes.set(xlabel="time (s)", ylabel="P(overflow)")
        return axes


def chain_time(pool: HeadroomPool, traffic: Episodes) -> OverflowTime:
    """Return the exact time until a pool of equal headrooms overflows, for exponential durations.

    Raises
    ------
    ValueError
        For unequal headrooms, other durations, more than 10,000 groups, or a pool that cannot overflow.
    """
    import scipy.sparse as sp
    from scipy.stats import binom

    from markov import MarkovChain, passage

    if not isinstance(traffic.held, (int, float)):
        hint = "must be a mean in s, of exponential durations; Splitting() takes any"
        raise ValueError(f"held = {traffic.held!r}: {hint}")  # noqa: TRY004
    sizes = np.unique(pool.headroom)
    if len(sizes) > 1:
        raise ValueError("pool: all headrooms must be equal; Splitting() takes any")
    n = integer("groups", pool.groups, 1, 10_000)
    overflow_count = int(np.floor(pool.size / sizes[0] * (1.0 + 1e-12))) + 1
    if overflow_count > n:
        raise ValueError(f"pool: size {pool.size:,.0f} B holds all headrooms, it cannot overflow")
    up, down = float(traffic.starts), 1.0 / float(traffic.held)
    count = np.arange(n + 1)
    ups, downs = up * (n - count[:-1]), down * count[1:]
    diagonal = -(np.append(ups, 0.0) + np.append(0.0, downs))
    chain = MarkovChain(sp.diags([downs, diagonal, ups], [-1, 0, 1], format="csr"))
    pmf = binom.pmf(count, n, up / (up + down))
    target = count >= overflow_count
    equilibrium, empty = (passage(chain, to=target, start=start) for start in (pmf / pmf.sum(), 0))
    return OverflowTime(equilibrium, empty, float(traffic.within))


@dataclass(frozen=True, eq=False, repr=False)
class OverflowEstimate(Result):
    """The probability of an overflow within a time, estimated, as `overflow` returns it for `Splitting`.

    Attributes
    ----------
    replications
        Independent estimates, shape (R,).
    levels
        Demand above which paths are split, ascending, in bytes; the last is the size of the pool.
    within
        Time within which an overflow counts, s.

    Examples
    --------
    >>> from dfcmodel.lossless import Episodes, Splitting, headroom_pool, overflow
    >>> from markov import PhaseType
    >>> pool = headroom_pool(1e5, 10, 2, size="500 kB", shared="9 MB", alpha=1.0, rate="100Gbps")
    >>> episodes = Episodes(50.0, PhaseType.erlang(2, mean=1e-3), within=0.01)
    >>> estimate = overflow(pool, episodes, Splitting(paths=100))
    >>> estimate.interval[0] < estimate.probability < estimate.interval[1]
    True
    """

    replications: Floats
    levels: Floats
    within: float
    DIMENSIONS: ClassVar[Mapping[str, tuple[str, ...]]] = {"replications": ("replication",), "levels": ("level",)}
    ROW_DIMENSIONS: ClassVar[tuple[str, ...]] = ("replication",)

    @property
    def probability(self) -> float:
        """Mean of the replications' estimates of the probability; unbiased."""
        return float(self.replications.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the probability, by Student's t over the replications for its logarithm.

        Products of fractions are skewed, so that low estimates have a small spread; the interval of the
        logarithm reaches further up. Its coverage is approximate (docs/intervals.md). Replications that are 0, or far
        below others, indicate too few paths. If all are 0, the interval is (0, 1).
        """
        if not self.replications.any():
            return 0.0, 1.0
        relative = float(half_width(self.replications)) / self.probability
        return self.probability * np.exp(-relative), min(1.0, self.probability * float(np.exp(relative)))

    def summary(self) -> dict[str, object]:
        """Return texts by name: the estimate with its interval and range; and the number of levels."""
        low, high = self.interval
        return {
            f"overflow within {self.within:g} s": f"{self.probability:.4g}",
            "95 % interval": f"{low:.4g} to {high:.4g}, of the mean over {len(self.replications)} replications",
            "single replications": f"{self.replications.min():.4g} to {self.replications.max():.4g}",
            "levels": len(self.levels),
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the replications in order of size; return the Axes."""
        axes = figure()[1] if ax is None else ax
        axes.plot(np.sort(self.replications), ".")
        axes.axhline(self.probability)
        axes.set(xlabel="replication", ylabel="estimate")
        return axes


def split_episodes(pool: HeadroomPool, traffic: Episodes, effort: tuple[int, int], seed: Any) -> OverflowEstimate:
    """Return the estimated probability that a pool overflows within a time; ``effort``: paths and replications.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed values.
    """
    from markov import PhaseType

    duration: Any = traffic.held
    held = PhaseType.exponential(1.0 / duration) if isinstance(duration, (int, float)) else duration
    instance("held", held, PhaseType)
    starts, within = float(traffic.starts), float(traffic.within)
    paths, replications = effort
    draw = random_generator("seed", seed)
    episodes = _Episodes(pool, starts, held)
    p = starts * held.mean / (1.0 + starts * held.mean)
    first = min(p * pool.demand, 0.9 * pool.size)
    step = float(pool.headroom.max())
    levels = np.append(np.arange(first, pool.size - 0.5 * step, step), pool.size)
    bar = progress_bar(range(replications), desc="replications")
    estimates = [_one_estimate(episodes, levels, within, paths, draw) for _ in bar]
    return OverflowEstimate(np.array(estimates), levels, within)


def _one_estimate(episodes: _Episodes, levels: Floats, within: float, paths: int, draw: np.random.Generator) -> float:
    """Return an unbiased estimate of the overflow probability: product of fractions that reach each level."""
    state, clock, product = episodes.equilibrium(paths, draw), np.zeros(paths), 1.0
    for level in levels:
        reached = episodes.run(state, clock, level, within, draw)
        hits = np.flatnonzero(reached)
        product *= len(hits) / paths
        if not len(hits):
            return 0.0
        starts = draw.choice(hits, paths)
        state, clock = state[starts], clock[starts]
    return product


class _Episodes:
    """Numbers of episodes by size of headroom and phase, a Markov jump process whose rates are linear in them."""

    def __init__(self, pool: HeadroomPool, starts: float, held: PhaseType) -> None:
        sizes, self.counts = np.unique(pool.headroom, return_counts=True)
        m = held.order
        self.held, self.m, self.demand = held, m, np.repeat(sizes, m)
        self.p = starts * held.mean / (1.0 + starts * held.mean)
        n, idle = len(self.demand), np.kron(np.eye(len(sizes)), np.ones((m, 1)))
        changes, slopes, constants = [], [], []
        for j in range(n):
            kind, phase, unit = j // m, j % m, np.eye(n)[j]
            begin = starts * held.alpha[phase]
            changes.append(unit)
            slopes.append(-begin * idle[:, kind])
            constants.append(begin * self.counts[kind])
            for k in range(m + 1):
                rate = held.exits[phase] if k == m else held.T[phase, k]
                if k != phase and rate > 0.0:
                    changes.append((np.eye(n)[kind * m + k] if k < m else 0.0) - unit)
                    slopes.append(rate * unit)
                    constants.append(0.0)
        self.changes = np.array(changes)
        self.slopes, self.constants = np.array(slopes).T, np.array(constants)

    def equilibrium(self, paths: int, draw: np.random.Generator) -> Floats:
        """Return random states in equilibrium, shape (paths, n): binomial numbers, phases by time spent."""
        times = np.linalg.solve(-self.held.T.T, self.held.alpha)
        busy = [draw.binomial(count, self.p, paths) for count in self.counts]
        phases = times / times.sum()
        return np.hstack([draw.multinomial(groups, phases) for groups in busy]).astype(np.float64)

    def run(
        self, state: Floats, clock: Floats, level: float, within: float, draw: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Advance paths in place until demand > ``level`` or clock > ``within``; return flags of demand, (paths,)."""
        moving = np.flatnonzero(state @ self.demand <= level)
        while len(moving):
            rates = np.cumsum(np.maximum(state[moving] @ self.slopes + self.constants, 0.0), axis=1)
            total = rates[:, -1]
            clock[moving] += draw.exponential(1.0 / total)
            event = (draw.random(len(moving))[:, None] * total[:, None] >= rates).sum(axis=1)
            moving, event = (indices[clock[moving] <= within] for indices in (moving, event))
            state[moving] += self.changes[event]
            moving = moving[state[moving] @ self.demand <= level]
        return (clock <= within) & (state @ self.demand > level)
