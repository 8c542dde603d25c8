"""Import of SciPy without the unused submodules of NumPy."""

from __future__ import annotations

import contextlib
import sys

from hopflow.fork_safety import ForkSafeLock

__all__ = ["start_scipy"]

UNUSED_NUMPY_MODULES = {
    "char",
    "core",
    "ctypeslib",
    "f2py",
    "ma",
    "matlib",
    "polynomial",
    "rec",
    "strings",
    "testing",
}
"""Submodules that NumPy loads lazily."""
_lock = ForkSafeLock()


def start_scipy() -> None:
    """Import the common part of SciPy; saves 0.1 s of CPU.

    SciPy's `array_api_compat` copies all names of NumPy, which loads `numpy.f2py`, `numpy.testing` and other unused
    modules. Here that copy loads them lazily.
    """
    copy = "scipy._lib.array_api_compat.numpy"
    with _lock:
        if copy in sys.modules:
            return
        import numpy as np

        names, listed = np.__all__, np.__dir__
        np.__all__ = [name for name in names if name not in UNUSED_NUMPY_MODULES]
        np.__dir__ = lambda: [name for name in listed() if name not in UNUSED_NUMPY_MODULES]  # type: ignore[method-assign]
        try:
            with contextlib.suppress(ImportError):  # a private module, which not every SciPy has
                import scipy._lib._array_api  # noqa: F401
        finally:
            np.__all__, np.__dir__ = names, listed  # type: ignore[method-assign]
        if copy in sys.modules:
            sys.modules[copy].__getattr__ = lambda name: getattr(np, name)  # type: ignore[method-assign]
