"""Queues of the reference engine: one short class for each discipline."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from dfcmodel.network.disciplines import RED, Fair, Pause, Priority

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dfcmodel.packets.protocols import EventSimulation
    from dfcmodel.packets.reference_receivers import Packet

__all__ = ["Queue", "queue_of"]

ENDS = 1 << 24
"""Key of the first end of transmission; arrivals and senders come before at equal times."""


def queue_of(simulation: EventSimulation, p: int) -> Queue:
    """Return the queue of a port."""
    kinds: dict[type, type[Queue]] = {
        RED: RandomEarly, Pause: Pausing, Fair: RoundRobin, Priority: ByPriority,
    }  # fmt: skip
    return kinds.get(type(simulation.plan.ports[p].discipline), Queue)(simulation, p)


class Queue:
    """A port with a FIFO queue that drops from the tail, and that others may pause."""

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        self.simulation, self.p = simulation, p
        self.port = simulation.plan.ports[p]
        self.waiting: deque[tuple[float, Packet]] = deque()
        self.busy = False
        self.paused_by: set[int] = set()

    def arrivals(self) -> Iterable[float]:
        """Return when the packets that wait came."""
        return (came for came, _ in self.waiting)

    def length(self) -> int:
        """Return how many packets wait."""
        return len(self.waiting)

    def admit(self, packet: Packet) -> bool:  # noqa: ARG002
        """Return whether a packet may wait or be sent."""
        return not self.busy or self.length() < self.port.room

    def put(self, packet: Packet) -> None:
        """Let a packet wait."""
        self.waiting.append((self.simulation.now, packet))

    def pop(self) -> tuple[float, Packet]:
        """Return when the next packet came, and the packet."""
        return self.waiting.popleft()

    def arrive(self, packet: Packet) -> None:
        """Send a packet, queue it or drop it."""
        if not self.admit(packet):
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
        """Begin to transmit a packet that came then."""
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
        """End a transmission; begin the next one."""
        self.busy = False
        self.go()

    def go(self) -> None:
        """Begin the next transmission if one may begin."""
        if not self.busy and not self.paused_by and self.length():
            came, packet = self.pop()
            self.send(came, packet)
            self.watch()

    def hear(self, sender: int, pause: bool) -> None:
        """Hear from a port of the next node that it pauses this one, or no longer."""
        if pause:
            self.paused_by.add(sender)
        else:
            self.paused_by.discard(sender)
        self.go()

    def watch(self) -> None:
        """Act on the length of the queue, which has changed."""


class RandomEarly(Queue):
    """Random early detection as ns-2 has it (Floyd and Jacobson 1993)."""

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
        """Return whether a packet may enter: the average decides, then the room."""
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
        """Return the probability that a packet is dropped or marked."""
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
    """A FIFO queue that pauses the ports which feed its node (IEEE 802.3x)."""

    pausing = False

    def watch(self) -> None:
        """Pause or resume the ports before."""
        rule = self.port.discipline
        assert isinstance(rule, Pause)
        wanted = self.length() > (rule.low if self.pausing else rule.high)
        if wanted == self.pausing:
            return
        self.pausing = wanted
        for q in self.simulation.plan.feeders(self.p):
            queue = self.simulation.queues[q]
            time = self.simulation.now + (queue.port.delay + rule.signalling)
            self.simulation.at(time, -1 - self.p, partial(queue.hear, self.p, wanted))


class RoundRobin(Queue):
    """A queue per flow, served in turn by deficits (DRR, Shreedhar and Varghese 1996).

    When the buffer overflows the first packet of the longest queue is dropped.
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
        """Return whether a packet may enter: always, another one goes instead."""
        return True

    def level(self, f: int) -> int:  # noqa: ARG002
        """Return the rank of a flow: all are equal."""
        return 0

    def put(self, packet: Packet) -> None:
        """Let a packet wait; drop one if there are too many."""
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
        """Return the next packet: the first flow's in the first level, as far as its deficit goes."""
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
    """Such queues in ranks: a lower one is served only when all higher ones are empty."""

    def level(self, f: int) -> int:
        """Return the rank of a flow."""
        return self.simulation.plan.scenario.flows[f].priority
