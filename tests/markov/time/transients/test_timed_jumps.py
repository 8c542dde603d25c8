"""Distributions through jumps at given times, of a chain whose solution is known."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from markov.time.transients.timed_jumps import TimedJump, through


def decay(
    start: NDArray[np.float64], times: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], int, str]:
    """State 0 decays to state 1 at rate 1; a bound of 0.01 per s is stated."""
    left = np.exp(-times)[:, None]
    pi = start * np.array([1.0, 0.0]) * left + (1.0 - start[0] * left) * np.array([0.0, 1.0])
    return pi, 0.01 * times, len(times), "by hand"


def test_what_a_jump_brings_back_decays_again_and_bounds_add_up() -> None:
    back = np.array([0, 0])
    moments = np.array([0.5, 1.0, 1.5, 3.0])
    jumps = [TimedJump(2.0, True, back), TimedJump(1.0, False, back)]
    pi, errors, steps, method = through(jumps, np.array([1.0, 0.0]), moments, decay)
    np.testing.assert_allclose(pi[:, 0], [math.exp(-0.5), 1.0, math.exp(-0.5), math.exp(-1.0)], rtol=1e-15)  # fmt: skip
    np.testing.assert_allclose(errors, [0.005, 0.01, 0.015, 0.03], rtol=1e-12)
    assert steps == 2 + 3 + 1
    assert method == "by hand; 2 jumps at given times"


def test_a_jump_after_its_time_leaves_the_state_of_that_time() -> None:
    jump = TimedJump(1.0, True, np.array([0, 0]))
    pi, *_ = through([jump], np.array([1.0, 0.0]), np.array([1.0]), decay)
    np.testing.assert_allclose(pi[:, 0], [math.exp(-1.0)], rtol=1e-15)
