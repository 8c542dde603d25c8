"""Queues of the reference engine that are paused by class of traffic (PFC)."""

from __future__ import annotations

from collections import defaultdict, deque
from functools import partial
from typing import TYPE_CHECKING, Any

from dfcmodel.network.drop_causes import BY_WATCHDOG
from dfcmodel.network.queueing.class_pauses import ALL, CONTROL, ByClass
from tests.oracles.packets.managers import manager_of_queue
from tests.oracles.packets.queues import Queue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dfcmodel.packets.plan import PacketPlan
    from tests.oracles.packets.protocols import EventSimulation
    from tests.oracles.packets.receivers import Packet

__all__ = ["ClassQueues"]


class Managed:
    """What the manager sees of a port: the queue of its class, or of all but the control class, and the port itself."""

    def __init__(self, queue: ClassQueues, priority: int | None) -> None:
        self.queue, self.priority = queue, priority

    def lines(self) -> Iterable[deque[tuple[float, Packet]]]:
        """Return what waits of the classes that it sees."""
        one = self.priority
        known = self.queue.lines.items()
        return (line for of, line in known if (of != CONTROL if one is None else of == one))

    def length(self) -> int:
        """Return how many packets of them wait."""
        return sum(map(len, self.lines()))

    def filled(self) -> float:
        """Return what waits of them in the unit of the buffer: packets or bytes."""
        if not self.queue.port.cell:
            return float(self.length())
        return sum(self.queue.taken(packet) for line in self.lines() for _, packet in line)

    def packets(self) -> Iterable[tuple[float, Packet]]:
        """Return the packets that wait, each behind its arrival in s."""
        return (each for line in self.lines() for each in line)

    def heads(self) -> Iterable[float]:
        """Return when the packet at the head of each queue came."""
        return (line[0][0] for line in self.lines() if line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.queue, name)


