"""Loops over grids, as plain Python, against products with the matrix."""

from __future__ import annotations

import inspect
import threading
from concurrent import futures

import numpy as np
import pytest

from hopflow.sweeps.executors import cores
from markov import MatrixFree, PauseChain, PauseTandem, stationary
from markov.multigrid import levels
from markov.multigrid.grid import Grid, coarsen, factors_along
from markov.multigrid.kernels import count_kernels, rate_kernels
from markov.multigrid.kernels.sweep_kernels import SweepPlan
from markov.multigrid.levels import Coarse, Finest, Team
from markov.multigrid.model import RECURRENT
from markov.multigrid.proofs import Drift, HittingTimes, weights_of
from markov.multigrid.proofs import Finest as FinestTimes
from markov.multigrid.unrolling import Candidates, Pattern, Term, frequent, grid_patterns, sweeps
from tests.markov.multigrid.conftest import (
    MACHINES,
    TANDEM,
    exact,
    finest,
    grid_layout,
    grid_of,
    matrix_of,
    on_grid,
)
from tests.surface import HANG

# Sweeps over a grid are those of Gauss-Seidel with the matrix.


def test_a_sweep_leaves_the_stationary_vector_as_it_is(plain):
    pi, _ = exact(TANDEM)
    x = on_grid(pi)
    level = finest(x)
    level.forward()
    level.backward()
    assert x[x > 0] == pytest.approx(on_grid(pi)[x > 0], rel=1e-12)


BOTH_RATES = pytest.mark.parametrize("model", [TANDEM, MACHINES], ids=["tandem", "counts"])
BOTH_WAYS = pytest.mark.parametrize("backward", [False, True])


def tables(model):
    """Return the layout of a model, its inflow as a matrix, and the rate out of each state."""
    layout = grid_of(model).layout
    inflow, out = (matrix_of(*side).toarray() for side in (layout.into, layout.out))
    return layout, inflow, out.sum(axis=1)


@BOTH_RATES
@BOTH_WAYS
def test_a_sweep_is_that_of_gauss_seidel(model, backward, plain, monkeypatch):
    monkeypatch.setattr("markov.multigrid.levels.CYCLIC_CELL_SWEEPS", 1)
    layout, inflow, out = tables(model)
    x = np.random.default_rng(3).random(layout.into[0].size) * (out > 0.0)
    expected = x.copy()
    for s in np.flatnonzero(out)[:: -1 if backward else 1]:
        expected[s] = inflow[s] @ expected / out[s]
    level = finest(x, model)
    (level.backward if backward else level.forward)()
    assert x == pytest.approx(expected, rel=1e-12)


@BOTH_RATES
@BOTH_WAYS
def test_a_sweep_of_hitting_times_is_that_of_gauss_seidel(model, backward, plain):
    grid, rates = grid_of(model).layout.out
    pi, Q = on_grid(exact(model)[0], model), matrix_of(grid, rates).toarray()
    weights, h, out = weights_of(pi), np.random.default_rng(1).random(grid.size), Q.sum(axis=1)
    expected, level = h.copy(), FinestTimes(grid, rates, int(np.argmax(pi)), weights, h)
    for s in np.flatnonzero(out)[:: -1 if backward else 1]:
        leak = out[s] if s == level.reference else 0.0
        expected[s] = (weights.costs[weights.levels[s]] + Q[s] @ expected) / (out[s] + leak)
    (level.backward if backward else level.forward)()
    assert h[out > 0.0] == pytest.approx(expected[out > 0.0], rel=1e-12)
    assert level.leak == pytest.approx(out[level.reference], rel=1e-15)


@BOTH_RATES
def test_the_residual_is_the_relative_one_of_the_matrix(model, plain):
    _, inflow, out = tables(model)
    x = np.random.default_rng(4).random(len(out)) * (out > 0.0)
    residual, mass = finest(x.copy(), model).residual()
    expected = np.abs(inflow @ x - out * x).sum() / (2.0 * out @ x)
    assert residual == pytest.approx(expected, rel=1e-12)
    assert mass == pytest.approx(x.sum(), rel=1e-12)


def test_compared_residuals_are_those_of_the_matrix(plain):
    _, chain = exact(TANDEM)
    x, y, z = np.random.default_rng(5).random((3, chain.size))
    found = finest(on_grid(x)).compare(on_grid(y), on_grid(z))
    r, p, q = (chain.Q.T @ v for v in (x, y - x, z - x))
    w = 1.0 / (x * chain.exit_rates)
    pairs = ((p, p), (p, q), (q, q), (-p, r), (-q, r))
    assert found == pytest.approx([np.sum(w * a * b) for a, b in pairs], rel=1e-11)


