"""Switch programs: schedulers and queue managers of users, which see single packets."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from dfcmodel.network.queueing.coupled import PI2, DualPI2
from dfcmodel.network.queueing.disciplines import PACKETS_ALONE, Discipline, manager_of, numeric_fields
from hopflow.checks import integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_TELEMETRY", "QueuedPacket", "SwitchProgram", "flow_hash", "may_mark"]

MAX_QUEUES = 65536
MOST_TELEMETRY = 4
"""Numbers that a program may write into a packet."""


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
    queue
        Its queue; 0.0 where the program has none. `SwitchProgram.queue_of` sees 0.0 here and in the next two.
    queue_backlog
        Packets in its queue besides it.
    queue_bytes
        How many bytes they have.
    hash
        A number from 0 to 1 that belongs to its flow at this port, drawn evenly from the seed of the run; the ACKs of
        the flow have another one.
    trimmed
        1.0 of a packet that was cut to its header, else 0.0.

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
    queue: float
    queue_backlog: float
    queue_bytes: float
    hash: float
    trimmed: float


@dataclass(frozen=True)
class SwitchProgram(Discipline):
    """Base of switch programs: subclass it, name the parameters, write `on_enqueue`, `on_dequeue` or both.

    The packets that wait leave in the order of the ranks that `on_enqueue` gives them, the lowest first and equal ones
    in their order: a push-in first-out queue (Sivaraman et al. 2016), by which weighted, hierarchical and deadline
    schedulers are written. The functions are plain Python that also compiles, as a window rule is. They return
    the state, updated with ``s._replace(...)``. At packet level; the fluid refuses it.

    With ``queues`` packets wait in first-in first-out queues, which `queue_of` chooses, and the ranks order the queues:
    the one with the lowest rank sends, and equal ones take turns. A queue gets the rank that `on_enqueue` returns for
    the packet that finds it empty. It keeps rank and turn until `on_dequeue` ends the turn with ``skip`` = 1.0: then its
    packet stays, the queue goes behind those whose ranks are not higher than the one returned, and `on_dequeue` sees the
    packet of the next queue. Equal ranks with ``skip`` are round robin, other ranks strict priorities between queues.

    Attributes
    ----------
    State
        NamedTuple of numbers, at most 16. ``drop``, ``mark`` and ``rank`` come first: 1.0 drops the packet, 1.0 marks it
        where it can be marked, and the rank that a packet gets as it comes. They are 0.0 at each call, as are fields
        with these names: ``trim``, where 1.0 cuts a data packet to its header of 64 bytes, and ``skip``. What else comes
        after them is remembered by the port.
    of_flow
        Names of the last fields of State, at most 8, which each flow has for itself.
    of_queue
        Names of the fields before those, at most 8, which each queue has for itself.
    queues
        How many queues there are, 1 to 65536; 0: packets leave by their own ranks. A class attribute, or a field of the
        dataclass and so a parameter.
    overflow
        What is dropped where the buffer is full: ``"arrival"``, the packet that comes, ``"last"``, that with the
        highest rank, or, of queues, ``"longest"``, the first packet of the queue with most bytes.
    telemetry
        Names of the fields before those, at most 4, which each packet of data has for itself: 0.0 where it comes, and what
        `on_enqueue` has written where it leaves. It carries on what `on_dequeue` returns, and its ACK brings that to rate
        rules that have `RateRule.on_telemetry`. Records take no bytes. Of ACKs the fields are 0.0, and are not carried.

    A packet that was cut goes on as a header, by its rank and in its queue; `QueuedPacket.trimmed` says so to the
    programs behind. The receiver does not have its data. A rate rule that repairs losses is asked for the packet at
    once; for other senders it is lost as if the receiver had dropped it. `Trajectory.drops` lists it under the cause
    ``"trimmed"``, at the link that cut it, once its header has come; a header that is dropped on its way has the cause
    of that drop.

    Raises
    ------
    TypeError
        Where State, ``of_flow``, ``of_queue``, ``telemetry``, ``queues`` or ``overflow`` is not as said above.

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

    subclasses_run_at = PACKETS_ALONE

    class State(NamedTuple):
        """What is done with a packet."""

        drop: float = 0.0
        mark: float = 0.0
        rank: float = 0.0

    of_flow: ClassVar[tuple[str, ...]] = ()
    of_queue: ClassVar[tuple[str, ...]] = ()
    telemetry: ClassVar[tuple[str, ...]] = ()
    queues = 0
    overflow: ClassVar[str] = "arrival"

    def __init_subclass__(cls, **given: Any) -> None:
        """Check the form of the program."""
        super().__init_subclass__(**given)
        names = cls.State._fields
        if names[:3] != ("drop", "mark", "rank") or len(names) > 16:
            msg = f"has the fields {', '.join(names)}, must begin with drop, mark, rank and have at most 16"
            raise TypeError(f"State of {cls.__name__} {msg}")
        rest: tuple[str, ...] = names[3:]
        for name, before, most in (
            ("of_flow", "", 8),
            ("of_queue", " before those of of_flow", 8),
            ("telemetry", " before those of of_queue and of_flow", MOST_TELEMETRY),
        ):
            told: Any = getattr(cls, name)
            own = told if isinstance(told, tuple) else (told,)
            place = max(0, len(rest) - len(own))
            if len(own) > most or (own and rest[place:] != own) or {"skip", "trim"} & {*own}:
                msg = f"must be the last fields of State ({', '.join(names[3:])}){before}, at most {most}, without skip and trim"
                raise TypeError(f"{name} of {cls.__name__} = {told!r}: {msg}")
            rest = rest[:place]
        for name in cls.telemetry:
            if cls.State._field_defaults.get(name, 0.0) != 0.0:
                msg = "must begin at 0.0, as a packet that comes carries nothing of this port"
                raise TypeError(f"{name} of telemetry of {cls.__name__}: {msg}")
        allowed = ("arrival", "longest") if cls.queues else ("arrival", "last")
        if cls.overflow not in allowed:
            msg = f"must be {allowed[0]!r} or {allowed[1]!r} {'with' if cls.queues else 'without'} queues"
            raise TypeError(f"overflow of {cls.__name__} = {cls.overflow!r}: {msg}")
        if not cls.queues and (cls.of_queue or "skip" in names):
            msg = "of_queue and skip need queues, a number from 1 to 65536"
            raise TypeError(f"queues of {cls.__name__} = {cls.queues!r}: {msg}")
        integer(f"queues of {cls.__name__}", cls.queues, 0, MAX_QUEUES)

    @staticmethod
    def queue_of(s: Any, q: Any, e: Any) -> Any:
        """Return the queue of a packet that comes, from 0.0 to below ``queues``, rounded down; fields of queues are 0.0."""
        return 0.0

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a packet has come: ``s`` the state, ``q`` the parameters, ``e`` `QueuedPacket`."""
        return s

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """Return the state as a packet is to leave, which is sent unless it is dropped."""
        return s

    def numbers(self) -> dict[str, float]:
        """Return the parameters that the functions can use: the numeric fields."""
        return numeric_fields(self)

    def check_queues(self) -> int:
        """Return how many queues there are; ValueError for a number of them that cannot be."""
        least = 1 if type(self).queues else 0
        return integer(f"queues of {type(self).__name__}", self.queues, least, MAX_QUEUES)


def flow_hash(seeds: Any, flows: Any, is_ack: Any) -> NDArray[np.float64]:
    """Return `QueuedPacket.hash` of flows at ports, by the seeds of the ports' random numbers, shape (N,).

    Examples
    --------
    >>> flow_hash(np.array([7, 7, 8]), np.array([0, 0, 0]), np.array([False, True, False])).round(3).tolist()
    [0.39, 0.017, 0.619]
    """
    keys = 2 * np.asarray(flows) + np.asarray(is_ack) + 1
    x = np.asarray(seeds).astype(np.uint64) + keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    x ^= x >> np.uint64(31)
    return np.asarray((x >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


def may_mark(discipline: Discipline) -> bool:
    """Return whether a discipline may mark packets of senders that answer each mark.

    PI2 and DualPI2 always mark these (RFC 9332), a manager with ``ecn`` where that is set. Functions of this package mark
    where they set ``mark``; those of users may do so in any way.

    >>> from dfcmodel import INT, RED, CoDel, DualPI2
    >>> [may_mark(rule) for rule in (DualPI2(), RED(ecn=True), RED(), CoDel(), INT())]
    [True, True, False, False, False]
    """
    manager = manager_of(discipline)
    if isinstance(manager, PI2) or isinstance(discipline, DualPI2):
        return True
    if isinstance(discipline, SwitchProgram):
        program = type(discipline)
        return _sets_mark(program.on_enqueue) or _sets_mark(program.on_dequeue)
    return manager is not None and bool(getattr(manager, "ecn", True)) and _sets_mark(type(manager).on_step)


@functools.lru_cache(maxsize=1024)
def _sets_mark(function: Any) -> bool:
    """Return whether a function of a discipline, or one that it calls, may set ``mark``."""
    remaining, visited = [function], set[Any]()
    while remaining:
        function = remaining.pop()
        visited.add(function)
        code = getattr(function, "__code__", None)
        if code is None or not function.__module__.startswith("dfcmodel."):
            return True
        codes = [code, *(constant for constant in code.co_consts if isinstance(constant, CodeType))]
        # keywords of calls are tuples among the constants
        if any(
            constant == "mark" or (isinstance(constant, tuple) and "mark" in constant)
            for c in codes
            for constant in c.co_consts
        ):
            return True
        called = (function.__globals__.get(name) for c in codes for name in c.co_names)
        remaining += [each for each in called if isinstance(each, FunctionType) and each not in visited]
    return False
