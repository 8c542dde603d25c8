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
    "averaging_intervals",
    "draw_efficiency",
    "draw_goodput",
    "draw_notifications",
    "draw_panels",
    "draw_space_time",
    "goodput_over_time",
    "label_sender_ticks",
    "title_of",
]

MAX_LABELS = 10
"""Largest number of nodes for which all tick labels are shown."""
MAX_COLOURED_FLOWS = 10
"""Largest number of flows with a colour and a label each."""
MIN_EXPLAINED_RATIO = 1.05
"""Smallest ratio of goodput to the rate of the fastest link that a remark explains."""
MAX_INTERVALS = 100
"""Largest number of intervals in a plot of goodputs: a sample may have too few packets for an average."""


def averaging_intervals(run: Records) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the sample indices at which at most 100 intervals end, and the lengths of the intervals, s; both (T,)."""
    indices = np.unique(np.linspace(0, len(run.time), MAX_INTERVALS + 1).astype(int)[1:])
    indices = indices[indices > 0] - 1
    return indices, np.diff(np.concatenate([[0.0], run.time[indices]]))


def goodput_over_time(run: Records) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of at most 100 intervals, s, (T,), and each flow's goodput in them, packets/s, (F, T)."""
    indices, seconds = averaging_intervals(run)
    delivered = np.concatenate([np.zeros((len(run.delivered), 1)), run.delivered[:, indices]], axis=1)
    return run.time[indices], np.diff(delivered, axis=1) / seconds


def draw_goodput(run: Records, ax: Any) -> Any:
    """Draw each flow's goodput over time, averaged over at most 100 intervals; return the Axes."""
    time, goodput = goodput_over_time(run)
    _draw_flows(run, ax, time, goodput)
    if goodput.max() > MIN_EXPLAINED_RATIO * max(link.rate for link in run.scenario.links):
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
    """Draw a labelled line per flow of values (F, T); many flows have one colour, and their mean a line."""
    flows = run.scenario.flows
    if len(flows) <= MAX_COLOURED_FLOWS:
        for flow, series in zip(flows, values, strict=True):
            ax.plot(time, series, lw=0.9, label=flow.name)
        return
    for n, series in enumerate(values):
        label = None if n else count_of(len(flows), "flow")
        ax.plot(time, series, lw=0.5, color=COLOURS[0], alpha=max(0.05, 8.0 / len(flows)), label=label)
    ax.plot(time, values.mean(axis=0), lw=1.4, color=COLOURS[1], label="mean")


def draw_space_time(run: Records, ax: Any, top: float | None = None) -> Any:
    """Draw packets queued at each node over time, darkest at ``top`` packets, and the losses; return the Axes.

    The darkest colour is for ``top`` packets (None: the largest queue). Returns the Axes; the colour bar
    is below them.
    """
    nodes, end = len(run.scenario.senders), run.time[-1]
    picture = ax.imshow(
        run.queued, aspect="auto", origin="lower", interpolation="nearest", cmap="Blues",
        extent=(0.0, end, -0.5, nodes - 0.5), vmin=0.0, vmax=max(1.0, float(run.queued.max()) if top is None else top),
    )  # fmt: skip
    node, sample = np.nonzero(run.lost.sum(axis=0))
    ax.plot(run.time[sample], node, ".", ms=2.5, color=COLOURS[1], label="packets lost")
    ax.set(xlabel="time (s)", ylabel="node", xlim=(0.0, end))
    label_sender_ticks(run, ax.yaxis)
    if sample.size:
        ax.legend(loc="upper right", fontsize=8)
    ax.figure.colorbar(picture, ax=ax, label="packets queued", location="bottom", aspect=50)
    return ax


def draw_notifications(run: Records, ax: Any = None) -> Any:
    """Draw each sender's congestion notifications as bars; return the Axes; ValueError if none were counted."""
    if run.notifications is None:
        raise ValueError(f"notifications of {run.scenario.name!r}: no flow has a rule that counts them, such as DCQCN")
    axes = figure(6.4, 3.2)[1] if ax is None else ax
    order = np.argsort(-run.notifications, kind="stable")
    axes.bar(np.arange(len(order)), run.notifications[order], width=1.0, color="#0072B2")
    axes.set(
        xlabel="sender, by its notifications", ylabel="congestion notifications",
        title=f"{run.scenario.name}: {run.notifications.sum()} congestion notifications",
    )  # fmt: skip
    if len(order) <= MAX_COLOURED_FLOWS:
        names = list(run.scenario.table.names)
        axes.set_xticks(range(len(order)), [names[f] for f in order])
    else:
        axes.set_xticks([])
    return axes


def draw_panels(run: Records) -> Any:
    """Draw panels of goodput, efficiency (takano2006 only), windows and occupancy; return the uppermost Axes."""
    efficiency = [draw_efficiency] if run.scenario.has_efficiency else []
    functions = [draw_goodput, *efficiency, draw_windows, draw_space_time]
    _, panels = figure(6.4, 2.0 + 1.55 * len(functions), nrows=len(functions), sharex=True)
    for draw, panel in zip(functions, panels, strict=True):
        draw(run, panel)
    panels[0].legend(loc="lower right", fontsize=8)
    for ax in panels[:-1]:
        ax.set_xlabel("")
    return panels[0]


def label_sender_ticks(run: Records, axis: Any) -> None:
    """Label at most ten ticks of an axis over the senders, all nodes with an outgoing link, with their names."""
    senders = run.scenario.senders
    stride = next(n for n in _label_strides() if len(senders) <= MAX_LABELS * n)
    labelled = range(stride - 1, len(senders), stride)
    axis.set_ticks(list(labelled), [str(senders[n]) for n in labelled])


def _label_strides() -> Iterator[int]:
    """Yield 1, 2, 5, 10, 20, 50, ..."""
    return (n * 10**power for power in itertools.count() for n in (1, 2, 5))


def title_of(run: Records) -> str:
    """Return a title for a run: the scenario's name, with its disciplines and sources if these are few."""
    scenario = run.scenario
    about = [type(link.discipline).__name__ for link in scenario.links]
    kinds = list(dict.fromkeys([*about, *(type(f.source).__name__ for f in scenario.flows)]))
    return f"{scenario.name}: {', '.join(kinds)}" if len(kinds) <= 4 else scenario.name
