"""Proof that an approximate stationary vector is close to the true one."""

from __future__ import annotations

import math
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from markov.corrections import hitting_times
from markov.methods import GTH
from markov.vectors import inner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

__all__ = ["error_bound", "net_flow", "relative_residual"]

EPS = float(np.finfo(float).eps)
LONG_EPS = float(np.finfo(np.longdouble).eps)
TINY = float(np.finfo(float).tiny)
SMALL = 10_000
FACTORED = 100_000
CHEAP = 1e9  # multiplications of an elimination that is tried for any number of states
SHARP = 0.5  # of c: an h that proves more is not looked for


def net_flow(Q: sp.csr_matrix, pi: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return pi Q, shape (n,), for Q of shape (n, n)."""
    flows = np.repeat(pi, np.diff(Q.indptr)) * Q.data
    return np.asarray(np.bincount(Q.indices, flows, len(pi)), dtype=np.float64)


def relative_residual(
    Q: sp.csr_matrix, pi: NDArray[np.float64], net: NDArray[np.float64] | None = None
) -> float:
    """Return ||pi Q||_1 over the probability flow ||pi |Q|||_1, for Q of shape (n, n).

    ``net`` is the `net_flow`, where it is known.
    """
    flow = 2.0 * inner(np.abs(pi), np.abs(Q.diagonal()))
    net = net_flow(Q, pi) if net is None else net
    return float(np.abs(net).sum()) / flow if flow > 0 else 0.0


def error_bound(
    Q: sp.csr_matrix,
    pi: NDArray[np.float64],
    components: Mapping[str, NDArray[np.int64]] | None = None,
    poisson: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None,
    net: NDArray[np.float64] | None = None,
) -> float:
    """Return an upper bound on the total-variation distance of ``pi`` to the stationary vector.

    Parameters
    ----------
    Q
        Irreducible generator, shape (n, n); its off-diagonals are taken as exact.
    pi
        Approximate stationary vector, shape (n,), non-negative.
    components
        The value of each component of a model's state, shape (n,) each.
    poisson
        What solves the Poisson equation, where the method left it (see `Solution`).
    net
        The `net_flow`, shape (n,), where it is known.

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
    h is found by the method's own factors where it has some, else by sparse LU up to 10,000 states,
    by multigrid beyond; should that fail, by sparse LU up to 100,000 or where that is quick; and
    last by multigrid that does not look at the components. c is verified from it with every rounding
    error bounded from above, so that it does not matter where h is from. Its right-hand side is
    -1 - q(x) / q, with the rate q(x) out of x and its mean q: that leaves room for the rounding in
    fast states, and makes h larger by about two.
    """
    mass_defect = abs(float(pi.sum(dtype=np.longdouble) - 1.0)) + 2.0 * EPS + len(pi) * LONG_EPS
    if len(pi) == 1:
        return mass_defect
    reference = int(np.argmax(pi))
    exit_rates = -np.asarray(Q.diagonal())
    net = net_flow(Q, pi) if net is None else net
    bound = math.inf
    with np.errstate(all="ignore"):  # what is not finite bounds nothing, and is looked for
        costs = 1.0 + exit_rates / inner(np.abs(pi), exit_rates)
        for h in _candidates(Q, pi, reference, costs, components, poisson):
            c, proved = _proved(Q, pi, net, reference, exit_rates, h)
            bound = min(bound, proved)
            if c > SHARP:
                break
    return bound + mass_defect


def _candidates(
    Q: sp.csr_matrix,
    pi: NDArray[np.float64],
    reference: int,
    costs: NDArray[np.float64],
    components: Mapping[str, NDArray[np.int64]] | None,
    poisson: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None,
) -> Iterator[NDArray[np.float64]]:
    """Yield vectors h that nearly are the mean costs on the way to the reference, the fastest first."""
    n = len(pi)
    if poisson is not None:
        balanced = costs.copy()
        balanced[reference] -= inner(pi, costs) / pi[reference]
        h = poisson(balanced)
        yield h - h[reference]
    if n > SMALL and find_spec("numba") is not None:
        yield hitting_times(Q, pi, reference, costs, components)
    if n <= FACTORED or GTH().band(Q).work <= CHEAP:
        others = np.delete(np.arange(n), reference)
        with suppress(RuntimeError, MemoryError):  # exactly singular, or too much fill-in
            lu = splu(
                sp.csc_matrix(Q[others][:, others]),
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
            yield np.insert(lu.solve(-costs[others]), reference, 0.0)
    if n > SMALL and find_spec("numba") is not None and components is not None:
        yield hitting_times(Q, pi, reference, costs, None)


def _proved(
    Q: sp.csr_matrix,
    pi: NDArray[np.float64],
    net: NDArray[np.float64],
    reference: int,
    exit_rates: NDArray[np.float64],
    h: NDArray[np.float64],
) -> tuple[float, float]:
    """Return c, and the bound that h proves: inf when it proves none."""
    slack = _rounding(Q)
    drift = Q @ h
    drift += slack * (drift + 2.0 * exit_rates * h)  # |Q| h
    drift[reference] = -math.inf
    c = -float(drift.max()) - TINY
    away = h[reference]
    h[reference] = math.inf
    lowest = h.min()
    h[reference] = away
    if not (np.all(np.isfinite(h)) and away == 0.0 and lowest > 0 and c > 0):
        return 0.0, math.inf
    residual = np.abs(net) + slack * (net + 2.0 * pi * exit_rates) + TINY  # pi |Q|
    proved = inner(residual, h) / c * (1.0 + 2.0 * len(h) * EPS)
    return c, proved if math.isfinite(proved) else math.inf


def _rounding(Q: sp.csr_matrix) -> float:
    """Return a bound on the relative rounding error of Q @ h and pi @ Q against |Q| and |.|.

    A sum of m products is off by at most (m + 1)/2 eps, and the diagonal of a row with m entries
    by m/2 eps.
    """
    row, column = int(np.diff(Q.indptr).max()), int(np.bincount(Q.indices).max())
    return EPS * (row + column + 4)
