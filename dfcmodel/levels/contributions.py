"""What each of several refinements contributes to a change: Shapley values, or an order of one's own."""

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
    r"""Return the Shapley value of each of n refinements.

    .. math:: \phi_i = \sum_{S \not\ni i} \frac{|S|!\,(n-|S|-1)!}{n!} (v(S \cup i) - v(S)),

    the mean, over all n! orders, of what changes when i is switched on (Shapley 1953). They add up to
    v(all) - v(none) whatever the interactions, refinements with equal effects get the same, and one
    that changes nothing gets 0.

    Parameters
    ----------
    values
        v of every subset, shape (2^n, ...): the bits of the index say which refinements are on.

    Returns
    -------
    Shape (n, ...).

    Examples
    --------
    Two refinements of which either alone does all that both do:

    >>> import numpy as np
    >>> shapley_values(np.array([0.0, 1.0, 1.0, 1.0])).tolist()
    [0.5, 0.5]
    """
    n = len(values).bit_length() - 1
    found = np.zeros((n, *values.shape[1:]))
    for i in range(n):
        for subset in range(len(values)):
            if not subset >> i & 1:
                size = subset.bit_count()
                weight = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
                found[i] += weight * (values[subset | 1 << i] - values[subset])
    return found


def in_order(values: Floats, order: Sequence[int]) -> Floats:
    """Return what changes as refinements are switched on one after the other.

    Parameters
    ----------
    values
        As for `shapley_values`.
    order
        The numbers 0 to n - 1 in the order in which they are switched on.

    Returns
    -------
    Shape (n, ...), by refinement, not by place in the order.

    Examples
    --------
    >>> import numpy as np
    >>> in_order(np.array([0.0, 1.0, 1.0, 1.0]), [1, 0]).tolist()
    [0.0, 1.0]
    """
    found = np.zeros((len(order), *values.shape[1:]))
    subset = 0
    for i in order:
        found[i] = values[subset | 1 << i] - values[subset]
        subset |= 1 << i
    return found
