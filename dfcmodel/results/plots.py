"""Plots of a trajectory: panels over time, the space-time diagram, and an animation of the queues."""

from __future__ import annotations

import html
import itertools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import choice, number, whole
from hopflow.progress import progress_bar
from hopflow.results import COLOURS, figure

if TYPE_CHECKING:
    from matplotlib.animation import AbstractMovieWriter
    from numpy.typing import NDArray

    from dfcmodel.results.records import Records

__all__ = ["Animation", "animation_format", "draw_goodput", "draw_panels", "draw_space_time"]

MAX_LABELS = 10
"""Largest number of nodes for which all tick labels are shown."""
MAX_LINES = 10
"""Flows that have a colour and a label each."""
INTERVALS = 100
"""Of a picture of goodputs: a record may hold too few packets for an average."""

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
"""On the buttons of a player, for matplotlib's icons, whose font comes from a network."""


def draw_goodput(run: Records, ax: Any) -> Any:
    """Draw each flow's goodput over time, averaged over at most 100 intervals; return the Axes."""
    ends = np.unique(np.linspace(0, len(run.time), INTERVALS + 1).astype(int)[1:])
    ends = ends[ends > 0] - 1
    times = np.concatenate([[0.0], run.time[ends]])
    told = np.concatenate([np.zeros((len(run.delivered), 1)), run.delivered[:, ends]], axis=1)
    _draw_flows(run, ax, run.time[ends], np.diff(told, axis=1) / np.diff(times))
    ax.set(xlabel="time (s)", ylabel="goodput (packets/s)", title=_title(run))
    ax.set_ylim(bottom=0)
    return ax


def draw_efficiency(run: Records, ax: Any) -> Any:
    """Draw each flow's efficiency over time; return the Axes."""
    _draw_flows(run, ax, run.time, run.efficiency.values)
    ax.set(xlabel="time (s)", ylabel="efficiency", ylim=(0, 1.05))
    return ax


def draw_windows(run: Records, ax: Any) -> Any:
    """Draw each flow's congestion window over time; return the Axes."""
    _draw_flows(run, ax, run.time, run.window)
    ax.set(xlabel="time (s)", ylabel="window (packets)")
    ax.set_ylim(bottom=0)
    return ax


def _draw_flows(run: Records, ax: Any, time: NDArray[np.float64], values: Any) -> None:
    """Draw a line per flow with its name; many flows in one colour, and their mean."""
    flows = run.scenario.flows
    if len(flows) <= MAX_LINES:
        for flow, own in zip(flows, values, strict=True):
            ax.plot(time, own, lw=0.9, label=flow.name)
        return
    for n, own in enumerate(values):
        label = None if n else f"{len(flows)} flows"
        ax.plot(time, own, lw=0.5, color=COLOURS[0], alpha=max(0.05, 8.0 / len(flows)), label=label)
    ax.plot(time, values.mean(axis=0), lw=1.4, color=COLOURS[1], label="mean")


def draw_space_time(run: Records, ax: Any) -> Any:
    """Draw the packets queued at each node over time in colours, and the losses.

    Returns the Axes; the colour bar is below them.
    """
    nodes, end = len(run.scenario.senders), run.time[-1]
    picture = ax.imshow(
        run.queued, aspect="auto", origin="lower", interpolation="nearest", cmap="Blues",
        extent=(0.0, end, -0.5, nodes - 0.5), vmin=0.0, vmax=max(1.0, float(run.queued.max())),
    )  # fmt: skip
    at, when = np.nonzero(run.lost.sum(axis=0))
    ax.plot(run.time[when], at, ".", ms=2.5, color=COLOURS[1], label="packets lost")
    ax.set(xlabel="time (s)", ylabel="node", xlim=(0.0, end))
    _name_nodes(run, ax.yaxis)
    if when.size:
        ax.legend(loc="upper right", fontsize=8)
    ax.figure.colorbar(picture, ax=ax, label="packets queued", location="bottom", aspect=50)
    return ax


def draw_panels(run: Records) -> Any:
    """Draw goodput, efficiency, windows and occupancy in four panels; return the uppermost Axes."""
    _, panels = figure(6.4, 8.2, nrows=4, sharex=True)
    draw_goodput(run, panels[0])
    draw_efficiency(run, panels[1])
    draw_windows(run, panels[2])
    draw_space_time(run, panels[3])
    panels[0].legend(loc="lower right", fontsize=8)
    for ax in panels[:3]:
        ax.set_xlabel("")
    return panels[0]


