"""Which states count, and where they are, against the search state by state."""

from __future__ import annotations

import numpy as np
import pytest

from markov import ChainModel, explore
from markov.multigrid.grids.models import GridModel
from markov.multigrid.grids.places import RECURRENT, SeveralClassesError
from tests.markov.multigrid.grids.conftest import MODELS, Batches, grid_of, on_grid


@pytest.mark.parametrize("model", [MODELS[0], Batches(), Batches(ends=True)], ids=repr)
def test_states_and_classes_are_those_of_the_search(model, plain):
    places = grid_of(model).places
    chain = explore(model, compiled=False).chain
    numbers = np.concatenate([found for found, _ in places.blocks()])
    assert np.array_equal(model._space.unnumbered(numbers), chain._codes)
    assert places.size == chain.size
    assert places.transitions == chain.transitions
    recurrent = np.concatenate([found for found, _ in places.blocks(RECURRENT)])
    assert np.array_equal(np.searchsorted(numbers, recurrent), chain.recurrent_classes[0])


@pytest.mark.parametrize("room", [1, 100])
def test_states_that_are_followed_one_by_one_are_the_same(room, plain, monkeypatch):
    expected = grid_of(MODELS[0]).places.marks
    monkeypatch.setattr("markov.multigrid.grids.places.RUNS", 1)
    monkeypatch.setattr("markov.multigrid.grids.places.FOLLOWED", room)
    assert np.array_equal(GridModel(MODELS[0]).places.marks, expected)


def test_a_state_in_the_grid_is_found_by_its_number_and_back(plain):
    places = grid_of(MODELS[1]).places
    numbers, indices = next(places.blocks())
    assert np.array_equal(places.space.numbers(places.codes_at(indices)), numbers)


def test_numbers_over_the_grid_and_over_the_states(plain):
    places = grid_of(MODELS[0]).places
    pi = np.random.default_rng(1).random(places.size)
    x = on_grid(pi, MODELS[0])
    assert np.array_equal(places.gathered(x), pi)
    assert x.sum() == pytest.approx(pi.sum(), rel=1e-14)


class Forks(Batches):
    """From the middle up for good, or down for good."""

    def start(self):
        return self.State(1, 5)

    @staticmethod
    def rules(s):
        if s.n == 5:
            yield s._replace(n=6), 1.0
            yield s._replace(n=4), 1.0
        if s.n in (6, 7):
            yield s._replace(n=13 - s.n), 1.0


def test_several_classes_are_found(plain):
    with pytest.raises(SeveralClassesError):
        GridModel(Forks())


class Everywhere(Batches):
    """All states count."""

    start = ChainModel.start


def test_without_a_start_all_states_count(plain):
    assert GridModel(Everywhere()).places.size == Everywhere().size
