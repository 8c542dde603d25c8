"""Inner products of long vectors on one core.

NumPy's own go to a BLAS that wakes its threads for ten thousand numbers, and lets them spin for a while
after: on a busy machine that takes longer than all the rest of a solution.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["inner", "norm"]


def inner(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return sum_i x(i) y(i), for vectors of shape (n,)."""
    return float(np.einsum("i,i", x, y))


def norm(x: NDArray[np.float64]) -> float:
    """Return the Euclidean norm of a vector, shape (n,)."""
    return math.sqrt(inner(x, x))
