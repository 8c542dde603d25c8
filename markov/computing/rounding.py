"""The unit roundoff of float64 and of extended precision, which all error bounds use.

A rounded sum, product or quotient of float64 numbers is the exact result times 1 + d with |d| <= u / (1 + u) < u,
unless it underflows (IEEE 754, to nearest). The documentation, `error-constants`, lists each bound that uses them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WIDE_U", "U", "differs_from_one"]

U = 2.0**-53
"""Unit roundoff of float64."""
WIDE_U = 0.5 * float(np.finfo(np.longdouble).eps)
"""Unit roundoff of `numpy.longdouble`: 2^-64 on x86-64, at most that of float64 on other machines."""


def differs_from_one(totals: Any, counts: Any) -> NDArray[np.bool_]:
    """Return whether sums of ``counts`` probabilities differ from one by more than their rounding."""
    return np.asarray(np.abs(totals - 1.0) > counts * U)
