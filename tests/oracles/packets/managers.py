"""Queue managers of the reference engine: one class per manager, which its queue asks."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

from dfcmodel import PI2, PIE, RED, CoDel
from dfcmodel.network.drop_causes import BY_MANAGER
from dfcmodel.network.queueing.disciplines import Arrivals, Discipline, manager_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dfcmodel.packets.ports import Port
    from tests.oracles.packets.protocols import EventSimulation
    from tests.oracles.packets.receivers import Packet

__all__ = ["Manager", "manager_of_queue"]

UPDATES = 1 << 25
"""Smallest key of updates: at equal times they come after all else."""


class ManagedQueue(Protocol):
    """What a manager sees of its queue."""

    simulation: EventSimulation
    p: int
    port: Port
    busy: bool
    idle_since: float
    bytes: float

    def length(self) -> int:
        """Return how many packets wait."""

    def filled(self) -> float:
        """Return what waits in the unit of the buffer: packets or bytes."""

    def units(self, packets: float) -> float:
        """Return a threshold in packets in the unit of the buffer."""

    def packets(self) -> Iterable[tuple[float, Packet]]:
        """Return the packets that wait, each behind its arrival in s."""

    def heads(self) -> Iterable[float]:
        """Return when the packet at the head of each queue came."""

    def ready(self) -> bool:
        """Return whether a packet that waits may be sent."""

    def is_stopped(self) -> bool:
        """Return whether the port is paused with all that it carries."""

    def pop(self) -> tuple[float, Packet]:
        """Remove the next packet; return its arrival time and the packet."""

    def drop_queued(self, came: float, packet: Packet, cause: int) -> None:
        """Drop a packet that was queued."""


def manager_of_queue(queue: ManagedQueue, discipline: Discipline) -> Manager:
    """Return the manager of a queue; one that does nothing where the discipline has none."""
    manager = manager_of(discipline)
    if manager is None:
        return Manager(queue)
    kinds: dict[Any, type[Manager]] = {
        RED.on_step: RandomEarly, PIE.on_step: Proportional, CoDel.on_step: ControlledDelay,
        PI2.on_step: Squared,
    }  # fmt: skip
    return kinds.get(type(manager).on_step, Called)(queue)


class Manager:
    """A manager that neither drops nor marks; base of the others."""

    def __init__(self, queue: ManagedQueue) -> None:
        self.queue, self.simulation = queue, queue.simulation
        self.rule: Any = manager_of(queue.port.discipline)

    def admit(self, packet: Packet) -> bool:
        """Return whether an arriving packet is accepted; mark it where the manager says so."""
        return True

    def take(self) -> tuple[float, Packet]:
        """Remove the next packet to send; return its arrival time and the packet."""
        return self.queue.pop()

    def leave(self, packet: Packet) -> None:
        """Mark a packet that leaves where the manager says so."""

    def pass_by(self) -> None:
        """Note that a packet is sent without having waited."""

    def mark(self, packet: Packet) -> bool:
        """Mark a packet; return False for one that must be dropped instead."""
        packet.marked = packet.marked or packet.listens
        return packet.listens


class RandomEarly(Manager):
    """Random early detection as implemented in ns-2 (Floyd and Jacobson 1993)."""

    average = 0.0
    since = 0
    above = False

    def admit(self, packet: Packet) -> bool:
        """Decide by the average queue."""
        rule, queue = self.rule, self.queue
        queued, missed = queue.length(), 0
        if not queue.busy:
            size = self.simulation.plan.scenario.packet_size
            pace = queue.port.bits / (8.0 * (rule.mean_packet or size))
            missed = int(pace * (self.simulation.now - queue.idle_since))
        for _ in range(missed):
            self.average *= 1.0 - rule.weight
        part = 1.0 / (rule.mean_packet or queue.units(1.0)) if queue.port.cell else 1.0
        self.average = self.average * (1.0 - rule.weight) + rule.weight * (queue.filled() * part)
        self.since += 1
        if not (self.average >= rule.low and queued > 1):
            self.above = False
        elif self.average >= rule.high * (2.0 if rule.gentle else 1.0):
            return False
        elif not self.above:
            self.since, self.above = 1, True
        elif self.simulation.draw(queue.p) <= self.chance(packet):
            self.since = 0
            return bool(rule.ecn) and self.mark(packet)
        return True

    def chance(self, packet: Packet) -> float:
        """Return the probability of dropping or marking a packet."""
        rule = self.rule
        if rule.gentle and self.average >= rule.high:
            chance = (1.0 - rule.max_p) / rule.high * self.average + 2.0 * rule.max_p - 1.0
        else:
            chance = (self.average - rule.low) / (rule.high - rule.low) * rule.max_p
        passed = self.since * chance
        chance = chance / (2.0 - passed) if passed < 2.0 else 1.0
        if passed < 1.0:  # the next one comes 1/p to 2/p packets after the last one, uniformly
            chance = 0.0
        if rule.mean_packet is not None and chance < 1.0:
            chance *= self.simulation.plan.sizes[packet.size] / rule.mean_packet
        return float(min(chance, 1.0))


class Proportional(Manager):
    """PIE with updates by a timer (RFC 8033)."""

    def __init__(self, queue: ManagedQueue) -> None:
        super().__init__(queue)
        self.p = self.delay = 0.0
        self.burst = self.rule.burst
        self.simulation.at(self.rule.update, UPDATES + queue.p, self.update)

    def update(self) -> None:
        """Move the probability (4.2) and the burst allowance (4.4)."""
        rule, old = self.rule, self.delay
        delay = self.queue.bytes * (8.0 / self.queue.port.bits)
        change = rule.alpha * (delay - rule.target) + rule.beta * (delay - old)
        bounds = ((1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (0.1, 2))
        change /= next((part for bound, part in bounds if self.p < bound), 1)
        self.p = min(1.0, max(0.0, self.p + change))
        if delay == old == 0.0:
            self.p *= 0.98
        self.burst = max(0.0, self.burst - rule.update)
        if self.p == 0.0 and max(delay, old) < 0.5 * rule.target:
            self.burst = rule.burst
        self.delay = delay
        now = self.simulation.now
        self.simulation.at(now + rule.update, UPDATES + self.queue.p, self.update)

    def admit(self, packet: Packet) -> bool:
        """Drop with the probability, except from bursts and short queues (4.1)."""
        small = self.delay < 0.5 * self.rule.target and self.p < 0.2
        if self.burst > 0.0 or self.queue.length() <= 2 or small:
            return True
        return self.simulation.draw(self.queue.p) >= self.p


class Squared(Manager):
    """PI2: a linear controller, and the root for Classic packets (De Schepper et al. 2016)."""

    def __init__(self, queue: ManagedQueue) -> None:
        super().__init__(queue)
        self.rule = manager_of(queue.port.discipline) or queue.port.discipline
        self.p = self.old = 0.0
        self.simulation.at(self.rule.update, UPDATES + queue.p, self.update)

    def delay(self) -> float:
        """Return how long what waits takes to be sent, s."""
        return self.queue.bytes * (8.0 / self.queue.port.bits)

    def update(self) -> None:
        """Move p' with the delay (RFC 9332, A.1)."""
        rule, delay, now = self.rule, self.delay(), self.simulation.now
        self.p += rule.alpha * (delay - rule.target) + rule.beta * (delay - self.old)
        self.p = min(1.0, max(0.0, self.p))
        self.old = delay
        self.simulation.at(now + rule.update, UPDATES + self.queue.p, self.update)

    def is_scalable(self, packet: Packet) -> bool:
        """Return whether a packet carries ECT(1)."""
        return not packet.is_ack and self.simulation.plan.scalable[packet.flow]

    def native(self, waited: float) -> float:
        """Return the probability to mark Scalable packets for their own delay."""
        return 0.0

    def admit(self, packet: Packet) -> bool:
        """Decide on an arriving packet."""
        return self.decide(packet, 0.0)

    def decide(self, packet: Packet, waited: float) -> bool:
        """Drop or mark a packet that has waited for so long; return whether it is kept (RFC 9332, A.2)."""
        rule, draw = self.rule, self.simulation.draw(self.queue.p)
        linear, square = rule.coupling * self.p, self.p * self.p
        if not self.is_scalable(packet):
            return draw >= square or (bool(rule.ecn) and linear < 1.0 and self.mark(packet))
        if linear >= 1.0:
            packet.marked = draw >= square or packet.marked
            return draw >= square
        if draw < max(linear, self.native(waited)):
            self.mark(packet)
        return True


