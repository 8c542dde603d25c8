"""Receiver agents: answers to arriving packets, and credits for senders."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, NoReturn

from dfcmodel.network.queueing.disciplines import numeric_fields
from hopflow.checks import integer, is_endless, unwrap_scalar
from hopflow.class_attributes import warn_of_unused_attributes
from hopflow.parameters import refuse_hidden_attributes
from hopflow.units import PacketUnits, WithUnit, quantities
from responsefn import RateRule

__all__ = ["ANSWER", "Credited", "ReceivedPacket", "ReceiverAgent", "check_answer"]

ANSWER = ("ack", "nack", "mark", "credits", "timer")
"""First fields of the state of an agent: its answer."""
MAX_STATE, MAX_OF_FLOW = 16, 8
"""Maximum numbers of fields of State, and of fields stored per flow."""
LARGEST_CREDIT = 2**24
"""Upper bound of ``unsolicited``, packets."""
LARGEST = 2.0**31 - 2.0
"""Largest number of a packet: the range of sequence numbers."""


class ReceivedPacket(NamedTuple):
    """Inputs of a receiver agent: an arrived packet, or the state of its flow when the timer expires.

    Attributes
    ----------
    time
        Time of the run, s.
    flow
        Index of the packet's flow.
    number
        Number of the packet, from 0 on; -1.0 when the timer expires.
    expected
        Number of the first packet that has not arrived in order, after this packet.
    marked
        1.0 if it carries a congestion mark (ECN), otherwise 0.0.
    size
        Packets of the transfer; inf for endless transfers.
    delivered
        Packets delivered in order, or accepted by go-back-N's receiver, so far.
    sent
        Time at which the packet left its sender, s; for a timer, the time of the last packet.
    packet_time
        Transmission time of a packet on the last link, s.
    trimmed
        1.0 if a switch has cut the packet to its header, otherwise 0.0; a `nack` of its number requests it again.

    Examples
    --------
    >>> from dfcmodel import ReceivedPacket
    >>> ReceivedPacket(1.5, 0.0, 7.0, 8.0, 0.0, 100.0, 8.0, 1.25, 1e-6).expected
    8.0
    """

    time: float
    flow: float
    number: float
    expected: float
    marked: float
    size: float
    delivered: float
    sent: float
    packet_time: float
    trimmed: float = 0.0


@quantities(unsolicited="amount")
@dataclass(frozen=True)
class ReceiverAgent(ABC):
    """Base of receiver agents: subclass it, name the parameters, write `on_packet` and, if needed, `on_timer`.

    An agent is the receiver of a sender at the rate of a rule: ``Flow(receiver=)``. Its functions are plain Python that
    also compiles, as a window rule is. They return the state, updated with ``s._replace(...)``, whose first fields are
    the answer, a packet of 64 bytes; no answer is sent if all of them have their initial values. Packets are
    reassembled according to the sender's recovery (`Packets`): go-back-N accepts packets in order, selective repair
    accepts all. At packet level; the fluid refuses it.

    Parameters
    ----------
    unsolicited
        Packets that a sender sends without credit, a whole number from 1 on; inf: it needs no credits. A sender that
        waits for credits or ACKs for the retransmission timeout sends one packet without credit.

    Attributes
    ----------
    State
        NamedTuple of numbers, at most 16, with defaults. The answer comes first. ``ack``: number of acknowledged
        packets for the sender's rule, 0.0 before each call. ``nack``: number of a packet to be sent again (with
        go-back-N, from this packet on), -1.0 before each call. ``mark``: 1.0 is a congestion notification, 0.0 before
        each call. ``credits``: further packets that the sender may send, 0.0 before each call. ``timer``: time of the
        next call of `on_timer` for the flow, s; inf: none; it stays until it is set to another time or expires. The
        agent stores the fields after them, for all of its flows to one node.
    of_flow
        Names of the last fields of State, at most 8, which are stored per flow.

    Raises
    ------
    TypeError
        For a State or ``of_flow`` that violates these rules.
    ValueError
        For ``unsolicited`` out of its range; in a run for an invalid answer.

    Examples
    --------
    A credit for each arriving packet keeps the packets in flight constant:

    >>> from dataclasses import dataclass
    >>> from dfcmodel import Credited, Flow, Link, Packets, ReceiverAgent, Scenario, simulate
    >>> @dataclass(frozen=True)
    ... class OneForOne(ReceiverAgent):
    ...     unsolicited: float = 6.0
    ...     @staticmethod
    ...     def on_packet(s, q, e): return s._replace(ack=1.0, credits=1.0)
    >>> links = [Link("a", "s", 1e6, 1e-5, 50), Link("s", "b", 1e5, 1e-5, 6)]
    >>> flow = Flow("one", ("a", "s", "b"), Credited(), size=100, receiver=OneForOne())
    >>> run = simulate(Scenario("pull", links, [flow], duration=0.01), Packets(seed=1))
    >>> float(run.lost.sum()), bool(run.finished[0] < 1.05e-3)
    (0.0, True)
    """

    class State(NamedTuple):
        """The answer to a packet: ACK, request, mark, credits; and the time of the flow's timer, s."""

        ack: float = 0.0
        nack: float = -1.0
        mark: float = 0.0
        credits: float = 0.0
        timer: float = math.inf

    of_flow: ClassVar[tuple[str, ...]] = ()
    unsolicited: WithUnit = math.inf

    def __init_subclass__(cls, **options: Any) -> None:
        """Raise TypeError for a subclass whose State, parameters or ``of_flow`` are invalid."""
        super().__init_subclass__(**options)
        refuse_hidden_attributes(cls)
        warn_of_unused_attributes(cls)
        names = cls.State._fields
        if names[: len(ANSWER)] != ANSWER or len(names) > MAX_STATE:
            msg = f"must begin with {', '.join(ANSWER)} and have at most {MAX_STATE}"
            raise TypeError(f"State of {cls.__name__} has the fields {', '.join(names)}, {msg}")
        flow_fields = tuple(cls.of_flow)
        further = names[len(ANSWER) :]
        if len(flow_fields) > MAX_OF_FLOW or (flow_fields and further[-len(flow_fields) :] != flow_fields):
            msg = f"must be the last fields of State ({', '.join(further)}), at most {MAX_OF_FLOW}"
            raise TypeError(f"of_flow of {cls.__name__} = {flow_fields!r}: {msg}")

    def __post_init__(self) -> None:
        if not isinstance(self.unsolicited, PacketUnits):
            self.check_packets()

    def check_packets(self) -> None:
        """Raise ValueError for ``unsolicited`` that are no whole packets."""
        unsolicited: object = unwrap_scalar(self.unsolicited)
        if not is_endless(unsolicited):
            integer("unsolicited", unsolicited, 1, LARGEST_CREDIT, why="in packets, or inf")

    @staticmethod
    @abstractmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a packet arrives: ``s`` the state, ``q`` the parameters, ``e`` `ReceivedPacket`."""

    @staticmethod
    def on_timer(s: Any, q: Any, e: Any) -> Any:
        """Return the state after the flow's timer has expired; a new timer must be later."""
        return s

    def path_mismatch(self, line_rate: float, rtt: float) -> str:  # noqa: ARG002
        """Return a clause on a parameter that does not suit a path, which `Trajectory.limits` reports; empty: none.

        ``line_rate`` is the rate of the path's slowest link, packets/s, ``rtt`` its round-trip time without queues, s.
        """
        return ""

    def numbers(self) -> dict[str, float]:
        """Return the numeric parameters, by name, as the functions have them."""
        return numeric_fields(self)


