"""TCP NV as in Linux's tcp_nv.c."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import param
from responsefn.rules.base import after, whole
from responsefn.rules.linux import KERNEL, LinuxRule, linux_file

__all__ = ["LinuxNV"]

GAIN = 128 / 256  # Linux 6.12, net/ipv4/tcp_nv.c: nv_rtt_factor = 128 of 256
"""Gain of the mean round-trip time per ACK."""
CLEARANCE = 2.0  # Linux 6.12, net/ipv4/tcp_nv.c: nv_pad_buffer = 2
"""Packets below the largest window from which growth is allowed."""
MIN_WINDOW = 2.0  # Linux 6.12, net/ipv4/tcp_nv.c: nv_min_cwnd = 2
"""Packets."""
# Linux 6.12, net/ipv4/tcp_nv.c: nv_loss_dec_factor = 819 of 1024; nv_cong_dec_mult = 30 * 128 /
# 100, a whole number
LOSS_FACTOR, EXCESS_FACTOR = 819 / 1024, 38 / 128
"""Decrease factor at a loss; fraction of the packets above the largest window that a decrease removes."""
# Linux 6.12, net/ipv4/tcp_nv.c: nv_ssthresh_eval_min_calls = 30; nv_dec_eval_min_calls = 60;
# nv_inc_eval_min_calls = 20
FIRST_ACKS, DOWN_ACKS, UP_ACKS = 30.0, 60.0, 20.0
"""ACKs since the last decision: to end the first slow start, to shrink, to grow."""
# Linux 6.12, net/ipv4/tcp_nv.c: nv_rtt_min_cnt = 2; nv_stop_rtt_cnt = 10
MIN_ROUNDS, MAX_ROUNDS = 2.0, 10.0
"""Minimum round trips before a decrease; maximum round trips of growth with too few ACKs for a decrease."""
# Linux 6.12, net/ipv4/tcp_nv.c: cwnd_growth_factor > -8; nv_cwnd_growth_rate_neg = 8
MIN_SPEED, DECISIONS_TO_RECOVER = -8.0, 8.0
"""Minimum of the exponent of growth, which timeouts reduce; decisions to grow that raise it by one."""
MIN_ACKS_PER_PACKET = 4.0  # Linux 6.12, net/ipv4/tcp_nv.c: max(4U, tcp_snd_cwnd)
"""Minimum ACKs per packet of growth above slow start."""
FIRST_RESET = 2.0  # Linux 6.12, net/ipv4/tcp_nv.c: jiffies + 2 * HZ
"""Time in s after which the minimum round-trip time is first renewed."""


class LinuxNV(LinuxRule):
    r"""TCP NV as in Linux's tcp_nv.c.

    The window is at most ``pad`` packets above the capacity of the path, which is the largest rate of a round.

    Once per round trip the window is compared with the largest window X RTT_min + pad. RTT is a mean with gain 1/2, and
    X the largest rate since the last decision, the packets delivered in a round trip over RTT. Above it, after two
    round trips and 60 ACKs (30 in the first slow start), the largest window becomes the threshold, growth stops, and
    the window decreases by 38/128 of the excess, at least by two packets, or by an excess of one or two packets. Two
    packets below it or more, after 20 ACKs, growth is allowed: slow start, then a packet per window of ACKs. A loss
    reduces the window to 819/1024 and stops growth. A timeout also halves the speed of growth, which eight decisions to
    grow restore.

    RTT_min is the minimum mean since the last loss. It is renewed every ``reset_period`` seconds by the minimum of that
    time. The module draws the period uniformly from 3/4 to 5/4 of it. The number of packets delivered in a round trip
    is the window at its beginning. ACKs with different times are counted. Round-trip times from BPF programs, and
    provisions for windows too small for offloads, are omitted.

    Domain: p <= 0.02. Needs ``bandwidth``.

    Parameters
    ----------
    pad
        Packets in the queue, > 2.
    reset_period
        Period in s, > 0, at most 1000.
    kernel
        Version of the file: ``"6.12"``.

    Examples
    --------
    >>> from responsefn.linux import LinuxNV
    >>> round(float(LinuxNV().rate(1e-4, 0.04, bandwidth=2000.0)))
    1990
    """

    class State(NamedTuple):
        """Window and threshold in packets; mean RTT, minima of this and of the next period, end of the period, s.

        Then the window at the beginning of the round and its largest rate in packets/s. Then ACKs and round trips since
        the last decision, ACKs left in this round and time of the last ACK, s. Then whether the window may grow, the
        exponent of the speed of growth, and decisions to grow in a row.
        """

        cwnd: float = 1.0
        ssthresh: float = math.inf
        mean_rtt: float = 0.0
        base_rtt: float = math.inf
        next_rtt: float = math.inf
        renewal: float = math.inf
        begun: float = 1.0
        top_rate: float = 0.0
        acks: float = 0.0
        rounds: float = 0.0
        left: float = 0.0
        last: float = -math.inf
        grows: float = 1.0
        speed: float = 0.0
        clear: float = 0.0

    class Params(NamedTuple):
        """Packets in the queue, period in s, version."""

        pad: float = param(
            10.0,
            "amount",
            above=CLEARANCE,
            source="Linux 6.12, net/ipv4/tcp_nv.c: nv_pad = 10",
        )
        reset_period: float = param(
            5.0,
            "time",
            above=0.0,
            at_most=1000.0,
            source="Linux 6.12, net/ipv4/tcp_nv.c: nv_reset_period = 5 s",
        )
        kernel: str = KERNEL

    older: ClassVar[dict[str, type[Any]]] = {}
    assigned: ClassVar[tuple[str, ...]] = (
        "ssthresh",
        "mean_rtt",
        "base_rtt",
        "next_rtt",
        "renewal",
        "begun",
        "top_rate",
        "acks",
        "rounds",
        "left",
        "last",
        "grows",
        "speed",
        "clear",
    )
    capacity: ClassVar[str] = "needed"
    counts_acks: ClassVar[bool] = True
    reference = linux_file("tcp_nv.c")
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = "it holds the capacity over wide ranges of p, where its rate tells nothing of p"

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Measure, decide once per round trip, and grow if allowed."""
        if e.time > s.last:
            s = measure_rtt(s, q, e)
        s = s._replace(left=s.left - 1.0)
        if s.left <= 0.0:
            w = whole(s.cwnd)
            s = compare_window(s._replace(rounds=s.rounds + 1.0), q)
            s = s._replace(left=w, begun=w)
        if s.grows == 0.0:
            return s
        if s.cwnd < s.ssthresh:
            return s._replace(cwnd=s.cwnd + 1.0)
        acks = whole(s.cwnd) * 2.0 ** (-s.speed)
        return s._replace(cwnd=s.cwnd + 1.0 / max(MIN_ACKS_PER_PACKET, acks))

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Reduce the window to 819/1024 in whole packets.

        Measurements restart. Growth stops until the next decision.
        """
        window = max(2.0, whole(LOSS_FACTOR * whole(s.cwnd)))
        return s._replace(
            cwnd=window,
            ssthresh=window,
            mean_rtt=0.0,
            top_rate=0.0,
            begun=window,
            acks=0.0,
            rounds=0.0,
            left=0.0,
            grows=0.0,
            clear=0.0,
        )

    @staticmethod
    @after(on_loss)
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet once growth is allowed, and half the speed of growth above it."""
        return s._replace(cwnd=1.0, begun=1.0, speed=max(MIN_SPEED, min(0.0, s.speed) - 1.0))


