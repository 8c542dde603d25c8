"""Weights and costs follow from probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from markov.multigrid.grids.hitting_times.weights import MIN_WEIGHT, TAIL, weights_of
from tests.markov.multigrid.grids.conftest import TANDEM, exact, on_grid


def test_costs_are_a_power_of_the_probability(plain):
    pi = on_grid(exact(TANDEM)[0])
    found = weights_of(pi)
    some = pi > 0.0
    costs = found.costs[found.levels[some]]
    expected = (pi[some] / pi.max()) ** TAIL
    assert np.all((costs <= expected * (1.0 + 1e-12)) & (costs >= expected / 1.75))  # 256^0.1
    assert found.least == pytest.approx(MIN_WEIGHT * pi.max())
