"""Proof that an approximate stationary vector is close to the true one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["error_bound", "relative_residual"]

EPS = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)


def relative_residual(Q: sp.csr_matrix, pi: NDArray[np.float64]) -> float:
    """Return ||pi Q||_1 over the probability flow ||pi |Q|||_1, for Q of shape (n, n)."""
    flow = float((np.abs(pi) @ abs(Q)).sum())
    return float(np.abs(pi @ Q).sum()) / flow if flow > 0 else 0.0


def error_bound(Q: sp.csr_matrix, pi: NDArray[np.float64]) -> float:
    """Return an upper bound on the total-variation distance of ``pi`` to the stationary vector.

    Parameters
    ----------
    Q
        Irreducible generator, shape (n, n); its off-diagonals are taken as exact.
    pi
        Approximate stationary vector, shape (n,), non-negative.

    Returns
    -------
    float
        inf when no bound could be verified.

    Notes
    -----
    With the most probable state as reference 0, let h >= 0, h(0) = 0 and (Q h)(x) <= -c < 0 for
    x != 0: then h / c bounds the mean hitting times of 0. For |f| <= 1 the solution g of the
    Poisson equation Q g = pi(f) - f with g(0) = 0 is bounded by the hitting times too, and
    pi~(f) - pi(f) = -(pi~ Q) g, so that TV(pi~, pi) <= sum_x |(pi~ Q)(x)| h(x) / c. An approximate
    h is found by sparse LU; c is verified from it with every rounding error bounded from above. Its
    right-hand side is -1 - q(x) / q, with the rate q(x) out of x and its mean q: that leaves room for
    the rounding in fast states, and makes h larger by about two.
    """
    n = len(pi)
    mass_defect = abs(math.fsum(pi) - 1.0) + 2.0 * EPS
    if n == 1:
        return mass_defect
    reference = int(np.argmax(pi))
    others = np.delete(np.arange(n), reference)
    matrix = sp.csc_matrix(Q[others][:, others])
    h = np.zeros(n)
    with np.errstate(all="ignore"):  # what is not finite bounds nothing, and is looked for
        try:
            lu = splu(matrix, diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except (RuntimeError, MemoryError):  # exactly singular, or too much fill-in
            return math.inf
        exit_rates = -np.asarray(Q.diagonal())
        h[others] = lu.solve(-1.0 - exit_rates[others] / (np.abs(pi) @ exit_rates))
        size = abs(Q)
        drift = (Q @ h + _rounding(Q) * (size @ h))[others]
        c = -float(drift.max())
        if not (np.all(np.isfinite(h)) and h[others].min() > 0 and c > 0):
            return math.inf
        residual = np.abs(pi @ Q) + _rounding(Q) * (np.abs(pi) @ size) + TINY
        bound = float((residual @ h) / c * (1.0 + 2.0 * n * EPS)) + mass_defect
    return bound if math.isfinite(bound) else math.inf


def _rounding(Q: sp.csr_matrix) -> float:
    """Return a bound on the relative rounding error of Q @ h and pi @ Q against |Q| and |.|.

    A sum of m products is off by at most (m + 1)/2 eps, and the diagonal of a row with m entries
    by m/2 eps.
    """
    row, column = int(np.diff(Q.indptr).max()), int(np.bincount(Q.indices).max())
    return EPS * (row + column + 4)
