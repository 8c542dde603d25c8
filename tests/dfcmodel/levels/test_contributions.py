"""Shapley values: the axioms that define them, and a game with a known answer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dfcmodel.levels.contributions import in_order, shapley_values


@pytest.mark.parametrize("n", [0, 1, 3, 5])
def test_contributions_add_up_whatever_the_interactions(n: int) -> None:
    values = np.random.default_rng(n).normal(size=(2**n, 3, 2))
    for found in (shapley_values(values), in_order(values, list(range(n))[::-1])):
        assert found.shape == (n, 3, 2)
        np.testing.assert_allclose(found.sum(axis=0), values[-1] - values[0], atol=1e-14)


def test_shapley_values_are_the_mean_over_all_orders() -> None:
    values = np.random.default_rng(7).normal(size=16)
    orders = [in_order(values, order) for order in itertools.permutations(range(4))]
    np.testing.assert_allclose(shapley_values(values), np.mean(orders, axis=0), atol=1e-14)


def test_the_glove_game() -> None:
    """Two left gloves and one right one: 1/6, 1/6, 4/6 (Shapley and Shubik 1969)."""
    worth = [float(bool(subset & 0b100 and subset & 0b011)) for subset in range(8)]
    np.testing.assert_allclose(shapley_values(np.array(worth)), [1 / 6, 1 / 6, 4 / 6])


def test_what_changes_nothing_gets_nothing() -> None:
    one = np.random.default_rng(3).normal(size=4)
    values = np.array([one[subset & 0b11] for subset in range(8)])
    assert shapley_values(values)[2] == 0.0
