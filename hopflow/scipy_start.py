"""A start of SciPy that does not load the parts of NumPy that nothing here uses."""

from __future__ import annotations

import sys

from hopflow.fork_safety import ForkSafeLock

__all__ = ["start_scipy"]

UNUSED = {
    "char", "core", "ctypeslib", "f2py", "ma", "matlib", "polynomial", "rec", "strings", "testing",
}  # fmt: skip
"""Modules that NumPy loads when they are asked for."""
_lock = ForkSafeLock()


def start_scipy() -> None:
    """Import what SciPy's modules share, 0.1 s of CPU without this.

    SciPy's `array_api_compat` copies all names of NumPy into a module of its own, which loads `numpy.f2py`,
    `numpy.testing` and others for nothing. Here that module finds these when they are asked for.
    """
    copy = "scipy._lib.array_api_compat.numpy"
    with _lock:
        if copy in sys.modules:
            return
        import numpy as np

        names, listed = np.__all__, np.__dir__
        np.__all__ = [name for name in names if name not in UNUSED]
        np.__dir__ = lambda: [name for name in listed() if name not in UNUSED]  # type: ignore[method-assign]
        try:
            import scipy._lib._array_api  # noqa: F401
        finally:
            np.__all__, np.__dir__ = names, listed  # type: ignore[method-assign]
        if copy in sys.modules:
            sys.modules[copy].__getattr__ = lambda name: getattr(np, name)  # type: ignore[method-assign]
