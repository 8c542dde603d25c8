"""Kernels over rows of cells."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from markov import PauseTandem
from markov.multigrid.grids.coarse_levels import Coarse
from markov.multigrid.grids.coarsening import coarsened
from markov.multigrid.grids.hitting_times.drifts import Drift
from markov.multigrid.grids.hitting_times.equations import HittingTimes
from markov.multigrid.grids.loops import count_kernels, rate_kernels
from markov.multigrid.grids.loops.statements import constants
from markov.multigrid.grids.places import RECURRENT
from tests.markov.multigrid.grids.conftest import TANDEM, finest, grid_layout, grid_of, on_grid


def corrected():
    """Return the numbers of a level after a correction, and all of the level that corrected it."""
    level = finest(on_grid(np.random.default_rng(6).random(grid_of(TANDEM).places.size)))
    coarse = Coarse(*coarsened(level.grid, (1, 3)), level)
    coarse.restrict()
    factors = np.random.default_rng(7).random(len(coarse.x))
    coarse.x[:] = factors
    coarse.prolong()
    return coarse, [level.x, coarse.values, coarse.scale, coarse.carried(True, coarse.values)]


def test_flows_and_corrections_by_blocks_are_those_of_the_whole_grid(plain, blocks):
    coarse, found = corrected()
    assert len(coarse.blocks.apart) == 2
    blocks(10**9)
    coarse, expected = corrected()
    assert len(coarse.blocks.apart) == 1
    for a, b in zip(found, expected, strict=True):
        assert a == pytest.approx(b, rel=1e-13, abs=0.0)


def test_both_sorts_of_rates_have_the_same_functions():
    for name in rate_kernels.__all__:
        pair = (getattr(module, name) for module in (rate_kernels, count_kernels))
        ours, theirs = map(inspect.signature, pair)
        assert ours == theirs
    assert rate_kernels.at_row((), 0, 0) is rate_kernels.at_cell((), 0, 0) is None


def test_statements_add_to_numbers_without_a_sign():
    scope = {"uint64": np.uint64, "s": np.uint64(7)}
    with np.errstate(over="ignore"):
        exec("\n".join(constants(["s += _k21", "n = _k1"])), scope)  # noqa: S102
    assert scope["s"] == 28
    assert isinstance(scope["n"], np.uint64)


def hitting_times(layout):
    """Return the numbers of hitting times and of the levels below after a cycle, and their drift."""
    rng = np.random.default_rng(5)
    pi = rng.random(layout.out[0].size) * (layout.place >= 0).ravel().max()
    times = HittingTimes(layout, pi, np.float64)
    times.h[:] = rng.random(len(times.h))
    times.cycle(1)
    marks = np.full(len(times.h), RECURRENT, dtype=np.uint8)
    found = [array for level in times.levels for array in (level.out, level.values, level.x)]
    drift = Drift(times, layout, marks)
    found += [drift.bounded(), np.sort(drift.failing())]
    return times, [times.h, *found]


def test_hitting_times_are_those_of_the_loops(interpreted, monkeypatch):
    layout = grid_layout(PauseTandem(buffers=(7, 14), high_threshold=11))
    monkeypatch.setattr("markov.multigrid.grids.hitting_times.equations.COARSEST_LEVEL_STATES", 20)
    times, loops = hitting_times(layout)
    assert not times.finest.frequent.special.any()
    monkeypatch.setattr("markov.multigrid.grids.hitting_times.equations.LARGE", 1)
    times, written = hitting_times(layout)
    assert times.finest.frequent.special.any()
    for a, b in zip(written, loops, strict=True):  # coarse ones are in float32
        assert a == pytest.approx(b, rel=1e-5, abs=1e-5 * float(np.abs(b).max()))
