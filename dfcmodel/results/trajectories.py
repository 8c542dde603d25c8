"""The result of a simulation: a trajectory with its measures and display."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dfcmodel.results.records import Records
from hopflow.fork_safety import cached_property
from hopflow.results import Result, Status, figure
from hopflow.units import WithUnit, quantities

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from dfcmodel.results.animations import Animation
    from dfcmodel.results.completions.unfinished import Unfinished
    from dfcmodel.results.drops import LosslessLoss
    from dfcmodel.results.pauses import PauseStorm
    from dfcmodel.results.standstills import PauseDeadlock

__all__ = ["Trajectory"]


@dataclass(frozen=True, repr=False, eq=False)
class Trajectory(Records, Result):
    """One run of a scenario, sampled at ``time``, as `simulate` returns it.

    `dfcmodel.results.records.Records` describes the recorded arrays and their shapes: ``time``, ``in_transit``,
    ``delivered``, ``window``, ``backlog``, ``round_trip``, ``lost``, ``queued``, ``peak_queue``, ``queued_bytes``,
    ``peak_bytes``, ``timeouts``, ``loss_events``, ``cumulative_loss_events``, ``marks``, ``notifications``,
    ``imbalance``, ``first_loss``, ``finished``, ``carried``, ``mean_queue``, ``started``, ``paused``, ``recoveries``
    and ``choice``. As an attribute each is a NumPy array; ``run["queued"]`` is the same array as an `xarray.DataArray`
    with name, units and coordinates.

    Examples
    --------
    >>> from dfcmodel import simulate, takano2006
    >>> run = simulate(takano2006("1"), duration=0.2, level="fluid")
    >>> run.status.ok, run.window.shape
    (True, (2, 200))
    >>> axes = run.plot()
    >>> axes.figure.savefig("run.png")  # doctest: +SKIP
    """

    NOT_COMPARED: ClassVar[tuple[str, ...]] = ("seconds", "choice")
    COMPARED_BY: ClassVar[str] = "dfcmodel.results.run_comparisons:RunComparison"

    @cached_property
    def measures(self) -> xr.Dataset:
        """Performance measures of flows and links, see `dfcmodel.results.run_measures.measures`."""
        from dfcmodel.results.run_measures import measures

        return measures(self)

    @property
    def goodput(self) -> xr.DataArray:
        """Packets per second that each flow delivered over the run, as in `measures`."""
        return self.measures["goodput"]

    @property
    def loss_event_times(self) -> dict[str, NDArray[np.float64]]:
        """Times of loss events by name of the flow, s, rounded up to ends of samples; ValueError if not recorded.

        Examples
        --------
        >>> from dfcmodel import simulate, takano2006
        >>> run = simulate(takano2006("1", tcp="newreno"), level="packets", duration=3.0)
        >>> [len(times) for times in run.loss_event_times.values()] == run.loss_events.tolist()
        True

        Raises
        ------
        ValueError
            For a run that did not record them, such as a run that an earlier version saved.
        """
        if self.cumulative_loss_events is None:
            raise ValueError("cumulative_loss_events = None: the run did not record the times of loss events")
        new = np.diff(self.cumulative_loss_events, axis=1, prepend=0)
        return {flow.name: np.repeat(self.time, counts) for flow, counts in zip(self.scenario.flows, new, strict=True)}

    @property
    def status(self) -> Status:
        """COMPLETED, or what failed: finite numbers, accuracy, balance, no storm, no deadlock, lossless classes.

        INACCURATE when an accuracy was requested (`Fluid`) and the error from the step may be larger. Instead of
        COMPLETED, the first of these that applies: STORM when a port pauses others for ever by a fault, `storm` names
        it; DEADLOCKED when packets wait for each other for ever, `deadlock` says where; LOST_LOSSLESS when a buffer
        that pauses what feeds it had no room for packets of a lossless class, `lossless_losses` says where. Transfers
        that the end of the run cut short are no failure: see `unfinished`.
        """
        status = super().status
        if status is not Status.COMPLETED:
            return status
        if self.storm is not None:
            return Status.STORM
        if self.deadlock is not None:
            return Status.DEADLOCKED
        return Status.LOST_LOSSLESS if self.lossless_losses else status

    @cached_property
    def limits(self) -> tuple[str, ...]:
        """Known limits of the level that apply to this run, with the measured errors.

        Of the fluid: two-way traffic, small buffers, classic Reno, resolution, deadlocks near the critical load,
        buffers under `DFC` that other flows fill. Of packets: phase effects, rules that follow telemetry or go back N
        over several paths. Of both: rules that wait for marks on paths without marks.

        Examples
        --------
        Between two full directions ACKs queue, which the fluid leaves out:

        >>> from dfcmodel import Flow, Link, Scenario, simulate
        >>> from responsefn import NewReno
        >>> links = Link(1, 2, 1000.0, 0.01, 20), Link(2, 1, 1000.0, 0.01, 20)
        >>> flows = Flow("a", (1, 2), NewReno()), Flow("b", (2, 1), NewReno())
        >>> run = simulate(Scenario("both ways", links, flows, duration=1.0), level="fluid")
        >>> [limit.partition(":")[0] for limit in run.limits]
        ['two-way traffic']
        """
        from dfcmodel.results.limits import limits_of_run

        return limits_of_run(self)

    @cached_property
    def storm(self) -> PauseStorm | None:
        """Ports that pause others for ever by a fault, and the links that they stop; None if there are none.

        Examples
        --------
        The port to node 4 fails after 50 ms; its pauses make queues grow that pause others:

        >>> from dfcmodel import CBR, Flow, Pause, Scenario, chain, simulate
        >>> links = list(chain(4, rate=1e4, delay=1e-3, buffer=200, discipline=Pause(high=50, low=25)))
        >>> links[2] = links[2].__class__(3, 4, 1e4, 1e-3, 200, Pause(high=50, low=25, storm=0.05))
        >>> flows = [Flow("a", (1, 2, 3, 4), CBR(8e3)), Flow("b", (1, 2, 3), CBR(1e3))]
        >>> run = simulate(Scenario("storm", links, flows, duration=0.1), level="fluid")
        >>> run.status.label, run.storm.ports, run.storm.stopped
        ('storm', ('3->4',), ('1->2', '2->3'))
        """
        from dfcmodel.results.pauses import storm_of

        return storm_of(self)

    @cached_property
    def deadlock(self) -> PauseDeadlock | None:
        """Links that wait for each other for ever at the end of the run; None if there are none.

        Their packets prolong the pauses of each other, so that none of their queues can become shorter; ``cycle`` names
        a circle of such links. It is empty if progress decides: packets wait, pauses last, and nothing has moved for
        the last quarter of the run.

        Examples
        --------
        >>> from dfcmodel import simulate
        >>> from dfcmodel.lossless import deadlock, torus
        >>> run = simulate(deadlock(torus([4])).scenario(), level="fluid")
        >>> run.status.label, run.deadlock.cycle
        ('deadlocked', ('0->1', '1->2', '2->3', '3->0'))
        """
        from dfcmodel.results.standstills import deadlock_of

        return deadlock_of(self)

    @cached_property
    def lossless_losses(self) -> tuple[LosslessLoss, ...]:
        """Losses of lossless classes at full buffers of links with `PFC` or `Pause`, by link and class.

        Random losses and drops by a queue manager are not included, nor losses at the first link of a flow with
        ``host="direct"``, whose sender is not paused: see `drops`.

        Examples
        --------
        >>> from dfcmodel import CBR, PFC, Flow, Packets, Scenario, chain, simulate
        >>> links = chain(3, rate=1e4, delay=1e-3, buffer=300, discipline=PFC(xoff=50, xon=25, headroom=5))
        >>> paths = {"a": (1, 2, 3), "b": (2, 3)}
        >>> flows = [Flow(name, path, CBR(8e3), host="unshaped") for name, path in paths.items()]
        >>> run = simulate(Scenario("too little", links, flows, duration=0.1), Packets(seed=1))
        >>> run.status.label, run.lossless_losses[0].link, run.lossless_losses[0].given
        ('lost in a lossless class', '2->3', 5.0)
        """
        from dfcmodel.results.drops import lossless_losses

        return lossless_losses(self)

    @cached_property
    def unfinished(self) -> tuple[Unfinished, ...]:
        """Flows of finite ``size`` that were incomplete at the end of the run, with the reason.

        Examples
        --------
        >>> from dfcmodel import CBR, Flow, Scenario, chain, simulate
        >>> links = chain(2, rate=1e4, delay=1e-3, buffer=200)
        >>> flows = [Flow("short", (1, 2), CBR(5e3), size=10.0), Flow("long", (1, 2), CBR(5e3), size=1000.0)]
        >>> run = simulate(Scenario("transfers", links, flows, duration=0.1), level="fluid")
        >>> [(flow.name, flow.waits_for) for flow in run.unfinished]
        [('long', 'still sending')]
        """
        from dfcmodel.results.completions.unfinished import list_unfinished

        return list_unfinished(self)

    def drops(self) -> xr.Dataset:
        """Return lost packets by flow, link and cause, a table with a row (``drop``) for each combination.

        Returns
        -------
        xarray.Dataset
            flow; link; cause: a name of `dfcmodel.network.drop_causes.CAUSES`, such as ``"buffer"`` (no room), or
            ``"own link"`` (no room at the first link of the flow's path, where a sender with ``host="direct"`` is not
            paused); ack, whether ACKs were lost; packets; first, the time of the first drop (s); lossless, whether it
            is a loss of a lossless class inside the network. Packets that were cut to their headers are counted at the
            link that cut them, once the header has come.

        Examples
        --------
        >>> from dfcmodel import CBR, RED, Flow, Packets, Scenario, chain, simulate
        >>> links = chain(2, rate=1e3, delay=1e-3, buffer=20, discipline=RED(low=5, high=15, weight=0.1))
        >>> flow = Flow("a", (1, 2), CBR(1.5e3))
        >>> run = simulate(Scenario("RED", links, [flow], duration=0.5), Packets(seed=1))
        >>> run.drops().cause.values.tolist()
        ['own link', 'manager']
        """
        from dfcmodel.results.drops import drop_table

        return drop_table(self)

    def element_counts(self) -> xr.Dataset:
        """Return the counts of elements of paths, a table with a row (``count``) for each name of `PathElement.counts`.

        Returns
        -------
        xarray.Dataset
            element, the class of the element; link; quantity, the name; value, at the end of the run. Elements without
            counts have no rows. `PathElement` has an example.
        """
        from dfcmodel.results.drops import element_table

        return element_table(self)

    def pauses(self) -> xr.Dataset:
        """Return the pauses of all links, a table with a row (``pause``) for each.

        Returns
        -------
        xarray.Dataset
            link, the paused link (``host of NAME``: the access link of a flow's host); by, the link whose queue
            requested the pause, or ``node NAME`` where a switch counts the packets of all its links
            (``counts="switch"`` of `PFC`) and flows over the paused link continue over several; priority, the paused
            class (`PFC`; of `BFC` the number of the flow; -1: all packets of the link); fault, whether a fault
            requested it (``storm=``, `dfcmodel.lossless.watch_packets`); begin and end of its effect (s), the end of
            the run for a lasting pause; duration (s); lasting.
            ``.to_pandas()`` gives a DataFrame.

        Raises
        ------
        ValueError
            If a packet-level run had more than 65,536 in one sample.

        Examples
        --------
        >>> from dfcmodel import CBR, Flow, Pause, Scenario, chain, simulate
        >>> links = chain(3, rate=1e4, delay=1e-3, buffer=200, discipline=Pause(high=50, low=25))
        >>> flows = [Flow("a", (1, 2, 3), CBR(8e3)), Flow("b", (2, 3), CBR(8e3))]
        >>> table = simulate(Scenario("pause", links, flows, duration=0.1), level="fluid").pauses()
        >>> str(table.link[0].values), str(table.by[0].values), round(float(table.begin[0]), 4)
        ('host of b', '2->3', 0.0103)
        """
        from dfcmodel.results.pauses import pause_table

        return pause_table(self)

    def completion_times(self) -> xr.Dataset:
        """Return completion times of transfers, the flows of finite ``size``, a table by ``flow``.

        Returns
        -------
        xarray.Dataset
            size and delivered (packets), start, finished and completion_time (s; nan: not yet complete), ideal_time
            (s), of an empty network: propagation to the receiver, the packets at the rate of the path's slowest link
            (of sprayed flows, of all links between which packets choose at a hop),
            and at packet level one more transmission at each other link; slowdown, completion_time over ideal_time.
            Rates are those of the links, also where a `RateTrace` is below them, and without other elements of
            paths: what these cost is part of the slowdown. The size is that of the flow, or the number of packets that
            arrived if its trace or its arrivals ended before.

        Examples
        --------
        >>> from dfcmodel import Flow, Scenario, chain, simulate
        >>> from responsefn import Reno
        >>> links = chain(2, rate=1e4, delay=1e-3, buffer=200)
        >>> flows = [Flow("short", (1, 2), Reno(), size=10.0), Flow("long", (1, 2), Reno(), size=100.0)]
        >>> run = simulate(Scenario("transfers", links, flows, duration=0.2), level="fluid")
        >>> run.completion_times().slowdown.values.round(1).tolist()
        [3.9, 1.6]
        """
        from dfcmodel.results.completions.slowdown_groups import completion_times

        return completion_times(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw panels of goodput, efficiency (takano2006 only), windows, occupancy; on ``ax`` goodput; return the Axes.

        Parameters
        ----------
        ax
            Axes to draw only the goodput on; None creates a new figure with all panels.

        Returns
        -------
        The Axes of the goodput. ``run.plot().figure.savefig("run.pdf")`` saves the picture.
        """
        from dfcmodel.results.plots import draw_goodput, draw_panels

        return draw_panels(self) if ax is None else draw_goodput(self, ax)

    def plot_space_time(self, ax: Any = None) -> Any:
        """Draw the packets queued at each node (vertical axis) over time, and the losses; return the Axes."""
        from dfcmodel.results.plots import draw_space_time

        return draw_space_time(self, figure()[1] if ax is None else ax)

    def plot_notifications(self, ax: Any = None) -> Any:
        """Draw the number of congestion notifications (CNPs) of each sender, the largest first; return the Axes.

        Raises
        ------
        ValueError
            If no flow has a rule that counts them, such as `responsefn.DCQCN`.

        Examples
        --------
        >>> from dfcmodel import Flow, Link, Packets, RampMarking, Scenario, simulate
        >>> from responsefn import DCQCN
        >>> links = [Link(n, "s", 1e6, 1e-6, 500) for n in "ab"]
        >>> links.append(Link("s", "d", 1e6, 1e-6, 500, RampMarking(5, 20, 0.1)))
        >>> flows = [Flow(n, (n, "s", "d"), DCQCN(), host="nic") for n in "ab"]
        >>> run = simulate(Scenario("two", links, flows, duration=5e-3), Packets(seed=1))
        >>> axes = run.plot_notifications()
        >>> axes.get_title() == f"two: {run.notifications.sum()} congestion notifications"
        True
        """
        from dfcmodel.results.plots import draw_notifications

        return draw_notifications(self, ax)

    @quantities(since="time", until="time")
    def animate(
        self,
        since: WithUnit = 0.0,
        until: WithUnit | None = None,
        *,
        frames: int = 100,
        fps: int = 20,
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
            Naming the parameter, its value and the allowed values.
        """
        from dfcmodel.results.animations import Animation
        from dfcmodel.results.plots import title_of

        return Animation({title_of(self): self}, since, until, frames, fps)

    def summary(self) -> dict[str, object]:
        """Return status and texts by name: level, flows, pauses, places of losses, largest queue, step and limits.

        There are rows for transfers that are not complete and for losses of lossless classes, if there are any. Of many
        flows the first are listed, and the range of the others.
        """
        from dfcmodel.results.summaries import summary_rows

        return summary_rows(self)
