"""Measures as numbers over states."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from markov import Mean
from markov.models.means import as_mean, number_of, stacked


@pytest.mark.parametrize(
    "value",
    [
        2,
        2.0,
        Fraction(2),
        Decimal(2),
        np.int64(2),
        np.float32(2),
        np.array(2),
        np.array(2, np.int8),
    ],
)
def test_numbers_of_every_kind_are_numbers(value: Any) -> None:
    assert number_of(value) == 2.0


@pytest.mark.parametrize("value", [True, np.True_, np.array(True)])
def test_truth_values_are_zero_and_one(value: Any) -> None:
    assert number_of(value) == 1.0


@pytest.mark.parametrize(
    "value", ["2", None, (2,), [2], {2}, 2j, np.complex128(2), np.array([2.0]), b"3"]
)
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=r"is no number and no truth value$"):
        number_of(value)


def test_one_number_stands_for_all_states() -> None:
    assert as_mean(2.0, 3).of.tolist() == [2.0, 2.0, 2.0]
    found = as_mean(Mean((1, 2), over=4.0 * np.ones((2, 3)), dims=("queue",)), 3)
    assert found.of.tolist() == [[1.0] * 3, [2.0] * 3]
    assert found.value(np.array([0.5, 0.25, 0.25])).tolist() == [0.25, 0.5]
    with pytest.raises(TypeError, match=r"has shape \(2,\): one number per state"):
        as_mean(np.zeros(2), 3)


def test_rows_of_states_are_stacked_where_they_are_of_one_kind() -> None:
    rows = [as_mean(Mean(float(k), over=1.0 + k), 1) for k in range(3)]
    found = stacked(rows)
    assert found.of.tolist() == [0.0, 1.0, 2.0]
    assert found.over.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(TypeError, match=r"in some states only"):
        stacked([rows[0], as_mean(1.0, 1)])
    with pytest.raises(TypeError, match=r"in some states only"):
        stacked([as_mean(1.0, 1), as_mean(Mean((1, 2), dims=("queue",)), 1)])


def test_a_ratio_of_zeros_is_not_a_number() -> None:
    assert np.isnan(Mean(np.zeros(2), over=np.zeros(2)).value(np.array([0.5, 0.5])))
