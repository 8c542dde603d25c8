"""From a model and a set of states to the time until it is entered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from markov import MM1K, passage
from tests.markov.time.passages.conftest import erlang


def test_a_queue_fills_in_the_time_that_the_birth_death_formula_gives() -> None:
    model = MM1K(capacity=10)
    found = passage(model, to=(10,), start=(0,))
    # sum over k of the mean time from k to k + 1
    rho = 10.0 / 7.0
    exact = sum(sum(rho**j for j in range(k + 1)) / 7.0 for k in range(10))
    assert abs(found.mean - exact) <= found.mean_error + 1e-13 * exact
    assert found.means[10] == 0.0


def test_zero_passage_from_inside_of_the_set() -> None:
    found = passage(erlang(2, 1.0), to=[1, 2], start=2)
    assert (found.mean, found.variance, found.quantile(0.3).value) == (0.0, 0.0, 0.0)


def test_a_variance_is_computed_when_it_is_read() -> None:
    found = passage(MM1K(capacity=10), to=(10,), start=(0,))
    assert "_variances" not in vars(found.moments)
    assert 0.0 < found.variance_error < 1e-9 * found.variance
    assert "_variances" in vars(found.moments)
    assert found.standard_deviation == found.variance**0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"to": 9, "start": 0}, "to: 9 is no state"),
        ({"to": np.zeros(3, dtype=bool), "start": 0}, "to = .*no state"),
        ({"to": 2, "start": None}, "start: the chain has none"),
        ({"to": np.array([True]), "start": 0}, "to has shape"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        passage(erlang(2, 1.0), **arguments)
