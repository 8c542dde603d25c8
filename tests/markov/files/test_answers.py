"""What a property is: a value with a bound, values in every state, and what is not decided."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hopflow import Status
from hopflow.status import ConvergenceError

RHO = 0.7
FULL = RHO**10 / sum(RHO**k for k in range(11))


def test_an_answer_has_the_values_in_every_state(queue: Any) -> None:
    found = queue.property("P=? [ X n=5 ]")
    expected = np.zeros(11)
    expected[4], expected[6] = 7 / 17, 10 / 17
    np.testing.assert_allclose(found.values, expected, rtol=1e-15)
    assert found.value == 0.0  # in the initial state
    assert found.status is Status.CONVERGED
    assert found.error_bound <= 1e-15


def test_a_threshold_within_the_error_is_not_decided(queue: Any) -> None:
    exact = queue.property('S=? [ "full" ]').value
    near = queue.property(f'S<{exact!r} [ "full" ]', on_failure="return")
    assert near.status is Status.INACCURATE
    assert near.reason
    with pytest.raises(ConvergenceError):
        queue.property(f'S<{exact!r} [ "full" ]')
    assert queue.property(f'S<{1.001 * FULL!r} [ "full" ]').value is True


def test_arithmetic_on_operators_has_no_bound_and_says_so(queue: Any) -> None:
    found = queue.property('S=? [ "full" ] + S=? [ n = 0 ]', on_failure="return")
    assert found.value == pytest.approx(FULL * (1.0 + RHO**-10), rel=1e-12)
    assert found.error_bound == math.inf
    assert not found.status.ok
    assert queue.property("n + 2").error_bound == 0.0  # no operator in it


def test_tables_and_pictures_show_the_value(queue: Any) -> None:
    found = queue.property('S=? [ "full" ]')
    about = found.summary()
    assert about["value"] == found.value
    assert about["states"] == 11
    assert f"{found.error_bound:.1e}" in repr(found)
    line = found.plot().lines[0]
    np.testing.assert_array_equal(line.get_ydata(), np.sort(found.values)[::-1])
