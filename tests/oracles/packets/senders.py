"""TCP senders of the reference engine: Tahoe, Reno, NewReno and SACK around any window rule.

They follow the source code of ns-2.35's agents (Agent/TCP, Reno, Newreno, Sack1). Behaviour
specific to ns-2 (clock ticks, first packet, whole thresholds) depends on the convention. Names in
docstrings are those of RFC 5681, 6298, 6582 and 6675.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dfcmodel.network.flows import first_state
from dfcmodel.packets.methods import recovery_named
from dfcmodel.packets.ns2_random import TICK
from dfcmodel.packets.recoveries.linux import LinuxRecovery
from dfcmodel.packets.refusals import check_rate, check_window
from responsefn import DeliveryRule, Feedback
from responsefn.rules.base import Event
from responsefn.rules.deliveries.delivery_rule import answers_marks
from tests.oracles.packets.receivers import Packet

if TYPE_CHECKING:
    from tests.oracles.packets.protocols import EventSimulation

__all__ = ["SENDERS", "Sender"]

DUPLICATES = 3
MOST_TIMER = 60.0
SYN_LOST_RTO = 3.0


class Clock:
    """Estimator of the retransmission timeout: RFC 6298, or in ns-2's clock ticks, or of Linux."""

    def __init__(self, ticks: bool, phase: float, least: float, linux: bool = False) -> None:
        self.ticks, self.phase, self.least, self.linux = ticks, phase, least, linux
        self.backoff = 1
        self.srtt = 0.0
        self.variance = 4800.0 if ticks else 0.0
        self.current = 3.0 if ticks else 1.0

    def measure(self, now: float, sent: float) -> None:
        """Update the estimate with a round-trip time sample."""
        if self.ticks:
            self._measure_ticks(now, now - sent)
            return
        rtt = now - sent
        if self.srtt == 0.0:
            self.srtt, self.variance = rtt, 0.5 * rtt
        else:
            self.variance += 0.25 * (abs(rtt - self.srtt) - self.variance)
            self.srtt += 0.125 * (rtt - self.srtt)
        bounded = 4.0 * self.variance
        if self.linux:
            bounded = max(bounded, self.least)
        self.current = self.srtt + bounded

    def _measure_ticks(self, now: float, took: float) -> None:
        """Update in whole ticks; srtt is in eighths of a tick, the variance in quarters."""
        off = math.fmod(now - took + self.phase, TICK)
        rtt = max(1, int((took + off) / TICK))
        if self.srtt != 0:
            delta = rtt - (int(self.srtt) >> 3)
            self.srtt = max(1, self.srtt + delta)
            self.variance = max(1, self.variance + abs(delta) - (int(self.variance) >> 2))
        else:
            self.srtt, self.variance = rtt << 3, rtt << 1
        self.current = ((int(self.variance) * 8 + int(self.srtt)) >> 3) * TICK

    def timeout(self) -> float:
        """Return the retransmission timeout, s."""
        span = max(self.current, self.least) * self.backoff
        return max(min(span, MOST_TIMER), 2.0 * TICK if self.ticks else 0.0)

    def back_off(self) -> None:
        """Double the timeout."""
        if self.backoff < 64 or self.timeout() < MOST_TIMER:
            self.backoff *= 2
        if self.ticks and self.backoff > 8:
            self.variance += int(self.srtt) >> 3
            self.srtt = 0


