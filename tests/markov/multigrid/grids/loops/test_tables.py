"""Tables of kernels, and calls with their arguments."""

from __future__ import annotations

import numpy as np

from markov.computing.compilation import bound_kernel
from markov.multigrid.grids.loops.tables import unsigned


def test_negative_numbers_wrap():
    found = unsigned([[-1, 3]])
    assert found.dtype == np.uint64
    with np.errstate(over="ignore"):
        assert (found[0] + np.uint64(2)).tolist() == [1, 5]


def scale(factor, x):
    """Multiply, and return, what x is."""
    spliced()  # type: ignore[name-defined]  # noqa: F821
    x *= factor
    return x


def test_a_call_has_its_arguments_and_statements(plain):
    x = np.ones(2)
    run = bound_kernel(scale, 3.0, x, spliced="x += 1.0")
    assert run() is x
    run()
    assert x.tolist() == [21.0, 21.0]
