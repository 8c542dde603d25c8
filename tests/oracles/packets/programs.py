"""Queues of the reference engine whose packets leave in the order that a switch program says."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, deque
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel import QueuedPacket, SwitchProgram
from dfcmodel.network.drop_causes import AT_RANDOM, BUFFER_FULL, BY_MANAGER
from dfcmodel.network.queueing.class_pauses import ALL
from dfcmodel.network.queueing.programs import flow_hash
from dfcmodel.packets.kernel.queues.programs import FIELDS, HEADER_SIZE, MAX_SKIPS
from dfcmodel.packets.refusals import refuse_program
from tests.oracles.packets.queues import Queue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.oracles.packets.protocols import EventSimulation
    from tests.oracles.packets.receivers import Packet

__all__ = ["ProgramQueues", "RankedQueue"]


class View(NamedTuple):
    """What a program sees of a packet besides itself and the port: rank, arrival (s), and its queue."""

    rank: float
    came: float
    queue: int = 0
    backlog: int = 0
    bytes: float = 0.0


class RankedQueue(Queue):
    """A push-in first-out queue."""

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        super().__init__(simulation, p)
        assert isinstance(self.port.discipline, SwitchProgram)
        self.program = self.port.discipline
        self.numbers = SimpleNamespace(**self.program.numbers())
        self.state: Any = type(self.program).State()
        self.reset = {name: 0.0 for name in FIELDS[1:-2] if name in self.state._fields}
        self.own: dict[tuple[int, bool], dict[str, float]] = {}
        self.hashes: dict[tuple[int, bool], float] = {}
        self.counts: Counter[tuple[int, bool]] = Counter()
        self.entries: list[tuple[float, float, Packet]] = []  # rank, arrival, packet

    def packets(self) -> Iterable[tuple[float, Packet]]:
        """Return the packets that wait, each behind its arrival in s."""
        return ((came, packet) for _, came, packet in self.entries)

    def queues(self) -> Iterable[tuple[int, Sequence[tuple[float, Packet]]]]:
        """Yield what waits, by rank."""
        yield ALL, [(came, packet) for _, came, packet in self.entries]

    def length(self) -> int:
        """Return how many packets wait."""
        return len(self.entries)

    def see(self, packet: Packet, view: View | None) -> QueuedPacket:
        """Return what the program sees of a packet that comes, or with a view that is to leave."""
        plan, now = self.simulation.plan, self.simulation.now
        flow, key = plan.scenario.flows[packet.flow], (packet.flow, packet.is_ack)
        if key not in self.hashes:
            found = flow_hash(*(np.array([each]) for each in (plan.seeds[self.p], *key)))
            self.hashes[key] = float(found[0])
        left = 1.0 if packet.is_ack else float(flow.all_packets + plan.opening[packet.flow]) - packet.number
        rank, came, queue, backlog, size = view or View(0.0, now)
        return QueuedPacket(
            now, float(packet.flow), float(flow.priority), float(packet.is_ack),
            float(packet.listens and not packet.is_ack), self.size_of(packet), left, rank,
            now - came, float(self.length()), float(self.counts[key]), self.bytes,
            self.port.bits / 8.0, self.simulation.draw(self.p), float(queue), float(backlog),
            size, self.hashes[key], float(packet.size == HEADER_SIZE),
        )  # fmt: skip

    def judge(self, packet: Packet, view: View | None = None) -> bool:
        """Let the program see a packet that comes, or with a view that is to leave; return whether it is dropped."""
        own = self.own_numbers(packet)
        before = self.state._replace(**self.reset, **own, **self.carried(packet, view))
        return self.apply(packet, "on_enqueue" if view is None else "on_dequeue", before, self.see(packet, view))

    def carried(self, packet: Packet, view: View | None) -> dict[str, float]:
        """Return what a packet carries of the port: zeros of one that comes, and of ACKs."""
        names = self.program.telemetry
        new = view is None or packet.is_ack
        return dict(zip(names, (0.0,) * len(names) if new else packet.record, strict=True))

    def own_numbers(self, packet: Packet) -> dict[str, float]:
        """Return the numbers of a packet's flow."""
        first = type(self.program).State()
        return self.own.setdefault(
            (packet.flow, packet.is_ack),
            {name: getattr(first, name) for name in self.program.of_flow},
        )

    def apply(self, packet: Packet, function: str, before: Any, seen: QueuedPacket) -> bool:
        """Set the state to what a function of the program returns; return whether the packet is dropped."""
        plan, now = self.simulation.plan, self.simulation.now
        self.state = getattr(type(self.program), function)(before, self.numbers, seen)
        for name in self.reset:
            value = float(getattr(self.state, name))
            if math.isnan(value) if name == "rank" else value not in {0.0, 1.0}:
                refuse_program(plan, self.p, packet.flow, now, (function, name, value))
        own = self.own_numbers(packet)
        own.update({name: getattr(self.state, name) for name in own})
        packet.record = tuple(getattr(self.state, name) for name in self.program.telemetry)
        if self.state.mark == 1.0 and seen.ect:
            packet.marked = True
        return bool(self.state.drop == 1.0)

    def cut(self, packet: Packet) -> None:
        """Cut a packet to its header if the program says so."""
        is_data = not packet.is_ack and packet.size != HEADER_SIZE
        if getattr(self.state, "trim", 0.0) == 1.0 and is_data:
            packet.size = HEADER_SIZE
            packet.trimmed = self.p, self.simulation.records.hop_of(packet)

    def write_record(self, packet: Packet) -> None:
        """Let a packet that is sent carry on what the program has written, and when."""
        if packet.record and not packet.is_ack:
            packet.telemetry = (*packet.telemetry, (self.simulation.now, *packet.record))

    def arrive(self, packet: Packet) -> None:
        """Transmit, queue or drop an arriving packet."""
        simulation, loss = self.simulation, self.simulation.plan.losses[self.p]
        if loss > 0.0 and not packet.is_ack and simulation.draw(self.p) < loss:
            self.drop(packet, cause=AT_RANDOM)
            return
        if self.judge(packet):
            self.drop(packet, cause=BY_MANAGER)
            return
        self.cut(packet)
        self.admit(packet)

    def admit(self, packet: Packet) -> None:
        """Transmit or queue a packet that the program lets in."""
        simulation, rank = self.simulation, float(self.state.rank)
        if self.passes(packet):
            dropped = self.judge(packet, View(rank, simulation.now))
            if dropped:
                self.drop(packet, cause=BY_MANAGER)
            else:
                self.cut(packet)
                self.write_record(packet)
                self.send(simulation.now, packet)
            return
        while not self.fits(packet):
            last = self.entries[-1] if self.entries else None
            if self.program.overflow != "last" or last is None or last[0] <= rank:
                self.drop(packet, cause=BUFFER_FULL)
                return
            self.take(len(self.entries) - 1)
            self.drop_queued(last[1], last[2], BUFFER_FULL)
        at = bisect_right(self.entries, rank, key=lambda entry: entry[0])
        self.entries.insert(at, (rank, simulation.now, packet))
        self.bytes += self.taken(packet)
        self.counts[packet.flow, packet.is_ack] += 1
        simulation.records.queue(self.p, self.length(), self.bytes)

    def take(self, place: int) -> tuple[float, float, Packet]:
        """Remove a packet and return its rank, its arrival and itself."""
        entry = self.entries.pop(place)
        self.bytes -= self.taken(entry[2])
        self.counts[entry[2].flow, entry[2].is_ack] -= 1
        return entry

    def send_on(self, came: float, packet: Packet) -> None:
        """Send a packet, cut to its header where the program says so, with its record."""
        whole = self.taken(packet)
        self.cut(packet)
        self.write_record(packet)
        self.send(came, packet, whole)

    def go(self) -> None:
        """Send the next packet that the program does not drop, if the port is idle and not paused."""
        while self.ready():
            rank, came, packet = self.take(0)
            if self.judge(packet, View(rank, came)):
                self.drop_queued(came, packet, BY_MANAGER)
            else:
                self.send_on(came, packet)


