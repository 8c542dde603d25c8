"""Sources of the reference engine whose arrivals a function of the user or a trace gives, and the ends of flows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dfcmodel import Replay
from dfcmodel.network.endpoints.arrivals import Arrival
from dfcmodel.packets.kernel.tcp.arrivals import BURST, TINY
from dfcmodel.packets.refusals import check_arrival
from tests.oracles.packets.deliveries import DeliverySender
from tests.oracles.packets.receivers import Packet
from tests.oracles.packets.senders import Sender
from tests.oracles.packets.sources import Rated

if TYPE_CHECKING:
    from tests.oracles.packets.protocols import EventSimulation

__all__ = ["Arriving", "Replayed", "end_source", "supply_of"]


def end_source(simulation: EventSimulation, f: int) -> None:
    """End a flow with the packets that it has sent; what is lost of them is still sent again where it repairs losses."""
    sender = simulation.senders[f]
    sent = sender.highest + 1 if isinstance(sender, Sender) else sender.sent
    if isinstance(sender, Rated) and sender.repairs:
        sent = sender.most
    sender.size = min(sender.size, sent)
    if isinstance(sender, Sender) and sender.supply is not None:
        sender.supply.due = math.inf
    simulation.records.end(f, sender.size, simulation.now)


class Arriving:
    """Source whose arrivals an arrival process gives."""

    def __init__(self, simulation: EventSimulation, f: int) -> None:
        self.simulation, self.f = simulation, f
        flow: Any = simulation.plan.scenario.flows[f]
        self.source: Any = flow.source if flow.arrivals is None else flow.arrivals
        self.size = flow.size
        self.sent = self.batch = 0
        self.due = math.inf
        self.started = 0.0
        self.begin()

    def begin(self) -> None:
        """Set the first state of the process."""
        self.state, self.params = self.source.State(), self.source.params
        self.asked = 0

    def start(self) -> None:
        """Start the source."""
        self.due = self.simulation.now
        self.wake()

    def wake(self) -> None:
        """Send the packets that arrive now, and schedule the next arrival."""
        if self.simulation.now != self.due:
            return
        count = int(min(self.batch, self.size - self.sent, BURST))
        for _ in range(count):
            self.simulation.emit(Packet(self.f, self.sent, self.due))
            self.sent += 1
        self.batch -= count
        if self.sent >= self.size:
            self.due = math.inf
            return
        if self.batch == 0:
            self.due, self.batch = self.next_arrival()
        if self.due < math.inf:
            self.simulation.wake(self.f, self.due)
        else:
            self.size = self.sent
            self.simulation.records.sizes[self.f] = self.sent

    def next_arrival(self) -> tuple[float, int]:
        """Return when the next packets arrive, s, and how many; inf: none."""
        now, simulation = self.simulation.now, self.simulation
        last = float(self.state.packets) if self.asked else 0.0
        random = max(simulation.random(self.f), TINY)
        random2 = max(simulation.random(self.f), TINY)
        self.asked += 1
        self.state = self.source.next(self.state, self.params, Arrival(now, last, random, random2))
        wait, packets = float(self.state.wait), float(self.state.packets)
        check_arrival(simulation.plan.scenario, self.f, (wait, packets), now, self.asked == 1)
        return (math.inf, 0) if now + wait == math.inf else (now + wait, int(packets))


class Replayed(Arriving):
    """Source whose arrivals a trace gives."""

    def begin(self) -> None:
        """Set the first arrival."""
        source: Replay = self.source
        self.rest = iter(source.batches.tolist())

    def start(self) -> None:
        """Start the source."""
        self.started = self.simulation.now
        super().start()

    def next_arrival(self) -> tuple[float, int]:
        """Return when the next packets arrive, s, and how many; inf: none."""
        time, packets = next(self.rest, (math.inf, 0))
        return self.started + time, int(packets)


class Supply:
    """Data that arrive at a window sender, at the times of a process."""

    def __init__(self, simulation: EventSimulation, f: int, process: Arriving) -> None:
        self.simulation, self.f, self.process = simulation, f, process
        self.sender: Any = simulation.senders[f]
        self.limit, self.sender.size = self.sender.size, self.sender.opening
        self.due, self.batch = math.inf, 0

    def start(self) -> None:
        """Ask for the first arrival."""
        self.process.started = self.due = self.simulation.now
        self.take()

    def take(self) -> bool:
        """Let the data that arrive now be available, and schedule the next ones; return whether any were due."""
        sender = self.sender
        if self.due != self.simulation.now:
            return False
        if isinstance(sender, DeliverySender):
            sender.check_limited()
        elif sender.acked == sender.highest:
            sender.count_limited()
            sender.counted_at = self.simulation.now
        sender.size = min(sender.size + self.batch, self.limit)
        self.due, self.batch = math.inf, 0
        if sender.size < self.limit:
            self.due, self.batch = self.process.next_arrival()
        if self.due < math.inf:
            self.simulation.wake(self.f, self.due)
        else:
            self.simulation.records.sizes[self.f] = sender.size
        return True


def supply_of(simulation: EventSimulation, f: int) -> Supply:
    """Return the data of a flow with ``arrivals``."""
    is_trace = isinstance(simulation.plan.scenario.flows[f].arrivals, Replay)
    return Supply(simulation, f, (Replayed if is_trace else Arriving)(simulation, f))
