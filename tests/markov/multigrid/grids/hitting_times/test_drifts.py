"""Hitting times that fall short somewhere are raised until they do not, and nowhere lowered."""

from __future__ import annotations

import numpy as np
import pytest

from markov.multigrid.grids.hitting_times import drifts
from markov.multigrid.grids.hitting_times.drifts import SHARP, Drift
from markov.multigrid.grids.hitting_times.equations import HittingTimes
from markov.multigrid.grids.places import QUEUED, RECURRENT
from tests.markov.multigrid.grids.conftest import TANDEM, exact, grid_of, matrix_of, on_grid


@pytest.fixture
def spoilt(small):
    """Return hitting times that are spoilt in some states, the marks, and what Q h is in those that count."""
    grid, rng = grid_of(TANDEM), np.random.default_rng(6)
    times = HittingTimes(grid.layout, on_grid(exact(TANDEM)[0]), np.float32)
    for _ in range(20):
        times.cycle(1)
    times.h[rng.integers(len(times.h), size=9)] *= rng.uniform(0.5, 1.0, 9).astype(np.float32)
    Q, marks = matrix_of(*grid.layout.out).toarray(), grid.places.marks.copy()
    counted = (marks & RECURRENT) > 0
    counted[times.reference] = False

    def drift():
        h = times.h.astype(np.float64)
        return (Q @ h - Q.sum(axis=1) * h)[counted]

    return times, marks, drift, np.flatnonzero(counted)


def test_h_is_raised_where_it_falls_short(spoilt):
    times, marks, drift, counted = spoilt
    before, short = times.h.copy(), drift()
    bounds = Drift(times, grid_of(TANDEM).layout, marks)
    assert bounds.bounded() == pytest.approx(-short.max(), rel=1e-9)
    assert sorted(bounds.failing()) == counted[short > drifts.LIMIT].tolist()
    assert len(bounds.failing()) >= 5
    assert bounds.raised()
    assert drift().max() <= -SHARP
    assert bounds.bounded() == pytest.approx(-drift().max(), rel=1e-9)
    assert np.all(times.h >= before)
    assert np.any(times.h > before)
    assert not (marks & QUEUED).any()


@pytest.mark.parametrize("most", [4, 400])
def test_too_many_states_are_left_to_cycles(spoilt, monkeypatch, most):
    times, marks, _, counted = spoilt
    times.h[:] = 1.0  # every state falls short, and raising one brings back those before it
    monkeypatch.setattr(drifts, "MAX_VISITED_SHARE", 0.0)
    bounds = Drift(times, grid_of(TANDEM).layout, marks)
    assert bounds.bounded() == pytest.approx(0.0, abs=1e-12)
    assert 4 < len(bounds.failing()) == len(counted) < 400
    bounds._most = most
    assert not bounds.raised()
    assert not (marks & QUEUED).any()
    assert (most == 4) == np.array_equal(times.h, np.ones(len(times.h)))
