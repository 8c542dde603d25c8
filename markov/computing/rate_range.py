"""Rates near the ends of float64: an overflow becomes an error that names them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["rates_in_range"]

SMALLEST, LARGEST = 1e-150, 1e150
"""Products and quotients of two rates between them are within float64."""


@contextmanager
def rates_in_range(Q: sp.csr_matrix) -> Iterator[None]:
    """Raise ValueError where a computation with rates beyond 1e-150 .. 1e150 overflows or divides by zero.

    Rates within are computed with as they are: their products and quotients do not overflow.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    """
    rates = Q.data
    largest = float(np.max(np.abs(rates), initial=0.0))
    smallest = float(np.min(rates, where=rates > 0.0, initial=np.inf))
    if smallest >= SMALLEST and largest <= LARGEST:
        yield
        return
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            yield
    except (OverflowError, ZeroDivisionError, FloatingPointError):
        said = f"rates from {smallest:.3g} to {largest:.3g}: float64 does not hold their products and quotients"
        raise ValueError(
            f"{said}; choose a unit of time in which they are between {SMALLEST:g} and {LARGEST:g}"
        ) from None
