"""Sources of the reference engine: constant rate, on-off, rate rules, and transfers of windows after idle times."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dfcmodel import OnOff
from dfcmodel.packets.kernel.layout import CLASSES, OF_RATE
from dfcmodel.packets.refusals import check_rate
from responsefn import Elapsed, Feedback
from responsefn.rules.rates.rate_rule import sees_telemetry, window_place
from tests.oracles.packets.receivers import Packet

if TYPE_CHECKING:
    from tests.oracles.packets.protocols import EventSimulation

__all__ = ["Blind", "Rated", "rest"]


STEPS = 16.0
"""Packet times of its first link after which the clocks of a rate rule are moved on at the latest."""


def rest(simulation: EventSimulation, f: int) -> None:
    """Schedule the next transfer of a window sender once the last one is acknowledged."""
    flow, sender = simulation.plan.scenario.flows[f], simulation.senders[f]
    stop = simulation.plan.stops[f]
    if flow.idle == math.inf or sender.acked + 1 != sender.size or sender.resting:
        return
    if simulation.now >= stop:
        return
    wait = -flow.idle * math.log(1.0 - simulation.random(f)) if flow.random_idle else flow.idle

    def begin() -> None:
        sender.resting = False
        if simulation.now >= stop:
            return
        sender.size += flow.size
        sender.start()

    sender.resting = True
    simulation.at(simulation.now + wait, CLASSES * len(simulation.queues) + f, begin)


class Blind:
    """Source that sends packets at equal intervals while it is on, without acknowledgements."""

    def __init__(self, simulation: EventSimulation, f: int) -> None:
        self.simulation, self.f = simulation, f
        flow: Any = simulation.plan.scenario.flows[f]
        self.source = flow.source
        self.size = flow.size
        self.gap = 1.0 / self.source.rate
        self.sent = 0
        self.off_at = math.inf
        self.due = math.inf

    def span(self, mean: float) -> float:
        """Return the duration of an on or off period, s."""
        if not self.source.random:
            return mean
        return -mean * math.log(1.0 - self.simulation.random(self.f))

    def start(self) -> None:
        """Start the source."""
        self.due = self.simulation.now
        if isinstance(self.source, OnOff):
            self.off_at = self.due + self.span(self.source.on)
        self.wake()

    def wake(self) -> None:
        """Send the packet that is due and schedule the next one."""
        if self.simulation.now != self.due or self.sent >= self.size:
            return
        self.simulation.emit(Packet(self.f, self.sent, self.due))
        self.sent += 1
        if self.sent >= self.size:
            return
        self.due += self.gap
        while self.due >= self.off_at - 1e-6 * self.gap:
            self.due = max(self.due, self.off_at + self.span(self.source.off))
            self.off_at = self.due + self.span(self.source.on)
        self.simulation.wake(self.f, self.due)


class Rated:
    """Sender at the rate of a rule, which sees every acknowledgement; losses are repaired by go-back-N, or not."""

    def __init__(self, simulation: EventSimulation, f: int) -> None:
        self.simulation, self.f = simulation, f
        flow: Any = simulation.plan.scenario.flows[f]
        self.rule: Any = flow.source
        line_rate = simulation.plan.scenario.path(flow)[0].rate
        self.state: Any = self.rule.start(line_rate)
        self.least_gap = 1.0 / line_rate
        self.size = flow.size
        self.rtt = 0.0
        self.sent = self.since = 0
        self.due = self.clocked = 0.0
        self.last = -math.inf
        self.blocked = False
        self.bounded = window_place(type(self.rule)) > 0
        self.repairs = simulation.plan.repairs[f] != "none"
        self.came, self.missing = (
            0,
            False,
        )  # at the receiver: next packet, whether it has told of a gap
        self.hole = -1  # the first packet beyond the next one of which the header alone has come
        self.acked = self.most = 0  # one past the last packet acknowledged, and sent
        self.deadline = math.inf
        self.timeouts = self.loss_events = 0
        self.reported: dict[int, tuple[float, ...]] = {}
        self.credits = math.inf if flow.receiver is None else flow.receiver.unsolicited

    def take(self, packet: Packet) -> tuple[int, dict[str, Any]]:
        """Let a packet come to the receiver; return how many it delivers, and what its ACK says.

        With go-back-N the ACK of the first one beyond a gap tells of it.
        """
        if not self.repairs:
            return 1, {"number": packet.number}
        if packet.number == self.came:
            self.came += 1
            self.missing = False
            return 1, {"number": self.came - 1, "gap": self.hole == self.came}
        gap = packet.number > self.came and not self.missing
        self.missing = self.missing or gap
        return 0, {"number": self.came - 1, "gap": gap}

    def has_next(self) -> bool:
        """Return whether there is a packet that may be sent."""
        return self.credits >= 1.0 and self.has_new()

    def has_new(self) -> bool:
        """Return whether a packet may be sent for the first time, or again after going back: the window of the rule is open."""
        is_open = not self.bounded or self.sent - self.acked < self.state.window
        return bool(self.sent < self.size and is_open)

    def take_next(self) -> int:
        """Return the packet that is sent now."""
        self.sent += 1
        return self.sent - 1

    def timeout(self) -> float:
        """Return the timeout of a timer that is started now."""
        return self.simulation.plan.scenario.min_rto

    def resume(self) -> None:
        """Schedule the next packet where there was none to send."""
        gap = max(self.least_gap, 1.0 / max(self.state.rate, 1e-9))
        self.due = max(self.simulation.now, self.last + gap)
        self.simulation.wake(self.f, self.due)

    def answer_header(self, packet: Packet) -> Packet | None:
        """Return the answer to a packet of which the header alone has come: with go-back-N the receiver asks for it."""
        if not self.repairs:
            return None
        expected = packet.number == self.came
        gap = expected or (packet.number > self.came and not self.missing)
        self.missing = self.missing or gap
        if packet.number > self.came and (self.hole <= self.came or packet.number < self.hole):
            self.hole = packet.number
        number, marked = self.came - 1, packet.marked
        return Packet(
            self.f, number, packet.sent, OF_RATE, is_ack=True, marked=marked, gap=gap,
            telemetry=packet.telemetry,
        )  # fmt: skip

    def watch_progress(self) -> None:
        """Start the timer if something is not acknowledged, or the sender waits for credits."""
        self.deadline = math.inf
        if self.acked < self.most or (self.credits < 1.0 and self.sent < self.size):
            self.deadline = self.simulation.now + self.timeout()
            self.simulation.wake(self.f, self.deadline)

    def send_again(self, number: int) -> None:
        """Send again from a packet on, but not what is acknowledged."""
        self.sent = max(self.acked, min(number, self.sent))
        self.loss_events += 1

    def time_out(self) -> None:
        """Send again from the first packet that is not acknowledged on; without repair nothing is in flight any more."""
        if self.repairs:
            self.send_again(self.acked)
        else:
            self.acked = self.most

    def is_extended(self) -> bool:
        """Return whether the timer goes on instead of expiring."""
        return False

    def expire(self) -> None:
        """Repair losses where nothing was acknowledged for the timeout; one packet needs no credit."""
        if self.is_extended():
            return
        if self.acked == self.most and self.sent >= self.size:
            self.deadline = math.inf
            return
        rests = not self.has_next()
        self.timeouts += 1
        self.credits = max(self.credits, 1.0)
        if self.acked < self.most:
            self.time_out()
        if rests and self.has_next():
            self.resume()
        self.watch_progress()

    def advance(self, past: int) -> None:
        """Note that all packets before ``past`` are acknowledged."""
        self.acked = past
        self.sent = max(self.sent, past)

    def receive_sack(self, number: int) -> None:
        """Note that a packet came out of order, which go-back-N does not keep."""

    def acknowledge(self, ack: Packet) -> None:
        """Note what an ACK acknowledges, and repair what it tells of."""
        if ack.number >= self.acked:
            self.advance(ack.number + 1)
            self.watch_progress()
        if ack.sack >= 0:
            self.receive_sack(ack.sack)
        nack = ack.number + 1 if ack.gap else ack.nack
        if nack >= 0:
            self.send_again(nack)

    def is_waiting(self) -> bool:
        """Return whether its last packet waits at the interface of its host."""
        plan = self.simulation.plan
        first = plan.forward[self.f][0]
        return bool(plan.at_senders[first] and self.simulation.queues[first].lines[self.f, False])

    def go_on(self) -> None:
        """Go on to send if it has waited for its packet to leave the interface of its host."""
        if self.blocked:
            self.blocked = False
            self.due = self.simulation.now
            self.simulation.wake(self.f, self.due)

    def start(self) -> None:
        """Start to send."""
        self.due = self.clocked = self.simulation.now
        self.wake()

    def move_clocks(self) -> None:
        """Let the rule see the time that has passed, and what was sent in it."""
        now = self.simulation.now
        seen = Elapsed(now, now - self.clocked, float(self.since))
        self.state = self.rule.on_time(self.state, self.rule.params, seen)
        window = self.state.window if self.bounded else math.inf
        check_rate(self.simulation.plan.scenario, self.f, self.state.rate, now, window)
        self.clocked, self.since = now, 0

    def wake(self) -> None:
        """Move the clocks on, send a packet if it is due, and schedule the next time."""
        now = self.simulation.now
        if self.deadline == now:
            self.expire()
        if now != self.due or not self.has_next():
            return
        self.move_clocks()
        gap = max(self.least_gap, 1.0 / max(self.state.rate, 1e-9))
        if now >= self.last + gap and self.is_waiting():
            self.blocked = True
            self.due = now + STEPS * self.least_gap
            self.simulation.wake(self.f, self.due)
            return
        if now >= self.last + gap:
            self.simulation.emit(Packet(self.f, self.take_next(), now, listens=True))
            self.credits -= 1.0
            self.since += 1
            self.last = now
            idle = self.acked == self.most
            self.most = max(self.most, self.sent)
            if (self.repairs or self.bounded) and (idle or self.deadline == math.inf):
                self.watch_progress()
        self.due = min(self.last + gap, now + STEPS * self.least_gap)
        if self.has_next():
            self.simulation.wake(self.f, self.due)

    def report_telemetry(self, ack: Packet) -> None:
        """Let the rule see what an ACK brings of each port since the last one."""
        count = len(self.rule.telemetry)
        for k, (left, *record) in enumerate(ack.telemetry):
            if k in self.reported:
                left_before, *last = self.reported[k]
                if left <= left_before:
                    continue
                seen = self.rule.telemetry_event()(
                    self.simulation.now, float(k), left - left_before,
                    *record[:count], *last[:count],
                )  # fmt: skip
                self.state = self.rule.on_telemetry(self.state, self.rule.params, seen)
            self.reported[k] = left, *record

    def receive(self, ack: Packet) -> None:
        """Tell the rule of acknowledged packets and marks, and take credits."""
        now = self.simulation.now
        rests = not self.has_next()
        if ack.acks > 0.0 or ack.marked:
            self.rtt = now - ack.sent
            if sees_telemetry(type(self.rule)):
                self.report_telemetry(ack)
            seen = Feedback(now, self.rtt, ack.acks, float(ack.marked))
            self.state = self.rule.on_feedback(self.state, self.rule.params, seen)
            self.move_clocks()
        self.credits += ack.credits
        if self.repairs or self.bounded:
            self.acknowledge(ack)
        if rests and self.has_next():
            self.resume()
