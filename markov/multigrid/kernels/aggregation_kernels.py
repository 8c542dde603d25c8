"""Kernels of aggregation multigrid with matrices: choice of aggregates, flows between them, sweeps, and elimination.

1. `match_states` pairs states with strong exchange, `merge_entries` gives the pattern of the aggregates' matrix.
2. A cycle (`markov.multigrid.cycle`) sweeps a level (`sweep`), sums its flows between aggregates
   (`restrict`), solves the next level, and multiplies each state by the factor of its aggregate (`ascend`).
3. The last level is eliminated without subtractions (`eliminate`).

All numbers are positive, and only added, multiplied and divided: no digits cancel.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


__all__ = [
    "HELPERS",
    "Aggregates",
    "Flows",
    "Pattern",
    "ascend",
    "blend",
    "compare",
    "descend",
    "eliminate",
    "flow_of_changes",
    "freeze",
    "match_states",
    "merge_entries",
    "restrict",
    "solve_coarsest",
    "sweep",
]

STRONG_RATIO = 0.25


class Pattern(NamedTuple):
    """The positions of a sparse matrix's entries by rows: row pointers and columns."""

    indptr: Any
    indices: Any


class Aggregates(NamedTuple):
    """The label of each state, the states sorted by label, and the first position of each label."""

    labels: Any
    order: Any
    bounds: Any


def flow_of_changes(component, indptr, indices, flows):
    """Return the flow of all transitions that change a component's value, and the flow of changes by one."""
    total = 0.0
    by_one = 0.0
    for s in range(len(component)):
        value = component[s]
        for k in range(indptr[s], indptr[s + 1]):
            distance = abs(component[indices[k]] - value)
            if distance > 0:
                total += flows[k]
                if distance == 1:
                    by_one += flows[k]
    return total, by_one


def match_states(pattern, flows, mass, min_share, strongest, labels):
    """Pair each state with its most strongly coupled unpaired neighbour; return the number of labels.

    The coupling is the exchange relative to the smaller mass. Couplings below a share ``min_share`` of the strongest
    coupling of either state, now or ``strongest`` before, do not count. A state with a paired neighbour whose coupling
    is four times as strong joins that pair. Labels are -1 before.
    """
    indptr, indices = pattern.indptr, pattern.indices
    for s in range(len(labels)):
        for k in range(indptr[s], indptr[s + 1]):
            coupling = flows[k] / min(mass[s], mass[indices[k]])
            if coupling > strongest[s] and indices[k] != s:
                strongest[s] = coupling
    count = 0
    for s in range(len(labels)):
        if labels[s] >= 0:
            continue
        free, free_coupling, near, near_coupling = -1, 0.0, -1, 0.0
        for k in range(indptr[s], indptr[s + 1]):
            other = indices[k]
            if other == s:
                continue
            coupling = flows[k] / min(mass[s], mass[other])
            if coupling < min_share * max(strongest[s], strongest[other]):
                continue
            if labels[other] < 0 and coupling > free_coupling:
                free, free_coupling = other, coupling
            if labels[other] >= 0 and coupling > near_coupling:
                near, near_coupling = other, coupling
        if free >= 0 and free_coupling >= STRONG_RATIO * near_coupling:
            labels[s] = count
            labels[free] = count
            count += 1
        elif near >= 0:
            labels[s] = labels[near]
        else:
            labels[s] = count
            count += 1
    return count


def merge_entries(aggregates, pattern, target, coarse, entry_of):
    """Write the sparse pattern between aggregates and the coarse entry of each entry; return the number of entries.

    ``aggregates`` has the label of each state, the states by aggregate (``order``) and the first state of each
    aggregate (``bounds``). ``coarse`` gets the pattern of the aggregates. ``target`` gets -1 for entries within an
    aggregate. ``entry_of`` is -1 for each aggregate before.
    """
    labels, order, bounds = aggregates.labels, aggregates.order, aggregates.bounds
    indptr, indices = pattern.indptr, pattern.indices
    count = 0
    for a in range(len(bounds) - 1):
        begin = count
        for p in range(bounds[a], bounds[a + 1]):
            s = order[p]
            for k in range(indptr[s], indptr[s + 1]):
                b = labels[indices[k]]
                if b == a:
                    target[k] = -1
                    continue
                entry = entry_of[b]
                if entry < begin:
                    entry = count
                    entry_of[b] = count
                    coarse.indices[count] = b
                    count += 1
                target[k] = entry
        coarse.indptr[a + 1] = count
    return count


FLOOR = 1e-280
UNDERFLOW_GUARD = 1e-300
RESCALING_LIMIT = 1e100


