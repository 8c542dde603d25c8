"""Sources of the reference engine whose arrivals a function of the user or a trace gives, and the ends of flows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dfcmodel.network.arrivals import Arrival, Replay
from dfcmodel.packets.kernel.arrivals import BURST, TINY
from dfcmodel.packets.planning import check_arrival
from dfcmodel.packets.reference_receivers import Packet
from dfcmodel.packets.reference_senders import Sender
from dfcmodel.packets.reference_sources import Rated

if TYPE_CHECKING:
    from dfcmodel.packets.protocols import EventSimulation

__all__ = ["Arriving", "Replayed", "end_source"]


def end_source(simulation: EventSimulation, f: int) -> None:
    """End a flow with the packets that it has sent; what is lost of them is still sent again where it repairs losses."""
    sender = simulation.senders[f]
    sent = sender.highest + 1 if isinstance(sender, Sender) else sender.sent
    if isinstance(sender, Rated) and sender.repairs:
        sent = sender.most
    sender.size = min(sender.size, sent)
    simulation.records.end(f, sender.size, simulation.now)


class Arriving:
    """Source whose arrivals an arrival process gives."""

    def __init__(self, simulation: EventSimulation, f: int) -> None:
        self.simulation, self.f = simulation, f
        flow: Any = simulation.plan.scenario.flows[f]
        self.source: Any = flow.source
        self.size = flow.size
        self.sent = self.batch = 0
        self.due = math.inf
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
