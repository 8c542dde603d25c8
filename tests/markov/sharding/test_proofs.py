"""The bound on the error of probabilities that were gathered from devices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from markov import ChainModel, MarkovChain, PauseTandem, stationary
from markov.models.spaces import Space
from markov.sharding.proofs import gathered_bound


@pytest.fixture(scope="module")
def exact():
    """Model, and its probabilities over the whole space by elimination."""
    model = PauseTandem()
    chain = MarkovChain(model)
    space = Space.of(model.State, model.space(), model.name)
    pi = np.zeros(space.size)
    pi[space.numbers(np.array(chain.states))] = stationary(chain).pi
    return model, pi


def test_probabilities_by_elimination_have_a_small_bound(exact):
    """In float64, every rounding error counted: some 1e-14 of the flows times hitting times of 1e2."""
    assert 0.0 < gathered_bound(*exact) < 1e-11


@pytest.mark.parametrize("wrong", ["moved", "elsewhere"])
def test_the_bound_holds_for_probabilities_that_are_wrong(exact, wrong):
    """Mass moved between recurrent states, and to states that the chain leaves for ever."""
    model, pi = exact
    off, there = pi.copy(), int(np.argmax(pi))
    if wrong == "moved":
        off[there] *= 1.0 + 1e-6
    else:
        assert (pi == 0.0).any()
        off[int(np.argmin(pi))] = 1e-6
    off /= off.sum()
    distance = 0.5 * abs(off - pi).sum()
    assert distance > 1e-8
    assert distance <= gathered_bound(model, off) < 1000.0 * distance


def test_what_is_no_distribution_has_no_bound(exact):
    model, pi = exact
    assert gathered_bound(model, 0.0 * pi) == np.inf


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
    model = Forked()
    with pytest.raises(ValueError, match="several recurrent classes"):
        gathered_bound(model, np.full(81, 1 / 81))
