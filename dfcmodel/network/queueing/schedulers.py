"""Switch programs: weighted fair queueing, deficit round robin, shortest remaining transfer first, and FQ-CoDel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from dfcmodel.network.queueing.disciplines import check_codel
from dfcmodel.network.queueing.programs import SwitchProgram
from hopflow.checks import one_number
from hopflow.parameters import extends
from hopflow.units import WithUnit, quantities

__all__ = [
    "DeficitRoundRobin",
    "FlowQueueCoDel",
    "HashedQueues",
    "ShortestRemaining",
    "Weighted",
    "WeightedFair",
]


@dataclass(frozen=True)
class Weighted(SwitchProgram):
    """Base of programs with a weight for each priority."""

    weight_0: float = 1.0
    weight_1: float = 1.0
    weight_2: float = 1.0
    weight_3: float = 1.0

    def __post_init__(self) -> None:
        for n in range(4):
            one_number(f"weight_{n}", getattr(self, f"weight_{n}"), above=0.0)


class HashedQueues(SwitchProgram):
    """Base of programs that hash flows into queues, which take turns of a quantum; both are fields of the subclass."""

    quantum: WithUnit
    queues = 1024
    overflow = "longest"

    @extends(SwitchProgram.State)
    class State(NamedTuple):
        """State of a program, and whether a queue's turn ends."""

        skip: float = 0.0

    def __post_init__(self) -> None:
        self.check_queues()
        one_number("quantum", self.quantum, at_least=1.0, hint="in bytes")

    @staticmethod
    def queue_of(s: Any, q: Any, e: Any) -> Any:
        """Return the flow's hash times ``q.queues``, rounded down later: the index of its queue; flows may share it."""
        return e.hash * q.queues