# Kernels over rows of cells.


def corrected():
    """Return the numbers of a level after a correction, and all of the level that corrected it."""
    level = finest(on_grid(np.random.default_rng(6).random(grid_of(TANDEM).states.size)))
    coarse = Coarse(*coarsen(level.grid, (1, 3)), level)
    coarse.restrict()
    factors = np.random.default_rng(7).random(len(coarse.x))
    coarse.x[:] = factors
    coarse.prolong()
    return coarse, [level.x, coarse.values, coarse.scale, coarse.flows_by_entry(True, coarse.values)]


def test_flows_and_corrections_by_blocks_are_those_of_the_whole_grid(plain, blocks):
    coarse, found = corrected()
    assert len(coarse.blocks.blocks) == 2
    blocks(10**9)
    coarse, expected = corrected()
    assert len(coarse.blocks.blocks) == 1
    for a, b in zip(found, expected, strict=True):
        assert a == pytest.approx(b, rel=1e-13, abs=0.0)


def test_both_sorts_of_rates_have_the_same_functions():
    for name in rate_kernels.__all__:
        pair = (getattr(module, name) for module in (rate_kernels, count_kernels))
        ours, theirs = map(inspect.signature, pair)
        assert ours == theirs
    assert rate_kernels.at_row((), 0, 0) is rate_kernels.at_cell((), 0, 0) is None


def hitting_times(layout):
    """Return the numbers of hitting times and of the levels below after a cycle, and their drift."""
    rng = np.random.default_rng(5)
    pi = rng.random(layout.out[0].size) * (layout.combinations >= 0).ravel().max()
    times = HittingTimes(layout, pi, np.float64)
    times.h[:] = rng.random(len(times.h))
    times.cycle(1)
    marks = np.full(len(times.h), RECURRENT, dtype=np.uint8)
    found = [array for level in times.levels for array in (level.out, level.values, level.x)]
    drift = Drift(times, layout, marks)
    found += [drift.drift_bound(), np.sort(drift.failing_states())]
    return times, [times.h, *found]


def test_hitting_times_are_those_of_the_loops(interpreted, monkeypatch):
    layout = grid_layout(PauseTandem(buffers=(7, 14), high_threshold=11))
    monkeypatch.setattr("markov.multigrid.proofs.COARSEST_LEVEL_STATES", 20)
    times, loops = hitting_times(layout)
    assert not times.finest.frequent.special.any()
    monkeypatch.setattr("markov.multigrid.proofs.MIN_UNROLLED_STATES", 1)
    times, written = hitting_times(layout)
    assert times.finest.frequent.special.any()
    for a, b in zip(written, loops, strict=True):  # coarse ones are in float32
        assert a == pytest.approx(b, rel=1e-5, abs=1e-5 * float(np.abs(b).max()))


# Blocks of rows are apart, and threads that do them change no bit.


def three_axes():
    """Return a grid whose transitions lead to other rows along both of its first axes."""
    steps = [(1, -1, 0), (-1, 0, 1), (0, 1, -2), (0, 0, 1)]
    others, rows = np.zeros(4, dtype=np.int64), np.zeros((1, 4), dtype=np.int64)
    begin = np.array([0, 4])
    return Grid((9, 5, 4), 1, begin, np.array(steps), others, rows, np.zeros(45, dtype=np.int64))


@pytest.mark.parametrize("grid", [grid_layout(TANDEM).into[0], three_axes()], ids=["two", "three"])
def test_no_state_is_reached_from_two_blocks(blocks, grid):
    found = levels.row_blocks(grid)
    assert len(found.blocks) == 2
    row = grid.shape[-1] * grid.width
    owners = np.repeat(np.arange(len(grid.row_kind)), row)
    ahead = set((grid.steps[:, :-1] @ grid.strides[:-1]).tolist())
    reached = []
    for span in found.blocks:
        own = np.flatnonzero(np.isin(owners, range(*map(int, span))))
        reached.append({int(s) for step in {0, *ahead} for s in own + step})
    assert not reached[0] & reached[1]
    rows = sorted(n for span in (*found.blocks, *found.borders) for n in range(*map(int, span)))
    assert rows == list(range(len(grid.row_kind)))


def test_small_grids_and_those_of_one_row_are_one_block(monkeypatch):
    grid, _ = grid_layout(TANDEM).into
    assert levels.row_blocks(grid).blocks == ((0, len(grid.row_kind)),)
    monkeypatch.setattr(levels, "MIN_DIVIDED_STATES", 1)  # rows are too few for transitions that lead so far
    assert levels.row_blocks(grid).blocks == ((0, len(grid.row_kind)),)


