"""The watchdog of a port in a packet run: polls, drops, and the storms that it declares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dfcmodel.network.class_pauses import ALL

if TYPE_CHECKING:
    from dfcmodel.lossless.watchdogs import Watchdog

    Pauses = list[tuple[int, int, float, float]]

__all__ = ["PortGuard", "WatchdogAlarm"]

POLL = 1 << 22
"""Key of polls among events of equal times: after messages and arrivals."""


@dataclass(frozen=True)
class WatchdogAlarm:
    """A storm that a watchdog declared.

    Attributes
    ----------
    link, priority
        The paused link that it polls, and the class of traffic; -1: all.
    declared, restored
        When, s; nan: not over at the end of the run.
    dropped
        Packets and ACKs dropped in between.
    false
        Whether no fault paused the link in the intervals that were counted.

    Examples
    --------
    >>> from dfcmodel.lossless import WatchdogAlarm
    >>> WatchdogAlarm("1->2", -1, 0.4, 2.5, 117, false=False).dropped
    117
    """

    link: str
    priority: int
    declared: float
    restored: float
    dropped: int
    false: bool


class PortGuard:
    """The watchdog of a port, or of a class at it.

    ``Pauses`` by a fault are rows of port, class, begin and end, s.
    """

    def __init__(self, simulation: Any, q: int, priority: int, dog: Watchdog, phase: float) -> None:
        self.simulation, self.q, self.priority, self.dog = simulation, q, priority, dog
        self.queue = simulation.queues[q]
        self.queue.guards.append(self)
        self.paused, self.dropping = False, False
        self.since = self.spent = 0.0
        self.polls = self.streak = self.dropped = 0
        self.first = phase * dog.period
        self.times: list[list[float]] = []  # declared, restored, dropped
        simulation.at(self.first, POLL, self.poll)

    def look(self) -> None:
        """Add up the time paused, and note whether it is paused now."""
        now = self.simulation.now
        if self.paused:
            self.spent += now - self.since
        self.since = now
        queue = self.queue
        if hasattr(queue, "is_paused"):
            self.paused = queue.is_paused(self.priority)
        else:
            self.paused = queue.is_stopped()

    def takes(self, packet: Any) -> bool:
        """Return whether it drops a packet that comes."""
        own = self.priority in (ALL, self.simulation.plan.scenario.flows[packet.flow].priority)
        self.dropped += self.dropping and own
        return self.dropping and own

    def poll(self) -> None:
        """Count an interval, and declare a storm or its end."""
        self.look()
        least = self.dog.period * (self.dog.fraction - 1e-9)
        whole = self.polls > 0  # the first interval begins with the first poll
        bad = whole and self.spent >= least
        self.spent = 0.0
        self.polls += 1
        self.streak = self.streak + 1 if whole and bad != self.dropping else 0
        if self.streak == (self.dog.good_polls if self.dropping else self.dog.polls):
            self.streak = 0
            self.dropping = not self.dropping
            if self.dropping:
                self.dropped = self.queue.discard(self.priority)
                self.times.append([self.simulation.now, math.nan, 0.0])
            else:
                self.times[-1][1:] = [self.simulation.now, float(self.dropped)]
        self.simulation.at(self.first + self.polls * self.dog.period, POLL, self.poll)

    def faults(self, pauses: Pauses) -> list[tuple[float, float]]:
        """Return when faults pause it."""
        return [
            (begin, end)
            for q, c, begin, end in pauses
            if q == self.q and (c == self.priority or ALL in (self.priority, c))
        ]

    def alarms(self, pauses: Pauses) -> list[WatchdogAlarm]:
        """Return the storms that it declared."""
        if self.dropping:
            self.times[-1][2] = float(self.dropped)
        faults = self.faults(pauses)
        counted = self.dog.polls * self.dog.period
        port = self.simulation.plan.ports[self.q]
        return [
            WatchdogAlarm(
                port.name, self.priority, declared, restored, int(dropped),
                false=not any(begin < declared and end > declared - counted for begin, end in faults),
            )
            for declared, restored, dropped in self.times
        ]  # fmt: skip

    def missed(self, pauses: Pauses) -> list[tuple[str, int, float, float]]:
        """Return the storms in which it was never dropping; those that the run's end cuts off are left out."""
        end, port = self.simulation.plan.end, self.simulation.plan.ports[self.q]
        late = self.dog.period
        found = []
        for begin, last in self.faults(pauses):
            seen = any(
                declared <= last + late and not restored <= begin
                for declared, restored, _ in self.times
            )
            if last + late <= end and not seen:
                found.append((port.name, self.priority, begin, last))
        return found
