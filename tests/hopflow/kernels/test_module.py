"""Text of a kernel module: it stands alone, and computes what the functions compute."""

from __future__ import annotations

from collections import namedtuple

import pytest

from hopflow import maximum, where
from hopflow.kernels import KernelError
from hopflow.kernels.loading import interpret
from hopflow.kernels.module import Module

RATE = 0.25


def slope(x):
    return RATE * x


def rate(x):
    return where(x > 4.0, slope(x), maximum(x, 2.0)) + slope(1.0)


def counted(s):
    return s._replace(count=3)


def moved(s):
    s = counted(s)
    return s._replace(place=s.place + 0.5)


def unknown(x):
    return x + undefined_name  # noqa: F821


@pytest.mark.parametrize("x", [0.5, 3.0, 8.0])
def test_helpers_and_constants_are_written_into_the_module(x):
    module = Module({}, set())
    module.add("Arate", rate, "State")
    assert interpret(module, "Arate")(x) == rate(x)


def test_a_helper_is_written_once():
    module = Module({}, set())
    module.add("Arate", rate, "State")
    module.add("Brate", rate, "State")
    assert sum(tree.name.endswith("slope") for tree in module.trees) == 1


def test_an_unknown_name_is_refused():
    with pytest.raises(KernelError, match="undefined_name: a compiled rule may not use this name"):
        Module({}, set()).add("A", unknown, "State")


def test_fields_that_functions_set_are_known_and_become_floats():
    """Compiled, a state has one type whichever branch made it."""
    module = Module({"State": ("count", "place", "other")}, set(), floats=True)
    module.add("Amoved", moved, "State")
    assert module.replaced == {"count", "place"}
    state = namedtuple("State", ("count", "place", "other"))(1.0, 2.0, 4.0)  # noqa: PYI024
    new = interpret(module, "Amoved")(state)
    assert tuple(new) == (3.0, 2.5, 4.0)
    assert type(new.count) is float
