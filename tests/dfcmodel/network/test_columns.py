"""Columns behind tables of flows: values kept once, routes, distinct keys, hashes."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import CBR
from dfcmodel.network.links import Routes, distinct, encode, encode_integers, places_of, present
from dfcmodel.network.shortest_routes import hash_pair
from responsefn import NewReno


@pytest.mark.parametrize("span", [50, 10**7])
def test_places_of_keys_are_those_of_a_dictionary(span: int) -> None:
    random = np.random.default_rng(1)
    known = random.choice(span, 40, replace=False)
    asked = np.concatenate([known[::-1], random.integers(0, span + 9, 60)])
    places = {key: n for n, key in enumerate(known.tolist())}
    assert places_of(known, asked).tolist() == [places.get(key, -1) for key in asked.tolist()]


@pytest.mark.parametrize("known", [[3, 0, 7], [10**6, 3], []])
def test_places_of_keys_need_no_table_up_to_the_largest_asked_key(known: list[int]) -> None:
    """A table up to that key would take 8 TB."""
    asked = np.array([7, 2**40, 3, 8, 2**40 + 3])
    index = {key: n for n, key in enumerate(known)}
    result = places_of(np.array(known, dtype=np.int64), asked)
    assert result.tolist() == [index.get(key, -1) for key in asked.tolist()]


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
    known, place = encode_integers(values)
    assert (np.diff(known) > 0).all()
    np.testing.assert_array_equal(known[place], values)
    assert [each.tolist() for each in encode_integers(values[:0])] == [[], []]


def test_the_hash_differs_by_flow_and_by_node() -> None:
    flow, node = np.divmod(np.arange(4000), 40)
    values = hash_pair(flow, node)
    assert len(set(values.tolist())) == 4000
    counts = np.bincount(values % 8, minlength=8)
    assert abs(counts - 500).max() < 5 * 21  # standard deviation 21


def test_columns_keep_values_once() -> None:
    column = encode([NewReno(), NewReno(), CBR(2.0)])
    assert len(column.values) == 2
    assert list(column) == [NewReno(), NewReno(), CBR(2.0)]
    assert column == (NewReno(), NewReno(), CBR(2.0))
    assert column.map(type)[2] is CBR
    constant = encode([1.0, 1.0])
    assert constant.which is None
    assert constant.array().tolist() == list(constant) == [1.0, 1.0]
