"""Elimination on the last level is exact."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest

from markov import stationary
from markov.sharding.elimination import dense, eliminate, inverse_of
from markov.sharding.levels import Level
from tests.markov.sharding.conftest import SHAPE, edges, random_flows

CHANGES = (
    *set(itertools.permutations((1, 0, 0))),
    *set(itertools.permutations((-1, 0, 0))),
    (-1, 1, 0),
)
LEVEL = Level(SHAPE, CHANGES, (False,) * 3, 1)


def matrix(flows):
    """The flows between the states of the box, from all transitions."""
    numbers = {place: n for n, place in enumerate(np.ndindex(*SHAPE))}
    found = np.zeros((len(numbers), len(numbers)))
    for (source, target), flow in edges(flows, CHANGES).items():
        found[numbers[source], numbers[target]] += flow
    return found


def test_flows_as_a_matrix():
    flows = random_flows(CHANGES)
    np.testing.assert_array_equal(dense(flows, LEVEL), matrix(flows))


@pytest.mark.slow
def test_elimination_solves_the_last_level():
    """Against `stationary` of the same chain."""
    flows = random_flows(CHANGES)
    with jax.enable_x64(True):
        found = np.asarray(eliminate(flows, LEVEL)).ravel()
    Q = matrix(flows)
    np.fill_diagonal(Q, -Q.sum(axis=1))
    np.testing.assert_allclose(found / found.sum(), stationary(Q).pi, rtol=1e-12)


def test_the_inverse_of_the_last_level():
    """Against numpy's, of flows that differ by ten orders of magnitude; one state has none."""
    rng = np.random.default_rng(1)
    flows = 10.0 ** rng.uniform(-5.0, 5.0, size=(9, 9))
    np.fill_diagonal(flows, 0.0)
    flows[4], flows[:, 4] = 0.0, 0.0
    found = inverse_of(flows, 6, 3.0)
    some = np.arange(9) != 4
    system = np.diag(flows.sum(axis=1) + 3.0 * (np.arange(9) == 6)) - flows
    expected = np.linalg.inv(system[np.ix_(some, some)])
    np.testing.assert_allclose(found[np.ix_(some, some)], expected, rtol=1e-6)  # numpy's accuracy
    np.testing.assert_allclose((system @ found)[np.ix_(some, some)], np.eye(8), atol=1e-6)
    assert not found[4].any()
    assert not found[:, 4].any()