@dataclass(frozen=True)
class WeightedFair(Weighted):
    """Start-time fair queueing with a weight per priority (Goyal, Vin and Cheng 1996, Sect. 2).

    Each flow is served in proportion to the weight of its ``priority``, 0 to 3, while it has packets.

    Parameters
    ----------
    weight_0, weight_1, weight_2, weight_3
        Weights of the flows with priority 0, 1, 2, and 3 or more; > 0.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow, Link, Packets, Scenario, simulate
    >>> links = [Link("a", "s", 1e6, 1e-6, 100), Link("s", "b", 1e5, 1e-6, 1000, WeightedFair(1.0, 3.0))]
    >>> flows = [Flow(str(n), ("a", "s", "b"), CBR(2e5), priority=n) for n in range(2)]
    >>> run = simulate(Scenario("one to three", links, flows, duration=1e-3), Packets(seed=1))
    >>> run.delivered[:, -1].tolist()
    [25.0, 74.0]
    """

    @extends(SwitchProgram.State)
    class State(NamedTuple):
        """The virtual time v, and the finish tag of a flow's last packet."""

        virtual: float = 0.0
        finish: float = 0.0

    of_flow = ("finish",)

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Rank packet e by its virtual start, max(v, the flow's finish tag), and set that tag; return the new state."""
        start = max(s.virtual, s.finish)
        return s._replace(rank=start, finish=start + e.size / weight_of(q, e))

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """Set the virtual time v to the start tag of the packet in service; return the new state."""
        return s._replace(virtual=e.rank)


@quantities(quantum="size")
@dataclass(frozen=True)
class DeficitRoundRobin(HashedQueues, Weighted):
    """Deficit round robin, bytes, with a weight per priority (Shreedhar and Varghese 1995); flows hashed into queues.

    A queue sends up to ``quantum`` bytes times the weight of its packets' ``priority``, 0 to 3, in a turn. It
    retains the unused part for the next turn while it has packets. Flows that share a queue share its turns.

    Parameters
    ----------
    weight_0, weight_1, weight_2, weight_3
        Weights of the flows with priority 0, 1, 2, and 3 or more; > 0.
    quantum
        Bytes per turn and weight, >= 1. With at least the bytes of a packet every turn sends a packet.
    queues
        Number of queues.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow, Link, Packets, Scenario, simulate
    >>> rule = DeficitRoundRobin(1.0, 3.0)
    >>> links = [Link("a", "s", 1e6, 1e-6, 100), Link("s", "b", 1e5, 1e-6, 1000, rule)]
    >>> flows = [Flow(str(n), ("a", "s", "b"), CBR(2e5), priority=n) for n in range(2)]
    >>> run = simulate(Scenario("one to three", links, flows, duration=1e-3), Packets(seed=1))
    >>> run.delivered[:, -1].tolist()
    [25.0, 74.0]
    """

    quantum: WithUnit = 1500.0
    queues: int = 1024

    @extends(HashedQueues.State)
    class State(NamedTuple):
        """Bytes that a queue may still send in its turn."""

        deficit: float = 0.0

    of_queue = ("deficit",)

    def __post_init__(self) -> None:
        HashedQueues.__post_init__(self)
        Weighted.__post_init__(self)

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Give a queue that was empty ``q.quantum`` times its weight; return the new state."""
        return s._replace(deficit=q.quantum * weight_of(q, e)) if e.queue_backlog == 0.0 else s

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """End the turn if packet e exceeds the deficit, which then gets a quantum, else reduce it; return the state."""
        if e.size > s.deficit:
            return s._replace(skip=1.0, deficit=s.deficit + q.quantum * weight_of(q, e))
        return s._replace(deficit=s.deficit - e.size)


@dataclass(frozen=True)
class ShortestRemaining(SwitchProgram):
    """The packet with the smallest remaining transfer is sent first; a full buffer drops the last packet.

    These are the priorities of pFabric's switch (Alizadeh et al. 2013, Sect. 4.1 and 4.2), without its search for the
    earliest packet of the chosen flow. The last packets of a long transfer have the ranks of a short one: senders that
    fill the queue at once, as `CBR` does, gain less by it than senders with windows.

    Examples
    --------
    >>> ShortestRemaining().overflow
    'last'
    """

    overflow = "last"

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Rank the packet by the remaining packets of its transfer; return the new state."""
        return s._replace(rank=e.left)


@quantities(target="time", interval="time", quantum="size")
@dataclass(frozen=True)
class FlowQueueCoDel(HashedQueues):
    """FQ-CoDel (RFC 8290): a queue per flow, each with CoDel, served by deficit round robin, new queues first.

    Flows are hashed into ``queues`` queues. A queue that was empty is new and precedes the old queues until it has sent
    a quantum. A new queue that becomes empty counts as old until each old queue that had packets then has had a turn
    (RFC 8290, 4.2). If it gets a packet before, it goes behind the old queues, whereas in the RFC it retains the
    position that it took when it became empty. A full buffer drops the first packet of the queue with the most bytes.
    Packets that can be marked are marked.

    Parameters
    ----------
    target, interval
        Parameters of CoDel (RFC 8289, 4.3 and 4.4), s; 0 < target < interval <= 10.
    quantum
        Bytes per turn, >= 1: by default a packet of 1500 bytes, without the link header of RFC 8290, 5.2.4 (1514
        bytes).
    queues
        Number of queues (RFC 8290, 5.2.5).

    Examples
    --------
    >>> FlowQueueCoDel().numbers()
    {'target': 0.005, 'interval': 0.1, 'quantum': 1500.0, 'queues': 1024.0}
    """

    target: WithUnit = 0.005
    interval: WithUnit = 0.1
    quantum: WithUnit = 1500.0
    queues: int = 1024

    @extends(HashedQueues.State)
    class State(NamedTuple):
        """Completed turns of old queues, the number of old queues with packets, then the variables of a queue.

        These are its deficit (bytes), whether it is old, the number of turns at which it is new again, and the
        variables of RFC 8289, 5.3, with ``above`` for first_above_time and ``drops`` for count.
        """

        turns: float = 0.0
        old_queues: float = 0.0
        deficit: float = 0.0
        old: float = 0.0
        new_at: float = 0.0
        above: float = 0.0
        dropping: float = 0.0
        drops: float = 0.0
        last_drops: float = 0.0
        drop_next: float = 0.0

    of_queue = (
        "deficit", "old", "new_at", "above", "dropping", "drops", "last_drops", "drop_next",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        check_codel(self.target, self.interval)

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Make a queue that was empty new, rank 0, or old, rank 1, if it counts as old; return the new state."""
        if e.queue_backlog > 0.0:
            return s
        others = s.old_queues - s.old  # old: an overflow has emptied it
        if s.turns >= s.new_at:
            return s._replace(deficit=q.quantum, old=0.0, old_queues=others)
        return s._replace(rank=1.0, old=1.0, old_queues=others + 1.0)

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """End the turn if the deficit is used up, else drop or mark e (RFC 8289, 5.6); return the new state."""
        if s.deficit <= 0.0:
            s = s._replace(turns=s.turns + s.old, old_queues=s.old_queues + 1.0 - s.old, old=1.0)
            return s._replace(skip=1.0, rank=1.0, deficit=s.deficit + q.quantum)
        s = codel_update(s, q, e)
        if s.mark == 1.0 and e.ect == 0.0:
            return s._replace(mark=0.0, drop=1.0)
        s = s._replace(deficit=s.deficit - e.size)
        if e.queue_backlog > 0.0:
            return s
        turns = s.turns + s.old
        return s._replace(
            turns=turns,
            old=0.0,
            old_queues=s.old_queues - s.old,
            new_at=turns if s.old == 1.0 else turns + s.old_queues,
        )


def codel_update(s: Any, q: Any, e: Any) -> Any:
    """Return a queue's state s after CoDel (RFC 8289, 5.6) sees its first packet, e; ``mark`` 1.0: drop or mark it."""
    below = e.waited < q.target or e.queue_backlog == 0.0
    above = 0.0 if below else (s.above if s.above > 0.0 else e.time + q.interval)
    ok_to_drop = not below and s.above > 0.0 and e.time >= s.above
    dropping = s.dropping == 1.0 and ok_to_drop
    acts = ok_to_drop and (not dropping or e.time >= s.drop_next)
    count, drop_next, last = s.drops, s.drop_next, s.last_drops
    if acts and dropping:
        count += 1.0
        drop_next += q.interval / math.sqrt(count)
    elif acts:
        more = count - last
        recent = e.time - drop_next < 16.0 * q.interval
        count = more if more > 1.0 and recent else 1.0
        last = count
        drop_next = e.time + q.interval / math.sqrt(count)
    s = s._replace(above=above, dropping=1.0 if ok_to_drop else 0.0, mark=1.0 if acts else 0.0)
    return s._replace(drops=count, last_drops=last, drop_next=drop_next)


def weight_of(q: Any, e: Any) -> Any:
    """Return the weight of packet e's priority from parameters q."""
    weight = q.weight_3
    if e.priority <= 0.0:
        weight = q.weight_0
    elif e.priority == 1.0:
        weight = q.weight_1
    elif e.priority == 2.0:
        weight = q.weight_2
    return weight
