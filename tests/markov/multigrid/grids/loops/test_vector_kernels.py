"""Arithmetic with numbers over the states of some rows."""

from __future__ import annotations

import numpy as np
import pytest

from markov.multigrid.grids.loops import vector_kernels as kernels

ROWS = (np.uint64(1), np.uint64(3)), np.uint64(2)  # the second and third row, of two states each


def test_a_blend_is_not_less_than_a_share_of_what_was():
    x, y, z = np.array([[9.0, 9, 1, 1, 1, 1, 9, 9], [0.0] * 8, [4.0] * 8])
    kernels.blend(*ROWS, kernels.Shares(0.75, 0.25, 0.1), x, y, z)
    assert x.tolist() == [9.0, 9, 1, 1, 1, 1, 9, 9]
    assert z.tolist() == [4.0, 4, 1, 1, 1, 1, 4, 4]
    kernels.blend(*ROWS, kernels.Shares(1.0, 0.0, 0.1), x, y, z)
    assert x.tolist() == pytest.approx([9.0, 9, 0.1, 0.1, 0.1, 0.1, 9, 9])


def test_other_rows_stay_as_they_are():
    x, scale = np.full(8, 16.0), np.full(8, 4.0)
    kernels.overcorrect(*ROWS, x)
    assert x.tolist() == [16.0, 16, 32, 32, 32, 32, 16, 16]
    kernels.multiply(*ROWS, 0.5, x)
    kernels.invert(*ROWS, scale)
    assert x.tolist() == [16.0] * 8
    assert scale.tolist() == [4.0, 4, 0.25, 0.25, 0.25, 0.25, 4, 4]
    kernels.begin_anew(*ROWS, scale, x)
    assert scale.tolist() == [4.0, 4, 0, 0, 0, 0, 4, 4]
    assert x.tolist() == [16.0, 16, 1, 1, 1, 1, 16, 16]