@dataclass(frozen=True, eq=False, repr=False)
class Animation:
    """An animation of the packets queued at each node (takano2006, Figs. 12 and 13).

    A notebook shows it with a player; `save` writes a file.

    Parameters
    ----------
    run
        The trajectory to show.
    since, until
        Time interval to show in s; None is the end of the run.
    frames
        Number of frames, evenly spaced over that interval, at least 2; at most one per sample.
    fps
        Frames per second.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.
    """

    run: Records
    since: float = 0.0
    until: float | None = None
    frames: int = 100
    fps: int = 20

    def __post_init__(self) -> None:
        whole("frames", self.frames, 2, 10_000)
        whole("fps", self.fps, 1, 240)
        end = float(self.run.time[-1])
        number("since", self.since, at_least=0.0, below=end)
        if self.until is not None:
            number("until", self.until, above=self.since, at_most=end)
        if len(self.samples) < 2:
            window = f"since = {self.since:g}, until = {self.until}"
            raise ValueError(f"{window}: at least two samples are needed between them")

    @property
    def samples(self) -> NDArray[np.int64]:
        """Indices of the samples shown, shape (at most ``frames``,)."""
        time = self.run.time
        last = time[-1] if self.until is None else self.until
        inside = np.flatnonzero((time > self.since) & (time <= last * (1 + 1e-12)))
        chosen = np.linspace(0, max(0, len(inside) - 1), min(self.frames, len(inside)))
        return inside[np.round(chosen).astype(np.int64)]

    def __repr__(self) -> str:
        time = self.run.time[self.samples]
        return (
            f"Animation of {self.run.scenario.name}: {len(time)} frames from {time[0]:g} s to "
            f"{time[-1]:g} s, {self.fps} per second"
        )

    def to_html(self) -> str:
        """Return an HTML element with embedded frames and a player in plain JavaScript."""
        import matplotlib as mpl
        from matplotlib.animation import HTMLWriter

        writer = HTMLWriter(fps=self.fps, embed_frames=True, default_mode="loop")
        with TemporaryDirectory() as folder, mpl.rc_context({"animation.embed_limit": 1000.0}):
            # in MB; frames beyond the limit would be left out
            page = Path(folder, "animation.html")
            self._write(writer, page)
            animation = re.sub(r"<link[^>]*>", "", page.read_text(encoding="utf-8"))
        animation = re.sub(r'<i class="fa fa-([^"]+)"></i>', lambda icon: SIGNS[icon[1]], animation)
        label = html.escape(f"queues over time: {_title(self.run)}", quote=True)
        return f'<div role="img" aria-label="{label}">{animation}</div>'

    def _repr_html_(self) -> str:
        return self.to_html()

    def save(self, path: str | Path) -> Path:
        """Write the animation to a file: ``.gif``, ``.mp4`` (with ffmpeg) or ``.html``.

        Raises
        ------
        ValueError
            For another kind of file, or an ``.mp4`` where ffmpeg is not installed.
        """
        from matplotlib.animation import FFMpegWriter, PillowWriter

        path = Path(path)
        kind = animation_format(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == ".html":
            path.write_text(self.to_html(), encoding="utf-8")
        else:
            self._write((PillowWriter if kind == ".gif" else FFMpegWriter)(fps=self.fps), path)
        return path

    def _write(self, writer: AbstractMovieWriter, path: Path) -> None:
        """Draw the frames into a writer of matplotlib."""
        run, samples = self.run, self.samples
        fig, ax = figure(6.4, 3.2)
        nodes = len(run.scenario.senders)
        edges = np.arange(nodes + 1) - 0.5
        bars = ax.stairs(np.zeros(nodes), edges, fill=True, color=COLOURS[0], label="queued")
        (dots,) = ax.plot([], [], "v", color=COLOURS[1], ms=6, label="packets lost")
        buffers = _buffers(run)
        top = max(1.0, float(run.queued[:, samples].max()))
        if top > 0.5 * buffers.min():
            ax.stairs(buffers, edges, color="0.4", ls=":", baseline=None, label="buffer")
            top = max(top, float(buffers[buffers < 2.0 * top].max(initial=0.0)))
        ax.set(xlim=(-0.5, nodes - 0.5), ylim=(0, 1.3 * top), xlabel="node")
        ax.set_ylabel("packets queued")
        ax.legend(loc="upper right", fontsize=8, ncols=3, frameon=False)
        _name_nodes(run, ax.xaxis)
        lost = run.lost.sum(axis=0)
        before = np.concatenate([[samples[0] - 1], samples[:-1]])
        counted = progress_bar(samples, desc="frames")
        with writer.saving(fig, path, dpi=100):
            for n, last in zip(counted, before, strict=True):
                bars.set_data(run.queued[:, n])
                (at,) = np.nonzero(lost[:, last + 1 : n + 1].sum(axis=1))
                dots.set_data(at, np.full(len(at), 1.06 * top))
                title = f"{_title(run)}, {run.time[n]:.3f} s"
                ax.set_title(title, fontsize=9, loc="left")
                if n == samples[0]:  # freeze the layout, so that the axes do not move
                    fig.draw_without_rendering()
                    fig.set_layout_engine("none")
                writer.grab_frame()
        if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
            pyplot.close(fig)  # a notebook would show the last frame below the animation


def animation_format(path: Path) -> str:
    """Return the ending of an animation's file; ValueError for a format that cannot be written."""
    from matplotlib.animation import FFMpegWriter

    kind = choice(f"ending of path {str(path)!r}", path.suffix, (".gif", ".mp4", ".html"))
    if kind == ".mp4" and not FFMpegWriter.isAvailable():
        msg = "ffmpeg is not installed: install it, or use the ending .gif or .html"
        raise ValueError(f"path = {str(path)!r}: {msg}")
    return kind


def _buffers(run: Records) -> NDArray[np.float64]:
    """Return the buffer of each sending node in packets, shape (L,)."""
    at = dict.fromkeys(run.scenario.senders, 0.0)
    for link in run.scenario.links:
        at[link.source] += link.buffer
    return np.array(list(at.values()))


def _name_nodes(run: Records, axis: Any) -> None:
    senders = run.scenario.senders
    every = next(n for n in _steps() if len(senders) <= MAX_LABELS * n)
    shown = range(every - 1, len(senders), every)
    axis.set_ticks(list(shown), [str(senders[n]) for n in shown])


def _steps() -> Iterator[int]:
    """Yield 1, 2, 5, 10, 20, 50, ..."""
    return (n * 10**power for power in itertools.count() for n in (1, 2, 5))


def _title(run: Records) -> str:
    """Return the scenario's name, with its disciplines and sources if these are few."""
    scenario = run.scenario
    about = [type(link.discipline).__name__ for link in scenario.links]
    kinds = list(dict.fromkeys([*about, *(type(f.source).__name__ for f in scenario.flows)]))
    return f"{scenario.name}: {', '.join(kinds)}" if len(kinds) <= 4 else scenario.name
