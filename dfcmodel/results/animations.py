"""Animation of the queues of one run, or of several one above another."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.results.plots import label_sender_ticks
from dfcmodel.results.records import samples_until
from hopflow.checks import choice, integer, number
from hopflow.progress import progress_bar
from hopflow.results import COLOURS, figure
from hopflow.whole_files import replacing

if TYPE_CHECKING:
    from matplotlib.animation import AbstractMovieWriter
    from numpy.typing import NDArray

    from dfcmodel.results.records import Records

__all__ = ["Animation", "animation_format"]

SIGNS = {
    "minus": "\N{MINUS SIGN}",
    "fast-backward": "|\N{BLACK LEFT-POINTING TRIANGLE}\N{VARIATION SELECTOR-15}",
    "step-backward": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
    "play fa-flip-horizontal": "\N{BLACK LEFT-POINTING TRIANGLE}\N{VARIATION SELECTOR-15}",
    "pause": "\N{DOUBLE VERTICAL LINE}",
    "play": "\N{BLACK RIGHT-POINTING TRIANGLE}\N{VARIATION SELECTOR-15}",
    "step-forward": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
    "fast-forward": "\N{BLACK RIGHT-POINTING TRIANGLE}\N{VARIATION SELECTOR-15}|",
    "plus": "+",
}
"""Characters for the buttons of a player, in place of matplotlib's icons, whose font comes from a network."""


