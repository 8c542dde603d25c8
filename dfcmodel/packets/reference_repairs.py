"""Senders of the reference engine at the rate of a rule whose receivers keep what comes out of order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dfcmodel.packets.reference_sources import Rated
from dfcmodel.packets.repairs import SelectiveRepair

if TYPE_CHECKING:
    from dfcmodel.packets.protocols import EventSimulation
    from dfcmodel.packets.reference_receivers import Packet

__all__ = ["Selective", "rated_sender"]


def rated_sender(simulation: EventSimulation, f: int) -> Rated:
    """Return the sender of a flow at the rate of a rule."""
    selective = isinstance(simulation.plan.repairs[f], SelectiveRepair)
    return Selective(simulation, f) if selective else Rated(simulation, f)


class Selective(Rated):
    """Sender that sends again what is missing before a packet that has come (`SelectiveRepair`)."""

    def __init__(self, simulation: EventSimulation, f: int) -> None:
        super().__init__(simulation, f)
        flow: Any = simulation.plan.scenario.flows[f]
        repair: Any = simulation.plan.repairs[f]
        self.bound, self.few = flow.max_window, repair.few
        self.low, self.high = repair.timeouts(simulation.plan.scenario.min_rto)
        self.kept: set[int] = set()  # at the receiver: beyond the next packet
        self.sacked: set[int] = set()
        self.again: set[int] = set()
        self.top = -1  # the highest packet that was acknowledged selectively
        self.recover = -math.inf
        self.timed_from = 0.0

    def take(self, packet: Packet) -> tuple[int, dict[str, Any]]:
        """Keep a packet at the receiver; return how many it delivers, and what its ACK says."""
        before, number = self.came, packet.number
        if number >= self.came:
            self.kept.add(number)
        while self.came in self.kept:
            self.kept.remove(self.came)
            self.came += 1
        sack = number if number >= self.came else -1
        return self.came - before, {"number": self.came - 1, "sack": sack}

    def answer_header(self, packet: Packet) -> None:
        """Return None: a packet of which the header alone has come is one that was lost."""

    def has_next(self) -> bool:
        """Return whether a packet may be sent: what is lost, or a new one."""
        return bool(self.again) or (
            self.sent < self.size and float(self.sent - self.acked) < self.bound
        )

    def take_next(self) -> int:
        """Return the packet that is sent now."""
        if not self.again:
            return super().take_next()
        number = min(self.again)
        self.again.remove(number)
        return number

    def lose(self, first: int, past: int) -> None:
        """Have what is not acknowledged of some packets sent again; begin a recovery if there is any."""
        lost = set(range(max(first, self.acked), past)) - self.sacked - self.again
        self.again |= lost
        if lost and self.acked > self.recover:
            self.recover = self.most - 1
            self.loss_events += 1

    def is_few(self) -> bool:
        """Return whether so few packets are in flight that the short timeout holds."""
        return bool(self.most - self.acked <= self.few)

    def timeout(self) -> float:
        """Return the timeout of a timer that is started now."""
        self.timed_from = self.simulation.now
        return float(self.low if self.is_few() else self.high)

    def acknowledge(self, ack: Packet) -> None:
        """Note what an ACK acknowledges, and what is lost by it."""
        rests = not self.has_next()
        if ack.number >= self.acked:
            self.acked = ack.number + 1
            for packets in (self.sacked, self.again):
                packets -= {n for n in packets if n < self.acked}
            self.watch_progress()
        if ack.sack >= self.acked:
            self.lose(self.top + 1, ack.sack)
            self.again.discard(ack.sack)
            self.sacked.add(ack.sack)
            self.top = max(self.top, ack.sack)
        if rests and self.has_next():
            self.resume()

    def expire(self) -> None:
        """Send again what is missing, or extend a short timeout where many packets are in flight."""
        last = self.timed_from + self.high
        if self.simulation.now < last and not self.is_few():
            self.deadline = last
            self.simulation.wake(self.f, last)
            return
        rests = not self.has_next()
        self.timeouts += 1
        self.recover = -math.inf
        self.lose(self.acked, self.top if self.top >= self.acked else self.most)
        if rests and self.has_next():
            self.resume()
        self.watch_progress()
