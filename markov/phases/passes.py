"""How likely intervals between arrivals are, and what the phase did meanwhile: the E-step for a MAP.

Expected times and numbers of changes of phase are integrals of products of exponentials of D0, taken in its
eigenvectors, or, where these are nearly dependent, as blocks of an exponential of twice the size (C. F. Van
Loan, IEEE Transactions on Automatic Control 23, 1978).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from markov.phases.absorption_times import AbsorptionTime
from markov.phases.phase_types import rates_between

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Passes"]

CONDITION = 1e8  # of the eigenvectors of D0, beyond which they are not used
SERIES_BELOW = 1e-6  # of a difference of exponents: the series is right to rounding
NEGLIGIBLE = 1e-280  # of the largest rate: where an iteration takes a rate to 0
BLOCK = 4096  # intervals whose exponentials are taken at once


class Passes:
    """Forward and backward passes over the intervals between arrivals.

    Parameters
    ----------
    D0, D1
        Rates without and with an arrival, shape (m, m).
    first
        Distribution of the phase at the first arrival, shape (m,).
    times
        Intervals in s, shape (n,).

    Attributes
    ----------
    log_likelihood
        Of the intervals.
    """

    def __init__(self, D0: Floats, D1: Floats, first: Floats, times: Floats) -> None:
        self._D0, self._D1, self._times = D0, D1, times
        values, V = np.linalg.eig(D0)
        self._modes = None
        if np.linalg.cond(V) < CONDITION:
            self._modes = values, V, np.linalg.inv(V)
        rates = rates_between("D0", D0)
        rates[rates < NEGLIGIBLE * rates.max()] = 0.0
        self._after = AbsorptionTime(np.eye(len(D0))[0], rates, D1.sum(axis=1)).transitions(times)
        steps = self._after @ D1
        self._a, self._c = _forward(first, steps)
        self._b = _backward(steps, self._c)
        self.log_likelihood = float(np.log(self._c).sum())

    def improved(self) -> tuple[Floats, Floats]:
        """Return D0 and D1 of the M-step: expected numbers of changes over expected times."""
        D0, D1 = self._D0, self._D1
        last = np.einsum("nk,nkl->nl", self._a, self._after) / self._c[:, None]
        arrivals = np.einsum("nk,nl->kl", last, self._b) * D1
        both = self._together()
        times = np.maximum(np.diagonal(both), 1e-300)
        changes = np.maximum(both, 0.0) * D0
        np.fill_diagonal(changes, 0.0)
        hidden, seen = changes / times[:, None], arrivals / times[:, None]
        return hidden - np.diag(hidden.sum(axis=1) + seen.sum(axis=1)), seen

    def _together(self) -> Floats:
        """Return the sum over intervals of the integral of P(in k at s) f(rest | in l at s)."""
        D1, t = self._D1, self._times
        if self._modes is None:
            return _block_integrals(self._D0, t, self._a, self._b @ D1.T / self._c[:, None])
        values, V, W = self._modes
        before, after = self._a @ V / self._c[:, None], self._b @ (W @ D1).T
        decays = np.exp(values * t[:, None])
        m, found = len(values), np.zeros((len(values), len(values)), dtype=complex)
        for p in range(m):
            for q in range(m):
                slow, fast = (p, q) if values[p].real > values[q].real else (q, p)
                z = (values[fast] - values[slow]) * t
                near = np.abs(z) < SERIES_BELOW
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


def _block_integrals(D0: Floats, times: Floats, a: Floats, ends: Floats) -> Floats:
    """Return what `Passes._together` does, from exponentials of blocks."""
    m = len(D0)
    total = np.zeros((m, m))
    for low in range(0, len(times), BLOCK):
        part = slice(low, low + BLOCK)
        blocks = np.zeros((len(times[part]), 2 * m, 2 * m))
        blocks[:, :m, :m] = blocks[:, m:, m:] = D0
        blocks[:, :m, m:] = ends[part, :, None] * a[part, None, :]
        total += _exponentials(blocks * times[part, None, None])[:, :m, m:].sum(axis=0).T
    return total