@dataclass(frozen=True, eq=False, repr=False)
class Animation:
    """An animation of the packets queued at each node (takano2006, Figs. 12 and 13).

    A notebook shows it with a player; `save` writes a file.

    Parameters
    ----------
    runs
        The trajectories to show, by label; their nodes are the same.
    since, until, frames, fps
        As of `Trajectory.animate`, with its errors; None is the end of the shortest run. There is at most one frame per
        sample of the first run, and others are shown at their latest sample before.
    """

    runs: Mapping[str, Records]
    since: float = 0.0
    until: float | None = None
    frames: int = 100
    fps: int = 20

    def __post_init__(self) -> None:
        integer("frames", self.frames, 2, 10_000)
        integer("fps", self.fps, 1, 240)
        end = self._end
        number("since", self.since, at_least=0.0, below=end)
        if self.until is not None:
            number("until", self.until, above=self.since, at_most=end)
        if len(self.samples) < 2:
            window = f"since = {self.since:g}, until = {self.until}"
            msg = "at least two samples are needed between them: give simulate a shorter sample"
            raise ValueError(f"{window}: {msg}")

    @property
    def _end(self) -> float:
        """End of the shortest run, s, which bounds the animation."""
        return min(float(run.time[-1]) for run in self.runs.values())

    @property
    def time(self) -> NDArray[np.float64]:
        """Sample times, s, of the first run, (T,), at which the queues of all runs are shown."""
        return next(iter(self.runs.values())).time

    @property
    def samples(self) -> NDArray[np.int64]:
        """Indices of the shown samples of the first run, shape (at most ``frames``,)."""
        limits = np.array([self.since, self._end if self.until is None else self.until])
        indices = np.arange(*samples_until(self.time, limits).tolist())
        positions = np.linspace(0, max(0, len(indices) - 1), min(self.frames, len(indices)))
        return indices[np.round(positions).astype(np.int64)]

    @property
    def _name(self) -> str:
        """Labels of the runs, joined."""
        return "; ".join(self.runs)

    def __repr__(self) -> str:
        time = self.time[self.samples]
        return (
            f"Animation of {self._name}: {len(time)} frames from {time[0]:g} s to {time[-1]:g} s, {self.fps} per second"
        )

    def to_html(self) -> str:
        """Return an HTML element with embedded frames and a player in plain JavaScript."""
        import matplotlib as mpl
        from markupsafe import Markup
        from matplotlib.animation import HTMLWriter

        writer = HTMLWriter(fps=self.fps, embed_frames=True, default_mode="loop")
        with TemporaryDirectory() as folder, mpl.rc_context({"animation.embed_limit": 1000.0}):
            # in MB; frames beyond the limit would be left out
            page = Path(folder, "animation.html")
            self._write(writer, page)
            animation = re.sub(r"<link[^>]*>", "", page.read_text(encoding="utf-8"))
        animation = re.sub(r'<i class="fa fa-([^"]+)"></i>', lambda icon: SIGNS[icon[1]], animation)
        # matplotlib names the buttons, not the picture and the slider
        animation = animation.replace('<img id="_anim_img', '<img alt="queues" id="_anim_img')
        animation = animation.replace('class="anim-slider"', 'class="anim-slider" aria-label="frame"')
        around = Markup('<div role="group" aria-label="{}">{}</div>')
        return around.format(f"queues over time: {self._name}", Markup(animation))

    def _repr_html_(self) -> str:
        """Return `to_html`, which notebooks show."""
        return self.to_html()

    def save(self, path: str | Path) -> Path:
        """Write the animation to a file: ``.gif``, ``.mp4`` (with ffmpeg) or ``.html``; return the path.

        Raises
        ------
        ValueError
            For another kind of file, or an ``.mp4`` where ffmpeg is not installed.
        """
        from matplotlib.animation import FFMpegWriter, PillowWriter

        path = Path(path)
        kind = animation_format(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as scratch:
            if kind == ".html":
                scratch.write_text(self.to_html(), encoding="utf-8")
            else:
                writer = PillowWriter if kind == ".gif" else FFMpegWriter
                self._write(writer(fps=self.fps), scratch)
        return path

    def _write(self, writer: AbstractMovieWriter, path: Path) -> None:
        """Draw the frames into a writer of matplotlib."""
        count, times = len(self.runs), self.time[self.samples]
        samples = [samples_until(run.time, times) - 1 for run in self.runs.values()]
        fig, axes = figure(6.4, 3.2 + 2.6 * (count - 1), nrows=count, sharex=True, squeeze=False)
        tops = [_top(run, at) for run, at in zip(self.runs.values(), samples, strict=True)]
        panels = [
            _Panel(run, label, ax, max(tops)) for (label, run), ax in zip(self.runs.items(), axes[:, 0], strict=True)
        ]
        axes[-1, 0].set_xlabel("node")
        axes[0, 0].legend(loc="upper right", fontsize=8, ncols=3, frameon=False)
        counted = progress_bar(range(len(times)), desc="frames")
        with writer.saving(fig, path, dpi=100):
            for n in counted:
                for panel, at in zip(panels, samples, strict=True):
                    panel.show(at[n - 1] if n else at[0] - 1, at[n], times[n])
                if n == 0:  # freeze the layout, so that the axes do not move
                    fig.draw_without_rendering()
                    fig.set_layout_engine("none")
                writer.grab_frame()
        if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
            pyplot.close(fig)  # a notebook would show the last frame below the animation


class _Panel:
    """A drawing of one run's queues: bars, and dots at nodes that lost packets since the previous frame."""

    def __init__(self, run: Records, label: str, ax: Any, top: float) -> None:
        self.run, self.label, self.ax, self.top = run, label, ax, top
        self.lost = run.lost.sum(axis=0)
        nodes = len(run.scenario.senders)
        edges, buffers = np.arange(nodes + 1) - 0.5, _buffers(run)
        self.bars = ax.stairs(np.zeros(nodes), edges, fill=True, color=COLOURS[0], label="queued")
        (self.dots,) = ax.plot([], [], "v", color=COLOURS[1], ms=6, label="packets lost")
        if top > 0.5 * buffers.min():
            ax.stairs(buffers, edges, color="0.4", ls=":", baseline=None, label="buffer")
        ax.set(xlim=(-0.5, nodes - 0.5), ylim=(0, 1.3 * top), ylabel="packets queued")
        label_sender_ticks(run, ax.xaxis)

    def show(self, before: int, sample: int, time: float) -> None:
        """Show the queues at a sample (-1: empty), nodes with losses after sample ``before`` up to it, and time, s."""
        queued = self.run.queued[:, sample] if sample >= 0 else np.zeros(len(self.lost))
        self.bars.set_data(queued)
        (nodes,) = np.nonzero(self.lost[:, max(0, before + 1) : sample + 1].sum(axis=1))
        self.dots.set_data(nodes, np.full(len(nodes), 1.06 * self.top))
        self.ax.set_title(f"{self.label}, {time:.3f} s", fontsize=9, loc="left")


def _top(run: Records, samples: NDArray[np.int64]) -> float:
    """Return the top of the axis, packets: the largest queue at samples, or a buffer less than twice as large."""
    buffers = _buffers(run)
    top = max(1.0, float(run.queued[:, np.maximum(samples, 0)].max()))
    if top > 0.5 * buffers.min():
        top = max(top, float(buffers[buffers < 2.0 * top].max(initial=0.0)))
    return top


def animation_format(path: Path) -> str:
    """Return the suffix of an animation's file; ValueError for a format that cannot be written."""
    from matplotlib.animation import FFMpegWriter

    kind = choice(f"ending of path {str(path)!r}", path.suffix, (".gif", ".mp4", ".html"))
    if kind == ".mp4" and not FFMpegWriter.isAvailable():
        msg = "ffmpeg is not installed: install it, or use the ending .gif or .html"
        raise ValueError(f"path = {str(path)!r}: {msg}")
    return kind


def _buffers(run: Records) -> NDArray[np.float64]:
    """Return the buffers of each sending node's links together, packets, shape (number of senders,)."""
    total = dict.fromkeys(run.scenario.senders, 0.0)
    for n, link in enumerate(run.scenario.links):
        total[link.source] += run.scenario.buffer_of(n)
    return np.array(list(total.values()))
