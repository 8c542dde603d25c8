"""The distribution of a first passage time of a chain that stops in the set.

With a bound on the relative error of each probability: by powers of the jump chain and their limits
(`markov.time.passages.powers`), for few states and many jumps by squaring.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from hopflow.fork_safety import cached_property
from markov.computing.graphs import leads_to
from markov.computing.matrices import off_diagonal
from markov.computing.rounding import U
from markov.proofs.bounded import Bounded
from markov.time.exponentials.squaring import Evolution, worthwhile
from markov.time.exponentials.words import exact_sum
from markov.time.passages.absorbing import Absorbing
from markov.time.passages.powers import Place, PowerSums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.chains import MarkovChain
    from markov.time.exponentials.words import Words

    Vector = NDArray[np.float64]

__all__ = ["Distribution", "PassageTime", "stopping_rates"]

SPAN = 16.0
"""Times shorter or longer by this factor than those that were asked for are served by the same squares."""
MAX_STEPS = 100  # of a bisection; Newton's method needs some six


@dataclass(frozen=True)
class Distribution:
    """The distribution of a passage time T at some times, all of shape (times,).

    Attributes
    ----------
    times
        In s.
    cdf, survival
        P(T <= t) and P(T > t); each is computed by itself, so that a small one is accurate too.
    density
        Of T, in 1/s.
    error_bound
        Rigorous bound on the absolute error of ``cdf`` and ``survival``.
    relative_error
        Rigorous bound on the relative error of ``cdf`` and ``survival`` above 1e-280, however small they
        are. It is useless where one of them is known to be tiny only.
    """

    times: Vector
    cdf: Vector
    survival: Vector
    density: Vector
    error_bound: Vector
    relative_error: Vector


class PassageTime:
    """The time until a chain enters a set.

    Parameters
    ----------
    chain
        Its generator, shape (n, n).
    target
        The set, shape (n,).
    start
        The distribution at time 0, shape (n,).
    """

    never = Bounded(math.inf, math.inf, math.inf)

    def __init__(self, chain: MarkovChain, target: NDArray[np.bool_], start: Vector) -> None:
        rates = off_diagonal(chain.Q)
        transient = leads_to(sp.csr_matrix(rates.T), target) & ~target
        self._running = transient & leads_to(rates, start > 0.0, transient)
        self._rates, self._target, self._start = rates, target, start
        self._ended = math.fsum(start[target]), math.fsum(start[~(transient | target)])
        self._evolution: Evolution | None = None
        self._span = math.inf, 0.0  # times that were asked for
        self._begin = Place(0.0, self._ended[0], math.fsum(start[~target]), 0.0, U, U)

    @cached_property
    def _powers(self) -> PowerSums | None:
        """Powers of the jump chain; None where nothing ever happens."""
        if not self._running.any():
            return None
        system = Absorbing(self._rates, self._running)
        into = system.rates_into(self._target), system.rates_into(~(self._running | self._target))
        ends = into[0].astype(np.float64), into[1].astype(np.float64)
        return PowerSums(system, self._start[self._running], ends, self._ended)

    def _after(self, time: float) -> Place:
        if time <= 0.0 or self._powers is None:
            return replace(self._begin, time=time)
        entries = self._powers.entries
        if worthwhile(int(self._running.sum()) + 2, self._powers.rate * time, entries):
            found = self._squared(time)
            if found is not None:
                return found
        return self._powers.at(time)

    def _squared(self, time: float) -> Place | None:
        """Return a place by squaring; None where that proves nothing, or too little."""
        evolution = self._evolution
        if evolution is None or not evolution.covers(time):
            low, high = min(self._span[0], time / SPAN), max(self._span[1], time * SPAN)
            evolution = self._evolution_of(low, high) or self._evolution_of(time, time)
            if evolution is None:
                return None
            self._evolution = evolution
        first = np.append(self._start[self._running], self._ended)
        found = evolution.forward(first, [time])
        values, relative = found.values[0], float(found.relative[0])
        relative += U * (1.0 + relative)  # of the probabilities at time 0
        error = relative * math.fsum(values.tolist()) + float(found.absolute[0])
        survival = math.fsum(values[:-2].tolist()) + float(values[-1])
        density = float(values @ self._stopping[0, :, -2])
        relative = (relative + 2.0 * U) * (1.0 + 8.0 * U)
        return Place(time, float(values[-2]), survival, density, error, relative)

    def _evolution_of(self, shortest: float, longest: float) -> Evolution | None:
        """Return the squares for some times; None where nothing is proved."""
        try:
            return Evolution(self._stopping, shortest, longest, stored=True)
        except ValueError:
            return None

    @cached_property
    def _stopping(self) -> Words:
        return stopping_rates(self._rates, self._running, self._target)

    def at(self, times: Vector) -> Distribution:
        """Return the distribution at ascending times."""
        later = times[times > 0.0]
        if len(later):
            low, high = self._span
            self._span = min(low, float(later[0])), max(high, float(later[-1]))
        found = [self._after(time) for time in times.tolist()]
        columns = ("cdf", "survival", "density", "error", "relative")
        return Distribution(times, *(np.array([getattr(p, name) for p in found]) for name in columns))

    def quantile(self, q: float, scale: float) -> Bounded:
        """Return the time at which the probability is q, which it gets above; scale in s, > 0."""
        low = self._begin
        if low.cdf >= q:
            return Bounded(0.0, 0.0, 0.0)
        high = self._after(scale if scale > 0.0 else 1.0)
        while high.cdf < q:
            if high.cdf == low.cdf and low.time > 0.0:
                return Bounded(math.inf, high.time, math.inf)  # q is within rounding of the limit
            low, high = high, self._after(2.0 * high.time)
        middle = low
        for _ in range(MAX_STEPS):
            middle = self._after(_guess(low, high, middle, q))
            if middle.cdf < q:
                low = middle
            else:
                high = middle
            gap = abs(middle.cdf - q)
            if gap <= 2.0 * U * q or high.time - low.time <= 4.0 * U * high.time:
                break
        return self._verified(middle, q)

    def _verified(self, found: Place, q: float) -> Bounded:
        """Return an interval at whose ends the probability is less and more than q for sure."""
        slope = max(found.density, 1e-300)
        first = 2.0 * (found.cdf_error + abs(found.cdf - q)) / slope
        least = 4.0 * U * found.time
        lower, width = 0.0, max(first, least)
        while found.time > width:
            before = self._after(found.time - width)
            if before.cdf + before.cdf_error < q:
                lower = before.time
                break
            width *= 2.0
        width = max(first, least)
        while width <= 1e3 * max(found.time, 1e-300):
            after = self._after(found.time + width)
            if after.cdf - after.cdf_error > q:
                return Bounded(found.time, lower, after.time)
            width *= 2.0
        return Bounded(found.time, lower, math.inf)


def _guess(low: Place, high: Place, last: Place, q: float) -> float:
    """Return the time of Newton's step where it stays between, else the middle."""
    if last.density > 0.0:
        guess = last.time + (q - last.cdf) / last.density
        if low.time < guess < high.time:
            return guess
    return 0.5 * (low.time + high.time)


def stopping_rates(rates: sp.csr_matrix, running: NDArray[np.bool_], target: NDArray[np.bool_]) -> Words:
    """Return the rates of the stopped chain, shape (2, m + 2, m + 2), those into its two ends as exact sums."""
    rows = sp.csr_matrix(rates[running])
    m = rows.shape[0]
    found = np.zeros((2, m + 2, m + 2))
    found[0, :m, :m] = rows[:, running].toarray()
    for end, inside in ((m, target), (m + 1, ~(running | target))):
        part = sp.csr_matrix(rows[:, inside])
        for s in range(m):
            values = part.data[part.indptr[s] : part.indptr[s + 1]].tolist()
            found[:, s, end] = exact_sum(values)
    return found
