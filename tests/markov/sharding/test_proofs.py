"""The bound on the error of probabilities over devices."""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np
import pytest

from markov import ChainModel, MarkovChain, PauseTandem, stationary
from markov.sharding.chains import ShardedChain
from markov.sharding.proofs import bound_on_shards
from markov.sharding.reachability import start_of
from markov.sharding.stencils import stencil_of

pytestmark = pytest.mark.slow  # JAX compiles


def bound_of(model, pi):
    """The bound of probabilities over the whole space, on one device."""
    space, stencil = stencil_of(model)
    order, start = stencil.order, start_of(model, space, stencil)
    with jax.enable_x64(True):
        chain = ShardedChain(stencil, jax.devices()[:1])
        values = np.ascontiguousarray(pi.reshape(space.shape).transpose(order))
        spread = chain.put(chain.shape, chain.spread, lambda place: values[place])
    return bound_on_shards(chain, start, spread, model.name).distance


def exact(model):
    """Probabilities over the whole space, by elimination."""
    chain, (space, _) = MarkovChain(model), stencil_of(model)
    pi = np.zeros(space.size)
    pi[space.numbers(np.array(chain.states))] = stationary(chain).pi
    return pi


@pytest.fixture(scope="module")
def tandem():
    model = PauseTandem()
    return model, exact(model)


def test_probabilities_by_elimination_have_a_small_bound(tandem):
    """In float64, every rounding error counted: some 1e-14 of the flows times hitting times of 1e2."""
    assert 0.0 < bound_of(*tandem) < 1e-11


@pytest.mark.parametrize(("wrong", "loose"), [("in few states", 1e3), ("in all", 1e4)])
def test_the_bound_holds_for_probabilities_that_are_wrong(tandem, wrong, loose):
    """Mass in one recurrent state and in one that the chain leaves for ever; everywhere, with another sum.

    Errors that are independent in all states hardly add up in the probabilities, and do in the bound, which is up to
    some ten thousand times too large without a better vector (``docs/markov-bound.md``).
    """
    model, pi = tandem
    off = pi.copy()
    if wrong == "in all":
        off *= 1.0 + 1e-3 * np.random.default_rng(1).uniform(-1.0, 1.0, len(pi))
        off *= 0.9999 / off.sum()
    else:
        assert (pi == 0.0).any()
        off[int(np.argmin(pi))] = 1e-6
        off[int(np.argmax(pi))] *= 1.0 + 1e-6
        off /= off.sum()
    distance = 0.5 * abs(off - pi).sum()
    assert distance > 1e-8
    assert distance <= bound_of(model, off) < loose * distance


def test_what_is_no_distribution_has_no_bound(tandem):
    model, pi = tandem
    assert bound_of(model, 0.0 * pi) == np.inf


class Switch(ChainModel):
    """On and off: the levels are exact, and one cycle leaves nothing."""

    class State(NamedTuple):
        on: int

    def space(self):
        return {"on": range(2)}

    @staticmethod
    def rules(s, q):
        if s.on:
            yield s._replace(on=0), 1.0
        if not s.on:
            yield s._replace(on=1), 2.0


def test_two_states():
    assert 0.0 < bound_of(Switch(), np.array([1 / 3, 2 / 3])) < 1e-14


class Forked(ChainModel):
    """From 0 to either end, for ever."""

    class State(NamedTuple):
        i: int

    class Params(NamedTuple):
        n: int = 40

    def space(self):
        return {"i": range(2 * self.params.n + 1)}

    def start(self):
        return self.State(self.params.n)

    @staticmethod
    def rules(s, q):
        if s.i > 0 and s.i <= q.n:
            yield s._replace(i=s.i - 1), 1.0
        if s.i < 2 * q.n and s.i >= q.n:
            yield s._replace(i=s.i + 1), 1.0


def test_several_recurrent_classes_are_found():
    with pytest.raises(ValueError, match="Forked: several recurrent classes"):
        bound_of(Forked(), np.full(81, 1 / 81))
