"""The loops of aggregation multigrid, as templates of kernels.

All levels of a hierarchy lie one behind the other in the same arrays; states and entries are numbered
through. Level l has the states ``first[l] .. first[l + 1] - 1``; state s has the entries ``indptr[s]
.. indptr[s + 1] - 1``, which say what it takes from the state ``indices[k]`` per unit of that one's
``x``. Its aggregate, a state of the next level, is ``parent[s]``; entry k is part of the entry
``target[k]``, or, within an aggregate, of one of several dummy entries at the end.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = ["blend", "compare", "cycle", "eliminate", "restrict", "sweep"]

FLOOR = 1e-280
TINY = 1e-300
HUGE = 1e100


def cycle(first, left, repeats, sweeps, indptr, indices, values, target, parent, scale, x, dense):
    """Run one cycle from the first level, which goes to level l ``repeats[l]`` times in a row.

    Every level but the last sweeps forward before, and backward after, the levels behind it have
    corrected it. ``left`` is room for as many numbers as there are levels.
    """
    last = len(first) - 2
    level = 0
    while True:
        while level < last:  # down
            low, high, end = first[level], first[level + 1], first[level + 2]
            for _ in range(sweeps):
                sweep(low, high, False, indptr, indices, values, scale, x)
            restrict(low, high, end, indptr, indices, values, target, scale, x)
            level += 1
            left[level] = repeats[level]
        eliminate(first[last], first[last + 1], indptr, indices, values, scale, x, dense)
        while level > 0:  # up, to a level that is to correct once more
            left[level] -= 1
            if left[level] > 0 and level < last:
                break
            level -= 1
            low, high = first[level], first[level + 1]
            for s in range(low, high):
                x[s] *= x[parent[s]]
            for _ in range(sweeps):
                sweep(low, high, True, indptr, indices, values, scale, x)
        if level == 0:
            return


def sweep(low, high, backward, indptr, indices, values, scale, x):
    """Relax the states low .. high - 1 in turn (Gauss-Seidel): set each flow to its inflow.

    Flows that would underflow are held at a floor, positive.
    """
    for n in range(high - low):
        s = high - 1 - n if backward else low + n
        total = 0.0
        for k in range(indptr[s], indptr[s + 1]):
            total += x[indices[k]] * values[k]
        x[s] = max(total, FLOOR) * scale[s]


def restrict(low, high, end, indptr, indices, values, target, scale, x):
    """Sum the flows between aggregates: the states low .. high - 1 are those of high .. end - 1."""
    for k in range(indptr[high], indptr[end]):
        values[k] = 0.0
    for s in range(low, high):
        for k in range(indptr[s], indptr[s + 1]):
            values[target[k]] += x[indices[k]] * values[k]
    for s in range(high, end):
        x[s] = 1.0
        scale[s] = 0.0
    for k in range(indptr[high], indptr[end]):
        scale[indices[k]] += values[k]
    for s in range(high, end):
        scale[s] = 1.0 / max(scale[s], TINY)


def eliminate(low, high, indptr, indices, values, scale, x, dense):
    """Solve the last level by elimination without subtractions; the total flow stays the same."""
    m = high - low
    for i in range(m):
        for j in range(m):
            dense[i, j] = 0.0
    for s in range(low, high):
        for k in range(indptr[s], indptr[s + 1]):
            dense[indices[k] - low, s - low] = values[k]
    for n in range(m - 1):
        k = m - 1 - n
        total = 0.0
        for j in range(k):
            total += dense[k, j]
        for i in range(k):
            share = dense[i, k] / max(total, TINY)
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
        if total > HUGE:
            for i in range(k + 1):
                x[low + i] /= total
    flow = 0.0
    wanted = 0.0
    for s in range(low, high):
        flow += x[s] / scale[s]
        wanted += 1.0 / scale[s]
    for s in range(low, high):
        x[s] *= wanted / flow


def compare(flow, residual, flows, residuals, products):
    """Multiply the differences of residuals, and the last one itself, weighted by 1 / flow."""
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


def blend(flow, flows, shares, least, better):
    """Combine flows, each at least ``least`` times its old value. Return the sum."""
    total = 0.0
    for s in range(len(flow)):
        value = flow[s]
        for i in range(len(flows)):
            value += shares[i] * (flows[i, s] - flow[s])
        better[s] = max(value, least * flow[s])
        total += better[s]
    return total
