"""Levels: flows arrive where the changes say, pairs keep all flow between them, pairs share and sum."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from markov.sharding.levels import (
    Level,
    aggregate,
    ahead,
    arrivals,
    coarse_changes,
    pooled,
    refine,
    repeated,
)
from tests.markov.sharding.conftest import SHAPE, edges, random_flows

pytestmark = pytest.mark.slow  # JAX compiles

CHANGES = ((-1, 1, 0), (0, -1, 1), (1, 0, 0), (2, 0, -1), (0, 1, 0))


@pytest.fixture
def flows():
    return random_flows(CHANGES)


@pytest.fixture(autouse=True)
def in_64_bits():
    with jax.enable_x64(True):
        yield


def test_flows_arrive_where_the_changes_say(flows):
    expected = np.zeros(SHAPE)
    for (_, target), flow in edges(flows, CHANGES).items():
        expected[target] += flow
    found = arrivals(list(flows), Level(SHAPE, CHANGES, (False,) * 3, 1))
    np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize(
    "halved", [(True, True, False), (False, True, True), (True, False, False)], ids=str
)
def test_pairs_keep_the_flows_between_them(flows, halved):
    changes = coarse_changes(CHANGES, halved)
    level = Level(SHAPE, CHANGES, halved, 1)
    shape = tuple(-(-n // 2) if half else n for n, half in zip(SHAPE, halved, strict=True))
    after = Level(shape, changes, (False,) * 3, 1)
    found = np.asarray(aggregate(list(flows), level, after))
    assert found.shape == (len(changes), *shape)
    expected: dict = {}
    for ends, flow in edges(flows, CHANGES).items():
        pairs = tuple(
            tuple(n // 2 if half else n for n, half in zip(place, halved, strict=True))
            for place in ends
        )
        if pairs[0] != pairs[1]:
            expected[pairs] = expected.get(pairs, 0.0) + flow
    assert edges(found, changes) == pytest.approx(expected, rel=1e-14)
    factors = np.random.default_rng(4).uniform(size=shape)
    finer = np.asarray(refine(np.ones(SHAPE), factors, level, after))
    for place in np.ndindex(*SHAPE):
        pair = tuple(n // 2 if half else n for n, half in zip(place, halved, strict=True))
        assert finer[place] == factors[pair]


def test_numbers_ahead_are_those_of_the_states_that_changes_lead_to():
    x = np.random.default_rng(5).uniform(size=SHAPE)
    found = ahead(x, Level(SHAPE, CHANGES, (False,) * 3, 1))
    for numbers, change in zip(found, CHANGES, strict=True):
        for place in np.ndindex(*SHAPE):
            target = np.add(place, change)
            inside = (target >= 0).all() and (target < SHAPE).all()
            assert numbers[place] == (x[tuple(target)] if inside else 0.0)


def test_sums_over_pairs_and_numbers_of_pairs():
    halved = (True, False, True)
    level = Level(SHAPE, CHANGES, halved, 1)
    after = Level((3, 4, 1), coarse_changes(CHANGES, halved), (False,) * 3, 1)
    x = np.random.default_rng(6).uniform(size=SHAPE)
    sums = np.zeros(after.shape)
    for i, j, k in np.ndindex(*SHAPE):
        sums[i // 2, j, k // 2] += x[i, j, k]
    np.testing.assert_allclose(pooled(x, level, after), sums, rtol=1e-15)
    again = repeated(jax.numpy.asarray(sums), SHAPE, level, after)
    assert all(again[i, j, k] == sums[i // 2, j, k // 2] for i, j, k in np.ndindex(*SHAPE))
