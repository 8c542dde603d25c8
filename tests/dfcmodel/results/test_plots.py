"""Panels and the space-time diagram."""

from __future__ import annotations

import numpy as np


def test_space_time_diagram_marks_losses(run) -> None:
    ax = run.plot_space_time()
    assert run.lost.sum() > 0
    dots = ax.lines[0]
    at, when = np.nonzero(run.lost.sum(axis=0))
    np.testing.assert_array_equal(dots.get_ydata(), at)
    np.testing.assert_array_equal(dots.get_xdata(), run.time[when])
    assert set(at) == {0}
