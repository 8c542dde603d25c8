"""Queues of the reference engine: one class per discipline."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from dfcmodel.network.class_pauses import ALL
from dfcmodel.network.disciplines import Pause
from dfcmodel.network.managers import RED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dfcmodel.packets.protocols import EventSimulation
    from dfcmodel.packets.reference_receivers import Packet

__all__ = ["ByPriority", "Pausing", "Queue", "RandomEarly", "RoundRobin"]

ENDS = 1 << 24
"""Smallest key of ends of transmission: at equal times arrivals and timers are processed first."""


class Queue:
    """A port with a FIFO queue and tail drop, which other ports can pause."""

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        self.simulation, self.p = simulation, p
        self.port = simulation.plan.ports[p]
        self.waiting: deque[tuple[float, Packet]] = deque()
        self.busy = False
        self.paused_by: set[tuple[int, int]] = set()  # ports, and classes that they pause

    def arrivals(self) -> Iterable[float]:
        """Return when the packets that wait came."""
        return (came for came, _ in self.waiting)

    def length(self) -> int:
        """Return how many packets wait."""
        return len(self.waiting)

    def admit(self, packet: Packet) -> bool:  # noqa: ARG002
        """Return whether a packet is accepted: the port is idle or its buffer has space."""
        return not self.busy or self.length() < self.port.room

    def put(self, packet: Packet) -> None:
        """Queue a packet."""
        self.waiting.append((self.simulation.now, packet))

    def pop(self) -> tuple[float, Packet]:
        """Remove the next packet; return its arrival time and the packet."""
        return self.waiting.popleft()

    def arrive(self, packet: Packet) -> None:
        """Transmit, queue or drop an arriving packet."""
        simulation, loss = self.simulation, self.simulation.plan.losses[self.p]
        if (loss > 0.0 and not packet.is_ack and simulation.draw(self.p) < loss) or not self.admit(
            packet
        ):
            self.drop(packet)
        elif not self.busy and not self.paused_by and not self.length():
            self.send(self.simulation.now, packet)
        else:
            self.put(packet)
            self.simulation.records.queue(self.p, self.length())
            self.watch()

    def drop(self, packet: Packet) -> None:
        """Drop a packet."""
        self.simulation.records.drop(self.p, packet, self.simulation.now)

    def send(self, came: float, packet: Packet) -> None:
        """Start the transmission of a packet that arrived at time ``came``."""
        simulation, plan = self.simulation, self.simulation.plan
        now = simulation.now
        self.busy = True
        simulation.records.transmit(self.p, packet, came, now)
        simulation.at(now + plan.transmission[self.p, packet.size], ENDS + self.p, self.finish)
        packet.hop += 1
        simulation.at(
            now + plan.passage[self.p, packet.size],
            int(plan.ranks[self.p]),
            lambda: simulation.arrive(packet),
        )

    def finish(self) -> None:
        """End a transmission and start the next one."""
        self.busy = False
        self.go()

    def go(self) -> None:
        """Start the next transmission if the port is idle, not paused and has a packet."""
        if not self.busy and not self.paused_by and self.length():
            came, packet = self.pop()
            self.send(came, packet)
            self.watch()

    def receive_message(self, sender: tuple[int, int], pause: bool) -> None:
        """Process a pause or resume message from a port of the next node for a class, or for all."""
        if pause:
            self.paused_by.add(sender)
        else:
            self.paused_by.discard(sender)
        self.go()

    def watch(self) -> None:
        """React to a change of the queue length; a FIFO queue does nothing."""


class RandomEarly(Queue):
    """Random early detection as implemented in ns-2 (Floyd and Jacobson 1993)."""

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        super().__init__(simulation, p)
        self.average = 0.0
        self.since = 0
        self.above = False
        self.idle_since = 0.0

    def finish(self) -> None:
        """End a transmission."""
        super().finish()
        if not self.busy:
            self.idle_since = self.simulation.now

    def admit(self, packet: Packet) -> bool:
        """Return whether a packet is queued, by the average queue, then by the buffer size."""
        rule = self.port.discipline
        assert isinstance(rule, RED)
        queued, missed = self.length(), 0
        if not self.busy:
            size = self.simulation.plan.scenario.packet_size
            pace = self.port.bits / (8.0 * (rule.mean_packet or size))
            missed = int(pace * (self.simulation.now - self.idle_since))
        for _ in range(missed):
            self.average *= 1.0 - rule.weight
        self.average = self.average * (1.0 - rule.weight) + rule.weight * queued
        self.since += 1
        if not (self.average >= rule.low and queued > 1):
            self.above = False
        elif self.average >= rule.high * (2.0 if rule.gentle else 1.0):
            return False
        elif not self.above:
            self.since, self.above = 1, True
        elif self.simulation.draw(self.p) <= self.chance(rule, packet):
            self.since = 0
            if not (rule.ecn and packet.listens):
                return False
            packet.marked = True
        return queued < self.port.room

    def chance(self, rule: RED, packet: Packet) -> float:
        """Return the probability of dropping or marking a packet."""
        if rule.gentle and self.average >= rule.high:
            chance = (1.0 - rule.max_p) / rule.high * self.average + 2.0 * rule.max_p - 1.0
        else:
            chance = (self.average - rule.low) / (rule.high - rule.low) * rule.max_p
        passed = self.since * chance
        chance = chance / (1.0 - passed) if passed < 1.0 else 1.0
        if rule.mean_packet is not None and chance < 1.0:
            chance *= self.simulation.plan.sizes[packet.size] / rule.mean_packet
        return min(chance, 1.0)


class Pausing(Queue):
    """A FIFO queue that pauses the ports feeding its node (IEEE 802.3x)."""

    pausing = False

    def watch(self) -> None:
        """Pause or resume the feeders when the queue crosses a threshold."""
        rule = self.port.discipline
        assert isinstance(rule, Pause)
        wanted = self.length() > (rule.low if self.pausing else rule.high)
        if wanted == self.pausing:
            return
        self.pausing = wanted
        self.simulation.records.switch(self.p, self.simulation.now, wanted)
        for q in self.simulation.plan.feeders(self.p):
            queue = self.simulation.queues[q]
            time = self.simulation.now + (queue.port.delay + rule.signalling)
            message = partial(queue.receive_message, (self.p, ALL), wanted)
            self.simulation.at(time, -1 - self.p, message)


class RoundRobin(Queue):
    """A queue per flow, served by deficit round robin (Shreedhar and Varghese 1996).

    When the buffer overflows, the first packet of the longest queue is dropped.
    """

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        super().__init__(simulation, p)
        self.lanes: dict[int, deque[tuple[float, Packet]]] = {}
        self.deficit: dict[int, float] = {}
        self.turns: dict[int, deque[int]] = {}

    def arrivals(self) -> Iterable[float]:
        """Return when the packets that wait came."""
        return (came for lane in self.lanes.values() for came, _ in lane)

    def length(self) -> int:
        """Return how many packets wait."""
        return sum(map(len, self.lanes.values()))

    def admit(self, packet: Packet) -> bool:  # noqa: ARG002
        """Return True: every arrival is queued, and `put` drops another packet on overflow."""
        return True

    def level(self, f: int) -> int:  # noqa: ARG002
        """Return the priority level of a flow: 0 for all."""
        return 0

    def put(self, packet: Packet) -> None:
        """Queue a packet; on overflow drop the first packet of the longest queue."""
        f = packet.flow
        lane = self.lanes.setdefault(f, deque())
        turns = self.turns.setdefault(self.level(f), deque())
        if not lane:
            turns.append(f)
            self.deficit[f] = float(self.simulation.plan.sizes[0])
        lane.append((self.simulation.now, packet))
        if self.length() <= self.port.room:
            return
        last = max(level for level, turns in self.turns.items() if turns)
        most = max(len(self.lanes[g]) for g in self.turns[last])
        g = min(g for g in self.turns[last] if len(self.lanes[g]) == most)
        came, victim = self.lanes[g].popleft()
        if not self.lanes[g]:
            self.turns[last].remove(g)
        self.simulation.records.wait_until(self.p, came, self.simulation.now)
        self.drop(victim)

    def pop(self) -> tuple[float, Packet]:
        """Return the arrival time and the next packet, by DRR in the first busy level."""
        sizes = self.simulation.plan.sizes
        turns = self.turns[min(level for level, turns in self.turns.items() if turns)]
        while True:
            f = turns[0]
            came, packet = self.lanes[f][0]
            if sizes[packet.size] <= self.deficit[f]:
                break
            turns.rotate(-1)
            self.deficit[f] += sizes[0]
        self.lanes[f].popleft()
        self.deficit[f] -= sizes[packet.size]
        if not self.lanes[f]:
            turns.popleft()
        return came, packet


class ByPriority(RoundRobin):
    """Strict priorities: a level is served only when all levels with lower numbers are empty."""

    def level(self, f: int) -> int:
        """Return the priority level of a flow."""
        return self.simulation.plan.scenario.flows[f].priority
