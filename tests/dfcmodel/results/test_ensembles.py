"""Ensembles: arrays, display, and intervals that cover what they should."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import Ensemble, ensemble, takano2006
from dfcmodel.results.ensembles import mean_interval


@pytest.fixture(scope="module")
def many() -> Ensemble:
    return ensemble(takano2006("1", dfc=False), runs=4, jitter=1e-3, duration=0.12)


def test_dataset_and_intervals(many) -> None:
    data = many.to_xarray()
    assert data["efficiency"].dims == ("run", "flow", "time")
    assert data["occupancy"].dims == ("run", "node", "time")
    assert data["losses"].dims == ("run", "flow", "node", "time")
    assert data["timeouts"].dims == ("run", "flow")
    np.testing.assert_array_equal(many.occupancy.sel(run=2).values, many.runs[2].queued)
    found = many.intervals(since=0.05)
    values = many.mean_efficiency(since=0.05)
    low, high = mean_interval(values)
    target = found["efficiency"].sel(flow="target")
    assert float(target.sel(estimate="mean")) == pytest.approx(values[:, 0].mean(), rel=1e-12)
    assert float(target.sel(estimate="low")) == pytest.approx(low[0], rel=1e-12)
    assert float(target.sel(estimate="high")) == pytest.approx(high[0], rel=1e-12)
    lost = np.mean([run.lost.sum(axis=2) for run in many.runs], axis=0)
    everything = many.intervals()["losses"].sel(estimate="mean")
    np.testing.assert_allclose(everything.values, lost, rtol=1e-12)
    assert lost[0, 0] > 0


def test_interval_is_students() -> None:
    """Four runs: half-width 3.182 standard errors; the level is kept to where it should be."""
    values = np.array([1.0, 2.0, 3.0, 4.0])
    low, high = mean_interval(values)
    assert (low + high) / 2 == pytest.approx(2.5)
    assert (high - low) / 2 == pytest.approx(3.182 * values.std(ddof=1) / 2, rel=1e-3)
    samples = np.random.default_rng(0).normal(size=(5, 20_000))
    low, high = mean_interval(samples, 0.9)
    # binomial: three standard deviations of 20,000 intervals
    assert np.mean((low < 0) & (high > 0)) == pytest.approx(0.9, abs=3 * (0.09 / 20_000) ** 0.5)


def test_display(many) -> None:
    assert "mean efficiency" in repr(many)
    assert "of chance alone" in repr(many), "the error of the model is not in the interval"
    assert "status" in repr(many)
    page = many._repr_html_()
    assert "data:image/png" in page
    ax = many.plot()
    middle = ax.lines[0].get_ydata()
    np.testing.assert_array_equal(middle, np.median(many.efficiency.values[:, 0], axis=0))
    assert sum(bar.get_width() for bar in ax.figure.axes[1].patches) == 2 * len(many)


def test_intervals_refuse(many) -> None:
    with pytest.raises(ValueError, match="level = 1"):
        many.intervals(level=1.0)
    with pytest.raises(ValueError, match="since = 5"):
        many.intervals(since=5.0)
