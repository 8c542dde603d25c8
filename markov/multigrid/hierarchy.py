"""The levels of aggregation multigrid: which states are aggregated, and the chain of the aggregates.

If the components of a model's state are known, aggregates are boxes of their values; otherwise pairs of
pairs of pairs of states with strong exchange.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.kernels import make_kernel
from markov.computing.compilation import bound_kernel
from markov.multigrid.cycle import UNDERFLOW_GUARD, Schedule, visits, w_cycle
from markov.multigrid.kernels import aggregation_kernels
from markov.multigrid.kernels import aggregation_kernels as kernels
from markov.multigrid.kernels.aggregation_kernels import Aggregates, Pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

__all__ = ["Hierarchy", "build_hierarchy", "sums_by_index"]

COARSEST_LEVEL_STATES = 32  # states that are eliminated
MIN_STRENGTH = 0.5  # of the largest flow: components that are halved
PAIRING_PASSES = 3  # pairs of pairs of pairs
MIN_COUPLING = 0.01  # minimum coupling in a pass, relative to the strongest
MAX_COARSENING_RATIO = 0.8  # of the states: aggregates that are worth it
N_DUMMY_ENTRIES = 64  # dummy entries, several of them to avoid a dependence between successive sums
MAX_CODE_RATIO = 16  # codes over states; sparser codes are sorted


class Hierarchy(NamedTuple):
    """The arrays of all levels of a chain for multigrid, the finest level first.

    `markov.multigrid.kernels.aggregation_kernels` describes them.
    """

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
        """Bytes of the arrays of all levels."""
        return sum(array.nbytes for array in self)

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """Number of states and number of transitions of each level, the finest first."""
        transitions = np.diff(self.indptr[self.first])
        return tuple(zip(np.diff(self.first).tolist(), transitions.tolist(), strict=True))

    def improve(self, flow: NDArray[np.float64], cycle: Callable[[], None]) -> NDArray[np.float64]:
        """Return the flow out of each state after a call of ``cycle`` that starts from ``flow``; its sum is one."""
        n = self.first[1]
        self.x[:n] = flow
        cycle()
        better = self.x[:n].copy()
        better /= better.sum()
        return better

    def make_cycle(self, sweeps: int) -> Callable[[], None]:
        """Return a call that runs one cycle on x in place, ``sweeps`` sweeps before and after each correction."""
        schedule = Schedule(self.first, np.empty_like(self.first), self.repeats, sweeps)
        return bound_kernel(w_cycle, schedule, self.flows, helpers=kernels.HELPERS)

    @property
    def flows(self) -> kernels.Flows:
        """The flows on all levels as the record that kernels take, with a buffer for the last level."""
        m = self.first[-1] - self.first[-2]
        return kernels.Flows(*self[2:], np.empty((m, m)))

    def freeze(self, flow: NDArray[np.float64]) -> None:
        """Compute the flows between the aggregates of all levels for a fixed flow out of each state, shape (n,)."""
        self.x[: self.first[1]] = flow
        helpers = (kernels.restrict,)
        bound_kernel(kernels.freeze, self.first, self.flows, helpers=helpers)()


def build_hierarchy(
    matrix: sp.csr_matrix,
    flow: NDArray[np.float64],
    mass: NDArray[np.float64],
    components: Mapping[str, NDArray[np.int64]] | None,
    isolated: int | None = None,
) -> Hierarchy:
    """Return the multigrid levels of a chain; aggregates are chosen by the current flows.

    Parameters
    ----------
    matrix
        Inflow of each state (row) from others (column) per unit of flow, without a diagonal. Shape (n, n).
    flow, mass
        Of the states, shape (n,) each. The flow scales the matrix to flows between states; their strength is relative
        to the mass.
    components
        As for the methods, or None.
    isolated
        A state that is an aggregate by itself on each level; components must be None then.
    """
    n = len(flow)
    values = matrix.data
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32)
    geometric = None if components is None else _GeometricAggregates(components)
    first, entries = [0, n], [0, len(values)]
    all_indptr, all_indices = [indptr], [indices]
    all_target: list[NDArray[np.int64]] = []
    all_parent: list[NDArray[np.int64]] = []
    flows = values * flow[indices]
    while n > COARSEST_LEVEL_STATES:
        labels = None if geometric is None else geometric.coarsen(indptr, indices, flows)
        if labels is None or labels.max() >= MAX_COARSENING_RATIO * n:
            geometric, labels = None, _algebraic_aggregates(indptr, indices, flows, mass)
        if labels.max() == n - 1:  # no flow between states
            labels = np.arange(n) // 2
        if isolated is not None:
            labels[isolated] = labels.max() + 1
            labels = _rank(labels)
            isolated = int(labels[isolated])
        m = int(labels.max()) + 1
        target, indptr, indices = _merge_entries(labels, m, indptr, indices)
        inner = target < 0
        flows = sums_by_index(target[~inner], flows[~inner], len(indices))
        mass = sums_by_index(labels, mass, m)
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
    target[unread] = entries[-1] + unread % N_DUMMY_ENTRIES
    repeats = np.array(visits(np.diff(first).tolist()))
    repeats[-1] = 1  # it is eliminated
    return Hierarchy(
        first=np.array(first),
        repeats=repeats,
        indptr=np.concatenate(all_indptr),
        indices=np.concatenate(all_indices),
        values=np.concatenate([values, np.zeros(entries[-1] + N_DUMMY_ENTRIES - len(values))]),
        target=target.astype(np.uint32),
        parent=np.concatenate(all_parent).astype(np.uint32),
        scale=np.ones(first[-1]),
        x=np.ones(first[-1]),
    )


class _GeometricAggregates:
    """Aggregates of states: boxes of values of a model's components, which grow from level to level."""

    def __init__(self, components: Mapping[str, NDArray[np.int64]]) -> None:
        self.values = [(v - v.min()).astype(np.int32) for v in components.values()]

    def coarsen(
        self, indptr: NDArray[np.int64], indices: NDArray[np.uint32], flows: NDArray[np.float64]
    ) -> NDArray[np.int64] | None:
        """Return the number of each state's box on the next level; None if no flow changes a component.

        Boxes get twice as many values of each component whose steps carry at least half as much flow
        as the component with the largest flow.
        """
        if not self.values:
            return None
        strength, moves = [], make_kernel(aggregation_kernels.flow_of_changes)
        for values in self.values:
            total, by_one = moves(values, indptr, indices, flows)
            strength.append(total if by_one >= 0.5 * total else 0.0)
        largest = max(strength, default=0.0)
        if largest <= 0.0:
            return None
        self.values = [
            values >> 1 if flow >= MIN_STRENGTH * largest else values
            for values, flow in zip(self.values, strength, strict=True)
        ]
        code = np.zeros(len(self.values[0]), dtype=np.int64)
        for values in self.values:
            code = code * (int(values.max()) + 1) + values
            if code.max() >= MAX_CODE_RATIO * len(code):  # many components: it would overflow
                code = np.unique(code, return_inverse=True)[1]
        labels = _rank(code)
        representatives = np.empty(int(labels.max()) + 1, dtype=np.int64)
        representatives[labels] = np.arange(len(labels))
        self.values = [values[representatives] for values in self.values]
        return labels


