"""Queues of the reference engine that are paused by class of traffic (PFC)."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from functools import partial
from typing import TYPE_CHECKING, Any

from dfcmodel.network.class_pauses import ALL, PFC
from dfcmodel.network.run_tables import BY_WATCHDOG
from dfcmodel.packets.reference_managers import manager_of_queue
from dfcmodel.packets.reference_queues import Queue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dfcmodel.packets.protocols import EventSimulation
    from dfcmodel.packets.reference_receivers import Packet

__all__ = ["ClassQueues"]


class OneClass:
    """What the manager of a class sees of a port: the queue of the class, and the port itself."""

    def __init__(self, queue: ClassQueues, priority: int) -> None:
        self.queue, self.priority = queue, priority

    def length(self) -> int:
        """Return how many packets of the class wait."""
        return len(self.queue.by_class.get(self.priority, ()))

    def arrivals(self) -> Iterable[float]:
        """Return when they came."""
        return (came for came, _ in self.queue.by_class.get(self.priority, ()))

    def heads(self) -> Iterable[float]:
        """Return when the packet at the head of its queue came."""
        return itertools.islice(self.arrivals(), 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.queue, name)


class ClassQueues(Queue):
    """A FIFO queue per class, served by deficit round robin; each is paused for itself.

    ACKs are of the class of their flow.
    """

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        super().__init__(simulation, p)
        assert isinstance(self.port.discipline, PFC)
        self.rule = self.port.discipline
        self.by_class: dict[int, deque[tuple[float, Packet]]] = {}
        self.deficit: dict[int, float] = {}
        self.turns: deque[int] = deque()
        self.counts: Counter[tuple[int, int]] = Counter()  # what waits, by feeding port and class
        self.pausing: set[tuple[int, int]] = set()
        self.excess: Counter[tuple[int, int]] = Counter()  # without room since the pause began
        self.rooms = simulation.plan.ingress(p)
        self.pooled = 0
        self.pool = simulation.plan.pool(p)
        if self.rule.managed is not None:
            self.manager = manager_of_queue(OneClass(self, self.rule.managed), self.rule)

    @property
    def counter(self) -> ClassQueues:
        """The port of the switch at which packets are counted: this one, or the first of those that count together."""
        found = self.simulation.queues[self.simulation.plan.counting[self.p][0]]
        assert isinstance(found, ClassQueues)
        return found

    def arrivals(self) -> Iterable[float]:
        """Return when the packets that wait came."""
        return (came for line in self.by_class.values() for came, _ in line)

    def heads(self) -> Iterable[float]:
        """Return when the packet at the head of each queue came."""
        return (line[0][0] for line in self.by_class.values() if line)

    def length(self) -> int:
        """Return how many packets wait."""
        return sum(map(len, self.by_class.values()))

    def priority(self, packet: Packet) -> int:
        """Return the class of a packet."""
        return self.simulation.plan.scenario.flows[packet.flow].priority

    def ingress(self, packet: Packet) -> tuple[int, int]:
        """Return over which port a packet came (-1 - flow: from its sender), and its class."""
        plan = self.simulation.plan
        route = (plan.backward if packet.is_ack else plan.forward)[packet.flow]
        before = route[packet.hop - 1] if packet.hop else -1 - packet.flow
        return before, self.priority(packet)

    def is_paused(self, priority: int) -> bool:
        """Return whether a class, or the whole link, is paused."""
        return any(who in (ALL, priority) for _, who in self.paused_by)

    def is_stopped(self) -> bool:
        """Return whether the port is paused with all that it carries, not by class."""
        return any(who == ALL for _, who in self.paused_by)

    def ready(self) -> bool:
        """Return whether a packet may leave."""
        return not self.busy and any(not self.is_paused(priority) for priority in self.turns)

    def passes(self, packet: Packet) -> bool:
        """Return whether an accepted packet is sent at once."""
        return not self.busy and not self.is_paused(self.priority(packet)) and not self.ready()

    def is_refused(self, packet: Packet) -> bool:
        """Return whether the manager of all classes, or of that of the packet, drops it."""
        managed = self.rule.managed in (None, self.priority(packet))
        return managed and not self.manager.admit(packet)

    def lines(self) -> Iterable[tuple[int, Sequence[tuple[float, Packet]]]]:
        """Yield the queue of each class."""
        yield from self.by_class.items()

    def line_of(self, packet: Packet) -> int:
        """Return the class of a packet."""
        return self.priority(packet)

    def is_held(self, key: int) -> bool:
        """Return whether a class is paused."""
        return self.is_paused(key)

    def count_excess(self, packet: Packet) -> None:
        """Count a packet of an ingress without room since its pause began."""
        key = self.ingress(packet)
        if key not in self.rooms:
            return
        counter = self.counter
        counter.excess[key] += 1
        found = self.simulation.records.excess
        place = (counter.p, *key)
        found[place] = max(counter.excess[key], found.get(place, 0))

    def has_room(self, packet: Packet) -> bool:
        """Return whether there is room: of its ingress, or what others share."""
        key = self.ingress(packet)
        if key in self.rooms:
            return self.passes(packet) or self.counter.counts[key] + 1 <= self.rooms[key]
        return self.passes(packet) or self.pooled + 1 <= self.pool

    def put(self, packet: Packet) -> None:
        """Queue a packet."""
        priority = self.priority(packet)
        line = self.by_class.setdefault(priority, deque())
        if not line:
            self.turns.append(priority)
            self.deficit[priority] = float(self.simulation.plan.sizes[0])
        line.append((self.simulation.now, packet))
        self.bytes += self.size_of(packet)
        self.count(packet, 1)

    def pop(self) -> tuple[float, Packet]:
        """Return the arrival time and the next packet, by DRR among classes that are not paused."""
        sizes = self.simulation.plan.sizes
        while True:
            priority = self.turns[0]
            came, packet = self.by_class[priority][0]
            if not self.is_paused(priority):
                if sizes[packet.size] <= self.deficit[priority]:
                    break
                self.deficit[priority] += sizes[0]
            self.turns.rotate(-1)
        self.by_class[priority].popleft()
        self.deficit[priority] -= sizes[packet.size]
        if not self.by_class[priority]:
            self.turns.popleft()
        self.bytes -= self.size_of(packet)
        self.count(packet, -1)
        return came, packet

    def discard(self, priority: int) -> int:
        """Drop what waits of a class; return how many packets."""
        line = self.by_class.get(priority, deque())
        number = len(line)
        if number:
            self.turns.remove(priority)
        while line:
            came, packet = line.popleft()
            self.bytes -= self.size_of(packet)
            self.count(packet, -1)
            self.drop_queued(came, packet, BY_WATCHDOG)
        return number

    def count(self, packet: Packet, more: int) -> None:
        """Count a packet that comes or leaves; pause or resume where a threshold is crossed."""
        key = self.ingress(packet)
        if key not in self.rooms:
            self.pooled += more
            return
        counter, simulation = self.counter, self.simulation
        counter.counts[key] += more
        pausing = counter.pausing
        wanted = counter.counts[key] > (self.rule.xon if key in pausing else self.rule.xoff)
        if wanted == (key in pausing) or key[0] < 0:
            return
        (pausing.add if wanted else pausing.discard)(key)
        counter.excess[key] = 0
        simulation.records.switch(counter.p, simulation.now, wanted, *key)
        feeder = simulation.queues[key[0]]
        time = simulation.now + (feeder.port.delay + self.rule.signalling)
        message = partial(feeder.receive_message, (counter.p, key[1]), wanted)
        simulation.at(time, -1 - counter.p, message)
