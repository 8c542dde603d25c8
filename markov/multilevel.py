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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.checks import choice, one_number, whole
from hopflow.kernels import shape_of
from markov import _multilevel_kernels as kernels
from markov.iterative import _bytes, _jumps, _relax, _unit
from markov.methods import Solution, compiled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Multilevel", "hitting_times"]

COARSEST = 32  # states that are eliminated
STRONG = 0.5  # of the largest flow: components that are halved
PASSES = 3  # pairs of pairs of pairs
MUTUAL = 0.01  # of the strongest coupling: what counts in a pass
FEWER = 0.8  # of the states: aggregates that are worth it
TWICE = 2.5  # times as many states: two visits per cycle pay
FIRST_SWEEPS = 3
SPILL = 64  # places for what nobody reads, so that no sum waits for the one before
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
            grid = _hierarchy(inflow, start, start, components if self.geometric else None)
            flow, cycles = self._iterate(inflow, grid, start)
        memory = _bytes(inflow) + grid.nbytes + (2 * KEPT + 6) * flow.nbytes
        return Solution(_unit(flow / exit_rates), cycles, memory)

    def _iterate(
        self, inflow: sp.csr_matrix, grid: _Hierarchy, flow: NDArray[np.float64]
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
    absorbed = _summed(rows[ends], flows[ends], n)
    flows[ends] = 0.0
    matrix = sp.csr_matrix((flows, (rows, columns)), shape=(n, n))
    mass = -np.asarray(Q.diagonal()) * weight
    grid = _hierarchy(matrix, np.ones(n), mass, components)
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


def _lumped(grid: _Hierarchy, absorbed: NDArray[np.float64]) -> NDArray[np.float64]:
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
            absorbed = _summed(grid.parent[low:high] - high, absorbed, end - high)
        grid.scale[low:high] = 1.0 / leaving
    jumps = matrix.toarray() / leaving[:, None]
    inverse: NDArray[np.float64] = np.linalg.inv(np.eye(len(jumps)) - jumps) / leaving
    return inverse


# --------------------------------------------------------------------------- the hierarchy


class _Hierarchy(NamedTuple):
    """The arrays of all levels, as `markov._multilevel_kernels` describes them."""

    first: NDArray[np.int64]
    repeats: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray[np.float64]
    target: NDArray[np.uint32]
    parent: NDArray[np.uint32]
    scale: NDArray[np.float64]
    x: NDArray[np.float64]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self)

    def improved(self, flow: NDArray[np.float64], sweeps: int) -> NDArray[np.float64]:
        """Return the flow after one cycle, its sum one."""
        n, m = self.first[1], self.first[-1] - self.first[-2]
        self.x[:n] = flow
        dense, left = np.empty((m, m)), np.empty_like(self.first)
        helpers = kernels.sweep, kernels.restrict, kernels.eliminate
        rest = self.first, left, self.repeats, sweeps, *self[2:], dense
        compiled(kernels.cycle, shape_of(rest), helpers=helpers)(*rest)
        better = self.x[:n].copy()
        better /= better.sum()
        return better


def _hierarchy(
    matrix: sp.csr_matrix,
    flow: NDArray[np.float64],
    mass: NDArray[np.float64],
    components: Mapping[str, NDArray[np.int64]] | None,
) -> _Hierarchy:
    """Return the levels of a chain; what to lump is decided by the flows as they are now.

    Parameters
    ----------
    matrix
        What each state (row) takes from others (column) per unit of flow; no diagonal. Shape (n, n).
    flow, mass
        Of the states, shape (n,) each: the first scales the matrix to flows between states, which
        are strong or weak relative to the second.
    components
        As for the methods, or None.
    """
    n = len(flow)
    values = matrix.data
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32)
    cells = None if components is None else _Cells(components)
    first, entries = [0, n], [0, len(values)]
    all_indptr, all_indices = [indptr], [indices]
    all_target: list[NDArray[np.int64]] = []
    all_parent: list[NDArray[np.int64]] = []
    flows = values * flow[indices]
    while n > COARSEST:
        labels = None if cells is None else cells.lumped(indptr, indices, flows)
        if labels is None or labels.max() >= FEWER * n:
            cells, labels = None, _grouped(indptr, indices, flows, mass)
        if labels.max() == n - 1:  # no flow is left to go by
            labels = np.arange(n) // 2
        m = int(labels.max()) + 1
        target, indptr, indices = _merged(labels, m, indptr, indices)
        inner = target < 0
        flows = _summed(target[~inner], flows[~inner], len(indices))
        mass = _summed(labels, mass, m)
        all_target.append(np.where(inner, -1, target + entries[-1]))
        all_parent.append(labels + first[-1])
        all_indptr.append(indptr[1:] + entries[-1])
        all_indices.append(indices + np.uint32(first[-1]))
        first.append(first[-1] + m)
        entries.append(entries[-1] + len(indices))
        n = m
    all_target.append(np.full(len(indices), -1))
    all_parent.append(np.zeros(n, dtype=np.int64))
    target = np.concatenate(all_target)
    unread = np.flatnonzero(target < 0)
    target[unread] = entries[-1] + unread % SPILL
    sizes = np.diff(first)
    return _Hierarchy(
        first=np.array(first),
        repeats=np.concatenate([[1], np.where(sizes[:-1] > TWICE * sizes[1:], 2, 1)]),
        indptr=np.concatenate(all_indptr),
        indices=np.concatenate(all_indices),
        values=np.concatenate([values, np.zeros(entries[-1] + SPILL - len(values))]),
        target=target.astype(np.uint32),
        parent=np.concatenate(all_parent).astype(np.uint32),
        scale=np.ones(first[-1]),
        x=np.ones(first[-1]),
    )