class ControlledDelay(Manager):
    """CoDel: drops at the head of the queue (RFC 8289, 5.3 to 5.6, with its names)."""

    first_above_time = 0.0
    drop_next = 0.0
    count = lastcount = 0
    dropping = False

    def dodequeue(self) -> tuple[float, Packet, bool]:
        """Return when the next packet came, the packet, and whether it may be dropped."""
        came, packet = self.queue.pop()
        now, rule = self.simulation.now, self.rule
        left = self.queue.bytes if self.queue.ready() else 0.0
        if now - came < rule.target or left <= self.simulation.plan.sizes[0]:
            self.first_above_time = 0.0
        elif self.first_above_time == 0.0:
            self.first_above_time = now + rule.interval
        else:
            return came, packet, now >= self.first_above_time
        return came, packet, False

    def control_law(self, time: float) -> float:
        """Return when the next packet is dropped after one at a time."""
        return float(time + self.rule.interval / math.sqrt(self.count))

    def take(self) -> tuple[float, Packet]:
        """Drop what the control law says, and return the packet to send."""
        now = self.simulation.now
        came, packet, ok_to_drop = self.dodequeue()
        if self.dropping:
            self.dropping = ok_to_drop
            while self.dropping and now >= self.drop_next:
                self.queue.drop_queued(came, packet, BY_MANAGER)
                self.count += 1
                came, packet, self.dropping = self.dodequeue()
                if self.dropping:
                    self.drop_next = self.control_law(self.drop_next)
        elif ok_to_drop:
            self.queue.drop_queued(came, packet, BY_MANAGER)
            came, packet, _ = self.dodequeue()
            self.dropping = True
            delta = self.count - self.lastcount
            recent = delta > 1 and now - self.drop_next < 16.0 * self.rule.interval
            self.count = self.lastcount = delta if recent else 1
            self.drop_next = self.control_law(now)
        return came, packet

    def pass_by(self) -> None:
        """Leave the dropping state: the delay is below the target."""
        self.first_above_time, self.dropping = 0.0, False


