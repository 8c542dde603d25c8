"""Contributions of refinements to a change: Shapley values, or changes in a given order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["in_order", "shapley_values"]


def shapley_values(values: Floats) -> Floats:
    r"""Return the Shapley values of n refinements, (n, ...), from values of all subsets by bit mask, (2^n, ...).

    .. math:: \phi_i = \sum_{S \not\ni i} \frac{|S|!\,(n-|S|-1)!}{n!} (v(S \cup i) - v(S)),

    the mean change, over all n! orders, when i is switched on (Shapley 1953). The values add up to v(all) - v(none)
    for any interactions. Refinements with equal effects have equal values, and a refinement without effect has 0.

    Parameters
    ----------
    values
        v of every subset, shape (2^n, ...): the bits of the index say which refinements are on.

    Returns
    -------
    Shape (n, ...).

    Examples
    --------
    Two refinements, each of which alone has the effect of both:

    >>> import numpy as np
    >>> shapley_values(np.array([0.0, 1.0, 1.0, 1.0])).tolist()
    [0.5, 0.5]
    """
    n = len(values).bit_length() - 1
    contributions = np.zeros((n, *values.shape[1:]))
    for i in range(n):
        for subset in range(len(values)):
            if not subset >> i & 1:
                size = subset.bit_count()
                weight = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
                contributions[i] += weight * (values[subset | 1 << i] - values[subset])
    return contributions


def in_order(values: Floats, order: Sequence[int]) -> Floats:
    """Return each refinement's change, (n, ...), if switched on in an order, from values by bit mask, (2^n, ...).

    Parameters
    ----------
    values
        As for `shapley_values`.
    order
        The numbers 0 to n - 1 in the order in which they are switched on.

    Returns
    -------
    Shape (n, ...), by refinement, not by position in the order.

    Examples
    --------
    >>> import numpy as np
    >>> in_order(np.array([0.0, 1.0, 1.0, 1.0]), [1, 0]).tolist()
    [0.0, 1.0]
    """
    contributions = np.zeros((len(order), *values.shape[1:]))
    subset = 0
    for i in order:
        contributions[i] = values[subset | 1 << i] - values[subset]
        subset |= 1 << i
    return contributions