class ProgramQueues(RankedQueue):
    """First-in first-out queues that take turns in the order of their ranks."""

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        super().__init__(simulation, p)
        first = type(self.program).State()
        self.first = {name: getattr(first, name) for name in self.program.of_queue}
        self.lines: dict[int, deque[tuple[float, Packet]]] = {}
        self.in_line: Counter[int] = Counter()  # bytes
        self.ranks: dict[int, float] = {}
        self.turns: list[int] = []  # queues in which packets wait, that whose turn it is first
        self.of_queue: dict[int, dict[str, float]] = {}
        self.skipped = 0
        self.total = 0

    def packets(self) -> Iterable[tuple[float, Packet]]:
        """Return the packets that wait, each behind its arrival in s."""
        return (each for line in self.lines.values() for each in line)

    def length(self) -> int:
        """Return how many packets wait."""
        return self.total

    def remaining(self, until: float) -> Iterable[tuple[int, int, bool, bool]]:
        """Yield what waits, as `Queue.remaining`; it stands still where no packet has left the port since ``until``."""
        still = self.left.get(ALL, 0.0) <= until and (self.is_held(ALL) or self.end <= until)
        for line in self.lines.values():
            for _, packet in line:
                yield packet.flow, packet.hop, packet.is_ack, still

    def judge(self, packet: Packet, view: View | None = None) -> bool:
        """Let the program see a packet, as `RankedQueue.judge`; one that comes gets a queue before."""
        before = self.state._replace(**self.reset, **self.own_numbers(packet), **self.carried(packet, view))
        seen = self.see(packet, view)
        if view is None:
            blank = before._replace(**dict.fromkeys(self.first, 0.0))
            chosen = float(type(self.program).queue_of(blank, self.numbers, seen))
            if not 0.0 <= chosen < self.program.queues:
                plan, now = self.simulation.plan, self.simulation.now
                refuse_program(plan, self.p, packet.flow, now, ("queue_of", "queue", chosen))
            queue = int(chosen)
            seen = seen._replace(
                queue=float(queue), queue_backlog=float(len(self.lines.get(queue, ()))),
                queue_bytes=float(self.in_line[queue]),
            )  # fmt: skip
        self.queue = int(seen.queue)
        own = self.of_queue.setdefault(self.queue, dict(self.first))
        function = "on_enqueue" if view is None else "on_dequeue"
        dropped = self.apply(packet, function, before._replace(**own), seen)
        own.update({name: getattr(self.state, name) for name in own})
        return dropped

    def enter_turns(self, queue: int, rank: float) -> None:
        """Put a queue behind those with ranks that are not higher."""
        self.ranks[queue] = rank
        at = bisect_right(self.turns, rank, key=lambda each: self.ranks[each])
        self.turns.insert(at, queue)

    def admit(self, packet: Packet) -> None:
        """Queue a packet that the program lets in, and send it if nothing else waits."""
        simulation, queue = self.simulation, self.queue
        waits = not self.passes(packet)
        longest = self.program.overflow == "longest"
        if waits and not longest and not self.fits(packet):
            self.drop(packet, cause=BUFFER_FULL)
            return
        line = self.lines.setdefault(queue, deque())
        if not line:
            self.enter_turns(queue, float(self.state.rank))
        line.append((simulation.now, packet))
        self.count(queue, packet, 1)
        if not waits:
            self.go()
            return
        while self.filled() > self.port.room:
            drops = max(self.turns, key=lambda each: self.in_line[each])  # the first of the longest
            self.drop_queued(*self.leave(drops), BUFFER_FULL)
        simulation.records.queue(self.p, self.length(), self.bytes)

    def count(self, queue: int, packet: Packet, sign: int) -> None:
        """Count a packet that enters a queue, or with -1 leaves it."""
        size = sign * self.size_of(packet)
        self.in_line[queue] += size  # type: ignore[assignment]
        self.bytes += sign * self.taken(packet)
        self.total += sign
        self.counts[packet.flow, packet.is_ack] += sign

    def leave(self, queue: int) -> tuple[float, Packet]:
        """Remove the first packet of a queue and return its arrival and itself."""
        came, packet = self.lines[queue].popleft()
        self.count(queue, packet, -1)
        if not self.lines[queue]:
            self.turns.remove(queue)
        return came, packet

    def go(self) -> None:
        """Send the next packet that the program does not drop, if the port is idle and not paused."""
        skips = 0
        while self.ready():
            queue = self.turns[0]
            came, packet = self.lines[queue][0]
            self.count(queue, packet, -1)  # the program sees what waits besides it
            line, size = len(self.lines[queue]) - 1, float(self.in_line[queue])
            dropped = self.judge(packet, View(self.ranks[queue], came, queue, line, size))
            self.count(queue, packet, 1)
            if not dropped and getattr(self.state, "skip", 0.0) == 1.0:
                plan, now = self.simulation.plan, self.simulation.now
                if skips >= MAX_SKIPS * self.length():
                    returned = ("on_dequeue", "turns", float(skips))
                    refuse_program(plan, self.p, packet.flow, now, returned)
                skips += 1
                self.turns.remove(queue)
                self.enter_turns(queue, float(self.state.rank))
                continue
            self.leave(queue)
            skips = 0
            if dropped:
                self.drop_queued(came, packet, BY_MANAGER)
            else:
                self.send_on(came, packet)