class _Cells:
    """Cells of the space of a model's components, which grow from level to level."""

    def __init__(self, components: Mapping[str, NDArray[np.int64]]) -> None:
        self.values = [(v - v.min()).astype(np.int32) for v in components.values()]

    def lumped(
        self, indptr: NDArray[np.int64], indices: NDArray[np.uint32], flows: NDArray[np.float64]
    ) -> NDArray[np.int64] | None:
        """Return the number of each state's cell on the next level; None if there are no cells.

        Twice as many values to a cell of the components whose steps carry at least half as much flow
        as those of the component with most.
        """
        strength = []
        for values in self.values:
            arguments = values, indptr, indices, flows
            total, by_one = compiled(kernels.moves, shape_of(arguments))(*arguments)
            strength.append(total if by_one >= 0.5 * total else 0.0)
        most = max(strength, default=0.0)
        if most <= 0.0:
            return None
        self.values = [
            values >> 1 if carried >= STRONG * most else values
            for values, carried in zip(self.values, strength, strict=True)
        ]
        code = np.zeros(len(self.values[0]), dtype=np.int64)
        for values in self.values:
            code = code * (int(values.max()) + 1) + values
        present = np.zeros(int(code.max()) + 1, dtype=bool)
        present[code] = True
        labels = (np.cumsum(present) - 1)[code]
        some = np.empty(int(labels.max()) + 1, dtype=np.int64)
        some[labels] = np.arange(len(labels))
        self.values = [values[some] for values in self.values]
        return labels


def _grouped(
    indptr: NDArray[np.int64],
    indices: NDArray[np.uint32],
    flows: NDArray[np.float64],
    mass: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return the number of each state's group: pairs of pairs of pairs that exchange most."""
    n = len(indptr) - 1
    one_way = sp.csr_matrix((flows, indices.astype(np.int64), indptr), shape=(n, n))
    exchange = sp.csr_matrix(one_way + one_way.T)
    groups, mass, strongest = np.arange(n), np.maximum(mass, TINY), np.zeros(n)
    for _ in range(PASSES):
        count = len(mass)
        labels, m = _paired(exchange, mass, MUTUAL, strongest)
        if count == n and m > FEWER * n:  # most states are much weaker coupled than a neighbour
            labels, m = _paired(exchange, mass, 0.0, strongest)
        groups = labels[groups]
        if m <= COARSEST or m > FEWER * count:
            break
        lump = sp.csr_matrix((np.ones(count), (np.arange(count), labels)))
        exchange, mass = sp.csr_matrix(lump.T @ exchange @ lump), _summed(labels, mass, m)
        exchange.setdiag(0.0)
        most = np.zeros(m)
        np.maximum.at(most, labels, strongest)
        strongest = most
    return groups


def _paired(
    exchange: sp.csr_matrix,
    mass: NDArray[np.float64],
    least: float,
    strongest: NDArray[np.float64],
) -> tuple[NDArray[np.int64], int]:
    """Return the number of each state's pair, and how many pairs there are."""
    labels = np.full(len(mass), -1)
    index = exchange.indptr.astype(np.int64), exchange.indices.astype(np.int64)
    arguments = *index, exchange.data, mass, least, strongest, labels
    return labels, int(compiled(kernels.match, shape_of(arguments))(*arguments))


def _merged(
    labels: NDArray[np.int64], m: int, indptr: NDArray[np.int64], indices: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]:
    """Return the coarse entry of each entry (-1: none), and the pattern of the coarse entries."""
    order = np.argsort(labels, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=m))])
    target, coarse = np.empty(len(indices), dtype=np.int64), np.empty_like(indices)
    begins, seen = np.zeros(m + 1, dtype=np.int64), np.full(m, -1)
    arguments = labels, order, bounds, indptr, indices, target, begins, coarse, seen
    count = compiled(kernels.merge, shape_of(arguments))(*arguments)
    return target, begins, coarse[:count].copy()


def _summed(place: NDArray[Any], values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the sums of the values at each of n places."""
    sums: NDArray[np.float64] = np.bincount(place, values, minlength=n).astype(np.float64)
    return sums
