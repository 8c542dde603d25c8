"""Queues by class of traffic with flow control between hops, and priority-based flow control (PFC)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dfcmodel.network.queueing.buffers import ByteBuffer
from dfcmodel.network.queueing.disciplines import (
    BOTH_LEVELS,
    Discipline,
    QueueManager,
    check_manager,
)
from dfcmodel.network.queueing.pause_responses import default_headroom, small_packet_factor
from hopflow.checks import choice, integer, one_number
from hopflow.units import WithUnit, quantities

__all__ = ["ALL", "CLASSES", "CONTROL", "IN_TRANSMISSION", "PFC", "ByClass", "check_classes"]

CLASSES = 8
"""Number of classes of traffic, numbered from 0 (IEEE 802.1Q)."""
ALL = -1
"""Class of a pause that stops all traffic of a link."""

CONTROL = -2
"""Class of ACKs and congestion notifications on links with PFC; no flow has it, and it is never paused."""

IN_TRANSMISSION = 2.0
"""Packets that arrive after a pause at any delay: one in transmission on the paused link, one before it."""


class ByClass(Discipline):
    """Base of disciplines with a FIFO queue per class of traffic, with lossless classes by hop-by-hop flow control.

    The packets of one lossless class that arrive over one link are an ingress, with a separate room in the buffer.

    Attributes
    ----------
    classes
        Priorities of the flows that are lossless, in order.
    signalling
        Time to generate and act on a message, s.
    manager, managed
        Queue manager, which drops or marks before the buffer is full, and the class that it sees; None: all classes.
    counts
        Packets that an ingress counts: for one ``"output"``, or for all outputs of the ``"switch"``.
    acks
        Class of ACKs: ``"control"``, a class that is sent first and is not under flow control, or ``"class"``.
    storm
        Time at which a fault begins, s; None: never.
    room_options
        Parameters of which smaller values reserve less of a buffer, as text.
    """

    pauses = "class"
    queue_per = "class"
    room_options: ClassVar[str] = "xoff or headroom"

    classes: tuple[int, ...]
    signalling: float
    manager: QueueManager | None
    managed: int | None
    counts: str
    acks: str
    storm: float | None

    @abstractmethod
    def room(self, rate: Any, delay: Any, packet_size: float = 1500.0, buffer: float | ByteBuffer = 0.0) -> Any:
        """Return the room, packets, of a class from a feeding link of ``rate`` and ``delay``, s; shaped as ``rate``.

        Parameters
        ----------
        rate, delay
            Rate and delay of that link, packets/s and s.
        packet_size
            Bytes per packet.
        buffer
            Buffer of the output link.
        """

    @abstractmethod
    def resumes_at(self, room: float) -> float:
        """Return the packets at or below which an ingress with ``room`` packets of room resumes."""

    @abstractmethod
    def common_part(self) -> ByClass:
        """Return a copy without the parameters that may differ between the links of a node."""


def check_classes(classes: Any) -> tuple[int, ...]:
    """Return priorities as a sorted tuple; ValueError for invalid and duplicate priorities."""
    classes = classes.tolist() if hasattr(classes, "tolist") and classes.size else classes
    if not isinstance(classes, (tuple, list, range, set, frozenset)) or not classes:
        msg = "must be a tuple of priorities from 0 to 7, such as (3,)"
        raise ValueError(f"classes = {classes!r}: {msg}")
    for priority in classes:
        integer("classes", priority, 0, CLASSES - 1)
    if len(set(classes)) < len(classes):
        raise ValueError(f"classes = {classes!r}: must differ from each other")
    return tuple(sorted(map(int, classes)))


@quantities(xoff="amount", xon="amount", headroom="amount", signalling="time", storm="time")
@dataclass(frozen=True)
class PFC(ByClass):
    """A FIFO queue per class of traffic, with priority-based flow control (IEEE 802.1Q, clause 36); in packets.

    The class of a flow is its ``priority``. Classes have equal shares of the link (as deficit round robin and ETS with
    equal weights give them), and a class never gets more than it can use. Packets waiting in a lossless class are
    counted by ingress, the link over which they came: above ``xoff`` packets this class is paused on that link, at
    ``xon`` or below it resumes; other classes, and other links, do not stop. Each output link counts its own packets,
    or, as switches do, all output links of a node together (``counts="switch"``).

    Every ingress of a lossless class has ``xoff + headroom`` packets of the link's buffer to itself, and loses packets
    beyond them. Other classes are never paused; they share the remaining buffer, first come first served, and lose
    packets that do not fit. Both are counted in bytes: a packet has the scenario's ``packet_size``, and an ACK in a
    class counts as the corresponding fraction of a packet.

    ACKs and congestion notifications are a separate control class, as in RoCE fabrics: it is sent before all
    others, never paused, neither marked nor dropped by the manager, and has buffer beside that of the link.

    Parameters
    ----------
    classes
        Priorities of the flows that are lossless, each from 0 to 7.
    xoff, xon
        Pause a class of an ingress above ``xoff`` packets, resume it at ``xon`` or below;
        0 <= xon <= xoff.
    headroom
        Room above ``xoff`` for each class and ingress, packets. None: the result of `headroom` for the rate and the
        delay of the paused link and frames of the scenario's ``packet_size``, with the response time of IEEE 802.3 for
        its rate. A rate that the standard does not list takes the response time of the next faster rate, or of the
        fastest listed rate, and `Trajectory.summary` reports it.
    signalling
        Time to generate and act on a message, in s, in addition to the propagation delay.
    manager
        Queue manager, which drops or marks before the buffer is full, by the packets of the link or of one class. RoCE
        fabrics use ECN marking with PFC: ``PFC(classes=(3,), xoff=100, xon=80, manager=RampMarking(), managed=3)``.
    managed
        The class whose packets the manager sees, drops and marks; None: all except the control class, together. A link
        has one manager, for one class or for all: managers of several classes are refused. The capacity that it sees
        is that of the link. At packet level not with `CoDel`, `PIE` and `PI2`.
    counts
        Packets of an ingress that are counted: ``"output"``, the packets for this link, or ``"switch"``, the packets
        for all links with PFC that leave the same node. These must then have equal ``classes``, ``xoff``, ``xon``,
        ``headroom`` and ``signalling``. An ingress has its packets of room once, taken from the links' buffers in
        proportion to their sizes.
    acks
        Class of ACKs and congestion notifications: ``"control"``, or ``"class"``, the class of their flow, with
        which they are counted, paused and lost. At packet level; the fluid has no ACKs in its queues.
    storm
        Time in s from which a fault requests a pause of its lossless classes for ever, whatever the queues (a pause
        storm); None: never. The status of the run is then ``storm``, and `Trajectory.storm` names the port.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed values.
    TypeError
        For managers of several classes.

    Notes
    -----
    A link that feeds a link with PFC has PFC itself, or carries flows of one class only: a queue of several
    classes cannot stop one of them. Hosts with ``host="direct"`` are never paused.

    Examples
    --------
    Class 3 is paused and loses no packets; class 0 is not paused and loses packets:

    >>> from dfcmodel import CBR, PFC, Flow, Scenario, chain, simulate
    >>> rule = PFC(classes=(3,), xoff=50, xon=25)
    >>> links = chain(4, rate=1e4, delay=1e-3, buffer=300, discipline=rule)
    >>> storage = [Flow("a", (1, 2, 3, 4), CBR(4e3), priority=3, host="unshaped")]
    >>> storage += [Flow("b", (3, 4), CBR(4e3), priority=3, host="unshaped")]
    >>> web = [Flow("web", (2, 3, 4), CBR(8e3), host="unshaped")]
    >>> run = simulate(Scenario("two classes", links, storage + web, duration=0.5), level="fluid")
    >>> (run.lost.sum(axis=(1, 2)) > 0).tolist()
    [False, False, True]
    >>> sorted(set(run.pauses()["priority"].values.tolist()))
    [3]
    """

    levels = BOTH_LEVELS

    classes: tuple[int, ...] = (0,)
    xoff: WithUnit = 100.0
    xon: WithUnit = 50.0
    headroom: WithUnit | None = None
    signalling: WithUnit = 0.0
    manager: QueueManager | None = None
    storm: WithUnit | None = None
    counts: str = "output"
    managed: int | None = None
    acks: str = "control"

    def __post_init__(self) -> None:
        managers: Any = self.manager
        if isinstance(managers, (Mapping, tuple, list)):
            msg = "must be one queue manager: a link has one, of the class managed= or of all classes (None)"
            raise TypeError(f"manager = {managers!r}: {msg}")
        check_manager(self.manager)
        if self.managed is not None:
            integer("managed", self.managed, 0, 7)
            if self.manager is None:
                raise ValueError(f"managed = {self.managed}: must be None where manager is None")
        choice("counts", self.counts, ("output", "switch"))
        choice("acks", self.acks, ("control", "class"))
        if self.storm is not None:
            one_number("storm", self.storm, at_least=0.0, hint="in s")
        object.__setattr__(self, "classes", check_classes(self.classes))
        one_number("xoff", self.xoff, above=0.0)
        one_number("xon", self.xon, at_least=0.0, at_most=self.xoff, hint="xon <= xoff")
        if self.headroom is not None:
            one_number("headroom", self.headroom, at_least=0.0, hint="in packets")
        one_number("signalling", self.signalling, at_least=0.0, at_most=10.0, hint="in s")

    def room(self, rate: Any, delay: Any, packet_size: float = 1500.0, buffer: float | ByteBuffer = 0.0) -> Any:
        """Return ``xoff`` and headroom, packets, of a class from a link of ``rate`` and ``delay``: number or array.

        Parameters as for `ByClass.room`. In cells, ACKs in the class may take more of ``buffer`` than packets of equal
        size.

        Examples
        --------
        >>> round(PFC(xoff=100.0).room(rate=1e4, delay=1e-3), 3)
        122.072
        """
        if self.headroom is not None:
            return self.xoff + self.headroom
        headroom = default_headroom(rate, delay, packet_size, self.signalling)
        factor = small_packet_factor(buffer, packet_size) if self.acks == "class" else 1.0
        return self.xoff + factor * headroom

    @property
    def thresholds(self) -> tuple[float, float]:
        """Packets of an ingress above which it is paused, and at or below which it resumes."""
        return float(self.xoff), float(self.xon)

    def resumes_at(self, room: float) -> float:  # noqa: ARG002
        """Return ``xon``, for any room."""
        return self.xon

    def common_part(self) -> PFC:
        """Return a copy without the parameters that may differ between the links of a node."""
        return replace(self, manager=None, managed=None, storm=None)
