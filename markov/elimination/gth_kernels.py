"""The loops of elimination without subtractions, as templates of kernels.

State k is eliminated after all higher states. The rate from i to j is ``rates[i * row_stride + j]``. No state
from k on leads to, or is reached from, a state below ``first[k]``.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from markov.computing.double_double_kernels import rounding_of_sum

__all__ = ["HELPERS", "eliminate", "inflows", "lay_out", "lowest_neighbours", "mean_costs", "stationary_vector"]


def lowest_neighbours(indptr, indices, rank, first):
    """Lower ``first[k]`` to the lowest position that a transition connects with position k, for all k, in place."""
    for x in range(len(rank)):
        i = rank[x]
        for n in range(indptr[x], indptr[x + 1]):
            j = rank[indices[n]]
            high = max(i, j)
            first[high] = min(first[high], min(i, j))


def lay_out(indptr, indices, data, rank, row_stride, rates):
    """Write the off-diagonal entries of a sparse matrix into the array of stored rates."""
    for x in range(len(rank)):
        for n in range(indptr[x], indptr[x + 1]):
            if indices[n] != x:
                rates[rank[x] * row_stride + rank[indices[n]]] = data[n]


def eliminate(rates, row_stride, first, low, high, workspace):
    """Eliminate the states high - 1 .. low of ``rates`` in place, without updating rates between states below ``low``.

    Leaves column k divided by the exit rate of k, and that on the diagonal. Two states k and m = k - 1 are
    eliminated at a time, which halves the reads and writes of all other rates; ``workspace`` holds their rows.
    Exit rates are compensated sums: `markov.methods.gth` counts on that, and on the order of operations.
    """
    for step in range((high - low + 1) // 2):
        k = high - 1 - 2 * step
        alone = k == low
        m = k if alone else k - 1
        start = first[m]
        count = m - start
        row, next_row = workspace[:count], workspace[len(workspace) // 2 : len(workspace) // 2 + count]
        share = back = total = lost = 0.0
        if not alone:
            for j in range(count):
                row[j] = rates[k * row_stride + start + j]
                lost += rounding_of_sum(total, row[j])
                total += row[j]
            back = rates[k * row_stride + m]
            lost += rounding_of_sum(total, back)
            total = (total + back) + lost
            share = rates[m * row_stride + k] / total
            rates[m * row_stride + k] = share
            rates[k * row_stride + k] = total
        next_total = lost = 0.0
        part = rates[m * row_stride + start : m * row_stride + m]
        for j in range(count):
            next_row[j] = part[j] if alone else part[j] + share * row[j]
            part[j] = next_row[j]
            lost += rounding_of_sum(next_total, next_row[j])
            next_total += next_row[j]
        next_total += lost
        rates[m * row_stride + m] = next_total
        border = min(max(start, low), m)
        for begin, end, skip in ((start, border, border - start), (border, m, 0)):
            pivot, next_pivot = row[skip:], next_row[skip:]
            for i in range(begin, end):
                share = 0.0 if alone else rates[i * row_stride + k] / total
                next_share = (rates[i * row_stride + m] + share * back) / next_total
                if not alone:
                    rates[i * row_stride + k] = share
                rates[i * row_stride + m] = next_share
                if share != 0.0 or next_share != 0.0:
                    part = rates[i * row_stride + start + skip : i * row_stride + m]
                    for j in range(len(part)):
                        part[j] += share * pivot[j] + next_share * next_pivot[j]


def stationary_vector(rates, row_stride, first, pi):
    """Write into ``pi``, zero before, the stationary vector with pi[0] = 1, or a multiple if entries would overflow."""
    n = len(pi)
    pi[0] = 1.0
    end = 1
    for i in range(n):
        while end < n and first[end] <= i:
            end += 1
        if 1e20 < pi[i] < math.inf:
            scale = 0.5  # a power of two: math.frexp would need a function of Numba's
            while scale * pi[i] >= 1.0:
                scale *= 0.5
            for j in range(end):
                pi[j] *= scale
        add_multiple(pi[i], rates[i * row_stride + i + 1 : i * row_stride + end], pi[i + 1 : end])


def inflows(rates, row_stride, first, r):
    """Replace r, flows into the states from outside, by d with d Q = -r and d[0] = 0, in place."""
    n = len(r)
    for step in range(n - 1):
        k = n - 1 - step
        start = first[k]
        r[k] /= rates[k * row_stride + k]
        add_multiple(r[k], rates[k * row_stride + start : k * row_stride + k], r[start:k])
    r[0] = 0.0
    end = 1
    for i in range(n):
        while end < n and first[end] <= i:
            end += 1
        add_multiple(r[i], rates[i * row_stride + i + 1 : i * row_stride + end], r[i + 1 : end])


def mean_costs(rates, row_stride, first, g, low):
    """Replace g, costs per second, by the mean costs until state 0 is entered, the sum g + low, in place.

    The cost of a state is the cost of the lower state with the largest rate plus the mean difference to it. Thus
    groups of states that rarely leave each other keep the digits of the differences within them.
    """
    n = len(g)
    end = n
    for step in range(n):
        i = n - 1 - step
        while first[end - 1] > i:
            end -= 1
        g[i] += inner_product(rates[i * row_stride + i + 1 : i * row_stride + end], g[i + 1 : end])
    g[0] = low[0] = 0.0
    for k in range(1, n):
        start = first[k]
        row = rates[k * row_stride + start : k * row_stride + k]
        nearest, largest = 0, -1.0
        for j in range(len(row)):
            if row[j] > largest:
                nearest, largest = j, row[j]
        base, base_low = g[start + nearest], low[start + nearest]
        total = g[k]
        for j in range(len(row)):
            difference = g[start + j] - base
            difference_low = rounding_of_sum(g[start + j], -base) + (low[start + j] - base_low)
            total += row[j] * (difference + difference_low)
        total /= rates[k * row_stride + k]
        g[k] = base + total
        low[k] = base_low + rounding_of_sum(base, total)


def add_multiple(factor, x, y):
    """Add ``factor`` times x to y, in place."""
    for n in range(len(x)):
        y[n] += factor * x[n]


def inner_product(x, y):
    """Return the inner product of two vectors, in four partial sums that need not wait for each other."""
    a = b = c = d = 0.0
    quads = len(x) // 4
    for n in range(quads):
        a += x[4 * n] * y[4 * n]
        b += x[4 * n + 1] * y[4 * n + 1]
        c += x[4 * n + 2] * y[4 * n + 2]
        d += x[4 * n + 3] * y[4 * n + 3]
    for n in range(4 * quads, len(x)):
        a += x[n] * y[n]
    return (a + b) + (c + d)


HELPERS = {
    "eliminate": (rounding_of_sum,),
    "inflows": (add_multiple,),
    "mean_costs": (rounding_of_sum, inner_product),
    "stationary_vector": (add_multiple,),
}
