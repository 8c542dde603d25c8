"""How senders of the reference recover otherwise than NewReno: Tahoe, Reno, and with selective ACKs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracles.fluid.senders import THRESHOLD, TINY, Sender

if TYPE_CHECKING:
    from tests.oracles.fluid.receivers import Ack, Receiver

__all__ = ["SENDERS", "RenoSender", "SackSender", "TahoeSender"]


class TahoeSender(Sender):
    """Goes back to the first packet that is not acknowledged, and slow start from there (RFC 5681's predecessor)."""

    def begin_recovery(self, now: float, ack: Ack, receiver: Receiver) -> bool:
        """Reduce the window and go back: nothing is sent out of turn."""
        super().begin_recovery(now, ack, receiver)
        self.recovering, self.inflation, self.nxt = False, 0.0, self.una
        return False


class RenoSender(Sender):
    """The first ACK of new data ends a recovery (RFC 5681, 3.2, step 6)."""

    def ends_recovery(self, acked: float) -> bool:
        """Return True: any does."""
        return True


class SackSender(Sender):
    """Sends again what selective ACKs tell to be lost, as far as the pipe allows (RFC 6675).

    What an ACK tells is what the receiver misses: of the packets below ``rcv_max`` that was decided
    before the ACK left. ``lost_in_pipe``: what is lost stays in the pipe (Fall and Floyd 1996, 4).
    """

    lost_in_pipe = False
    pipe = 0.0
    scanned = following = 0

    def hear_partial(self, now: float, advance: float, new: float) -> bool:
        """Restart the timer; what is lost is known, and sent again as the pipe allows."""
        self.timer.restart(now)
        return False

    def count_in_recovery(self, duplicates: float) -> None:
        """Leave the window: the pipe counts."""

    def missing(self, ack: Ack, receiver: Receiver) -> float:
        """Return how many packets from una to ``rcv_max`` have not come."""
        return sum(amount for c, amount in receiver.missing.items() if int(self.una) <= c < ack.rcv_max - TINY)

    def tells_of_loss(self, ack: Ack, receiver: Receiver) -> bool:
        """Return whether three packets beyond una have come, and no timeout is being repaired (5, step 2; 5.1)."""
        beyond = ack.rcv_max - self.una
        if beyond < THRESHOLD or self.una < self.recover - TINY:
            return False
        return beyond - self.missing(ack, receiver) >= THRESHOLD - TINY

    def begin_recovery(self, now: float, ack: Ack, receiver: Receiver) -> bool:
        """Set the pipe, and send the first packet again, whatever is in flight (5, step 4.3)."""
        super().begin_recovery(now, ack, receiver)
        self.inflation = 0.0
        self.scanned = self.following = int(self.una)
        if self.lost_in_pipe:
            self.pipe = self.max - self.una - self.duplicates + ack.acks - 1.0
        else:  # SetPipe; `send_in_recovery` takes out what is lost, and the ACKs of the step
            self.pipe = self.max - ack.rcv_max + self.missing(ack, receiver) + ack.acks
        self.following += 1  # the first is sent at once
        self.pipe += 1.0
        return True

    def take_out(self, ack: Ack, receiver: Receiver) -> None:
        """Take what has left the network out of the pipe: what was acknowledged, what is known to be lost."""
        if ack.acks <= 0.0:
            return
        self.pipe -= ack.acks
        if self.lost_in_pipe:  # a partial ACK stands for a packet sent again and the lost one
            self.pipe -= min(ack.acks, ack.advancing)
        while not self.lost_in_pipe and self.scanned + 1.0 <= ack.rcv_max - THRESHOLD:
            self.pipe -= self.scanned in receiver.lost
            self.scanned += 1
        self.pipe = max(0.0, self.pipe)

    def send_in_recovery(self, now: float, ack: Ack, receiver: Receiver) -> None:
        """Send lost packets again, then new ones (5, step C; NextSeg, rules 1 and 2)."""
        self.take_out(ack, receiver)
        window = min(self.window.cwnd, self.window.most)
        end = max(self.una, ack.rcv_max - THRESHOLD) if ack.acks > 0.0 else self.una
        while self.following + 1.0 <= end and window - self.pipe >= 1.0:
            if self.following >= self.una - TINY and receiver.missing.get(self.following, 0.0) > TINY:
                self.emit(float(self.following), 1.0)
                self.pipe += 1.0
            self.following += 1
        reach = min(self.size, self.una + self.window.most)
        room = self.grid(min(window - self.pipe, reach - self.nxt))
        if room > 0.0 and self.nxt >= self.max - TINY:
            self.emit(self.nxt, room)
            self.pipe += room
            self.nxt += room
            self.max = max(self.max, self.nxt)


SENDERS = {"tahoe": TahoeSender, "reno": RenoSender, "newreno": Sender, "sack": SackSender}
