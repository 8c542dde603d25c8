"""Receiver agents: what a receiver answers to the packets that come, and how many it lets a sender send."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, NoReturn

from dfcmodel.network.queueing.disciplines import numeric_fields
from hopflow.checks import integer, is_endless, unwrap_scalar
from hopflow.units import WithUnit, quantities
from responsefn import RateRule

__all__ = ["ANSWER", "Credited", "ReceivedPacket", "ReceiverAgent", "check_answer"]

ANSWER = ("ack", "nack", "mark", "credits", "timer")
"""First fields of the state of an agent: what it answers."""
MAX_STATE, MAX_OF_FLOW = 16, 8
"""Fields of State, and those of them that each flow may have for itself."""
LARGEST_CREDIT = 2**24
"""Packets that go without credit."""
LARGEST = 2.0**31 - 2.0
"""Packets: the range of sequence numbers."""


class ReceivedPacket(NamedTuple):
    """What a receiver agent sees of a packet that has come, or of its flow when its timer expires.

    Attributes
    ----------
    time
        In s.
    flow
        Index of its flow.
    number
        Of the packet, from 0 on; -1.0 when the timer expires.
    expected
        Number of the first packet that has not come in order, this one counted.
    marked
        1.0 where it carries a congestion mark (ECN), else 0.0.
    size
        Packets of the transfer; inf of endless ones.
    delivered
        Packets delivered in order, or kept by go-back-N's receiver, up to now.
    sent
        When it left its sender, s; when the timer expires, that of the last packet.
    packet_time
        Transmission time of a packet on the last link, s.
    trimmed
        1.0 where a switch has cut the packet to its header, which alone has come, else 0.0: a `nack` of its number asks for it.

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
    the answer, a packet of 64 bytes; there is none where all of them have their values from before the call. The packets
    are reassembled as the sender's recovery says (`Packets`): with go-back-N those in order are kept, with selective
    repair all. At packet level; the fluid refuses it.

    Parameters
    ----------
    unsolicited
        Packets that a sender sends without credit, a whole number from 1 on; inf: it needs none. A sender that waits for
        credits or ACKs for the retransmission timeout sends one packet without credit.

    Attributes
    ----------
    State
        NamedTuple of numbers, at most 16, with defaults. First comes the answer. ``ack``: packets that it acknowledges, 0.0
        before each call; the rule of the sender sees as many. ``nack``: number of a packet that is to be sent again (with
        go-back-N from there on), -1.0 before each call. ``mark``: 1.0 is a congestion notification, 0.0 before each call.
        ``credits``: how many packets more the sender may send, 0.0 before each call. ``timer``: when `on_timer` is called
        for the flow, s; inf: not; it stays until it is set to another time or expires. What comes after them is remembered,
        by the agent for all of its flows to one node.
    of_flow
        Names of the last fields of State, at most 8, which each flow has for itself.

    Raises
    ------
    TypeError
        Where State or ``of_flow`` is not as said above.
    ValueError
        For ``unsolicited`` out of its range; in a run for an answer that cannot be.

    Examples
    --------
    A credit for each packet that comes keeps as many in flight as were sent without one:

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
        """The answer."""

        ack: float = 0.0
        nack: float = -1.0
        mark: float = 0.0
        credits: float = 0.0
        timer: float = math.inf

    of_flow: ClassVar[tuple[str, ...]] = ()
    unsolicited: WithUnit = math.inf

    def __init_subclass__(cls, **given: Any) -> None:
        """Check the form of the agent."""
        super().__init_subclass__(**given)
        names = cls.State._fields
        if names[: len(ANSWER)] != ANSWER or len(names) > MAX_STATE:
            msg = f"must begin with {', '.join(ANSWER)} and have at most {MAX_STATE}"
            raise TypeError(f"State of {cls.__name__} has the fields {', '.join(names)}, {msg}")
        own = tuple(cls.of_flow)
        rest = names[len(ANSWER) :]
        if len(own) > MAX_OF_FLOW or (own and rest[-len(own) :] != own):
            msg = f"must be the last fields of State ({', '.join(rest)}), at most {MAX_OF_FLOW}"
            raise TypeError(f"of_flow of {cls.__name__} = {own!r}: {msg}")

    def __post_init__(self) -> None:
        given: object = unwrap_scalar(self.unsolicited)
        if not is_endless(given):
            integer("unsolicited", given, 1, LARGEST_CREDIT, why="in packets, or inf")

    @staticmethod
    @abstractmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a packet has come: ``s`` the state, ``q`` the parameters, ``e`` `ReceivedPacket`."""

    @staticmethod
    def on_timer(s: Any, q: Any, e: Any) -> Any:
        """Return the state after the flow's timer has expired; a new timer must be later."""
        return s

    def numbers(self) -> dict[str, float]:
        """Return the parameters that the functions can use: the numeric fields."""
        return numeric_fields(self)


class Credited(RateRule):
    """A sender that sends what its receiver gives credits for, at the rate of its first link.

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
        """Do nothing: credits alone decide."""
        return s

    def rate(self, *given: Any, **named: Any) -> NoReturn:  # noqa: ARG002
        """Refuse: the receiver decides, not losses."""
        raise ValueError(f"{self!r}: has no response function of a loss rate; simulate it")


def check_answer(answer: Any, now: float, place: str, in_timer: bool) -> None:
    """Raise ValueError for an answer of an agent that cannot be.

    Parameters
    ----------
    answer
        State that it has returned.
    now
        Time of the run, s.
    place
        Begin of the message: where it is.
    in_timer
        Whether `on_timer` has returned it.
    """
    for name, least, most in (
        ("ack", 0.0, LARGEST), ("nack", -1.0, LARGEST), ("mark", 0.0, 1.0), ("credits", 0.0, LARGEST),
    ):  # fmt: skip
        value = getattr(answer, name)
        if not (least <= value <= most and value == math.floor(value)):
            msg = f"must be a whole number from {least:g} to {most:.10g}"
            raise ValueError(f"{place}: {name} = {value:g}: {msg}")
    if not (answer.timer > now or (answer.timer == now and not in_timer)):
        msg = "must be after it" if in_timer else "must not be before it"
        raise ValueError(f"{place}: timer = {answer.timer!r} at t = {now!r} s: {msg}")
