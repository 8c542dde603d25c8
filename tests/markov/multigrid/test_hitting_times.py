"""Hitting times on grids: equations, aggregates, drifts, and proofs by them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from markov import MatrixFree, PauseTandem, stationary
from markov.multigrid import proofs
from markov.multigrid.grid import coarsen
from markov.multigrid.kernels import proof_kernels as kernels
from markov.multigrid.kernels.hitting_time_kernels import LeakingEquations, cost_levels
from markov.multigrid.kernels.tables import Marked, SlotRates
from markov.multigrid.levels import Level
from markov.multigrid.model import QUEUED, RECURRENT
from markov.multigrid.proofs import (
    ACCEPTED_DRIFT,
    ATTEMPTS,
    COST_EXPONENT,
    MIN_WEIGHT,
    Coarse,
    Drift,
    Finest,
    HittingTimes,
    bound_on_grid,
    weights_of,
)
from tests.markov.multigrid.conftest import TANDEM, exact, grid_of, matrix_of, on_grid
from tests.markov.multigrid.test_grids import aggregates

# Equations of hitting times and those of their aggregates, against products with the matrix.


def test_flows_of_aggregates_are_weighted_sums_of_rates(plain):
    layout = grid_of(TANDEM).layout
    pi = on_grid(exact(TANDEM)[0])
    weights = weights_of(pi)
    grid, rates = layout.out
    fine = Finest(grid, rates, int(np.argmax(pi)), weights, np.zeros(grid.size))
    coarse, aggregation = coarsen(grid, (4, 3))
    values = np.zeros(int(coarse.value_begin[-1]))
    level = Level(coarse, np.zeros(coarse.size), unroll=False)
    fine.restriction(aggregation, level, values)()
    labels, m = aggregates(grid, (4, 3))
    join = np.zeros((grid.size, m))
    join[np.arange(grid.size), labels] = 1.0
    expected = join.T @ (pi[:, None] * matrix_of(grid, rates).toarray()) @ join
    np.fill_diagonal(expected, 0.0)
    indptr, indices = level.pattern()
    found = np.zeros((m, m))
    found[np.repeat(np.arange(m), np.diff(indptr)), indices] = values
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-300)


def test_cycles_find_the_mean_costs(small):
    layout, pi = grid_of(TANDEM).layout, on_grid(exact(TANDEM)[0])
    times = HittingTimes(layout, pi, np.float64)
    assert len(times.levels) > 1
    for _ in range(60):
        times.cycle(1)
    finest, Q = times.finest, matrix_of(*layout.out).toarray()
    out = Q.sum(axis=1)
    A = np.diag(np.where(out > 0.0, out, 1.0)) - Q
    A[times.reference, times.reference] += finest.leak
    costs = np.where(out > 0.0, finest.weights.costs[finest.weights.levels], 0.0)
    expected = np.linalg.solve(A, costs)
    assert times.h[out > 0.0] == pytest.approx(expected[out > 0.0], rel=1e-8)


def test_axes_are_those_along_which_most_steps_lead_wherever_pi_is(small):
    layout = grid_of(TANDEM).layout
    grid, rates = layout.out
    for seed in range(2):
        pi = on_grid(np.random.default_rng(seed).random(grid_of(TANDEM).states.size) ** 40)
        level = Finest(grid, rates, int(np.argmax(pi)), weights_of(pi), np.zeros(grid.size))
        assert level.strong_axes() == (True, True)
        coarse, aggregation = coarsen(grid, (1, 9))
        below = Coarse(coarse, aggregation, level, 1.0)
        assert below.strong_axes()[0]
        assert not below.x.any()  # as before


# Loops over coarse grids of hitting times, as sums and solutions by hand.


@pytest.fixture
def levels(plain):
    """Return the finest level and one below it, the matrix of their aggregates, and weights."""
    layout, pi = grid_of(TANDEM).layout, on_grid(exact(TANDEM)[0])
    grid, rates = layout.out
    h = np.random.default_rng(3).random(grid.size)
    fine = Finest(grid, rates, int(np.argmax(pi)), weights_of(pi), h)
    coarse_grid, aggregation = coarsen(grid, (2, 2))
    leak = float(pi.max()) * fine.leak
    coarse = Coarse(coarse_grid, aggregation, fine, leak)
    labels, m = aggregates(grid, (2, 2))
    join = np.zeros((grid.size, m))
    join[np.arange(grid.size), labels] = 1.0
    A = np.diag(matrix_of(grid, rates).toarray().sum(axis=1)) - matrix_of(grid, rates).toarray()
    A[fine.reference, fine.reference] += fine.leak
    return fine, coarse, join, A, pi


def test_what_is_left_is_summed_by_weights_over_the_flows_out(levels):
    fine, coarse, join, A, pi = levels
    costs = fine.weights.costs[fine.weights.levels]
    coarse.x[:] = 1.0
    coarse.restrict()
    left = join.T @ (pi * (costs - A @ fine.x))
    out = np.diag(join.T @ (pi[:, None] * A) @ join)
    some = out > 0.0
    assert coarse.out == pytest.approx(out, rel=1e-10)
    assert coarse.right[some] == pytest.approx((left / np.where(some, out, 1.0))[some], rel=1e-5)
    assert not coarse.x.any()


def test_a_sweep_solves_the_equation_of_each_aggregate_in_turn(levels):
    _, coarse, join, A, pi = levels
    coarse.restrict()
    B = join.T @ (pi[:, None] * A) @ join
    expected = np.zeros(len(B))
    for s in np.flatnonzero(coarse.out):
        expected[s] = coarse.right[s] + expected[s] - B[s] @ expected / coarse.out[s]
    coarse.forward()
    assert coarse.x == pytest.approx(expected, rel=1e-4, abs=1e-5 * np.abs(expected).max())


def test_a_correction_is_added_to_each_state_of_an_aggregate(levels):
    fine, coarse, join, _, _ = levels
    before = fine.x.copy()
    coarse.x[:] = np.random.default_rng(4).random(len(coarse.x))
    coarse.prolong()
    assert fine.x == pytest.approx(before + join @ coarse.x, rel=1e-12)


# Loops over the finest grid of hitting times, against products with the matrix.


def test_costs_grow_where_nobody_is(plain):
    x, levels = np.array([1.0, 1e-10, 1e-20, 1e-200, 0.0]), np.zeros(5, dtype=np.uint8)
    cost_levels(1e-150, 1.0, x, levels)
    expected = -np.log2([1.0, 1e-10, 1e-20, 1e-150, 1e-150]) / 8.0
    assert levels == pytest.approx(expected, abs=1.0)
    assert levels[3] == levels[4] == 62


# Weights and costs follow from probabilities.


def test_costs_are_a_power_of_the_probability(plain):
    pi = on_grid(exact(TANDEM)[0])
    found = weights_of(pi)
    some = pi > 0.0
    costs = found.costs[found.levels[some]]
    expected = (pi[some] / pi.max()) ** COST_EXPONENT
    assert np.all((costs <= expected * (1.0 + 1e-12)) & (costs >= expected / 1.75))  # 256^0.1
    assert found.minimum == pytest.approx(MIN_WEIGHT * pi.max())


# Hitting times that fall short somewhere are raised until they do not, and nowhere lowered.


@pytest.fixture
def spoilt(small):
    """Return hitting times that are spoilt in some states, the marks, and what Q h is in those that count."""
    grid, rng = grid_of(TANDEM), np.random.default_rng(6)
    times = HittingTimes(grid.layout, on_grid(exact(TANDEM)[0]), np.float32)
    for _ in range(20):
        times.cycle(1)
    times.h[rng.integers(len(times.h), size=9)] *= rng.uniform(0.5, 1.0, 9).astype(np.float32)
    Q, marks = matrix_of(*grid.layout.out).toarray(), grid.states.marks.copy()
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
    assert bounds.drift_bound() == pytest.approx(-short.max(), rel=1e-9)
    assert sorted(bounds.failing_states()) == counted[short > proofs.DRIFT_LIMIT].tolist()
    assert len(bounds.failing_states()) >= 5
    assert bounds.raise_failing()
    assert drift().max() <= -ACCEPTED_DRIFT
    assert bounds.drift_bound() == pytest.approx(-drift().max(), rel=1e-9)
    assert np.all(times.h >= before)
    assert np.any(times.h > before)
    assert not (marks & QUEUED).any()


@pytest.mark.parametrize("most", [4, 400])
def test_too_many_states_are_left_to_cycles(spoilt, monkeypatch, most):
    times, marks, _, counted = spoilt
    times.h[:] = 1.0  # every state falls short, and raising one brings back those before it
    monkeypatch.setattr(proofs, "MAX_VISITED_SHARE", 0.0)
    bounds = Drift(times, grid_of(TANDEM).layout, marks)
    assert bounds.drift_bound() == pytest.approx(0.0, abs=1e-12)
    assert 4 < len(bounds.failing_states()) == len(counted) < 400
    bounds._max_failing = most
    assert not bounds.raise_failing()
    assert not (marks & QUEUED).any()
    assert (most == 4) == np.array_equal(times.h, np.ones(len(times.h)))


# The two sides of the bound, against products with the matrix.


def table(side):
    """Return all rows of a grid, its tables for the kernels, and its rates."""
    grid, rates = side
    span = np.uint64(0), np.uint64(len(grid.row_kind))
    return span, Level(grid, np.zeros(grid.size), unroll=False), rates


def test_the_drift_of_exact_hitting_times_is_minus_one(plain):
    _, chain = exact(TANDEM)
    Q = chain.Q.toarray()
    h = np.zeros(chain.size)
    h[1:] = np.linalg.solve(Q[1:, 1:], -np.ones(chain.size - 1))
    places = grid_of(TANDEM).states
    reference = np.uint64(next(places.blocks())[1][0])
    span, level, rates = table(grid_of(TANDEM).layout.out)
    failing = np.zeros(3, dtype=np.uint64)
    equations = LeakingEquations(rates.rate, (), reference, 0.0, None)
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
    places = grid_of(TANDEM).states
    span, level, rates = table(grid_of(TANDEM).layout.into)
    vectors = kernels.Heights(on_grid(h), 0.0, Marked(RECURRENT, places.marks)), on_grid(pi)
    own = SlotRates(rates.rate, rates.exit_rate)
    *sides, mass, low = kernels.misfit(span, level.cells, own, *vectors)
    net = chain.Q.T @ pi
    for off, expected in zip(sides, (np.maximum(net, 0.0) @ h, np.maximum(-net, 0.0) @ h), strict=True):
        assert expected <= off <= expected * (1.0 + 1e-12)
    assert mass + low == pytest.approx(pi.sum(), rel=1e-15)


def test_the_misfit_in_double_double_is_that_of_fractions(plain):
    pi, chain = exact(TANDEM)
    h, places = np.random.default_rng(8).random(chain.size), grid_of(TANDEM).states
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


# Bounds without a matrix hold, and find what is wrong with a distribution.


@pytest.mark.parametrize("amount", [0.0, 1e-12, 1e-8, 1e-3])
def test_the_bound_holds_and_is_not_far_off(amount, small):
    true, _ = exact(TANDEM)
    pi = true * (1.0 + amount * np.random.default_rng(9).standard_normal(len(true)))
    pi /= math.fsum(pi)
    x = on_grid(pi)
    grid = grid_of(TANDEM)
    bound = bound_on_grid(grid.layout, grid.states, x)
    distance = 0.5 * np.abs(pi - true).sum()
    assert distance <= bound.distance <= 2e3 * distance + 1e-11
    assert bound.c > ACCEPTED_DRIFT
    assert np.array_equal(x, on_grid(pi))  # as it was


def test_what_rounding_leaves_is_bounded_in_double_double(small):
    true, grid = exact(TANDEM)[0], grid_of(TANDEM)
    plain, sharp = (bound_on_grid(grid.layout, grid.states, on_grid(true), exact=each) for each in (False, True))
    assert 2.0**-51 < sharp.distance < 0.2 * plain.distance


def test_a_lack_of_mass_counts(small):
    pi = 0.9 * exact(TANDEM)[0]
    grid = grid_of(TANDEM)
    assert 0.1 <= bound_on_grid(grid.layout, grid.states, on_grid(pi)).distance < 0.11


def test_cycles_that_diverge_are_given_up_and_done_again(small, monkeypatch):
    kinds, good, rng = [], exact(TANDEM)[0], np.random.default_rng(4)

    def worse(times):
        times.h[:] = (np.abs(times.h).max() + 1.0) * rng.uniform(1.0, 20.0, len(times.h))

    class Told(HittingTimes):
        def __init__(self, layout, pi, kind, *, wide, team):
            kinds.append((kind, wide))
            super().__init__(layout, pi, kind, wide=wide, team=team)
            if wide:
                self.start = lambda: worse(self)
                self.cycle = lambda _: worse(self)

    monkeypatch.setattr("markov.multigrid.proofs.HittingTimes", Told)
    grid = grid_of(TANDEM)
    bound = bound_on_grid(grid.layout, grid.states, on_grid(good))
    assert kinds == list(ATTEMPTS)
    assert bound.distance < 1e-11
    monkeypatch.setattr("markov.multigrid.proofs.available", lambda: 0.0)
    alone = bound_on_grid(grid.layout, grid.states, on_grid(good))
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

    monkeypatch.setattr("markov.multigrid.solver.bound_on_grid", told)
    answer = stationary(model, MatrixFree())
    assert answer.pi.min() < 1e-270
    assert answer.error_bound < 1e-8
    assert found[0].cycles <= 10
