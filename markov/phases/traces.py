"""Markovian arrival processes fitted to measured streams, by the EM algorithm.

P. Buchholz, An EM-algorithm for MAP fitting from real traffic data, TOOLS 2003, LNCS 2794; T. Ryden, An EM
algorithm for estimation in Markov-modulated Poisson processes, Computational Statistics & Data Analysis
21, 1996. The expected times and numbers of changes of phase come from `markov.phases.passes`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopflow.checks import integer, number
from hopflow.progress import progress_bar
from hopflow.units import quantities
from markov.phases.arrivals import MAP
from markov.phases.passes import Passes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["MapFit", "fit_map"]

FEWEST = 10  # intervals per phase
MAX_PHASES = 8  # phases
GAIN = 1e-8  # of the log-likelihood, per interval and round: less ends the iteration


@dataclass(frozen=True)
class MapFit:
    """A Markovian arrival process fitted to intervals.

    Attributes
    ----------
    process
        The `MAP`.
    log_likelihood
        Of all intervals, for densities in 1/s, the first of them after an arrival.
    rounds
        Iterations of the algorithm.
    converged
        Whether they ended because the likelihood rose no more.

    Examples
    --------
    >>> from markov import fit_map
    >>> found = fit_map([1.0, 2.0, 6.0] * 4, phases=1)
    >>> round(found.process.rate, 12), round(found.log_likelihood, 3)
    (0.333333333333, -25.183)
    """

    process: MAP
    log_likelihood: float
    rounds: int
    converged: bool


@quantities(intervals="time")
def fit_map(intervals: ArrayLike, *, phases: int = 2, rounds: int = 500) -> MapFit:
    """Return the Markovian arrival process of greatest likelihood that an EM algorithm finds.

    Parameters
    ----------
    intervals
        Times between arrivals in s, in their order, positive, at least ten per phase; shape (n,).
    phases
        Of the process, 1 to 8.
    rounds
        Iterations at most, from each of two starts.

    Returns
    -------
    MapFit
        A local maximum: the likelihood of others may be larger. A round takes some microseconds per
        interval.

    Raises
    ------
    ValueError
        For intervals that are not positive or too few, and a number of phases or rounds outside its range.

    Examples
    --------
    Bursts of intervals of about 1 ms, then some of about 50 ms:

    >>> import numpy as np
    >>> from markov import fit_map
    >>> rng = np.random.default_rng(1)
    >>> long = np.repeat(rng.random(50) < 0.3, 10)
    >>> found = fit_map(rng.exponential(np.where(long, 0.05, 0.001)))
    >>> found.process.order, found.converged, bool(found.process.dispersion > 5.0)
    (2, True, True)
    """
    m, most = integer("phases", phases, 1, MAX_PHASES), integer("rounds", rounds, 1, 10**6)
    given = number("intervals", intervals, above=0.0)
    if given.ndim != 1 or len(given) < FEWEST * m:
        least = f"with phases = {m} at least {FEWEST * m} times in one row are expected"
        raise ValueError(f"intervals has shape {given.shape}: {least}")
    scale = float(given.mean())
    starts = _starts(given / scale, m)
    with progress_bar(total=most * len(starts), desc="EM algorithm") as bar:
        fits = []
        for D0, D1 in starts:
            fits.append(_climbed(given / scale, D0, D1, most, bar))
            bar.update(most - fits[-1].rounds)
    best = max(fits, key=lambda fit: fit.log_likelihood)
    process = MAP(best.process.D0 / scale, best.process.D1 / scale)
    likelihood = best.log_likelihood - len(given) * math.log(scale)
    return MapFit(process, likelihood, best.rounds, best.converged)


def _starts(times: Floats, m: int) -> list[tuple[Floats, Floats]]:
    """Return processes to start from: phases are groups of intervals of similar lengths.

    One with the transitions between groups that were counted, one with independent intervals.
    """
    order = np.argsort(np.argsort(times, kind="stable"), kind="stable")
    groups = order * m // len(times)
    rates = 1.0 / np.array([times[groups == k].mean() for k in range(m)])
    counts = np.ones((m, m))
    np.add.at(counts, (groups[:-1], groups[1:]), 1.0)
    hidden = 0.1 * rates[:, None] / m * (1.0 - np.eye(m))
    found = []
    for weights in (counts, np.ones((m, m))):
        D1 = rates[:, None] * weights / weights.sum(axis=1, keepdims=True)
        found.append((hidden - np.diag(hidden.sum(axis=1) + rates), D1))
    return found if m > 1 else found[:1]


def _climbed(times: Floats, D0: Floats, D1: Floats, most: int, bar: object) -> MapFit:
    before, found = -math.inf, MAP(D0, D1)
    for rounds in range(1, most + 1):
        passes = Passes(found.D0, found.D1, found.interval.alpha, times)
        if passes.log_likelihood - before <= GAIN * len(times):
            return MapFit(found, passes.log_likelihood, rounds, converged=True)
        before, last = passes.log_likelihood, found
        found = MAP(*passes.improved())
        bar.update()  # type: ignore[attr-defined]
    return MapFit(last, before, most, converged=False)
