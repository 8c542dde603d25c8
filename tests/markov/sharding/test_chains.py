"""Chains over devices: what each device is given."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from markov.sharding.chains import ShardedChain
from markov.sharding.stencils import stencil_of
from tests.markov.sharding.conftest import Tandem


@pytest.fixture(scope="module")
def chain():
    with jax.enable_x64(True):
        return ShardedChain(stencil_of(Tandem())[1], jax.devices()[:1])


def test_rates_and_classes_are_those_of_the_stencil(chain):
    rates, classes = chain.data
    np.testing.assert_array_equal(rates, chain.stencil.rates)
    np.testing.assert_array_equal(classes, chain.stencil.classes)


def test_an_indicator_marks_one_state_or_all(chain):
    one, all_of_them = np.asarray(chain.indicator((3, 5))), np.asarray(chain.indicator(None))
    assert np.argwhere(one).tolist() == [[3, 5]]
    assert all_of_them.shape == chain.shape
    assert all_of_them.all()


def test_a_program_waits_for_its_result(chain):
    """Not waiting, more than 32 programs could be under way on a device, and XLA would stand still."""

    def long(x):
        return jax.lax.fori_loop(0, 1000, lambda _, y: jax.numpy.tanh(y + x), x)

    values = np.ones((1000, 100))
    program = chain.compiled(long, (chain.spread,), chain.spread)
    jax.block_until_ready(program(values))  # compiled
    assert program(values).is_ready()
