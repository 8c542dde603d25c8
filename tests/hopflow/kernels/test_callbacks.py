"""Functions of rules as C callbacks: same numbers compiled and plain, an edited constant met anew."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from hopflow.kernels import build_callbacks

SIGNATURE = "void(CPointer(float64), float64)"


def doubled(x):
    """Return twice a number."""
    return 2.0 * x


def built(function, *, compiled: bool):
    text = "def apply(w, x):\n    w[0] = rule(x)"
    return build_callbacks({"rule": function}, {}, {"apply": text}, SIGNATURE, compiled=compiled)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_callback_applies_the_function(compiled: bool) -> None:
    numbers = np.zeros(1)
    callback = built(doubled, compiled=compiled)["apply"]
    if not compiled:
        callback(numbers, 3.0)
    else:
        pointer = ctypes.POINTER(ctypes.c_double)
        call = ctypes.CFUNCTYPE(None, pointer, ctypes.c_double)(callback.address)
        call(numbers.ctypes.data_as(pointer), 3.0)
    assert numbers[0] == 6.0


def several(x):
    """Return three times a number, in a way that the passes for kernel packages do not know."""
    return sum([x for _ in range(3)])


def test_what_the_fewer_passes_cannot_do_all_of_numba_s_do() -> None:
    numbers = np.zeros(1)
    callback = built(several, compiled=True)["apply"]
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double)(callback.address)
    call(numbers.ctypes.data, 1.5)
    assert numbers[0] == 4.5
