"""Senders of the reference whose recovery finds losses by time (RFC 8985, 6.2)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dfcmodel.packets.kernel.late_packets import EXACT
from tests.oracles.packets.deliveries import Remembering
from tests.oracles.packets.recoveries import Programmed

if TYPE_CHECKING:
    from dfcmodel.recoveries import LossRecovery
    from tests.oracles.packets.protocols import EventSimulation
    from tests.oracles.packets.receivers import Packet

__all__ = ["ByTime"]


class ByTime(Remembering, Programmed):
    """A sender that remembers when each packet was sent, and calls its recovery at every ACK."""

    def __init__(self, simulation: EventSimulation, f: int, recovery: LossRecovery) -> None:
        super().__init__(simulation, f, recovery)
        self.newest_sent, self.newest_rtt = -math.inf, 0.0

    def remember(self) -> None:
        """Note the packets that an event has sent."""
        self.sent += [(number, self.simulation.now) for number in self.fresh]
        self.fresh.clear()

    def see(self, ack: Packet) -> None:
        """Let the recovery schedule a probe of the first data."""
        self.call("on_ack", 0, 0, 0)

    def resend_syn(self) -> None:
        """Send the SYN again after a timeout: what it carried is lost."""
        self.sent.clear()
        super().resend_syn()

    def after_timeout(self) -> None:
        """Resend from the first unacknowledged packet."""
        self.sent.clear()
        self.again.clear()
        super().after_timeout()

    def find_lost(self) -> int:
        """List the transmissions that are lost by now, and return their number."""
        lost, self.measured["next_loss"] = 0, math.inf
        while self.sent:
            number, time = self.sent[0]
            if not self.is_covered(number):
                same = [n for n, when in self.sent if when == self.newest_sent and n > number]
                passed = any(map(self.is_covered, same))
                if time > self.newest_sent or (time == self.newest_sent and not passed):
                    break
                due = time + self.newest_rtt + self.reorder_window
                if due > self.simulation.now + EXACT:
                    self.measured["next_loss"] = due
                    break
                self.again.append(number)
                lost += 1
            self.sent.popleft()
        return lost

    def call_with_losses(self, event: str, acked: int, delivered: int) -> None:
        """Look for losses and call a function of the recovery with them."""
        lost = self.find_lost()
        self.call(event, acked, delivered, lost, any(n > self.acked for n in self.again))

    def process_alarm(self) -> None:
        """Let the recovery process its alarm."""
        self.call_with_losses("on_alarm", 0, 0)
        if self.burst >= 1.0:
            self.send()

    def receive(self, ack: Packet) -> None:
        """Process an ACK."""
        self.rtt = self.simulation.now - ack.sent
        self.heed(ack)
        inside, self.grows, self.burst = self.recovering, False, math.inf
        before = self.acked + len(self.held)
        acked = max(0, ack.number - self.acked)
        if acked:
            self.forget(ack)
            self.lost_all = False
        if not self.lost_all:
            self.note(ack)
        delivered = self.acked + len(self.held) - before
        if delivered > 0:
            self.report(ack, acked, delivered)
            self.grows |= acked > 0 and not inside and not self.recovering
        elif self.duplicates > 0:
            self.burst = 0.0
        if self.grows:
            self.grow(ack)
        self.answer_mark(ack)
        if self.burst >= 1.0:
            self.send(0 if self.burst == math.inf else int(self.burst))
        self.remember()

    def report(self, ack: Packet, acked: int, delivered: int) -> None:
        """Measure what an ACK reports, and let the recovery process it."""
        self.measured["min_rtt"] = min(self.measured["min_rtt"], self.rtt)
        self.measured["reordered"] = float(ack.sent < self.newest_sent)
        if ack.sent >= self.newest_sent:
            self.newest_sent, self.newest_rtt = ack.sent, self.rtt
        self.call("on_report", acked, delivered, 0)
        if acked == 0:
            self.duplicates += 1
        self.call_with_losses("on_ack" if acked else "on_duplicate_ack", acked, delivered)
