"""Ensembles, and their comparison."""

from __future__ import annotations

import matplotlib.colors as colours
import numpy as np
import pytest

from dfcmodel import CBR, Flow, Scenario, chain, compare, ensemble, takano2006
from dfcmodel.results import Ensemble
from dfcmodel.results.ensembles import mean_interval
from tests.dfcmodel.intervals import student_interval

# Ensembles: arrays, display, and intervals that cover what they should.


@pytest.fixture(scope="module")
def many() -> Ensemble:
    return ensemble(takano2006("1", dfc=False), runs=4, jitter=1e-3, duration=0.12, level="fluid")


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
    began = int(np.searchsorted(many.time, 0.05, side="right"))
    told = [
        (r.delivered[:, -1] - r.delivered[:, began - 1]) / (r.time[-1] - r.time[began - 1])
        for r in many.runs
    ]
    goodput = found["goodput"].sel(estimate="mean")
    np.testing.assert_allclose(goodput, np.mean(told, axis=0), rtol=1e-12)
    np.testing.assert_array_equal(goodput, np.mean(many.mean_goodput(0.05), axis=0))
    np.testing.assert_array_equal(many.goodput, [run.goodput for run in many.runs])
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


# Ensembles side by side: means with intervals, bands, arrays, and what is refused.


def some(name="s", buffer=20, runs=3):
    links = chain(2, rate=1e4, delay=1e-3, buffer=buffer)
    flows = [Flow(each, (1, 2), CBR(6e3)) for each in "ab"]
    return ensemble(Scenario(name, links, flows), runs, jitter=5e-3, duration=0.05, level="fluid")


@pytest.fixture(scope="module")
def found():
    return compare(some(), small=some(buffer=4))


def test_the_table_has_means_and_intervals(found) -> None:
    for label, many in found.compared.items():
        of_runs = np.array([run.delivered[:, -1].sum() / 0.05 for run in many.runs])
        low, high = student_interval(of_runs)
        said = f"{of_runs.mean():.4g} [{low:.4g}, {high:.4g}]"
        assert found.summary()["goodput of all flows (packets/s)"][label] == said
    assert list(found.compared) == ["s", "small"]
    assert "<td" in found._repr_html_()


def test_the_figure_has_a_panel_for_each_and_one_for_all(found) -> None:
    ax = found.plot()
    assert len(ax.figure.axes) == 3
    line, band = ax.lines[1], ax.collections[1]
    runs = [
        np.diff(run.delivered.sum(axis=0), prepend=0.0) / 0.01
        for run in found.compared["small"].runs
    ]
    np.testing.assert_allclose(line.get_ydata(), np.median(runs, axis=0))
    assert band.get_facecolor()[0][:3] == pytest.approx(colours.to_rgb(line.get_color()))
    assert found.plot(ax) is ax


def test_arrays_are_the_intervals_of_each(found) -> None:
    data = found.to_xarray().sel(ensemble="small")
    np.testing.assert_array_equal(data.losses, found.compared["small"].intervals().losses)
    other = compare(
        found.compared["s"], ensemble(found.compared["s"].scenario, 2, duration=0.05, level="fluid")
    )
    assert other.to_xarray().sizes["ensemble"] == 2  # another number of runs


def test_an_animation_is_refused_with_what_to_write(found) -> None:
    with pytest.raises(TypeError, match=r"runs\[0\]"):
        found.animate()
    assert compare(*(each.runs[0] for each in found.compared.values())).animate(frames=2)


def test_other_kinds_are_not_beside_ensembles(found) -> None:
    with pytest.raises(TypeError, match="given: ensembles and runs"):
        compare(found.compared["s"], found.compared["s"].runs[0])
