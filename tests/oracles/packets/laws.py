"""Laws of flow control between the ends of links in the reference engine."""

from __future__ import annotations

import math
from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING, Any

from dfcmodel import LinkEvent, LinkLaw
from dfcmodel.network.queueing.class_pauses import CONTROL
from tests.oracles.packets.classes import ClassQueues
from tests.oracles.packets.queues import RENEWALS, Queue

if TYPE_CHECKING:
    from tests.oracles.packets.protocols import EventSimulation
    from tests.oracles.packets.receivers import Packet

__all__ = ["BlockedQueue", "LawQueues"]


class LinkEnds:
    """Both ends of a link for a class: the states of the law, and what the receiver holds in bytes."""

    def __init__(self, simulation: EventSimulation, receiver: LawQueues, q: int, room: float):
        law: Any = receiver.rule
        self.law, self.receiver, self.room = law, receiver, room
        self.sender_state, self.receiver_state = law.Sender(), law.Receiver()
        self.parameters: Any = type("Parameters", (), law.numbers())
        self.held = 0.0
        self.delay = simulation.queues[q].port.delay + law.signalling
        self.rate = float(1.0 / simulation.plan.transmission[q, 0])
        self.simulation = simulation

    def see(self, size: float = 0.0, held: float = 0.0, message: float = 0.0) -> LinkEvent:
        """Return what the law sees."""
        now = self.simulation.now
        return LinkEvent(now, size, held, message, self.room, self.rate, self.delay)

    def may_send(self, size: float) -> bool:
        """Return whether the law lets a packet go."""
        return bool(self.law.may_send(self.sender_state, self.parameters, self.see(size)))

    def hold(self, taken: float, port: ClassQueues) -> float:
        """Count what has come or left, in bytes; return the message that the law sends, nan: none."""
        self.held += taken
        size, held = abs(taken) / port.packet, self.held / port.packet
        event = self.law.on_arrival if taken > 0.0 else self.law.on_departure
        state = event(self.receiver_state, self.parameters, self.see(size, held))
        self.receiver_state = state._replace(send=0.0, message=0.0)
        assert state.send in (0.0, 1.0)
        return float(state.message) if state.send else float("nan")


class BlockedQueue(Queue):
    """A port, which sends over a link that may be under a law: what it sends asks the law."""

    blocked: set[int]

    def head_of(self, priority: int) -> Packet | None:
        """Return the first packet of a class that waits."""
        raise NotImplementedError

    def ends_ahead(self, packet: Packet) -> tuple[LinkEnds, float] | None:
        """Return the ends of the link that a packet is to be sent over, in its class, and its size there in packets."""
        plan = self.simulation.plan
        route = self.simulation.route_of(packet)
        if packet.is_ack or packet.hop + 1 >= len(route):
            return None
        queue = self.simulation.queues[route[packet.hop + 1]]
        if not isinstance(queue, LawQueues):
            return None
        key = self.p, plan.scenario.flows[packet.flow].priority
        ends = queue.ends_of(key)
        return None if ends is None else (ends, queue.taken(packet) / queue.packet)

    def may_be_sent(self, packet: Packet) -> bool:
        """Return whether the law of the link lets a packet go."""
        found = self.ends_ahead(packet)
        return found is None or found[0].may_send(found[1])

    def review(self, priority: int) -> None:
        """Block a class, or no longer, as the law says of its first packet, and record it."""
        if priority == CONTROL:
            return
        packet = self.head_of(priority)
        blocked = packet is not None and not self.may_be_sent(packet)
        if blocked == (priority in self.blocked):
            return
        (self.blocked.add if blocked else self.blocked.discard)(priority)
        for queue in self.simulation.queues:
            if isinstance(queue, LawQueues) and queue.ends_of((self.p, priority)) is not None:
                asks = queue.counter.p
                self.simulation.records.switch(asks, self.simulation.now, blocked, self.p, priority)
                return

    def leaves(self, packet: Packet, priority: int) -> None:
        """Let the law see that the transmission of a packet begins."""
        found = self.ends_ahead(packet)
        if found is not None:
            ends, size = found
            event = ends.see(size)
            ends.sender_state = ends.law.on_send(ends.sender_state, ends.parameters, event)
        self.review(priority)

    def receive_law(self, ends: LinkEnds, priority: int, message: float) -> None:
        """Process a message of a law."""
        event = ends.see(message=message)
        ends.sender_state = ends.law.on_message(ends.sender_state, ends.parameters, event)
        self.review(priority)
        self.go()


