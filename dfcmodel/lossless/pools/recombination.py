"""Recombined histories of independent parts of a pool: the probability that their sum exceeds a size.

Parts that share nothing but the pool are independent. R histories of each of K parts are therefore R^K histories of the
pool, and the fraction of these that exceed the size estimates the probability without bias. It is not counted but
computed: for each sampling time the distribution of the sum is a convolution, and the probability of the union over the
times follows from draws among the histories that exceed the size at one of them, each weighted with one over the number
of times at which it does (R. M. Karp, M. Luby, N. Madras, Journal of Algorithms 10, 1989). The relative error of the
draws does not depend on the rarity of the overflow. The sampling error of R runs remains.
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

MAX_STEPS = 4096
"""Steps up to the size in which sums are convolved: more steps waste fewer draws on histories that do not exceed it."""


class Recombined(NamedTuple):
    """An estimate from recombined histories: probability, and effective number of runs.

    Attributes
    ----------
    probability
        Probability of exceeding the size at a sampling time.
    effective
        Kish's effective number of the histories of each part that occur where the size is exceeded, (K,).
    """

    probability: float
    effective: Floats


@dataclass(frozen=True, eq=False)
class Histories:
    """Packets held by K independent parts at S sampling times in R runs.

    Attributes
    ----------
    held
        Packets above thresholds by time, part and run, shape (S, K, R).
    size
        Packets that the pool can hold.
    """

    held: NDArray[np.float32]
    size: float

    @cached_property
    def step(self) -> float:
        """Packets per step of the convolutions; 1 if numbers are whole and `MAX_STEPS` suffice."""
        exact = self.size <= MAX_STEPS and bool((self.held == np.floor(self.held)).all())
        return 1.0 if exact else self.size / MAX_STEPS

    @cached_property
    def top(self) -> int:
        """Steps that any total above the size has at least; a total that just fills the pool can have as many."""
        return int(self.size / self.step * (1.0 - 1e-12)) + 1

    @cached_property
    def steps(self) -> NDArray[np.int32]:
        """Packets ``held`` in steps, rounded up, at most ``top``, shape (S, K, R)."""
        steps: NDArray[np.int32] = np.ceil(self.held / self.step).clip(0, self.top).astype(np.int32)
        return steps

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """Indices of the runs by ascending ``steps``, for each time and part, shape (S, K, R)."""
        order: NDArray[np.int32] = np.argsort(self.steps, axis=2, kind="stable").astype(np.int32)
        return order

    def plain(self) -> int:
        """Return the number of runs, as simulated, in which the parts together exceed the size at any time."""
        total = self.held.sum(axis=1, dtype=np.float64)
        return int((total > self.size).any(axis=0).sum())

    def recombine(self, weights: Integers, draws: int, rng: np.random.Generator) -> Recombined:
        """Return the estimate from ``draws`` draws; ``weights`` are multiplicities of the runs, shape (K, R)."""
        masses = self._masses(weights)
        tails = [self._tails(mass) for mass in masses]
        at_time = np.array([tail[0][0] for tail in tails])
        total = float(at_time.sum())
        parts = len(weights)
        if total == 0.0:
            return Recombined(0.0, np.zeros(parts))
        positions = (np.arange(draws) + rng.random()) / draws * total
        times = np.minimum(np.searchsorted(np.cumsum(at_time), positions), len(tails) - 1)
        drawn = np.concatenate(
            [
                self._draw(int(t), int(n), masses[t], tails[t], weights, rng)
                for t, n in zip(*np.unique(times, return_counts=True), strict=True)
            ]
        )
        worth = self._worth(drawn)
        return Recombined(total * float(worth.mean()), self._effective(drawn, worth))

    def _masses(self, weights: Integers) -> Floats:
        """Return the probability of each number of steps at each time and part, shape (S, K, top + 1)."""
        times, parts, runs = self.steps.shape
        width = self.top + 1
        rows = np.arange(times * parts).reshape(times, parts, 1) * width
        repeated = np.broadcast_to(weights, self.steps.shape).reshape(-1)
        counts = np.bincount((rows + self.steps).reshape(-1), repeated, times * parts * width)
        masses: Floats = counts.reshape(times, parts, width) / runs
        return masses

    def _tails(self, masses: Floats) -> list[Floats]:
        """Return, for k = 0 to K, the probabilities that parts k on exceed the size after j steps of those before.

        All terms are positive: every probability is exact to rounding, however small.
        """
        tails = [np.append(np.zeros(self.top), 1.0)]
        for mass in masses[::-1]:
            support = mass[: np.flatnonzero(mass)[-1] + 1]
            after = np.append(tails[-1], np.ones(len(support) - 1))
            tails.append(np.correlate(after, support, "valid"))
        return tails[::-1]

    def _draw(
        self,
        t: int,
        count: int,
        masses: Floats,
        tails: list[Floats],
        weights: Integers,
        rng: np.random.Generator,
    ) -> NDArray[np.int32]:
        """Return ``count`` random histories that exceed the size at time ``t``, as indices of runs, (count, K)."""
        held, drawn = np.zeros(count, dtype=np.int64), []
        for k, mass in enumerate(masses):
            values = np.flatnonzero(mass)
            after = tails[k + 1][np.minimum(held[:, None] + values, self.top)]
            sums = np.cumsum(mass[values] * after, axis=1)
            index = (sums <= rng.random((count, 1)) * sums[:, -1:]).sum(axis=1)
            order = self.order[t, k]
            cumulative = np.cumsum(weights[k, order])
            last = np.searchsorted(self.steps[t, k, order], values, side="right") - 1
            upper = cumulative[last]
            lower = np.append(0, upper[:-1])
            rank = lower[index] + rng.random(count) * (upper - lower)[index]
            drawn.append(order[np.searchsorted(cumulative, rank, side="right")])
            held = np.minimum(held + values[index], self.top)
        return np.array(drawn).T

    def _worth(self, drawn: NDArray[np.int32]) -> Floats:
        """Return 1 / (number of times at which a history exceeds the size), shape (count,); 0 if only its steps do."""
        times, parts, _ = self.held.shape
        steps = np.zeros((times, len(drawn)), dtype=np.int64)
        held = np.zeros((times, len(drawn)))
        for k in range(parts):
            steps += self.steps[:, k, drawn[:, k]]
            held += self.held[:, k, drawn[:, k]]
        exceeding: Floats = (held > self.size).any(axis=0) / (steps >= self.top).sum(axis=0)
        return exceeding

    def _effective(self, drawn: NDArray[np.int32], worth: Floats) -> Floats:
        """Return Kish's effective number of runs among drawn histories, by part, (K,)."""
        runs = self.held.shape[2]
        shares = np.array([np.bincount(column, worth, runs) for column in drawn.T])
        squares = (shares**2).sum(axis=1)
        effective: Floats = shares.sum(axis=1) ** 2 / np.where(squares > 0.0, squares, 1.0)
        return effective
