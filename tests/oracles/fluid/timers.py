"""The retransmission timer in the reference: RFC 6298, one packet timed at a time, without clock granularity."""

from __future__ import annotations

import math

__all__ = ["Timer"]

TINY = 1e-9
FIRST_TIMEOUT = 3.0  # s, before the first sample
LARGEST_BACKOFF = 64.0


class Timer:
    """When the retransmission timer of a sender expires, s.

    Parameters
    ----------
    least
        Smallest timeout in s; inf: it never expires.
    """

    def __init__(self, least: float, rto: float, linux: bool = False) -> None:
        self.least, self.rto, self.linux = least, rto, linux
        self.srtt = self.rttvar = 0.0
        self.backoff, self.deadline = 1.0, math.inf
        self.timed: tuple[float, float] | None = None  # sequence number, time

    def time(self, sequence: float, now: float) -> None:
        """Time a packet, unless one is timed already."""
        if self.timed is None:
            self.timed = sequence, now

    def hear(self, una: float, acked: float, now: float, step: float) -> None:
        """Take a sample (2.2, 2.3) if the packet that is timed is among those acknowledged, evenly in a step."""
        if self.timed is None or acked <= self.timed[0] + TINY:
            return
        sequence, sent = self.timed
        sample = now + max(0.0, sequence - una) / (acked - una) * step - sent
        if self.srtt == 0.0:
            self.srtt, self.rttvar = sample, 0.5 * sample
        else:
            self.rttvar += 0.25 * (abs(sample - self.srtt) - self.rttvar)
            self.srtt += 0.125 * (sample - self.srtt)
        self.backoff, self.timed = 1.0, None
        bounded = max(4.0 * self.rttvar, self.least) if self.linux else 4.0 * self.rttvar
        self.rto = max(self.least, self.srtt + bounded)

    def restart(self, now: float) -> None:
        """Restart it (5.1, 5.3)."""
        self.deadline = now + self.backoff * self.rto

    def begin(self, now: float) -> None:
        """Start it for the first packet."""
        if self.deadline == math.inf:
            self.deadline = now + max(self.least, FIRST_TIMEOUT)

    def back_off(self, now: float) -> None:
        """Double the timeout when it has expired (5.5, 5.6)."""
        self.backoff, self.timed = min(LARGEST_BACKOFF, 2.0 * self.backoff), None
        self.restart(now)
