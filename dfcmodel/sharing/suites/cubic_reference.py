"""RFC 9438 ACK by ACK, written from the text alone: the windows that the suite expects."""

from __future__ import annotations

__all__ = ["ALPHA", "BETA", "K_of", "Reference"]

C, BETA = 0.4, 0.7  # RFC 9438, Sect. 5.1 and 4.6
"""Packets/s^3, and the factor of a decrease."""
ALPHA = 3.0 * (1.0 - BETA) / (1.0 + BETA)  # RFC 9438, Sect. 4.3
"""Packets per round trip of W_est until it reaches the window before the decrease."""
MAX_GROWTH = 1.5  # RFC 9438, Sect. 4.2
"""Largest ratio of target and window."""


def K_of(w_max: float, epoch: float) -> float:
    """Return K, s, the time from the start of a stage at window ``epoch`` until ``w_max``, both in packets (eq. 2)."""
    return float((max(0.0, w_max - epoch) / C) ** (1.0 / 3.0))


class Reference:
    """A congestion avoidance stage of CUBIC, fed ACK by ACK; ``window`` is the present window, packets.

    Parameters
    ----------
    now, window
        Time in s and window in packets at which the stage begins.
    w_max
        Window to which the curve returns, packets.
    prior
        Window before the decrease, packets, at which alpha becomes 1 (Sect. 4.3).
    rtt
        Round-trip time, s.
    """

    def __init__(self, now: float, window: float, w_max: float, prior: float, rtt: float) -> None:
        self.start, self.window, self.w_max, self.prior, self.rtt = now, window, w_max, prior, rtt
        self.estimate = window
        self.K = K_of(w_max, window)

    def cubic(self, t: float) -> float:
        """Return W_cubic(t), packets, t seconds after the start of the stage (eq. 1)."""
        return C * (t - self.K) ** 3 + self.w_max

    def ack(self, now: float) -> None:
        """Update ``window`` by an ACK of one packet at time ``now``, s."""
        t = now - self.start
        alpha = ALPHA if self.estimate < self.prior else 1.0
        self.estimate += alpha / self.window
        target = min(max(self.cubic(t + self.rtt), self.window), MAX_GROWTH * self.window)
        if self.cubic(t) < self.estimate:  # Sect. 4.3: the Reno-friendly region
            self.window = max(self.window, self.estimate)
        else:
            self.window += (target - self.window) / self.window
