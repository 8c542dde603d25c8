"""Switch programs: schedulers and queue managers of users, which see single packets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from dfcmodel.network.queueing.disciplines import PACKETS_ALONE, Discipline, numeric_fields, sets_mark
from hopflow.checks import integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_TELEMETRY_FIELDS", "QueuedPacket", "SwitchProgram", "flow_hash"]

MAX_QUEUES = 65536
MAX_TELEMETRY_FIELDS = 4
"""Maximum number of telemetry fields that a program writes into a packet."""


class QueuedPacket(NamedTuple):
    """Inputs of a switch program for an arriving packet, or for the next packet to leave.

    Attributes
    ----------
    time
        Time of the run, s.
    flow
        Index of the packet's flow.
    priority
        Priority of the packet's flow.
    is_ack
        1.0 for an ACK, otherwise 0.0.
    ect
        1.0 if it can be marked (RFC 3168), otherwise 0.0.
    size
        Size of the packet, bytes.
    left
        Remaining packets of its flow's transfer, including this packet; inf for endless transfers, 1.0 for ACKs.
    rank
        Rank assigned on arrival; 0.0 before that.
    waited
        Waiting time, s; 0.0 on arrival.
    backlog
        Other packets that wait at the port.
    own
        Number of these packets that belong to its flow (in the same direction).
    bytes
        Bytes of these packets.
    capacity
        Rate of the link, bytes/s.
    random
        A number drawn evenly from 0 to 1.
    queue
        Its queue; 0.0 if the program has none. `SwitchProgram.queue_of` sees 0.0 in this and the next two fields.
    queue_backlog
        Other packets in its queue.
    queue_bytes
        Bytes of these packets.
    hash
        A number from 0 to 1 that belongs to its flow at this port, drawn evenly from the seed of the run; the ACKs of
        the flow have another number.
    trimmed
        1.0 for a packet that was cut to its header, otherwise 0.0.

    Examples
    --------
    >>> from dfcmodel import QueuedPacket, ShortestRemaining
    >>> packet = QueuedPacket(**{**dict.fromkeys(QueuedPacket._fields, 0.0), "left": 12.0})
    >>> ShortestRemaining.on_enqueue(ShortestRemaining.State(), None, packet).rank
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

    Waiting packets leave in the order of the ranks that `on_enqueue` assigns, the lowest first and equal ranks in order
    of arrival: a push-in first-out queue (Sivaraman et al. 2016), by which weighted, hierarchical and deadline
    schedulers are written. The functions are plain Python that also compiles, as a window rule is. They return
    the state, updated with ``s._replace(...)``. At packet level; the fluid refuses it.

    With ``queues`` packets wait in first-in first-out queues, which `queue_of` chooses, and the ranks order the queues:
    the queue with the lowest rank sends, of equal ranks the first. A queue gets the rank that `on_enqueue` returns for
    the first packet in the empty queue. It retains rank and turn until it is empty, or `on_dequeue` ends the turn with
    ``skip`` = 1.0: then its packet stays, the queue moves behind the queues whose ranks are not above the returned
    rank, and `on_dequeue` sees the packet of the next queue. Equal ranks with ``skip`` are round robin, other ranks
    strict priorities between queues.

    A program sees its own port only. `on_enqueue` runs before the check for room, so a packet that it counts may still
    be dropped by the buffer; a packet that waits on after ``skip`` is not part of ``queue_backlog``.

    Attributes
    ----------
    State
        NamedTuple of numbers, at most 16. ``drop``, ``mark`` and ``rank`` come first: 1.0 drops the packet, 1.0 marks
        it if it can be marked, and the rank of a packet on arrival. They are 0.0 at each call, as are fields with these
        names: ``trim``, where 1.0 cuts a data packet to its header of 64 bytes, and ``skip``. The port stores the
        fields after them.
    of_flow
        Names of the last fields of State, at most 8, which are stored per flow.
    of_queue
        Names of the fields before ``of_flow``, at most 8, which are stored per queue.
    queues
        Number of queues, 1 to 65536; 0: packets leave in the order of their ranks. A class attribute, or a field of the
        dataclass and so a parameter.
    overflow
        Packet that is dropped when the buffer is full: ``"arrival"``, the arriving packet, ``"last"``, the packet with
        the highest rank, or, with queues, ``"longest"``, the first packet of the queue with the most bytes.
    telemetry
        Names of the fields before ``of_queue``, at most 4, which are stored per data packet: 0.0 on arrival, and the
        values of `on_enqueue` on departure. The packet carries the values that `on_dequeue` returns, and its ACK
        returns them to rate rules with `RateRule.on_telemetry`. Records take no bytes. For ACKs the fields are 0.0 and
        are not carried.

    A packet that was cut continues as a header, with its rank and in its queue; `QueuedPacket.trimmed` marks it for
    later programs. The receiver does not have its data. A rate rule that repairs losses sends the packet again at once;
    for other senders it is lost as if the receiver had dropped it. `Trajectory.drops` lists it under the cause
    ``"trimmed"``, at the link that cut it, once its header has come; a header that is dropped on its way has the cause
    of that drop.

    Raises
    ------
    TypeError
        For a State, ``of_flow``, ``of_queue``, ``telemetry``, ``queues`` or ``overflow`` that violates these rules.

    Examples
    --------
    Shortest remaining transfer first; each packet carries the remaining packets of its transfer:

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
        """Decision on a packet, to drop it, to mark it, and its rank; a subclass adds its fields."""

        drop: float = 0.0
        mark: float = 0.0
        rank: float = 0.0

    of_flow: ClassVar[tuple[str, ...]] = ()
    of_queue: ClassVar[tuple[str, ...]] = ()
    telemetry: ClassVar[tuple[str, ...]] = ()
    queues = 0
    overflow: ClassVar[str] = "arrival"

    def __init_subclass__(cls, **options: Any) -> None:
        """Raise TypeError for a subclass whose State, groups of its fields, ``overflow`` or ``queues`` are invalid."""
        super().__init_subclass__(**options)
        names = cls.State._fields
        if names[:3] != ("drop", "mark", "rank") or len(names) > 16:
            msg = f"has the fields {', '.join(names)}, must begin with drop, mark, rank and have at most 16"
            raise TypeError(f"State of {cls.__name__} {msg}")
        remaining: tuple[str, ...] = names[3:]
        for name, before, limit in (
            ("of_flow", "", 8),
            ("of_queue", " before those of of_flow", 8),
            ("telemetry", " before those of of_queue and of_flow", MAX_TELEMETRY_FIELDS),
        ):
            value: Any = getattr(cls, name)
            group = value if isinstance(value, tuple) else (value,)
            begin = max(0, len(remaining) - len(group))
            if len(group) > limit or (group and remaining[begin:] != group) or {"skip", "trim"} & {*group}:
                fields = f"last fields of State ({', '.join(names[3:])}){before}"
                msg = f"must be the {fields}, at most {limit}, without skip and trim"
                raise TypeError(f"{name} of {cls.__name__} = {value!r}: {msg}")
            remaining = remaining[:begin]
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
        """Return an arriving packet's queue, from 0.0 to below ``queues``, rounded down; fields of queues are 0.0."""
        return 0.0

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a packet has arrived: ``s`` the state, ``q`` the parameters, ``e`` `QueuedPacket`."""
        return s

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """Return the state before a packet leaves; the packet is sent unless it is dropped."""
        return s

    @property
    def may_mark(self) -> bool:
        """Whether a function of the program may set ``mark``; functions of users are assumed to."""
        program = type(self)
        return sets_mark(program.on_enqueue) or sets_mark(program.on_dequeue)

    def numbers(self) -> dict[str, float]:
        """Return the parameters that the functions can use: the numeric fields."""
        return numeric_fields(self)

    def check_queues(self) -> int:
        """Return the parameter ``queues``, 0 for programs without queues; ValueError if it is invalid."""
        minimum = 1 if type(self).queues else 0
        return integer(f"queues of {type(self).__name__}", self.queues, minimum, MAX_QUEUES)


def flow_hash(seeds: Any, flows: Any, is_ack: Any) -> NDArray[np.float64]:
    """Return `QueuedPacket.hash`, 0 to 1, of flows at ports, by the seeds of the ports' random numbers, (N,).

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
