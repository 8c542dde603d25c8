"""Plots of a trajectory: panels over time, and the space-time diagram."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import count_of
from hopflow.results import COLOURS, figure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.results.records import Records

__all__ = [
    "draw_efficiency",
    "draw_goodput",
    "draw_notifications",
    "draw_panels",
    "draw_space_time",
    "goodput_over_time",
    "interval_ends",
    "name_nodes",
    "title_of",
]

MAX_LABELS = 10
"""Largest number of nodes for which all tick labels are shown."""
MAX_LINES = 10
"""Flows that have a colour and a label each."""
ABOVE_RATE = 1.05
"""Goodput over the rate of the fastest link from which a remark explains it."""
INTERVALS = 100
"""Of a picture of goodputs: a record may hold too few packets for an average."""


def interval_ends(run: Records) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the places in time of the ends of at most 100 intervals, and their lengths in s."""
    ends = np.unique(np.linspace(0, len(run.time), INTERVALS + 1).astype(int)[1:])
    ends = ends[ends > 0] - 1
    return ends, np.diff(np.concatenate([[0.0], run.time[ends]]))


def goodput_over_time(run: Records) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of at most 100 intervals, (T,), and each flow's goodput over them in packets/s, (F, T)."""
    ends, seconds = interval_ends(run)
    delivered = np.concatenate([np.zeros((len(run.delivered), 1)), run.delivered[:, ends]], axis=1)
    return run.time[ends], np.diff(delivered, axis=1) / seconds


def draw_goodput(run: Records, ax: Any) -> Any:
    """Draw each flow's goodput over time, averaged over at most 100 intervals; return the Axes."""
    time, goodput = goodput_over_time(run)
    _draw_flows(run, ax, time, goodput)
    if goodput.max() > ABOVE_RATE * max(link.rate for link in run.scenario.links):
        ax.annotate(
            "peaks above the link's rate: data in order, complete with a retransmission",
            (0.02, 0.95), xycoords="axes fraction", va="top", fontsize=7,
        )  # fmt: skip
    ax.set(xlabel="time (s)", ylabel="goodput (packets/s)", title=title_of(run))
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
        label = None if n else count_of(len(flows), "flow")
        ax.plot(time, own, lw=0.5, color=COLOURS[0], alpha=max(0.05, 8.0 / len(flows)), label=label)
    ax.plot(time, values.mean(axis=0), lw=1.4, color=COLOURS[1], label="mean")


def draw_space_time(run: Records, ax: Any, top: float | None = None) -> Any:
    """Draw the packets queued at each node over time in colours, and the losses.

    The darkest colour is for ``top`` packets (None: the largest queue). Returns the Axes; the colour bar
    is below them.
    """
    nodes, end = len(run.scenario.senders), run.time[-1]
    picture = ax.imshow(
        run.queued, aspect="auto", origin="lower", interpolation="nearest", cmap="Blues",
        extent=(0.0, end, -0.5, nodes - 0.5), vmin=0.0, vmax=max(1.0, float(run.queued.max()) if top is None else top),
    )  # fmt: skip
    at, when = np.nonzero(run.lost.sum(axis=0))
    ax.plot(run.time[when], at, ".", ms=2.5, color=COLOURS[1], label="packets lost")
    ax.set(xlabel="time (s)", ylabel="node", xlim=(0.0, end))
    name_nodes(run, ax.yaxis)
    if when.size:
        ax.legend(loc="upper right", fontsize=8)
    ax.figure.colorbar(picture, ax=ax, label="packets queued", location="bottom", aspect=50)
    return ax


def draw_notifications(run: Records, ax: Any = None) -> Any:
    """Draw the congestion notifications of each sender, those with most first, a bar each; ValueError where none were counted."""
    if run.notifications is None:
        raise ValueError(f"notifications of {run.scenario.name!r}: no flow has a rule that counts them, such as DCQCN")
    axes = figure(6.4, 3.2)[1] if ax is None else ax
    order = np.argsort(-run.notifications, kind="stable")
    axes.bar(np.arange(len(order)), run.notifications[order], width=1.0, color="#0072B2")
    axes.set(
        xlabel="sender, by its notifications", ylabel="congestion notifications",
        title=f"{run.scenario.name}: {run.notifications.sum()} congestion notifications",
    )  # fmt: skip
    if len(order) <= MAX_LINES:
        names = list(run.scenario.table.names)
        axes.set_xticks(range(len(order)), [names[f] for f in order])
    else:
        axes.set_xticks([])
    return axes


def draw_panels(run: Records) -> Any:
    """Draw goodput, windows and occupancy, of the paper's scenarios also efficiency, in a panel each; return the uppermost Axes."""
    efficiency = [draw_efficiency] if run.scenario.has_efficiency else []
    drawn = [draw_goodput, *efficiency, draw_windows, draw_space_time]
    _, panels = figure(6.4, 2.0 + 1.55 * len(drawn), nrows=len(drawn), sharex=True)
    for draw, panel in zip(drawn, panels, strict=True):
        draw(run, panel)
    panels[0].legend(loc="lower right", fontsize=8)
    for ax in panels[:-1]:
        ax.set_xlabel("")
    return panels[0]


def name_nodes(run: Records, axis: Any) -> None:
    """Label the ticks of an axis with the sending nodes, at most ten of them."""
    senders = run.scenario.senders
    every = next(n for n in _steps() if len(senders) <= MAX_LABELS * n)
    shown = range(every - 1, len(senders), every)
    axis.set_ticks(list(shown), [str(senders[n]) for n in shown])


def _steps() -> Iterator[int]:
    """Yield 1, 2, 5, 10, 20, 50, ..."""
    return (n * 10**power for power in itertools.count() for n in (1, 2, 5))


def title_of(run: Records) -> str:
    """Return the scenario's name, with its disciplines and sources if these are few."""
    scenario = run.scenario
    about = [type(link.discipline).__name__ for link in scenario.links]
    kinds = list(dict.fromkeys([*about, *(type(f.source).__name__ for f in scenario.flows)]))
    return f"{scenario.name}: {', '.join(kinds)}" if len(kinds) <= 4 else scenario.name
