"""Queues of the reference engine: one class per discipline."""

from __future__ import annotations

import itertools
import math
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from dfcmodel import Pause, RateTrace
from dfcmodel.network.drop_causes import AT_RANDOM, BUFFER_FULL, BY_FAILURE, BY_MANAGER, BY_WATCHDOG
from dfcmodel.network.queueing.class_pauses import ALL
from tests.oracles.packets.managers import manager_of_queue
from tests.oracles.packets.path_elements import RateOverTime

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dfcmodel.packets.plan import PacketPlan
    from tests.oracles.packets.protocols import EventSimulation, Guard
    from tests.oracles.packets.receivers import Packet

__all__ = ["ByPriority", "Pausing", "PausingByQuanta", "Queue", "RoundRobin"]

RENEWALS = 1 << 23
"""Smallest key of the ends of pauses that have quanta: after arrivals, before ends of transmission."""
ENDS = 1 << 24
"""Smallest key of ends of transmission: at equal times arrivals and timers are processed first."""


def rate_over_time(plan: PacketPlan, p: int) -> RateOverTime | None:
    """Return the rate of a port over time; None: it is constant."""
    if not plan.scenario.all_elements or plan.path.rates[p] < 0:
        return None
    given = plan.path.elements[plan.path.rates[p]]
    assert isinstance(given, RateTrace)
    return RateOverTime(given, plan.scenario.links[p].rate)


