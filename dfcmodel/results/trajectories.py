"""What a simulation returns: a trajectory, its figures of merit and its display."""

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
    """One run of a scenario, sampled at ``time``.

    Its arrays are the attributes of `dfcmodel.results.records.Records`.
    """

    @cached_property
    def measures(self) -> xr.Dataset:
        """What each flow and each link did, over the whole run: see `dfcmodel.results.run_measures`."""
        from dfcmodel.results.run_measures import measures

        return measures(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw efficiency, windows and occupancy below each other, over time.

        Parameters
        ----------
        ax
            Axes to draw only the efficiency on; None makes a new figure with the three panels.

        Returns
        -------
        The Axes of the efficiency; ``.figure`` is the whole.
        """
        from dfcmodel.results.plots import draw_efficiency, draw_panels

        return draw_panels(self) if ax is None else draw_efficiency(self, ax)

    def plot_space_time(self, ax: Any = None) -> Any:
        """Draw the packets queued at each node (upwards) over time, and where packets are lost.

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
        """Return the occupancy of the nodes in motion (takano2006, Figs. 12 and 13).

        In a notebook it plays; ``.save("queues.gif")`` writes a GIF, MP4 (with ffmpeg) or HTML file.

        Parameters
        ----------
        since, until
            The part to show in s; None is the end.
        frames
            How many pictures, evenly over that time.
        fps
            Pictures per second.

        Raises
        ------
        ValueError
            Naming the parameter, its value and what is allowed.
        """
        from dfcmodel.results.plots import Animation

        return Animation(self, since, until, frames, fps)

    def summary(self) -> dict[str, object]:
        """Return scenario, efficiency, losses and what proves the run."""
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
