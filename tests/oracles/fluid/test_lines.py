"""The reference's FIFO queue by hand: order, parts of steps on the grid, drops, delay of the head."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.fluid.lines import WaitingLine

Q = 2.0**-26


def served(line: WaitingLine, pace: float, *came: float) -> list[float]:
    line.append(np.array(came))
    return line.serve(pace).tolist()


def test_whole_steps_leave_first_then_a_part_of_one() -> None:
    line = WaitingLine(2, Q)
    assert served(line, 1.0, 2.0, 2.0) == [0.5, 0.5]
    assert line.delay() == pytest.approx(0.75)  # three quarters of the first step wait
    assert served(line, 4.0, 0.0, 4.0) == [1.5, 2.5]
    assert line.delay() == pytest.approx(0.75)
    assert served(line, 9.0, 0.0, 0.0) == [0.0, 3.0]
    assert line.delay() == line.waits() == 0.0


def test_parts_are_rounded_down_and_of_two_flows_the_second_sends_the_rest() -> None:
    three, two = WaitingLine(3, 0.25), WaitingLine(2, 0.25)
    assert served(three, 1.0, 1.0, 1.0, 1.0) == [0.25, 0.25, 0.25]
    assert three.waits() == 2.0  # a quarter is served that no flow has sent yet
    assert served(two, 1.0, 1.0, 1.5) == [0.25, 0.75]
    assert served(three, 9.0, 0.0, 0.0, 0.0) == [0.75, 0.75, 0.75]


def test_drops_are_taken_from_what_came_last() -> None:
    line = WaitingLine(2, Q)
    served(line, 0.0, 1.0, 1.0)
    served(line, 0.0, 4.0, 0.0)
    line.drop(np.array([3.0, 0.0]))
    assert line.delay() == 2.0
    assert line.waits() == 3.0
    assert served(line, 2.5, 0.0, 0.0) == [1.5, 1.0]
