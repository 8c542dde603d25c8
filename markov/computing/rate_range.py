"""Rates near the limits of float64: an overflow becomes an error that names them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["rates_in_range"]

MIN_SAFE_RATE, MAX_SAFE_RATE = 1e-150, 1e150
"""Range of rates whose products and quotients are within float64."""


@contextmanager
def rates_in_range(Q: sp.csr_matrix) -> Iterator[None]:
    """Raise ValueError if a computation with rates beyond 1e-150 .. 1e150 overflows or divides by zero.

    Rates within this range are not checked: their products and quotients do not overflow.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    """
    rates = Q.data
    largest = float(np.max(np.abs(rates), initial=0.0))
    smallest = float(np.min(rates, where=rates > 0.0, initial=np.inf))
    if smallest >= MIN_SAFE_RATE and largest <= MAX_SAFE_RATE:
        yield
        return
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            yield
    except (OverflowError, ZeroDivisionError, FloatingPointError):
        message = f"rates from {smallest:.3g} to {largest:.3g}: float64 does not hold their products and quotients"
        raise ValueError(
            f"{message}; choose a unit of time in which they are between {MIN_SAFE_RATE:g} and {MAX_SAFE_RATE:g}"
        ) from None
