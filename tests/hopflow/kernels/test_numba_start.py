"""Numba starts without SciPy's linear algebra, and finds it when it needs it."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
from hopflow.kernels.numba_start import start_numba
start_numba()
from numba.np import arraymath, linalg
print("scipy.linalg" in sys.modules, arraymath._HAVE_BLAS)
linalg.ensure_blas()
print("scipy.linalg" in sys.modules)
"""


def test_the_linear_algebra_of_scipy_is_loaded_where_it_is_needed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True", "True"]
