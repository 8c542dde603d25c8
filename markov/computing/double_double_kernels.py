"""The loops of products with a generator in double-double, as templates of kernels.

A product or sum of two numbers is exactly the rounded result and its rounding error: T. J. Dekker,
Numer. Math. 18, 1971, and D. E. Knuth, The Art of Computer Programming 2, Sect. 4.2.2.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Rows", "Sums", "drifts", "net_flows", "two_product", "two_sum", "variation"]

SPLITTER = 134217729.0  # 2^27 + 1


def two_sum(a, b):
    """Return the rounding error of a + b."""
    total = a + b
    part = total - a
    return (a - (total - part)) + (b - part)


def two_product(a, b):
    """Return the rounding error of a b."""
    product = a * b
    scaled = SPLITTER * a
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    scaled = SPLITTER * b
    b_high = scaled - (scaled - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


class Rows(NamedTuple):
    """The rates out of each state of a chain, as rows of a sparse matrix."""

    indptr: NDArray[np.integer[Any]]
    indices: NDArray[np.integer[Any]]
    rates: NDArray[np.float64]


class Sums(NamedTuple):
    """A sum for each state, which starts at zero.

    ``rest`` is the sum of the rounding errors and of the low parts, ``size`` the sum of their magnitudes.
    """

    total: NDArray[np.float64]
    rest: NDArray[np.float64]
    size: NDArray[np.float64]


def net_flows(rows, x, low, sums):
    """Sum the flows into each state less the flows out of it, for x + low."""
    indptr, indices, rates = rows
    net, rest, size = sums
    for i in range(len(x)):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if j == i:
                continue
            flow = x[i] * rates[k]
            lost = two_product(x[i], rates[k])
            more = low[i] * rates[k]
            lost_in, lost_out = two_sum(net[j], flow), two_sum(net[i], -flow)
            net[j] += flow
            net[i] -= flow
            rest[j] += lost_in + (lost + more)
            rest[i] += lost_out - (lost + more)
            size[j] += abs(lost_in) + (abs(lost) + abs(more))
            size[i] += abs(lost_out) + (abs(lost) + abs(more))


def drifts(rows, h, low, sums):
    """Sum rate times change of h + low over the transitions out of each state."""
    indptr, indices, rates = rows
    drift, rest, size = sums
    for i in range(len(h)):
        total = 0.0
        losses = 0.0
        sizes = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if j == i:
                continue
            change = h[j] - h[i]
            little = two_sum(h[j], -h[i])
            more = low[j] - low[i]
            product = rates[k] * change
            lost = two_product(rates[k], change)
            sum_rounding = two_sum(total, product)
            total += product
            losses += sum_rounding + (lost + rates[k] * (little + more))
            sizes += abs(sum_rounding) + (abs(lost) + rates[k] * (abs(little) + abs(more)))
        drift[i] = total
        rest[i] = losses
        size[i] = sizes


def variation(indptr, indices, rates, x, g):
    """Return the sum of x times rate times magnitude of the change of g, over all transitions."""
    total = 0.0
    for i in range(len(g)):
        change = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            change += abs(rates[k]) * abs(g[indices[k]] - g[i])
        total += x[i] * change
    return total
