"""What queues, senders and sources of the reference engine use of the simulation they are part of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from dfcmodel.packets.plans import Plan
    from dfcmodel.packets.records import Records
    from dfcmodel.packets.reference_receivers import Packet

__all__ = ["EventSimulation"]


class EventSimulation(Protocol):
    """A simulation by events: its plan, clock (s), records and queues, and what it lets happen."""

    plan: Plan
    now: float
    records: Records
    queues: list[Any]

    def at(self, time: float, key: int, action: Callable[[], None]) -> None:
        """Do something at a time, in the order of keys."""

    def draw(self, stream: int) -> float:
        """Return the next number in [0, 1) of a stream."""

    def random(self, f: int) -> float:
        """Return the next random number of a flow."""

    def wake(self, f: int, time: float) -> None:
        """Look at a sender's timers at a time."""

    def emit(self, packet: Packet) -> None:
        """Let a packet or an ACK enter the first port of its path."""

    def arrive(self, packet: Packet) -> None:
        """Let a packet arrive at the next port, its receiver or its sender."""
