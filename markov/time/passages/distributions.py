"""The distribution of a first passage time of a chain that stops in the set.

By uniformization, with a bound on the absolute error; for few states and many jumps by squaring, with a bound on the
relative error of each probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from markov.proofs.bounded import Bounded
from markov.time.passages.reachability import leads_to, off_diagonal, stopped
from markov.time.transients import squaring
from markov.time.transients.uniformization import Uniformized

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.chains import MarkovChain

    Vector = NDArray[np.float64]

__all__ = ["Distribution", "PassageTime", "stopping_rates"]

TOLERANCE = 1e-14
UNIT = 2.0**-53
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
        Rigorous bound on the relative error of ``cdf`` and ``survival`` above 1e-290, however small they
        are; inf where the time was reached by uniformization.
    """

    times: Vector
    cdf: Vector
    survival: Vector
    density: Vector
    error_bound: Vector
    relative_error: Vector


@dataclass(frozen=True)
class _Place:
    """Where the stopped chain is at a time: a vector, with bounds on its total variation and on each entry.

    ``relative`` is of every entry above 1e-290.
    """

    time: float
    values: Vector
    error: float
    relative: float = math.inf


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
        running = leads_to(sp.csr_matrix(rates.T), target) & ~target
        part, _ = stopped(rates, running, target)
        self._into = np.append(np.asarray(part[:-2, -2].todense()).ravel(), [0.0, 0.0])
        inside, ended = start[running], float(start[target].sum())
        first = np.append(inside, [ended, float(start[~(running | target)].sum())])
        self._begin = _Place(0.0, first, 0.0, (len(start) + 1) * UNIT)
        self._stopping = partial(stopping_rates, rates, running, target)
        self._jumps = Uniformized(part)
        # rates into the ends were added up and rounded
        self._merging = (int(np.diff(rates.indptr).max(initial=0)) + 2) * UNIT

    def _after(self, place: _Place, time: float) -> _Place:
        if time <= place.time:
            return place
        jumps = self._jumps.rate * (time - place.time)
        n = len(place.values)
        if squaring.worthwhile(n, jumps):
            exact = self._squared(place, time)
            if exact is not None:
                return exact
        found = self._jumps.distribution(place.values, time - place.time, TOLERANCE)
        error = place.error + found.error + (found.steps + 2) * self._merging
        return _Place(time, found.values, error)

    def _squared(self, place: _Place, time: float) -> _Place | None:
        """Return a later place by squaring; None where that proves nothing, or too little."""
        gap = time - place.time
        if not (math.isfinite(place.relative) and place.time + gap == time):
            place, gap = self._begin, time  # a rounded time would have a relative error
        found = squaring.exponential(self._rates, gap)
        if found is None:
            return None
        values, relative = found.applied(place.values)
        relative += place.relative + found.relative * place.relative
        error = relative * float(values.sum()) + len(values) * found.absolute + place.error
        return _Place(time, values, error, relative)

    @cached_property
    def _rates(self) -> squaring.Pair:
        return self._stopping()

    def _cdf(self, place: _Place) -> float:
        return float(place.values[-2])

    def at(self, times: Vector) -> Distribution:
        """Return the distribution at ascending times."""
        place, found = self._begin, []
        for time in times.tolist():
            place = self._after(place, time)
            found.append(place)
        return Distribution(
            times,
            np.array([self._cdf(p) for p in found]),
            np.array([math.fsum(p.values[:-2]) + float(p.values[-1]) for p in found]),
            np.array([float(p.values @ self._into) for p in found]),
            np.array([p.error for p in found]),
            np.array([p.relative * (1.0 + 1e-9) + 4.0 * UNIT for p in found]),
        )

    def quantile(self, q: float, scale: float) -> Bounded:
        """Return the time at which the probability is q, which it gets above; scale in s, > 0."""
        low = self._begin
        if self._cdf(low) >= q:
            return Bounded(0.0, 0.0, 0.0)
        high = self._after(low, scale if scale > 0.0 else 1.0)
        while self._cdf(high) < q:
            if self._cdf(high) == self._cdf(low) and low.time > 0.0:
                return Bounded(math.inf, high.time, math.inf)  # q is within rounding of the limit
            low, high = high, self._after(high, 2.0 * high.time)
        below = low
        middle = low
        for _ in range(MAX_STEPS):
            middle = self._after(low, self._guess(low, high.time, middle, q))
            if self._cdf(middle) < q:
                low = middle
            else:
                high = middle
            gap = abs(self._cdf(middle) - q)
            if gap <= 2.0 * UNIT or high.time - low.time <= 4.0 * UNIT * high.time:
                break
        return self._verified(below, middle, q)

    def _guess(self, low: _Place, high: float, last: _Place, q: float) -> float:
        """Return Newton's step where it stays between, else the middle."""
        slope = float(last.values @ self._into)
        if slope > 0.0:
            guess = last.time + (q - self._cdf(last)) / slope
            if low.time < guess < high:
                return guess
        return 0.5 * (low.time + high)

    def _verified(self, below: _Place, found: _Place, q: float) -> Bounded:
        """Return an interval at whose ends the probability is less and more than q for sure."""
        slope = max(float(found.values @ self._into), 1e-300)
        width = 2.0 * (found.error + abs(self._cdf(found) - q)) / slope
        lower = found.time
        for _ in range(60):
            before = self._after(below, max(found.time - width, below.time))
            if self._cdf(before) + before.error < q or before.time == 0.0:
                lower = before.time
                break
            if before.time == below.time:  # the bracket's own end is not sure: look from the start
                below = self._begin
            width *= 2.0
        else:
            lower = 0.0
        width = 2.0 * (found.error + abs(self._cdf(found) - q)) / slope
        for _ in range(60):
            after = self._after(found, found.time + max(width, 4.0 * UNIT * found.time))
            if self._cdf(after) - after.error > q:
                return Bounded(found.time, lower, after.time)
            width = 2.0 * max(width, 4.0 * UNIT * found.time)
            if width > 1e3 * max(found.time, 1e-300):
                break
        return Bounded(found.time, lower, math.inf)


def stopping_rates(
    rates: sp.csr_matrix, running: NDArray[np.bool_], target: NDArray[np.bool_]
) -> squaring.Pair:
    """Return the rates of the stopped chain, dense, those into its two ends as exact sums."""
    rows = sp.csr_matrix(rates[running])
    m = rows.shape[0]
    high, low = np.zeros((m + 2, m + 2)), np.zeros((m + 2, m + 2))
    high[:m, :m] = rows[:, running].toarray()
    for end, inside in ((m, target), (m + 1, ~(running | target))):
        part = sp.csr_matrix(rows[:, inside])
        for s in range(m):
            values = part.data[part.indptr[s] : part.indptr[s + 1]].tolist()
            high[s, end], low[s, end] = squaring.exact_sum(values)
    return squaring.Pair(high, low)
