"""A chain without a matrix: the same states, classes and measures as with one."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from markov import MarkovChain, explore
from markov.models.measures import measures_of
from markov.multigrid.grids.chains import GridChain
from tests.markov.multigrid.grids.conftest import TANDEM, Batches, exact, grid_of


def test_states_are_those_of_the_chain_with_a_matrix(plain):
    chain, other = GridChain(grid_of(TANDEM)), MarkovChain(TANDEM)
    for mine, theirs in zip(chain.states, other.states, strict=True):
        assert np.array_equal(mine, theirs)
    assert chain.size == other.size
    assert chain.transitions == other.transitions
    assert [chain.number_of((i, 0, 1, 1)) for i in range(3)] == [
        other.number_of((i, 0, 1, 1)) for i in range(3)
    ]
    with pytest.raises(KeyError):
        chain.number_of((0, 0, 2, 1))  # down, with an empty second queue
    with pytest.raises(KeyError):
        chain.number_of((99, 0, 1, 1))


def test_a_matrix_is_made_when_it_is_asked_for(plain):
    chain = GridChain(grid_of(TANDEM))
    assert "Q" not in vars(chain)
    assert (abs(chain.Q - MarkovChain(TANDEM).Q) > 1e-12).nnz == 0
    assert "transitions" in repr(chain)


def test_transient_states_are_told_apart(plain):
    model = Batches(ends=True)
    chain, other = GridChain(grid_of(model)), explore(model).chain
    assert np.array_equal(chain.recurrent_classes[0], other.recurrent_classes[0])
    assert np.array_equal(chain.transient_states, other.transient_states)


def test_measures_block_by_block_are_those_of_all_states(monkeypatch, plain):
    monkeypatch.setattr("markov.multigrid.grids.places.BLOCK", 50)
    pi, whole = exact(TANDEM)
    chain = GridChain(grid_of(TANDEM))
    assert len(list(chain.state_blocks().blocks())) > 3
    found = measures_of(TANDEM, pi, chain.state_blocks())
    expected = measures_of(TANDEM, pi, whole.states)
    assert found.keys() == expected.keys()
    for name, (dims, value, about) in expected.items():
        assert found[name][0] == dims
        assert found[name][1] == pytest.approx(value, rel=1e-12)
        assert found[name][2] == about


def test_it_can_be_pickled(plain):
    chain = pickle.loads(pickle.dumps(GridChain(grid_of(TANDEM))))
    assert chain.size == exact(TANDEM)[1].size