class Queue:
    """A port with a FIFO queue and tail drop, which other ports can pause."""

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        self.simulation, self.p = simulation, p
        self.port = simulation.plan.ports[p]
        self.waiting: deque[tuple[float, Packet]] = deque()
        self.busy = False
        self.end = self.spent = -1.0  # of the last transmission, s
        self.paused_by: set[tuple[int, int]] = set()  # ports, and classes that they pause
        self.idle_since = 0.0
        self.bytes = 0.0
        self.manager = manager_of_queue(self, self.port.discipline)
        self.guards: list[Guard] = []
        self.left: dict[int, float] = {}  # when a packet last left each line, s
        self.rate = rate_over_time(simulation.plan, p)

    def packets(self) -> Iterable[tuple[float, Packet]]:
        """Return the packets that wait, each behind its arrival in s."""
        return iter(self.waiting)

    def heads(self) -> Iterable[float]:
        """Return when the packet at the head of each queue came."""
        return (came for came, _ in itertools.islice(self.waiting, 1))

    def length(self) -> int:
        """Return how many packets wait."""
        return len(self.waiting)

    def is_refused(self, packet: Packet) -> bool:
        """Return whether the manager drops an arriving packet."""
        return not self.manager.admit(packet)

    def filled(self) -> float:
        """Return what waits in the unit of the buffer: packets or bytes."""
        return self.bytes if self.port.cell else float(self.length())

    def units(self, packets: float) -> float:
        """Return a threshold in packets in the unit of the buffer."""
        return packets * float(self.simulation.plan.sizes_in_queue[self.p, 0]) if self.port.cell else packets

    def fits(self, packet: Packet) -> bool:
        """Return whether there is space for a packet behind those that wait."""
        return self.filled() + (self.taken(packet) if self.port.cell else 1.0) <= self.port.room

    def has_room(self, packet: Packet) -> bool:
        """Return whether a packet that the manager accepts finds room: the port is idle or has space."""
        return not (self.busy or self.paused_by) or self.fits(packet)

    def count_excess(self, packet: Packet) -> None:
        """Count a packet without room, where a queue that pauses others is to be no shorter."""

    def queues(self) -> Iterable[tuple[int, Sequence[tuple[float, Packet]]]]:
        """Yield the key of each line of waiting packets, and when they came with the packets."""
        yield ALL, self.waiting

    def queue_of(self, packet: Packet) -> int:
        """Return the key of the line in which a packet waits."""
        return ALL

    def remaining(self, until: float) -> Iterable[tuple[int, int, bool, bool]]:
        """Yield flow, place in the route, whether it is an ACK, and whether it stands still, of each waiting packet.

        It does where no packet has left its line since ``until``, in s.
        """
        for key, line in self.queues():
            still = bool(line) and line[0][0] <= until and self.left.get(key, 0.0) <= until
            still = still and (self.is_held(key) or self.end <= until)
            for _, packet in line:
                yield packet.flow, packet.hop, packet.is_ack, still

    def is_held(self, key: int) -> bool:
        """Return whether a line is paused."""
        return bool(self.paused_by)

    def sees(self, packet: Packet) -> bool:
        """Return whether the manager sees a packet."""
        return True

    def is_stopped(self) -> bool:
        """Return whether the port is paused with all that it carries."""
        return bool(self.paused_by)

    def passes(self, packet: Packet) -> bool:
        """Return whether an accepted packet is sent at once."""
        return not self.busy and not self.paused_by and not self.length()

    def ready(self) -> bool:
        """Return whether a packet that waits may be sent."""
        return not self.busy and not self.paused_by and self.length() > 0

    def size_of(self, packet: Packet) -> float:
        """Return the size of a packet in bytes."""
        return float(self.simulation.plan.sizes[packet.size])

    def taken(self, packet: Packet) -> float:
        """Return the bytes that a packet takes in the queue."""
        return float(self.simulation.plan.sizes_in_queue[self.p, packet.size])

    def put(self, packet: Packet) -> None:
        """Queue a packet."""
        self.waiting.append((self.simulation.now, packet))
        self.bytes += self.taken(packet)

    def pop(self) -> tuple[float, Packet]:
        """Remove the next packet; return its arrival time and the packet."""
        came, packet = self.waiting.popleft()
        self.bytes -= self.taken(packet)
        return came, packet

    def arrive(self, packet: Packet) -> None:
        """Transmit, queue or drop an arriving packet."""
        simulation, loss = self.simulation, self.simulation.plan.losses[self.p]
        if self.busy and self.end == simulation.now and self.departs_first(packet):
            self.end = -1.0
            self.finish()
        if any(guard.takes(packet) for guard in self.guards):
            self.drop(packet, cause=BY_WATCHDOG)
        elif loss > 0.0 and not packet.is_ack and simulation.draw(self.p) < loss:
            self.drop(packet, cause=AT_RANDOM)
        elif self.is_refused(packet):
            self.drop(packet, cause=BY_MANAGER)
        elif not self.has_room(packet):
            self.count_excess(packet)
            self.drop(packet, cause=BUFFER_FULL)
        elif self.passes(packet):
            self.manager.pass_by()
            self.send(self.simulation.now, packet)
        else:
            self.put(packet)
            self.simulation.records.queue(self.p, self.length(), self.bytes)
            self.watch()

    def departs_first(self, packet: Packet) -> bool:
        """Return whether the end of a transmission is processed before a simultaneous arrival: it was scheduled before.

        Ports with lanes process arrivals first.
        """
        return not self.simulation.plan.with_lanes[self.p] and self.spent > self.lead(packet)

    def lead(self, packet: Packet) -> float:
        """Return how long before its arrival a packet's arrival was scheduled, s: its passage of the link before.

        A packet that answers an ACK, or an ACK, is scheduled with what it answers. Infinite for the packets of senders
        with clocks.
        """
        plan, f = self.simulation.plan, packet.flow
        route = self.simulation.route_of(packet)
        if packet.hop > 0:
            return float(plan.passage[route[packet.hop - 1], packet.size])
        if packet.is_ack:
            return float(plan.passage[plan.forward[f][-1], 0])
        answers = plan.recoveries[f] and len(plan.backward[f])
        return float(plan.passage[plan.backward[f][-1], 1]) if answers else math.inf

    def drop(self, packet: Packet, came: float | None = None, *, cause: int) -> None:
        """Drop a packet that arrived at time ``came``; None: now."""
        now = self.simulation.now
        self.simulation.records.drop(self.p, packet, now if came is None else came, now, cause)

    def drop_queued(self, came: float, packet: Packet, cause: int) -> None:
        """Drop a packet that was queued since it arrived at time ``came``."""
        now = self.simulation.now
        self.simulation.records.wait_until(self.p, came, now, self.taken(packet))
        self.drop(packet, came, cause=cause)

    def send(self, came: float, packet: Packet, taken: float | None = None) -> None:
        """Start the transmission of a packet that arrived at time ``came``, and took bytes in the queue, None: its own."""
        simulation, plan = self.simulation, self.simulation.plan
        now = simulation.now
        if self.is_cut(packet):
            self.busy, self.end = True, now + float(plan.transmission[self.p, packet.size])
            simulation.at(self.end, self.end_key(), partial(self.end_transmission, self.end))
            self.drop_queued(came, packet, BY_FAILURE)
            return
        cause = simulation.paths.leave(self.p, packet, came)
        if cause is not None:
            self.drop_queued(came, packet, cause)
            return
        if self.sees(packet):
            self.manager.leave(packet)
        self.left[self.queue_of(packet)] = now
        self.busy = True
        waited = self.taken(packet) if taken is None else taken
        self.spent = float(plan.transmission[self.p, packet.size])
        again = self.repeated_time(packet)
        if self.rate is not None:
            again = self.rate.further(now, self.spent)
        simulation.records.transmit(self.p, packet, came, now, waited, again)
        self.end = now + self.spent + again
        simulation.at(self.end, self.end_key(), partial(self.end_transmission, self.end))
        packet.hop += 1
        simulation.at(
            now + again + plan.passage[self.p, packet.size],
            int(plan.arrival_ranks[self.p, packet.size]),
            lambda: simulation.arrive(packet),
        )

    def is_cut(self, packet: Packet) -> bool:
        """Return whether the link fails before a packet that is sent now arrives, or is down."""
        now, plan = self.simulation.now, self.simulation.plan
        arrives = now + plan.passage[self.p, packet.size]
        given = (plan.method.failures or {}).get(self.port.name, ()) if self.port.link >= 0 else ()
        return any(now < end and arrives > begin for begin, end in given)

    def repeated_time(self, packet: Packet) -> float:
        """Return for how long the link sends a packet again until it arrives without an error, s."""
        plan, again = self.simulation.plan, 0.0
        errors = float(plan.errors[self.p])
        if packet.is_ack or errors == 0.0:
            return 0.0
        loop = 2.0 * self.port.delay + plan.method.retry_delay
        while self.simulation.draw(self.p) < errors:
            again += 2.0 * self.spent + loop
            while self.simulation.draw(self.p) < errors:
                again += self.spent
        return again

    def end_key(self) -> int:
        """Return the key of ends of transmissions: after arrivals."""
        return ENDS + self.p

    def end_transmission(self, end: float) -> None:
        """End the transmission that ends now, unless a simultaneous arrival came after its end."""
        if self.end == end:
            self.finish()

    def finish(self) -> None:
        """End a transmission and start the next one."""
        self.busy = False
        self.go()
        if not self.busy:
            self.idle_since = self.simulation.now

    def go(self) -> None:
        """Start the next transmission if the port is idle, not paused and has a packet; after one that is lost the next."""
        while self.ready():
            came, packet = self.manager.take()
            self.send(came, packet)
            self.watch()

    def receive_message(self, sender: tuple[int, int], pause: bool) -> None:
        """Process a pause or resume message from a port of the next node for a class, or for all."""
        if pause:
            self.paused_by.add(sender)
        else:
            self.paused_by.discard(sender)
        for guard in self.guards:
            guard.look()
        self.go()

    def discard(self, priority: int) -> int:
        """Drop what waits, where there are classes of one of them; return how many packets."""
        number = self.length()
        while self.waiting:
            came, packet = self.waiting.popleft()
            self.bytes -= self.taken(packet)
            self.drop_queued(came, packet, BY_WATCHDOG)
        self.watch()
        return number

    def watch(self) -> None:
        """React to a change of the queue length; a FIFO queue does nothing."""