class Credited(RateRule):
    """A sender that sends at the rate of its first link while it has credits of its receiver.

    Its flow needs a receiver, a `ReceiverAgent`.

    Examples
    --------
    >>> from dfcmodel import Credited
    >>> Credited().start(line_rate=1e6).rate
    1000000.0
    """

    solved_by: ClassVar[str] = "none"
    monotone = False
    why_no_inverse = "it has no response function of a loss rate"

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Return the state unchanged: only credits limit the sender."""
        return s

    def rate(self, *args: Any, **kwargs: Any) -> NoReturn:  # noqa: ARG002
        """Raise ValueError: no loss rate sets the rate, the receiver limits it."""
        raise ValueError(f"{self!r}: has no response function of a loss rate; simulate it")


def check_answer(answer: Any, now: float, context: str, in_timer: bool) -> None:
    """Raise ValueError for an agent's invalid answer, or a timer before ``now``, s (in a timer's event: or at it).

    Parameters
    ----------
    answer
        State that the agent has returned.
    now
        Time of the run, s.
    context
        Beginning of the message: the agent and its flow.
    in_timer
        Whether `on_timer` has returned it.
    """
    for name, minimum, maximum in (
        ("ack", 0.0, LARGEST), ("nack", -1.0, LARGEST), ("mark", 0.0, 1.0), ("credits", 0.0, LARGEST),
    ):  # fmt: skip
        value = getattr(answer, name)
        if not (minimum <= value <= maximum and value == math.floor(value)):
            msg = f"must be a whole number from {minimum:g} to {maximum:.10g}"
            raise ValueError(f"{context}: {name} = {value:g}: {msg}")
    if not (answer.timer > now or (answer.timer == now and not in_timer)):
        msg = "must be after it" if in_timer else "must not be before it"
        raise ValueError(f"{context}: timer = {answer.timer!r} at t = {now!r} s: {msg}")
