"""Statements that are written out give what the loops give."""

from __future__ import annotations

import numpy as np
import pytest

from markov import MatrixFree, PauseTandem, stationary
from markov.stencils import unrolled
from tests.markov.stencils.conftest import TANDEM, grid_layout


def test_the_most_frequent_kind_of_cell_is_chosen():
    grid, _ = grid_layout(TANDEM).into
    every = np.ones(len(grid.kinds), dtype=bool)
    counts, chosen = unrolled.frequent(grid, every)
    assert counts == (4, 3)  # arrivals, departures from both queues; recovery into the lower state
    assert grid.shares[chosen].sum() > 0.3
    assert not unrolled.frequent(grid, ~every)[1].any()


def test_sums_of_flows_with_numbers_written_out():
    scope = {
        "zero": 0, "one": 1, "count": 2, "kind": 0, "begins": [0], "part_begin": [0], "last": 2,
        "width": 1, "s": 0, "v": 0, "source": [0, 1, 1], "rate": [2.0, 3.0, 5.0],
        "x": [1.0, 10.0, 100.0, 1000.0], "values": [0.0] * 4,
    }  # fmt: skip
    exec(unrolled.sum_of_rates((2, 1)), scope)  # noqa: S102
    assert scope["values"] == [32.0, 50.0, 3200.0, 5000.0]


@pytest.mark.slow  # it compiles kernels with and without
@pytest.mark.parametrize("rates", [(25.0, 1.0), (25.0, 10.0, 3.0, 1.0)])
def test_a_solution_is_the_same_with_loops(monkeypatch, rates):
    model = PauseTandem(buffers=(70, 91), high_threshold=60, low_threshold=31, arrival_rates=rates)
    loops = stationary(model, MatrixFree())
    monkeypatch.setattr("markov.stencils.multigrid.LARGE", 1)
    monkeypatch.setattr("markov.stencils.proofs.LARGE", 1)
    written = stationary(model, MatrixFree())
    assert written.iterations == loops.iterations
    assert np.abs(written.pi - loops.pi).sum() < 1e-13
    assert written.error_bound == pytest.approx(loops.error_bound, rel=0.1)
