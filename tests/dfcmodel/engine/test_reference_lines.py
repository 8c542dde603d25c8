"""The reference's FIFO queue by hand: order, parts of steps, drops, delay of the head."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel.engine.reference_lines import WaitingLine


def test_whole_steps_leave_first_then_a_part_of_one() -> None:
    line = WaitingLine()
    assert line.serve(1.0, np.array([2.0, 2.0])).tolist() == [0.5, 0.5]
    assert line.delay() == pytest.approx(0.75)  # three quarters of the first step wait
    assert line.serve(4.0, np.array([0.0, 4.0])).tolist() == [1.5, 2.5]
    assert line.delay() == pytest.approx(0.75)
    assert line.serve(9.0, np.zeros(2)).tolist() == [0.0, 3.0]
    assert line.delay() == 0.0


def test_drops_are_taken_from_what_came_last() -> None:
    line = WaitingLine()
    line.serve(0.0, np.array([1.0, 1.0]))
    line.serve(0.0, np.array([4.0, 0.0]))
    line.drop(np.array([3.0, 0.0]))
    assert line.delay() == 2.0
    assert line.serve(2.5, np.zeros(2)).tolist() == [1.5, 1.0]