class Flows(NamedTuple):
    """The flows between the states of all levels, concatenated in the same arrays.

    Attributes
    ----------
    indptr, indices, values
        State s has the entries ``indptr[s] .. indptr[s + 1] - 1``: inflows from the state ``indices[k]`` per unit of
        that state's ``x``.
    target
        The entry of the next level that contains each entry; for entries within an aggregate, one of several dummy
        entries at the end.
    parent
        Aggregate of each state: a state of the next level.
    scale, x
        One over the flow out of each state, and its factor.
    dense
        Buffer for the last level as a matrix.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray[np.float64]
    target: NDArray[np.uint32]
    parent: NDArray[np.uint32]
    scale: NDArray[np.float64]
    x: NDArray[np.float64]
    dense: NDArray[np.float64]


def descend(level, schedule, flows):
    """Sweep a level forward, and compute the flows of the next level from it."""
    low, high, end = schedule.first[level], schedule.first[level + 1], schedule.first[level + 2]
    for _ in range(schedule.sweeps):
        sweep(low, high, False, flows)
    restrict(low, high, end, flows)


def solve_coarsest(schedule, flows):
    """Solve the equations of the last level by elimination."""
    last = len(schedule.first) - 2
    eliminate(schedule.first[last], schedule.first[last + 1], flows)


def ascend(level, schedule, flows):
    """Multiply the flows of a level by the factors of its aggregates, and sweep it backward."""
    low, high = schedule.first[level], schedule.first[level + 1]
    for s in range(low, high):
        flows.x[s] *= flows.x[flows.parent[s]]
    for _ in range(schedule.sweeps):
        sweep(low, high, True, flows)


def sweep(low, high, backward, flows):
    """Set the flow out of each state low .. high - 1, in turn, to the flow into it (Gauss-Seidel).

    Flows that would underflow are held at a floor, positive.
    """
    for n in range(high - low):
        s = high - 1 - n if backward else low + n
        total = 0.0
        for k in range(flows.indptr[s], flows.indptr[s + 1]):
            total += flows.x[flows.indices[k]] * flows.values[k]
        flows.x[s] = max(total, FLOOR) * flows.scale[s]


def restrict(low, high, end, flows):
    """Compute the flows between the aggregates high .. end - 1 of the states low .. high - 1; set factors to one."""
    x, values, scale = flows.x, flows.values, flows.scale
    for k in range(flows.indptr[high], flows.indptr[end]):
        values[k] = 0.0
    for s in range(low, high):
        for k in range(flows.indptr[s], flows.indptr[s + 1]):
            values[flows.target[k]] += x[flows.indices[k]] * values[k]
    for s in range(high, end):
        x[s] = 1.0
        scale[s] = 0.0
    for k in range(flows.indptr[high], flows.indptr[end]):
        scale[flows.indices[k]] += values[k]
    for s in range(high, end):
        scale[s] = 1.0 / max(scale[s], UNDERFLOW_GUARD)


def freeze(first, flows):
    """Compute the flows between the aggregates of all levels from the flows out of the states of the first level."""
    for level in range(len(first) - 2):
        restrict(first[level], first[level + 1], first[level + 2], flows)


def eliminate(low, high, flows):
    """Solve the last level, states low .. high - 1, by elimination without subtractions; keep its total flow."""
    x, scale, dense = flows.x, flows.scale, flows.dense
    m = high - low
    for i in range(m):
        for j in range(m):
            dense[i, j] = 0.0
    for s in range(low, high):
        for k in range(flows.indptr[s], flows.indptr[s + 1]):
            dense[flows.indices[k] - low, s - low] = flows.values[k]
    for n in range(m - 1):
        k = m - 1 - n
        total = 0.0
        for j in range(k):
            total += dense[k, j]
        for i in range(k):
            share = dense[i, k] / max(total, UNDERFLOW_GUARD)
            dense[i, k] = share
            if share > 0.0:
                for j in range(k):
                    dense[i, j] += share * dense[k, j]
    x[low] = 1.0
    for k in range(1, m):
        total = 0.0
        for i in range(k):
            total += x[low + i] * dense[i, k]
        x[low + k] = total
        if total > RESCALING_LIMIT:
            for i in range(k + 1):
                x[low + i] /= total
    flow = 0.0
    target_flow = 0.0
    for s in range(low, high):
        flow += x[s] / scale[s]
        target_flow += 1.0 / scale[s]
    for s in range(low, high):
        x[s] *= target_flow / flow


HELPERS = sweep, restrict, eliminate, descend, solve_coarsest, ascend
"""Functions of `markov.multigrid.cycle.w_cycle`, in the order of their definition."""


def compare(flow, residual, flows, residuals, products):
    """Write scalar products of the differences of residuals with each other and with the last residual.

    Weighted by 1 / flow.
    """
    m = len(flows)
    for i in range(m):
        for j in range(m + 1):
            products[i, j] = 0.0
    for s in range(len(flow)):
        for i in range(m):
            weighted = (residuals[i, s] - residual[s]) / flow[s]
            products[i, m] -= weighted * residual[s]
            for j in range(i + 1):
                products[i, j] += weighted * (residuals[j, s] - residual[s])
    for i in range(m):
        for j in range(i):
            products[j, i] = products[i, j]


def blend(flow, flows, shares, min_share, better):
    """Write a combination of flows into ``better``, no entry below ``min_share`` of its old value; return its sum."""
    total = 0.0
    for s in range(len(flow)):
        value = flow[s]
        for i in range(len(flows)):
            value += shares[i] * (flows[i, s] - flow[s])
        better[s] = max(value, min_share * flow[s])
        total += better[s]
    return total