def test_a_team_does_every_call_once_and_in_several_threads(monkeypatch):
    monkeypatch.setattr(levels, "cores", lambda: 2)
    names, both = set(), threading.Barrier(2, timeout=HANG)

    def call(n):
        if n < 2:
            both.wait()  # both threads have one of the first two
        names.add(threading.current_thread().name)
        return n * n

    with Team(2) as team:
        assert team.do([lambda n=n: call(n) for n in range(5)]) == [0, 1, 4, 9, 16]
    assert len(names) == 2


def test_there_are_never_more_threads_than_cores(monkeypatch):
    assert Team(10**6).threads <= cores()
    monkeypatch.setattr(levels, "cores", lambda: 1)
    assert Team().threads == 1


def test_after_ctrl_c_nothing_goes_on(monkeypatch):
    monkeypatch.setattr(levels, "cores", lambda: 2)
    done, begun, ends = [], threading.Event(), threading.Event()

    def wait(others):
        ends.set()
        return futures.wait(others)

    monkeypatch.setattr(levels, "wait", wait)

    def other():
        begun.set()
        assert ends.wait(HANG)
        done.append(1)

    def interrupted():
        assert begun.wait(HANG)
        raise KeyboardInterrupt

    def first():  # the main thread is the one that Ctrl-C reaches
        (interrupted if threading.current_thread() is threading.main_thread() else other)()

    with Team(2) as team, pytest.raises(KeyboardInterrupt):
        team.do([first, first, lambda: done.append(2)])
    assert done == [1]


def test_a_sweep_by_blocks_is_gauss_seidel_in_their_order(plain, blocks, monkeypatch):
    monkeypatch.setattr("markov.multigrid.levels.CYCLIC_CELL_SWEEPS", 1)
    layout = grid_layout(TANDEM)
    x = np.random.default_rng(3).random(layout.into[0].size)
    expected, level = x.copy(), finest(x)
    inflow = matrix_of(*layout.into).toarray()
    out = matrix_of(*layout.out).toarray().sum(axis=1)
    row = layout.into[0].shape[-1] * layout.into[0].width
    spans = (*level.blocks.blocks, *level.blocks.borders)
    assert len(spans) == 3
    for s in (s for a, b in spans for s in range(int(a) * row, int(b) * row)):
        expected[s] = inflow[s] @ expected / out[s] if out[s] else 0.0
    level.forward()
    assert x == pytest.approx(expected, rel=1e-12)


# Four rows side by side have the bits of one row after another.


def swept_levels(layout):
    """Return the numbers of fine and coarse levels after sweeps of random numbers forward and backward."""
    rng = np.random.default_rng(8)
    grid, rates = layout.into
    level = Finest(grid, rates, layout.combinations >= 0, rng.random(grid.size), unroll=False)
    coarse = Coarse(*coarsen(grid, [3] * len(grid.shape)), level)
    coarse.restrict()
    times = HittingTimes(layout, rng.random(grid.size), np.float32)
    swept = []
    for part in (level, coarse, times.finest, *times.levels):
        part.x[:] = rng.random(len(part.x))
        for sweep in (part.forward, part.backward):
            sweep()
            swept.append(part.x.copy())
    return swept


MODELS = [
    PauseTandem(buffers=(7, 24), high_threshold=17, arrival_rates=(25.0, 1.0)),
    PauseTandem(buffers=(8, 22), high_threshold=15, recovery="up"),
    PauseChain(hops=2, buffers=(2, 9, 14), high_threshold=2),
]


@pytest.mark.parametrize("model", MODELS, ids=["two rates", "three rates", "three axes"])
def test_four_rows_side_by_side_have_the_bits_of_single_rows(small, monkeypatch, model):
    layout, plans = grid_layout(model), []

    def single_rows(*fields):
        plans.append(SweepPlan(*fields))
        return plans[-1]._replace(parallel=np.zeros_like(plans[-1].parallel))

    together = swept_levels(layout)
    monkeypatch.setattr(levels, "SweepPlan", single_rows)
    single = swept_levels(layout)
    for plan, grid in zip((plans[0], plans[2]), (layout.into[0], layout.out[0]), strict=True):
        lengths = (grid.cells.stops - grid.cells.starts)[plan.parallel[grid.cells.numbers]]
        assert lengths.max() > 4 * plan.lag  # the middle of a segment is swept side by side
    for a, b in zip(together, single, strict=True):
        assert np.array_equal(a, b)


# Sweeps that are written out are those of the loops.


