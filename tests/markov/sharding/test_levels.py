"""Levels: flows arrive where the changes say, pairs keep all flow between them, elimination is exact."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest

from markov import stationary
from markov.sharding.levels import (
    Level,
    aggregate,
    arrivals,
    coarse_changes,
    eliminate,
    refine,
)

pytestmark = pytest.mark.slow  # JAX compiles

SHAPE = (5, 4, 2)
CHANGES = ((-1, 1, 0), (0, -1, 1), (1, 0, 0), (2, 0, -1), (0, 1, 0))


def random_flows(changes):
    """Flows along changes, none out of the box."""
    rng = np.random.default_rng(3)
    found = rng.uniform(0.5, 2.0, size=(len(changes), *SHAPE))
    for flow, change in zip(found, changes, strict=True):
        for place in np.ndindex(*SHAPE):
            target = np.add(place, change)
            if (target < 0).any() or (target >= SHAPE).any():
                flow[place] = 0.0
    return found


@pytest.fixture
def flows():
    return random_flows(CHANGES)


def edges(flows, changes):
    """All transitions, (from, to): flow."""
    return {
        (place, tuple(np.add(place, change).tolist())): float(flow[place])
        for flow, change in zip(flows, changes, strict=True)
        for place in np.ndindex(*flow.shape)
        if flow[place] > 0.0
    }


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


def test_elimination_solves_the_last_level():
    """Against `stationary` of the same chain."""
    changes = tuple(
        set(itertools.permutations((1, 0, 0))) | set(itertools.permutations((-1, 0, 0)))
    )
    changes = (*changes, (-1, 1, 0))
    flows = random_flows(changes)
    found = np.asarray(eliminate(flows, Level(SHAPE, changes, (False,) * 3, 1))).ravel()
    numbers = {place: n for n, place in enumerate(np.ndindex(*SHAPE))}
    Q = np.zeros((len(numbers), len(numbers)))
    for (source, target), flow in edges(flows, changes).items():
        Q[numbers[source], numbers[target]] += flow
    np.fill_diagonal(Q, -Q.sum(axis=1))
    np.testing.assert_allclose(found / found.sum(), stationary(Q).pi, rtol=1e-12)
