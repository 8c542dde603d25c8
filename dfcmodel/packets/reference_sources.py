"""Sources of the reference engine without congestion control: constant rate, on-off."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dfcmodel.network.flows import OnOff
from dfcmodel.packets.reference_receivers import Packet

if TYPE_CHECKING:
    from dfcmodel.packets.protocols import EventSimulation

__all__ = ["Blind"]


class Blind:
    """Source that sends packets at equal intervals while it is on, without acknowledgements."""

    def __init__(self, simulation: EventSimulation, f: int) -> None:
        self.simulation, self.f = simulation, f
        flow: Any = simulation.plan.scenario.flows[f]
        self.source = flow.source
        self.size = flow.size
        self.gap = 1.0 / self.source.rate
        self.sent = 0
        self.off_at = math.inf
        self.due = math.inf

    def span(self, mean: float) -> float:
        """Return the duration of an on or off period, s."""
        if not self.source.random:
            return mean
        return -mean * math.log(1.0 - self.simulation.random(self.f))

    def start(self) -> None:
        """Start the source."""
        self.due = self.simulation.now
        if isinstance(self.source, OnOff):
            self.off_at = self.due + self.span(self.source.on)
        self.wake()

    def wake(self) -> None:
        """Send the packet that is due and schedule the next one."""
        if self.simulation.now != self.due or self.sent >= self.size:
            return
        self.simulation.emit(Packet(self.f, self.sent, self.due))
        self.sent += 1
        self.due += self.gap
        while self.due >= self.off_at:
            self.due = max(self.due, self.off_at + self.span(self.source.off))
            self.off_at = self.due + self.span(self.source.on)
        self.simulation.wake(self.f, self.due)
