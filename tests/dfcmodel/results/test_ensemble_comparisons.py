"""Ensembles side by side: means with intervals, bands, arrays, and what is refused."""

from __future__ import annotations

import matplotlib.colors as colours
import numpy as np
import pytest

from dfcmodel import CBR, Flow, Scenario, chain, compare, ensemble
from tests.dfcmodel.intervals import student_interval


def some(name="s", buffer=20, runs=3):
    links = chain(2, rate=1e4, delay=1e-3, buffer=buffer)
    flows = [Flow(each, (1, 2), CBR(6e3)) for each in "ab"]
    return ensemble(Scenario(name, links, flows), runs, jitter=5e-3, duration=0.05)


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
    other = compare(found.compared["s"], ensemble(found.compared["s"].scenario, 2, duration=0.05))
    assert other.to_xarray().sizes["ensemble"] == 2  # another number of runs


def test_an_animation_is_refused_with_what_to_write(found) -> None:
    with pytest.raises(TypeError, match=r"runs\[0\]"):
        found.animate()
    assert compare(*(each.runs[0] for each in found.compared.values())).animate(frames=2)


def test_other_kinds_are_not_beside_ensembles(found) -> None:
    with pytest.raises(TypeError, match="given: ensembles and runs"):
        compare(found.compared["s"], found.compared["s"].runs[0])
