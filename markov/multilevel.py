"""pi Q = 0 by aggregation multigrid: sweeps on every scale of the chain, and hitting times the same way.

The unknown is the flow y out of each state, y = y P with the transition matrix P of the jump chain,
as in `markov.iterative`. Neighbouring states are lumped to aggregates. The flows between them,
sum_x sum_z y(x) P(x, z), are those of a smaller chain; its solution c says by which factor the flow of
each aggregate is to change: y(x) <- y(x) c(aggregate of x). It is found the same way, down to some ten
aggregates, which are eliminated without subtractions. Only products, sums and quotients of positive
numbers occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from hopflow.checks import choice, one_number, whole
from hopflow.kernels import shape_of
from markov import _multilevel_kernels as kernels
from markov.hierarchy import Hierarchy, lumped_levels, summed
from markov.iterative import _bytes, _jumps, _relax, _unit
from markov.methods import Solution, compiled
from markov.progress import report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Multilevel", "hitting_times"]

FIRST_SWEEPS = 3
KEPT = 2  # former iterates to combine with
LEAST_SHARE = 0.1
DEPENDENT = 1e-12
WORSE = 2.0
FAIR = 0.5  # residual per cycle beyond which iterates are combined
POOR = 0.6  # and beyond which, three times in a row, sweeps double
POOR_IN_A_ROW = 3
MOST_SWEEPS = 16
STUCK = 30
MOST_CORRECTIONS = 200  # of hitting times
ENOUGH = 0.1
SLOW = 0.8
TINY = 1e-300
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Multilevel:
    """Aggregation multigrid: the number of cycles hardly depends on the size of the chain.

    Where the components of a model's state are known, aggregates are pairs of values of those
    components that change most and by steps of one; otherwise, groups of states that exchange most.
    A cycle sweeps forward, corrects by the aggregates (twice where there are far fewer of them than
    states), and sweeps backward. The last iterates are combined to the least residual; where cycles
    gain little all the same, they sweep more often. Use it for large chains. A compiled kernel where
    Numba is installed.

    Parameters
    ----------
    geometric
        False groups the states by their flows also where components are known.
    tolerance
        Relative residual at which to stop.
    max_iterations
        Most cycles. A chain on which thirty in a row gain nothing is given up.

    Notes
    -----
    G. Horton, S. T. Leutenegger, A multi-level solution algorithm for steady-state Markov chains,
    SIGMETRICS 1994; combined iterates: T. Washio, C. W. Oosterlee, Krylov subspace acceleration for
    nonlinear multigrid schemes, ETNA 6, 1997. Probabilities below 1e-280 are held there.
    """

    geometric: bool = True
    tolerance: float = 1e-12
    max_iterations: int = 500

    def __post_init__(self) -> None:
        choice("geometric", self.geometric, (True, False))
        one_number("tolerance", self.tolerance, above=0.0, below=1.0)
        whole("max_iterations", self.max_iterations, 1, 10**9)

    def solve(
        self, Q: sp.csr_matrix, components: Mapping[str, NDArray[np.int64]] | None = None
    ) -> Solution:
        """Return pi of an irreducible generator."""
        if Q.shape[0] == 1:
            return Solution(np.ones(1))
        inflow, exit_rates = _jumps(Q)
        start, _ = _relax(inflow, exit_rates, 0.0, FIRST_SWEEPS)
        with np.errstate(all="ignore"):  # what is not finite shows in pi, which is looked at
            grid = lumped_levels(inflow, start, start, components if self.geometric else None)
            flow, cycles = self._iterate(inflow, grid, start)
        memory = _bytes(inflow) + grid.nbytes + (2 * KEPT + 6) * flow.nbytes
        return Solution(_unit(flow / exit_rates), cycles, memory)

    def _iterate(
        self, inflow: sp.csr_matrix, grid: Hierarchy, flow: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], int]:
        """Return the flow at the tolerance, or where cycles gain nothing, and their number."""
        history = _History(inflow)
        size = best = np.inf
        sweeps, poor, done, since = 1, 0, 0, 0
        while done < self.max_iterations and since <= STUCK:
            flow = grid.improved(flow, sweeps)
            residual = history.residual(flow)
            done += 1
            before, size = size, 0.5 * float(np.abs(residual).sum())
            report(done, size)
            if not self.tolerance < size < np.inf:
                break
            best, since = (size, 0) if size < 0.5 * best else (best, since + 1)
            poor = poor + 1 if size > POOR * before else 0
            if poor == POOR_IN_A_ROW:
                sweeps, poor = min(2 * sweeps, MOST_SWEEPS), 0
            if size > FAIR * before and done < self.max_iterations:
                flow = history.combined(flow, residual)
        return flow, done


class _History:
    """The last iterates and their residuals, of which the best combination is a better iterate."""

    def __init__(self, inflow: sp.csr_matrix) -> None:
        self.inflow = inflow
        self.flows = np.empty((KEPT, inflow.shape[0]))
        self.residuals = np.empty_like(self.flows)
        self.count = 0

    def residual(self, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return y P - y."""
        found: NDArray[np.float64] = self.inflow @ flow
        found -= flow
        return found

    def combined(
        self, flow: NDArray[np.float64], residual: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the combination with the least residual, in the norm sum_x r(x)^2 / y(x); keep it.

        No entry falls below a tenth of what it was.
        """
        m = min(self.count, KEPT)
        if m > 0:
            flows, residuals, products = self.flows[:m], self.residuals[:m], np.empty((m, m + 1))
            pairs = flow, residual, flows, residuals, products
            compiled(kernels.compare, shape_of(pairs))(*pairs)
            if not np.all(np.isfinite(products)):
                return flow
            size = np.sqrt(np.diag(products)) + TINY
            normal, right = products[:, :m] / np.outer(size, size), products[:, m] / size
            shares = np.linalg.lstsq(normal, right, rcond=DEPENDENT)[0] / size
            better = np.empty_like(flow)
            arguments = flow, flows, shares, LEAST_SHARE, better
            better /= compiled(kernels.blend, shape_of(arguments))(*arguments)
            after = self.residual(better)
            if np.abs(after).sum() < WORSE * np.abs(residual).sum():
                flow, residual = better, after
        self.flows[self.count % KEPT], self.residuals[self.count % KEPT] = flow, residual
        self.count += 1
        return flow


def hitting_times(
    Q: sp.csr_matrix,
    pi: NDArray[np.float64],
    reference: int,
    costs: NDArray[np.float64],
    components: Mapping[str, NDArray[np.int64]] | None = None,
) -> NDArray[np.float64]:
    """Return h with h(reference) = 0 and (Q h)(x) near -costs(x) elsewhere: the mean costs on the way.

    Parameters
    ----------
    Q
        Irreducible generator, shape (n, n), rates in 1/s.
    pi
        Approximate stationary vector, shape (n,), by which equations are weighted when aggregates
        sum them.
    reference
        Where the way ends.
    costs
        Per second, shape (n,), > 0; all one: h are mean hitting times in s.
    components
        As for the methods.

    Returns
    -------
    shape (n,)
        A few decimals are right in the norm max_x |(Q h)(x) + costs(x)| / costs(x), unless the cycles
        came to a stop before or met a matrix that is singular to rounding (NaN): the caller is to
        look.
    """
    n = len(pi)
    weight = np.maximum(pi, TINY / EPS)
    rows = np.repeat(np.arange(n), np.diff(Q.indptr))
    off = rows != Q.indices
    rows, columns, flows = rows[off], Q.indices[off], Q.data[off] * weight[rows[off]]
    ends = (columns == reference) | (rows == reference)
    absorbed = summed(rows[ends], flows[ends], n)
    flows[ends] = 0.0
    matrix = sp.csr_matrix((flows, (rows, columns)), shape=(n, n))
    mass = -np.asarray(Q.diagonal()) * weight
    grid = lumped_levels(matrix, np.ones(n), mass, components)
    right = np.zeros(len(grid.x))
    right[:n] = costs * weight
    right[reference] = 0.0
    try:
        inverse = _lumped(grid, absorbed)
    except np.linalg.LinAlgError:  # to rounding, the reference is not reached
        return np.full(n, np.nan)
    wanted, leaving = right[:n].copy(), 1.0 / grid.scale[:n]
    wanted[reference] = 1.0
    grid.x[:n] = 0.0
    left = np.empty_like(grid.first)
    size, sweeps = np.inf, 1
    for _ in range(MOST_CORRECTIONS):
        index = grid.first, left, grid.repeats, sweeps, grid.indptr, grid.indices
        arguments = *index, grid.values, grid.parent, grid.scale, grid.x, right, inverse
        compiled(kernels.correct, shape_of(arguments), helpers=(kernels.relax,))(*arguments)
        h = grid.x[:n]
        rest = right[:n] + matrix @ h - leaving * h
        before, size = size, float(np.abs(rest / wanted).max())
        if not ENOUGH < size < np.inf:
            break
        if size > SLOW * before:
            sweeps = min(2 * sweeps, MOST_SWEEPS)
    h = grid.x[:n].copy()
    h[reference] = 0.0
    return h


def _lumped(grid: Hierarchy, absorbed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the flows from level to level, once for all; return the inverse on the last one."""
    for level in range(len(grid.first) - 1):
        low, high = grid.first[level : level + 2]
        bounds = grid.indptr[low : high + 1]
        part = slice(bounds[0], bounds[-1])
        flows = grid.values[part], grid.indices[part].astype(np.int64) - low, bounds - bounds[0]
        matrix = sp.csr_matrix(flows, shape=(high - low, high - low))
        leaving = matrix @ np.ones(high - low) + absorbed
        if level < len(grid.first) - 2:
            end = grid.first[level + 2]
            grid.x[low:high] = 1.0
            index = low, high, end, grid.indptr, grid.indices
            arguments = *index, grid.values, grid.target, grid.scale, grid.x
            compiled(kernels.restrict, shape_of(arguments))(*arguments)
            absorbed = summed(grid.parent[low:high] - high, absorbed, end - high)
        grid.scale[low:high] = 1.0 / leaving
    jumps = matrix.toarray() / leaving[:, None]
    inverse: NDArray[np.float64] = np.linalg.inv(np.eye(len(jumps)) - jumps) / leaving
    return inverse
