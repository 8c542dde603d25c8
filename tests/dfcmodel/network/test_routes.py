"""Routes as columns, and distinct keys, against sets."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel.network.routes import Routes, coded, distinct, present


def test_routes_are_the_tuples_that_they_were_made_from() -> None:
    given = [(3, 1), (), (7, 1, 3), (2,)]
    routes = Routes.of(given)
    assert (list(routes), routes[-1], routes[1:3]) == (given, (2,), ((), (7, 1, 3)))
    assert routes.flow.tolist() == [0, 0, 2, 2, 2, 3]
    assert routes == tuple(given)
    assert routes == Routes.of(given)
    assert routes != tuple(given[:3])
    assert Routes.of(routes) is routes
    assert hash(routes) == hash(Routes.of(given))


@pytest.mark.parametrize("span", [60, 10**9])
def test_distinct_keys_are_those_of_a_set_in_a_table_and_in_a_sort(span: int) -> None:
    keys = np.random.default_rng(1).integers(0, 60, 200)
    found, first = distinct(keys, span)
    assert found.tolist() == sorted(set(keys.tolist())) == present(keys, span).tolist()
    assert first.tolist() == [keys.tolist().index(key) for key in found.tolist()]


@pytest.mark.parametrize("scale", [1, 10**9])
def test_codes_give_the_values_back(scale: int) -> None:
    values = scale * np.random.default_rng(2).integers(-20, 20, 100)
    known, place = coded(values)
    assert (np.diff(known) > 0).all()
    np.testing.assert_array_equal(known[place], values)
    assert [each.tolist() for each in coded(values[:0])] == [[], []]
