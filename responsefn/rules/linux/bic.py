"""BIC as in Linux's tcp_bic.c."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import param
from hopflow.units import quantities
from responsefn.rules.base import grow, whole
from responsefn.rules.linux.versions import KERNEL, OLD, LinuxRule, linux_file, of_kernel

__all__ = ["LinuxBIC"]


class LinuxBIC(LinuxRule):
    r"""BIC as in Linux's tcp_bic.c: the window moves a quarter of the distance to the last peak, smoothed near it.

    Differences from `BIC`: a quarter of the distance per round trip, in whole packets, instead of half of it;
    one packet in ``smooth`` / 4 round trips if that is at most one packet; a decrease by 0.2; an increase
    of at most 16 packets; a whole number of ACKs per packet of growth. The module divides that number by its
    estimate of packets per ACK, which begins at 2 and stays at 31/16 although every packet is acknowledged: above
    Reno's region it grows 31/16 times as fast. Windows are whole packets at a loss.

    Domain: p <= 0.02.

    Parameters
    ----------
    b
        Fraction of the window lost at a loss (205/1024).
    largest
        Maximum increase in packets per round trip.
    smooth
        ``smooth_part``: round trips times 4 per packet near the last peak; 20, in ns-3 5.
    low_window
        Packets up to which it is Reno.
    per_ack
        Estimate of the packets that an ACK acknowledges; 31/16 in Linux, 1 in ns-3.
    remembered
        Factor for the stored peak if the window is below the last peak; 1843/2048, in ns-3 0.8.
    kernel
        Version of the file: ``"6.12"``, or ``"2.6.22"``, where a packet takes one more ACK and windows at a loss keep
        their fraction.

    Examples
    --------
    >>> from responsefn.linux import LinuxBIC
    >>> round(float(LinuxBIC().rate(1e-3, 0.04))), round(float(LinuxBIC(kernel="2.6.22").rate(1e-3, 0.04)))
    (1218, 1177)
    """

    class State(NamedTuple):
        """Window, threshold and remembered peak in packets."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        peak: float = 0.0

    class Params(NamedTuple):
        """Decrease, largest increase, smooth_part, Reno's region in packets, packets per ACK, memory, version."""

        b: float = param(
            205 / 1024,
            above=0.0,
            below=1.0,
            source="Linux 6.12, net/ipv4/tcp_bic.c: beta = 819, BICTCP_BETA_SCALE 1024",
        )
        largest: float = param(
            16.0,
            "amount",
            above=0.0,
            source="Linux 6.12, net/ipv4/tcp_bic.c: max_increment = 16",
        )
        smooth: float = param(
            20.0,
            above=0.0,
            source="Linux 6.12, net/ipv4/tcp_bic.c: smooth_part = 20",
        )
        low_window: float = param(
            14.0,
            "amount",
            at_least=0.0,
            source="Linux 6.12, net/ipv4/tcp_bic.c: low_window = 14",
        )
        per_ack: float = param(
            31 / 16,
            above=0.0,
            source="Linux 6.12, net/ipv4/tcp_bic.c: delayed_ack, 2 << ACK_RATIO_SHIFT less 1, at rest with an ACK per "
            "packet",
        )
        remembered: float = param(
            1843 / 2048,
            above=0.0,
            at_most=1.0,
            source="Linux 6.12, net/ipv4/tcp_bic.c: (BICTCP_BETA_SCALE + beta) / (2 BICTCP_BETA_SCALE)",
        )
        kernel: str = KERNEL

    reference = linux_file("tcp_bic.c")
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = "its cycles alternate over wide ranges of p, where its rate jumps"

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, Reno's region, or the search."""
        w = whole(s.cwnd)
        distance = math.floor(0.25 * (s.peak - w))  # whole packets: 1 is a distance below 8
        beyond = w - s.peak
        slowly = math.floor(0.25 * w * q.smooth)
        steadily = math.floor(w / q.largest)
        searching = where(
            distance > q.largest,
            steadily,
            where(distance <= 1.0, slowly, math.floor(w / maximum(1.0, distance))),
        )
        probing = where(
            beyond < 4.0,
            slowly,
            where(beyond < 3.0 * q.largest, math.floor(3.0 * w / maximum(1.0, beyond)), steadily),
        )
        acks = where(w < s.peak, searching, probing)
        acks = where(s.peak == 0.0, minimum(acks, 20.0), acks)
        acks = where(w <= q.low_window, w, maximum(1.0, math.floor(acks / q.per_ack)))
        return s._replace(cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, 1.0 / acks))

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep 1 - b (half in Reno's region); remember less of a peak below the last one."""
        w = whole(s.cwnd)
        window = maximum(2.0, whole(where(w <= q.low_window, 0.5, 1.0 - q.b) * w))
        peak = where(w < s.peak, whole(q.remembered * w), w)
        return s._replace(cwnd=window, ssthresh=window, peak=peak)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; the peak is forgotten."""
        w = whole(s.cwnd)
        threshold = maximum(2.0, whole(where(w <= q.low_window, 0.5, 1.0 - q.b) * w))
        return s._replace(cwnd=1.0, ssthresh=threshold, peak=0.0)


@quantities(largest="amount", low_window="amount")
@of_kernel(OLD)
class LinuxBIC2622(LinuxBIC):
    r"""BIC as in Linux 2.6.22's tcp_bic.c: a quarter of the way to the last peak, smoothed near it.

    Against `BIC`: a quarter of the distance per round trip, in whole packets, instead of half of it; one packet in
    ``smooth`` / 4 round trips where that is one packet or none; a cut by 0.2; an increase of at most 16 packets; each
    packet more takes a whole number of ACKs and one, here half a one more. The module divides it by its estimate of
    packets per ACK, which begins at 2 in sixteenths; d <- d - floor(d/16) + 1 reduces 32 to 31, where it stays although
    every packet is acknowledged: above Reno's region it grows 31/16 times as fast.

    Domain: p <= 0.02. Parameters as of `LinuxBIC`.

    Examples
    --------
    >>> from responsefn.linux import LinuxBIC
    >>> round(float(LinuxBIC(kernel="2.6.22").rate(1e-3, 0.04)))
    1177
    """

    reference = linux_file("tcp_bic.c", OLD)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, Reno's region, or the search."""
        below = math.floor(0.25 * (s.peak - s.cwnd))  # whole packets: 1 is a distance below 8
        beyond = s.cwnd - s.peak
        slowly = 4.0 / q.smooth
        towards = where(below > 1.0, minimum(q.largest, below), slowly)
        away = where(beyond < 4.0, slowly, where(beyond < 3.0 * q.largest, beyond / 3.0, q.largest))
        acks = s.cwnd / where(s.cwnd < s.peak, towards, away)
        acks = where(s.peak == 0.0, minimum(acks, 20.0), acks)
        acks = maximum(1.0, acks / q.per_ack)
        return grow(s, 1.0 / where(s.cwnd <= q.low_window, s.cwnd + 1.0, acks + 0.5))

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep 1 - b (half in Reno's region); remember less of a peak below the last one."""
        window = where(s.cwnd <= q.low_window, 0.5, 1.0 - q.b) * s.cwnd
        peak = where(s.cwnd < s.peak, q.remembered, 1.0) * s.cwnd
        return s._replace(cwnd=maximum(1.0, window), ssthresh=maximum(2.0, window), peak=peak)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; the peak is forgotten."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, (1.0 - q.b) * s.cwnd), peak=0.0)
