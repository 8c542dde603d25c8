"""Queues of the reference engine whose packets leave in the order that a switch program says."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from dfcmodel.network.class_pauses import ALL
from dfcmodel.network.programs import QueuedPacket, SwitchProgram
from dfcmodel.network.run_tables import AT_RANDOM, BUFFER_FULL, BY_MANAGER
from dfcmodel.packets.reference_queues import Queue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dfcmodel.packets.protocols import EventSimulation
    from dfcmodel.packets.reference_receivers import Packet

__all__ = ["RankedQueue"]


class RankedQueue(Queue):
    """A push-in first-out queue."""

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        super().__init__(simulation, p)
        assert isinstance(self.port.discipline, SwitchProgram)
        self.program = self.port.discipline
        self.numbers = SimpleNamespace(**self.program.numbers())
        self.state: Any = type(self.program).State()
        self.own: dict[tuple[int, bool], dict[str, float]] = {}
        self.counts: Counter[tuple[int, bool]] = Counter()
        self.entries: list[tuple[float, float, Packet]] = []  # rank, arrival, packet

    def arrivals(self) -> Iterable[float]:
        """Return when the packets that wait came."""
        return (came for _, came, _ in self.entries)

    def queues(self) -> Iterable[tuple[int, Sequence[tuple[float, Packet]]]]:
        """Yield what waits, by rank."""
        yield ALL, [(came, packet) for _, came, packet in self.entries]

    def length(self) -> int:
        """Return how many packets wait."""
        return len(self.entries)

    def judge(self, packet: Packet, rank: float | None = None, came: float = 0.0) -> bool:
        """Let the program see a packet that comes, or with a rank that is to leave; return whether it is dropped."""
        plan, now = self.simulation.plan, self.simulation.now
        flow, key = plan.scenario.flows[packet.flow], (packet.flow, packet.is_ack)
        kind = type(self.program)
        own = self.own.setdefault(
            key, {name: getattr(kind.State(), name) for name in self.program.of_flow}
        )
        size = _size(flow) + float(plan.opening[packet.flow])
        left = 1.0 if packet.is_ack else size - packet.number
        seen = QueuedPacket(
            now, float(packet.flow), float(flow.priority), float(packet.is_ack),
            float(packet.listens and not packet.is_ack), self.size_of(packet), left, rank or 0.0,
            0.0 if rank is None else now - came, float(self.length()), float(self.counts[key]),
            self.bytes, self.port.bits / 8.0, self.simulation.draw(self.p),
        )  # fmt: skip
        before = self.state._replace(drop=0.0, mark=0.0, rank=0.0, **own)
        event = kind.on_enqueue if rank is None else kind.on_dequeue
        self.state = event(before, self.numbers, seen)
        own.update({name: getattr(self.state, name) for name in own})
        if self.state.mark == 1.0 and seen.ect:
            packet.marked = True
        return bool(self.state.drop == 1.0)

    def arrive(self, packet: Packet) -> None:
        """Transmit, queue or drop an arriving packet."""
        simulation, loss = self.simulation, self.simulation.plan.losses[self.p]
        if loss > 0.0 and not packet.is_ack and simulation.draw(self.p) < loss:
            self.drop(packet, cause=AT_RANDOM)
            return
        if self.judge(packet):
            self.drop(packet, cause=BY_MANAGER)
            return
        rank = float(self.state.rank)
        if self.passes(packet):
            if self.judge(packet, rank, simulation.now):
                self.drop(packet, cause=BY_MANAGER)
            else:
                self.send(simulation.now, packet)
            return
        if self.length() >= self.port.room:
            last = self.entries[-1] if self.entries else None
            if self.program.overflow != "last" or last is None or last[0] <= rank:
                self.drop(packet, cause=BUFFER_FULL)
                return
            self.take(len(self.entries) - 1)
            self.drop_queued(last[1], last[2], BUFFER_FULL)
        at = bisect_right(self.entries, rank, key=lambda entry: entry[0])
        self.entries.insert(at, (rank, simulation.now, packet))
        self.bytes += self.size_of(packet)
        self.counts[packet.flow, packet.is_ack] += 1
        simulation.records.queue(self.p, self.length())

    def take(self, place: int) -> tuple[float, float, Packet]:
        """Remove a packet and return its rank, its arrival and itself."""
        entry = self.entries.pop(place)
        self.bytes -= self.size_of(entry[2])
        self.counts[entry[2].flow, entry[2].is_ack] -= 1
        return entry

    def go(self) -> None:
        """Send the next packet that the program does not drop, if the port is idle and not paused."""
        while self.ready():
            rank, came, packet = self.take(0)
            if self.judge(packet, rank, came):
                self.drop_queued(came, packet, BY_MANAGER)
            else:
                self.send(came, packet)


def _size(flow: Any) -> float:
    """Return the packets of a flow's transfer; inf where one follows the other."""
    return float(flow.all_packets)
