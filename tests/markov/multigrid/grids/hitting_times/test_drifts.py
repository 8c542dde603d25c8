"""Proofs by hitting times: their drifts, and the two sides of the bound."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from markov.multigrid.grids.hitting_times import drifts
from markov.multigrid.grids.hitting_times import proof_kernels as kernels
from markov.multigrid.grids.hitting_times.drifts import SHARP, Drift
from markov.multigrid.grids.hitting_times.equations import HittingTimes
from markov.multigrid.grids.hitting_times.finest_kernels import Leaking
from markov.multigrid.grids.levels import Level
from markov.multigrid.grids.loops.tables import Marked, SlotRates
from markov.multigrid.grids.places import QUEUED, RECURRENT
from tests.markov.multigrid.grids.conftest import TANDEM, exact, grid_of, matrix_of, on_grid

# Hitting times that fall short somewhere are raised until they do not, and nowhere lowered.


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


# The two sides of the bound, against products with the matrix.


def table(side):
    """Return all rows of a grid, its tables for the kernels, and its rates."""
    grid, rates = side
    span = np.uint64(0), np.uint64(len(grid.row_kind))
    return span, Level(grid, np.zeros(grid.size), fast=False), rates


def test_the_drift_of_exact_hitting_times_is_minus_one(plain):
    _, chain = exact(TANDEM)
    Q = chain.Q.toarray()
    h = np.zeros(chain.size)
    h[1:] = np.linalg.solve(Q[1:, 1:], -np.ones(chain.size - 1))
    places = grid_of(TANDEM).places
    reference = np.uint64(next(places.blocks())[1][0])
    span, level, rates = table(grid_of(TANDEM).layout.out)
    failing = np.zeros(3, dtype=np.uint64)
    equations = Leaking(rates.rate, (), reference, 0.0, None)
    marked = Marked(RECURRENT, places.marks)
    given = span, failing, level.cells, level.frequent, equations
    worst, count = kernels.drift(*given, kernels.Checked(on_grid(h), marked, -1.5))
    assert worst == pytest.approx(-1.0, abs=1e-9)
    assert count == chain.size - 1
    assert len(set(failing)) == len(failing)
    assert worst >= (Q @ h)[1:].max() - 1e-12
    h[-1] = math.nan  # late states, with good ones before and after in other blocks
    worst, count = kernels.drift(*given, kernels.Checked(on_grid(h), marked, -1.5))
    assert math.isnan(worst)
    assert count == chain.size - 1


def test_the_misfit_is_not_less_than_what_the_matrix_gives(plain):
    _, chain = exact(TANDEM)
    rng = np.random.default_rng(8)
    pi, h = rng.random(chain.size), rng.random(chain.size)
    places = grid_of(TANDEM).places
    span, level, rates = table(grid_of(TANDEM).layout.into)
    vectors = kernels.Heights(on_grid(h), 0.0, Marked(RECURRENT, places.marks)), on_grid(pi)
    own = SlotRates(rates.rate, rates.exit_rate)
    *sides, mass, low = kernels.misfit(span, level.cells, own, *vectors)
    net = chain.Q.T @ pi
    for off, expected in zip(
        sides, (np.maximum(net, 0.0) @ h, np.maximum(-net, 0.0) @ h), strict=True
    ):
        assert expected <= off <= expected * (1.0 + 1e-12)
    assert mass + low == pytest.approx(pi.sum(), rel=1e-15)


def test_the_misfit_in_double_double_is_that_of_fractions(plain):
    pi, chain = exact(TANDEM)
    h, places = np.random.default_rng(8).random(chain.size), grid_of(TANDEM).places
    span, level, rates = table(grid_of(TANDEM).layout.into)
    vectors = kernels.Heights(on_grid(h), 0.0, Marked(RECURRENT, places.marks)), on_grid(pi)
    sides = kernels.misfit_exactly(span, level.cells, kernels.ExactRates(*rates[:3]), *vectors)
    net = [Fraction(0)] * chain.size
    Q = chain.Q.tocoo()
    for i, j, rate in zip(Q.row.tolist(), Q.col.tolist(), Q.data.tolist(), strict=True):
        if i != j:
            flow = Fraction(float(pi[i])) * Fraction(rate)
            net[i] -= flow
            net[j] += flow
    below = kernels.misfit(span, level.cells, SlotRates(*rates[:2]), *vectors)
    for side, off in enumerate(sides):
        signed = [r if side == 0 else -r for r in net]
        terms = [max(r, Fraction(0)) * Fraction(float(w)) for r, w in zip(signed, h, strict=True)]
        expected = float(sum(terms))
        assert expected <= off <= expected * (1.0 + 1e-9)
        assert off < 0.1 * below[side]  # most of that is the bound on its own rounding
