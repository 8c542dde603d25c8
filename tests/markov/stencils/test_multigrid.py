"""Cycles: convergence to the solution by elimination, combined iterates, memory."""

from __future__ import annotations

import numpy as np
import pytest

from markov.computing.progress import watched
from markov.stencils.multigrid import Multigrid
from tests.markov.stencils.conftest import MODELS, TANDEM, exact, grid_of


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
    monkeypatch.setattr("markov.stencils.multigrid.available", lambda: 0.0)
    found = levels(TANDEM)
    found.combine(1.0)
    assert found.history == []


def test_its_table_of_levels_begins_with_the_chain(small):
    found = levels(TANDEM)
    assert found.sizes[0][0] == found.x.size
    assert [size for size, _ in found.sizes] == sorted((s for s, _ in found.sizes), reverse=True)
    assert found.nbytes > found.x.nbytes
