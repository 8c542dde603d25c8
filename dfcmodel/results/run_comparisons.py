"""Runs side by side: one table, one figure, one animation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dfcmodel.results.animations import Animation
from dfcmodel.results.flow_recoveries import repairs_of
from dfcmodel.results.plots import (
    averaging_intervals,
    draw_efficiency,
    draw_goodput,
    draw_space_time,
    title_of,
)
from dfcmodel.results.summaries import first_flows
from dfcmodel.results.trajectories import Trajectory
from hopflow.fork_safety import cached_property
from hopflow.results import SideBySide, figure, stack_datasets
from hopflow.units import WithUnit, quantities

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

__all__ = ["RunComparison", "total_goodput"]


@dataclass(frozen=True, repr=False, eq=False)
class RunComparison(SideBySide[Trajectory]):
    """Runs side by side, as `compare` returns them.

    Attributes
    ----------
    compared
        The runs by label, in the order of the columns.

    Examples
    --------
    >>> from dfcmodel import compare, simulate, takano2006
    >>> scenarios = [takano2006("1", dfc=dfc) for dfc in (False, True)]
    >>> comparison = compare(*(simulate(scenario, duration=0.1, level="fluid") for scenario in scenarios))
    >>> list(comparison.compared)
    ['takano2006/1: FIFO, Tahoe', 'takano2006/1: DFC, Tahoe']
    >>> list(comparison.summary())[0], comparison.to_xarray().efficiency.dims
    ('goodput of target (packets/s)', ('run', 'flow', 'time'))
    """

    CALLED: ClassVar[str] = "runs"

    @staticmethod
    def names_of(results: Sequence[Trajectory]) -> list[str]:
        """Return labels: the scenarios' names; if some are equal, all with disciplines and sources, then level."""
        names = [run.scenario.name for run in results]
        if len(set(names)) < len(names):
            names = [title_of(run) for run in results]
        if len(set(names)) < len(names):
            levels = ("packets" if run.step == 0.0 else "fluid" for run in results)
            names = [f"{name}, {level}" for name, level in zip(names, levels, strict=True)]
        return names

    @cached_property
    def columns(self) -> dict[str, dict[str, str]]:
        """Texts by run and row: goodput of the first flows and of all, losses, queue, timeouts, status."""
        shown = first_flows(run.scenario for run in self.compared.values())
        return {label: _column(run, shown) for label, run in self.compared.items()}

    def plot(self, ax: Any = None) -> Any:
        """Draw each run's goodput and queues over time in panels, or on ``ax`` its total goodput; return the Axes.

        Runs of the scenarios of takano2006 have an additional panel of the efficiency.

        Parameters
        ----------
        ax
            Axes to draw only the goodput of each run's flows together on; None creates a new figure.

        Returns
        -------
        The Axes of the first run's goodput.
        """
        if ax is not None:
            for label, run in self.compared.items():
                ax.plot(*total_goodput(run), lw=1.0, label=label)
            ax.set(xlabel="time (s)", ylabel="goodput of all flows (packets/s)")
            ax.set_ylim(bottom=0)
            ax.legend(fontsize=8)
            return ax
        runs = self.compared
        shows_efficiency = all(run.scenario.has_efficiency for run in runs.values())
        rows = 3 if shows_efficiency else 2
        size = 1.0 + 4.0 * len(runs), 2.2 + 1.8 * rows
        _, panels = figure(*size, nrows=rows, ncols=len(runs), sharex=True, squeeze=False)
        top = max(float(run.queued.max()) for run in runs.values())
        for column, (label, run) in zip(panels.T, runs.items(), strict=True):
            draw_goodput(run, column[0]).set(title=label, xlabel="")
            if shows_efficiency:
                draw_efficiency(run, column[1]).set_xlabel("")
            draw_space_time(run, column[-1], top)
            column[0].legend(loc="lower right", fontsize=8)
        highest = max(panel.get_ylim()[1] for panel in panels[0])
        for panel in panels[0]:
            panel.set_ylim(0.0, highest)
        panels[-1, 0].set_xlim(0.0, max(float(run.time[-1]) for run in runs.values()))
        for panel in panels[:, 1:].flat:
            panel.set_ylabel("")
        return panels[0, 0]

    @quantities(since="time", until="time")
    def animate(
        self,
        since: WithUnit = 0.0,
        until: WithUnit | None = None,
        *,
        frames: int = 100,
        fps: int = 20,
    ) -> Animation:
        """Return an animation of the runs' queues, one above another, at the same times.

        Parameters as for `Trajectory.animate`. ``until=None`` is the end of the shortest run; frames are spaced over
        the samples of the first one.

        Raises
        ------
        ValueError
            For runs whose nodes differ, and for a parameter out of range.
        """
        first = next(iter(self.compared.values()))
        for label, run in self.compared.items():
            if run.scenario.senders != first.scenario.senders:
                why = "has other nodes than the first run, so their queues have no common axis"
                raise ValueError(f"{label}: {why}; found.compared[{label!r}].animate() shows it alone")
        return Animation(self.compared, since, until, frames, fps)

    def to_xarray(self) -> xr.Dataset:
        """Return the recorded quantities of all runs, with ``run`` as their first dimension.

        Raises
        ------
        ValueError
            For runs whose flows, nodes or times differ.
        """
        remedy = "found.compared[LABEL].to_xarray() has those of one run"
        data = {label: run.to_xarray() for label, run in self.compared.items()}
        return stack_datasets(data, "run", remedy, missing=("rate",))


def _column(run: Trajectory, shown: Sequence[str]) -> dict[str, str]:
    """Return the cells of a run's column, texts by names of the rows; only flows in ``shown`` have rows."""
    measures = run.measures
    goodput = measures.goodput.to_series()
    rows = {f"goodput of {name} (packets/s)": f"{goodput[name]:.4g}" for name in shown if name in goodput}
    if len(run.scenario.flows) > 1:
        rows["goodput of all flows (packets/s)"] = f"{goodput.sum():.4g}"
    peak = int(np.argmax(run.peak_queue))
    if repairs := repairs_of(run.scenario.flows, run.recoveries or ()):
        rows["recovery"] = repairs
    return rows | {
        "lost (packets)": f"{run.lost.sum():.0f}",
        "loss events": f"{run.loss_events.sum()}",
        "timeouts": f"{run.timeouts.sum()}",
        "largest queue (packets)": f"{run.peak_queue[peak]:.0f} at node {run.scenario.senders[peak]}",
        "status": str(run.status),
        "level": "packets" if run.step == 0.0 else f"fluid, step {run.step:g} s",
        "simulated (s)": f"{run.time[-1]:g}",
    }


def total_goodput(run: Trajectory) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of at most 100 intervals, s, and all flows' goodput in each, packets/s, (T,) each."""
    indices, seconds = averaging_intervals(run)
    delivered = np.concatenate([[0.0], run.delivered[:, indices].sum(axis=0)])
    return run.time[indices], np.diff(delivered) / seconds