def measure_rtt(s: Any, q: Any, e: Any) -> Any:
    """Update the round-trip times and the rate after an ACK."""
    first = s.mean_rtt == 0.0
    mean = e.rtt if first else s.mean_rtt + GAIN * (e.rtt - s.mean_rtt)
    base = min(2.0 * mean if first else s.base_rtt, mean)
    following = min(s.next_rtt, mean)
    renewal = s.renewal if s.renewal < math.inf else e.time + FIRST_RESET
    if e.time >= renewal:
        base = following
        following = math.inf
        renewal = e.time + q.reset_period
    return s._replace(
        mean_rtt=mean,
        base_rtt=base,
        next_rtt=following,
        renewal=renewal,
        top_rate=max(s.top_rate, s.begun / mean),
        acks=s.acks + 1.0,
        last=e.time,
    )


def compare_window(s: Any, q: Any) -> Any:
    """Compare the window with the largest window, and update both."""
    w = whole(s.cwnd)
    largest = whole(s.top_rate * s.base_rtt) + q.pad
    if w > largest:
        if s.rounds < MIN_ROUNDS:
            return s
        if s.acks < (FIRST_ACKS if s.ssthresh == math.inf else DOWN_ACKS):
            if s.ssthresh < math.inf and s.rounds > MAX_ROUNDS:
                return s._replace(grows=0.0)
            return s
        excess = w - largest
        down = excess
        if excess > 2.0:
            down = max(2.0, whole(excess * EXCESS_FACTOR))
        s = s._replace(cwnd=max(MIN_WINDOW, w - down), ssthresh=largest, grows=0.0, speed=min(0.0, s.speed), clear=0.0)
    elif w <= largest - CLEARANCE:
        if s.acks < UP_ACKS:
            return s
        clear = s.clear + 1.0
        speed = s.speed
        if speed < 0.0 and clear > DECISIONS_TO_RECOVER:
            speed = speed + 1.0
            clear = 0.0
        s = s._replace(grows=1.0, speed=speed, clear=clear)
    else:
        return s
    return s._replace(acks=0.0, rounds=0.0, top_rate=0.0)
