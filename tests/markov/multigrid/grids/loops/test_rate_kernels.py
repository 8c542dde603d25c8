"""Constant rates need nothing to be written; both sorts of functions can be compiled in place of each other."""

from __future__ import annotations

import inspect

from markov.multigrid.grids.loops import count_kernels, rate_kernels


def test_both_sorts_of_rates_have_the_same_functions():
    for name in rate_kernels.__all__:
        pair = (getattr(module, name) for module in (rate_kernels, count_kernels))
        ours, theirs = map(inspect.signature, pair)
        assert ours == theirs
    assert rate_kernels.at_row((), 0, 0) is rate_kernels.at_cell((), 0, 0) is None
