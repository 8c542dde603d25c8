"""Senders of the reference engine at the rate of a rule whose receivers keep what comes out of order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dfcmodel import SelectiveRepair
from dfcmodel.packets.kernel.layout import OF_RATE
from tests.oracles.packets.receivers import Packet
from tests.oracles.packets.sources import Rated

if TYPE_CHECKING:
    from tests.oracles.packets.protocols import EventSimulation

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
        self.bound, self.few, self.reordering = flow.max_window, repair.few, repair.reordering
        self.low, self.high = repair.timeouts(simulation.plan.scenario.min_rto)
        self.kept: set[int] = set()  # at the receiver: beyond the next packet
        self.sacked: set[int] = set()
        self.again: set[int] = set()
        self.asked: set[int] = set()  # by the receiver, beyond the last one that came
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

    def answer_header(self, packet: Packet) -> Packet | None:
        """Return the answer to a packet of which the header alone has come: the receiver asks for it if it is missing."""
        if packet.number < self.came or packet.number in self.kept:
            return None
        return Packet(
            self.f, self.came - 1, packet.sent, OF_RATE, is_ack=True, marked=packet.marked,
            nack=packet.number, telemetry=packet.telemetry,
        )  # fmt: skip

    def has_next(self) -> bool:
        """Return whether a packet may be sent: what is lost, or a new one."""
        new = self.has_new() and float(self.sent - self.acked) < self.bound
        return bool(self.credits >= 1.0 and (self.again or new))

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

    def advance(self, past: int) -> None:
        """Note that all packets before ``past`` are acknowledged."""
        self.acked = past
        for packets in (self.sacked, self.again, self.asked):
            packets -= {n for n in packets if n < past}

    def first_undecided(self) -> int:
        """Return the first packet of which it is not decided whether it was overtaken or lost."""
        after = self.top - self.reordering if self.reordering else self.top + 1
        return max(after, self.acked)

    def receive_sack(self, number: int) -> None:
        """Note that a packet came out of order: what was sent before it and did not come is lost."""
        if number < self.acked:
            return
        decided = set(range(self.first_undecided(), number - self.reordering))
        for n in sorted(decided - self.asked):
            self.lose(n, n + 1)
        self.asked -= decided | {number}
        self.again.discard(number)
        self.sacked.add(number)
        self.top = max(self.top, number)

    def send_again(self, number: int) -> None:
        """Send a packet again."""
        if number < self.most:
            if number >= self.first_undecided():
                self.asked.add(number)
            self.lose(number, number + 1)

    def is_extended(self) -> bool:
        """Let a short timer go on where many packets are in flight."""
        last = self.timed_from + self.high
        if self.simulation.now >= last or self.is_few():
            return False
        self.deadline = last
        self.simulation.wake(self.f, last)
        return True

    def time_out(self) -> None:
        """Send again what is missing below the last packet that came, and where none did after it, all that was sent."""
        self.recover = -math.inf
        self.lose(self.acked, self.top if self.top >= self.acked else self.most)
