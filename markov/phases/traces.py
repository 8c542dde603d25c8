"""Markovian arrival processes fitted to measured streams, by the EM algorithm.

P. Buchholz, An EM-algorithm for MAP fitting from real traffic data, TOOLS 2003, LNCS 2794; T. Ryden, An EM
algorithm for estimation in Markov-modulated Poisson processes, Computational Statistics & Data Analysis
21, 1996. Expected times and numbers of changes of phase are integrals of products of exponentials of D0,
taken here in its eigenvectors, and as blocks of an exponential of twice the size (C. F. Van Loan, IEEE
Transactions on Automatic Control 23, 1978) where these are nearly dependent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopflow.checks import number, whole
from hopflow.progress import progress_bar
from markov.phases.arrivals import MAP

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["MapFit", "fit_map", "log_likelihood"]

FEWEST = 10  # intervals per phase
MOST = 8  # phases
GAIN = 1e-8  # of the log-likelihood, per interval and round: less ends the iteration
CONDITION = 1e8  # of the eigenvectors of D0, beyond which they are not used
SMALL = 1e-6  # of a difference of exponents: the series is right to rounding
BLOCK = 4096  # intervals whose block exponentials are taken at once


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
        Naming the parameter, its value and what is allowed.

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
    m, most = whole("phases", phases, 1, MOST), whole("rounds", rounds, 1, 10**6)
    given = number("intervals", intervals, above=0.0)
    if given.ndim != 1 or len(given) < FEWEST * m:
        least = f"at least {FEWEST * m} times in one row are expected"
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


def log_likelihood(process: MAP, intervals: ArrayLike) -> float:
    """Return the log-likelihood of intervals in s, shape (n,): see `MAP.log_likelihood`."""
    times = number("intervals", intervals, above=0.0)
    if times.ndim != 1 or not len(times):
        raise ValueError(f"intervals has shape {times.shape}: times in one row are expected")
    return _Passes(process, times).log_likelihood


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
        passes = _Passes(found, times)
        if passes.log_likelihood - before <= GAIN * len(times):
            return MapFit(found, passes.log_likelihood, rounds, converged=True)
        before, last = passes.log_likelihood, found
        found = passes.improved()
        bar.update()  # type: ignore[attr-defined]
    return MapFit(last, before, most, converged=False)


class _Passes:
    """Forward and backward passes over the intervals: the E-step.

    Attributes
    ----------
    log_likelihood
        Of the intervals.
    """

    def __init__(self, process: MAP, times: Floats) -> None:
        self._process, self._times = process, times
        D0, D1 = process.D0, process.D1
        values, V = np.linalg.eig(D0)
        self._modes = None
        if np.linalg.cond(V) < CONDITION:
            self._modes = values, V, np.linalg.inv(V)
            decays = np.exp(values * times[:, None])
            self._after = np.einsum("kp,np,pl->nkl", V, decays, self._modes[2]).real
        else:
            self._after = _exponentials(D0 * times[:, None, None])
        steps = np.maximum(self._after, 0.0) @ D1
        self._a, self._c = _forward(process.interval.alpha, steps)
        self._b = _backward(steps, self._c)
        self.log_likelihood = float(np.log(self._c).sum())

    def improved(self) -> MAP:
        """Return the process of the M-step, expected numbers of changes over expected times."""
        D0, D1 = self._process.D0, self._process.D1
        last = np.einsum("nk,nkl->nl", self._a, self._after) / self._c[:, None]
        arrivals = np.einsum("nk,nl->kl", last, self._b) * D1
        both = self._together()
        times = np.maximum(np.diagonal(both), 1e-300)
        changes = np.maximum(both, 0.0) * D0
        np.fill_diagonal(changes, 0.0)
        hidden, seen = changes / times[:, None], arrivals / times[:, None]
        return MAP(hidden - np.diag(hidden.sum(axis=1) + seen.sum(axis=1)), seen)

    def _together(self) -> Floats:
        """Return the sum over intervals of the integral of P(in k at s) f(rest | in l at s)."""
        D1, t = self._process.D1, self._times
        if self._modes is None:
            return _block_integrals(self._process, t, self._a, self._b, self._c)
        values, V, W = self._modes
        before, after = self._a @ V / self._c[:, None], self._b @ (W @ D1).T
        decays = np.exp(values * t[:, None])
        m, found = len(values), np.zeros((len(values), len(values)), dtype=complex)
        for p in range(m):
            for q in range(m):
                slow, fast = (p, q) if values[p].real > values[q].real else (q, p)
                z = (values[fast] - values[slow]) * t
                near = np.abs(z) < SMALL
                safe = np.where(near, 1.0, z)
                area = t * decays[:, slow] * np.where(near, 1.0 + 0.5 * z, np.expm1(safe) / safe)
                found[p, q] = (before[:, p] * after[:, q] * area).sum()
        total: Floats = (W.T @ found @ V.T).real
        return total


def _forward(first: Floats, steps: Floats) -> tuple[Floats, Floats]:
    """Return the distribution of the phase at the start of each interval, and each density."""
    n, m = len(steps), steps.shape[1]
    a, c = np.empty((n, m)), np.empty(n)
    row = first
    for i in range(n):
        a[i] = row
        row = row @ steps[i]
        c[i] = row.sum()
        row = row / c[i]
    return a, c


def _backward(steps: Floats, c: Floats) -> Floats:
    """Return how likely the rest after each interval is by phase, relative to its density."""
    n, m = len(steps), steps.shape[1]
    b = np.empty((n, m))
    column = np.ones(m)
    for i in range(n - 1, -1, -1):
        b[i] = column
        column = steps[i] @ column / c[i]
    return b


def _exponentials(matrices: Floats) -> Floats:
    """Return the exponentials of matrices, shape (n, k, k)."""
    from scipy.linalg import expm

    parts = np.array_split(matrices, max(1, len(matrices) // BLOCK))
    found: Floats = np.concatenate([expm(part) for part in parts])
    return found


def _block_integrals(process: MAP, times: Floats, a: Floats, b: Floats, c: Floats) -> Floats:
    """Return what `_Passes._together` does, from exponentials of blocks."""
    m, D0 = process.order, process.D0
    total = np.zeros((m, m))
    ends = b @ process.D1.T / c[:, None]
    for low in range(0, len(times), BLOCK):
        part = slice(low, low + BLOCK)
        blocks = np.zeros((len(times[part]), 2 * m, 2 * m))
        blocks[:, :m, :m] = blocks[:, m:, m:] = D0
        blocks[:, :m, m:] = ends[part, :, None] * a[part, None, :]
        total += _exponentials(blocks * times[part, None, None])[:, :m, m:].sum(axis=0).T
    return total
