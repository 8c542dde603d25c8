"""What a plan says about watchdogs of ports, and about faults that end."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Fault", "PortWatchdog"]


class PortWatchdog(NamedTuple):
    """A watchdog of a port, or of a class at it.

    Attributes
    ----------
    port, priority
        What it polls: a port, and a class of traffic; `dfcmodel.network.queueing.class_pauses.ALL` for all classes.
    first, period
        Time of the first poll, and time between polls, s.
    least
        Paused time in an interval from which on the interval is bad, s.
    bad_polls, good_polls
        Consecutive bad intervals that declare a storm, and consecutive others that end it.
    """

    port: int
    priority: int
    first: float
    period: float
    least: float
    bad_polls: int
    good_polls: int


class Fault(NamedTuple):
    """A port asks for pauses from ``begin`` to ``end``, s, whatever its queue."""

    port: int
    begin: float
    end: float
