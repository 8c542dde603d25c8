"""Storms that the watchdog of a port declared in a packet run, compared with the faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dfcmodel.network.queueing.class_pauses import ALL

if TYPE_CHECKING:
    from dfcmodel.lossless.guards.watchdogs import Watchdog
    from dfcmodel.packets.plan import PacketPlan

    Pauses = list[tuple[int, int, float, float]]

__all__ = ["PortGuard", "WatchdogAlarm"]


@dataclass(frozen=True)
class WatchdogAlarm:
    """A storm that a watchdog declared: where, times in s, dropped packets, and whether no fault was its cause.

    Attributes
    ----------
    link, priority
        The paused link that it polls, and the class of traffic; -1: all.
    declared, restored
        Times in s; nan: not restored at the end of the run.
    dropped
        Packets and ACKs dropped in between.
    false
        Whether no fault paused the link in the counted intervals.

    Examples
    --------
    >>> from dfcmodel.lossless.results import WatchdogAlarm
    >>> WatchdogAlarm("1->2", -1, 0.4, 2.5, 117, false=False).dropped
    117
    """

    link: str
    priority: int
    declared: float
    restored: float
    dropped: int
    false: bool


@dataclass(frozen=True)
class PortGuard:
    """Watchdog of a port, or of one class at it, with the storms that it declared in a run.

    ``Pauses`` by a fault are rows of port, class, begin and end, s.

    Attributes
    ----------
    plan, q, priority, dog
        The plan of the run, port and class, and the settings.
    storms
        Declared storms, in order: time of the declaration and of the restoration (nan: none), s, and
        packets dropped.
    """

    plan: PacketPlan
    q: int
    priority: int
    dog: Watchdog
    storms: list[tuple[float, float, int]]

    def pauses_of(self, pauses: Pauses) -> Pauses:
        """Return the rows of pauses by faults, (port, class, begin, end), that stop this port and class."""
        return [
            pause
            for pause in pauses
            if pause[0] == self.q and (pause[1] == self.priority or ALL in (self.priority, pause[1]))
        ]

    def faults(self, pauses: Pauses) -> list[tuple[float, float]]:
        """Return (begin, end), s, of pauses by faults, (port, class, begin, end), that stop this port and class."""
        return [(begin, end) for _, _, begin, end in self.pauses_of(pauses)]

    def alarms(self, pauses: Pauses) -> list[WatchdogAlarm]:
        """Return the declared storms as alarms; an alarm without a pause by a fault, among ``pauses``, is false."""
        faults = self.faults(pauses)
        counted = self.dog.polls * self.dog.period
        name = self.plan.ports[self.q].name
        return [
            WatchdogAlarm(
                name, self.priority, declared, restored, dropped,
                false=not any(begin < declared and end > declared - counted for begin, end in faults),
            )
            for declared, restored, dropped in self.storms
        ]  # fmt: skip

    def find_undeclared(self, pauses: Pauses) -> list[tuple[str, int, float, float]]:
        """Return (link, class, begin, end), s, of pauses by faults in which it never dropped."""
        name = self.plan.ports[self.q].name
        return [
            (name, self.priority, begin, last)
            for begin, last in self.faults(pauses)
            if not any(
                declared <= last + self.dog.period and not restored <= begin for declared, restored, _ in self.storms
            )
        ]
