"""Hitting times over devices, against those of a matrix."""

from __future__ import annotations

from math import fsum

import jax
import numpy as np
import pytest

from markov import MarkovChain, PauseTandem, stationary
from markov.sharding.chains import ShardedChain
from markov.sharding.hitting_times import HittingTimes
from markov.sharding.reachability import place_of_largest, recurrent, start_of
from markov.sharding.stencils import stencil_of


@pytest.fixture(scope="module")
def solved():
    model = PauseTandem(buffers=(10, 12), high_threshold=9)
    chain, (space, stencil) = MarkovChain(model), stencil_of(model)
    answer, numbers = stationary(chain), space.numbers(np.array(chain.states))
    pi = np.zeros(space.size)
    pi[numbers] = answer.pi
    values = np.ascontiguousarray(pi.reshape(space.shape).transpose(stencil.order))
    with jax.enable_x64(True):
        sharded = ShardedChain(stencil, jax.devices()[:1])
        x = sharded.put(sharded.shape, sharded.spread, lambda place: values[place])
        counted = recurrent(sharded, start_of(model, space, stencil), x)
        hitting = HittingTimes(sharded, x, counted, place_of_largest(sharded, x))
        c, _ = hitting.solve()
        misfit = hitting.misfit(x)
    h = np.asarray(hitting.x).transpose(np.argsort(stencil.order)).ravel()[numbers]
    return chain, answer.pi, h, c, misfit


@pytest.mark.slow
def test_h_falls_everywhere_but_in_the_reference(solved):
    chain, pi, h, c, _ = solved
    drift = chain.Q @ h
    reference = int(np.argmax(pi))
    assert c > 0.5
    assert drift[np.arange(len(pi)) != reference].max() == pytest.approx(-c, rel=1e-9)
    assert int(np.argmin(h)) == reference


@pytest.mark.slow
def test_sums_of_probabilities_are_those_of_exact_arithmetic(solved):
    """The residual of probabilities by elimination is rounding alone, and the bound on that of a sum."""
    chain, pi, h, _, (off, mass, elsewhere) = solved
    assert mass == pytest.approx(fsum([*pi, -1.0]), abs=1e-17)
    assert elsewhere == 0.0
    flow = 2.0 * (pi * -chain.Q.diagonal()) @ (h - h.min())
    net = pi @ chain.Q.toarray()
    sides = [np.maximum(sign * net, 0.0) @ (h - h.min()) for sign in (1.0, -1.0)]
    assert max(sides) <= off <= 1e-14 * flow