class Sender:
    """Sender with Tahoe's loss recovery; base class of the others."""

    def __init__(self, simulation: EventSimulation, f: int) -> None:
        plan = simulation.plan
        flow: Any = plan.scenario.flows[f]
        self.simulation, self.f = simulation, f
        self.ns2 = plan.method.is_ns2
        self.rule: Any = flow.source
        self.state: Any = first_state(flow, float(plan.base_rtts[f]))
        self.counted = flow.delayed_acks == "counted"
        self.twice = False
        self.quick = int(bool(flow.handshake)) + flow.quick_acks
        self.connecting = bool(flow.handshake)
        self.announced = flow.max_window
        self.most = 1.0 if self.connecting else self.announced
        if self.ns2:
            self.state = self.state._replace(cwnd=1.0, ssthresh=float(int(self.announced)))
        self.first_window = 2.0
        linux = flow.stack is not None or isinstance(recovery_named(plan.recoveries[f]), LinuxRecovery)
        self.clock = Clock(self.ns2, float(plan.phases[f]), plan.scenario.min_rto, linux)
        self.opening, self.syn = int(plan.opening[f]), int(self.connecting)
        self.size = flow.size + self.opening
        self.fin = self.size - 1 if self.connecting and flow.all_packets < math.inf else -1
        self.next = 0
        self.acked = -1
        self.last = -1
        self.highest = -1
        self.recover = 0 if self.ns2 else -2
        self.duplicates = 0
        self.inflation = 0
        self.action = ""
        self.timing, self.timed, self.timed_at = False, -1, 0.0
        self.deadline = math.inf
        self.held_until = self.alarm = math.inf
        self.rtt = 0.0
        self.timeouts = self.loss_events = 0
        self.timer_resent = -1
        self.accurate = answers_marks(type(self.rule))
        self.capable = self.accurate or not isinstance(self.rule, DeliveryRule)
        self.reduced = False
        self.pace_at = 0.0
        self.segments, self.pushing = False, False
        self.buffered = 0
        self.wrote_at, self.smooth_rtt = -math.inf, 0.0
        self.resting = False
        self.supply: Any = None  # where its data arrive: of `dfcmodel.packets.reference_arrivals`
        self.limited = False
        self.limited_time = self.counted_at = 0.0

    def count_limited(self) -> None:
        """Let the time since the last ACK not be time of the rule."""
        self.limited_time += self.simulation.now - self.counted_at

    def validate(self) -> None:
        """Find whether an ACK that comes may grow the window: data waited, or it was used up."""
        if self.supply is None:
            return
        in_flight = self.highest - self.acked
        self.limited = self.next >= self.size and in_flight < self.unused_window()
        if self.limited:
            self.count_limited()
        self.counted_at = self.simulation.now

    def unused_window(self) -> int:
        """Return the window in whole packets, without what duplicate ACKs add."""
        return int(min(self.state.cwnd, self.most))

    def window(self) -> int:
        """Return the window in whole packets."""
        return int(min(self.state.cwnd, self.most))

    def apply(self, event: str, marks: float = 0.0, **changed: float) -> None:
        """Apply an event to the window rule; ``marks`` is 1 where a mark calls for a reduction."""
        if event == "on_ack" and self.limited:
            return
        now = self.simulation.now - self.limited_time
        at: Any = Event(now, self.rtt, marks)
        if event == "on_drop":
            at = Feedback(now, self.rtt, 1.0, 0.0)
        self.state = getattr(self.rule, event)(self.state._replace(**changed), self.rule.params, at)
        check_window(self.simulation.plan.scenario, self.f, self.state.cwnd, self.simulation.now)
        if event != "on_ack":
            if self.ns2:
                self.state = self.state._replace(ssthresh=float(int(self.state.ssthresh)))
            self.loss_events += 1
            self.reduced = True

    def cut_back(self, window: float) -> None:
        """Apply a loss to the window rule."""
        event = "on_drop" if self.rule.signal == "mark" else "on_loss"
        self.apply(event, cwnd=min(window, self.most))

    def start(self) -> None:
        """Send the first packets."""
        if self.supply is not None:
            self.supply.start()
        self.send()

    def output(self, number: int) -> None:
        """Send a packet; start its RTT measurement and the retransmission timer if needed."""
        now = self.simulation.now
        idle = self.acked == self.highest
        size = 1 if number < self.opening else 0
        new = number > self.highest
        listens = self.capable and (new or self.accurate or self.ns2)
        self.simulation.emit(
            Packet(
                self.f, number, now, size,
                listens=listens and (self.accurate or not self.connecting),
                reduced=new and self.reduced, pushed=self.pushing,
            )
        )  # fmt: skip
        self.wrote_at = now
        self.reduced = self.reduced and not new
        if number > self.highest:
            self.highest = number
            self.buffered -= 1
            if not self.timing:
                self.timing = True
                if number > self.timed:
                    self.timed, self.timed_at = number, now
        if idle or self.deadline == math.inf:
            self.set_timer()

    def set_timer(self) -> None:
        """Restart the retransmission timer."""
        self.deadline = self.simulation.now + self.clock.timeout()
        self.simulation.wake(self.f, self.deadline)

    def send(self, most: int = 0, forced: bool = False) -> None:
        """Send new packets up to the window, each after a random delay if there is jitter."""
        if not forced and self.held_until < math.inf:
            return
        sent = 0
        while self.next <= self.acked + self.window() and self.next < self.size:
            if not forced and self.must_wait():
                self.hold()
                return
            self.output(self.next)
            self.next += 1
            forced = self.pace(forced)
            sent += 1
            if sent == most:
                break

    def segment(self) -> int:
        """Return the packets of a segment; 1 without segments."""
        if not self.segments:
            return 1
        rate = 0.0
        if self.simulation.plan.is_paced[self.f] and self.simulation.plan.pacing_rates(self.f)[0] == 0.0:
            rate = self.state.pacing_rate
        elif self.smooth_rtt > 0.0:
            ratio = 2.0 if int(self.state.cwnd) < 0.5 * self.state.ssthresh else 1.2
            rate = ratio * max(self.unused_window(), self.next - self.acked - 1) / self.smooth_rtt
        return max(2, int(rate / 1024.0))

    def must_wait(self) -> bool:
        """Return whether the next packet is delayed: by jitter, or by pacing."""
        return self.simulation.plan.jitter > 0.0 or self.pace_at > self.simulation.now

    def hold(self) -> None:
        """Delay the next packet up to when it is due, and by a random time."""
        wait = 0.0
        if self.simulation.plan.jitter > 0.0:
            wait = self.simulation.plan.jitter * self.simulation.random(self.f)
        self.held_until = max(self.simulation.now, self.pace_at) + wait
        self.simulation.wake(self.f, self.held_until)

    def pace(self, forced: bool) -> bool:
        """Set when the next packet of a paced sender is due; return whether it goes at once as well."""
        plan = self.simulation.plan
        if not plan.is_paced[self.f]:
            return forced
        start, after = plan.pacing_rates(self.f)
        if start == 0.0:
            check_rate(plan.scenario, self.f, self.state.pacing_rate, self.simulation.now)
            gap = 1.0 / max(self.state.pacing_rate, 1e-9)
        else:
            ratio = start if self.state.cwnd < 0.5 * self.state.ssthresh else after
            gap = self.clock.srtt / (ratio * max(self.state.cwnd, 1.0))
        self.pace_at = max(self.pace_at, self.simulation.now - plan.jitter) + gap
        return False

    def wake(self) -> None:
        """Send the delayed packets or handle the timeout that are due now."""
        now = self.simulation.now
        arrived = self.supply is not None and self.supply.take()
        if self.held_until == now:
            self.held_until = math.inf
            self.send(forced=True)
        elif arrived:
            self.send()
        if self.alarm == now:
            self.alarm = math.inf
            self.process_alarm()
        if self.deadline == now:
            self.deadline = math.inf
            if self.connecting:
                self.resend_syn()
            else:
                self.timeout()

    def open(self, ack: Packet) -> None:
        """Process the SYN-ACK: data may follow."""
        self.rtt = self.simulation.now - ack.sent
        self.connecting = False
        self.most = self.announced
        self.forget(ack)
        if self.timeouts > 0:  # RFC 5681, 3.1; RFC 6298, 5.7
            self.state = self.state._replace(cwnd=1.0)
            self.clock.current, self.clock.backoff = SYN_LOST_RTO, 1
            self.set_timer()
        self.see(ack)
        self.send()

    def see(self, ack: Packet) -> None:
        """Tell a rule of deliveries; others see none."""

    def process_alarm(self) -> None:
        """Let the recovery process its alarm; those that have none do nothing."""

    def resend_syn(self) -> None:
        """Send the SYN again after a timeout."""
        self.timeouts += 1
        self.clock.back_off()
        self.set_timer()
        self.next = 0
        self.timing = False
        self.send()

    def receive(self, ack: Packet) -> None:
        """Process an ACK."""
        self.rtt = self.simulation.now - ack.sent
        self.heed(ack)
        if ack.number > self.last:
            self.advance(ack)
        elif ack.number == self.last:
            self.duplicate()
        self.answer_mark(ack)
        self.after()

    def after(self) -> None:
        """Send packets permitted by an ACK."""
        self.send()

    def advance(self, ack: Packet) -> None:
        """Process an ACK of new data."""
        self.forget(ack)
        self.grow(ack)
        if self.ns2 and self.last == 0:
            self.state = self.state._replace(cwnd=self.first_window)

    def heed(self, ack: Packet) -> None:
        """Respond to a congestion mark, once per window (RFC 3168); find how many packets an ACK counts for."""
        outside = not self.in_recovery()
        slow = self.state.cwnd < self.state.ssthresh
        counts = self.rule.counts_packets or (slow and self.rule.counts_in_slow_start)
        self.twice = self.counted and counts and outside and ack.number - self.acked > 1
        if ack.marked and not self.accurate and ack.number > self.recover:
            self.recover = self.highest
            self.apply("on_loss", marks=1.0, cwnd=min(self.state.cwnd, self.most))

    def answer_mark(self, ack: Packet) -> None:
        """Apply a congestion mark to a rule that answers each of them (RFC 8257)."""
        if ack.marked and self.accurate:
            seen = Feedback(self.simulation.now - self.limited_time, self.rtt, 1.0, 1.0)
            before = self.state.cwnd
            self.state = self.rule.on_mark(self.state, self.rule.params, seen)
            if self.state.cwnd < before:
                self.loss_events += 1
                self.reduced = True

    def in_recovery(self) -> bool:
        """Return whether losses are being repaired."""
        return bool(getattr(self, "recovering", False))

    def grow(self, ack: Packet) -> None:
        """Apply an ACK of new data to the window rule, unless it is marked (RFC 3168, 6.1.2)."""
        if self.accurate or not ack.marked:
            self.apply("on_ack")
            if self.twice and not self.in_recovery():
                self.apply("on_ack")

    def forget(self, ack: Packet) -> None:
        """Release acknowledged data, and update the RTT estimate and the timer."""
        self.duplicates = 0
        self.last = self.acked = ack.number
        self.next = max(self.next, ack.number + 1)
        if self.timing and ack.number >= self.timed:
            self.clock.backoff = 1
            self.timing = False
            self.clock.measure(self.simulation.now, self.timed_at)
        self.restart_timer()

    def restart_timer(self) -> None:
        """Restart the timer if data are outstanding or left to send; otherwise stop it."""
        if self.acked < self.highest or self.next < self.size:
            self.set_timer()
        else:
            self.deadline = math.inf

    def duplicate(self) -> None:
        """Count a duplicate ACK; the third one indicates a loss."""
        self.duplicates += 1
        if self.duplicates == DUPLICATES:
            self.lose()
        elif self.duplicates < DUPLICATES:
            self.send_one()

    def send_one(self) -> None:
        """Send one packet beyond the window (limited transmit, RFC 3042)."""
        ahead = self.state.cwnd + self.duplicates
        if self.next <= self.acked + min(self.most, ahead) and self.next < self.size:
            self.output(self.next)
            self.next += 1

    def known(self) -> bool:
        """Return whether a loss belongs to a loss event that was already handled."""
        return self.acked <= self.recover and not (self.ns2 and self.acked == 0)

    def lose(self) -> None:
        """Respond to a loss: resend from the first unacknowledged packet."""
        if self.known():
            return
        self.recover = self.highest
        self.action = "loss"
        self.cut_back(self.state.cwnd)
        self.set_timer()
        self.next = self.acked + 1
        self.timing = False

    def timeout(self) -> None:
        """Handle a retransmission timeout."""
        self.after_timeout()

    def after_timeout(self) -> None:
        """Resend from the first unacknowledged packet."""
        if self.acked == self.highest:
            return
        self.state = self.state._replace(cwnd=max(1.0, self.state.cwnd))
        self.recover = self.highest
        if self.acked == -1:
            self.first_window = 1.0
        self.timeouts += 1
        held = getattr(self.state, "ssthresh", None)
        self.apply("on_timeout", cwnd=min(self.state.cwnd, self.most))
        if held is not None and self.timer_resent == self.acked + 1 and not self.ns2:
            self.state = self.state._replace(ssthresh=held)
        self.timer_resent = self.acked + 1
        self.clock.back_off()
        self.set_timer()
        self.next = self.acked + 1
        self.timing = False
        self.action = "timeout"
        self.send()


