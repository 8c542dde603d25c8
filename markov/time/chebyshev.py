"""The exponential of a generator as a sum of Chebyshev polynomials of its jump matrix, with a bound on the error.

For P = I + Q / q and a = q t,

    exp(Q t) = sum over k >= 0 of c_k(a) T_k(P),    c_0 = e^-a I_0(a),  c_k = 2 e^-a I_k(a),

I_k being the modified Bessel function of order k. About sqrt(2 a log(1 / tolerance)) terms suffice where the spectrum
is nearly real, in place of the a terms of Poisson's weights. The error needs no knowledge of the spectrum.

1. The weights c_k and their integrals J_k come from one downward recurrence of positive terms (`chebyshev_weights`).
2. For row vectors t_0 = p, t_1 = t_0 P + e_0, t_k+1 = 2 t_k P - t_k-1 + e_k, with any errors e_k, such as
   rounding, the sum p~ of c_k t_k up to k = m has the residual

    (p~' - p~ Q) / q = c_0 e_0 + sum over 1 <= k <= m of c_k e_k / 2 + c_m+1 t_m / 2 - c_m t_m+1 / 2,

by I_k' = (I_k-1 + I_k+1) / 2. As exp(Q s) does not increase the 1-norm, p~ differs in it from p exp(Q t) by at most

    sum over k <= m of J_k |e_k| + J_m+1 |t_m| + J_m |t_m+1|,    J_k = integral over 0 <= s <= a of e^-s I_k(s).

Integrating the same identity gives J_k = 2 sum over j > k of (j - k) e^-a I_j(a). In the same way, the mass in a state
that is never left is the integral of its inflow: h . t_k with the weights J_0 and 2 J_k, for the rates q h into it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.computing.rounding import U

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ChebyshevWeights", "chebyshev_weights"]

NEGATIVE_LOG_OF_REMAINDER = 90.0  # minus the logarithm of the omitted sum of weights
RESCALING_LIMIT = 1e200


class ChebyshevWeights(NamedTuple):
    """Coefficients of the Chebyshev series of exp(Q t), and the integrals that bound its error.

    Attributes
    ----------
    weights
        c_k, shape (m,).
    integrals
        J_k, shape (m,); they fall with k.
    error
        Relative error of each.
    """

    weights: NDArray[np.float64]
    integrals: NDArray[np.float64]
    error: float


def chebyshev_weights(a: float) -> ChebyshevWeights:
    """Return the Chebyshev coefficients of exp(Q t) for ``a`` expected jumps in time t, cut where they are negligible.

    Notes
    -----
    By Miller's downward recurrence I_k-1 = I_k+1 + (2 k / a) I_k, normalized by c_0 + c_1 + ... = 1: all terms are
    positive. The number of terms is from Bernstein's inequality, as e^-a I_k(a) is the probability that a symmetric
    random walk with a jumps per unit of time is at k at time 1.

    Examples
    --------
    >>> result = chebyshev_weights(2.0)
    >>> round(float(result.weights[0]), 6)  # e^-2 I_0(2)
    0.308508
    """
    if a <= 0.0:
        return ChebyshevWeights(np.array([1.0, 0.0]), np.zeros(2), 0.0)
    third = NEGATIVE_LOG_OF_REMAINDER / 3.0
    n_terms = math.ceil(third + math.sqrt(third * third + 2.0 * NEGATIVE_LOG_OF_REMAINDER * a)) + 2
    values = np.zeros(n_terms + 1)
    values[n_terms] = 1.0
    above, current = 0.0, 1.0
    for k in range(n_terms, 0, -1):
        above, current = current, above + 2.0 * k / a * current
        if current > RESCALING_LIMIT:
            above, current = above / RESCALING_LIMIT, current / RESCALING_LIMIT
            values /= RESCALING_LIMIT
        values[k - 1] = current
    weights = 2.0 * values
    weights[0] = values[0]
    weights /= math.fsum(weights)
    next_orders = np.append(weights[1:], 0.0)  # 2 e^-a I_k+1
    sums = np.cumsum(next_orders[::-1])[::-1]
    return ChebyshevWeights(weights, np.cumsum(sums[::-1])[::-1], 12.0 * n_terms * U)
