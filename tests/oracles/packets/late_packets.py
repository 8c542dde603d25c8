"""Senders of the reference whose recovery finds losses by time (RFC 8985, 6.2)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from dfcmodel.packets.kernel.tcp.late_packets import LATENESS_TOLERANCE
from tests.oracles.packets.deliveries import DeliverySender, Remembering, Sent
from tests.oracles.packets.recoveries import Programmed

if TYPE_CHECKING:
    from dfcmodel.recoveries import LossRecovery
    from tests.oracles.packets.protocols import EventSimulation
    from tests.oracles.packets.receivers import Packet

__all__ = ["ByTime", "DeliveriesByTime"]


class Transmission(NamedTuple):
    """A packet and when it was sent, s."""

    number: int
    time: float


class ByTime(Remembering, Programmed):
    """A sender that remembers when each packet was sent, and calls its recovery at every ACK."""

    def __init__(self, simulation: EventSimulation, f: int, recovery: LossRecovery) -> None:
        super().__init__(simulation, f, recovery)
        self.newest_sent, self.newest_rtt = -math.inf, 0.0
        flow: Any = simulation.plan.scenario.flows[f]
        rated = isinstance(self, DeliveriesByTime) and not simulation.plan.is_paced[f]
        self.segments = bool(flow.segments) and not rated

    def remember(self) -> None:
        """Note the packets that an event has sent."""
        self.sent += [Transmission(number, self.simulation.now) for number in self.fresh]
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
            one = self.sent[0]
            number, time = one.number, one.time
            if not self.is_covered(number):
                at_once = [each.number for each in self.sent if each.time == self.newest_sent]
                same = [n for n in at_once if n > number]
                passed = any(map(self.is_covered, same))
                if time > self.newest_sent or (time == self.newest_sent and not passed):
                    break
                due = time + self.newest_rtt + self.reorder_window
                if due > self.simulation.now + LATENESS_TOLERANCE:
                    self.measured["next_loss"] = due
                    break
                self.lose_one(one)
                lost += 1
            self.sent.popleft()
        return lost

    def gathers(self, room: int, most: int) -> bool:
        """Return whether it waits until there is room for a whole segment (Linux, tcp_tso_should_defer)."""
        now = self.simulation.now
        while self.buffered <= 0:
            self.buffered += 45
        if self.buffered <= min(room, most):
            return False
        if room >= most or 3 * room >= self.unused_window() or now - self.wrote_at > 1e-3:
            return False
        if not self.sent and not self.fresh:
            return False
        head = self.sent[0].time if self.sent else now
        return bool(head + self.smooth_rtt - now <= min(0.5 * self.smooth_rtt, 1e-3))

    def send_segments(self, most: int, forced: bool) -> None:
        """Send what the window permits in segments, whose last packets are pushed."""
        sent, whole, window = 0, self.segment(), self.window()
        while self.next <= self.acked + window and self.next < self.size:
            room = self.acked + 1 + window - self.next
            if self.gathers(room, whole):
                return
            if not forced and self.must_wait():
                self.hold()
                return
            packets = min(
                room,
                whole,
                max(window // 2, 1),
                int(self.size) - self.next if self.size < math.inf else room,
            )
            if most:
                packets = min(packets, most - sent)
            for k in range(packets):
                self.pushing = packets > 1 and k == packets - 1
                self.output(self.next)
                self.next += 1
            self.pushing = False
            sent += packets
            if sent == most:
                return

    def lose_one(self, one: Any) -> None:
        """List a transmission that is lost."""
        self.again.append(one.number)

    def measure_pipe(self, left: int) -> None:
        """Set the pipe to what was in flight before packets left; only of rules of deliveries."""

    def tell(self, marked: bool, newest: Any, delivered: int) -> None:
        """Tell a rule of deliveries what was delivered and lost; others see nothing."""

    def call_with_losses(self, event: str, acked: int, delivered: int) -> None:
        """Look for losses and call a function of the recovery with them."""
        lost = self.find_lost()
        self.measure_pipe(delivered + lost)
        self.call(event, acked, delivered, lost, any(n > self.acked for n in self.again))

    def process_alarm(self) -> None:
        """Let the recovery process its alarm."""
        self.call_with_losses("on_alarm", 0, 0)
        self.tell(False, None, 0)
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
            if self.sent and self.segments:
                rtt = self.simulation.now - self.sent[0].time
                known = self.smooth_rtt
                self.smooth_rtt = known + 0.125 * (rtt - known) if known else rtt
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


class DeliveriesByTime(DeliverySender, ByTime):
    """A sender whose rule sees deliveries, and whose recovery finds losses by time: packets may overtake each other."""

    def __init__(self, simulation: EventSimulation, f: int, recovery: LossRecovery) -> None:
        super().__init__(simulation, f, recovery)
        self.losses: list[tuple[Sent, int]] = []

    def unreported(self) -> int:
        """Return how many packets were sent and are neither acknowledged nor lost."""
        return sum(not self.is_covered(one.number) for one in self.sent)

    def lose_one(self, one: Sent) -> None:
        """List a transmission that is lost, with what the rule is told of it."""
        super().lose_one(one)
        self.lost_total += 1
        self.losses.append((one, self.lost_total - one.lost))

    def measure_pipe(self, left: int) -> None:
        """Set the pipe to what was in flight before packets left."""
        self.pipe = self.unreported() + left

    def see(self, ack: Packet) -> None:
        """Process a SYN-ACK as a rule of deliveries, and let the recovery schedule a probe."""
        DeliverySender.see(self, ack)
        ByTime.see(self, ack)

    def report(self, ack: Packet, acked: int, delivered: int) -> None:
        """Let the recovery process what an ACK reports, then the rule."""
        same = (one for one in self.sent if one.time == ack.sent)
        newest = next((one for one in same if self.is_covered(one.number)), None)
        super().report(ack, acked, delivered)
        self.tell(ack.marked, newest, delivered)

    def tell(self, marked: bool, newest: Sent | None, delivered: int) -> None:
        """Tell the rule what was delivered and lost."""
        losses, self.losses = self.losses, []
        restarted = newest is not None and newest.limited and newest.in_flight == 1
        self.sample(marked, newest, delivered, losses, restarted)

    def resend(self, number: int) -> None:
        """Leave it to the list of lost packets."""

    def skip_held(self) -> None:
        """Move what is sent next past what was selectively acknowledged, after a timeout."""
        while self.next in self.held:
            self.next += 1

    def send_one(self) -> None:
        """Send what the window permits: what left the network makes room."""
        self.burst = math.inf

    def permits(self) -> bool:
        """Return whether the window permits a packet besides what is in flight."""
        return self.acked + 1 < self.size and self.outstanding() < int(self.state.cwnd)

    def next_number(self) -> int:
        """Return the packet that was lost first, or else new data; -1: nothing."""
        number = self.next_hole()
        reach = self.acked + int(self.most)
        if number == -1:
            self.skip_held()
            return self.next if self.next <= reach and self.next < self.size else -1
        if self.recover <= 0 or number > reach:
            return -1
        self.hole = max(self.hole, number + 1)
        return number
