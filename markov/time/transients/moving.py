"""The probability that a chain reaches its target until a time, on a set of states that moves with the distribution.

The distribution after each jump of a uniformized chain is kept where it is not too small; states are entered when
mass flows into them and dropped when little is left (F. Didier, T. A. Henzinger, M. Mateescu, V. Wolf, Fast adaptive
uniformization of the chemical master equation, IET Syst. Biol. 4, 2010). It differs from theirs in three ways. The
rate of jumps is constant within a slice of time. The threshold follows a budget for the mass that is dropped. And
nothing depends on an estimate of that mass: what was found to reach the target is a lower bound on its probability,
and all that is neither there, nor known to miss it, nor still held, may have reached it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from hopflow.kernels import shape_of
from markov.computing.compilation import compiled
from markov.computing.progress import Counter
from markov.time.exponentials.poisson_probabilities import UNIT, poisson_weights
from markov.time.transients import moving_kernels as kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

__all__ = ["GrowingChain", "Moved", "moved"]

STATES = 2
"""The first number of a state."""
FASTER = 1.05  # rate of jumps over the largest exit rate
FIRST_JUMPS, MOST_SLICE_JUMPS = 16.0, 1024.0
STEPS = 4  # jumps between two changes of the threshold
TIGHT, LOOSE = 5e-10, 4e-7  # mass that is to be dropped at most: of few states, of more
FEW_STATES = 30_000
RAREST = 1e-6  # chance of further jumps that matters
GENTLE = 0.3  # power of the ratio of wanted to observed loss, by which the threshold changes
MOST_JUMPS_OF_STATES, JUMPS_PER_STATE = 1e8, 4e3
"""Jumps of states that are computed: at least, and for each state that may be held."""
COST_OF_JUMP = 500  # as many states as cost as much as the rest
TOO_FAST = 0.2  # of the budget, that may come to states that are left faster than chosen
RAISED = 1.25  # times the rate of jumps, where more does
FIRST_THRESHOLD, LOWEST_THRESHOLD = 1e-7, 1e-10  # over the mass that is to be dropped
LIKELY = 0.5  # probability of further jumps, below which the threshold is no longer changed
CROWDED, CROWDED_MOST = 4.0, 30.0
"""Power of states over their limit by which the threshold grows, and the largest factor."""
SPARE = 2.0  # known states over states with mass, beyond which the others are forgotten
RELATIVE = 21.0  # error of 1 - x relative to it, over that of x relative to x, for x <= 1 / FASTER


class GrowingChain(Protocol):
    """A chain whose rows are found when they are asked for. States have the numbers from 2 on, the first one is 2.

    In place of states where the chain ends, rows have 0 where it has reached its target, and 1 where it has not.
    """

    count: int
    rows: Any

    @property
    def capacity(self) -> int:
        """Number of states that there is room for."""

    @property
    def largest_sum(self) -> int:
        """The largest number of rates in a row or a column so far."""

    def expand(self, states: NDArray[Any]) -> None:
        """Find the rows of states."""

    def keep(self, states: NDArray[np.int64]) -> NDArray[np.int64]:
        """Forget all other states and all rows; return the order in which the states are numbered from now on."""


class Moved(NamedTuple):
    """What has become of a chain at a time.

    Attributes
    ----------
    reached, missed
        Mass that has reached the target, and that has ended elsewhere: lower bounds, except for errors.
    states, values
        Numbers of the states that are held, and the mass of each, shape (n,): lower bounds in the same way.
    error, rounding
        Absolute error of their sum, and relative error of each by rounding.
    widest
        The largest number of states that were held at once.
    jumps
        How many jumps were computed.
    """

    reached: float
    missed: float
    states: NDArray[np.int64]
    values: Vector
    error: float
    rounding: float
    widest: int
    jumps: int

    def between(self, counted: NDArray[np.bool_]) -> tuple[float, float]:
        """Return bounds on the probability of the target and some of the states that are held, marked in shape (n,)."""
        inside = self.reached + math.fsum(self.values[counted])
        others = self.missed + math.fsum(self.values[~counted])
        low = inside * (1.0 - self.rounding) - self.error
        high = 1.0 - (others * (1.0 - self.rounding) - self.error)
        return max(float(low), 0.0), min(float(high), 1.0)


class _Mass(NamedTuple):
    """Mass of each state now and after a jump, and summed over jumps with their weights."""

    now: Vector
    after: Vector
    total: Vector


class _Lists(NamedTuple):
    """States with mass now and after a jump, and those among the latter without rows."""

    now: NDArray[np.int32]
    after: NDArray[np.int32]
    fresh: NDArray[np.int32]


def moved(chain: GrowingChain, horizon: float, most: int) -> Moved:
    """Return where a chain is at a time in s, from its first state on, on at most about ``most`` states at once.

    The work is limited, too: with many jumps on fewer states, and where those are few, not until that time.
    """
    return _Sweep(chain, horizon, most).run()


class _Sweep:
    """The distribution on its way."""

    def __init__(self, chain: GrowingChain, horizon: float, most: int) -> None:
        self.chain, self.horizon, self.most = chain, horizon, most
        chain.expand(np.array([STATES]))
        self.size = self.widest = 1
        self.work = max(MOST_JUMPS_OF_STATES, JUMPS_PER_STATE * most)
        self.reached = self.missed = self.dropped = self.error = 0.0
        self.time, self.jumps, self.entries = 0.0, 0, 1
        self.budget = TIGHT
        self.threshold = FIRST_THRESHOLD * TIGHT
        self.recent = 0.0
        self._allocate(np.array([STATES]), np.ones(1))
        self.limit = float(most)
        self._push: Any = None

    def _allocate(self, states: NDArray[Any], values: Vector) -> None:
        n = self.chain.capacity
        self.mass = _Mass(np.zeros(n), np.zeros(n), np.zeros(n))
        self.lists = _Lists(*(np.zeros(n, dtype=np.int32) for _ in range(3)))
        self.size = len(states)
        self.lists.now[: self.size] = states
        self.mass.now[states] = values

    def _enlarge(self) -> None:
        more = self.chain.capacity - len(self.mass.now)
        if more > 0:
            self.mass = _Mass(*(np.append(x, np.zeros(more)) for x in self.mass))
            self.lists = _Lists(*(np.append(x, np.zeros(more, np.int32)) for x in self.lists))

    def run(self) -> Moved:
        """Return what has become of the chain at the horizon."""
        jumps = FIRST_JUMPS
        with Counter("jumps of the chain") as bar:
            while self.time < self.horizon and self.size and self.work > 0.0:
                states = self.lists.now[: self.size].copy()
                held = self.mass.now[states]
                rate, rest = self._rate(states), self.horizon - self.time
                found = None
                while found is None and self.work > 0.0:
                    duration = rest if rate * rest <= 1.25 * jumps else jumps / rate
                    found = self._slice(rate, duration, bar)
                    if found is None:
                        self._allocate(states, held)
                        rate = max(rate * RAISED, self._rate(np.arange(STATES, self.chain.count)))
                if found is None:
                    break
                self.reached += found[0]
                self.missed += found[1]
                self.time = self.horizon if duration == rest else self.time + duration
                if not sum(found) and self._is_still(states, held, duration):
                    break
                jumps = min(2.0 * jumps, MOST_SLICE_JUMPS)
                self._tidy()
        if self.time < self.horizon:
            self.size = 0  # where the chain would have gone is not known
        last = self.lists.now[: self.size].astype(np.int64)
        return Moved(
            self.reached,
            self.missed,
            last,
            self.mass.now[last],
            self.error,
            self._rounding(),
            self.widest,
            self.jumps,
        )

    def _rounding(self) -> float:
        """Return the relative error of a mass: of sums of products per jump, and of the sum of what has ended."""
        per_jump = (RELATIVE + 1.0) * (self.entries + 4) + 4.0
        ends = self.entries * kernels.BLOCK + self.widest / kernels.BLOCK + self.jumps
        return (self.jumps * per_jump + ends) * UNIT * (1.0 + 1e-6)

    def _rate(self, states: NDArray[Any]) -> float:
        """Return a rate of jumps for states, some more than the largest exit rate."""
        exits = self.chain.rows.exits[states]
        return FASTER * float(exits[np.isfinite(exits)].max(initial=0.0))

    def _slice(self, rate: float, duration: float, bar: Counter) -> tuple[float, float] | None:
        """Let some time pass, a Poisson number of jumps; return the mass that has reached and missed the target in it.

        None: too much mass has come to states that are left faster than at this rate.
        """
        share = duration / self.horizon
        weights = poisson_weights(rate * duration, max(0.1 * TIGHT * share, 1e-15))
        rests = np.append(np.cumsum(weights.weights[::-1])[::-1], 0.0)
        self.mass.total[:] = 0.0
        largest = rate / FASTER * (1.0 + 4.0 * UNIT)
        sums, sizes, fast, ended = np.zeros(4), np.zeros(3, dtype=np.int64), 0.0, np.zeros(2)
        for k in range(weights.right):
            weight = float(weights.weights[k - weights.left]) if k >= weights.left else 0.0
            rest = float(rests[max(k + 1 - weights.left, 0)])
            if (k % STEPS == 0 and rest > LIKELY) or self.size > self.limit:
                self._set_threshold(rate, duration, k)
                bar.show(self.jumps)
            sizes[0] = self.size
            least = self.threshold / max(rest, RAREST)  # lost in so few cases
            self._jump(sizes, np.array([least, largest, 1.0 / rate, weight]), sums)
            self.recent += rest * sums[0]
            ended += rest * sums[2:]
            fast += rest * sums[1]
            if fast > TOO_FAST * self.budget * share:
                return None
        self._add(float(weights.weights[-1]), largest)
        self.dropped += fast
        self.error += weights.error
        self._collect()
        return float(ended[0]), float(ended[1])

    def _jump(self, sizes: NDArray[np.int64], settings: Vector, sums: Vector) -> None:
        arguments = sizes, settings, self.chain.rows, self.mass, self.lists, sums
        if self._push is None:
            self._push = compiled(kernels.push, shape_of(arguments))
        self._push(*arguments)
        self.mass = _Mass(self.mass.after, self.mass.now, self.mass.total)
        self.lists = _Lists(self.lists.after, self.lists.now, self.lists.fresh)
        self.size = int(sizes[1])
        self.widest = max(self.widest, self.size)
        self.jumps += 1
        self.work -= self.size + COST_OF_JUMP
        if sizes[2]:
            self.chain.expand(self.lists.fresh[: sizes[2]])
            self._enlarge()

    def _add(self, weight: float, largest: float) -> None:
        states = self.lists.now[: self.size]
        slow = states[self.chain.rows.exits[states] <= largest]
        self.mass.total[slow] += weight * self.mass.now[slow]
        self.mass.now[states] = 0.0

    def _set_threshold(self, rate: float, duration: float, done: int) -> None:
        """Let the mass that is dropped follow the budget, and the number of states its limit."""
        if self.size > FEW_STATES:
            self.budget = LOOSE
        self.dropped += self.recent
        share = (self.time + duration * min(done / max(rate * duration, 1.0), 1.0)) / self.horizon
        left = max((1.0 - share) * self.horizon * rate * 1.25, 1.0)
        self.limit = min(self.most, max(self.work / left, 1.0))
        wanted = max(self.budget - self.dropped, 0.1 * self.budget * (1.0 - share)) / left
        ratio = STEPS * wanted / max(self.recent, 1e-300)
        crowded = min((self.size / self.limit) ** CROWDED, CROWDED_MOST)
        self.threshold *= max(min(max(ratio**GENTLE, 0.5), 1.4), crowded)
        self.threshold = max(self.threshold, LOWEST_THRESHOLD * self.budget)
        if crowded < 1.0:
            self.threshold = min(self.threshold, self.budget)
        self.recent = 0.0

    def _collect(self) -> None:
        """Hold the sum over jumps from now on."""
        states = np.flatnonzero(self.mass.total[STATES : self.chain.count] > 0.0) + STATES
        self.size = len(states)
        self.lists.now[: self.size] = states
        self.mass.now[states] = self.mass.total[states]
        self.entries = max(self.entries, self.chain.largest_sum)

    def _is_still(self, before: NDArray[Any], held: Vector, duration: float) -> bool:
        """Stop where the rest of the time changes little, while nothing ends: a further slice changes at most twice what the last one did."""
        rest = math.ceil((self.horizon - self.time) / duration)
        now = self.mass.total.copy()
        now[before] -= held
        change = float(np.abs(now[STATES : self.chain.count]).sum())
        if rest <= 0 or 2.0 * rest * change > TIGHT:
            return False
        self.error += 2.0 * rest * change
        self.time = self.horizon
        return True

    def _tidy(self) -> None:
        """Forget states without mass where they are many."""
        if self.chain.count <= SPARE * self.size + STATES:
            return
        states = self.lists.now[: self.size].astype(np.int64)
        values = self.mass.now[states]
        order = self.chain.keep(states)
        states = np.arange(STATES, STATES + len(order))
        self.chain.expand(states)
        self._allocate(states, values[order])
