"""Measures over a range of parameters."""

from __future__ import annotations

import numpy as np
import pytest

from markov import PauseTandem, SparseLU, stationary, sweep


def test_sweep():
    data = sweep(PauseTandem(), high_threshold=range(14, 17), rtt=[0.5, 2.0])
    assert data.sizes == {"high_threshold": 3, "rtt": 2, "queue": 2, "expression": 3}
    assert data.throughput.dims == ("high_threshold", "rtt")
    for high in (14, 15, 16):
        for rtt in (0.5, 2.0):
            answer = stationary(PauseTandem(high_threshold=high, rtt=rtt))
            point = data.sel(high_threshold=high, rtt=rtt)
            assert float(point.throughput) == answer.throughput
            assert float(point.error_bound) == answer.error_bound
            np.testing.assert_array_equal(point.mean_queue, answer["mean_queue"])
    assert data.throughput.attrs["units"] == "packets/s"
    assert data.attrs["model"] == "PauseTandem()"
    best = data.throughput.idxmax("high_threshold")
    assert best.dims == ("rtt",)


def test_sweep_of_other_values():
    rates = [(25.0, 1.0), (25.0, 10.0, 1.0)]
    data = sweep(PauseTandem(), arrival_rates=rates, recovery=["always", "up"], method=SparseLU())
    assert data.throughput.shape == (2, 2)
    assert data.arrival_rates.values.tolist() == rates
    assert data.recovery.values.tolist() == ["always", "up"]
    whole = stationary(PauseTandem(arrival_rates=rates[1], recovery="up"), SparseLU())
    assert float(data.throughput[1, 1]) == whole.throughput
    none = sweep(PauseTandem(), low_threshold=[None, 5])
    assert none.throughput.shape == (2,)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"threshold": [1]}, "^threshold: PauseTandem has no such parameter, but buffers, high_"),
        ({"rtt": []}, r"^rtt = \[\]: at least one value is expected"),
        ({"high_threshold": [21]}, "^high_threshold = 21: must be"),
    ],
)
def test_sweep_refuses(parameters, said):
    with pytest.raises(ValueError, match=said):
        sweep(PauseTandem(), **parameters)