class ClassQueues(Queue):
    """A FIFO queue per class, served by deficit round robin, each paused for itself; the control class goes first.

    What waits is counted in bytes.
    """

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        super().__init__(simulation, p)
        assert isinstance(self.port.discipline, ByClass)
        self.rule: Any = self.port.discipline
        self.lines: dict[int, deque[tuple[float, Packet]]] = {}
        self.deficit: dict[int, float] = {}
        self.turns: deque[int] = deque()
        self.counts: defaultdict[tuple[int, int], float] = defaultdict(float)  # by feeding port and class
        self.pausing: set[tuple[int, int]] = set()
        self.excess: defaultdict[tuple[int, int], float] = defaultdict(float)  # without room since the pause began
        packet = self.packet = float(simulation.plan.sizes_in_queue[p, 0])
        self.rooms = self.rooms_of_switch(simulation.plan)
        self.pooled = 0.0
        self.pool = simulation.plan.lossy_room(p) * packet
        self.manager = manager_of_queue(Managed(self, self.rule.managed), self.rule)

    def rooms_of_switch(self, plan: PacketPlan) -> dict[tuple[int, int], float]:
        """Return the room of each ingress and class of the ports that count together, by the first that has it.

        An ACK may leave by a port to which no data goes from its ingress.
        """
        found: dict[tuple[int, int], float] = {}
        for p in sorted(plan.counting[self.p]):
            for key, room in plan.ingress(p).items():
                found.setdefault(key, room * float(plan.sizes_in_queue[p, 0]))
        return found

    @property
    def counter(self) -> ClassQueues:
        """The port of the switch at which packets are counted: this one, or the first of those that count together."""
        found = self.simulation.queues[self.simulation.plan.counting[self.p][0]]
        assert isinstance(found, ClassQueues)
        return found

    def packets(self) -> Iterable[tuple[float, Packet]]:
        """Return the packets that wait, each behind its arrival in s."""
        return (each for line in self.lines.values() for each in line)

    def heads(self) -> Iterable[float]:
        """Return when the packet at the head of each queue came."""
        return (line[0][0] for line in self.lines.values() if line)

    def length(self) -> int:
        """Return how many packets wait."""
        return sum(map(len, self.lines.values()))

    def priority(self, packet: Packet) -> int:
        """Return the class of a packet."""
        if packet.is_ack and self.rule.acks == "control":
            return CONTROL
        return self.simulation.plan.scenario.flows[packet.flow].priority

    def ingress(self, packet: Packet) -> tuple[int, int]:
        """Return over which port a packet came (-1 - flow: from its sender), and its class."""
        route = self.simulation.route_of(packet)
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
        if self.busy:
            return False
        control = bool(self.lines.get(CONTROL)) and not self.is_stopped()
        return control or any(not self.is_paused(priority) for priority in self.turns)

    def passes(self, packet: Packet) -> bool:
        """Return whether an accepted packet is sent at once."""
        return not self.busy and not self.is_paused(self.priority(packet)) and not self.ready()

    def sees(self, packet: Packet) -> bool:
        """Return whether the manager sees a packet: of its class, or of all but the control class."""
        priority = self.priority(packet)
        return priority != CONTROL and self.rule.managed in (None, priority)

    def is_refused(self, packet: Packet) -> bool:
        """Return whether the manager of all classes but the control class, or of that of the packet, drops it."""
        return self.sees(packet) and not self.manager.admit(packet)

    def queues(self) -> Iterable[tuple[int, Sequence[tuple[float, Packet]]]]:
        """Yield the queue of each class."""
        yield from self.lines.items()

    def queue_of(self, packet: Packet) -> int:
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
        counter.excess[key] += self.taken(packet) / self.packet
        found = self.simulation.records.excess
        place = (counter.p, *key)
        found[place] = max(counter.excess[key], found.get(place, 0.0))

    def has_room(self, packet: Packet) -> bool:
        """Return whether there is room: of its ingress, or what others share; always in the control class."""
        if self.priority(packet) == CONTROL:
            return True
        size = self.taken(packet)
        key = self.ingress(packet)
        if key in self.rooms:
            return self.passes(packet) or self.counter.counts[key] + size <= self.rooms[key]
        return self.passes(packet) or self.pooled + size <= self.pool

    def go(self) -> None:
        """Start the next transmission: of the control class, if something of it waits, without asking the manager."""
        while self.ready() and self.lines.get(CONTROL):
            self.send(*self.pop())
            self.watch()
        super().go()

    def put(self, packet: Packet) -> None:
        """Queue a packet."""
        priority = self.priority(packet)
        line = self.lines.setdefault(priority, deque())
        if not line and priority != CONTROL:
            self.turns.append(priority)
            self.deficit[priority] = float(self.simulation.plan.sizes[0])
        line.append((self.simulation.now, packet))
        self.bytes += self.taken(packet)
        self.count(packet, 1)

    def pop(self) -> tuple[float, Packet]:
        """Return the arrival time and the next packet, by DRR among classes that are not paused."""
        if self.lines.get(CONTROL):
            came, packet = self.lines[CONTROL].popleft()
            self.bytes -= self.taken(packet)
            return came, packet
        sizes = self.simulation.plan.sizes
        while True:
            priority = self.turns[0]
            came, packet = self.lines[priority][0]
            if not self.is_paused(priority):
                if sizes[packet.size] <= self.deficit[priority]:
                    break
                self.deficit[priority] += sizes[0]
            self.turns.rotate(-1)
        self.lines[priority].popleft()
        self.deficit[priority] -= sizes[packet.size]
        if not self.lines[priority]:
            self.turns.popleft()
        self.bytes -= self.taken(packet)
        self.count(packet, -1)
        return came, packet

    def discard(self, priority: int) -> int:
        """Drop what waits of a class, or of all; return how many packets."""
        if priority == ALL:
            return sum(map(self.discard, sorted(self.lines)))
        line = self.lines.get(priority, deque())
        number = len(line)
        if number and priority != CONTROL:
            self.turns.remove(priority)
        while line:
            came, packet = line.popleft()
            self.bytes -= self.taken(packet)
            self.count(packet, -1)
            self.drop_queued(came, packet, BY_WATCHDOG)
        return number

    def count(self, packet: Packet, more: int) -> None:
        """Count a packet that comes or leaves; pause or resume where a threshold is crossed."""
        key, size = self.ingress(packet), self.taken(packet)
        if key[1] == CONTROL:
            return
        if key not in self.rooms:
            self.pooled += more * size
            return
        counter, simulation = self.counter, self.simulation
        counter.counts[key] += more * size
        pausing = counter.pausing
        limit = self.rule.xon if key in pausing else self.rule.xoff
        wanted = counter.counts[key] > limit * self.packet
        if wanted == (key in pausing) or key[0] < 0:
            return
        (pausing.add if wanted else pausing.discard)(key)
        counter.excess[key] = 0.0
        simulation.records.switch(counter.p, simulation.now, wanted, *key)
        feeder = simulation.queues[key[0]]
        time = simulation.now + (feeder.port.delay + self.rule.signalling)
        message = partial(feeder.receive_message, (counter.p, key[1]), wanted)
        simulation.at(time, -1 - counter.p, message)
