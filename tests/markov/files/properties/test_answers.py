"""What a property is: a value with a bound, values in every state, and what is not decided."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hopflow import Status
from markov.errors import UndecidedError

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
    assert near.status is Status.UNDECIDED
    assert near.value is None
    assert near.undecided.all()
    assert f"undecided (within {near.error_bound:.2g} of the threshold in 11 of 11 states)" in repr(
        near
    )
    with pytest.raises(UndecidedError, match=r"undecided \(within"):
        bool(near)
    with pytest.raises(UndecidedError) as caught:
        queue.property(f'S<{exact!r} [ "full" ]')
    assert caught.value.result.value is None
    assert queue.property(f'S<{1.001 * FULL!r} [ "full" ]').value is True


def test_the_truth_value_of_a_result_is_that_of_its_property(queue: Any) -> None:
    assert not queue.property('S>0.5 [ "full" ]')
    with pytest.raises(TypeError, match="compare its value"):
        bool(queue.property('S=? [ "full" ]'))


def test_arithmetic_on_operators_has_a_bound(queue: Any) -> None:
    found = queue.property('S=? [ "full" ] + S=? [ n = 0 ]')
    exact = Fraction(7, 10) ** 10 / sum(Fraction(7, 10) ** k for k in range(11))
    exact *= 1 + Fraction(10, 7) ** 10
    assert abs(Fraction(found.value) - exact) <= found.error_bound < 1e-15
    assert queue.property("n + 2").error_bound == 0.0  # no operator in it


def test_tables_and_pictures_show_the_value(queue: Any) -> None:
    found = queue.property('S=? [ "full" ]')
    about = found.summary()
    assert about["value"] == found.value
    assert about["states"] == 11
    assert f"{found.error_bound:.1e}" in repr(found)
    line = found.plot().lines[0]
    np.testing.assert_array_equal(line.get_ydata(), np.sort(found.values)[::-1])
