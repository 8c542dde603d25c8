"""The probability that a headroom pool overflows in packet runs, by recombination of independent ports.

Ports that share nothing but the pool are independent of each other, so that the occupancy of one port in one run may be
added to the occupancies of the others in other runs: R runs of K such ports are R^K histories of the pool
(`Histories`). The runs are plain: no importance sampling, and no splitting.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.lossless.pools.paused_packets import PausedPackets
from dfcmodel.lossless.pools.pool_plans import PoolPlan, plan_pool
from dfcmodel.lossless.pools.port_couplings import independent_parts
from dfcmodel.lossless.pools.recombination import Histories, Recombined
from dfcmodel.packets.engine import begin_run
from hopflow.checks import one_number, random_generator
from hopflow.fork_safety import cached_property
from hopflow.progress import progress_bar
from hopflow.results import Result, figure
from hopflow.units import WithUnit, quantities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.lossless.pools.pool_traffic import PacketRuns

    Floats = NDArray[np.float64]

__all__ = ["RecombinedEstimate", "recombine"]

DRAWS, RESAMPLES, RESAMPLED_DRAWS = 10_000, 200, 500
MIN_EFFECTIVE_RUNS = 30.0
"""Effective runs of each part at which the bootstrap interval has its coverage; with fewer it is too short
(docs/headroom-pools.md has the figures)."""
MAX_VALUES = 10**8


@dataclass(frozen=True, eq=False, repr=False)
class RecombinedEstimate(Result):
    """The probability of an overflow within a time, as `overflow` returns it for `PacketRuns`.

    Attributes
    ----------
    histories
        Occupancies of the parts in the runs, and the size of the pool: ``histories.held`` in packets, shape
        (times, parts, runs).
    parts
        Names of the links of each independent part.
    within
        Time within which an overflow counts, s.
    seed
        Seed of the draws.

    Examples
    --------
    >>> from dfcmodel import Flow, Link, OnOff, Pause, Scenario
    >>> from dfcmodel.lossless import PacketRuns, Recombination, overflow
    >>> rule, bursts = Pause(high=5, low=2), OnOff(rate=2e4, on=1e-3, off=8e-3, random=True)
    >>> ports = [Link("s", f"h{n}", 1e4, 1e-3, 500, rule) for n in range(3)]
    >>> flows = [Flow(f"f{n}", ("s", f"h{n}"), bursts) for n in range(3)]
    >>> fabric = Scenario("ports", ports, flows, duration=0.1)
    >>> estimate = overflow(40, PacketRuns(fabric, within=0.01), Recombination(runs=200), seed=1)
    >>> estimate.interval[0] < estimate.probability < estimate.interval[1]
    True
    >>> estimate.at(60).probability < estimate.probability
    True
    """

    histories: Histories
    parts: tuple[tuple[str, ...], ...]
    within: float
    seed: int

    @property
    def size(self) -> float:
        """Packets that the pool can hold."""
        return self.histories.size

    @property
    def runs(self) -> int:
        """Number of plain runs of the scenario."""
        return int(self.histories.held.shape[2])

    @property
    def probability(self) -> float:
        """Fraction of the recombined histories that overflow the pool, unbiased; with a single part, of the runs."""
        if len(self.parts) == 1:
            return self.histories.plain() / self.runs
        return self._estimate.probability

    @property
    def effective_runs(self) -> Floats:
        """Kish's effective number of runs of each part in overflows, shape (parts,)."""
        return self._estimate.effective

    @cached_property
    def replicates(self) -> Floats:
        """Bootstrap estimates, from runs drawn with replacement for each part, shape (200,)."""
        draw = np.random.default_rng([self.seed, 1])
        shape = np.full(self.runs, 1.0 / self.runs)
        estimates = [
            self.histories.recombine(draw.multinomial(self.runs, shape, len(self.parts)), RESAMPLED_DRAWS, draw)
            for _ in progress_bar(range(RESAMPLES), desc="bootstrap")
        ]
        return np.array([estimate.probability for estimate in estimates])

    @property
    def plain_interval(self) -> tuple[float, float]:
        """95 % confidence interval from the plain runs, without recombination (Clopper and Pearson)."""
        from scipy.stats import binomtest

        limits = binomtest(self.histories.plain(), self.runs).proportion_ci(0.95)
        return float(limits.low), float(limits.high)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval: the basic bootstrap over the runs, of the logarithm of the estimate.

        (A. C. Davison, D. V. Hinkley, Bootstrap Methods and their Application, Cambridge, 1997, 5.2.) With
        fewer than 30 effective runs of a part it would be too short. The upper end is then that of `plain_interval`.
        More runs narrow it. With a single part it is `plain_interval`.
        """
        plain = self.plain_interval
        if len(self.parts) == 1 or not 0.0 < self.probability < 1.0:
            return plain
        lower, upper = np.quantile(self.replicates, [0.025, 0.975]).tolist()
        low = self.probability**2 / upper
        return low, min(1.0, self.probability**2 / lower) if self.is_narrow else plain[1]

    @property
    def is_narrow(self) -> bool:
        """Whether the effective runs suffice for the bootstrap."""
        return bool(self.effective_runs.min() >= MIN_EFFECTIVE_RUNS)

    def at(self, size: float) -> RecombinedEstimate:
        """Return the estimate for a pool of another size in packets, from the same runs.

        Raises
        ------
        ValueError
            For a size that is not positive.
        """
        packets = one_number("size", size, above=0.0, hint="in packets")
        return replace(self, histories=Histories(self.histories.held, packets))

    @quantities(probability="share")
    def least_size(self, probability: WithUnit) -> float:
        """Return the minimum pool, in full packets, whose estimate is at most ``probability``; `at` has its interval.

        Raises
        ------
        ValueError
            For a probability that is not between 0 and 1.
        """
        limit = one_number("probability", probability, above=0.0, below=1.0)
        peak = self.histories.held.max(axis=2).sum(axis=1).max()
        low, high = 0, max(1, int(np.ceil(peak)))
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.at(middle).probability <= limit else (middle, high)
        return float(high)

    def summary(self) -> dict[str, object]:
        """Return texts by name: the estimate with its interval, runs and effective runs; and the number of parts."""
        low, high = self.interval
        fewest = self.effective_runs.min()
        note = "" if self.is_narrow else f", fewer than {MIN_EFFECTIVE_RUNS:.0f}: give more runs"
        return {
            f"overflow within {self.within:g} s": f"{self.probability:.4g}",
            "95 % interval": f"{low:.4g} to {high:.4g}",
            "independent parts": len(self.parts),
            "runs": f"{self.runs}, of which {self.histories.plain()} overflow as they are",
            "effective runs behind it": f"{fewest:.0f}{note}",
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the probability over the size of the pool, recombined and of the plain runs; return the Axes."""
        axes = figure()[1] if ax is None else ax
        sizes = np.unique(np.ceil(np.linspace(0.1, 1.5, 15) * self.size))
        estimates = [self.at(size) for size in sizes]
        recombined = np.array([estimate.probability for estimate in estimates])
        plain = np.array([estimate.histories.plain() for estimate in estimates]) / self.runs
        positive, counted = recombined > 0.0, plain > 0.0
        axes.plot(sizes[positive], recombined[positive], label="recombined")
        axes.plot(sizes[counted], plain[counted], ".", label="runs as they were")
        axes.axvline(self.size, color="#000000", ls=":", label="pool")
        scale = "log" if positive.any() else "linear"
        axes.set(yscale=scale, xlabel="packets of pool", ylabel=f"P(overflow in {self.within:g} s)")
        axes.legend()
        return axes

    @cached_property
    def _estimate(self) -> Recombined:
        """The estimate with equal weights of the runs."""
        draw = np.random.default_rng([self.seed, 0])
        return self.histories.recombine(np.ones((len(self.parts), self.runs), dtype=np.int64), DRAWS, draw)


