"""Senders of the reference that recover by proportional rate reduction (RFC 6937)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tests.oracles.packets.senders import SENDERS, Sack

if TYPE_CHECKING:
    from tests.oracles.packets.protocols import EventSimulation
    from tests.oracles.packets.receivers import Packet

__all__ = ["ALL_SENDERS", "Proportional"]


class Proportional(Sack):
    """SACK recovery in which each ACK says how much may be sent: PRR with the slow-start reduction bound."""

    def __init__(self, simulation: EventSimulation, f: int) -> None:
        super().__init__(simulation, f)
        self.prr_delivered = self.prr_out = self.prr_limit = self.recover_fs = 0

    def output(self, number: int) -> None:
        """Send a packet."""
        super().output(number)
        self.prr_out += 1

    def resend_first(self) -> None:
        """Send the first unacknowledged packet again; of what was sent, all up to the highest SACK left."""
        self.pipe = self.prr_limit = self.highest - max(self.held) + 1
        self.prr_delivered, self.prr_out = 1, 0
        self.recover_fs = self.highest - self.acked
        super().resend_first()

    def recover_on(self, ack: Packet) -> None:
        """Process an ACK during recovery."""
        pipe, before = self.pipe, self.acked + len(self.held)
        top = max(self.held, default=-1)
        super().recover_on(ack)
        if not self.recovering:
            return
        delivered = self.acked + len(self.held) - before
        top = max(top, self.acked)
        new = [n for n in self.held if n > top]
        lost = max(new) - top - len(new) if new else 0
        self.pipe = pipe - delivered - lost
        self.prr_delivered += delivered
        cwnd = self.state.cwnd
        if self.pipe > cwnd:
            count = math.ceil(self.prr_delivered * cwnd / self.recover_fs) - self.prr_out
        else:
            most = max(self.prr_delivered - self.prr_out, delivered) + 1
            count = min(int(cwnd) - self.pipe, most)
        self.prr_limit = self.pipe + max(0, count)

    def has_room(self) -> bool:
        """Return whether the window, or in recovery the reduction, permits a packet."""
        return self.pipe < self.prr_limit if self.recovering else super().has_room()


ALL_SENDERS = {**SENDERS, "prr": Proportional}
