"""Laws of flow control between sender and receiver of a link: credits, and laws of users."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.queueing.class_pauses import ByClass, check_classes
from dfcmodel.network.queueing.disciplines import (
    PACKETS_ALONE,
    QueueManager,
    check_manager,
    numeric_fields,
)
from hopflow.checks import one_number
from hopflow.units import PacketUnits, WithUnit, quantities

if TYPE_CHECKING:
    from typing import Self

    from dfcmodel.network.queueing.buffers import ByteBuffer

__all__ = ["MAX_END_STATE", "Credits", "LinkEvent", "LinkLaw"]

MAX_END_STATE = 8
"""Maximum number of state variables at each end of a link."""


class LinkEvent(NamedTuple):
    """Inputs of a law of flow control for a packet or a message.

    Attributes
    ----------
    time
        Time of the run, s.
    size
        Size of the packet, in packets of the scenario's ``packet_size``; 0.0 for a message.
    held
        Packets of the class from this link in the buffer behind it, for `LinkLaw.on_arrival` with the arriving packet,
        for `LinkLaw.on_departure` without the departed packet; 0.0 at the sender.
    message
        The number that `LinkLaw.on_message` receives; 0.0 elsewhere.
    room
        Room for packets of the class from the link, packets.
    rate, delay
        Rate of the link, packets/s, and delay of a message, s: propagation and ``signalling``.

    Examples
    --------
    >>> from dfcmodel import Credits, LinkEvent
    >>> event = LinkEvent(time=0.0, size=1.0, held=0.0, message=0.0, room=4.0, rate=1e6, delay=1e-6)
    >>> Credits.may_send(Credits.Sender(used=3.0), None, event)
    True
    """

    time: float
    size: float
    held: float
    message: float
    room: float
    rate: float
    delay: float


@quantities(signalling="time")
@dataclass(frozen=True)
class LinkLaw(ByClass):
    """Base of laws of flow control on a link: subclass it, name the parameters, write the functions.

    A switch with a law has a FIFO queue per class of traffic, as with `PFC`: classes have equal shares of a link, and
    ACKs are a control class, which is sent first. The packets of one class of ``classes`` that arrive over one link
    have a separate room in the switch, for any output link, from arrival until the last bit has left. Packets beyond
    the room are lost, which a law should prevent. The law has a sender and a receiver with a state each: the sender is
    the port of the link, at a switch or a host, and the receiver is the switch behind it. Messages go from the receiver
    to the sender, and arrive after the propagation delay of the link plus ``signalling``. Hosts receive all packets.

    The functions are plain Python that also compiles, as the functions of a window rule. They return the state of their
    end, updated with ``s._replace(...)``. At packet level; the fluid refuses it. Flows have ``host="nic"``, the
    default.

    Parameters
    ----------
    classes
        Priorities of the flows under the law, each from 0 to 7. Others share the remaining buffer and may be
        lost.
    signalling
        Time to generate and act on a message, in s, in addition to the propagation delay.
    manager
        Queue manager, which drops or marks before the buffer is full, by all packets of the link, as for `PFC`; not
        `CoDel`, which drops packets that have waited.

    Attributes
    ----------
    Sender
        NamedTuple of the state of the sending end, at most 8 numbers.
    Receiver
        NamedTuple of the state of the receiving end, at most 8 numbers. ``send`` and ``message`` come first, and are
        0.0 at each call: ``send`` = 1.0 sends the number ``message`` to the sender.

    Raises
    ------
    TypeError
        For a Sender or Receiver that violates these rules.

    Examples
    --------
    Stop and go by the packets that the receiver holds, as in `PFC`:

    >>> from dataclasses import dataclass
    >>> from typing import NamedTuple
    >>> from dfcmodel import CBR, Flow, LinkLaw, Packets, Scenario, chain, simulate
    >>> @dataclass(frozen=True)
    ... class StopAndGo(LinkLaw):
    ...     stop: float = 20.0
    ...     go: float = 10.0
    ...     class Sender(NamedTuple):
    ...         stopped: float = 0.0
    ...     class Receiver(NamedTuple):
    ...         send: float = 0.0
    ...         message: float = 0.0
    ...         stopped: float = 0.0
    ...     def room(self, rate, delay, packet_size=1500.0, buffer=0.0):
    ...         return self.stop + 2.0 * delay * rate + 4.0
    ...     @staticmethod
    ...     def may_send(s, q, e): return s.stopped == 0.0
    ...     @staticmethod
    ...     def on_message(s, q, e): return s._replace(stopped=e.message)
    ...     @staticmethod
    ...     def on_arrival(s, q, e):
    ...         stop = 1.0 if e.held > q.stop and s.stopped == 0.0 else 0.0
    ...         return s._replace(send=stop, message=1.0, stopped=s.stopped + stop)
    ...     @staticmethod
    ...     def on_departure(s, q, e):
    ...         go = 1.0 if e.held <= q.go and s.stopped == 1.0 else 0.0
    ...         return s._replace(send=go, message=0.0, stopped=s.stopped - go)
    >>> links = chain(4, rate=1e5, delay=1e-5, buffer=200, discipline=StopAndGo())
    >>> flows = [Flow("a", (1, 2, 3, 4), CBR(8e4)), Flow("b", (2, 3, 4), CBR(8e4))]
    >>> run = simulate(Scenario("own law", links, flows, duration=0.05), Packets(seed=1))
    >>> int(run.lost.sum()), sorted(set(run.pauses()["link"].values.tolist()))
    (0, ['1->2', 'host of b'])
    """

    subclasses_run_at = PACKETS_ALONE

    classes: tuple[int, ...] = (0,)
    signalling: WithUnit = 0.0
    manager: QueueManager | None = None

    room_options = "its room"
    managed = None
    counts = "switch"
    acks = "control"
    storm = None

    class Sender(NamedTuple):
        """State of the sending end; a law names its fields."""

        unused: float = 0.0

    class Receiver(NamedTuple):
        """State of the receiving end: whether and which message to send, then the fields of a law."""

        send: float = 0.0
        message: float = 0.0

    def __init_subclass__(cls, **options: Any) -> None:
        """Raise TypeError for a subclass whose Sender or Receiver has invalid fields."""
        super().__init_subclass__(**options)
        name = cls.__name__
        for kind, first in (("Sender", ()), ("Receiver", ("send", "message"))):
            names = getattr(cls, kind)._fields
            if names[: len(first)] != first or not 1 <= len(names) <= MAX_END_STATE:
                begin = f"begin with {', '.join(first)} and " if first else ""
                msg = f"has the fields {', '.join(names)}, must {begin}have 1 to {MAX_END_STATE}"
                raise TypeError(f"{kind} of {name} {msg}")

    def __post_init__(self) -> None:
        check_manager(self.manager)
        object.__setattr__(self, "classes", check_classes(self.classes))
        one_number("signalling", self.signalling, at_least=0.0, at_most=10.0, hint="in s")

    @staticmethod
    @abstractmethod
    def may_send(s: Any, q: Any, e: Any) -> Any:
        """Return whether the first packet, e, of the class may be sent: ``s`` its Sender, ``q`` the parameters.

        ``s`` is the Sender, ``q`` the parameters, ``e`` `LinkEvent`. It is evaluated when a packet becomes the first of
        its queue, and after each message. It must not depend on the time.
        """

    @staticmethod
    def on_send(s: Any, q: Any, e: Any) -> Any:
        """Return the Sender's new state; called as the transmission of a packet begins."""
        return s

    @staticmethod
    def on_message(s: Any, q: Any, e: Any) -> Any:
        """Return the Sender's new state; called as a message arrives."""
        return s

    @staticmethod
    def on_arrival(s: Any, q: Any, e: Any) -> Any:
        """Return the Receiver's new state; called as a packet arrives; one dropped on arrival leaves at once."""
        return s

    @staticmethod
    def on_departure(s: Any, q: Any, e: Any) -> Any:
        """Return the Receiver's new state; called as the last bit of a packet has left."""
        return s

    def numbers(self) -> dict[str, float]:
        """Return the parameters that the functions can use: the numeric fields."""
        return numeric_fields(self)

    def resumes_at(self, room: float) -> float:  # noqa: ARG002
        """Return the packets at the receiver at which a blocked sender resumes; ``room``: of the class; 0: unknown."""
        return 0.0

    def common_part(self) -> Self:
        """Return a copy without the parameters that may differ between the links of a node."""
        return replace(self, manager=None)


