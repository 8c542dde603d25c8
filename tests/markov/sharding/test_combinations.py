"""Combinations of iterates: the least residual."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from markov.sharding.chains import ShardedChain
from markov.sharding.combinations import best_combination
from markov.sharding.stencils import stencil_of
from tests.markov.sharding.conftest import Tandem


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
