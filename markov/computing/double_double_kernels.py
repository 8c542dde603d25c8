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

__all__ = ["Rows", "Sums", "drifts", "net_flows", "rounding_of_product", "rounding_of_sum", "variation"]

SPLITTER = 134217729.0  # 2^27 + 1


def rounding_of_sum(a, b):
    """Return the rounding error of the float64 sum a + b, exactly (Knuth's TwoSum, without the sum itself)."""
    total = a + b
    part = total - a
    return (a - (total - part)) + (b - part)


def rounding_of_product(a, b):
    """Return the rounding error of the float64 product a * b, exactly (Dekker's product without the product)."""
    product = a * b
    scaled = SPLITTER * a
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    scaled = SPLITTER * b
    b_high = scaled - (scaled - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


class Rows(NamedTuple):
    """The rates out of each state of a chain in compressed sparse rows: row pointers, target states, rates."""

    indptr: NDArray[np.integer[Any]]
    indices: NDArray[np.integer[Any]]
    rates: NDArray[np.float64]


class Sums(NamedTuple):
    """Output arrays with one sum per state: the rounded sum, the sum of its rounding errors, the sum of their sizes.

    All start at zero. ``rest`` sums the low parts as well.

    ``rest`` is the sum of the rounding errors and of the low parts, ``size`` the sum of their magnitudes.
    """

    total: NDArray[np.float64]
    rest: NDArray[np.float64]
    size: NDArray[np.float64]


def net_flows(rows, x, low, sums):
    """Add to ``sums`` the flow into each state minus the flow out of it, for the vector x + low."""
    indptr, indices, rates = rows
    net, rest, size = sums
    for i in range(len(x)):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if j == i:
                continue
            flow = x[i] * rates[k]
            lost = rounding_of_product(x[i], rates[k])
            more = low[i] * rates[k]
            lost_in, lost_out = rounding_of_sum(net[j], flow), rounding_of_sum(net[i], -flow)
            net[j] += flow
            net[i] -= flow
            rest[j] += lost_in + (lost + more)
            rest[i] += lost_out - (lost + more)
            size[j] += abs(lost_in) + (abs(lost) + abs(more))
            size[i] += abs(lost_out) + (abs(lost) + abs(more))


def drifts(rows, h, low, sums):
    """Write into ``sums`` the drift of h + low in each state: the sum over its transitions of rate times change."""
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
            little = rounding_of_sum(h[j], -h[i])
            more = low[j] - low[i]
            product = rates[k] * change
            lost = rounding_of_product(rates[k], change)
            sum_rounding = rounding_of_sum(total, product)
            total += product
            losses += sum_rounding + (lost + rates[k] * (little + more))
            sizes += abs(sum_rounding) + (abs(lost) + rates[k] * (abs(little) + abs(more)))
        drift[i] = total
        rest[i] = losses
        size[i] = sizes


def variation(indptr, indices, rates, x, g):
    """Return the sum over all transitions of x in the source times the rate times the magnitude of the change of g."""
    total = 0.0
    for i in range(len(g)):
        change = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            change += abs(rates[k]) * abs(g[indices[k]] - g[i])
        total += x[i] * change
    return total
