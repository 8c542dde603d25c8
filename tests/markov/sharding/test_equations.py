"""The equations of hitting times on a level, against those of a matrix."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest

from markov.sharding.elimination import dense, inverse_of
from markov.sharding.equations import Equations, at, left
from markov.sharding.levels import Level, given
from tests.markov.sharding.conftest import SHAPE, random_flows

CHANGES = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (2, -1, 0))
LEVEL = Level(SHAPE, CHANGES, (False,) * 3, 1)
PLACE, LEAK = (2, 3, 1), 0.7


@pytest.fixture(autouse=True)
def in_64_bits():
    with jax.enable_x64(True):
        yield


@pytest.fixture
def exact():
    """Flows, right sides and the solution of their equations."""
    flows, right = random_flows(CHANGES), np.random.default_rng(8).uniform(size=SHAPE)
    place = int(np.ravel_multi_index(PLACE, SHAPE))
    solution = inverse_of(dense(flows, LEVEL), place, LEAK) @ right.ravel()
    return jax.numpy.asarray(flows), right, solution.reshape(SHAPE)


@pytest.mark.slow
def test_nothing_is_left_of_the_equations_at_their_solution(exact):
    flows, right, solution = exact
    here = functools.partial(Equations, LEVEL, given, PLACE, LEAK, 1)
    rest = left(here, flows, right, solution)
    assert abs(np.asarray(rest)).max() < 1e-12
    assert abs(np.asarray(left(here, flows, right, 0.9 * solution))).max() > 0.01


@pytest.mark.slow
def test_sweeps_come_nearer_to_the_solution(exact):
    flows, right, solution = exact
    equations = Equations(LEVEL, given, PLACE, LEAK, 1, flows)
    x = equations.smoothed(right, np.zeros(SHAPE), 30_000)
    np.testing.assert_allclose(x, solution, rtol=1e-9)


def test_a_place_is_marked():
    assert np.argwhere(np.asarray(at(PLACE, LEVEL, SHAPE))).tolist() == [list(PLACE)]
