"""A start of Numba that does not load SciPy's linear algebra."""

from __future__ import annotations

import sys
import threading

from hopflow.kernels.stopwatch import loading, watch_numba

__all__ = ["start_numba"]

_lock = threading.Lock()


def start_numba() -> None:
    """Import what Numba needs before it compiles or loads a function, half a second of CPU without this.

    Numba loads `scipy.linalg`, and that all of NumPy with `numpy.f2py`, only to see whether there is a BLAS. There
    is one, since SciPy is required; Numba's functions that call it check it again.
    """
    with _lock, loading():
        if "numba.np.arraymath" not in sys.modules:
            _import_without_linear_algebra()
        watch_numba()


def _import_without_linear_algebra() -> None:
    from numba.np import linalg

    check = getattr(linalg, "ensure_blas", None)
    linalg.ensure_blas = lambda: None
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        if check is not None:
            linalg.ensure_blas = check
