"""Switch programs: schedulers and queue managers of users, which see single packets."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from dfcmodel.network.disciplines import Discipline, numeric_fields

__all__ = ["QueuedPacket", "SwitchProgram"]


class QueuedPacket(NamedTuple):
    """What a switch program sees of a packet that comes, or that is the next to leave.

    Attributes
    ----------
    time
        In s.
    flow
        Index of its flow.
    priority
        Of its flow.
    is_ack
        1.0 of an ACK, else 0.0.
    ect
        1.0 where it can be marked (RFC 3168), else 0.0.
    size
        In bytes.
    left
        Packets of its flow from it on to the end of the transfer, it included; inf of endless ones, 1.0 of ACKs.
    rank
        The one that it was given; 0.0 where it comes.
    waited
        For how long it has waited, s; 0.0 where it comes.
    backlog
        Packets that wait at the port besides it.
    own
        How many of them are of its flow (of the same direction).
    bytes
        How many bytes they have.
    capacity
        Of the link, bytes/s.
    random
        A number drawn evenly from 0 to 1.

    Examples
    --------
    >>> from dfcmodel import QueuedPacket, ShortestRemaining
    >>> seen = QueuedPacket(**{**dict.fromkeys(QueuedPacket._fields, 0.0), "left": 12.0})
    >>> ShortestRemaining.on_enqueue(ShortestRemaining.State(), None, seen).rank
    12.0
    """

    time: float
    flow: float
    priority: float
    is_ack: float
    ect: float
    size: float
    left: float
    rank: float
    waited: float
    backlog: float
    own: float
    bytes: float
    capacity: float
    random: float


@dataclass(frozen=True)
class SwitchProgram(Discipline):
    """Base of switch programs: subclass it, name the parameters, write `on_enqueue` and, if needed, `on_dequeue`.

    The packets that wait leave in the order of the ranks that `on_enqueue` gives them, the lowest first and equal ones
    in their order: a push-in first-out queue (Sivaraman et al. 2016), by which weighted, hierarchical and deadline
    schedulers are written. Both functions are plain Python that also compiles, as a window rule is. They return
    the state, updated with ``s._replace(...)``. At packet level; the fluid refuses it.

    Attributes
    ----------
    State
        NamedTuple of numbers, at most 16. ``drop``, ``mark`` and ``rank`` come first: 1.0 drops the packet, 1.0 marks it
        where it can be marked, and the rank that a packet gets as it comes. They are 0.0 at each call. What comes
        after them is remembered by the port.
    of_flow
        Names of the last fields of State, at most 8, which each flow has for itself.
    overflow
        What is dropped where the buffer is full: ``"arrival"``, the packet that comes, or ``"last"``, that with the
        highest rank.

    Raises
    ------
    TypeError
        Where State or ``of_flow`` is not as said above.

    Examples
    --------
    Shortest remaining transfer first; each packet carries how much is left of its transfer:

    >>> from dataclasses import dataclass
    >>> from dfcmodel import CBR, Flow, Link, Packets, Scenario, SwitchProgram, simulate
    >>> @dataclass(frozen=True)
    ... class Shortest(SwitchProgram):
    ...     @staticmethod
    ...     def on_enqueue(s, q, e): return s._replace(rank=e.left)
    >>> links = [Link("a", "s", 1e6, 1e-6, 1000), Link("s", "b", 1e5, 1e-6, 1000, Shortest())]
    >>> flows = [Flow(f"{n}", ("a", "s", "b"), CBR(3e5), size=n) for n in (300, 30, 100)]
    >>> run = simulate(Scenario("short first", links, flows, duration=0.01), Packets(seed=1))
    >>> [flows[n].name for n in run.finished.argsort()]
    ['30', '100', '300']
    """

    class State(NamedTuple):
        """What is done with a packet."""

        drop: float = 0.0
        mark: float = 0.0
        rank: float = 0.0

    of_flow: ClassVar[tuple[str, ...]] = ()
    overflow: ClassVar[str] = "arrival"

    def __init_subclass__(cls, **given: Any) -> None:
        """Check the form of the program."""
        super().__init_subclass__(**given)
        names = cls.State._fields
        if names[:3] != ("drop", "mark", "rank") or len(names) > 16:
            msg = f"has the fields {', '.join(names)}, must begin with drop, mark, rank and have at most 16"
            raise TypeError(f"State of {cls.__name__} {msg}")
        own = tuple(cls.of_flow)
        if len(own) > 8 or (own and names[max(3, len(names) - len(own)) :] != own):
            msg = f"must be the last fields of State ({', '.join(names[3:])}), at most 8"
            raise TypeError(f"of_flow of {cls.__name__} = {own!r}: {msg}")
        if cls.overflow not in ("arrival", "last"):
            msg = "must be 'arrival' or 'last'"
            raise TypeError(f"overflow of {cls.__name__} = {cls.overflow!r}: {msg}")

    @staticmethod
    @abstractmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a packet has come: ``s`` the state, ``q`` the parameters, ``e`` `QueuedPacket`."""

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """Return the state as a packet is to leave, which is sent unless it is dropped."""
        return s

    def numbers(self) -> dict[str, float]:
        """Return the parameters that the functions can use: the numeric fields."""
        return numeric_fields(self)
