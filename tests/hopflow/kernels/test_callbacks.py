"""Functions of rules as C callbacks, and decorators of kernels."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from hopflow.kernels import build_callbacks, jit, plain_jit

# Functions of rules as C callbacks: same numbers compiled and plain, an edited constant met anew.

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


# Decorators of kernels: compiled, and plain.

# As plain Python, functions of a kernel package are what they were, and events are called.


@pytest.mark.parametrize(
    "name",
    [
        "compiled",
        "inlined",
        "summing",
        "entry",
        "counting_entry",
        "calling_entry",
        "unaliased_entry",
    ],
)
def test_a_function_stays_as_it_is(name: str) -> None:
    def double(x: float) -> float:
        return 2.0 * x

    assert getattr(plain_jit, name)(double) is double


def test_events_get_what_they_are_called_with() -> None:
    called: list[tuple[object, ...]] = []

    def event(*given: object) -> None:
        called.append(given)

    plain_jit.call_event(event, "flow", 1.0, 0.1, 2.0, 3.0)
    plain_jit.call_manager(event, "link")
    assert called == [("flow", 1.0, 0.1, 2.0, 3.0), ("link",)]


# The decorators of a compiled package and those of its plain copy have the same names.


def test_both_offer_the_same_names() -> None:
    assert jit.__all__ == plain_jit.__all__


def test_sums_may_be_reordered_only_where_they_are_exact() -> None:
    """Rounding to the quantum needs strict arithmetic; sums of multiples of it do not."""
    assert jit.summing(lambda x: x).targetoptions["fastmath"] == {"reassoc"}
    assert "fastmath" not in jit.inlined(lambda x: x).targetoptions
