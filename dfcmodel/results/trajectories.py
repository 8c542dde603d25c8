"""The result of a simulation: a trajectory with its measures and display."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.results.loss_summaries import largest_queue, places_of_losses
from dfcmodel.results.records import Records
from hopflow.results import Result, figure
from hopflow.status import Status

if TYPE_CHECKING:
    import xarray as xr

    from dfcmodel.network.flows import Flow
    from dfcmodel.results.animations import Animation
    from dfcmodel.results.pauses import PauseDeadlock, PauseStorm

__all__ = ["Trajectory"]

MAX_ROWS = 10
"""Flows that a table lists one by one."""


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _source(flow: Flow, recovery: str) -> str:
    """Return the class of a flow's source, with the recovery where the method overrides the rule's."""
    name = type(flow.source).__name__
    own = getattr(flow.source, "recovery", recovery)
    return name if recovery in ("", own) else f"{name} with recovery {recovery!r}"


@dataclass(frozen=True, repr=False, eq=False)
class Trajectory(Records, Result):
    """One run of a scenario, sampled at ``time``, as `simulate` returns it.

    The recorded arrays and their shapes are those of `dfcmodel.results.records.Records`: ``time``,
    ``in_transit``, ``delivered``, ``window``, ``backlog``, ``round_trip``, ``lost``, ``queued``,
    ``peak_queue``, ``timeouts``, ``loss_events``, ``imbalance``, ``first_loss``, ``finished``,
    ``carried``, ``mean_queue``, ``started``, ``paused``, ``recoveries`` and ``choice``.

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

    @property
    def status(self) -> Status:
        """COMPLETED when every packet is accounted for to 1e-12 and every number is finite.

        INACCURATE when an accuracy was asked for (`Fluid`) and the error from the step may be larger.
        STORM when besides a port pauses others for ever by a fault, `storm` names it; else DEADLOCKED when
        links pause each other in a circle for ever, `deadlock` names them.
        """
        status = super().status
        if status is Status.COMPLETED and self.storm is not None:
            return Status.STORM
        stuck = status is Status.COMPLETED and self.deadlock is not None
        return Status.DEADLOCKED if stuck else status

    @cached_property
    def limits(self) -> tuple[str, ...]:
        """Known limits of the fluid that apply to this run, with what was measured there; empty at packet level.

        Examples
        --------
        Between two full directions ACKs queue, which the fluid leaves out:

        >>> from dfcmodel import Flow, Link, Scenario, simulate
        >>> from responsefn import NewReno
        >>> links = Link(1, 2, 1000.0, 0.01, 20), Link(2, 1, 1000.0, 0.01, 20)
        >>> flows = Flow("a", (1, 2), NewReno()), Flow("b", (2, 1), NewReno())
        >>> run = simulate(Scenario("both ways", links, flows, duration=1.0))
        >>> [limit.partition(":")[0] for limit in run.limits]
        ['two-way traffic']
        """
        from dfcmodel.results.limits import limits_of_run

        return limits_of_run(self)

    @cached_property
    def storm(self) -> PauseStorm | None:
        """Ports that pause others for ever by a fault, and the links that stand still for it; None: no port does.

        Examples
        --------
        The port to node 4 fails after 50 ms; its pauses make queues grow that pause others:

        >>> from dfcmodel import CBR, Flow, Pause, Scenario, chain, simulate
        >>> links = list(chain(4, rate=1e4, delay=1e-3, buffer=200, discipline=Pause(high=50, low=25)))
        >>> links[2] = links[2].__class__(3, 4, 1e4, 1e-3, 200, Pause(high=50, low=25, storm=0.05))
        >>> flows = [Flow("a", (1, 2, 3, 4), CBR(8e3)), Flow("b", (1, 2, 3), CBR(1e3))]
        >>> run = simulate(Scenario("storm", links, flows, duration=0.1))
        >>> run.status.label, run.storm.ports, run.storm.stopped
        ('storm', ('3->4',), ('1->2', '2->3'))
        """
        from dfcmodel.results.pauses import storm_of

        return storm_of(self)

    @cached_property
    def deadlock(self) -> PauseDeadlock | None:
        """Links that pause each other in a circle at the end of the run, and so for ever; None: none do.

        Examples
        --------
        >>> from dfcmodel import simulate
        >>> from dfcmodel.lossless import deadlock, torus
        >>> run = simulate(deadlock(torus([4])).scenario())
        >>> run.status.label, run.deadlock.cycle
        ('deadlocked', ('0->1', '1->2', '2->3', '3->0'))
        """
        from dfcmodel.results.pauses import deadlock_of

        return deadlock_of(self)

    def pauses(self) -> xr.Dataset:
        """Return when each link was paused and by whom, a table with a row (``pause``) for each time.

        Returns
        -------
        xarray.Dataset
            link, the one that stood still (``host of NAME``: the access link of a flow's host); by, the
            one whose queue asked for it; priority, the class that was paused (`PFC`; -1: the link with all that
            it carries); begin and end, when it took effect (s), the end of the run for a
            pause that was lasting then; duration (s); lasting. ``.to_pandas()`` gives a DataFrame.

        Raises
        ------
        ValueError
            At packet level where there were more than 65,536 in one sample.

        Examples
        --------
        >>> from dfcmodel import CBR, Flow, Pause, Scenario, chain, simulate
        >>> links = chain(3, rate=1e4, delay=1e-3, buffer=200, discipline=Pause(high=50, low=25))
        >>> flows = [Flow("a", (1, 2, 3), CBR(8e3)), Flow("b", (2, 3), CBR(8e3))]
        >>> table = simulate(Scenario("pause", links, flows, duration=0.1)).pauses()
        >>> str(table.link[0].values), str(table.by[0].values), round(float(table.begin[0]), 4)
        ('1->2', '2->3', 0.0103)
        """
        from dfcmodel.results.pauses import pause_table

        return pause_table(self)

    def completion_times(self) -> xr.Dataset:
        """Return when the transfers, flows of finite ``size``, were complete, a table by ``flow``.

        Returns
        -------
        xarray.Dataset
            size and delivered (packets), start, finished and completion_time (s; nan: not yet complete),
            ideal_time (s): propagation to the receiver, and the packets at the rate of the path's slowest
            link; slowdown, completion_time over ideal_time.

        Examples
        --------
        >>> from dfcmodel import Flow, Scenario, chain, simulate
        >>> from responsefn import Reno
        >>> links = chain(2, rate=1e4, delay=1e-3, buffer=200)
        >>> flows = [Flow("short", (1, 2), Reno(), size=10.0), Flow("long", (1, 2), Reno(), size=100.0)]
        >>> run = simulate(Scenario("transfers", links, flows, duration=0.2))
        >>> run.completion_times().slowdown.values.round(1).tolist()
        [3.9, 1.6]
        """
        from dfcmodel.results.run_measures import completion_times

        return completion_times(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw goodput, efficiency, windows and occupancy over time in four panels.

        Parameters
        ----------
        ax
            Axes to draw only the goodput on; None makes a new figure with the four panels.

        Returns
        -------
        The Axes of the goodput.
        """
        from dfcmodel.results.plots import draw_goodput, draw_panels

        return draw_panels(self) if ax is None else draw_goodput(self, ax)

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
        from dfcmodel.results.animations import Animation
        from dfcmodel.results.plots import title_of

        return Animation({title_of(self): self}, since, until, frames, fps)

    def summary(self) -> dict[str, object]:
        """Return status, scenario, each flow's goodput and losses, pauses, places of losses, largest queue and step.

        Of many flows the first ones are listed, and the range of the others.
        """
        scenario = self.scenario
        rows: dict[str, object] = {
            "status": self.status,
            "scenario": f"{scenario.name}, {len(scenario.nodes)} nodes, {len(scenario.flows)} flows",
        }
        rows |= {"level": self.choice} if self.choice else {}
        recoveries = self.recoveries or [""] * len(scenario.flows)
        goodput, means = self.delivered[:, -1] / self.time[-1], self.mean_efficiency()
        for f, flow in enumerate(scenario.flows[:MAX_ROWS]):
            rows[f"{flow.name}"] = (
                f"{_source(flow, recoveries[f])}: goodput {goodput[f]:.4g} packets/s, efficiency "
                f"{means[f]:.3f} of the path's bandwidth-delay product, lost {self.lost[f].sum():.0f} packets, "
                f"{_counted(self.loss_events[f], 'loss event')}, "
                f"{_counted(self.timeouts[f], 'timeout')}"
            )
        if len(scenario.flows) > MAX_ROWS:
            others = goodput[MAX_ROWS:]
            least, median, most = np.quantile(others, (0.0, 0.5, 1.0))
            rows[f"{len(others)} other flows"] = (
                f"goodput {least:.4g} to {most:.4g}, median {median:.4g} packets/s, lost "
                f"{self.lost[MAX_ROWS:].sum():.0f} packets, {self.timeouts[MAX_ROWS:].sum()} timeouts"
            )
        rows |= self._about_pauses()
        if places := places_of_losses(self):
            rows["lost at"] = places
        rows["largest queue"] = largest_queue(self)
        rows["imbalance"] = f"{self.imbalance.max():.1e} of the packets emitted"
        took = f"{self.time[-1]:g} s simulated in {self.seconds:.2f} s"
        rows |= {"step": f"{self.step:g} s, {took}"} if self.step else {"packet by packet": took}
        if self.step_error is not None:
            rows["error from the step"] = f"{self.step_error:.2g} of the path's rate, estimated"
        for limit in self.limits:
            topic, _, said = limit.partition(": ")
            rows[f"limit, {topic}"] = f"{said}; compare with method=Packets()"
        return rows

    def _about_pauses(self) -> dict[str, object]:
        """Return the rows about pauses, if there were any: deadlock, storm, and how far they spread."""
        from dfcmodel.results.pauses import chain_of_pauses

        if self.paused is None or not len(self.paused):
            return {}
        rows: dict[str, object] = {} if self.deadlock is None else {"deadlock": self.deadlock}
        rows |= {} if self.storm is None else {"storm": self.storm}
        links, spread = len(set(self.paused["link"].tolist())), chain_of_pauses(self)
        rows["pauses"] = (
            f"{len(self.paused)}, on {_counted(links, 'link')}; longest chain at a time: {', '.join(spread)}"
        )
        return rows
