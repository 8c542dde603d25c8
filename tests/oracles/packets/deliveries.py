"""Senders of the reference whose rules see deliveries: samples of the delivery rate, and what was lost.

Delivery rates are those of draft-ietf-ccwg-bbr, Sect. 4.5; losses those of RFC 8985 on paths that do not reorder.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from responsefn import Delivery
from tests.oracles.packets.senders import Sack

if TYPE_CHECKING:
    from tests.oracles.packets.protocols import EventSimulation
    from tests.oracles.packets.receivers import Packet

__all__ = ["DeliverySender", "Remembering", "Sent"]


@dataclass
class Sent:
    """A transmission: when, and what was delivered, lost and in flight then (OnPacketSent)."""

    number: int
    time: float
    first_sent: float
    delivered_at: float
    delivered: int
    lost: int
    in_flight: int
    limited: bool


class Remembering(Sack):
    """A sender that remembers what it has sent, and sends again from a list of lost packets.

    Subclasses note in `remember` what an event has sent: the numbers in ``fresh``.
    """

    def __init__(self, simulation: EventSimulation, f: int, *given: Any) -> None:
        super().__init__(simulation, f, *given)
        self.sent: deque[Any] = deque()
        self.again: deque[int] = deque()
        self.fresh: list[int] = []

    def output(self, number: int) -> None:
        """Send a packet; it is remembered at the end of the event."""
        if number >= self.opening:
            self.fresh.append(number)
        super().output(number)

    def start(self) -> None:
        """Send the first packets."""
        super().start()
        self.remember()

    def wake(self) -> None:
        """Send what is due now, or handle an alarm or a timeout."""
        super().wake()
        self.remember()

    def open(self, ack: Packet) -> None:
        """Process the SYN-ACK."""
        super().open(ack)
        self.remember()

    def remember(self) -> None:
        """Note the packets that an event has sent."""
        raise NotImplementedError

    def is_covered(self, number: int) -> bool:
        """Return whether a packet was acknowledged."""
        return number <= self.acked or number in self.held

    def next_hole(self) -> int:
        """Return the packet that was lost first, and take it from the list; -1: none, or not recovering."""
        while self.recovering and self.again:
            number = self.again.popleft()
            if not self.is_covered(number):
                return number
        return -1


class DeliverySender(Remembering):
    """A sender that knows of each transmission whether it was delivered, and sends again what was lost."""

    def __init__(self, simulation: EventSimulation, f: int, *given: Any) -> None:
        super().__init__(simulation, f, *given)
        self.delivered = self.lost_total = 0
        self.delivered_at = self.first_sent = 0.0
        self.limited_until = 0
        flow: Any = self.simulation.plan.scenario.flows[self.f]
        self.segments = bool(flow.segments and self.simulation.plan.is_paced[self.f])

    def validate(self) -> None:
        """Find whether the application limits what is in flight, before an ACK is processed."""
        if self.supply is not None:
            self.check_limited()

    def check_limited(self) -> None:
        """Mark what is in flight where no data wait, and the window is not used up (CheckIfApplicationLimited)."""
        waits = any(not self.is_covered(number) for number in self.again)
        if self.next >= self.size and self.unreported() < self.unused_window() and not waits:
            self.limited_until = max(self.delivered + self.unreported(), 1)

    def unreported(self) -> int:
        """Return how many packets were sent and are neither acknowledged nor lost."""
        return len(self.sent)

    def receive(self, ack: Packet) -> None:
        """Process an ACK."""
        super().receive(ack)
        self.remember()

    def resend_syn(self) -> None:
        """Send the SYN again after a timeout: what it carried is lost."""
        self.lost_total += self.unreported()
        self.sent.clear()
        super().resend_syn()

    def remember(self) -> None:
        """Note the packets that an event has sent (OnPacketSent)."""
        now = self.simulation.now
        for number in self.fresh:
            if not self.unreported():
                self.first_sent = self.delivered_at = now
            one = Sent(
                number, now, self.first_sent, self.delivered_at, self.delivered, self.lost_total,
                self.unreported() + 1, self.limited_until > 0,
            )  # fmt: skip
            self.sent.append(one)
        self.fresh.clear()

    def resend_first(self) -> None:
        """Leave it to the list of lost packets."""

    def is_repaired(self, number: int) -> bool:
        """Return whether an ACK ends recovery: nothing beyond it waits to be sent again."""
        return super().is_repaired(number) and all(lost <= number for lost in self.again)

    def outstanding(self) -> int:
        """Return how many packets are in flight."""
        return self.unreported() + len(self.fresh)

    def timeout(self) -> None:
        """Handle a retransmission timeout: all that is in flight is lost."""
        if self.supply is not None:
            self.check_limited()
        self.lost_total += self.unreported()
        self.sent.clear()
        self.again.clear()
        super().timeout()

    def see(self, ack: Packet) -> None:
        """Find what an ACK reports delivered and lost, and tell the rule."""
        acked = 0
        losses: list[tuple[Sent, int]] = []
        newest: Sent | None = None
        restarted = False
        while newest is None and self.sent and self.sent[0].time <= ack.sent:
            one = self.sent.popleft()
            if self.is_covered(one.number):
                acked += 1
                restarted = restarted or (one.limited and one.in_flight == 1)
                newest = one if one.time == ack.sent else None
                continue
            self.lost_total += 1
            losses.append((one, self.lost_total - one.lost))
            self.again.append(one.number)
        self.sample(ack.marked, newest, acked, losses, restarted)

    def sample(
        self,
        marked: bool,
        newest: Sent | None,
        acked: int,
        losses: list[tuple[Sent, int]],
        restarted: bool,
    ) -> None:
        """Tell the rule how many packets are acknowledged, which are lost, and what the newest one samples."""
        now, lost = self.simulation.now, len(losses)
        if acked == lost == 0:
            return
        last, with_it = losses[-1] if losses else (None, 0)
        self.delivered += acked
        if self.delivered > self.limited_until:
            self.limited_until = 0
        prior, interval, flight, since = self.delivered, 0.0, 0, 0
        if newest is not None:
            prior, flight, since = newest.delivered, newest.in_flight, self.lost_total - newest.lost
            interval = max(newest.time - newest.first_sent, now - newest.delivered_at)
            self.first_sent = newest.time
        if acked > 0:
            self.delivered_at = now
        seen = Delivery(
            now, self.rtt, float(acked), float(lost), float(marked), float(self.delivered),
            float(prior), interval, float(self.outstanding()), float(flight), float(since),
            float(last.in_flight if last else 0), float(with_it), float(self.acked < self.recover),
            self.simulation.random(self.f), float(newest is not None and newest.limited),
            float(restarted), float(last is not None and last.limited),
        )  # fmt: skip
        self.state = self.rule.on_delivery(self.state, self.rule.params, seen)
