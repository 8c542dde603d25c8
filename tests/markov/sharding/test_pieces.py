"""Answers, plans and combinations of a sharded chain."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from markov import PauseTandem, stationary, stationary_sharded
from markov.sharding.chains import ShardedChain
from markov.sharding.combinations import best_combination
from markov.sharding.plans import held_bytes, plan_levels, proof_bytes
from markov.sharding.stencils import stencil_of
from tests.markov.sharding.conftest import Tandem


@pytest.mark.slow
def test_an_answer_is_proved_when_it_is_asked_for():
    """Throughput differs from that of `stationary` by no more than both bounds allow."""
    model = PauseTandem(buffers=(20, 30), high_threshold=20)
    answer, other = stationary_sharded(model), stationary(model)
    assert 0.0 < answer.error_bound < 1e-8
    most = 15.0 * 2.0 * (answer.error_bound + other.error_bound)
    assert answer.mean(lambda s: 15.0 * (s.j > 0)) == pytest.approx(other.throughput, abs=most)


@pytest.mark.slow
def test_a_combination_has_the_least_weighted_residual():
    """Against least squares of all numbers at once."""
    rng = np.random.default_rng(1)
    x, rest, *olds = rng.normal(size=(6, 30, 40))
    weight = rng.uniform(0.1, 1.0, size=(30, 40))
    with jax.enable_x64(True):
        chain = ShardedChain(stencil_of(Tandem())[1], jax.devices()[:1])
        step = chain.compiled(lambda *a: best_combination(*a[:3], a[3:]), [P()] * 7, P())
        found = np.asarray(step(x, rest, weight, *olds))
        same = np.asarray(step(x, rest, weight, *[x, rest] * 2))
    np.testing.assert_array_equal(same, x)  # nothing to be gained
    root = np.sqrt(weight).ravel()
    moves = np.stack([(old - x).ravel() for old in olds[::2]])
    gains = np.stack([root * (old - rest).ravel() for old in olds[1::2]])
    shares = np.linalg.lstsq(gains.T, -root * rest.ravel(), rcond=None)[0]
    np.testing.assert_allclose(found.ravel(), x.ravel() + shares @ moves, rtol=0, atol=1e-12)


def test_each_device_holds_less():
    """All but the slices of rates, and levels of few states; all numbers of devices form the same pairs."""
    _, stencil = stencil_of(PauseTandem(buffers=(400, 400), high_threshold=300))
    alone = plan_levels(stencil, 1)
    held, proof = [held_bytes(alone, stencil)], [proof_bytes(alone)]
    for devices in (2, 4, 8):
        levels = plan_levels(stencil, devices)
        rows = levels[0].shape[0] // devices
        assert 401 / devices <= rows <= 1.12 * 401 / devices + 1
        assert (levels[0].devices, levels[-1].devices) == (devices, 1)
        assert [level.halved for level in levels] == [level.halved for level in alone]
        assert [level.changes for level in levels] == [level.changes for level in alone]
        held.append(held_bytes(levels, stencil))
        proof.append(proof_bytes(levels))
    for each in (held, proof):
        assert each[1] < 0.6 * each[0]
        assert each[2] < 0.35 * each[0]
        assert each[3] < 0.25 * each[0]