def two_levels(layout, *, unroll):
    """Return a grid and one below it with sweeps, residual, restriction and correction all done."""
    rng = np.random.default_rng(5)
    grid, rates = layout.into
    x = rng.random(grid.size) * (layout.combinations >= 0).ravel().max()
    finest = Finest(grid, rates, layout.combinations >= 0, x, unroll=unroll)
    coarse_grid, aggregation = coarsen(grid, factors_along([n > 4 for n in grid.shape], wide=True))
    coarse = Coarse(coarse_grid, aggregation, finest)
    below = Coarse(
        *coarsen(coarse_grid, factors_along([n > 1 for n in coarse_grid.shape], wide=False)),
        coarse,
    )
    finest.forward()
    coarse.restrict()
    coarse.forward()
    below.restrict()
    below.forward()
    below.prolong()
    coarse.backward()
    coarse.prolong()
    finest.backward()
    found = [x, coarse.values, coarse.scale, coarse.x, below.values, below.scale, below.x]
    return [*found, np.array(finest.residual())], finest


@pytest.mark.parametrize("rates", [(25.0, 1.0), (25.0, 5.0, 1.0)])
def test_rows_side_by_side_are_swept_as_one_after_another(interpreted, rates):
    model = PauseTandem(buffers=(7, 14), high_threshold=11, arrival_rates=rates)
    layout = grid_layout(model)
    loops, _ = two_levels(layout, unroll=False)
    written, finest = two_levels(layout, unroll=True)
    cells, special = finest.cells, finest.frequent.special
    wide = cells.stops - cells.starts > 4
    assert np.any(wide & (special[cells.numbers] > 0))  # four rows have a middle
    for a, b in zip(written, loops, strict=True):
        assert a == pytest.approx(b, rel=1e-13, abs=0.0)  # sums in another order


def test_what_has_just_been_computed_is_not_read_again():
    """A queue with two phases: a state gets from the cell before, and from the slot before."""
    terms = (Term((), -2), Term((), 2)), (Term((), -1), Term((), 0), Term((), 3))
    lines = sweeps([Pattern(terms, 2)], "cells_by_rates", "rows_by_rates")["unrolled"].splitlines()
    forward = [line.strip() for line in lines[lines.index("    else:") :]]
    assert "_e0_0 = _f0 + x[_s0 + _k2] * _q1 + _c0_0 * _q0" in forward
    assert "_e0_1 = _f1 + x[_s0 + _k3] * _q4 + _e0_0 * _q3 + _c0_1 * _q2" in forward
    backward = [line.strip() for line in lines[: lines.index("    else:")]]
    assert "_e0_1 = _f1 + x[_s0 - _k1] * _q2 + x[_s0] * _q3 + _c0_1 * _q4" in backward


@pytest.mark.slow  # it compiles kernels with and without
@pytest.mark.parametrize("rates", [(25.0, 1.0), (25.0, 10.0, 3.0, 1.0)])
def test_a_solution_is_the_same_with_loops(monkeypatch, rates):
    model = PauseTandem(buffers=(70, 91), high_threshold=60, low_threshold=31, arrival_rates=rates)
    loops = stationary(model, MatrixFree(tolerance=1e-14))
    monkeypatch.setattr("markov.multigrid.solver.MIN_UNROLLED_STATES", 1)
    monkeypatch.setattr("markov.multigrid.proofs.MIN_UNROLLED_STATES", 1)
    written = stationary(model, MatrixFree(tolerance=1e-14))
    # not the same iterates: where states are moved along, rows side by side find neighbours unswept
    assert abs(written.iterations - loops.iterations) <= 2
    assert np.abs(written.pi - loops.pi).sum() < 1e-12
    assert max(written.error_bound, loops.error_bound) < 1e-10


# Which kinds of cells are written out.


def test_the_most_frequent_kind_of_cell_comes_first():
    grid, _ = grid_layout(TANDEM).into
    candidates = grid_patterns(grid)
    chosen, numbers = frequent(candidates, grid.shares)
    # arrivals, departures from both queues; recovery into the lower state
    assert [len(terms) for terms in chosen[0].sums] == [4, 3]
    assert grid.shares[numbers == 1].sum() > 0.3
    assert grid.shares[numbers == 1].sum() >= grid.shares[numbers == 2].sum()
    for kind, number in enumerate(numbers.tolist()):
        assert number == 0 or chosen[number - 1] == candidates.pattern(kind)


def test_large_cells_are_left_to_loops():
    terms = np.zeros((201, 4), dtype=np.int64)
    ends, none = np.array([0, 201]), np.empty((1, 0), dtype=np.int64)
    chosen, numbers = frequent(Candidates(terms, ends, np.array([0, 1]), none, 1), np.ones(1))
    assert chosen == []
    assert numbers.tolist() == [0]
    assert numbers.dtype == np.uint64
