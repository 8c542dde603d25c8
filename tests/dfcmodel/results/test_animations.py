"""Animations: frames, files, several runs one above another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.animation import FFMpegWriter
from PIL import Image

from dfcmodel import Link, simulate, takano2006
from dfcmodel.results.animations import _buffers


def test_animation_as_gif_has_its_frames_and_duration(run, tmp_path) -> None:
    film = run.animate(since=0.05, until=0.1, frames=4, fps=10)
    times = run.time[film.samples]
    assert len(times) == 4
    assert times[0] == pytest.approx(0.055)
    assert times[-1] == pytest.approx(0.1)
    assert "4 frames from 0.055 s to 0.1 s" in repr(film)
    with Image.open(film.save(tmp_path / "films" / "queues.gif")) as picture:
        assert picture.n_frames == 4
        assert picture.info["duration"] == 100
        first = np.asarray(picture.convert("RGB")).copy()
        picture.seek(3)
        assert (np.asarray(picture.convert("RGB")) != first).any()


def test_animation_as_html_stands_alone(run, tmp_path) -> None:
    film = run.animate(frames=2)
    page = film.save(tmp_path / "queues.html").read_text(encoding="utf-8")
    assert '<img alt="queues" id="_anim_img' in page  # for a screen reader
    assert 'class="anim-slider" aria-label="frame"' in page
    assert page.count("data:image/png;base64") == 2
    assert "queues over time: takano2006/1: FIFO, Tahoe" in page
    assert "<input" in page
    assert "http" not in page  # no font of icons
    assert all(f">{sign}</button>" in "".join(page.split()) for sign in ("\u2212", "\u2016", "+"))


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
    run = simulate(scenario, duration=0.01, level="fluid")
    buffers = _buffers(replace(run, scenario=replace(scenario, links=fork)))
    assert list(buffers[:3]) == [2000, 1800, 1800]