class Called(Manager):
    """A manager by its function `on_step`: its step is one arriving packet."""

    def __init__(self, queue: ManagedQueue) -> None:
        super().__init__(queue)
        self.numbers = SimpleNamespace(**self.rule.numbers(self.simulation.plan.scenario.packet_size))
        self.state = type(self.rule).State()
        self.due = self.due_marks = self.last = 0.0
        self.most = queue.port.room / queue.units(1.0) + 1.0

    def admit(self, packet: Packet) -> bool:
        """Decide on a packet that comes, unless the manager marks those that leave."""
        return self.rule.at == "departure" or self.accepts(packet)

    def leave(self, packet: Packet) -> None:
        """Mark a packet that leaves where the manager says so."""
        if self.rule.at == "departure":
            self.accepts(packet)

    def accepts(self, packet: Packet) -> bool:
        """Apply the function; parts of packets add up."""
        queue, now = self.queue, self.simulation.now
        plan = self.simulation.plan
        capacity = 0.0 if queue.is_stopped() else 1.0 / float(plan.transmission[queue.p, 0])
        seen = Arrivals(
            now, now - self.last, queue.filled() / queue.units(1.0), 1.0, capacity,
            now - max(queue.heads(), default=now), self.simulation.draw(queue.p),
        )  # fmt: skip
        self.last = now
        self.state = self.rule.on_step(self.state, self.numbers, seen)
        drop, mark = self.state[:2]
        if drop == 1.0 or mark == 1.0:
            self.due = self.due_marks = 0.0
            return drop != 1.0 and self.mark(packet)
        self.due = min(self.most, self.due + drop)
        self.due_marks = min(self.most, self.due_marks + mark)
        if self.due >= 1.0:
            self.due -= 1.0
            return False
        if self.due_marks >= 1.0:
            self.due_marks -= 1.0
            return self.mark(packet)
        return True
