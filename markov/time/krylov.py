"""Distributions over long times in a rational Krylov space, with a rigorous bound.

The space of v, S v, S^2 v, ... with the resolvent S = (I - gamma Q')^-1 holds the slow modes (J. van den
Eshof and M. Hochbruck, Preconditioning Lanczos approximations to the matrix exponential, SIAM Journal on
Scientific Computing 27, 2006). An approximation y(t) = sum_k c_k e^(lambda_k t) x_k, whatever its x_k and
lambda_k, leaves the residual y' - Q' y = sum_k c_k e^(lambda_k t) (lambda_k x_k - Q' x_k); as e^(t Q') is no
longer than I in the 1-norm, the error is at most that at time 0 and the integral of the residual's 1-norm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from markov.computing.matrices import exit_errors
from markov.computing.resources import check_room
from markov.computing.rounding import U
from markov.elimination.lu import factorize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.elimination.lu import LUOrder

    Vector = NDArray[np.float64]

__all__ = ["SPACE_SIZES", "Resolvents", "mean_growth"]

SPACE_SIZES = (6, 12, 20, 30, 42, 56)  # of the space, at which its error bound is computed
POLE_OVER_HORIZON = 0.02  # gamma over the horizon


class KrylovDistributions(NamedTuple):
    """Distributions at several times from a rational Krylov space, with error bounds.

    Attributes
    ----------
    values, errors
        Shape (times, n), and bounds on the total-variation distances, shape (times,).
    solves
        Solutions of equations with I - gamma Q'.
    """

    values: Vector
    errors: Vector
    solves: int


class Resolvents:
    """Factors of I - gamma Q', which span the Krylov space that approximates distributions at long times.

    Parameters
    ----------
    Q
        Generator, shape (n, n), rates in 1/s.
    horizon
        The longest time in s.
    order
        Of elimination.

    Raises
    ------
    TooLargeError
        When the factors would not fit into memory, before they are made.
    """

    def __init__(self, Q: sp.csr_matrix, horizon: float, order: LUOrder) -> None:
        n = Q.shape[0]
        check_room(f"factors and {SPACE_SIZES[-1]} vectors of {n} states", order.nbytes + 8.0 * n * 120)
        self.Q, self._order = sp.csr_matrix(Q.T), order.order
        self._magnitudes = abs(self.Q)
        self._exit_errors = exit_errors(Q)
        self._rounding = (int(np.diff(self.Q.indptr).max(initial=1)) + 2) * U
        matrix = sp.csc_matrix(sp.identity(n) - POLE_OVER_HORIZON * horizon * self.Q)
        arranged = sp.csc_matrix(matrix[self._order][:, self._order])
        self._lu = factorize(arranged, order.seconds, "NATURAL", relax=1)
        self._gamma = POLE_OVER_HORIZON * horizon

    def distributions(self, vector: Vector, spans: Vector, allowed: Vector) -> KrylovDistributions | None:
        """Return the distributions at times ``spans`` after ``vector``; None if a bound exceeds its ``allowed`` value.

        None unless the bound on the total-variation distance is as small as ``allowed`` at all times.
        """
        n, m = len(vector), SPACE_SIZES[-1]
        V, H = np.zeros((n, m + 1)), np.zeros((m + 1, m))
        V[:, 0] = vector / np.linalg.norm(vector)
        for j in range(m):
            w = self._solve(V[:, j])
            for _ in range(2):  # the second pass removes the rounding of the first
                projection = V[:, : j + 1].T @ w
                w -= V[:, : j + 1] @ projection
                H[: j + 1, j] += projection
            H[j + 1, j] = np.linalg.norm(w)
            exhausted = H[j + 1, j] <= 4.0 * U * np.linalg.norm(H[: j + 1, j])
            if not exhausted:
                V[:, j + 1] = w / H[j + 1, j]
            if exhausted or j + 1 in SPACE_SIZES:
                result = self._combine(V[:, : j + 1], H[: j + 1, : j + 1], vector, spans, j + 1)
                if result is not None and (result.errors <= allowed).all():
                    return result
            if exhausted:
                break
        return None

    def _solve(self, right: Vector) -> Vector:
        """Return (I - gamma Q')^-1 right, shape (n,)."""
        solution = np.empty_like(right)
        solution[self._order] = self._lu.solve(right[self._order])
        return solution

    def _combine(self, V: Vector, H: Vector, vector: Vector, spans: Vector, solves: int) -> KrylovDistributions | None:
        """Return the approximations y(t) at ``spans`` from a basis V of the space; None if no bound is finite."""
        k = len(H)
        try:
            B = (np.eye(k) - np.linalg.inv(H)) / self._gamma
            rates, X = np.linalg.eig(B)
            c = np.linalg.solve(X, np.linalg.norm(vector) * np.eye(k)[:, 0])
        except np.linalg.LinAlgError:
            return None
        modes = (V @ X) * c
        residual = self.Q @ modes - modes * rates
        rounding = self._rounding * (self._magnitudes @ np.abs(modes)) + 4.0 * U * np.abs(modes * rates)
        rounding += self._exit_errors[:, None] * np.abs(modes)
        residuals = np.abs(residual).sum(axis=0) + rounding.sum(axis=0)
        start = np.abs(vector - modes.sum(axis=1)).sum() + 2.0 * k * U * np.abs(modes).sum()
        exponents = rates.real * spans[:, None]
        if not np.isfinite(residuals).all() or exponents.max() > 1.0:
            return None
        integrals = spans[:, None] * mean_growth(exponents)
        powers = rates * spans[:, None]
        growth = np.exp(powers)
        values = (growth @ modes.T).real
        evaluation = np.abs(growth) * (2 * k + 8 + 1.01 * np.abs(powers)) @ np.abs(modes).sum(axis=0)
        errors = 0.5 * (start + integrals @ residuals + U * evaluation) * (1.0 + (len(vector) + k + 32) * U)
        return KrylovDistributions(np.maximum(values, 0.0), errors, solves)


def mean_growth(exponents: Vector) -> Vector:
    """Return the mean of e^(s z) over 0 <= s <= 1 for each real z of ``exponents``, exact to rounding or from above."""
    small = np.abs(exponents) < 1e-8
    safe = np.where(small, 1.0, exponents)
    means: Vector = np.where(small, 1.0 + np.maximum(exponents, 0.0), np.expm1(safe) / safe)
    return means
