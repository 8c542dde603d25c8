"""Numbers that carry their derivatives, and rates made of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from markov import MM1K, MarkovChain, PauseTandem
from markov.generators.slopes import Varying, flat_numbers, plain_rates, rate_slopes


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y: x + y - 2 * x - (3 - y),
        lambda x, y: x * y * 0.5 / (1 + x),
        lambda x, y: 4.0 / x - x / y,
        lambda x, y: x**3 + y**0.5 - (+x) ** 0,
        lambda x, y: abs(-x) + np.float64(2.0) * y + np.int64(3),
        lambda x, y: max(x, y, 0.1) if x < 10 and y != 3 else -x,
    ],
    ids=["sum", "quotient", "inverse", "power", "numpy", "choice"],
)
def test_derivatives_are_those_of_differences(formula: Callable[[Any, Any], Any]) -> None:
    x, y, h = 1.7, 2.3, 1e-6
    found = formula(Varying(x, {0: 1.0}), Varying(y, {1: 1.0}))
    assert found.value == pytest.approx(formula(x, y), rel=1e-15)
    by_x = (formula(x + h, y) - formula(x - h, y)) / (2 * h)
    by_y = (formula(x, y + h) - formula(x, y - h)) / (2 * h)
    # of second order in h, and rounding over h
    assert found.slopes.get(0, 0.0) == pytest.approx(by_x, abs=1e-8)
    assert found.slopes.get(1, 0.0) == pytest.approx(by_y, abs=1e-8)


def test_a_comparison_of_equals_that_part_is_a_kink() -> None:
    x, y = Varying(1.0, {0: 1.0}), Varying(1.0, {1: 1.0})
    for ask in (lambda: x < y, lambda: max(x, 1.0), lambda: bool(x - 1.0), lambda: x == y):
        with pytest.raises(ArithmeticError, match="has no derivative"):
            ask()
    assert x == Varying(1.0, {0: 1.0})
    assert not x - x


@pytest.mark.parametrize("use", [int, float, math.sqrt, range, hash, round])
def test_what_is_no_arithmetic_is_refused(use: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        use(Varying(2.0, {0: 1.0}))


def test_only_plain_symbols_are_taken_apart() -> None:
    assert flat_numbers((1.0, (2, "a"), None)) == [1.0, 2, "a", None]
    assert flat_numbers((1.0, np.ones(2))) is None
    assert flat_numbers({"rate": 1.0}) is None


def test_slopes_of_a_queue_and_rates_that_are_not_its_own() -> None:
    chain = MarkovChain(MM1K(capacity=2))
    assert chain.space is not None
    assert chain.model is not None
    names = type(chain.model.params)._fields
    places = np.arange(3)
    by = names.index("arrival_rate")
    found = rate_slopes(chain.model, chain.space, places, chain.Q, frozenset([by]))
    assert found is not None
    np.testing.assert_array_equal(
        found.along(np.eye(len(names))[by]).toarray(), [[-1, 1, 0], [0, -1, 1], [0, 0, 0]]
    )
    assert rate_slopes(chain.model, chain.space, places, 2.0 * chain.Q, frozenset([by])) is None


def test_plain_rates_are_rows_of_the_generator() -> None:
    chain = PauseTandem(buffers=(3, 4), high_threshold=2)
    made = MarkovChain(chain)
    states = made.recurrent_classes[0]
    places = made.space.numbers(np.array(list(made.components_of(states).values())))
    some = np.array([0, 7, 3])
    found = plain_rates(chain, made.space, places, some).toarray()
    expected = made.Q[states][:, states].toarray()[some]
    expected[np.arange(3), some] = 0.0
    np.testing.assert_allclose(found, expected, rtol=1e-15)
