"""Cyclic reduction of equal levels: any number of them, in little memory."""

from __future__ import annotations

import numpy as np
import pytest

from markov import MM1K, Levels, PauseTandem, stationary


@pytest.mark.parametrize("length", [3, 5, 6, 7, 8, 31, 64, 65, 100])
@pytest.mark.parametrize("rate", [3.0, 10.0, 40.0])
def test_any_number_of_equal_levels(length, rate):
    model = PauseTandem(buffers=(length, 4), high_threshold=3, arrival_rates=(rate, 1.0))
    one, all_levels = (stationary(model, Levels("i", cyclic=c)) for c in (True, False))
    np.testing.assert_allclose(one.pi, all_levels.pi, rtol=1e-11, atol=1e-300)


def test_cyclic_reduction_saves_memory():
    model = PauseTandem(buffers=(1000, 4), high_threshold=3)
    one, all_levels = (stationary(model, Levels("i", cyclic=c)) for c in (True, False))
    np.testing.assert_allclose(one.pi, all_levels.pi, rtol=1e-10, atol=1e-300)
    assert one.memory < 0.02 * all_levels.memory


@pytest.mark.parametrize("rates", [(20.0, 10.0), (10.0, 20.0)])
def test_ratios_beyond_float64_across_a_run(rates):
    arrival, service = rates
    answer = stationary(MM1K(arrival_rate=arrival, service_rate=service, capacity=5000), Levels())
    likely = answer.pi[::-1] if arrival > service else answer.pi
    np.testing.assert_allclose(likely[:900], 0.5 ** np.arange(1, 901), rtol=1e-12)