class Reno(Sender):
    """Fast recovery (RFC 5681) that ends with the first ACK of new data."""

    def in_recovery(self) -> bool:
        """Return whether losses are being repaired."""
        return self.action == "loss"

    def window(self) -> int:
        """Return the window in whole packets, inflated by duplicate ACKs."""
        return min(int(self.state.cwnd) + self.inflation, int(self.most))

    def advance(self, ack: Packet) -> None:
        """Process an ACK of new data; it ends fast recovery."""
        if self.action == "loss":
            self.action = "left"
        self.inflation = 0
        super().advance(ack)

    def duplicate(self) -> None:
        """Count a duplicate ACK; each one beyond the third inflates the window."""
        self.duplicates += 1
        if self.duplicates == DUPLICATES:
            self.lose()
        elif self.duplicates > DUPLICATES and self.action == "loss":
            self.inflation += 1
        elif self.duplicates < DUPLICATES:
            self.send_one()

    def known(self) -> bool:
        """Return whether a loss belongs to a loss event that was already handled."""
        return self.action != "loss" and super().known()

    def lose(self) -> None:
        """Respond to a loss: fast retransmit, and inflate the window by three packets."""
        if self.known():
            return
        self.recover = self.highest
        self.action = "loss"
        self.cut_back(self.state.cwnd + self.inflation)
        self.set_timer()
        self.timing = False
        self.output(self.last + 1)
        self.inflation = DUPLICATES

    def after(self) -> None:
        """Send packets permitted by an ACK, except after the first two duplicates."""
        if self.duplicates == 0 or self.duplicates >= DUPLICATES:
            self.send()

    def timeout(self) -> None:
        """Handle a retransmission timeout."""
        self.inflation = 0
        self.duplicates = 0
        super().timeout()


