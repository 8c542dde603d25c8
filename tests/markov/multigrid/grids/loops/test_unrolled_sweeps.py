"""Kinds of cells whose sweeps are written out."""

from __future__ import annotations

import numpy as np
import pytest

from markov import MatrixFree, PauseTandem, stationary
from markov.multigrid.grids.coarse_levels import Coarse
from markov.multigrid.grids.coarsening import coarsened, factors_along
from markov.multigrid.grids.levels import Finest
from markov.multigrid.grids.loops.patterns import Candidates, Pattern, Term, frequent, of_grid
from markov.multigrid.grids.loops.unrolled_sweeps import sweeps
from tests.markov.multigrid.grids.conftest import TANDEM, grid_layout

# Sweeps that are written out are those of the loops.


def two_levels(layout, *, fast):
    """Return a grid and one below it with sweeps, residual, restriction and correction all done."""
    rng = np.random.default_rng(5)
    grid, rates = layout.into
    x = rng.random(grid.size) * (layout.place >= 0).ravel().max()
    finest = Finest(grid, rates, layout.place >= 0, x, fast=fast)
    coarse_grid, aggregation = coarsened(
        grid, factors_along([n > 4 for n in grid.shape], wide=True)
    )
    coarse = Coarse(coarse_grid, aggregation, finest)
    below = Coarse(
        *coarsened(coarse_grid, factors_along([n > 1 for n in coarse_grid.shape], wide=False)),
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
    loops, _ = two_levels(layout, fast=False)
    written, finest = two_levels(layout, fast=True)
    cells, special = finest.cells, finest.frequent.special
    wide = cells.ends - cells.starts > 4
    assert np.any(wide & (special[cells.numbers] > 0))  # four rows have a middle
    for a, b in zip(written, loops, strict=True):
        assert a == pytest.approx(b, rel=1e-13, abs=0.0)  # sums in another order


def test_what_has_just_been_computed_is_not_read_again():
    """A queue with two phases: a state gets from the cell before, and from the slot before."""
    terms = (Term((), -2), Term((), 2)), (Term((), -1), Term((), 0), Term((), 3))
    lines = sweeps([Pattern(terms, 2)], "cells_by_rates")["unrolled"].splitlines()
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
    monkeypatch.setattr("markov.multigrid.grids.multigrid.LARGE", 1)
    monkeypatch.setattr("markov.multigrid.grids.hitting_times.equations.LARGE", 1)
    written = stationary(model, MatrixFree(tolerance=1e-14))
    # not the same iterates: where states are moved along, rows side by side find neighbours unswept
    assert abs(written.iterations - loops.iterations) <= 2
    assert np.abs(written.pi - loops.pi).sum() < 1e-12
    assert max(written.error_bound, loops.error_bound) < 1e-10


# Which kinds of cells are written out.


def test_the_most_frequent_kind_of_cell_comes_first():
    grid, _ = grid_layout(TANDEM).into
    candidates = of_grid(grid)
    chosen, numbers = frequent(candidates, grid.shares)
    # arrivals, departures from both queues; recovery into the lower state
    assert [len(terms) for terms in chosen[0].sums] == [4, 3]
    assert grid.shares[numbers == 1].sum() > 0.3
    assert grid.shares[numbers == 1].sum() >= grid.shares[numbers == 2].sum()
    for kind, number in enumerate(numbers.tolist()):
        assert number == 0 or chosen[number - 1] == candidates.pattern(kind)


def test_kinds_that_may_not_be_chosen_are_not():
    grid, _ = grid_layout(TANDEM).into
    chosen, numbers = frequent(of_grid(grid), 0.0 * grid.shares)
    assert chosen == []
    assert not numbers.any()


def test_a_pattern_knows_its_rows_and_how_far_ahead_the_other_row_has_to_be():
    sums = ((Term((1,), -6), Term((0,), 1)), (Term((-1,), 3), Term((1,), 0)))
    pattern = Pattern(sums, 2)
    assert pattern.leads == [(-1,), (1,)]
    assert pattern.lag == 3  # cells of two states
    assert pattern.size == 4


def test_large_cells_are_left_to_loops():
    terms = np.zeros((201, 4), dtype=np.int64)
    ends, none = np.array([0, 201]), np.empty((1, 0), dtype=np.int64)
    chosen, numbers = frequent(Candidates(terms, ends, np.array([0, 1]), none, 1), np.ones(1))
    assert chosen == []
    assert numbers.tolist() == [0]
    assert numbers.dtype == np.uint64
