"""Parts of statements."""

from __future__ import annotations

import numpy as np

from markov.multigrid.grids.loops.statements import constants


def test_statements_add_to_numbers_without_a_sign():
    scope = {"uint64": np.uint64, "s": np.uint64(7)}
    with np.errstate(over="ignore"):
        exec("\n".join(constants(["s += _k21", "n = _k1"])), scope)  # noqa: S102
    assert scope["s"] == 28
    assert isinstance(scope["n"], np.uint64)
