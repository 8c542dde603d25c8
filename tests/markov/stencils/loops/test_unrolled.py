"""Statements that are written out give what the loops give."""

from __future__ import annotations

import numpy as np
import pytest

from hopflow.kernels import build
from markov import MatrixFree, PauseTandem, stationary
from markov.stencils import levels, proofs
from markov.stencils.coarsening import coarsened, factors_along
from markov.stencils.hitting_times.equations import HittingTimes
from markov.stencils.levels import Coarse, Finest
from markov.stencils.places import RECURRENT
from tests.markov.stencils.conftest import grid_layout


@pytest.fixture
def interpreted(monkeypatch):
    """Run kernels as plain Python, with statements spliced in."""

    def run(kernel, *arguments, helpers=(), **snippets):
        function = build(kernel, helpers=helpers, snippets=snippets or None, compiled=False)
        return lambda: function(*arguments)

    monkeypatch.setattr(levels, "bound_kernel", run)
    with np.errstate(over="ignore"):
        yield


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


def hitting_times(layout):
    """Return the numbers of hitting times and of the levels below after a cycle, and their drift."""
    rng = np.random.default_rng(5)
    pi = rng.random(layout.out[0].size) * (layout.place >= 0).ravel().max()
    times = HittingTimes(layout, pi, np.float64)
    times.h[:] = rng.random(len(times.h))
    times.cycle(1)
    marks = np.full(len(times.h), RECURRENT, dtype=np.uint8)
    found = [array for level in times.levels for array in (level.out, level.values, level.x)]
    return times, [times.h, *found, proofs._drift(times, marks)]


def test_hitting_times_are_those_of_the_loops(interpreted, monkeypatch):
    layout = grid_layout(PauseTandem(buffers=(7, 14), high_threshold=11))
    monkeypatch.setattr("markov.stencils.hitting_times.equations.SMALL", 20)
    times, loops = hitting_times(layout)
    assert not times.finest.special.any()
    monkeypatch.setattr("markov.stencils.hitting_times.equations.LARGE", 1)
    times, written = hitting_times(layout)
    assert times.finest.special.any()
    for a, b in zip(written, loops, strict=True):  # coarse ones are in float32
        assert a == pytest.approx(b, rel=1e-5, abs=1e-5 * float(np.abs(b).max()))


@pytest.mark.parametrize("rates", [(25.0, 1.0), (25.0, 5.0, 1.0)])
def test_rows_side_by_side_are_swept_as_one_after_another(interpreted, rates):
    model = PauseTandem(buffers=(7, 14), high_threshold=11, arrival_rates=rates)
    layout = grid_layout(model)
    loops, _ = two_levels(layout, fast=False)
    written, finest = two_levels(layout, fast=True)
    _, starts, ends, numbers = finest.lines[1:]
    assert np.any((ends - starts > 4) & (finest.special[numbers] > 0))  # four rows have a middle
    for a, b in zip(written, loops, strict=True):
        assert a == pytest.approx(b, rel=1e-13, abs=0.0)  # sums in another order


@pytest.mark.slow  # it compiles kernels with and without
@pytest.mark.parametrize("rates", [(25.0, 1.0), (25.0, 10.0, 3.0, 1.0)])
def test_a_solution_is_the_same_with_loops(monkeypatch, rates):
    model = PauseTandem(buffers=(70, 91), high_threshold=60, low_threshold=31, arrival_rates=rates)
    loops = stationary(model, MatrixFree(tolerance=1e-14))
    monkeypatch.setattr("markov.stencils.multigrid.LARGE", 1)
    monkeypatch.setattr("markov.stencils.hitting_times.equations.LARGE", 1)
    written = stationary(model, MatrixFree(tolerance=1e-14))
    # not the same iterates: where states are moved along, rows side by side find neighbours unswept
    assert abs(written.iterations - loops.iterations) <= 2
    assert np.abs(written.pi - loops.pi).sum() < 1e-12
    assert max(written.error_bound, loops.error_bound) < 1e-10
