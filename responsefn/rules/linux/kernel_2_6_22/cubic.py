"""CUBIC as in Linux 2.6.22's tcp_cubic.c."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import extends, param
from responsefn.rules.cubic import CUBIC, begin_curve
from responsefn.rules.linux.cubic import LinuxCUBIC
from responsefn.rules.linux.versions import KERNEL, OLD, linux_file, of_kernel

__all__ = ["LinuxCUBIC2622"]


@of_kernel(OLD)
class LinuxCUBIC2622(LinuxCUBIC):
    r"""CUBIC as in Linux 2.6.22's tcp_cubic.c, version 2.1: in whole packets, with fast convergence.

    Against `CUBIC` of RFC 9438: a cut by 0.2; the window goes to the curve one least round trip ahead in whole
    packets, each after a whole number of ACKs and one, divided by the estimate of packets per ACK (see
    `LinuxBIC`); at most ``largest`` packets in 0.1 s beyond the last peak; the Reno-friendly window grows by
    8/floor(8 (2-b)/(3b)) packets per round trip, also above the last peak.

    Domain: p <= 0.02.

    Parameters
    ----------
    C
        As of `LinuxCUBIC`.
    b
        Fraction of the window lost at a loss (205/1024; later versions 0.3).
    largest
        ``max_increment``: packets in 0.1 s at most, beyond the last peak.
    per_ack
        Estimate of the packets that an ACK acknowledges; 31/16 in 2.6.22, 1 in ns-3.

    Examples
    --------
    >>> from responsefn.linux import LinuxCUBIC
    >>> round(float(LinuxCUBIC(kernel="2.6.22").rate(1e-3, 0.04)))
    968
    """

    @extends(CUBIC.State)
    class State(NamedTuple):
        """Window, threshold, last peak and the curve's origin in packets; times in s; Reno's window."""

        base_rtt: float = math.inf

    class Params(NamedTuple):
        """C in packets/s^3, decrease, largest increase in 0.1 s, packets per ACK."""

        C: float = param(
            410 / 1024,
            above=0.0,
            source="Linux 2.6.22, net/ipv4/tcp_cubic.c: bic_scale = 41, times 10 in 1024ths",
        )
        b: float = param(
            205 / 1024,
            above=0.0,
            below=1.0,
            source="Linux 2.6.22, net/ipv4/tcp_cubic.c: beta = 819, BICTCP_BETA_SCALE 1024",
        )
        largest: float = param(
            16.0,
            "amount",
            above=0.0,
            source="Linux 2.6.22, net/ipv4/tcp_cubic.c: max_increment = 16",
        )
        per_ack: float = param(
            31 / 16,
            above=0.0,
            source="Linux 2.6.22, net/ipv4/tcp_cubic.c: delayed_ack, 2 << ACK_RATIO_SHIFT less 1, at rest",
        )
        kernel: str = KERNEL

    assigned: ClassVar[tuple[str, ...]] = ("peak", "plateau", "since", "base_rtt")
    reference = linux_file("tcp_cubic.c", OLD)
    monotone = False
    why_no_inverse = "its window moves in whole packets and ACKs, so that its rate jumps with p"

    def in_fluid(self) -> LinuxCUBIC2622:
        """Return the rule itself, which has no HyStart."""
        return self

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or towards the larger of the curve and Reno's window."""
        slow = s.cwnd < s.ssthresh
        base = minimum(s.base_rtt, e.rtt)
        since, peak = where(slow, e.time, s.since), where(slow, s.cwnd, s.peak)
        late = e.time + base - since - s.plateau
        whole = math.floor(s.cwnd)
        moved = math.floor(q.C * abs(late) ** 3)
        away = peak + where(late < 0.0, -moved, moved) - whole
        acks = where(away >= 1.0, math.floor(whole / maximum(1.0, away)), 100.0 * whole)
        least = where(late >= 0.0, whole / (10.0 * q.largest * base), 0.0)
        acks = maximum(acks, least)
        ahead = math.floor(s.reno) - whole
        acks = where(ahead >= 1.0, minimum(acks, math.floor(whole / maximum(1.0, ahead))), acks)
        steps = 1.0 / (1.0 + maximum(1.0, math.floor(acks / q.per_ack)))
        slope = 8.0 / math.floor(8.0 * (2.0 - q.b) / (3.0 * q.b))
        return s._replace(
            cwnd=s.cwnd + where(slow, 1.0, steps),
            peak=peak,
            plateau=where(slow, 0.0, s.plateau),
            since=since,
            base_rtt=base,
            reno=where(slow, s.cwnd + 1.0, s.reno + slope / s.cwnd),
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep 1 - b; remember less of a peak below the last one."""
        peak = where(s.cwnd < s.peak, 1.0 - 0.5 * q.b, 1.0) * s.cwnd
        return begin_curve(s, q.C, maximum(1.0, (1.0 - q.b) * s.cwnd), peak, e.time)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; the peak is forgotten."""
        kept = maximum(2.0, (1.0 - q.b) * s.cwnd)
        return s._replace(cwnd=1.0, ssthresh=kept, peak=0.0, plateau=0.0, reno=1.0)
