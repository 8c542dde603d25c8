"""Products with a generator in double-double: sums of rates times numbers, right to 32 digits.

A vector is an unevaluated sum of two float64 per entry. A product is a float64 and a bound on its distance from the
exact product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.kernels import make_kernel
from markov.computing import double_double_kernels as kernels
from markov.computing.matrices import inner
from markov.computing.rounding import U

if TYPE_CHECKING:
    from collections.abc import Callable

    import scipy.sparse as sp
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

__all__ = [
    "DoubleDouble",
    "Product",
    "excess",
    "mean",
    "pair_sum",
    "product",
    "product_error",
    "split",
    "sum_error",
]

HELPERS = kernels.rounding_of_sum, kernels.rounding_of_product
TINY = 2.0**-1022
CHUNK = 1 << 15


class Product(NamedTuple):
    """A product of a generator and a vector, shape (n,), and a bound on the error of each entry, shape (n,)."""

    value: Vector
    error: Vector


class DoubleDouble:
    """Products of a generator with vectors in double-double arithmetic (two float64 per entry).

    Only rates off the diagonal are read: by definition rows sum to zero exactly.

    Parameters
    ----------
    Q
        Generator, CSR, shape (n, n), without duplicates.

    Notes
    -----
    Let a state have at most m transitions into it and out of it, and u = 2^-53. The result is h + l, with h the
    running sum of the rounded products and l the sum of all rounding errors of products and sums, and of the products
    with the low parts. Only l has rounding errors: it has m terms, each of up to five operations. To first order its
    error is at most (m + 4) u times the sum of their sizes, which is computed as well; m + 6 instead of m + 4 exceeds
    all higher orders for m < 10^6. The last sum adds u |h + l|. Products that underflow count with the smallest normal
    number.
    """

    def __init__(self, Q: sp.csr_matrix) -> None:
        self.Q = Q
        counts = np.diff(Q.indptr) + np.bincount(Q.indices, minlength=Q.shape[0])
        self.terms = int(counts.max())

    def net_flow(self, x: Vector, low: Vector | None = None) -> Product:
        """Return (x + low) Q with error bounds: the flow into each state minus the flow out of it, shape (n,)."""
        low = np.zeros_like(x) if low is None else low
        return self._product(kernels.net_flows, x, low)

    def drift(self, h: Vector, low: Vector | None = None) -> Product:
        """Return Q (h + low) with error bounds: the mean rate of change of h + low in each state, shape (n,)."""
        low = np.zeros_like(h) if low is None else low
        return self._product(kernels.drifts, h, low)

    def variation(self, x: Vector, g: Vector) -> float:
        """Return the sum of x(s) q(s, t) |g(t) - g(s)| over all transitions s -> t, in float64."""
        arguments = self.Q.indptr, self.Q.indices, self.Q.data, x, g
        return float(make_kernel(kernels.variation)(*arguments))

    def _product(self, template: Callable[..., Any], x: Vector, low: Vector) -> Product:
        """Run a kernel of products (`net_flows` or `drifts`) on x + low, and bound the error of each sum."""
        Q, sums = self.Q, kernels.Sums(*np.zeros((3, len(x))))
        make_kernel(template, helpers=HELPERS)(kernels.Rows(Q.indptr, Q.indices, Q.data), x, low, sums)
        total, rest, size = sums
        total += rest
        size *= (self.terms + 6) * U
        size += U * np.abs(total)
        size += TINY
        return Product(total, size)


def sum_error(a: Vector, b: Vector | float) -> Vector:
    """Return the rounding error of the elementwise sum a + b, shape (n,)."""
    total = a + b
    part = total - a
    error: Vector = (a - (total - part)) + (b - part)
    return error


def pair_sum(a: tuple[Vector, Vector], b: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    """Return the sum of two double-double vectors, pairs (high, low) of shape (n,) each, as such a pair."""
    return a[0] + b[0], a[1] + (sum_error(a[0], b[0]) + b[1])


def mean(x: Vector, low: Vector, f: Vector, less: float = 0.0) -> tuple[float, float]:
    """Return sum_i (x + low)_i f_i - less, where ``less`` is 0 or 1, and a bound on the error of that number.

    Shapes (n,). The products are cut at two powers of two into parts whose sums are exact in any order (S. M. Rump,
    T. Ogita, S. Oishi, SIAM J. Sci. Comput. 31, 2008). The residuals, the rounding errors of the products and the
    products with the low parts are summed in float64.
    """
    n = len(x)
    size = (inner(np.abs(x), np.abs(f)) + abs(less)) * (1.0 + 4.0 * n * U)
    exponent = int(np.frexp(size)[1]) + 2
    units = np.ldexp(1.0, exponent), np.ldexp(1.0, exponent + n.bit_length() + 4 - 53)
    sums, residual, sizes = [-less, 0.0], 0.0, 0.0
    for start in range(0, n, CHUNK):
        part = slice(start, start + CHUNK)
        terms, lost = product(x[part], f[part])
        more = low[part] * f[part]
        for index, unit in enumerate(units):
            high = (terms + unit) - unit
            terms = terms - high
            sums[index] += float(high.sum())  # exact, without ``less``
        residual += float((terms + (lost + more)).sum())
        sizes += float((np.abs(terms) + np.abs(lost) + np.abs(more)).sum())
    value = sums[0] + (sums[1] + residual)
    error = (n + 5) * U * sizes + U * (abs(sums[1]) + abs(value)) + TINY
    return value, error


def excess(x: Vector, low: Vector) -> tuple[float, float]:
    """Return the sum of all entries of x + low minus one, and a bound on the error of that number."""
    return mean(x, low, np.ones_like(x), less=1.0)


def product(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """Return the rounded elementwise product a * b and its exact rounding error, shape (n,) each."""
    rounded = a * b
    return rounded, product_error(rounded, split(a), split(b))


def product_error(rounded: Vector, a: tuple[Vector, Vector], b: tuple[Vector, Vector]) -> Vector:
    """Return the rounding error of an elementwise product from the product and both factors, split by `split`."""
    lost = a[0] * b[0]
    lost -= rounded
    lost += a[0] * b[1]
    lost += a[1] * b[0]
    lost += a[1] * b[1]
    return lost


def split(a: Vector) -> tuple[Vector, Vector]:
    """Return two vectors with the sum a and half of its digits each, so that their products are exact."""
    scaled = kernels.SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high
