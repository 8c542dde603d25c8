"""Oracle of the packet level: discrete-event simulation in plain Python, equal to the compiled engine.

Events are ordered by (time, key, order of scheduling). Keys order simultaneous events: pause
messages, arrivals by the rank of the transmitting port, timers and starts by flow, then ends of
transmission.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import dfcmodel as dfc
from dfcmodel.network.drop_causes import EXPIRED
from dfcmodel.network.queueing.disciplines import Discipline
from dfcmodel.network.run_tables import LAST_PART
from dfcmodel.packets.engine import has_pauses, waiting_rows
from dfcmodel.packets.kernel.layout import CLASSES, OF_RATE, STORM, TRACE
from dfcmodel.packets.methods import recovery_named
from dfcmodel.packets.ports import Interface
from dfcmodel.recoveries import LossRecovery
from hopflow.progress import progress_bar
from responsefn import DeliveryRule, RateRule, WindowRule
from responsefn.rules.deliveries.delivery_rule import answers_marks
from tests.oracles.packets.agents import receivers_of
from tests.oracles.packets.arrivals import Arriving, Replayed, end_source, supply_of
from tests.oracles.packets.backpressure import FlowQueues
from tests.oracles.packets.classes import ClassQueues
from tests.oracles.packets.coupled import CoupledQueues
from tests.oracles.packets.deliveries import DeliverySender
from tests.oracles.packets.diffusion import Diffusive, begin_clock
from tests.oracles.packets.interfaces import HostQueues
from tests.oracles.packets.late_packets import ByTime, DeliveriesByTime
from tests.oracles.packets.laws import LawQueues
from tests.oracles.packets.path_elements import Paths
from tests.oracles.packets.programs import ProgramQueues, RankedQueue
from tests.oracles.packets.queues import ByPriority, Pausing, PausingByQuanta, Queue, RoundRobin
from tests.oracles.packets.receivers import Packet, Receiver
from tests.oracles.packets.records import EventRecords
from tests.oracles.packets.recoveries import Programmed
from tests.oracles.packets.reductions import ALL_SENDERS
from tests.oracles.packets.repairs import rated_sender
from tests.oracles.packets.senders import Sender
from tests.oracles.packets.sources import Blind, Rated, rest
from tests.oracles.packets.watchdogs import PollingGuard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

__all__ = ["Simulation", "queue_of", "run_reference", "trace_reference", "watch_reference"]

QUEUES: dict[type, type[Queue]] = {
    dfc.BFC: FlowQueues, dfc.DFC: Diffusive, dfc.Pause: Pausing, dfc.PFC: ClassQueues, dfc.Fair: RoundRobin, dfc.Priority: ByPriority,
    dfc.DualPI2: CoupledQueues, Interface: HostQueues,
}  # fmt: skip
"""The queue of each discipline; of others, and of links without one, it is FIFO."""


def queue_of(discipline: Discipline) -> type[Queue]:
    """Return the class of the queue of a link with a discipline."""
    if isinstance(discipline, dfc.SwitchProgram):
        return ProgramQueues if discipline.queues else RankedQueue
    if isinstance(discipline, dfc.LinkLaw):
        return LawQueues
    if isinstance(discipline, dfc.Pause) and discipline.quanta is not None:
        return PausingByQuanta
    return QUEUES.get(type(discipline), Queue)


def run_reference(plan: PacketPlan) -> EventRecords:
    """Run a plan from t = 0 and return its records."""
    simulation = Simulation(plan)
    simulation.run()
    return simulation.records


def trace_reference(plan: PacketPlan, ports: Sequence[int]) -> tuple[EventRecords, NDArray[Any]]:
    """Run a plan as `run_reference` does; return what `dfcmodel.packets.engine.trace_engine` does."""
    simulation = Simulation(plan)
    simulation.records = records = _Recorder(plan, ports)
    records.when_finished = simulation.start_followers
    records.queues = simulation.queues
    with records.bar:
        simulation.run()
    return records, np.array(records.kept, dtype=TRACE)


def watch_reference(plan: PacketPlan) -> tuple[EventRecords, NDArray[Any]]:
    """Run a plan as `run_reference` does; return what `dfcmodel.packets.engine.watch_engine` does."""
    simulation = Simulation(plan)
    simulation.run()
    found = [(*storm, g) for g, guard in enumerate(simulation.guards) for storm in guard.storms]
    found.sort(key=lambda row: row[0])
    return simulation.records, np.array(found, dtype=STORM)


class _Recorder(EventRecords):
    """Records that keep each packet at some ports too, and show the progress of a long run."""

    def __init__(self, plan: PacketPlan, ports: Sequence[int]) -> None:
        super().__init__(plan)
        self.traced = frozenset(ports)
        self.kept: list[tuple[Any, ...]] = []
        self.bar = progress_bar(total=plan.samples, desc=plan.scenario.name)

    def _keep(self, p: int, packet: Packet, came: float, sent: float, longer: float, dropped: float) -> None:
        if p in self.traced:
            edges = [edge for block in packet.blocks for edge in block]
            what = (p, packet.flow, packet.number, packet.size, packet.is_ack, packet.marked)
            self.kept.append((came, sent, longer, dropped, *what, [*edges, *6 * [0]][:6]))

    def transmit(
        self, p: int, packet: Packet, came: float, now: float, taken: float = 0.0, longer: float = 0.0
    ) -> None:
        """Record the start of a transmission, and by how many s it takes longer than at the rate of the link."""
        super().transmit(p, packet, came, now, taken, longer)
        self._keep(p, packet, came, now, longer, math.nan)

    def drop(self, p: int, packet: Packet, came: float, now: float, cause: int) -> None:
        """Record a drop."""
        super().drop(p, packet, came, now, cause)
        self._keep(p, packet, came, math.nan, 0.0, now)

    def look(self, n: int, senders: Any) -> None:
        """Record the end of a sample."""
        super().look(n, senders)
        self.bar.update()


def _answers_marks(source: Any) -> bool:
    return isinstance(source, WindowRule) and answers_marks(type(source))


class Simulation:
    """Ports, senders, receivers and the heap of events."""

    def __init__(self, plan: PacketPlan) -> None:
        self.plan = plan
        self.now = 0.0
        self.heap: list[tuple[float, int, int, Callable[[], None]]] = []
        self.count = itertools.count()
        self.records = EventRecords(plan)
        self.streams = [int(seed) for seed in plan.seeds]
        self.queues: list[Any] = [queue_of(port.discipline)(self, p) for p, port in enumerate(plan.ports)]
        self.records.queues = self.queues
        self.paths = Paths(self)
        self.spraying = plan.spraying
        self.next_path = [] if plan.spraying is None else plan.spraying.begins.tolist()
        self.missing = plan.scenario.followers.missing.tolist()
        self.ready = plan.earliest.tolist()
        self.records.when_finished = self.start_followers
        accurate = [_answers_marks(flow.source) for flow in plan.scenario.flows]
        self.receivers = [
            Receiver(kind != "" and recovery_named(kind).selective, echo)
            for kind, echo in zip(plan.recoveries, accurate, strict=True)
        ]
        self.agents = receivers_of(self)
        self.senders: list[Any] = []
        for f, kind in enumerate(plan.recoveries):
            self.senders.append(self._sender(f, kind))
            if plan.scenario.flows[f].arrivals is not None:
                self.senders[f].supply = supply_of(self, f)
            if not self.missing[f]:
                self.begin(f, float(plan.starts[f]))

        for f in np.flatnonzero(plan.stops < plan.end).tolist():
            key = -1 - len(self.queues) - f  # before all other events
            self.at(float(plan.stops[f]), key, partial(end_source, self, f))
        for clock in plan.clocks:
            begin_clock(self, clock)
        for p, q, priority, time, pause in plan.fault_messages():
            asks = partial(self.queues[q].receive_message, (-1 - p, priority), pause)
            self.at(time, -1 - p, asks)
        self.guards = [PollingGuard(self, dog) for dog in plan.watchdogs]

    def begin(self, f: int, time: float) -> None:
        """Schedule the start of a flow."""
        self.at(time, CLASSES * len(self.queues) + f, self.senders[f].start)

    def start_followers(self, f: int, now: float) -> None:
        """Schedule the starts of the flows for which flow f was the last one that they waited for."""
        given = self.plan.scenario.followers
        for pair in range(given.begin[f], given.begin[f + 1]):
            d = int(given.flow[pair])
            self.missing[d] -= 1
            self.ready[d] = max(self.ready[d], now + float(self.plan.delays_after[pair]))
            if self.missing[d] == 0:
                self.begin(d, self.ready[d])

    def _sender(self, f: int, kind: str | LossRecovery) -> Any:
        """Return the sender of a flow with a kind of loss recovery."""
        source = self.plan.scenario.flows[f].source
        if isinstance(source, DeliveryRule):
            if kind and recovery_named(kind).by_time:
                return DeliveriesByTime(self, f, recovery_named(kind))
            return DeliverySender(self, f)
        if isinstance(source, RateRule):
            return rated_sender(self, f)
        if isinstance(source, dfc.ArrivalProcess):
            return Arriving(self, f)
        if isinstance(source, dfc.Replay):
            return Replayed(self, f)
        if kind and recovery_named(kind).by_time:
            return ByTime(self, f, recovery_named(kind))
        if isinstance(kind, LossRecovery):
            return Programmed(self, f, kind)
        return ALL_SENDERS[kind](self, f) if kind else Blind(self, f)

    def at(self, time: float, key: int, action: Callable[[], None]) -> None:
        """Schedule an action; actions at equal times run in the order of their keys."""
        heapq.heappush(self.heap, (time, key, next(self.count), action))

    def draw(self, stream: int) -> float:
        """Return the next number in [0, 1) of a stream: Marsaglia's xorshift, 64 bits."""
        x = self.streams[stream]
        x ^= (x << 13) & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 7
        x ^= (x << 17) & 0xFFFFFFFFFFFFFFFF
        self.streams[stream] = x
        return (x >> 11) * 2.0**-53

    def random(self, f: int) -> float:
        """Return the next random number in [0, 1) of a flow."""
        return self.draw(len(self.queues) + f)

    def wake(self, f: int, time: float) -> None:
        """Schedule a check of a sender's timers."""
        self.at(time, CLASSES * len(self.queues) + f, lambda: self.senders[f].wake())

    def emit(self, packet: Packet) -> None:
        """Pass a packet or an ACK to the first port of its path."""
        if self.spraying is not None and not packet.is_ack and self.spraying.count[packet.flow]:
            packet.way = self.spray(packet.flow)
        self.records.inside[packet.flow] += 1
        self.records.emitted[packet.flow] += not packet.is_ack
        self.enter(packet)

    def enter(self, packet: Packet) -> None:
        """Pass a packet to the port of its next hop, which its switch may choose, unless its time to live is over."""
        f, hop = packet.flow, packet.hop
        if packet.is_ack:
            self.paths.arrive(self.plan.backward[f][hop], packet)
            return
        if hop and self.plan.method.spraying == "least queue":
            self.choose(packet)
        route = self.route_of(packet)
        ttl, path = self.plan.scenario.flows[f].ttl, self.plan.scenario.flows[f].path
        links = hop - (len(route) - (len(path) - 1))  # without an access link
        if ttl is not None and links >= ttl:
            self.queues[route[hop]].drop(packet, cause=EXPIRED)
        else:
            self.paths.arrive(route[hop], packet)

    def choose(self, packet: Packet) -> None:
        """Let the switch at which a sprayed packet is choose the path with the shortest queue, the packet's own at ties."""
        given, f, hop = self.spraying, packet.flow, packet.hop
        if given is None or not given.count[f]:
            return
        came = self.route_of(packet)[:hop]
        ways = [given.way_of(f, path) for path in range(int(given.count[f]))]
        onwards: dict[int, list[int]] = {}
        for way in ways:
            if self.plan.forward[way][:hop] == came:
                onwards.setdefault(self.plan.forward[way][hop], []).append(way)
        number = ways.index(packet.way if packet.way >= 0 else f)
        own = self.route_of(packet)[hop]
        others = [port for port in onwards if port != own]
        best = min([own, *others], key=lambda port: self.queues[port].length() + self.queues[port].busy)
        if best != own:
            packet.way = onwards[best][number % len(onwards[best])]

    def route_of(self, packet: Packet) -> Sequence[int]:
        """Return the ports on the way of a packet or an ACK."""
        if packet.is_ack:
            return self.plan.backward[packet.flow]
        return self.plan.forward[packet.flow if packet.way < 0 else packet.way]

    def spray(self, f: int) -> int:
        """Return the flow whose path the next packet of a sprayed flow takes."""
        assert self.spraying is not None
        turns = range(int(self.spraying.count[f]))
        if self.spraying.rerouting is not None:
            changed = sum(time <= self.now for time in self.spraying.rerouting.times)
            turns = self.spraying.rerouting.turns[f - self.spraying.lenders][changed]
        if self.plan.method.spraying == "random":
            return self.spraying.way_of(f, turns[int(self.random(f) * len(turns))])
        turn = self.next_path[f] if self.next_path[f] < len(turns) else 0
        self.next_path[f] = (turn + 1) % len(turns)
        return self.spraying.way_of(f, turns[turn])

    def arrive(self, packet: Packet) -> None:
        """Pass a packet to the next port, to its receiver, or an ACK to its sender."""
        f = packet.flow
        route = self.route_of(packet)
        if packet.hop < len(route):
            self.enter(packet)
        elif packet.is_ack:
            self.records.inside[f] -= 1
            sender = self.senders[f]
            if isinstance(sender, Sender) and sender.connecting:
                sender.open(packet)
            else:
                if isinstance(sender, Sender):
                    sender.validate()
                sender.receive(packet)
            if isinstance(sender, Sender):
                rest(self, f)
        else:
            self.deliver(packet)

    def deliver(self, packet: Packet) -> None:
        """Pass a packet to its receiver and return the ACK, if its source uses ACKs."""
        f = packet.flow
        self.records.inside[f] -= 1
        receiver = self.receivers[f]
        pending = receiver.pending
        passage = self.plan.passage[self.plan.forward[f][-1], packet.size]
        expires = receiver.due == self.now and passage < self.plan.method.ack_delay
        changes = receiver.accurate and pending and pending.marked != packet.marked
        if pending and (expires or changes):  # in the order of scheduling; RFC 8257, 3.2
            self.emit(receiver.answer_pending())
        sender = self.senders[f]
        if packet.trimmed is not None:
            self.records.receive_header(packet, self.now)
            if f in self.agents:
                self.agents[f].take(packet, sender.came - 1, -1)
            elif isinstance(sender, Rated) and (answer := sender.answer_header(packet)):
                self.emit(answer)
            return
        self.records.marks[f] += packet.marked and self.now < self.plan.end
        before = receiver.next
        receiver.take(packet)
        listens = isinstance(sender, Sender)
        came = receiver.next - before if listens else 1
        if isinstance(sender, Rated):
            came, told = sender.take(packet)
        self.records.deliver(f, came, self.now)
        if f in self.agents:
            self.agents[f].take(packet, told["number"], told.get("sack", -1))
        elif isinstance(sender, Rated):
            ack = {"is_ack": True, "marked": packet.marked, "telemetry": packet.telemetry, **told}
            self.emit(Packet(f, sent=packet.sent, size=OF_RATE, **ack))
        if not listens:
            return
        new = packet.number > 0 if self.plan.method.is_ns2 else came > 0  # ns-2 answers its SYN at once
        if isinstance(sender, Sender) and (
            packet.number < sender.quick or packet.number == sender.fin or packet.pushed
        ):
            new = False
        last = packet.number == receiver.next - 1 == receiver.highest
        if self.plan.delays_acks[f] and new and last and receiver.pending is None:
            receiver.delay(packet, self.now + self.plan.method.ack_delay)
            key = CLASSES * len(self.queues) + len(self.senders) + f
            self.at(receiver.due, key, lambda: self.answer_late(f))
        else:
            self.emit(receiver.answer(packet))

    def answer_late(self, f: int) -> None:
        """Send the ACK that a receiver has delayed up to now."""
        receiver = self.receivers[f]
        if receiver.due == self.now:
            self.emit(receiver.answer_pending())

    def run(self) -> None:
        """Process the events up to the end of the simulated time."""
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
            for came, packet in queue.packets():
                self.records.wait_on(queue.p, came, queue.taken(packet))
        paused = has_pauses(plan)
        rows = itertools.chain.from_iterable(
            queue.remaining((1.0 - LAST_PART) * plan.end) for queue in self.queues if paused[queue.p]
        )
        self.records.remaining = waiting_rows(plan, Counter(rows))
        self.records.inside += [receiver.pending is not None for receiver in self.receivers]
        for k, element in enumerate(self.plan.scenario.all_elements):
            self.records.counted += element.read_counts(self.paths.state_of(k))
