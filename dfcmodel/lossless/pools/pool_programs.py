"""The linear program of a shared headroom pool.

Of each group i of port p the variables are s_i (bytes in the shared buffer), g_i (bytes in the pool) and
x_i (1: above its threshold), of each port y_p (1: active):

    maximize sum g    subject to    g_i <= h_i x_i,    s_i >= T_i x_i,    x_i <= y_p,    sum y <= active ports,
    sum of x_i on p <= active classes,    sum of s_i + g_i on p <= rate_p blocked y_p / 8,    a <= sum s <= b.

A dynamic threshold is T_i = alpha_i (B - b), the lowest that it reaches while sum s <= b; intervals [a, b] of
sum s are bisected until the largest bound and the largest witness meet. Relaxed to 0 <= x, y <= 1 the
program is an upper bound; rounded, it is a schedule.

Dynamic thresholds take time to fall. After t seconds the shared buffer holds R t bytes at most, R the sum
of all active rates r / 8, and the group itself r t: it is above its threshold only from the time on at
which r t >= alpha (B - R t). Its use of headroom is at most the later arrivals of its port.
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
    """Linear program whose optimum bounds the demand on a pool, with limits on active ports and classes."""

    def __init__(self, pool: HeadroomPool, blocked: float, ports: int, classes: int) -> None:
        self.pool, self.blocked, self.ports, self.classes = pool, blocked, ports, classes
        self.n = pool.headroom.size
        self.unit = max(pool.shared, pool.demand)  # amounts are scaled to about 1
        self.brings = blocked * pool.rates / 8.0  # bytes of each port, shape (P,)
        self.after_pause = self._bytes_after_pause()
        self.usable = np.minimum(pool.headroom, self.after_pause).ravel()

    def relax(self, min_occupancy: float, max_occupancy: float, *, shared_full: bool) -> tuple[float, Floats | None]:
        """Return the bound for shared bytes from min to max, and how far groups pause, (P, K); (0, None): infeasible.

        ``shared_full``: the shared buffer is full, so that every group pauses, whatever its threshold.
        """
        solution = self._solve(min_occupancy, max_occupancy, None, shared_full=shared_full)
        if solution is None:
            return 0.0, None
        x = solution[2 * self.n : 3 * self.n].reshape(self.pool.headroom.shape)
        return float(solution[self.n : 2 * self.n].sum()) * self.unit * (1.0 + SOLVED), x

    def schedule(
        self, pausing: NDArray[np.bool_], max_occupancy: float, *, shared_full: bool
    ) -> tuple[Floats, Floats] | None:
        """Return the bytes of each group in the shared buffer and in the pool, (P, K) each; None: infeasible."""
        exact = self.pool.alpha is not None or shared_full
        min_occupancy = max_occupancy if exact else 0.0
        solution = self._solve(min_occupancy, max_occupancy, pausing, shared_full=shared_full)
        if solution is None:
            return None
        shape, n = self.pool.headroom.shape, self.n
        shared = solution[:n].reshape(shape) * self.unit
        used = solution[n : 2 * n].reshape(shape) * self.unit
        return shared, np.where(pausing, used, 0.0)

    def _bytes_after_pause(self) -> Floats:
        """Return the bytes of the port of each (port, class) that arrive after its first possible pause, (P, K)."""
        pool = self.pool
        if pool.alpha is None or not np.isfinite(self.blocked):
            return np.repeat(self.brings[:, None], pool.headroom.shape[1], axis=1)
        rates = pool.rates[:, None] / 8.0
        total_rate = np.sort(pool.rates)[-self.ports :].sum() / 8.0
        first = pool.alpha * pool.shared / (rates + pool.alpha * total_rate)
        arrivals: Floats = rates * np.maximum(self.blocked - first, 0.0)
        return arrivals

    def fill_together(self, *, shared_full: bool) -> bool:
        """Return True if no group pauses before all ports have filled their shared parts; False: each port by itself.

        With fixed thresholds each port has a time of its own.
        """
        return shared_full or self.pool.alpha is not None

    def _thresholds(self, max_occupancy: float, *, shared_full: bool) -> Floats:
        """Return each group's smallest threshold, bytes, (P K,), up to ``max_occupancy``; 0 if the buffer is full."""
        if shared_full:
            return np.zeros(self.n)
        if self.pool.alpha is not None:
            return self.pool.alpha.ravel() * (self.pool.shared - max_occupancy)
        assert self.pool.xoff is not None
        return self.pool.xoff.ravel()

    def _max_shared(self) -> Floats:
        """Return the maximum bytes of each group in the shared buffer, shape (P K,)."""
        pool = self.pool
        if pool.alpha is not None:
            return (pool.alpha / (1.0 + pool.alpha) * pool.shared).ravel()
        assert pool.xoff is not None
        return np.minimum(pool.xoff, pool.shared).ravel()

    def _solve(
        self, min_occupancy: float, max_occupancy: float, pausing: NDArray[np.bool_] | None, *, shared_full: bool
    ) -> Floats | None:
        """Return shared and pool bytes over ``unit``, pauses, active ports, end of filling, in one array, or None.

        Shape (3 n + P + 1,). ``pausing``, (P, K), has the groups that pause, x; None relaxes x to [0, 1].
        """
        from scipy.optimize import linprog

        thresholds = self._thresholds(max_occupancy, shared_full=shared_full)
        cost, matrix, right, bounds = self._build(
            min_occupancy, max_occupancy, thresholds, pausing, shared_full=shared_full
        )
        solve: Any = linprog
        result = solve(cost, matrix, right, bounds=bounds, method="highs")
        return np.asarray(result.x) if result.status == 0 else None

    def _build(
        self,
        min_occupancy: float,
        max_occupancy: float,
        thresholds: Floats,
        pausing: NDArray[np.bool_] | None,
        *,
        shared_full: bool,
    ) -> tuple[Floats, Any, Floats, Floats]:
        """Return cost, matrix, right side and bounds of `_solve`'s program; thresholds (n,), occupancies in bytes."""
        from scipy.sparse import csr_matrix

        n, P, unit = self.n, len(self.pool.rates), self.unit
        group, port = np.arange(n), np.arange(P)
        of_port = group // (n // P)
        s, g, x, y, end = group, n + group, 2 * n + group, 3 * n + port, 3 * n + P  # columns; end: of filling
        usable, brings = self.usable / unit, self.brings / unit
        max_shared = self._max_shared() / unit
        port_groups, all_groups, intercept, slope = self._cuts(thresholds, max_occupancy)
        # of each set of constraints the right side and the entries (row of the set, column, value)
        constraints: list[tuple[Any, list[tuple[Any, Any, Any]]]] = [
            (np.zeros(n), [(group, g, 1.0), (group, x, -usable)]),
            (np.zeros(n), [(group, s, -1.0), (group, x, thresholds / unit)]),
            (np.zeros(n), [(group, x, 1.0), (group, y[of_port], -1.0)]),
            (np.zeros(P), [(of_port, x, 1.0), (port, y, -self.classes)]),
            ([self.ports], [(0, y, 1.0)]),
            ([max_occupancy / unit], [(0, s, 1.0)]),
            ([-min_occupancy / unit], [(0, s, -1.0)]),
            ([all_groups], [(0, x, 1.0)]),
            (np.zeros(P), [(of_port, x, 1.0), (port, y, -port_groups)]),
            (np.zeros(P), [(of_port, g, 1.0), (of_port, x, -slope[of_port] / unit), (port, y, -intercept / unit)]),
        ]
        if np.isfinite(self.blocked):
            after_pause = self.after_pause.max(axis=1) / unit
            constraints.append((np.zeros(P), [(of_port, s, 1.0), (of_port, g, 1.0), (port, y, -brings)]))
            constraints.append((np.zeros(P), [(of_port, g, 1.0), (port, y, -after_pause)]))
            if pausing is not None and self.fill_together(shared_full=shared_full):
                constraints.append((np.zeros(P), [(of_port, s, 1.0), (port, end, -brings)]))
                constraints.append((brings, [(of_port, g, 1.0), (port, end, brings)]))
        else:
            most = np.bincount(of_port, max_shared, P)
            constraints.append((np.zeros(P), [(of_port, s, 1.0), (port, y, -most)]))
        first, entries = 0, []
        for limit, of_set in constraints:
            entries += [np.broadcast_arrays(first + row, column, value) for row, column, value in of_set]
            first += len(limit)
        rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
        matrix = csr_matrix((values.astype(np.float64), (rows, columns)), shape=(first, end + 1))
        matrix.eliminate_zeros()
        if pausing is None:
            lower, upper = np.zeros(n), np.ones(n)
        else:
            lower = upper = pausing.ravel().astype(np.float64)
        ranges: list[Any] = [(0.0, max_shared), (0.0, usable), (lower, upper), (np.zeros(P + 1), 1.0)]
        bounds = np.vstack([np.column_stack(np.broadcast_arrays(*pair)) for pair in ranges])
        cost = np.zeros(end + 1)
        cost[g] = -1.0
        right = np.concatenate([np.asarray(limit, dtype=np.float64) for limit, _ in constraints])
        return cost, matrix, right, bounds

    def _cuts(self, thresholds: Floats, max_occupancy: float) -> tuple[Floats, float, Floats, Floats]:
        """Return (maximum groups per port (P,), of all ports, cut lines' values at 0 and slopes, (P,) each).

        On a port that brings A bytes, k groups above their thresholds use at most f(k) = min(k h, A - k T),
        with the port's maximum h and minimum T, and k <= A / T. f is concave, so that the line through
        its values at two consecutive integers is above it at all other integers.

        Returns
        -------
        tuple
            Maximum number of groups of each port, shape (P,), and of all ports; value of the line at 0 and its
            slope, shape (P,) each.
        """
        shape, P = self.pool.headroom.shape, len(self.pool.rates)
        minimum = thresholds.reshape(shape).min(axis=1)
        usable = self.usable.reshape(shape).max(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = np.where(minimum > 0.0, np.floor(self.brings / minimum * (1.0 + SOLVED)), np.inf)
            ratio = max_occupancy / minimum.min() if minimum.min() > 0.0 else np.inf
        port_groups = np.minimum(crossing, float(self.classes))
        all_groups = float(min(np.floor(ratio * (1.0 + SOLVED)), self.n))
        if not np.isfinite(self.blocked):
            return port_groups, all_groups, np.zeros(P), usable
        with np.errstate(divide="ignore"):
            fit = np.floor(self.brings / (usable + minimum))
        k = np.minimum(fit, np.maximum(port_groups - 1.0, 0.0))
        value, next_value = (np.minimum(j * usable, self.brings - j * minimum) for j in (k, k + 1.0))
        slope = np.maximum(next_value, 0.0) - value
        return port_groups, all_groups, value - k * slope, slope