class Pausing(Queue):
    """A FIFO queue that pauses the ports feeding its node (IEEE 802.3x)."""

    pausing = False
    excess = 0  # packets without room since the pause began

    def count_excess(self, packet: Packet) -> None:
        """Count a packet without room since the queue was last at its low threshold."""
        self.excess += 1
        found = self.simulation.records.excess
        found[self.p, ALL, ALL] = max(self.excess, found.get((self.p, ALL, ALL), 0))

    def begin_anew(self) -> None:
        """Forget packets without room once the queue is at its low threshold."""
        rule = self.port.discipline
        assert isinstance(rule, Pause)
        if self.filled() <= self.units(rule.low):
            self.excess = 0

    def watch(self) -> None:
        """Pause or resume the feeders when the queue crosses a threshold."""
        self.begin_anew()
        rule, feeders = self.port.discipline, self.simulation.plan.pausable(self.p)
        assert isinstance(rule, Pause)
        wanted = self.filled() > self.units(rule.low if self.pausing else rule.high)
        if wanted == self.pausing or not feeders:
            return
        self.pausing = wanted
        self.simulation.records.switch(self.p, self.simulation.now, wanted)
        for q in feeders:
            self.send_message(q, wanted)

    def send_message(self, q: int, pause: bool) -> None:
        """Send a pause or resume message to a feeder, or let its pause run out."""
        rule, queue = self.port.discipline, self.simulation.queues[q]
        assert isinstance(rule, Pause)
        time = self.simulation.now + (queue.port.delay + rule.signalling)
        message = partial(queue.receive_message, (self.p, ALL), pause)
        self.simulation.at(time, -1 - self.p, message)


