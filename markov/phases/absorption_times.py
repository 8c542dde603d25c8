"""The distribution of the time to absorption of a few phases: each value with its relative digits.

A probability row of the phases and of the absorbed state is multiplied by non-negative factors of exp(Q t). Nothing is subtracted:
P(X <= t) is an entry of the row and P(X > t) the sum of the others, so that each of both has its digits where it is small.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.time.exponentials.squaring import Evolution

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["RELATIVE_ERROR", "AbsorptionTime", "DistributionValues"]

RELATIVE_ERROR = 1e-10
"""Of each probability and density above 1e-280; most are right to 1e-13."""
FIRST_WINDOW, WINDOW_WIDTH = -4, 44
"""Squares serve scaled times from 2^-4 to 2^40, others windows as wide: steps of the shortest times set the error of the longest."""
MIN_WINDOW = -21  # times before 2^-928 have probabilities below 1e-279
MAX_JUMPS = 2.0**104  # in the mean: with a relative error below 1e-10 for up to 500 phases
CHUNK_ENTRIES = 10**6  # of rows that are evolved at once, 8 MB


class DistributionValues(NamedTuple):
    """Distribution function, survival function and density at some times, shape (times,) each."""

    cdf: Floats
    survival: Floats
    density: Floats


class AbsorptionTime:
    """The time to absorption.

    Parameters
    ----------
    alpha
        Probability of starting in each phase, shape (m,).
    rates
        Between phases in 1/s, zero on the diagonal, shape (m, m).
    exits
        Rates of absorption in 1/s, shape (m,).
    """

    def __init__(self, alpha: Floats, rates: Floats, exits: Floats) -> None:
        m = len(alpha)
        self._start = np.append(alpha, 0.0)
        self._rates = np.zeros((2, m + 1, m + 1))
        self._rates[0, :m, :m], self._rates[0, :m, m] = rates, exits
        # times and rates are scaled by a power of two, which is exact, so that no phase is left more than once in the mean
        self._unit = 2.0 ** -math.frexp(float(self._rates[0].sum(axis=1).max()))[1]
        self._rates *= self._unit
        self._exits = np.append(exits, 0.0)
        self._evolutions: dict[int, Evolution] = {}

    def at(self, times: Floats) -> DistributionValues:
        """Return the distribution at times >= 0 in s, shape (times,), to `RELATIVE_ERROR`.

        Raises
        ------
        ValueError
            Where rates lie so far apart that no such error is proved.
        """
        scaled = self._scaled(times)
        rows = np.empty((len(times), len(self._start)))
        chunk = max(1, CHUNK_ENTRIES // len(self._start))
        for first in range(0, len(times), chunk):
            part = slice(first, first + chunk)
            rows[part] = self._rows(self._start, scaled[part])
        survival = rows[:, :-1].sum(axis=1)
        unproved = times[(scaled == MAX_JUMPS) & (survival > 0.0)]
        if len(unproved):
            raise ValueError(f"x = {unproved[0]:g}: more than {MAX_JUMPS:.0e} changes of phase until then are too many")
        return DistributionValues(np.minimum(rows[:, -1], 1.0), np.minimum(survival, 1.0), rows @ self._exits)

    def _rows(self, start: Floats, scaled: Floats) -> Floats:
        """Return the probabilities of the phases and of absorption, shape (times, ..., m + 1), for starts of shape (..., m + 1)."""
        rows = np.empty((len(scaled), *start.shape))
        windows = np.maximum((np.frexp(scaled)[1] - 1 - FIRST_WINDOW) // WINDOW_WIDTH, MIN_WINDOW)
        windows[scaled == 0.0] = 0
        for window in np.unique(windows).tolist():
            chosen = windows == window
            rows[chosen], error = self._evolution(window).forward_many(start, scaled[chosen])
            if error > RELATIVE_ERROR:
                raise ValueError(
                    f"rates of {len(self._start) - 1} phases: a relative error of {error:.1e} is proved alone"
                )
        return rows

    def transitions(self, times: Floats) -> Floats:
        """Return P(phase j after a time | phase i), shape (times, m, m), to `RELATIVE_ERROR`; 0 after 2^104 jumps."""
        scaled, m = self._scaled(times), len(self._start) - 1
        rows = self._rows(np.eye(m + 1)[:m], scaled)[..., :m]
        return np.where((scaled < MAX_JUMPS)[:, None, None], rows, 0.0)

    def _scaled(self, times: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.minimum(times / self._unit, MAX_JUMPS)

    def quantile(self, q: float) -> float:
        """Return the time in s at which the probability of absorption is q, 0 < q < 1.

        Warns
        -----
        RuntimeWarning
            Where the distribution is so flat there that the time is not known to `RELATIVE_ERROR`.
        """
        absorbed = np.array([len(self._start) - 1])
        states, probability = (absorbed, q) if q <= 0.5 else (np.arange(absorbed[0]), 1.0 - q)
        window, step = 0, 0
        while True:
            evolution = self._evolution(window)
            scaled, error = evolution.time_at(self._start, states, probability)
            if scaled < evolution.shortest and window > MIN_WINDOW:
                step = -1
            elif scaled == math.inf and evolution.longest < MAX_JUMPS and step >= 0:
                step = 1
            else:
                break
            window += step
        if scaled == math.inf:
            raise ValueError(f"q = {q:g}: more than {MAX_JUMPS:.0e} changes of phase until then are too many")
        time = scaled * self._unit
        slope = float(self.at(np.array([time])).density[0]) * time
        if error * probability > RELATIVE_ERROR * slope:
            relative = error * probability / slope if slope else math.inf
            message = f"quantile({q!r}): relative error up to {relative:.1e}, since the distribution is flat there"
            warnings.warn(message, RuntimeWarning, stacklevel=3)
        return time

    def _evolution(self, window: int) -> Evolution:
        """Return the squares for scaled times of a window, up to twice its end: windows overlap."""
        if window not in self._evolutions:
            first = FIRST_WINDOW + window * WINDOW_WIDTH
            longest = min(2.0 ** (first + WINDOW_WIDTH + 1), MAX_JUMPS)
            self._evolutions[window] = Evolution(self._rates, 2.0**first, longest, stored=True)
        return self._evolutions[window]
