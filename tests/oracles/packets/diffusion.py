"""Queues of the reference engine with diffusion-type flow control (takano2006): a rate per flow, by feedback."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from dfcmodel import DFC
from dfcmodel.theory.feedback_law import diffusive_rate, proportional_share
from tests.oracles.packets.queues import ENDS, RENEWALS, Queue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dfcmodel.packets.plan import Clock
    from tests.oracles.packets.protocols import EventSimulation
    from tests.oracles.packets.receivers import Packet

__all__ = ["Diffusive", "begin_clock"]

REPORTS = 1 << 22
"""At equal times nodes receive feedback before they report."""


@dataclass
class RatedLane:
    """What waits of a flow, and the credit that grows at its rate: a packet takes 1 of it."""

    rate: float
    told_rate: float
    told_backlog: float = 0.0
    credit: float = 1.0
    settled: float = 0.0
    active: bool = False
    counted: float = 0.0
    counted_at: float = 0.0
    waiting: deque[tuple[float, Packet]] = field(default_factory=deque)

    def settle(self, now: float) -> None:
        """Add what has grown; an empty lane has a credit of 1 at most."""
        self.credit += (now - self.settled) * self.rate
        self.settled = now
        if not self.waiting:
            self.credit = min(self.credit, 1.0)

    def count(self, now: float, smoothing: float) -> float:
        """Return n of the law: the packets that wait, or their exponential average since it was last read."""
        n = float(len(self.waiting))
        if smoothing > 0.0:
            elapsed = now - self.counted_at
            n = self.counted + (n - self.counted) * (elapsed / (smoothing + elapsed))
            self.counted_at = now
        self.counted = n
        return n

    def ready(self) -> float:
        """Return when the next packet may leave."""
        if self.credit >= 1.0:
            return self.settled
        return self.settled + (1.0 - self.credit) / self.rate if self.rate > 0.0 else math.inf


class Diffusive(Queue):
    """A queue per flow; of those that may send, the one with the largest credit does.

    A host that imitates DFC (``host="shaped"``) has one, whose own packets do not count (eq. 9).
    """

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        super().__init__(simulation, p)
        assert isinstance(self.port.discipline, DFC)
        self.rule = self.port.discipline
        self.gain = self.rule.diffusion / self.port.delay
        self.capacity = 1.0 / float(simulation.plan.transmission[p, 0])
        self.lanes = {key: RatedLane(self.capacity, self.capacity) for key in simulation.plan.flows_at[p]}
        self.started = 0  # only the last start that was scheduled happens

    def packets(self) -> Iterable[tuple[float, Packet]]:
        """Return the packets that wait, each behind its arrival in s."""
        return (each for lane in self.lanes.values() for each in lane.waiting)

    def length(self) -> int:
        """Return how many packets wait."""
        return sum(len(lane.waiting) for lane in self.lanes.values())

    def has_room(self, packet: Packet) -> bool:
        """Return whether there is room."""
        return self.fits(packet)

    def passes(self, packet: Packet) -> bool:
        """Return that all packets wait, if only for an instant."""
        return False

    def put(self, packet: Packet) -> None:
        """Queue a packet; the first one of a flow makes it active."""
        lane, now = self.lanes[packet.flow, packet.is_ack], self.simulation.now
        if not lane.waiting:
            lane.settle(now)
        lane.waiting.append((now, packet))
        self.bytes += self.taken(packet)
        if not lane.active:
            lane.active = True
            self.adjust()

    def watch(self) -> None:
        """Schedule the next start."""
        self.go()

    def go(self) -> None:
        """Schedule the start of the next packet, in place of one that was scheduled before."""
        waiting = [lane.ready() for lane in self.lanes.values() if lane.waiting]
        self.started += 1
        if not self.busy and waiting and min(waiting) < math.inf:
            begin = max(self.simulation.now, min(waiting))
            self.simulation.at(begin, ENDS + self.p, partial(self.start, self.started))

    def start(self, number: int) -> None:
        """Send the packet of the flow with the largest credit, the first of equal ones."""
        if number != self.started:
            return
        now = self.simulation.now
        ready = [lane for lane in self.lanes.values() if lane.waiting and lane.ready() <= now]
        lane = max(ready, key=lambda each: each.credit + (now - each.settled) * each.rate)
        came, packet = lane.waiting.popleft()
        lane.credit += (now - lane.settled) * lane.rate - 1.0
        lane.settled = now
        lane.settle(now)
        self.bytes -= self.taken(packet)
        self.send(came, packet)

    def wanted(self, intensity: float) -> dict[tuple[int, bool], float]:
        """Return the rates of the active flows, eqs. (2) and (13)."""
        now, smoothing = self.simulation.now, self.simulation.plan.method.count_smoothing
        alone = dict.fromkeys(self.lanes, 0.0)
        for key, lane in self.lanes.items():
            if lane.active:
                n = lane.count(now, smoothing)
                own = 0.0 if self.port.link < 0 else n
                rate = diffusive_rate(intensity, lane.told_rate, self.gain, lane.told_backlog, own)
                alone[key] = max(0.0, rate)
        total = 0.0
        for rate in alone.values():  # as the compiled engine adds, which `sum` need not do
            total += rate
        part = proportional_share(self.capacity, total)
        return {key: part * rate for key, rate in alone.items()}

    def adjust(self) -> None:
        """Set the rates of all flows."""
        rates = self.wanted(self.rule.intensity)
        for key, lane in self.lanes.items():
            lane.settle(self.simulation.now)
            lane.rate = rates[key]

    def report(self, keys: Iterable[tuple[int, bool]]) -> dict[tuple[int, bool], tuple[float, float]]:
        """Return nominal rates and packets of the active ones of some flows (eq. 5)."""
        rates = self.wanted(1.0)
        return {key: (rates[key], self.lanes[key].counted) for key in keys if self.lanes[key].active}

    def receive_report(self, report: dict[tuple[int, bool], tuple[float, float]]) -> None:
        """Process feedback: what the next node reports of its flows."""
        for key, told in report.items():
            self.lanes[key].told_rate, self.lanes[key].told_backlog = told
        self.adjust()
        self.go()


def begin_clock(simulation: EventSimulation, clock: Clock) -> None:
    """Start a clock: a node reports once per period, and the report takes a period to arrive."""
    to = simulation.queues[clock.to]
    assert isinstance(to, Diffusive)

    def tick() -> None:
        report = {}
        if clock.of >= 0:
            queue = simulation.queues[clock.of]
            assert isinstance(queue, Diffusive)
            report = queue.report(clock.keys)
        later = simulation.now + clock.period
        key = RENEWALS + (clock.of if clock.of >= 0 else clock.to)
        simulation.at(later, key, partial(to.receive_report, report))
        simulation.at(later, RENEWALS + REPORTS + clock.to, tick)

    simulation.at(clock.first, RENEWALS + REPORTS + clock.to, tick)
