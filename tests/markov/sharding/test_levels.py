"""Levels of shards, their equations, and which states are reached, in 64 bits."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import numpy as np
import pytest

from markov import ChainModel, MarkovChain, PauseTandem
from markov.sharding.chains import ShardedChain
from markov.sharding.elimination import dense, inverse_of
from markov.sharding.equations import Equations, at, left
from markov.sharding.levels import (
    Level,
    aggregate,
    ahead,
    arrivals,
    coarse_changes,
    given,
    pooled,
    refine,
    repeated,
)
from markov.sharding.reachability import (
    SeveralClassesError,
    place_of_largest,
    reached,
    recurrent,
    start_of,
)
from markov.sharding.stencils import stencil_of
from tests.markov.sharding.conftest import SHAPE, edges, random_flows

# Levels: flows arrive where the changes say, pairs keep all flow between them, pairs share and sum.


jax_compiles = pytest.mark.slow

CHANGES = ((-1, 1, 0), (0, -1, 1), (1, 0, 0), (2, 0, -1), (0, 1, 0))


@pytest.fixture
def flows():
    return random_flows(CHANGES)


@pytest.fixture(autouse=True)
def in_64_bits():
    with jax.enable_x64(True):
        yield


@jax_compiles
def test_flows_arrive_where_the_changes_say(flows):
    expected = np.zeros(SHAPE)
    for (_, target), flow in edges(flows, CHANGES).items():
        expected[target] += flow
    found = arrivals(list(flows), Level(SHAPE, CHANGES, (False,) * 3, 1))
    np.testing.assert_allclose(found, expected, rtol=1e-15)


@jax_compiles
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


@jax_compiles
def test_numbers_ahead_are_those_of_the_states_that_changes_lead_to():
    x = np.random.default_rng(5).uniform(size=SHAPE)
    found = ahead(x, Level(SHAPE, CHANGES, (False,) * 3, 1))
    for numbers, change in zip(found, CHANGES, strict=True):
        for place in np.ndindex(*SHAPE):
            target = np.add(place, change)
            inside = (target >= 0).all() and (target < SHAPE).all()
            assert numbers[place] == (x[tuple(target)] if inside else 0.0)


@jax_compiles
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


# The equations of hitting times on a level, against those of a matrix.


STEPS = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (2, -1, 0))
LEVEL = Level(SHAPE, STEPS, (False,) * 3, 1)
PLACE, LEAK = (2, 3, 1), 0.7


@pytest.fixture
def exact():
    """Flows, right sides and the solution of their equations."""
    flows, right = random_flows(STEPS), np.random.default_rng(8).uniform(size=SHAPE)
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


# Searches over devices, against those of the matrix.


class Line(ChainModel):
    """On 0 .. 8, up from each below ``ahead``, down from each of 1 .. ``back``."""

    class State(NamedTuple):
        i: int

    class Params(NamedTuple):
        ahead: int = 8
        back: int = 8
        begin: int = 4

    def space(self):
        return {"i": range(9)}

    def start(self):
        return self.State(self.params.begin)

    @staticmethod
    def rules(s, q):
        if s.i < q.ahead:
            yield s._replace(i=s.i + 1), 1.0
        if s.i > 0 and s.i <= q.back:
            yield s._replace(i=s.i - 1), 1.0


def over_devices(model):
    space, stencil = stencil_of(model)
    return ShardedChain(stencil, jax.devices()[:1]), start_of(model, space, stencil), space


@jax_compiles
def test_the_states_that_a_start_leads_to_are_those_of_the_chain():
    model = PauseTandem(buffers=(4, 6), high_threshold=5)
    chain, start, space = over_devices(model)
    found = np.asarray(reached(chain, start))
    order = np.argsort(chain.stencil.order)
    numbers = np.flatnonzero(found.transpose(order).ravel())
    states = MarkovChain(model).states
    assert numbers.tolist() == sorted(space.numbers(np.array(states)).tolist())


@jax_compiles
@pytest.mark.parametrize(
    ("ahead", "back", "begin", "expected"),
    [
        (8, 8, 4, range(9)),
        (8, 3, 0, range(8, 9)),  # from 4 on only up, and there it stays
        (6, 6, 8, range(8, 9)),
        (6, 6, 2, range(7)),
    ],
)
def test_the_recurrent_class_from_wherever_the_search_begins(ahead, back, begin, expected):
    chain, start, _ = over_devices(Line(ahead=ahead, back=back, begin=begin))
    for likely in (0, 5):
        found = recurrent(chain, start, chain.indicator((likely,)).astype(float))
        assert np.flatnonzero(np.asarray(found)).tolist() == list(expected)


@jax_compiles
def test_several_classes():
    """From the middle of 0 .. 8 with a step up from 4 and one down from 4 to either end."""

    class Forked(Line):
        @staticmethod
        def rules(s, q):
            if s.i > 0 and s.i <= 4:
                yield s._replace(i=s.i - 1), 1.0
            if s.i < 8 and s.i >= 4:
                yield s._replace(i=s.i + 1), 1.0

    chain, start, _ = over_devices(Forked())
    for likely in (0, 4):
        with pytest.raises(SeveralClassesError):
            recurrent(chain, start, chain.indicator((likely,)).astype(float))


@jax_compiles
def test_the_place_of_the_largest():
    chain, _, _ = over_devices(Line())
    assert place_of_largest(chain, chain.indicator((5,))) == (5,)
    assert place_of_largest(chain, 0 * chain.indicator((5,))) is None
