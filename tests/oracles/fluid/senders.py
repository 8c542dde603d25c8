"""The sender of a TCP flow in the reference: RFC 5681, 6582, 6675 and 6298 for amounts of packets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tests.oracles.fluid.lines import floor
from tests.oracles.fluid.timers import Timer

if TYPE_CHECKING:
    from tests.oracles.fluid.receivers import Ack, Receiver
    from tests.oracles.fluid.windows import Window

__all__ = ["Sender"]

TINY = 1e-9
THRESHOLD = 3.0
"""Duplicate ACKs that tell of a loss (RFC 5681, 3.2)."""


class Sender:
    """A TCP sender with NewReno's recovery; names are those of the RFCs, sequence numbers and amounts in packets.

    Parameters
    ----------
    window, timer
        Its window rule and retransmission timer.
    size
        Packets to send.
    step, quantum
        s, and packets of which amounts are multiples.
    acks_each
        ACKs per packet: 1/2 where they are delayed.
    """

    def __init__(
        self,
        window: Window,
        timer: Timer,
        size: float,
        step: float,
        quantum: float,
        *,
        acks_each: float = 1.0,
    ) -> None:
        self.window, self.timer, self.size = window, timer, size
        self.step, self.quantum, self.acks_each = step, quantum, acks_each
        self.una = self.nxt = self.max = self.emitted = self.rtt = self.rtt_before = 0.0
        self.recover = -1.0
        self.duplicates = self.inflation = 0.0
        self.recovering = self.partial_seen = False
        self.log: list[tuple[float, float]] = []  # positions in emission order, sequence numbers
        self.loss_events = self.timeouts = 0

    def send(self, now: float, ack: Ack, receiver: Receiver) -> None:
        """Answer the ACKs of a step, then send what may be sent."""
        new = min(ack.advancing, ack.acks)
        few = self.duplicates < THRESHOLD
        advances = ack.acks > 0.0 and ack.rcv_nxt - self.una > TINY
        resend = advances and self.acknowledge(now, ack.rcv_nxt, new)
        more, limited = ack.acks - new, 0.0
        if more > TINY and self.max > self.una + TINY:
            if self.recovering:
                self.count_in_recovery(more)
            elif advances:  # duplicates and ACKs of new data take turns in the step
                limited = min(1.0, math.floor(more + TINY)) if few else 0.0
            else:
                self.duplicates += more
                if self.duplicates < THRESHOLD:  # RFC 3042: a packet for each of the first two
                    limited = math.floor(self.duplicates + TINY)
                elif self.una > self.recover + TINY:
                    resend = self.begin_recovery(now, ack, receiver)
            if not self.recovering and self.tells_of_loss(ack, receiver):
                resend = self.begin_recovery(now, ack, receiver)
        if ack.marked > 0.0:
            self.hear_marks(now, ack)
        if now >= self.timer.deadline and self.max > self.una + TINY:
            self.time_out(now)
        if resend:
            self.emit(self.una, self.grid(min(1.0, self.max - self.una)))
        if self.recovering:
            self.send_in_recovery(now, ack, receiver)
        else:
            self.transmit(now, limited)

    def acknowledge(self, now: float, acked: float, new: float) -> bool:
        """Take in that packets below ``acked`` came; return whether a partial ACK asks for a retransmission."""
        self.timer.hear(self.una, acked, now, self.step)
        advance, self.una = acked - self.una, acked
        self.duplicates = 0.0
        self.nxt = max(self.nxt, acked)
        resend = False
        if not self.recovering:
            self.window.grow(now, self.step, (self.rtt_before, self.rtt), new * self.acks_each)
        elif self.ends_recovery(acked):
            self.recovering = self.partial_seen = False
            self.inflation = 0.0
        else:
            return self.hear_partial(now, advance, new)
        self.timer.restart(now)
        return resend

    def ends_recovery(self, acked: float) -> bool:
        """Return whether an ACK of new data ends a recovery: a full one (RFC 6582, 3.2, step 3)."""
        return acked >= self.recover - TINY

    def hear_partial(self, now: float, advance: float, new: float) -> bool:
        """Deflate by what a partial ACK acknowledges, add one segment, resend (RFC 6582, 3.2, step 3)."""
        self.inflation = max(0.0, self.inflation - advance + new)
        if not self.partial_seen:
            self.timer.restart(now)
        self.partial_seen = True
        return True

    def count_in_recovery(self, duplicates: float) -> None:
        """Inflate the window by duplicate ACKs (RFC 5681, 3.2, step 4)."""
        self.inflation += duplicates

    def tells_of_loss(self, ack: Ack, receiver: Receiver) -> bool:
        """Return whether the ACKs tell of a loss without three duplicates: only selective ones do."""
        return False

    def begin_recovery(self, now: float, ack: Ack, receiver: Receiver) -> bool:
        """Begin fast retransmit; return whether the first packet is sent again (RFC 5681, 3.2, steps 2 and 3)."""
        self.reduce(now)
        self.timer.timed = None
        self.timer.restart(now)
        self.recovering = True
        self.partial_seen = False
        self.inflation = self.duplicates
        return True

    def reduce(self, now: float, *, marked: bool = False) -> None:
        """Let the rule answer a loss, or marks of a window of data (RFC 3168, 6.1.2)."""
        drops = self.window.rule.signal == "mark" and not marked
        self.window.reduce("on_drop" if drops else "on_loss", now, self.rtt, float(marked))
        self.loss_events += 1
        self.recover = self.max

    def hear_marks(self, now: float, ack: Ack) -> None:
        """Let the rule answer marks: as it says, or once per window as a loss."""
        if self.window.answers_marks:
            self.loss_events += self.window.hear_marks(now, self.rtt, ack.acks, ack.marked)
        elif self.una > self.recover + TINY:
            self.reduce(now, marked=True)

    def time_out(self, now: float) -> None:
        """Go back to the first packet that is not acknowledged (RFC 6298, 5.4; RFC 6582, 3.2, step 4)."""
        self.window.reduce("on_timeout", now, self.rtt)
        self.timeouts += 1
        self.recover, self.nxt = self.max, self.una
        self.recovering = self.partial_seen = False
        self.duplicates = self.inflation = 0.0
        self.timer.back_off(now)

    def send_in_recovery(self, now: float, ack: Ack, receiver: Receiver) -> None:
        """Send what the inflated window allows."""
        self.transmit(now, 0.0)

    def transmit(self, now: float, limited: float) -> None:
        """Send what the window allows from nxt on, and ``limited`` packets beyond."""
        window = min(self.window.cwnd + self.inflation, self.window.most) + limited
        room = self.sendable(window)
        if self.nxt < self.max - TINY:  # what is sent again goes in whole packets
            room = math.floor(room + self.quantum)
        if room <= 0.0:
            return
        self.timer.begin(now)
        if self.nxt >= self.max - TINY:
            self.timer.time(self.nxt, now)
        self.emit(self.nxt, room)
        self.nxt += room
        self.max = max(self.max, self.nxt)

    def sendable(self, window: float) -> float:
        """Return how many packets a window lets go from nxt on."""
        return self.grid(min(self.una + window, self.size) - self.nxt)

    def emit(self, sequence: float, amount: float) -> None:
        """Send packets from a sequence number on; the log notes where these do not go on."""
        expected = self.log[-1][1] + (self.emitted - self.log[-1][0]) if self.log else math.nan
        if not abs(expected - sequence) <= 1e-6:
            self.log.append((self.emitted, sequence))
        self.emitted += amount

    def grid(self, amount: float) -> float:
        """Return an amount rounded down to the quantum."""
        return float(floor(np.array(amount), self.quantum))