def _rank(code: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rank of each number among the distinct numbers, from 0, shape (n,)."""
    present = np.zeros(int(code.max()) + 1, dtype=bool)
    present[code] = True
    ranks: NDArray[np.int64] = (np.cumsum(present) - 1)[code]
    return ranks


def _algebraic_aggregates(
    indptr: NDArray[np.int64],
    indices: NDArray[np.uint32],
    flows: NDArray[np.float64],
    mass: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return the number of each state's aggregate, shape (n,): pairs of pairs of pairs with strong exchange."""
    n = len(indptr) - 1
    one_way = sp.csr_matrix((flows, indices.astype(np.int64), indptr), shape=(n, n))
    exchange = sp.csr_matrix(one_way + one_way.T)
    groups, mass, strongest = np.arange(n), np.maximum(mass, UNDERFLOW_GUARD), np.zeros(n)
    for _ in range(PAIRING_PASSES):
        count = len(mass)
        labels, m = _pair_states(exchange, mass, MIN_COUPLING, strongest)
        if count == n and m > MAX_COARSENING_RATIO * n:  # most states are much weaker coupled than a neighbour
            labels, m = _pair_states(exchange, mass, 0.0, strongest)
        groups = labels[groups]
        if m <= COARSEST_LEVEL_STATES or m > MAX_COARSENING_RATIO * count:
            break
        aggregate = sp.csr_matrix((np.ones(count), (np.arange(count), labels)))
        exchange, mass = sp.csr_matrix(aggregate.T @ exchange @ aggregate), sums_by_index(labels, mass, m)
        exchange.setdiag(0.0)
        maxima = np.zeros(m)
        np.maximum.at(maxima, labels, strongest)
        strongest = maxima
    return groups


def _pair_states(
    exchange: sp.csr_matrix,
    mass: NDArray[np.float64],
    min_share: float,
    strongest: NDArray[np.float64],
) -> tuple[NDArray[np.int64], int]:
    """Return the number of each state's pair, shape (n,), and the number of pairs."""
    labels = np.full(len(mass), -1)
    index = Pattern(exchange.indptr.astype(np.int64), exchange.indices.astype(np.int64))
    arguments = index, exchange.data, mass, min_share, strongest, labels
    return labels, int(make_kernel(aggregation_kernels.match_states)(*arguments))


def _merge_entries(
    labels: NDArray[np.int64], m: int, indptr: NDArray[np.int64], indices: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]:
    """Return the coarse entry of each entry of a matrix (-1: none), and row pointers and columns of coarse entries."""
    order = np.argsort(labels, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=m))])
    target, coarse = np.empty(len(indices), dtype=np.int64), np.empty_like(indices)
    begins, entry_of = np.zeros(m + 1, dtype=np.int64), np.full(m, -1)
    aggregates, pattern = Aggregates(labels, order, bounds), Pattern(indptr, indices)
    arguments = aggregates, pattern, target, Pattern(begins, coarse), entry_of
    count = make_kernel(aggregation_kernels.merge_entries)(*arguments)
    return target, begins, coarse[:count].copy()


def sums_by_index(indices: NDArray[Any], values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the sum of the values with index i for each i below n, shape (n,)."""
    sums: NDArray[np.float64] = np.bincount(indices, values, minlength=n).astype(np.float64)
    return sums
