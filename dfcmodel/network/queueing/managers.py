"""Queue managers that drop, or mark, before a buffer is full: RED, CoDel, PIE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from dfcmodel.network.queueing.coupled import PI2
from dfcmodel.network.queueing.disciplines import (
    IN_SECONDS,
    MAX_TIME,
    ONE_THRESHOLD,
    QueueManager,
    check_codel,
    check_times,
)
from hopflow.checks import flag, one_number
from hopflow.parameters import extends
from hopflow.units import PacketUnits, WithUnit, quantities

__all__ = ["PIE", "RED", "CoDel"]


@quantities(low="amount", high="amount", mean_packet="size", max_p="share")
@dataclass(frozen=True)
class RED(QueueManager):
    """Random early detection (Floyd and Jacobson 1993) on a FIFO queue; thresholds in packets.

    Parameters
    ----------
    low, high
        Thresholds of the average queue in packets, 0 < low < high.
    weight
        Weight of an arrival in the average queue, 0 < weight <= 1.
    max_p
        Probability to drop at ``high``, 0 < max_p <= 1.
    gentle
        Between ``high`` and twice that the probability rises from max_p to 1; otherwise it is 1 above ``high``.
    mean_packet
        None counts packets; a size in bytes counts bytes in units of it, so that the probability is multiplied by
        packet size over ``mean_packet`` (ns-2's default is 500). Thresholds in bytes are in these units too.
    ecn
        Mark packets of window-controlled flows instead of dropping them, up to ``high``. Above it packets are dropped,
        as in ns-2 and ns-3. Linux's ``red`` marks above it too unless it has ``harddrop``, which is not available:
        `StepMarking` is nearest, which marks all packets above a threshold of the queue.

    Examples
    --------
    >>> from dfcmodel import Link, RED
    >>> link = Link("a", "b", 1e3, 0.01, 100.0, discipline=RED(5.0, 15.0))
    >>> link.discipline == RED(5.0, 15.0)
    True
    """

    low: WithUnit = 5.0
    high: WithUnit = 15.0
    weight: float = 0.002
    max_p: WithUnit = 0.1
    gentle: bool = True
    mean_packet: WithUnit | None = None
    ecn: bool = False

    class State(NamedTuple):
        """Packets to drop and to mark; average queue, packets; packets times p up to the next drop (0: not drawn)."""

        drop: float = 0.0
        mark: float = 0.0
        average: float = 0.0
        gap: float = 0.0

    def __post_init__(self) -> None:
        if self.mean_packet is not None:
            unit = one_number("mean_packet", self.mean_packet, above=0.0, hint="in bytes")
            for name in ("low", "high"):
                threshold = getattr(self, name)
                if isinstance(threshold, PacketUnits):  # no longer a number of packets
                    object.__setattr__(self, name, float(threshold.in_packets_of(unit)))
        one_number("low", self.low, above=0.0)
        one_number("high", self.high, above=self.low, hint=f"low < high; {ONE_THRESHOLD}")
        one_number("weight", self.weight, above=0.0, at_most=1.0)
        one_number("max_p", self.max_p, above=0.0, at_most=1.0)
        flag("gentle", self.gentle)
        flag("ecn", self.ecn)

    def numbers(self, packet_size: float) -> dict[str, float]:
        """Return the parameters of `on_step`; ``unit`` is the size of a packet in the unit of the thresholds."""
        unit = 1.0 if self.mean_packet is None else packet_size / self.mean_packet
        numbers = {k: v for k, v in super().numbers(packet_size).items() if k != "mean_packet"}
        return {**numbers, "unit": unit}

    @staticmethod
    def on_step(s: Any, q: Any, e: Any) -> Any:
        """Average the queue, and drop or mark packets 1/p to 2/p arrivals apart; return the new state.

        An empty queue counts as a step's service of arrivals of none, as ns-2 has it.
        """
        arrivals = max(e.arrivals, e.capacity * e.step) if e.backlog == 0.0 else e.arrivals
        weight = 1.0 - (1.0 - q.weight) ** arrivals
        average = s.average + weight * (e.backlog * q.unit - s.average)
        p = 0.0
        if average >= q.high:
            p = 1.0
            if q.gentle > 0.0:
                p = min(1.0, q.max_p + (1.0 - q.max_p) * (average / q.high - 1.0))
        elif average >= q.low:
            p = q.max_p * (average - q.low) / (q.high - q.low)
        p = min(1.0, p * q.unit)
        gap = s.gap if s.gap > 0.0 else 1.0 + e.random
        taken = 0.0
        if p >= 1.0:
            taken = e.arrivals
            gap = 1.0 + e.random
        elif p > 0.0:
            gap -= p * e.arrivals
            while gap <= 0.0:
                taken += 1.0
                gap += 1.0 + e.random
        marks = q.ecn > 0.0 and average < q.high  # RFC 3168, 7
        return s._replace(drop=0.0 if marks else taken, mark=taken if marks else 0.0, average=average, gap=gap)


@quantities(target="time", interval="time")
@dataclass(frozen=True)
class CoDel(QueueManager):
    """Controlled delay (RFC 8289): drop at an increasing rate while packets wait too long.

    At packet level it drops at the head of the queue, as in the RFC. A fluid drops arrivals.

    Parameters
    ----------
    target
        Acceptable delay in s, less than ``interval``.
    interval
        Time for which a longer delay is tolerated, s, at most 10.

    Examples
    --------
    >>> from dfcmodel import Link, CoDel
    >>> link = Link("a", "b", 1e3, 0.01, 100.0, discipline=CoDel())
    >>> link.discipline == CoDel()
    True
    """

    target: WithUnit = 0.005
    interval: WithUnit = 0.1

    class State(NamedTuple):
        """Packets to drop, to mark (none), and the variables of RFC 8289, 5.3.

        deadline: first_above_time, s; dropping: whether it drops; next: drop_next, s; drop_count,
        last_drop_count: count, lastcount.
        """

        drop: float = 0.0
        mark: float = 0.0
        deadline: float = 0.0
        dropping: float = 0.0
        next: float = 0.0
        drop_count: float = 0.0
        last_drop_count: float = 0.0

    def __post_init__(self) -> None:
        check_codel(self.target, self.interval)

    @staticmethod
    def on_step(s: Any, q: Any, e: Any) -> Any:
        """Drop packets ``q.interval`` / sqrt(count) apart while delays are too long (RFC 8289); return new state."""
        long = e.delay >= q.target and e.backlog > 1.0
        deadline = 0.0
        if long:
            deadline = s.deadline if s.deadline > 0.0 else e.time + q.interval
        due = long and e.time >= deadline
        drop, count, at, last = 0.0, s.drop_count, s.next, s.last_drop_count
        if due and s.dropping == 0.0:
            drop = 1.0
            recent = e.time - at < 16.0 * q.interval and count - last > 1.0
            started = count - last if recent else 1.0
            count = started
            last = started
            at = e.time + q.interval / count**0.5
        elif due:
            while e.time >= at:
                drop += 1.0
                count += 1.0
                at += q.interval / count**0.5
        return s._replace(
            drop=drop, deadline=deadline, dropping=1.0 if due else 0.0, next=at, drop_count=count,
            last_drop_count=last,
        )  # fmt: skip


@quantities(target="time", update="time", burst="time")
@dataclass(frozen=True)
class PIE(QueueManager):
    """Proportional integral controller enhanced (RFC 8033): drop with a probability that follows the delay, s.

    Parameters
    ----------
    target
        Target delay, s, below 5.
    update
        Time between two updates of the probability, s, below 5.
    alpha, beta
        Gains of the delay's distance from the target and of its change, 1/s.
    burst
        Time without drops when a queue builds up after small probabilities and delays, s, below 5 (4.4, MAX_BURST); 0:
        no allowance.

    Examples
    --------
    >>> from dfcmodel import Link, PIE
    >>> link = Link("a", "b", 1e3, 0.01, 100.0, discipline=PIE())
    >>> link.discipline == PIE()
    True
    """

    target: WithUnit = 0.015
    update: WithUnit = 0.015
    alpha: float = 0.125
    beta: float = 1.25
    burst: WithUnit = 0.15

    @extends(PI2.State)
    class State(NamedTuple):
        """Packets to drop, to mark (none); drop probability; time of its next update, s; delay at the last one, s.

        spent: used part of the burst allowance, s.
        """

        spent: float = 0.0

    def __post_init__(self) -> None:
        check_times(self, "target", "update")
        for name in ("alpha", "beta"):
            one_number(name, getattr(self, name), above=0.0)
        one_number("burst", self.burst, at_least=0.0, below=MAX_TIME, hint=IN_SECONDS)

    @staticmethod
    def on_step(s: Any, q: Any, e: Any) -> Any:
        """Update the drop probability if due; drop that fraction of arrivals (RFC 8033, 4.1, 4.2); return the state."""
        delay = e.backlog / e.capacity if e.capacity > 0.0 else s.delay
        p, old, at, spent = s.p, s.delay, s.next, s.spent
        if e.time >= at:
            change = q.alpha * (delay - q.target) + q.beta * (delay - old)
            scale = 1.0
            level = 0.1
            while p < level and level > 1e-6:  # 4.2: smaller steps at small probabilities
                scale = 0.5 if level == 0.1 else scale * 0.25
                level = level / 10.0
            p = min(1.0, max(0.0, p + scale * change))
            if delay == 0.0 and old == 0.0:
                p *= 0.98
            spent = min(q.burst, spent + q.update)
            if p == 0.0 and delay < 0.5 * q.target and old < 0.5 * q.target:
                spent = 0.0
            old = delay
            at = max(at, e.time) + q.update
        spared = (old < 0.5 * q.target and p < 0.2) or e.backlog <= 2.0 or spent < q.burst
        drop = 0.0 if spared else p * e.arrivals
        return s._replace(drop=drop, p=p, next=at, delay=old, spent=spent)