class LawQueues(BlockedQueue, ClassQueues):
    """A FIFO queue per class at a switch with a law, which is the receiver of the links that lead to it."""

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        super().__init__(simulation, p)
        self.blocked = set()
        self.popped: Packet | None = None
        assert isinstance(self.rule, LinkLaw)
        self.ends: dict[Hashable, LinkEnds] = {}

    def ends_of(self, key: tuple[int, int]) -> LinkEnds | None:
        """Return the ends of a link for a class, None if nothing of it is under a law."""
        if key not in self.rooms:
            return None
        counter = self.counter
        assert isinstance(counter, LawQueues)
        if key not in counter.ends:
            room = self.rooms[key] / self.packet
            counter.ends[key] = LinkEnds(self.simulation, counter, key[0], room)
        return counter.ends[key]

    def head_of(self, priority: int) -> Packet | None:
        """Return the first packet of a class that waits."""
        line = self.lines.get(priority)
        return line[0][1] if line else None

    def is_paused(self, priority: int) -> bool:
        """Return whether a class may not be sent."""
        return priority in self.blocked or super().is_paused(priority)

    def passes(self, packet: Packet) -> bool:
        """Return whether an accepted packet is sent at once."""
        return super().passes(packet) and self.may_be_sent(packet)

    def has_room(self, packet: Packet) -> bool:
        """Return whether there is room: of its ingress, or what others share; always in the control class."""
        if self.priority(packet) == CONTROL:
            return True
        size = self.taken(packet)
        ends = self.ends_of(self.ingress(packet))
        if ends is not None:
            return ends.held + size <= self.rooms[self.ingress(packet)]
        return self.passes(packet) or self.pooled + size <= self.pool

    def count(self, packet: Packet, more: int) -> None:
        """Nothing is counted as packets enter and leave the queue, but as they come and have left."""

    def count_excess(self, packet: Packet) -> None:
        """Nothing: the room does not follow from a threshold."""

    def change_held(self, packet: Packet, key: tuple[int, int], more: int) -> None:
        """Count a packet that has come, or whose last bit has left."""
        if key[1] == CONTROL:
            return
        size = more * self.taken(packet)
        ends = self.ends_of(key)
        if ends is None:
            self.pooled += size
            return
        message = ends.hold(size, self)
        if not math.isnan(message):
            simulation, counter = self.simulation, self.counter
            receive = partial(simulation.queues[key[0]].receive_law, ends, key[1], message)
            simulation.at(simulation.now + ends.delay, -1 - counter.p, receive)

    def drop(self, packet: Packet, came: float | None = None, *, cause: int) -> None:
        """Drop a packet as it comes."""
        key = self.ingress(packet)
        self.change_held(packet, key, 1)
        self.change_held(packet, key, -1)
        super().drop(packet, came, cause=cause)

    def put(self, packet: Packet) -> None:
        """Queue a packet."""
        self.change_held(packet, self.ingress(packet), 1)
        super().put(packet)
        self.review(self.priority(packet))

    def pop(self) -> tuple[float, Packet]:
        """Remove the next packet; return its arrival time and the packet."""
        came, self.popped = super().pop()
        return came, self.popped

    def send(self, came: float, packet: Packet, taken: float | None = None) -> None:
        """Start the transmission of a packet."""
        key = self.ingress(packet)
        if packet is not self.popped:
            self.change_held(packet, key, 1)
        self.leaves(packet, self.priority(packet))
        super().send(came, packet, taken)
        if key[1] != CONTROL:
            ended = partial(self.change_held, packet, key, -1)
            self.simulation.at(self.end, RENEWALS + self.p, ended)