@quantities(buffer="amount", update="amount", signalling="time")
@dataclass(frozen=True)
class Credits(LinkLaw):
    """Flow control by credits, as in InfiniBand and CBFC of Ultra Ethernet: a sender never exceeds the receiver's room.

    Each class of each link has ``buffer`` packets of the switch behind it. A packet takes its length of the buffer when
    its transmission begins, which is free again when the last bit has left the switch and the message that reports it
    has arrived. No packet can be lost, whatever the buffer. The buffer decides the rate: with a round trip of
    2 propagation delays, the signalling and a transmission on either link, at most ``buffer`` packets are sent in one.

    `dfcmodel.lossless.credits` computes the buffer of a real link, with its frames, cells and interfaces. Hosts receive
    all packets without credits.

    Parameters
    ----------
    classes, signalling, manager
        As for `LinkLaw`.
    buffer
        Packets of each class and link. None: the minimum with which a link at line rate never waits, if the next link
        is not slower: 2 packets and the packets sent in 2 propagation delays and the signalling, rounded up.
    update
        Packets that become free before a message returns them, 1 or more; at most ``buffer`` - 1, so that a packet
        always has enough.

    Raises
    ------
    ValueError
        For less than one packet, and an update of more than the buffer less one packet.

    Examples
    --------
    A round trip of 2 * 40 us and 2 * 10 us: 5 packets are half of the packets that the link can carry in it.

    >>> from dfcmodel import CBR, Credits, Flow, Packets, Scenario, chain, simulate
    >>> links = chain(3, rate=1e5, delay=4e-5, buffer=100, discipline=Credits(buffer=5))
    >>> flow = Flow("a", (1, 2, 3), CBR(1e5))
    >>> run = simulate(Scenario("credits", links, [flow], duration=0.1), Packets(seed=1))
    >>> round(float(run.delivered[0, -1]), -2), int(run.lost.sum())
    (5000.0, 0)
    """

    room_options = "buffer of Credits, update or signalling"

    buffer: WithUnit | None = None
    update: WithUnit = 1.0

    class Sender(NamedTuple):
        """Credits in use: packets on the link, in the buffer behind it, or left but not yet reported."""

        used: float = 0.0

    class Receiver(NamedTuple):
        """The message, and packets that have left since the last message."""

        send: float = 0.0
        message: float = 0.0
        freed: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.buffer, PacketUnits) and not isinstance(self.update, PacketUnits):
            self.check_packets()

    def check_packets(self) -> None:
        """Raise ValueError for less than a packet, and an update that leaves no room for one."""
        if self.buffer is not None:
            one_number("buffer", self.buffer, at_least=1.0, hint="in packets")
        one_number("update", self.update, at_least=1.0, hint="in packets")
        if self.buffer is not None and self.update > max(1.0, self.buffer - 1.0):
            msg = f"must be at most buffer - 1 = {self.buffer - 1.0:g}, or 1"
            raise ValueError(f"update = {self.update:g}: {msg}")

    def room(
        self,
        rate: Any,
        delay: Any,
        packet_size: float = 1500.0,  # noqa: ARG002
        buffer: float | ByteBuffer = 0.0,  # noqa: ARG002
    ) -> Any:
        """Return ``buffer``, or the packets of a loop of the link, for a class; an array of the shape of ``rate``.

        Examples
        --------
        >>> from dfcmodel import Credits
        >>> float(Credits().room(rate=1e6, delay=2.5e-6))
        7.0
        """
        if self.buffer is not None:
            return np.broadcast_to(float(self.buffer), np.shape(rate))
        window = (2.0 * np.asarray(delay) + self.signalling) * np.asarray(rate)
        return 1.0 + self.update + np.ceil(window - 1e-9)

    def resumes_at(self, room: float) -> float:
        """Return the packets at the receiver at which the sender has a credit: ``room`` less ``update``."""
        return room - self.update

    @staticmethod
    def may_send(s: Any, q: Any, e: Any) -> Any:
        """Return whether the sender has a credit for packet e."""
        return s.used + e.size <= e.room

    @staticmethod
    def on_send(s: Any, q: Any, e: Any) -> Any:
        """Use credits for packet e; return the sender's new state."""
        return s._replace(used=s.used + e.size)

    @staticmethod
    def on_message(s: Any, q: Any, e: Any) -> Any:
        """Add the credits that message e returns; return the sender's new state."""
        return s._replace(used=s.used - e.message)

    @staticmethod
    def on_departure(s: Any, q: Any, e: Any) -> Any:
        """Send a message when ``q.update`` packets have left; return the receiver's new state."""
        freed = s.freed + e.size
        if freed >= q.update:
            return s._replace(send=1.0, message=freed, freed=0.0)
        return s._replace(freed=freed)
