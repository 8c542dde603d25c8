"""The result of a simulation: a trajectory with its measures and display."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.results.records import Records
from hopflow.results import Result, figure

if TYPE_CHECKING:
    import xarray as xr

    from dfcmodel.results.plots import Animation

__all__ = ["Trajectory"]


@dataclass(frozen=True, repr=False, eq=False)
class Trajectory(Records, Result):
    """One run of a scenario, sampled at ``time``, as `simulate` returns it.

    The recorded arrays and their shapes are those of `dfcmodel.results.records.Records`: ``time``,
    ``in_transit``, ``delivered``, ``window``, ``backlog``, ``round_trip``, ``lost``, ``queued``,
    ``peak_queue``, ``timeouts``, ``loss_events``, ``imbalance``, ``first_loss``, ``finished``,
    ``carried`` and ``mean_queue``.

    Examples
    --------
    >>> from dfcmodel import simulate, takano2006
    >>> run = simulate(takano2006("1"), duration=0.2)
    >>> run.status.ok, run.window.shape
    (True, (2, 200))
    >>> axes = run.plot()
    >>> axes.figure.savefig("run.png")  # doctest: +SKIP
    """

    @cached_property
    def measures(self) -> xr.Dataset:
        """Performance measures of flows and links, see `dfcmodel.results.run_measures.measures`."""
        from dfcmodel.results.run_measures import measures

        return measures(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw efficiency, windows and occupancy over time in three panels.

        Parameters
        ----------
        ax
            Axes to draw only the efficiency on; None makes a new figure with the three panels.

        Returns
        -------
        The Axes of the efficiency.
        """
        from dfcmodel.results.plots import draw_efficiency, draw_panels

        return draw_panels(self) if ax is None else draw_efficiency(self, ax)

    def plot_space_time(self, ax: Any = None) -> Any:
        """Draw the packets queued at each node (vertical axis) over time, and the losses.

        Parameters
        ----------
        ax
            Axes to draw on; None makes new ones.

        Returns
        -------
        The Axes.
        """
        from dfcmodel.results.plots import draw_space_time

        return draw_space_time(self, figure()[1] if ax is None else ax)

    def animate(
        self, since: float = 0.0, until: float | None = None, *, frames: int = 100, fps: int = 20
    ) -> Animation:
        """Return an animation of the queues of the nodes (takano2006, Figs. 12 and 13).

        A notebook plays it; ``.save("queues.gif")`` writes a GIF, MP4 (with ffmpeg) or HTML file.

        Parameters
        ----------
        since, until
            Time interval to show in s; None is the end of the run.
        frames
            Number of frames, evenly spaced over that interval.
        fps
            Frames per second.

        Raises
        ------
        ValueError
            Naming the parameter, its value and what is allowed.
        """
        from dfcmodel.results.plots import Animation

        return Animation(self, since, until, frames, fps)

    def summary(self) -> dict[str, object]:
        """Return scenario, efficiency, losses, largest queue, imbalance and step."""
        scenario = self.scenario
        rows: dict[str, object] = {
            "status": self.status,
            "scenario": f"{scenario.name}, {len(scenario.nodes)} nodes, {len(scenario.flows)} flows",
        }
        means = self.mean_efficiency()
        for f, flow in enumerate(scenario.flows):
            rows[f"{flow.name}"] = (
                f"{type(flow.source).__name__}: efficiency {means[f]:.3f}, lost "
                f"{self.lost[f].sum():.0f} packets, {self.loss_events[f]} loss events, "
                f"{self.timeouts[f]} timeouts"
            )
        node = int(np.argmax(self.peak_queue))
        rows["largest queue"] = (
            f"{self.peak_queue[node]:.0f} packets at node {scenario.senders[node]}"
        )
        rows["imbalance"] = f"{self.imbalance.max():.1e} of the packets emitted"
        rows["step"] = f"{self.step:g} s, {self.time[-1]:g} s simulated in {self.seconds:.2f} s"
        return rows
