"""Interface of the reference simulation to its queues, senders and sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dfcmodel.packets.plan import PacketPlan
    from tests.oracles.packets.receivers import Packet
    from tests.oracles.packets.records import EventRecords

__all__ = ["EventSimulation", "Guard"]


class Guard(Protocol):
    """What looks after a port, or a class of it, that others pause."""

    def look(self) -> None:
        """Note that it was paused, or is no longer."""

    def takes(self, packet: Packet) -> bool:
        """Return whether a packet that comes is dropped."""


class EventSimulation(Protocol):
    """A discrete-event simulation: plan, clock (s), records, queues, senders, and scheduling of events."""

    plan: PacketPlan
    now: float
    records: EventRecords
    queues: list[Any]
    senders: list[Any]
    paths: Any

    def at(self, time: float, key: int, action: Callable[[], None]) -> None:
        """Schedule an action; actions at equal times run in the order of their keys."""

    def draw(self, stream: int) -> float:
        """Return the next number in [0, 1) of a stream."""

    def random(self, f: int) -> float:
        """Return the next random number in [0, 1) of a flow."""

    def wake(self, f: int, time: float) -> None:
        """Schedule a check of a sender's timers."""

    def emit(self, packet: Packet) -> None:
        """Pass a packet or an ACK to the first port of its path."""

    def route_of(self, packet: Packet) -> Sequence[int]:
        """Return the ports on the way of a packet or an ACK."""

    def arrive(self, packet: Packet) -> None:
        """Pass a packet to the next port, to its receiver, or an ACK to its sender."""