class NewReno(Reno):
    """Fast recovery that ends with the ACK of all data sent before the loss (RFC 6582)."""

    def __init__(self, simulation: EventSimulation, f: int) -> None:
        super().__init__(simulation, f)
        self.partial = False

    def known(self) -> bool:
        """Return whether a loss belongs to a loss event that was already handled."""
        return Sender.known(self)

    def advance(self, ack: Packet) -> None:
        """Process an ACK of new data; a partial ACK triggers resending of the next hole."""
        if ack.number >= self.recover or self.action != "loss":
            if self.inflation > 0:
                self.inflation = 0
                if self.action == "loss":
                    self.action = "left"
            self.partial = False
            Sender.advance(self, ack)
            return
        if not self.partial:
            self.partial = True
            self.set_timer()
        deflate = ack.number - self.last
        cwnd = self.state.cwnd
        if self.inflation > deflate:
            self.inflation -= deflate - 1
        else:
            cwnd -= deflate - self.inflation
            self.inflation = 1
        self.state = self.state._replace(cwnd=max(1.0, cwnd))
        self.last = self.acked = ack.number
        self.next = max(self.next, ack.number + 1)
        if self.timing and ack.number >= self.timed:
            self.timing = False
            self.clock.backoff = 1
        self.output(self.last + 1)

    def after(self) -> None:
        """Send packets permitted by an ACK; in recovery at most two."""
        if self.duplicates == 0:
            self.send()
        elif self.duplicates >= DUPLICATES:
            self.send(most=2)


