"""How probable it is that a headroom pool overflows in packet runs: importance splitting of the runs.

The pool holds what waits above the pause thresholds of its ports. Fixed-effort splitting (M. J. J. Garvels,
PhD thesis, Univ. of Twente, 2000, Ch. 2) copies the state of runs that have reached a level, and lets the
copies go on with other random numbers, as many from each level as from the one before. Levels are of an importance:
what waits, with what is on its way and what senders will still send until a pause takes effect (`PausedPackets`).
A pilot run chooses them, each so that a given fraction of the runs from the one before reaches it, as in adaptive
multilevel splitting (F. Cerou, A. Guyader, Stochastic Analysis and Applications 25, 2007); the estimates begin anew with
these levels fixed and are therefore unbiased. Whatever the levels, a run that overflows has reached them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.lossless.pools.paused_packets import PausedPackets
from dfcmodel.lossless.pools.pool_overflows import OverflowEstimate
from dfcmodel.lossless.pools.pool_plans import NoRoomError, plan_pool
from dfcmodel.packets.engine import PacketRun, begin_run
from hopflow.checks import ascending, number, random_generator, whole
from hopflow.progress import progress_bar

if TYPE_CHECKING:
    from dfcmodel.network.networks import Scenario
    from dfcmodel.packets.methods import Packets
    from dfcmodel.packets.plans import Plan

__all__ = ["split_packets"]


FRACTION = 0.2
"""Of the runs from a level, how many reach the next one in the pilot run."""
MOST_LEVELS = 200


def split_packets(
    scenario: Scenario,
    size: float,
    *,
    within: float,
    sample: float | None = None,
    links: Iterable[str] | str | None = None,
    levels: Sequence[float] | None = None,
    paths: int = 200,
    replications: int = 10,
    method: Packets | None = None,
    rng: Any = None,
) -> OverflowEstimate:
    """Return the probability that the packets above pause thresholds exceed a pool; ports may be coupled.

    For ports that share nothing but the pool use `recombine_packets`: this is not to be relied on below 1e-3.
    It is that of runs of a scenario packet by packet, which begin at time 0 with an empty network. Thresholds,
    pauses and their delays are those of the scenario; its links must have the buffer for what the pool
    cannot hold, for nothing is dropped when the pool overflows.

    Parameters
    ----------
    scenario
        With links under `Pause` or `PFC`, and something random, such as `OnOff` sources.
    size
        Packets that the pool can hold.
    within
        s.
    sample
        The pool is looked at every ``sample`` s, of which ``within`` must be a multiple; None: a hundredth.
        Overflows between these times are not seen.
    links
        Names of the links whose thresholds count; None: all with Pause or PFC.
    levels
        Levels of importance at which runs are split, ascending, in packets: those above the thresholds, on their
        way, and expected until pauses take effect. None: chosen by a pilot run, which costs twice an estimate;
        (): no splitting, plain Monte Carlo of ``paths`` times ``replications`` runs.
    paths
        Runs from each level, 10 to 1e6.
    replications
        Independent estimates, 5 to 10,000. The interval is Student's, made of them: too short where they differ by more
        than their mean, as for probabilities near 1e-6, where it was seen to miss the answer.
    method
        None: ``Packets()``. Its seed has no meaning here.
    rng
        Seed or generator.

    Returns
    -------
    OverflowEstimate
        Its ``levels`` are those that were used, and can be given again for another estimate of the same question.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.

    Examples
    --------
    >>> from dfcmodel import Flow, Link, OnOff, Pause, Scenario
    >>> from dfcmodel.lossless import split_packets
    >>> rule = Pause(high=5, low=2)
    >>> port = Link(1, 2, rate=1e4, delay=1e-3, buffer=500, discipline=rule)
    >>> bursts = OnOff(rate=1e4, on=2e-3, off=8e-3, random=True)
    >>> flows = [Flow(f"f{n}", (1, 2), bursts, host="unshaped") for n in range(4)]
    >>> one = Scenario("port", [port], flows, duration=0.1)
    >>> found = split_packets(one, 20, within=0.02, paths=20, replications=5, rng=1)
    >>> found.interval[0] <= found.probability <= found.interval[1]
    True
    """
    given = _given_levels(levels)
    paths = whole("paths", paths, 10, 10**6)
    replications = whole("replications", replications, 5, 10_000)
    draw = random_generator("rng", rng)
    asked = plan_pool(scenario, size, within, sample, links, method)
    first, *seeds = draw.integers(2**63, size=1 + replications).tolist()
    runs = _Runs(*asked, paths)
    chosen = runs.repeated(runs.pilot, first) if given is None else given
    bar = progress_bar(seeds, desc="replications")
    found = [runs.repeated(lambda draw: runs.estimate(chosen, draw), seed) for seed in bar]
    return OverflowEstimate(np.array(found), np.array(chosen), asked.plan.end)


class _Runs:
    """Runs of a plan up to levels of importance; beyond all levels is an overflow of the pool."""

    def __init__(self, plan: Plan, ports: list[int], size: float, paths: int) -> None:
        self.plan, self.size, self.paths, self.spare = plan, size, paths, 1
        self.pool = PausedPackets(begin_run(plan), ports)

    def repeated(self, work: Callable[[np.random.Generator], Any], seed: int) -> Any:
        """Return what some work with random numbers gives; again with larger arrays if they were too small."""
        while True:
            try:
                return work(np.random.default_rng(seed))
            except NoRoomError:
                self.spare *= 4

    def estimate(self, levels: Sequence[float], draw: np.random.Generator) -> float:
        """Return the product over the levels and the pool of the fractions of runs that reach them."""
        begins, product = [begin_run(self.plan, self.spare)], 1.0
        for level in [*levels, math.inf]:
            runs = [begins[n].fork(draw) for n in self._shares(len(begins), draw)]
            begins = [run for run in runs if self._highest(run, level) >= level]
            product *= len(begins) / self.paths
            if not begins:
                return 0.0
        return product

    def pilot(self, draw: np.random.Generator) -> list[float]:
        """Return levels, each reached by a `FRACTION` of the runs from the one before or a few more.

        Runs go on to their ends; those that have been above the level are then repeated up to there.
        """
        begins, levels = [begin_run(self.plan, self.spare)], [0.0]
        while len(levels) <= MOST_LEVELS:
            jobs = [(n, int(draw.integers(2**63))) for n in self._shares(len(begins), draw)]
            highest = np.array([self._highest(_again(begins, *job), math.inf) for job in jobs])
            level = float(np.sort(highest)[-math.ceil(FRACTION * self.paths)])
            if not levels[-1] < level < math.inf:
                break
            levels.append(level)
            kept = [job for job, high in zip(jobs, highest, strict=True) if high >= level]
            begins = [_again(begins, *job) for job in kept]
            for run in begins:
                self._highest(run, level)
        return levels[1:]

    def _shares(self, count: int, draw: np.random.Generator) -> list[int]:
        """Return from which of the states each run begins: each of them equally often, as far as that goes."""
        return np.resize(draw.permutation(count), self.paths).tolist()

    def _highest(self, run: PacketRun, level: float) -> float:
        """Run until the importance has reached a level, or to the end; return the highest, inf: the pool overflowed."""
        highest = 0.0
        while True:
            above, ahead = self.pool.measure(run)
            highest = max(highest, math.inf if above > self.size else ahead)
            if highest >= level or run.done == run.plan.samples:
                return highest
            if not run.advance(run.done + 1):
                raise NoRoomError


def _again(begins: list[PacketRun], n: int, seed: int) -> PacketRun:
    """Return a copy of a state with the random numbers of a seed."""
    return begins[n].fork(np.random.default_rng(seed))


def _given_levels(levels: Any) -> list[float] | None:
    """Return levels of importance, checked."""
    if levels is None:
        return None
    given = np.asarray(levels, dtype=object)
    if given.shape == (0,):
        return []
    found = ascending("levels", levels)
    number("levels", found, above=0.0, hint="in packets")
    return [float(level) for level in found.reshape(-1)]
