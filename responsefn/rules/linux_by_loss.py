"""Linux's congestion control modules that go by losses and time, as ns-2's TCP/Linux agent runs them.

They bear the names of published rules, but constants, integer arithmetic and filters of their own
make other windows. The sources are the files ``net/ipv4/tcp_*.c`` of Linux 2.6.22, which ns-2 has
taken over. None has a closed form: their responses are those of the numerical cycle.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow import maximum, minimum, where
from hopflow.checks import one_number
from responsefn.responses import references
from responsefn.rules.base import WindowRule, cut, grow

__all__ = ["LinuxBIC", "LinuxHTCP", "LinuxScalable"]


class LinuxBIC(WindowRule):
    r"""BIC as in Linux's tcp_bic.c: a quarter of the way to the last peak, smoothed near it.

    Against `BIC`: a quarter of the distance per round trip, in whole packets, instead of half of it;
    one packet in ``smooth`` / 4 round trips where that is one packet or none; a cut by 0.2; an increase
    of at most 16 packets. The module divides its count by its estimate of packets per ACK, which begins at 2 in
    sixteenths; d <- d - floor(d/16) + 1 takes 32 to 31, where it stays although every packet is
    acknowledged: above Reno's region it grows 31/16 times as fast.

    Domain: p <= 0.02.

    Parameters
    ----------
    b
        Fraction of the window lost at a loss (205/1024).
    largest
        Packets per round trip at most.
    smooth
        ``smooth_part``: round trips times 4 per packet near the last peak; 20, in ns-3 5.
    low_window
        Packets up to which it is Reno.
    per_ack
        Estimate of the packets that an ACK acknowledges; 31/16 in Linux, 1 in ns-3.

    Examples
    --------
    >>> round(float(LinuxBIC().rate(1e-3, 0.04)))
    1187
    """

    class State(NamedTuple):
        """Window, threshold and remembered peak in packets."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        peak: float = 0.0

    class Params(NamedTuple):
        """Decrease, largest increase, smooth_part, Reno's region in packets, packets per ACK."""

        b: float = 205 / 1024
        largest: float = 16.0
        smooth: float = 20.0
        low_window: float = 14.0
        per_ack: float = 31 / 16

    reference = references.TCP_BIC_C
    domain = (0.0, 0.02)

    def check(self) -> None:
        """Check the ranges of the parameters."""
        one_number("b", self.params.b, above=0.0, below=1.0)
        one_number("largest", self.params.largest, above=0.0)
        one_number("smooth", self.params.smooth, above=0.0)
        one_number("low_window", self.params.low_window, at_least=0.0)
        one_number("per_ack", self.params.per_ack, above=0.0)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, Reno's region, or the search."""
        below = math.floor(0.25 * (s.peak - s.cwnd))  # whole packets: 1 is a distance below 8
        beyond = s.cwnd - s.peak
        slowly = 4.0 / q.smooth
        towards = where(below > 1.0, minimum(q.largest, below), slowly)
        away = where(beyond < 4.0, slowly, where(beyond < 3.0 * q.largest, beyond / 3.0, q.largest))
        search = where(s.cwnd < s.peak, towards, away)
        first = where(s.peak == 0.0, maximum(search, s.cwnd / 20.0), search)
        per_round = where(s.cwnd <= q.low_window, 1.0, minimum(s.cwnd, q.per_ack * first))
        return grow(s, per_round / s.cwnd)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep 1 - b (half in Reno's region); remember less of a peak below the last one."""
        kept = where(s.cwnd <= q.low_window, 0.5, 1.0 - q.b) * s.cwnd
        peak = where(s.cwnd < s.peak, 1.0 - 0.5 * q.b, 1.0) * s.cwnd
        return s._replace(cwnd=maximum(1.0, kept), ssthresh=maximum(2.0, kept), peak=peak)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; the peak is forgotten."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, (1.0 - q.b) * s.cwnd), peak=0.0)


class LinuxHTCP(WindowRule):
    r"""H-TCP as in Linux's tcp_htcp.c: with RTT scaling, in whole numbers.

    alpha = 2 (1 - beta) f, where f = 1 + 10 (t-1) + ((t-1)/2)^2 for t > 1 s and 1 before, times
    10 RTT_min (in s, that factor within 0.1 and 2), in whole numbers and at least 1. The switch to
    beta = 1/2 after a change of throughput is left out, and RTT_max is that of the last cycle, where
    the file lets it fade by 5 % of the delay per loss. Sees the queue where ``bandwidth`` is given.

    Domain: p <= 0.02.

    Examples
    --------
    >>> round(float(LinuxHTCP().rate(1e-3, 0.04)))
    1061
    """

    class State(NamedTuple):
        """Window and threshold in packets; time of the last loss and RTTs in s; part kept."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        since: float = 0.0
        base_rtt: float = math.inf
        top_rtt: float = 0.0
        kept: float = 0.5

    assigned: ClassVar[tuple[str, ...]] = ("since", "base_rtt", "top_rtt", "kept")
    capacity: ClassVar[str] = "optional"
    reference = references.TCP_HTCP_C
    domain = (0.0, 0.02)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or alpha / cwnd."""
        slow = s.cwnd < s.ssthresh
        since = where(slow, e.time, s.since)
        base = minimum(s.base_rtt, e.rtt)
        late = maximum(0.0, e.time - since - 1.0)
        factor = 1.0 + math.floor(10.0 * late + 0.25 * late * late)
        scale = minimum(10.0, maximum(0.5, 0.1 / base))
        a = 2.0 * (1.0 - s.kept) * maximum(1.0, math.floor(factor / scale))
        return s._replace(
            cwnd=s.cwnd + where(slow, 1.0, a / s.cwnd),
            since=since,
            base_rtt=base,
            top_rtt=maximum(s.top_rtt, e.rtt),
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep RTT_min/RTT_max of the window, within 0.5 and 0.8."""
        top = maximum(s.top_rtt, e.rtt)
        kept = minimum(0.8, maximum(0.5, minimum(s.base_rtt, e.rtt) / top))
        return s._replace(
            cwnd=maximum(1.0, kept * s.cwnd),
            ssthresh=maximum(2.0, kept * s.cwnd),
            since=e.time,
            top_rtt=e.rtt,
            kept=kept,
        )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), top_rtt=0.0)


class LinuxScalable(WindowRule):
    r"""Scalable TCP as in Linux's tcp_scalable.c: one packet per min(W, 50) ACKs, a cut by 1/8.

    Below 50 packets it grows as Reno; there is no legacy window at which the cut changes.

    Domain: p <= 0.02.

    Parameters
    ----------
    acks
        ACKs per packet of growth above that window.
    b
        Fraction of the window lost at a loss.

    Examples
    --------
    >>> round(float(LinuxScalable().rate(1e-3, 0.04)))
    3744
    """

    class Params(NamedTuple):
        """ACKs per packet, decrease."""

        acks: float = 50.0
        b: float = 0.125

    reference = references.TCP_SCALABLE_C
    domain = (0.0, 0.02)

    def check(self) -> None:
        """Check the ranges of the parameters."""
        one_number("acks", self.params.acks, above=0.0)
        one_number("b", self.params.b, above=0.0, below=1.0)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or one packet per min(cwnd, acks) ACKs."""
        return grow(s, 1.0 / minimum(s.cwnd, q.acks))

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep 1 - b."""
        return cut(s, (1.0 - q.b) * s.cwnd)
