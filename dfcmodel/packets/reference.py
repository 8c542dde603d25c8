"""The reference: a heap of events in plain Python, small and slow, which the compiled engine equals.

Events go by (time, kind and port, order of making): arrivals by the port that sent them, then what
senders do on their own by the number of the flow, then ends of transmission.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from typing import TYPE_CHECKING, Any

from dfcmodel.packets.records import Records
from dfcmodel.packets.reference_receivers import Packet, Receiver
from dfcmodel.packets.reference_senders import SENDERS, Sender
from dfcmodel.packets.sources import Blind

if TYPE_CHECKING:
    from collections.abc import Callable

    from dfcmodel.packets.plans import Plan

__all__ = ["Simulation", "run_reference"]

ENDS = 1 << 24
"""Key of the first end of transmission; arrivals and senders come before at equal times."""
SAMPLE = 1 << 25


def run_reference(plan: Plan) -> Records:
    """Run a plan from t = 0 and return its records."""
    simulation = Simulation(plan)
    simulation.run()
    return simulation.records


class Queue:
    """A port with a FIFO queue that drops from the tail."""

    def __init__(self, simulation: Simulation, p: int) -> None:
        self.simulation, self.p = simulation, p
        self.room = simulation.plan.ports[p].room
        self.waiting: deque[tuple[float, Packet]] = deque()
        self.busy = False

    def arrive(self, packet: Packet) -> None:
        """Send a packet, queue it or drop it."""
        now = self.simulation.now
        if not self.busy:
            self.send(now, packet)
        elif len(self.waiting) >= self.room:
            self.simulation.records.drop(self.p, packet, now)
        else:
            self.waiting.append((now, packet))
            self.simulation.records.queue(self.p, len(self.waiting))

    def send(self, came: float, packet: Packet) -> None:
        """Begin to transmit a packet that came then."""
        simulation, plan = self.simulation, self.simulation.plan
        now = simulation.now
        self.busy = True
        simulation.records.transmit(self.p, packet, came, now)
        simulation.at(now + plan.transmission[self.p, packet.size], ENDS + self.p, self.finish)
        packet.hop += 1
        simulation.at(
            now + plan.passage[self.p, packet.size], self.p, lambda: simulation.arrive(packet)
        )

    def finish(self) -> None:
        """End a transmission; begin the next one."""
        self.busy = False
        if self.waiting:
            came, packet = self.waiting.popleft()
            self.send(came, packet)


class Simulation:
    """Ports, senders, receivers and the heap of events."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.now = 0.0
        self.heap: list[tuple[float, int, int, Callable[[], None]]] = []
        self.count = itertools.count()
        self.records = Records(plan)
        self.streams = [int(seed) for seed in plan.seeds]
        self.queues = [Queue(self, p) for p in range(len(plan.ports))]
        self.receivers = [Receiver(kind == "sack") for kind in plan.recoveries]
        self.senders: list[Any] = []
        for f, kind in enumerate(plan.recoveries):
            self.senders.append(SENDERS[kind](self, f) if kind else Blind(self, f))
            self.at(float(plan.starts[f]), len(self.queues) + f, self.senders[f].start)

    def at(self, time: float, key: int, action: Callable[[], None]) -> None:
        """Do something at a time, in the order of keys."""
        heapq.heappush(self.heap, (time, key, next(self.count), action))

    def random(self, stream: int) -> float:
        """Return the next number in [0, 1) of a flow's stream (Marsaglia's xorshift, 64 bits)."""
        x = self.streams[len(self.queues) + stream]
        x ^= (x << 13) & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 7
        x ^= (x << 17) & 0xFFFFFFFFFFFFFFFF
        self.streams[len(self.queues) + stream] = x
        return (x >> 11) * 2.0**-53

    def wake(self, f: int, time: float) -> None:
        """Look at a sender's timers at a time."""
        self.at(time, len(self.queues) + f, lambda: self.senders[f].wake())

    def emit(self, packet: Packet) -> None:
        """Let a packet or an ACK enter the first port of its way."""
        route = self.plan.backward if packet.is_ack else self.plan.forward
        self.queues[route[packet.flow][0]].arrive(packet)

    def arrive(self, packet: Packet) -> None:
        """Let a packet arrive at the next port, its receiver or its sender."""
        f = packet.flow
        route = (self.plan.backward if packet.is_ack else self.plan.forward)[f]
        if packet.hop < len(route):
            self.queues[route[packet.hop]].arrive(packet)
        elif packet.is_ack:
            sender = self.senders[f]
            sender.receive(packet)
        else:
            self.deliver(packet)

    def deliver(self, packet: Packet) -> None:
        """Let a packet arrive at its receiver."""
        f = packet.flow
        receiver = self.receivers[f]
        before = receiver.next
        receiver.take(packet.number)
        listens = isinstance(self.senders[f], Sender)
        came = receiver.next - before if listens else 1
        self.records.deliver(f, came, self.now)
        if listens:
            self.emit(receiver.answer(packet))

    def run(self) -> None:
        """Let everything happen up to the end."""
        plan, sample = self.plan, 0
        ends = [(n + 1) * plan.sample for n in range(plan.samples)]
        while sample < plan.samples:
            time = self.heap[0][0] if self.heap else math.inf
            while sample < plan.samples and time >= ends[sample]:
                self.records.look(sample, self.senders)
                sample += 1
            if sample < plan.samples:
                self.now, _, _, action = heapq.heappop(self.heap)
                action()
        for queue in self.queues:
            for came, _ in queue.waiting:
                self.records.wait_on(queue.p, came)
