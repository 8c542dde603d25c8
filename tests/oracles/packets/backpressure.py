"""Queues of the reference engine that pause single flows at the port before: backpressure flow control."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from dfcmodel import BFC
from tests.oracles.packets.queues import Queue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.oracles.packets.protocols import EventSimulation
    from tests.oracles.packets.receivers import Packet

__all__ = ["FlowQueues"]

Key = tuple[int, bool, int]
"""A flow, whether it is its ACKs, and the place in its path."""


class FlowQueues(Queue):
    """A queue per flow, served by deficit round robin among those that are not paused."""

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        super().__init__(simulation, p)
        self.lines: dict[Key, deque[tuple[float, Packet]]] = {}
        self.deficit: dict[Key, float] = {}
        self.turns: deque[Key] = deque()
        self.stopped: set[Key] = set()
        self.asked: set[Key] = set()

    def key(self, packet: Packet) -> Key:
        """Return the queue of a packet; those over other paths of a flow have queues of their own."""
        way = packet.flow if packet.is_ack or packet.way < 0 else packet.way
        return way, packet.is_ack, packet.hop

    def packets(self) -> Iterable[tuple[float, Packet]]:
        """Return the packets that wait, each behind its arrival in s."""
        return (each for line in self.lines.values() for each in line)

    def length(self) -> int:
        """Return how many packets wait."""
        return sum(map(len, self.lines.values()))

    def queues(self) -> Iterable[tuple[int, Sequence[tuple[float, Packet]]]]:
        """Yield the queue of each flow."""
        for key, line in self.lines.items():
            yield hash(key), line

    def queue_of(self, packet: Packet) -> int:
        """Return the key of the line in which a packet waits."""
        return hash(self.key(packet))

    def is_held(self, key: int) -> bool:
        """Return whether a line is paused."""
        return key in {hash(each) for each in self.stopped}

    def has_room(self, packet: Packet) -> bool:
        """Return whether the port is idle or has space."""
        return self.passes(packet) or self.fits(packet)

    def ready(self) -> bool:
        """Return whether a packet may leave."""
        return not self.busy and any(key not in self.stopped for key in self.turns)

    def passes(self, packet: Packet) -> bool:
        """Return whether an accepted packet is sent at once."""
        return not self.busy and self.key(packet) not in self.stopped and not self.ready()

    def put(self, packet: Packet) -> None:
        """Queue a packet."""
        key = self.key(packet)
        line = self.lines.setdefault(key, deque())
        if not line:
            self.turns.append(key)
            self.deficit[key] = float(self.simulation.plan.sizes[0])
        line.append((self.simulation.now, packet))
        self.bytes += self.taken(packet)
        self.review(packet, key)

    def pop(self) -> tuple[float, Packet]:
        """Return the arrival time and the next packet, by deficit round robin."""
        sizes = self.simulation.plan.sizes
        while True:
            key = self.turns[0]
            came, packet = self.lines[key][0]
            if key not in self.stopped:
                if sizes[packet.size] <= self.deficit[key]:
                    break
                self.deficit[key] += sizes[0]
            self.turns.rotate(-1)
        self.lines[key].popleft()
        self.deficit[key] -= sizes[packet.size]
        if not self.lines[key]:
            self.turns.popleft()
        self.bytes -= self.taken(packet)
        return came, packet

    def send(self, came: float, packet: Packet, taken: float | None = None) -> None:
        """Start the transmission of a packet."""
        self.review(packet, self.key(packet))
        super().send(came, packet, taken)

    def review(self, packet: Packet, key: Key) -> None:
        """Ask for a pause of a flow where its queue is above the threshold, or for its end."""
        simulation, plan, rule = self.simulation, self.simulation.plan, self.port.discipline
        assert isinstance(rule, BFC)
        if packet.is_ack or packet.hop == 0:
            return
        q = simulation.route_of(packet)[packet.hop - 1]
        feeder = simulation.queues[q]
        round_trip = 2.0 * feeder.port.delay + rule.signalling + float(plan.transmission[q, 0])
        limit = (
            rule.threshold * round_trip / float(plan.transmission[self.p, 0]) * float(plan.sizes_in_queue[self.p, 0])
        )
        active = sum(other not in self.stopped for other in self.turns)
        held = sum(self.taken(each) for _, each in self.lines.get(key, ()))
        wanted = held > limit / max(1, active)
        if wanted == (key in self.asked):
            return
        (self.asked.add if wanted else self.asked.discard)(key)
        f = packet.flow if simulation.spraying is None else packet.flow - simulation.spraying.lenders
        simulation.records.switch(self.p, simulation.now, wanted, q, f)
        time = simulation.now + (feeder.port.delay + rule.signalling)
        before = key[0], False, packet.hop - 1
        message = partial(feeder.receive_message, (-1 - self.p, key[0]), wanted)
        if hasattr(feeder, "stopped"):
            message = partial(feeder.stop_flow, before, packet.flow, wanted)
        simulation.at(time, -1 - self.p, message)

    def stop_flow(self, key: Key, f: int, wanted: bool) -> None:
        """Process a message: pause a flow, or let it go on."""
        (self.stopped.add if wanted else self.stopped.discard)(key)
        self.go()
