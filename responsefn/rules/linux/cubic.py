"""CUBIC as in Linux's tcp_cubic.c, version 2.3."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import extends, param
from responsefn.rules.base import whole
from responsefn.rules.cubic import CUBIC, HyStartCUBICState, begin_curve
from responsefn.rules.linux.versions import KERNEL, OLD, LinuxRule, linux_file, of_kernel

__all__ = ["LinuxCUBIC"]

# Linux 6.12, net/ipv4/tcp_cubic.c: hystart_low_window = 16; hystart_ack_delta_us = 2000
LOW_WINDOW, ACK_GAP = 16.0, 2e-3
"""HyStart: minimum window in packets; maximum time in s between ACKs of a train."""
# Linux 6.12, net/ipv4/tcp_cubic.c: HYSTART_MIN_SAMPLES 8; HYSTART_DELAY_MIN 4 ms;
# HYSTART_DELAY_MAX 16 ms
SAMPLES, MIN_DELAY_INCREASE, MAX_DELAY_INCREASE = 8.0, 4e-3, 16e-3
"""HyStart: RTT samples of a round, and the bounds in s of the increase that ends slow start."""
# Linux 6.12, net/ipv4/tcp_cubic.c, cubictcp_acked: samples within HZ after epoch_start are
# discarded
RTT_DISCARD_TIME = 1.0
"""Time in s after a loss in which RTT samples are discarded."""
MIN_ACKS_PER_PACKET = 2.0  # Linux 6.12, net/ipv4/tcp_cubic.c: cnt at least 2
"""Minimum number of ACKs per packet of growth."""


class LinuxCUBIC(LinuxRule):
    r"""CUBIC as in Linux's tcp_cubic.c: whole windows, fast convergence, HyStart by ACK trains and delays.

    Differences from `CUBIC` of RFC 9438: the window moves to the curve one minimum round trip ahead, by a packet after
    each floor(cwnd / distance) ACKs, at most one per two ACKs; all windows at a loss are whole packets; the
    Reno-friendly window grows by a packet in floor(15 cwnd / 8) ACKs, also above the last peak. The curve begins at the
    first ACK after recovery.

    ACKs are counted from one packet of growth to the next (``tcp_cong_avoid_ai``). ACKs counted while the curve is
    below the window take effect once it is above, so that the window follows a slow curve immediately. With fractions
    of a packet per ACK (``counted`` 0, and in the fluid) it follows a round trip later.

    HyStart ends slow start from 16 packets on, when ACKs with gaps of at most 2 ms have arrived for half of the minimum
    round-trip time plus ``ack_delay`` (the train), or when the minimum of more than eight round-trip times of a round
    exceeds the connection's minimum by an eighth of it, within 4 and 16 ms (the delay). Trains need single packets:
    the fluid has the delay only. Times are not in jiffies.

    Domain: p <= 0.02.

    Parameters
    ----------
    C
        Packets/s^3 (``bic_scale`` 41 of 1024, per 0.1 s).
    b
        Fraction of the window lost at a loss (307/1024).
    hystart
        ``hystart_detect``: 1 by trains, 2 by delay, 3 by both, 0 no HyStart.
    ack_delay
        Allowance for aggregation in s, added to the duration of a train; Linux has less above 2 Gb/s.
    whole_windows
        1: windows at a loss are whole packets; 0: with their fractions.
    counted
        1: ACKs are counted from packet to packet; 0: each ACK adds a fraction of a packet.
    kernel
        Version of the file: ``"6.12"``, or ``"2.6.22"``, whose parameters are ``C``, ``b`` (205/1024), ``largest`` (16
        packets in 0.1 s beyond the last peak) and ``per_ack`` (31/16, its estimate of packets per ACK), without
        HyStart.

    Examples
    --------
    >>> from responsefn.linux import LinuxCUBIC
    >>> round(float(LinuxCUBIC().rate(1e-3, 0.04))), round(float(LinuxCUBIC(kernel="2.6.22").rate(1e-3, 0.04)))
    (949, 968)
    """

    @extends(HyStartCUBICState)
    class State(NamedTuple):
        """Window, threshold, last peak, the curve's origin and Reno's window in packets; times in s.

        ``since`` is negative until the curve begins. HyStart has the times of the round's begin and of the train's last
        ACK, s. It also has the ACKs left in the round, its minimum RTT and samples, and whether it ended slow start.
        ``since_growth`` is the file's snd_cwnd_cnt, the ACKs since the window last grew.
        """

        round_start: float = 0.0
        last_ack: float = 0.0
        hystart_exit: float = 0.0
        since_growth: float = 0.0

    class Params(NamedTuple):
        """C in packets/s^3, decrease, and choices of the module.

        These are the detection of HyStart, the allowance of its trains in s, the version, a flag and the count of ACKs.
        """

        C: float = param(
            410 / 1024,
            above=0.0,
            source="Linux 6.12, net/ipv4/tcp_cubic.c: bic_scale = 41, times 10 in 1024ths",
        )
        b: float = param(
            307 / 1024,
            above=0.0,
            below=1.0,
            source="Linux 6.12, net/ipv4/tcp_cubic.c: beta = 717, BICTCP_BETA_SCALE 1024",
        )
        hystart: int = param(
            3,
            choices=(0, 1, 2, 3),
            source="Linux 6.12, net/ipv4/tcp_cubic.c: hystart_detect = HYSTART_ACK_TRAIN | HYSTART_DELAY",
        )
        ack_delay: float = param(
            1e-3,
            "time",
            at_least=0.0,
            source="Linux 6.12, net/ipv4/tcp_cubic.c: hystart_ack_delay, at most USEC_PER_MSEC",
        )
        kernel: str = KERNEL
        whole_windows: int = param(
            1,
            choices=(0, 1),
            source="Linux 6.12, include/net/tcp.h: snd_cwnd is a whole number",
        )
        counted: int = param(
            1,
            choices=(0, 1),
            source="Linux 6.12, net/ipv4/tcp_cong.c: tcp_cong_avoid_ai counts in snd_cwnd_cnt",
        )

    capacity: ClassVar[str] = "ignored"
    assigned: ClassVar[tuple[str, ...]] = (
        "peak",
        "origin",
        "plateau",
        "since",
        "base_rtt",
        "round_start",
        "last_ack",
        "left",
        "round_min_rtt",
        "samples",
        "hystart_exit",
        "since_growth",
    )
    reference = linux_file("tcp_cubic.c")
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = "its window moves in whole packets and ACKs, so that its rate jumps with p"

    def in_fluid(self) -> LinuxCUBIC:
        """Return the rule without ACK trains and ACK counting: a fluid has no single ACKs."""
        detects = self.params.hystart & 2
        if (detects, 0) == (self.params.hystart, self.params.counted):
            return self
        return self.replace(hystart=detects, counted=0)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Measure, then slow start, or towards the larger of the curve and Reno's window."""
        recent = s.since >= 0.0 and e.time - s.since < RTT_DISCARD_TIME
        if not recent:
            s = s._replace(base_rtt=min(s.base_rtt, e.rtt))
            if s.cwnd < s.ssthresh and q.hystart > 0 and s.hystart_exit == 0.0:
                s = detect(s, q, e)
        if s.cwnd < s.ssthresh:
            return s._replace(cwnd=s.cwnd + 1.0)
        w = whole(s.cwnd)
        begins = s.since < 0.0
        since = where(begins, e.time, s.since)
        below = maximum(0.0, s.peak - w)
        origin = where(begins, maximum(s.peak, w), s.origin)
        plateau = where(begins, (below / q.C) ** (1.0 / 3.0), s.plateau)
        late = e.time + minimum(s.base_rtt, e.rtt) - since - plateau
        moved = math.floor(q.C * abs(late) ** 3)
        away = origin + where(late < 0.0, -moved, moved) - w
        acks = where(away >= 1.0, math.floor(w / maximum(1.0, away)), 100.0 * w)
        acks = where(s.peak == 0.0, minimum(acks, 20.0), acks)
        slope = math.floor(8.0 * (2.0 - q.b) / (3.0 * q.b) + 1e-9)  # 15 for 307/1024
        reno = where(begins, w, s.reno) + 1.0 / math.floor(maximum(1.0, w * slope / 8.0))
        ahead = whole(reno) - w
        acks = where(ahead >= 1.0, minimum(acks, math.floor(w / maximum(1.0, ahead))), acks)
        acks = maximum(MIN_ACKS_PER_PACKET, acks)
        stored = s.since_growth >= acks
        count = where(stored, 0.0, s.since_growth) + 1.0
        full = count >= acks
        grown = w + where(stored, 1.0, 0.0) + where(full, 1.0, 0.0)
        return s._replace(
            cwnd=where(q.counted > 0, grown, s.cwnd + 1.0 / acks),
            since_growth=where(q.counted > 0, where(full, count - acks, count), 0.0),
            origin=origin,
            plateau=plateau,
            since=since,
            reno=reno,
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep 1 - b; remember less of a peak below the last one."""
        w = at_loss(s.cwnd, q)
        peak = where(w < s.peak, at_loss((1.0 - 0.5 * q.b) * w, q), w)
        window = maximum(2.0, at_loss((1.0 - q.b) * w, q))
        return s._replace(cwnd=window, ssthresh=window, peak=peak, since=-1.0, since_growth=0.0)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; reset the peak and the minimum RTT."""
        return s._replace(
            cwnd=1.0,
            ssthresh=maximum(2.0, at_loss((1.0 - q.b) * at_loss(s.cwnd, q), q)),
            peak=0.0,
            since=-1.0,
            base_rtt=math.inf,
            left=0.0,
            hystart_exit=0.0,
            since_growth=0.0,
        )


def at_loss(packets: Any, q: Any) -> Any:
    """Return a window at a loss, in whole packets unless ``whole_windows`` is 0."""
    return where(q.whole_windows > 0, whole(packets), packets)


def detect(s: Any, q: Any, e: Any) -> Any:
    """Update HyStart after an ACK in slow start."""
    left = s.left - 1.0
    begins = left <= 0.0
    start = where(begins, e.time, s.round_start)
    last = where(begins, e.time, s.last_ack)
    round_min_rtt = where(begins, math.inf, s.round_min_rtt)
    samples = where(begins, 0.0, s.samples)
    left = where(begins, whole(s.cwnd), left)
    hystart_exit = 0.0
    if s.cwnd >= LOW_WINDOW:
        if (q.hystart == 1 or q.hystart == 3) and e.time - last <= ACK_GAP:
            last = e.time
            if e.time - start > 0.5 * (s.base_rtt + q.ack_delay):
                hystart_exit = 1.0
        if q.hystart >= 2:
            round_min_rtt = min(round_min_rtt, e.rtt)
            if samples < SAMPLES:
                samples = samples + 1.0
            elif round_min_rtt > s.base_rtt + min(MAX_DELAY_INCREASE, max(MIN_DELAY_INCREASE, s.base_rtt / 8.0)):
                hystart_exit = 1.0
    return s._replace(
        ssthresh=where(hystart_exit > 0.0, s.cwnd, s.ssthresh),
        round_start=start,
        last_ack=last,
        left=left,
        round_min_rtt=round_min_rtt,
        samples=samples,
        hystart_exit=hystart_exit,
    )


@of_kernel(OLD)
class LinuxCUBIC2622(LinuxCUBIC):
    r"""CUBIC as in Linux 2.6.22's tcp_cubic.c, version 2.1: in whole packets, with fast convergence.

    Differences from `CUBIC` of RFC 9438: a decrease by 0.2; the window moves to the curve one minimum round trip ahead
    in whole packets, each after a whole number of ACKs and one, divided by the estimate of packets per ACK (see
    `LinuxBIC`); at most ``largest`` packets in 0.1 s beyond the last peak; the Reno-friendly window grows by 8/floor(8
    (2-b)/(3b)) packets per round trip, also above the last peak.

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
        window = math.floor(s.cwnd)
        moved = math.floor(q.C * abs(late) ** 3)
        away = peak + where(late < 0.0, -moved, moved) - window
        acks = where(away >= 1.0, math.floor(window / maximum(1.0, away)), 100.0 * window)
        min_acks = where(late >= 0.0, window / (10.0 * q.largest * base), 0.0)
        acks = maximum(acks, min_acks)
        ahead = math.floor(s.reno) - window
        acks = where(ahead >= 1.0, minimum(acks, math.floor(window / maximum(1.0, ahead))), acks)
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
        threshold = maximum(2.0, (1.0 - q.b) * s.cwnd)
        return s._replace(cwnd=1.0, ssthresh=threshold, peak=0.0, plateau=0.0, reno=1.0)
