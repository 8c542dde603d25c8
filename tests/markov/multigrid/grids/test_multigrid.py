"""Cycles: convergence to the solution by elimination, combined iterates, memory."""

from __future__ import annotations

import numpy as np
import pytest

from markov import PauseTandem
from markov.computing.progress import watched
from markov.multigrid.grids.levels import SOURCE
from markov.multigrid.grids.multigrid import Multigrid
from markov.multigrid.grids.places import RECURRENT
from tests.markov.multigrid.grids.conftest import MODELS, TANDEM, exact, grid_of, matrix_of


def levels(model):
    layout = grid_of(model).layout
    n = layout.into[0].size
    return Multigrid(layout, np.full(n, 1.0 / n))


@pytest.mark.parametrize("model", MODELS[1:], ids=repr)
def test_every_probability_is_that_of_elimination(model, small):
    found = levels(model)
    assert len(found.levels) == 2
    with watched(1e-14) as history:
        cycles, residual = found.solve(1e-14, 60)
    assert residual <= 1e-14
    assert history[-1] == (cycles, residual)
    pi = grid_of(model).places.gathered(found.x)
    assert pi / pi.sum() == pytest.approx(exact(model)[0], rel=1e-11)


def test_sweeps_whose_iterates_are_combined_converge_sooner(small):
    alone, together = levels(TANDEM), levels(TANDEM)
    for _ in range(25):
        alone.finest.forward()
        together.finest.forward()
        together.combine(together.finest.residual()[0])
    assert together.finest.residual()[0] < 0.5 * alone.finest.residual()[0]


def test_it_goes_on_without_former_iterates_where_memory_is_short(small, monkeypatch):
    monkeypatch.setattr("markov.multigrid.grids.multigrid.available", lambda: 0.0)
    found = levels(TANDEM)
    found.combine(1.0)
    assert found.history == []


def test_levels_by_which_nothing_is_gained_are_laid_out_narrower(small, monkeypatch):
    found = levels(TANDEM)
    cycle, sizes = found.cycle, found.sizes
    found.cycle = lambda: None if found.wide else cycle()
    cycles, residual = found.solve(1e-10, 60)
    assert residual <= 1e-10
    assert 10 < cycles < 40
    assert found.sizes[1][0] > sizes[1][0]
    pi = grid_of(TANDEM).places.gathered(found.x)
    assert pi / pi.sum() == pytest.approx(exact(TANDEM)[0], rel=1e-7)
    monkeypatch.setattr("markov.multigrid.grids.multigrid.available", lambda: 0.0)
    alone = levels(TANDEM)
    alone.cycle = lambda: None
    assert alone.solve(1e-10, 60)[0] < 40
    assert alone.wide


def test_its_table_of_levels_begins_with_the_chain(small):
    found = levels(TANDEM)
    assert found.sizes[0][0] == found.x.size
    assert [size for size, _ in found.sizes] == sorted((s for s, _ in found.sizes), reverse=True)
    assert found.nbytes > found.x.nbytes


LONG = PauseTandem(buffers=(4, 28), high_threshold=4, paused_rate=1e-12)  # 13 decades per packet


def test_states_without_probability_settle_and_all_levels_agree_on_them(small):
    """Where a chain would underflow what flows out is what flows in, and what always does."""
    found, marks, told = levels(LONG), grid_of(LONG).places.marks, []
    cycle, found.cycle = found.cycle, lambda: (told.append(1), cycle())
    assert found.cycle_tails(3, 4, marks) == 3
    assert found.cycle_tails(3, 60, marks) == 3 + len(told) > 3
    for _ in range(8):
        found.cycle()
    x, counts, layout = found.x, (marks & RECURRENT) > 0, grid_of(LONG).layout
    assert x[counts].min() < 1e-270
    out = found.finest.spread(layout.into[1].exit_rate) * x
    surplus = out - matrix_of(*layout.into) @ x - SOURCE
    assert np.max(np.abs(surplus[counts]) / out[counts]) < 1e-2
