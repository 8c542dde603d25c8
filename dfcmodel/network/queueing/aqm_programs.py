"""Switch programs that drop or mark per flow: approximate fair dropping, and the core of CAKE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from dfcmodel.network.queueing.disciplines import check_codel, check_times
from dfcmodel.network.queueing.programs import SwitchProgram
from dfcmodel.network.queueing.schedulers import HashedQueues
from hopflow.checks import one_number
from hopflow.parameters import extends
from hopflow.units import WithUnit, quantities

__all__ = ["AFD", "CAKE"]


@quantities(target="amount", interval="time")
@dataclass(frozen=True)
class AFD(SwitchProgram):
    """Approximate fair dropping (Pan, Breslau, Prabhakar and Shenker 2003): one FIFO queue, fair shares by drops.

    A flow with m of the last ``memory`` arrivals loses the fraction 1 - fair / m of its packets if m exceeds the fair
    number. Every ``interval`` this number changes by alpha (q_old - target) - beta (q - target), where q is the queue.
    The paper's shadow buffer holds a sample of the last arrivals. Each flow has a count instead, which decays by the
    fraction 1 / memory with each arrival at the port and has the same mean as the sample. Default gains and 160 updates
    per second come from the paper and its public implementations. ``target`` and ``memory`` depend on the buffer; their
    defaults are ours.

    Parameters
    ----------
    target
        Target of the queue, packets, >= 0.
    interval
        Time between two updates, s, below 5.
    alpha, beta
        Gains, arrivals per packet of the queue; 0 < alpha < beta.
    memory
        Arrivals that count, > 1.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow, Link, Packets, Scenario, simulate
    >>> links = [Link("a", "s", 1e4, 1e-3, 1000), Link("s", "b", 1e3, 1e-3, 200, AFD(target=50.0))]
    >>> flows = [Flow(str(n), ("a", "s", "b"), CBR(400.0 * n)) for n in (1, 2, 3)]
    >>> run = simulate(Scenario("fair drops", links, flows, duration=60.0), Packets(seed=1))
    >>> (run.delivered[:, -1] / 6e4).round(1).tolist()
    [0.3, 0.3, 0.3]
    """

    target: WithUnit = 100.0
    interval: WithUnit = 1.0 / 160.0
    alpha: float = 1.7
    beta: float = 1.8
    memory: float = 500.0

    @extends(SwitchProgram.State)
    class State(NamedTuple):
        """Arrivals at the port; fair number; queue at last update; next update (s); a flow's count, last arrival."""

        arrivals: float = 0.0
        fair: float = math.inf
        queue: float = 0.0
        next: float = 0.0
        recent: float = 0.0
        at: float = 0.0

    of_flow = ("recent", "at")

    def __post_init__(self) -> None:
        one_number("target", self.target, at_least=0.0, hint="in packets")
        check_times(self, "interval")
        one_number("beta", self.beta, above=0.0)
        one_number("alpha", self.alpha, above=0.0, below=self.beta, hint="< beta")
        one_number("memory", self.memory, above=1.0, hint="in packets")

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Count packet e, move the fair number towards ``q.target``, drop at random above it; return the new state."""
        arrivals = s.arrivals + 1.0
        recent = s.recent * (1.0 - 1.0 / q.memory) ** (arrivals - s.at) + 1.0
        fair = s.fair
        if e.time >= s.next:
            change = q.alpha * (s.queue - q.target) - q.beta * (e.backlog - q.target)
            fair = max(1.0, min(q.memory, fair + change))
            s = s._replace(queue=e.backlog, next=e.time + q.interval)
        drop = 1.0 if e.random > fair / recent else 0.0
        return s._replace(drop=drop, arrivals=arrivals, fair=fair, recent=recent, at=arrivals)


@quantities(target="time", interval="time", quantum="size")
@dataclass(frozen=True)
class CAKE(HashedQueues):
    """The core of CAKE (Høiland-Jørgensen, Täht and Morton 2018): fair queueing with sparse flows first, and COBALT.

    Flows share ``queues`` queues by hash. Deficit round robin serves them; a queue that was empty precedes queues that
    have used up a quantum (DRR++). Each queue has the CoDel half of COBALT, which marks or drops at its head, and a
    full buffer drops from the longest queue. The link is the shaper: give it the rate that CAKE would shape to. CAKE's
    set-associative hash, its BLUE half for flows that do not react, its tins, host isolation and ACK filter are not
    modelled. A queue that becomes empty is sparse again at once, whereas in CAKE it ends its round first. COBALT
    follows Linux (``cobalt_should_drop`` and ``cake_set_rate`` in net/sched/sch_cake.c, Linux 5), with the largest
    packet so far for the MTU, and without the actions for queues that overflow or are empty. Default ``target``,
    ``interval`` and ``queues`` come from Linux (``cake_init``, CAKE_QUEUES), and ``quantum`` equals the result of
    ``cake_set_rate`` from 49.6 Mb/s on, 1514 * 4096 bytes/s.

    Parameters
    ----------
    target, interval
        Parameters of COBALT, s; 0 < target < interval <= 10. If a packet takes more than two thirds of the target, the
        target is the time of 1.5 packets, and the interval is longer by the same amount and at least twice the target.
    quantum
        Bytes per turn.
    queues
        Number of queues.

    Examples
    --------
    >>> CAKE().numbers()["queues"]
    1024.0
    """

    target: WithUnit = 0.005
    interval: WithUnit = 0.1
    quantum: WithUnit = 1514.0
    queues: int = 1024

    @extends(HashedQueues.State)
    class State(NamedTuple):
        """Largest packet (bytes); a queue's deficit (bytes) and COBALT's dropping, count (``drops``), drop_next (s)."""

        mtu: float = 0.0
        deficit: float = 0.0
        dropping: float = 0.0
        drops: float = 0.0
        drop_next: float = 0.0

    of_queue = ("deficit", "dropping", "drops", "drop_next")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_codel(self.target, self.interval)

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Update the largest packet; give a queue that was empty ``q.quantum``; its turn is that of a sparse flow."""
        deficit = q.quantum if e.queue_backlog == 0.0 else s.deficit
        return s._replace(mtu=max(s.mtu, e.size), deficit=deficit)

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """End the turn if the deficit is used up, else drop or mark e by waiting time; return the new state."""
        if s.deficit <= 0.0:
            return s._replace(skip=1.0, rank=1.0, deficit=s.deficit + q.quantum)
        mtu_time = s.mtu / e.capacity
        target = max(1.5 * mtu_time, q.target)
        interval = max(q.interval + target - q.target, 2.0 * target)
        due, late = s.drops > 0.0 and e.time >= s.drop_next, e.time > s.drop_next
        over = e.waited > max(target, 4.0 * mtu_time)
        count = max(1.0, s.drops) if over else s.drops
        drop_next = s.drop_next
        if over and s.dropping == 0.0:
            drop_next = e.time + interval / math.sqrt(count)
        acts = due and over
        while due:  # a step of the count up where it acts, otherwise down while one is due
            count += 1.0 if acts else -1.0
            drop_next += interval / math.sqrt(max(1.0, count))
            late = e.time > drop_next
            due = not acts and count > 0.0 and e.time >= drop_next
        drops = acts and e.ect == 0.0
        if count == 0.0:
            drop_next = e.time + interval  # until then it is active
        elif late and not drops:
            drop_next = e.time
        s = s._replace(dropping=1.0 if over else 0.0, drops=count, drop_next=drop_next)
        if drops and e.queue_backlog > 0.0:  # the last packet of a queue is sent
            return s._replace(drop=1.0)
        mark = 1.0 if acts and e.ect != 0.0 else 0.0
        return s._replace(mark=mark, deficit=s.deficit - e.size)
