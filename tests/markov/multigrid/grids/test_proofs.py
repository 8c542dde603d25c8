"""Bounds without a matrix hold, and find what is wrong with a distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest

from markov import MatrixFree, PauseTandem, stationary
from markov.multigrid.grids.hitting_times.drifts import SHARP
from markov.multigrid.grids.hitting_times.equations import HittingTimes
from markov.multigrid.grids.proofs import ATTEMPTS, bound_on_grid
from tests.markov.multigrid.grids.conftest import TANDEM, exact, grid_of, on_grid


@pytest.mark.parametrize("amount", [0.0, 1e-12, 1e-8, 1e-3])
def test_the_bound_holds_and_is_not_far_off(amount, small):
    true, _ = exact(TANDEM)
    pi = true * (1.0 + amount * np.random.default_rng(9).standard_normal(len(true)))
    pi /= math.fsum(pi)
    x = on_grid(pi)
    grid = grid_of(TANDEM)
    bound = bound_on_grid(grid.layout, grid.places, x)
    distance = 0.5 * np.abs(pi - true).sum()
    assert distance <= bound.distance <= 2e3 * distance + 1e-11
    assert bound.c > SHARP
    assert np.array_equal(x, on_grid(pi))  # as it was


def test_what_rounding_leaves_is_bounded_in_double_double(small):
    true, grid = exact(TANDEM)[0], grid_of(TANDEM)
    plain, sharp = (
        bound_on_grid(grid.layout, grid.places, on_grid(true), exact=each) for each in (False, True)
    )
    assert 2.0**-51 < sharp.distance < 0.2 * plain.distance


def test_a_lack_of_mass_counts(small):
    pi = 0.9 * exact(TANDEM)[0]
    grid = grid_of(TANDEM)
    assert 0.1 <= bound_on_grid(grid.layout, grid.places, on_grid(pi)).distance < 0.11


def test_cycles_that_diverge_are_given_up_and_done_again(small, monkeypatch):
    kinds, good, rng = [], exact(TANDEM)[0], np.random.default_rng(4)

    def worse(times):
        times.h[:] = (np.abs(times.h).max() + 1.0) * rng.uniform(1.0, 20.0, len(times.h))

    class Told(HittingTimes):
        def __init__(self, layout, pi, kind, *, wide, team):
            kinds.append((kind, wide))
            super().__init__(layout, pi, kind, wide=wide, team=team)
            if wide:
                self.begin = lambda: worse(self)
                self.cycle = lambda _: worse(self)

    monkeypatch.setattr("markov.multigrid.grids.proofs.HittingTimes", Told)
    grid = grid_of(TANDEM)
    bound = bound_on_grid(grid.layout, grid.places, on_grid(good))
    assert kinds == list(ATTEMPTS)
    assert bound.distance < 1e-11
    monkeypatch.setattr("markov.multigrid.grids.proofs.available", lambda: 0.0)
    alone = bound_on_grid(grid.layout, grid.places, on_grid(good))
    assert alone.distance == math.inf
    assert alone.cycles < 10


@pytest.mark.slow  # chains so long that most of their probabilities are below 1e-280
@pytest.mark.parametrize(
    "model",
    [
        PauseTandem(buffers=(20, 12000), high_threshold=9000),
        PauseTandem(buffers=(16000, 60), high_threshold=45),
        PauseTandem(buffers=(400, 800), high_threshold=600, rtt=0.1),
        PauseTandem(buffers=(400, 800), high_threshold=600, rtt=0.02, arrival_rates=(60.0, 1.0)),
    ],
    ids=repr,
)
def test_chains_that_underflow_are_proved_in_few_cycles(model, monkeypatch):
    found = []

    def told(*given, exact):
        found.append(bound_on_grid(*given, exact=exact))
        return found[-1]

    monkeypatch.setattr("markov.multigrid.grids.matrix_free.bound_on_grid", told)
    answer = stationary(model, MatrixFree())
    assert answer.pi.min() < 1e-270
    assert answer.error_bound < 1e-8
    assert found[0].cycles <= 10
