"""Searches over devices, against those of the matrix."""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np
import pytest

from markov import ChainModel, MarkovChain, PauseTandem
from markov.sharding.chains import ShardedChain
from markov.sharding.reachability import (
    SeveralClassesError,
    place_of_largest,
    reached,
    recurrent,
    start_of,
)
from markov.sharding.stencils import stencil_of

pytestmark = pytest.mark.slow  # JAX compiles


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


@pytest.fixture(autouse=True)
def in_64_bits():
    with jax.enable_x64(True):
        yield


def over_devices(model):
    space, stencil = stencil_of(model)
    return ShardedChain(stencil, jax.devices()[:1]), start_of(model, space, stencil), space


def test_the_states_that_a_start_leads_to_are_those_of_the_chain():
    model = PauseTandem(buffers=(4, 6), high_threshold=5)
    chain, start, space = over_devices(model)
    found = np.asarray(reached(chain, start))
    order = np.argsort(chain.stencil.order)
    numbers = np.flatnonzero(found.transpose(order).ravel())
    states = MarkovChain(model).states
    assert numbers.tolist() == sorted(space.numbers(np.array(states)).tolist())


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


def test_the_place_of_the_largest():
    chain, _, _ = over_devices(Line())
    assert place_of_largest(chain, chain.indicator((5,))) == (5,)
    assert place_of_largest(chain, 0 * chain.indicator((5,))) is None
