"""Histories of independent parts of a pool, put together at random: how probable it is that their sum exceeds a size.

Parts that share nothing but the pool are independent. R histories of each of K parts are therefore R^K histories of
the pool, and the fraction of these that exceed the size estimates the probability without bias. It is not counted
but computed: for each sampling time the distribution of the sum is a convolution, and the probability of the union over the
times follows from draws among the histories that exceed the size at one of them, each weighted with one over the
number of times at which it does (R. M. Karp, M. Luby, N. Madras, Journal of Algorithms 10, 1989). The relative
error of the draws does not depend on how rare the overflow is. What remains is that of R runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hopflow.fork_safety import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["Histories", "Recombined"]

MOST_STEPS = 4096
"""Steps up to the size in which sums are convolved: finer ones make draws of fewer histories that do not exceed it."""


class Recombined(NamedTuple):
    """An estimate from recombined histories.

    Attributes
    ----------
    probability
        Of exceeding the size at some sampling time.
    effective
        Kish's effective number of the histories of each part that occur where the size is exceeded, (K,).
    """

    probability: float
    effective: Floats


@dataclass(frozen=True, eq=False)
class Histories:
    """What K parts hold at S sampling times in R runs.

    Attributes
    ----------
    held
        Packets, shape (S, K, R).
    size
        Packets.
    """

    held: NDArray[np.float32]
    size: float

    @cached_property
    def step(self) -> float:
        """Packets that convolutions count in: one if that is exact, and not too many up to the size."""
        exact = self.size <= MOST_STEPS and bool((self.held == np.floor(self.held)).all())
        return 1.0 if exact else self.size / MOST_STEPS

    @cached_property
    def top(self) -> int:
        """The least number of steps that stands for more than the size."""
        return int(self.size / self.step * (1.0 - 1e-12)) + 1

    @cached_property
    def steps(self) -> NDArray[np.int32]:
        """Histories in steps, rounded up, at most ``top``: whatever exceeds the size does so in steps, too."""
        found: NDArray[np.int32] = np.ceil(self.held / self.step).clip(0, self.top).astype(np.int32)
        return found

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """The runs of each time and part by what they hold."""
        found: NDArray[np.int32] = np.argsort(self.steps, axis=2, kind="stable").astype(np.int32)
        return found

    def plain(self) -> int:
        """Return how many of the runs themselves exceed the size."""
        total = self.held.sum(axis=1, dtype=np.float64)
        return int((total > self.size).any(axis=0).sum())

    def recombine(self, weights: Integers, draws: int, rng: np.random.Generator) -> Recombined:
        """Return the estimate from runs that count ``weights`` times, (K, R), by so many draws."""
        masses = self._masses(weights)
        tails = [self._tails(each) for each in masses]
        at_time = np.array([tail[0][0] for tail in tails])
        together = float(at_time.sum())
        parts = len(weights)
        if together == 0.0:
            return Recombined(0.0, np.zeros(parts))
        places = (np.arange(draws) + rng.random()) / draws * together
        times = np.minimum(np.searchsorted(np.cumsum(at_time), places), len(tails) - 1)
        chosen = np.concatenate(
            [
                self._draw(int(t), int(n), masses[t], tails[t], weights, rng)
                for t, n in zip(*np.unique(times, return_counts=True), strict=True)
            ]
        )
        worth = self._worth(chosen)
        return Recombined(together * float(worth.mean()), self._effective(chosen, worth))

    def _masses(self, weights: Integers) -> Floats:
        """Return the probability of each number of steps, shape (S, K, top + 1)."""
        times, parts, runs = self.steps.shape
        width = self.top + 1
        rows = np.arange(times * parts).reshape(times, parts, 1) * width
        repeated = np.broadcast_to(weights, self.steps.shape).reshape(-1)
        counts = np.bincount((rows + self.steps).reshape(-1), repeated, times * parts * width)
        found: Floats = counts.reshape(times, parts, width) / runs
        return found

    def _tails(self, masses: Floats) -> list[Floats]:
        """Return for each number of parts left out, and the steps that these hold, how probable it is to exceed the size.

        All terms are positive: every probability is exact to rounding, however small.
        """
        found = [np.append(np.zeros(self.top), 1.0)]
        for mass in masses[::-1]:
            some = mass[: np.flatnonzero(mass)[-1] + 1]
            after = np.append(found[-1], np.ones(len(some) - 1))
            found.append(np.correlate(after, some, "valid"))
        return found[::-1]

    def _draw(
        self,
        t: int,
        count: int,
        masses: Floats,
        tails: list[Floats],
        weights: Integers,
        rng: np.random.Generator,
    ) -> NDArray[np.int32]:
        """Return histories that exceed the size at a time: the runs of all parts, (count, K)."""
        held, chosen = np.zeros(count, dtype=np.int64), []
        for k, mass in enumerate(masses):
            values = np.flatnonzero(mass)
            after = tails[k + 1][np.minimum(held[:, None] + values, self.top)]
            sums = np.cumsum(mass[values] * after, axis=1)
            place = (sums <= rng.random((count, 1)) * sums[:, -1:]).sum(axis=1)
            order = self.order[t, k]
            till = np.cumsum(weights[k, order])
            ends = np.searchsorted(self.steps[t, k, order], values, side="right") - 1
            upper = till[ends]
            lower = np.append(0, upper[:-1])
            among = lower[place] + rng.random(count) * (upper - lower)[place]
            chosen.append(order[np.searchsorted(till, among, side="right")])
            held = np.minimum(held + values[place], self.top)
        return np.array(chosen).T

    def _worth(self, chosen: NDArray[np.int32]) -> Floats:
        """Return one over the number of times at which drawn histories exceed the size, 0 if only their steps do."""
        times, parts, _ = self.held.shape
        steps = np.zeros((times, len(chosen)), dtype=np.int64)
        held = np.zeros((times, len(chosen)))
        for k in range(parts):
            steps += self.steps[:, k, chosen[:, k]]
            held += self.held[:, k, chosen[:, k]]
        exceeding: Floats = (held > self.size).any(axis=0) / (steps >= self.top).sum(axis=0)
        return exceeding

    def _effective(self, chosen: NDArray[np.int32], worth: Floats) -> Floats:
        """Return Kish's effective number of runs among drawn histories, by part."""
        runs = self.held.shape[2]
        shares = np.array([np.bincount(column, worth, runs) for column in chosen.T])
        squares = (shares**2).sum(axis=1)
        found: Floats = shares.sum(axis=1) ** 2 / np.where(squares > 0.0, squares, 1.0)
        return found
