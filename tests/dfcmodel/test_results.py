"""Trajectories: tables, netCDF, and what is drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from matplotlib.animation import FFMpegWriter
from PIL import Image

from dfcmodel import Link, Trajectory, simulate, takano2006
from dfcmodel.network.toml_reading import read_scenario
from dfcmodel.results.plots import _buffers
from hopflow.results import figure


@pytest.fixture(scope="module")
def run() -> Trajectory:
    """Scenario 1 without DFC: node 1 overflows before 0.1 s."""
    return simulate(takano2006("1", dfc=False), duration=0.15, sample=5e-3)


def renamed(run: Trajectory, *nodes: object) -> Trajectory:
    """The same trajectory with other names for its nodes; the last ones stay."""
    scenario = run.scenario
    names = {**{n: n for n in scenario.nodes}, **dict(zip(scenario.nodes, nodes, strict=False))}
    links = [replace(x, source=names[x.source], target=names[x.target]) for x in scenario.links]
    flows = [replace(x, path=[names[node] for node in x.path]) for x in scenario.flows]
    return replace(run, scenario=replace(scenario, links=links, flows=flows))


@pytest.mark.parametrize("nodes", [(), ("a", "b"), ((0, 0), (0, 1)), [str(n) for n in range(30)]])
def test_netcdf_gives_back_what_was_recorded(run, nodes, tmp_path) -> None:
    """Nodes may be numbers, texts, pairs, or mixed."""
    named = renamed(run, *nodes)
    assert list(named.to_xarray()["node"].values) == list(named.scenario.senders)
    with xr.open_dataset(named.to_netcdf(tmp_path / "new" / "run.nc")) as data:
        for name, values in named.to_xarray().data_vars.items():
            np.testing.assert_array_equal(data[name].values, values.values)
            assert data[name].attrs == values.attrs
        assert list(data["flow"].values) == ["target", "background"]
        assert [str(n) for n in data["node"].values] == [str(n) for n in named.scenario.senders]
        assert read_scenario(data.attrs["toml"]) == named.scenario


def test_panels_show_efficiency_windows_and_occupancy(run) -> None:
    top = run.plot()
    labels = [ax.get_ylabel() for ax in top.figure.axes[:3]]
    assert labels == ["efficiency", "window (packets)", "node"]
    np.testing.assert_array_equal(top.lines[0].get_ydata(), run.efficiency.values[0])
    windows, nodes = top.figure.axes[1:3]
    np.testing.assert_array_equal(windows.lines[1].get_ydata(), run.window[1])
    np.testing.assert_array_equal(nodes.images[0].get_array(), run.queued)


def test_one_axes_gets_the_efficiency_alone(run) -> None:
    ax = figure()[1]
    assert run.plot(ax) is ax
    assert len(ax.figure.axes) == 1
    assert len(ax.lines) == 2


def test_space_time_diagram_marks_losses(run) -> None:
    ax = run.plot_space_time()
    assert run.lost.sum() > 0
    dots = ax.lines[0]
    at, when = np.nonzero(run.lost.sum(axis=0))
    np.testing.assert_array_equal(dots.get_ydata(), at)
    np.testing.assert_array_equal(dots.get_xdata(), run.time[when])
    assert set(at) == {0}


def test_html_carries_table_and_picture(run) -> None:
    page = run._repr_html_()
    assert "largest queue" in page
    assert 'src="data:image/png;base64' in page
    assert 'alt="' in page


def test_animation_as_gif_has_its_frames_and_duration(run, tmp_path) -> None:
    film = run.animate(since=0.05, until=0.1, frames=4, fps=10)
    times = run.time[film.samples]
    assert len(times) == 4
    assert times[0] == pytest.approx(0.055)
    assert times[-1] == pytest.approx(0.1)
    assert "4 pictures from 0.055 s to 0.1 s" in repr(film)
    with Image.open(film.save(tmp_path / "films" / "queues.gif")) as picture:
        assert picture.n_frames == 4
        assert picture.info["duration"] == 100
        first = np.asarray(picture.convert("RGB")).copy()
        picture.seek(3)
        assert (np.asarray(picture.convert("RGB")) != first).any()


def test_animation_as_html_stands_alone(run, tmp_path) -> None:
    film = run.animate(frames=2)
    page = film.save(tmp_path / "queues.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64") == 2
    assert "queues over time: takano2006/1: FIFO, Tahoe" in page
    assert "<input" in page


def test_animation_needs_a_writer(run, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda cls: False))
    with pytest.raises(ValueError, match=r"queues.mp4.*ffmpeg.*\.gif"):
        run.animate().save(tmp_path / "queues.mp4")
    with pytest.raises(ValueError, match=r"queues.avi.*'.avi'.*must be one of '.gif'"):
        run.animate().save(tmp_path / "queues.avi")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"since": 0.2}, "since = 0.2"),
        ({"since": -1.0}, "since = -1"),
        ({"since": 0.1, "until": 0.05}, "until = 0.05"),
        ({"until": 9.0}, "until = 9"),
        ({"since": 0.1, "until": 0.104}, "two samples"),
        ({"frames": 1}, "frames = 1"),
        ({"fps": 0}, "fps = 0"),
    ],
)
def test_animation_refuses(run, arguments, part) -> None:
    with pytest.raises(ValueError, match=part):
        run.animate(**arguments)


def test_buffers_of_all_links_of_a_node_count() -> None:
    scenario = takano2006("1", dfc=False)
    fork = (*scenario.links, Link(1, 3, 1e4, 1e-4, 200))
    run = simulate(scenario, duration=0.01)
    buffers = _buffers(replace(run, scenario=replace(scenario, links=fork)))
    assert list(buffers[:3]) == [2000, 1800, 1800]