def recombine(size: float, traffic: PacketRuns, runs: int, seed: Any) -> RecombinedEstimate:
    """Return the probability that the packets above pause thresholds exceed a pool of ``size`` packets.

    Ports that share nothing but the pool, no flow, no link before them and no pauses, are recombined. Coupled ports
    form one part; with a single part the estimate is that of the plain runs.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed values.
    """
    draw = random_generator("seed", seed)
    pool_plan = plan_pool(size, traffic)
    plan, ports, size = pool_plan
    parts = independent_parts(plan, ports)
    names = [link.name for link in traffic.scenario.links]
    if (values := runs * len(parts) * (plan.samples + 1)) > MAX_VALUES:
        max_runs = MAX_VALUES // (len(parts) * (plan.samples + 1))
        raise ValueError(
            f"runs = {runs}: {len(parts)} parts at {plan.samples + 1} times make {values:.1e} numbers, must be at most "
            f"{max_runs} runs; use fewer, or a longer sample"
        )
    held = _held(pool_plan, parts, runs, draw)
    seed = int(draw.integers(2**63))
    part_names = tuple(tuple(names[p] for p in part) for part in parts)
    return RecombinedEstimate(Histories(held, size), part_names, float(traffic.within), seed)


def _held(pool_plan: PoolPlan, parts: list[list[int]], runs: int, draw: np.random.Generator) -> NDArray[np.float32]:
    """Return the packets of each part above its thresholds at each time of each run, shape (S, K, R)."""
    plan, spare = pool_plan.plan, 1
    first = begin_run(plan)
    pools = [PausedPackets(first, part) for part in parts]
    part_of = np.concatenate([np.full(len(pool.port), k) for k, pool in enumerate(pools)])
    packets = PausedPackets(first, [p for part in parts for p in part])
    held = np.zeros((plan.samples + 1, len(parts), runs), dtype=np.float32)
    for n in progress_bar(range(runs), desc="runs"):
        seed = int(draw.integers(2**63))
        while True:
            run = first.fork(np.random.default_rng(seed))
            for s in range(plan.samples + 1):
                if run.done < s and not run.advance(s):
                    break
                held[s, :, n] = np.bincount(part_of, packets.above(run), len(parts))
            else:
                break
            spare *= 4
            first = begin_run(plan, spare)
    return held
