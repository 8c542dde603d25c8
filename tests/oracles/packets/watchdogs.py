"""Watchdogs of ports, event by event."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dfcmodel.network.queueing.class_pauses import ALL

if TYPE_CHECKING:
    from dfcmodel.packets.plan import PortWatchdog
    from tests.oracles.packets.receivers import Packet
    from tests.oracles.packets.simulation import Simulation

__all__ = ["PollingGuard"]

POLL = 1 << 22
"""Key of polls among events of equal times: after messages and arrivals."""


class PollingGuard:
    """The watchdog of a port, or of a class at it."""

    def __init__(self, simulation: Simulation, dog: PortWatchdog) -> None:
        self.simulation, self.dog = simulation, dog
        self.queue = simulation.queues[dog.port]
        self.queue.guards.append(self)
        self.paused, self.dropping = False, False
        self.since = self.spent = 0.0
        self.polls = self.streak = 0
        self.storms: list[list[float]] = []  # declared, restored, dropped
        simulation.at(dog.first, POLL, self.poll)

    def look(self) -> None:
        """Add up the time paused, and note whether it is paused now."""
        now = self.simulation.now
        if self.paused:
            self.spent += now - self.since
        self.since = now
        self.paused = self.queue.is_held(self.dog.priority)

    def takes(self, packet: Packet) -> bool:
        """Return whether it drops a packet that comes, and count it."""
        taken = self.dropping and self.dog.priority in (ALL, self.queue.queue_of(packet))
        if taken:
            self.storms[-1][2] += 1
        return taken

    def poll(self) -> None:
        """Count an interval, and declare a storm or its end."""
        self.look()
        whole = self.polls > 0  # the first interval begins with the first poll
        counts = self.spent == 0.0 if self.dropping else self.spent >= self.dog.min_paused
        self.spent = 0.0
        self.polls += 1
        self.streak = self.streak + 1 if whole and counts else 0
        if self.streak == (self.dog.good_polls if self.dropping else self.dog.bad_polls):
            self.streak = 0
            self.dropping = not self.dropping
            if self.dropping:
                number = self.queue.discard(self.dog.priority)
                self.storms.append([self.simulation.now, math.nan, number])
            else:
                self.storms[-1][1] = self.simulation.now
        self.simulation.at(self.dog.first + self.polls * self.dog.period, POLL, self.poll)
