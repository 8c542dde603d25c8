"""The linear program of a shared headroom pool.

Of each group i of port p the variables are s_i (bytes in the shared buffer), g_i (bytes in the pool) and
x_i (1: above its threshold), of each port y_p (1: active):

    maximize sum g    subject to    g_i <= h_i x_i,    s_i >= T_i x_i,    x_i <= y_p,    sum y <= active ports,
    sum of x_i on p <= active classes,    sum of s_i + g_i on p <= rate_p blocked y_p / 8,    a <= sum s <= b.

A dynamic threshold is T_i = alpha_i (B - b), the lowest that it reaches while sum s <= b; intervals [a, b] of
sum s are bisected until the largest bound and the largest witness meet. Relaxed to 0 <= x, y <= 1 the
program is an upper bound; rounded, it is a schedule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.lossless.pools.headroom_pools import HeadroomPool

    Floats = NDArray[np.float64]

__all__ = ["SOLVED", "PoolProgram"]

SOLVED = 1e-6
"""Tolerance of the linear programs, relative to the largest amount: ten times that of HiGHS (1e-7)."""


class PoolProgram:
    """The linear program of one pool and its limits; HiGHS solves it."""

    def __init__(self, pool: HeadroomPool, blocked: float, ports: int, classes: int) -> None:
        import scipy.sparse as sp

        self.pool, self.blocked, self.ports, self.classes = pool, blocked, ports, classes
        P, K = pool.headroom.shape
        self.n = P * K
        self.unit = max(pool.shared, pool.demand)  # amounts are scaled to about 1
        self.of_port = sp.csr_matrix(
            (np.ones(self.n), (np.repeat(np.arange(P), K), np.arange(self.n))), shape=(P, self.n)
        )

    def relaxed(self, low: float, high: float, *, full: bool) -> tuple[float, Floats | None]:
        """Return the bound for sum s in [low, high], and x of shape (P, K); None: impossible."""
        found = self._solve(low, high, self._thresholds(high, full=full), None)
        if found is None:
            return 0.0, None
        x = found[2 * self.n : 3 * self.n].reshape(self.pool.headroom.shape)
        return float(found[self.n : 2 * self.n].sum()) * self.unit * (1.0 + SOLVED), x

    def schedule(
        self, above: NDArray[np.bool_], high: float, *, full: bool
    ) -> tuple[Floats, Floats] | None:
        """Return bytes in the shared buffer and in the pool, shape (P, K) each; None: impossible."""
        exact = self.pool.alpha is not None or full
        low = high if exact else 0.0
        found = self._solve(low, high, self._thresholds(high, full=full), above)
        if found is None:
            return None
        shape, n = self.pool.headroom.shape, self.n
        shared = found[:n].reshape(shape) * self.unit
        used = found[n : 2 * n].reshape(shape) * self.unit
        return shared, np.where(above, used, 0.0)

    def _thresholds(self, high: float, *, full: bool) -> Floats:
        """Return the least thresholds while the shared occupancy is at most ``high``, shape (n,)."""
        if full:
            return np.zeros(self.n)
        if self.pool.alpha is not None:
            return self.pool.alpha.ravel() * (self.pool.shared - high)
        assert self.pool.xoff is not None
        return self.pool.xoff.ravel()

    def _most_shared(self) -> Floats:
        """Return the most that one group can have in the shared buffer, shape (n,)."""
        pool = self.pool
        if pool.alpha is not None:
            return (pool.alpha / (1.0 + pool.alpha) * pool.shared).ravel()
        assert pool.xoff is not None
        return np.minimum(pool.xoff, pool.shared).ravel()

    def _solve(
        self, low: float, high: float, thresholds: Floats, above: NDArray[np.bool_] | None
    ) -> Floats | None:
        """Return (s, g, x, y, end of filling), shape (3 n + P + 1,); with ``above`` x is given."""
        import scipy.sparse as sp
        from scipy.optimize import linprog

        n, P, unit, pool = self.n, len(self.pool.rates), self.unit, self.pool
        one, held = sp.identity(n), pool.headroom.ravel() / unit
        most = self._most_shared() / unit
        brings = self.blocked * pool.rates / 8.0 / unit
        whole_ports, many, flat, slope = self._cuts(thresholds, high)
        rows: list[list[Any]] = [
            [None, one, -sp.diags(held), None, None],
            [-one, None, sp.diags(thresholds / unit), None, None],
            [-one * 0.0, None, one, -self.of_port.T, None],
            [None, None, self.of_port, -self.classes * sp.identity(P), None],
            [None, None, None, np.ones((1, P)), None],
            [np.ones((1, n)), None, None, None, None],
            [-np.ones((1, n)), None, None, None, None],
            [None, None, np.ones((1, n)), None, None],
            [None, None, self.of_port, -sp.diags(whole_ports), None],
            [
                None,
                self.of_port,
                -sp.diags(slope / unit) @ self.of_port,
                -sp.diags(flat / unit),
                None,
            ],
        ]
        limits = [
            np.zeros(3 * n + P),
            [self.ports, high / unit, -low / unit, many],
            np.zeros(2 * P),
        ]
        scale = np.zeros((P, 1))
        if np.isfinite(self.blocked):
            limits.append(np.zeros(P))
            rows.append([self.of_port, self.of_port, None, -sp.diags(brings), scale])
            if above is not None:  # all thresholds are crossed after the shared buffer is filled
                limits += [np.zeros(P), brings]
                rows.append([self.of_port, None, None, None, -brings[:, None]])
                rows.append([None, self.of_port, None, None, brings[:, None]])
        else:
            limits.append(np.zeros(P))
            rows.append([self.of_port, None, None, -sp.diags(self.of_port @ most), scale])
        if above is None:
            least, top = np.zeros(n), np.ones(n)
        else:
            least = top = above.ravel().astype(np.float64)
        ends: list[Any] = [(0.0, most), (0.0, held), (least, top), (np.zeros(P + 1), 1.0)]
        bounds = np.vstack([np.column_stack(np.broadcast_arrays(*pair)) for pair in ends])
        cost = np.zeros(3 * n + P + 1)
        cost[n : 2 * n] = -1.0
        matrix: Any = sp.bmat(rows, format="csr")
        right: Any = np.concatenate([np.asarray(limit, dtype=np.float64) for limit in limits])
        solve: Any = linprog
        found = solve(cost, matrix, right, bounds=bounds, method="highs")
        return np.asarray(found.x) if found.status == 0 else None

    def _cuts(self, thresholds: Floats, high: float) -> tuple[Floats, float, Floats, Floats]:
        """Return what whole numbers of groups imply: inequalities that the relaxation lacks.

        On a port that brings A bytes, k groups above their thresholds use at most f(k) = min(k h, A - k T),
        with the port's largest h and least T, and k <= A / T. f is concave, so that the line through
        its values at two consecutive whole numbers is above it at all others.

        Returns
        -------
        tuple
            Most groups of each port, shape (P,), and of all; the line: its value at no group and its slope,
            shape (P,) each.
        """
        shape, P = self.pool.headroom.shape, len(self.pool.rates)
        least = thresholds.reshape(shape).min(axis=1)
        held = self.pool.headroom.max(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            brings = self.blocked * self.pool.rates / 8.0
            each = np.where(least > 0.0, np.floor(brings / least * (1.0 + SOLVED)), np.inf)
            ratio = high / least.min() if least.min() > 0.0 else np.inf
        most = np.minimum(each, float(self.classes))
        many = float(min(np.floor(ratio * (1.0 + SOLVED)), self.n))
        if not np.isfinite(self.blocked):
            return most, many, np.zeros(P), held
        k = np.minimum(np.floor(brings / (held + least)), np.maximum(most - 1.0, 0.0))
        here, after = (np.minimum(j * held, brings - j * least) for j in (k, k + 1.0))
        slope = np.maximum(after, 0.0) - here
        return most, many, here - k * slope, slope
