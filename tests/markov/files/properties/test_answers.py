"""What a property is: a value with a bound, values in every state, and what is not decided."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopflow import Status
from markov.errors import UndecidedError
from tests.markov.files.conftest import QUEUE_BESIDE, model_of

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


@pytest.mark.parametrize("time", [30, 300, 20_000, 10**9])
def test_rare_probabilities_have_relative_bounds_at_any_horizon(tmp_path: Path, time: int) -> None:
    """820 states agree with the 41 that matter, whose probabilities come from squaring."""
    many, few = (model_of(tmp_path, QUEUE_BESIDE, M=size) for size in (19, 0))
    text = f"P=? [ F<={time} x=40 ]"
    found, truth = many.property(text), few.property(text)
    assert max(found.relative_bound, truth.relative_bound) <= 1e-12
    assert abs(found.value - truth.value) <= found.error_bound + truth.error_bound
    assert found.value < 0.9 or time == 10**9
    apart = np.abs(found.values.reshape(41, 20) - truth.values[:, None])
    assert np.all(apart <= found.errors.reshape(41, 20) + truth.errors[:, None])
    assert bool((found.errors[1:-20] == 0.5).all()) is (time == 10**9)
    assert bool(many.property(f"P<={min(2.0 * truth.value, 1.0)} [ F<={time} x=40 ]")) is True
    assert bool(many.property(f"P<{0.5 * truth.value} [ F<={time} x=40 ]")) is False
    assert f"{found.relative_bound:.1e} of the value" in repr(found)


@pytest.mark.parametrize("time", [30, 20_000, 3 * 10**7])
def test_what_is_rarely_avoided_has_relative_bounds_too(tmp_path: Path, time: int) -> None:
    """``G`` and ``W`` are not found as one minus a probability near one."""
    many, few = (model_of(tmp_path, QUEUE_BESIDE, M=size) for size in (19, 0))
    for text in (f"P=? [ G<={time} x<40 ]", f"P=? [ x<40 W<={time} false ]"):
        found, truth = many.property(text), few.property(text)
        assert max(found.relative_bound, truth.relative_bound) <= 1e-12
        assert abs(found.value - truth.value) <= found.error_bound + truth.error_bound
        assert found.value < 1e-6 or time < 10**7
    entered = few.property(f"P=? [ F<={time} x=40 ]")
    assert abs(entered.value + truth.value - 1.0) <= entered.error_bound + truth.error_bound + 2e-16


def test_all_states_are_found_where_more_than_the_initial_one_is_asked_for(tmp_path: Path) -> None:
    model = model_of(tmp_path, QUEUE_BESIDE, M=19)
    whole = model.property("filter(max, P=? [ F<=300 x=40 ], x < 39)")
    assert whole.error_bound < 1e-9
    nested = model.property("P=? [ F<=1 P>=0.5 [ F<=300 x=40 ] ]")
    assert nested.error_bound < 1e-9


def test_the_two_meanings_of_a_bound(tmp_path: Path) -> None:
    model = model_of(tmp_path, QUEUE_BESIDE, M=1)
    none = model.property("P=? [ F<=0 x=40 ]")
    assert (none.value, none.error_bound, none.relative_bound) == (0.0, 0.0, 0.0)
    assert math.isnan(model.property("P<0.5 [ F<=1 x=40 ]").relative_bound)