class PausingByQuanta(Pausing):
    """The same with messages that pause for a time, renewed at its end while the queue is above ``low``."""

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        super().__init__(simulation, p)
        self.paused: set[int] = set()

    def watch(self) -> None:
        """Pause the feeders that are not paused when the queue is above the high threshold."""
        self.begin_anew()
        rule, simulation = self.port.discipline, self.simulation
        assert isinstance(rule, Pause)
        if self.filled() <= self.units(rule.high):
            return
        for q in simulation.plan.pausable(self.p):
            if q not in self.paused:
                self.paused.add(q)
                simulation.records.switch(self.p, simulation.now, True, q)
                self.send_message(q, True)
                self.expire_later(q)

    def expire_later(self, q: int) -> None:
        """Schedule the end of the quanta of a feeder."""
        time = self.simulation.now + self.simulation.plan.pause_time(self.p, q)
        self.simulation.at(time, RENEWALS + q, partial(self.expire, q))

    def expire(self, q: int) -> None:
        """Renew the pause of a feeder, or let it end."""
        rule = self.port.discipline
        assert isinstance(rule, Pause)
        if self.filled() > self.units(rule.low):
            self.expire_later(q)
        else:
            self.paused.remove(q)
            self.simulation.records.switch(self.p, self.simulation.now, False, q)
            self.send_message(q, False)


class RoundRobin(Queue):
    """A queue per flow, served by deficit round robin (Shreedhar and Varghese 1996).

    When the buffer overflows, the first packet of the longest queue is dropped.
    """

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        super().__init__(simulation, p)
        self.lanes: dict[int, deque[tuple[float, Packet]]] = {}
        self.deficit: dict[int, float] = {}
        self.turns: dict[int, deque[int]] = {}

    def packets(self) -> Iterable[tuple[float, Packet]]:
        """Return the packets that wait, each behind its arrival in s."""
        return (each for lane in self.lanes.values() for each in lane)

    def heads(self) -> Iterable[float]:
        """Return when the packet at the head of each queue came."""
        return (lane[0][0] for lane in self.lanes.values() if lane)

    def length(self) -> int:
        """Return how many packets wait."""
        return sum(map(len, self.lanes.values()))

    def queues(self) -> Iterable[tuple[int, Sequence[tuple[float, Packet]]]]:
        """Yield the queue of each flow."""
        yield from self.lanes.items()

    def queue_of(self, packet: Packet) -> int:
        """Return the flow of a packet."""
        return packet.flow

    def has_room(self, packet: Packet) -> bool:
        """Return True: a packet is queued, and `put` drops another on overflow."""
        return True

    def level(self, f: int) -> int:
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
        self.bytes += self.taken(packet)
        while self.filled() > self.port.room:
            last = max(level for level, turns in self.turns.items() if turns)
            most = max(self.extent(g) for g in self.turns[last])
            g = min(g for g in self.turns[last] if self.extent(g) == most)
            came, victim = self.lanes[g].popleft()
            if not self.lanes[g]:
                self.turns[last].remove(g)
            self.bytes -= self.taken(victim)
            self.drop_queued(came, victim, BUFFER_FULL)

    def extent(self, g: int) -> float:
        """Return the length of the queue of a flow, in packets or bytes."""
        lane = self.lanes[g]
        return sum(self.taken(packet) for _, packet in lane) if self.port.cell else float(len(lane))

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
        self.bytes -= self.taken(packet)
        if not self.lanes[f]:
            turns.popleft()
        return came, packet


class ByPriority(RoundRobin):
    """Strict priorities: a level is served only when all levels with lower numbers are empty."""

    def level(self, f: int) -> int:
        """Return the priority level of a flow."""
        return self.simulation.plan.scenario.flows[f].priority
