"""Senders of the reference that run a loss recovery of the public interface, function by function."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dfcmodel.packets.plan import ENDLESS
from dfcmodel.packets.recoveries.base import ACTIONS, RecoveryEvent, check_sender
from dfcmodel.recoveries import LossRecovery
from tests.oracles.packets.senders import Sack

if TYPE_CHECKING:
    from tests.oracles.packets.protocols import EventSimulation
    from tests.oracles.packets.receivers import Packet

__all__ = ["Programmed"]


class Programmed(Sack):
    """A sender whose recovery is a `LossRecovery`; the rest is what all senders share."""

    def __init__(self, simulation: EventSimulation, f: int, recovery: LossRecovery) -> None:
        super().__init__(simulation, f)
        self.recovery = recovery
        self.own: dict[str, float] = dict(zip(recovery.State._fields, recovery.own, strict=True))
        self.pipe_limit, self.prr_out = -1.0, 0.0
        self.grows, self.burst = False, math.inf
        self.reorder_window = 0.0
        self.measured = {"min_rtt": math.inf, "reordered": 0.0, "next_loss": math.inf}

    def window(self) -> int:
        """Return the window in whole packets, inflated by the recovery."""
        return min(int(min(self.state.cwnd, self.most)) + int(self.inflation), int(self.most))

    def highest_sacked(self) -> int:
        """Return the highest selectively acknowledged packet; -1: none."""
        return max(self.held, default=-1)

    def sender(self) -> Any:
        """Return the sender as its recovery sees it."""
        numbers = {
            "cwnd": self.state.cwnd, "ssthresh": self.state.ssthresh, "snd_una": self.acked + 1,
            "snd_nxt": self.next, "snd_max": self.highest + 1, "recover": self.recover,
            "dupacks": self.duplicates, "recovering": self.recovering, "inflation": self.inflation,
            "pipe": self.pipe, "pipe_limit": self.pipe_limit, "prr_out": self.prr_out,
            "timing": self.timing, "backoff": self.clock.backoff, "sacked": len(self.held),
            "highest_sacked": self.highest_sacked(), "size": min(self.size, ENDLESS),
            "reorder_window": self.reorder_window, **ACTIONS, **self.own,
        }  # fmt: skip
        return self.recovery.Sender(**{k: float(v) for k, v in numbers.items()})

    def call(self, event: str, acked: int, delivered: int, newly_lost: int, unrepaired: bool = False) -> None:
        """Call a function of the recovery, and do what it asks for."""
        timed = acked > 0 and self.timing and self.acked >= self.timed
        seen = RecoveryEvent(
            self.simulation.now, self.rtt, float(acked), float(delivered), float(newly_lost),
            float(timed), float(unrepaired), float(self.ns2),
            self.deadline - self.simulation.now, float(self.clock.srtt), **self.measured,
        )  # fmt: skip
        s = getattr(self.recovery, event)(self.sender(), seen)
        name = self.simulation.plan.scenario.flows[self.f].name
        place = f"{self.simulation.plan.scenario.name}, t = {self.simulation.now:g} s, flow {name!r}"
        check_sender(self.recovery, s, place)
        self.state = self.state._replace(cwnd=s.cwnd, ssthresh=s.ssthresh)
        self.next, self.recover, self.duplicates = int(s.snd_nxt), int(s.recover), int(s.dupacks)
        self.recovering, self.timing = int(s.recovering) == 1, int(s.timing) == 1
        self.inflation, self.pipe, self.pipe_limit = s.inflation, s.pipe, s.pipe_limit
        self.prr_out, self.clock.backoff = s.prr_out, s.backoff
        self.reorder_window = s.reorder_window
        self.own = {field: getattr(s, field) for field in self.own}
        self.grows, self.burst = s.grow != 0.0, s.burst
        if s.reduce:
            self.recover = self.highest
            self.cut_back(self.state.cwnd)
        if s.restart:
            self.set_timer()
        if s.resend >= 0.0:
            self.resend(int(s.resend))
            self.hole = max(self.hole, int(s.resend) + 1)
        if s.limited:
            self.send_one()
        if s.fresh:
            self.skip_held()
        if s.fresh and self.next < self.size:
            self.output(self.next)
            self.next += 1
        if s.alarm >= 0.0:
            self.alarm = self.simulation.now + s.alarm
            if self.alarm < math.inf:
                self.simulation.wake(self.f, self.alarm)

    def skip_held(self) -> None:
        """Move what is sent next past what was selectively acknowledged; only of rules of deliveries by time."""

    def resend(self, number: int) -> None:
        """Send a packet again for a recovery."""
        self.output(number)

    def process_alarm(self) -> None:
        """Let the recovery process its alarm."""
        if type(self.recovery).on_alarm is LossRecovery.on_alarm:
            return
        self.call("on_alarm", 0, 0, 0)
        if self.burst >= 1.0:
            self.send()

    def receive(self, ack: Packet) -> None:
        """Process an ACK."""
        self.rtt = self.simulation.now - ack.sent
        self.heed(ack)
        self.grows, self.burst = True, math.inf
        if self.recovering and (ack.number >= self.acked or self.recovery.selective):
            self.recover_on(ack)
        elif ack.number > self.acked:
            self.leave(ack)
        else:
            self.grows = False
            if not (ack.number == self.acked and self.count(ack)) and self.duplicates > 0:
                self.burst = 0.0
        if self.grows:
            self.grow(ack)
            if self.ns2 and self.acked == 0:
                self.state = self.state._replace(cwnd=self.first_window)
        self.answer_mark(ack)
        if self.burst >= 1.0:
            self.send(0 if self.burst == math.inf else int(self.burst))

    def leave(self, ack: Packet) -> None:
        """Process an ACK of new data outside recovery, or the one that ends recovery."""
        self.forget(ack)
        if self.recovery.selective:
            self.lost_all = False
            self.clear()

    def shown(self, ack: Packet, acked: int) -> tuple[bool, int, int]:
        """Update the scoreboard; return whether it changed, what was delivered and what is newly lost."""
        if not self.recovery.selective:
            return True, acked, 0
        before, top = self.acked - acked + len(self.held), self.highest_sacked()
        changed = self.note(ack)
        beyond = range(max(top, self.acked) + 1, self.highest_sacked())
        lost = sum(n not in self.held for n in beyond)
        return changed, self.acked + len(self.held) - before, lost

    def count(self, ack: Packet) -> bool:
        """Let the recovery count a duplicate ACK; False where it does not count."""
        if self.recovery.selective and self.lost_all:
            return False
        changed, delivered, lost = self.shown(ack, 0)
        if not changed:
            return False
        self.duplicates += 1
        self.call("on_duplicate_ack", 0, delivered if self.recovery.selective else 1, lost)
        return True

    def recover_on(self, ack: Packet) -> None:
        """Process an ACK during recovery."""
        acked = max(0, ack.number - self.acked)
        self.acked += acked
        self.last = self.acked
        self.next = max(self.next, self.acked + 1)
        _, delivered, lost = self.shown(ack, acked)
        if acked == 0 and not self.recovery.selective:
            self.duplicates += 1
        self.call("on_ack" if acked > 0 else "on_duplicate_ack", acked, delivered, lost)
        if not self.recovering:
            self.leave(ack)

    def timeout(self) -> None:
        """Handle a retransmission timeout."""
        self.call("on_timeout", 0, 0, 0)
        if self.recovery.selective:
            self.lost_all = True
            self.clear()
        self.after_timeout()

    def send(self, most: int = 0, forced: bool = False) -> None:
        """Send what the window permits, or with selective ACKs in recovery what the pipe does."""
        plain = not (self.recovering or self.held or self.simulation.plan.is_paced[self.f])
        by_pipe = self.recovery.selective and not (plain and self.next < self.size)
        if not forced and self.held_until < math.inf:
            return
        if self.segments and plain and self.next < self.size:
            self.send_segments(most, forced)
            return
        sent = left = 0
        whole = self.segment() if self.simulation.plan.is_paced[self.f] else 1
        while self.permits() if by_pipe else self.next <= self.acked + self.window():
            if not by_pipe and self.next >= self.size:
                break
            if left == 0 and not forced and self.must_wait():
                self.hold()
                return
            number = self.next_number() if by_pipe else self.next
            if number < 0:
                break
            self.pushing = left == 1
            self.output(number)
            self.pushing, left = False, (left or whole) - 1
            self.next = max(self.next, number + 1)
            if by_pipe:
                self.pipe += 1
                self.prr_out += 1
            forced = self.pace(forced)
            sent += 1
            if sent == most:
                break

    def send_segments(self, most: int, forced: bool) -> None:
        """Send what the window permits in segments."""
        raise NotImplementedError

    def permits(self) -> bool:
        """Return whether the window, or in recovery the pipe, permits a packet."""
        if self.acked + 1 >= self.size:
            return False
        if not self.recovering:
            return self.next <= self.acked + int(min(self.state.cwnd, self.most))
        limit = self.pipe_limit if self.pipe_limit >= 0.0 else int(self.state.cwnd)
        return self.pipe < limit

    def next_number(self) -> int:
        """Return the lowest hole that was not sent again, or else new data (RFC 6675, NextSeg); -1: nothing."""
        number = self.next_hole()
        if number == -1:
            reach = int(min(self.most, math.inf if self.recovering else self.state.cwnd))
            return self.next if self.next <= self.acked + reach and self.next < self.size else -1
        if self.recover <= 0 or number > self.acked + int(self.most):
            return -1
        self.hole = max(self.hole, number + 1)
        return number
