"""Statements that are written out give what the loops give."""

from __future__ import annotations

import numpy as np
import pytest

from markov import PauseTandem
from markov.multigrid.grids.hitting_times.drifts import Drift
from markov.multigrid.grids.hitting_times.equations import HittingTimes
from markov.multigrid.grids.places import RECURRENT
from tests.markov.multigrid.grids.conftest import grid_layout


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