class Sack(Sender):
    """Loss recovery based on selective ACKs (ns-2's Sack1; cf. RFC 6675)."""

    def __init__(self, simulation: EventSimulation, f: int) -> None:
        super().__init__(simulation, f)
        self.recovering = False
        self.lost_all = False
        self.partial = False
        self.pipe = -1
        self.held: set[int] = set()
        self.hole = -1
        self.least = -1

    def receive(self, ack: Packet) -> None:
        """Process an ACK."""
        self.rtt = self.simulation.now - ack.sent
        self.heed(ack)
        if self.recovering:
            self.recover_on(ack)
            self.answer_mark(ack)
            self.see(ack)
            self.send()
            return
        if ack.number > self.last:
            self.partial = False
            self.forget(ack)
            self.grow(ack)
            self.lost_all = False
            self.clear()
            if self.ns2 and self.last == 0:
                self.state = self.state._replace(cwnd=self.first_window)
        elif ack.number == self.last and not self.lost_all and self.note(ack):
            self.duplicates += 1
            if self.duplicates == DUPLICATES:
                self.lose()
            elif self.duplicates < DUPLICATES:
                self.send_one()
        self.answer_mark(ack)
        self.see(ack)
        if self.duplicates == 0:
            self.send()

    def is_repaired(self, number: int) -> bool:
        """Return whether an ACK ends recovery."""
        return number >= self.recover

    def recover_on(self, ack: Packet) -> None:
        """Process an ACK during recovery."""
        self.pipe -= 1
        if self.is_repaired(ack.number):
            self.recover = 0 if self.ns2 else -2
            self.recovering = False
            self.forget(ack)
            self.lost_all = False
            self.clear()
        elif ack.number > self.acked:
            self.acked = ack.number
            self.note(ack)
            self.pipe -= 1
            self.set_timer()
            self.clock.backoff = 1
        elif not self.lost_all and self.note(ack) and self.duplicates > 0:
            self.duplicates += 1

    def clear(self) -> None:
        """Clear the scoreboard of selective acknowledgements."""
        self.held.clear()
        self.hole = -1

    def note(self, ack: Packet) -> bool:
        """Add an ACK's blocks to the scoreboard; return whether the scoreboard changed."""
        before = len(self.held)
        new = False
        if self.least <= self.acked:
            self.least = self.acked + 1
            new = bool(self.held)
            self.held = {n for n in self.held if n >= self.least}
        for left, right in ack.blocks:
            self.held.update(range(max(left, self.least), right))
        return new or len(self.held) != before

    def next_hole(self) -> int:
        """Return the first packet to resend below a selectively acknowledged one; -1: none."""
        self.hole = max(self.hole, self.least)
        n = self.hole
        while n in self.held:
            n += 1
        if not self.held or max(self.held) < n or n <= 0:
            return -1
        self.hole = n
        return n

    def lose(self) -> None:
        """Respond to a loss: start recovery, which resends holes while the pipe has room."""
        if self.known():
            return
        self.recover = self.highest
        self.pipe = self.highest - self.acked - DUPLICATES
        self.set_timer()
        self.timing = False
        self.recovering = True
        self.hole = max(self.hole, self.acked + 2)
        self.action = "loss"
        self.cut_back(self.state.cwnd)
        self.resend_first()

    def resend_first(self) -> None:
        """Send the first unacknowledged packet again."""
        self.output(self.last + 1)

    def timeout(self) -> None:
        """Handle a retransmission timeout."""
        self.duplicates = 0
        self.recovering = False
        self.lost_all = True
        self.last = max(self.last, self.acked)
        self.recover = self.highest
        self.clear()
        super().timeout()

    def send(self, most: int = 0, forced: bool = False) -> None:
        """Send packets permitted by the window, or in recovery by the pipe: holes first."""
        if not forced and self.held_until < math.inf:
            return
        most, left = (self.segment() if self.simulation.plan.is_paced[self.f] else 1), 0
        while self.has_room() and self.last + 1 < self.size:
            if left == 0 and not forced and self.must_wait():
                self.hold()
                return
            number = self.next_hole()
            if number == -1:
                reach = int(self.most) if self.recovering else self.window()
                if self.next > self.acked + reach or self.next >= self.size:
                    break
                number = self.next
                self.next += 1
            elif self.recover > 0 and number <= self.acked + int(self.most):
                self.hole = max(self.hole, number + 1)
            else:
                break
            self.pushing = left == 1
            self.output(number)
            self.pushing, left = False, (left or most) - 1
            self.next = max(self.next, number + 1)
            self.pipe += 1
            forced = self.pace(forced)

    def outstanding(self) -> int:
        """Return how many packets are taken to be in flight during recovery."""
        return self.pipe

    def has_room(self) -> bool:
        """Return whether the window, or in recovery the pipe, permits a packet."""
        if self.recovering:
            return self.outstanding() < int(self.state.cwnd)
        return self.next <= self.last + self.window()


SENDERS = {"tahoe": Sender, "reno": Reno, "newreno": NewReno, "sack": Sack}
