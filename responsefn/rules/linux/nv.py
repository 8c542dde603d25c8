"""TCP NV as in Linux's tcp_nv.c."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import param
from responsefn.rules.base import whole
from responsefn.rules.linux.versions import KERNEL, LinuxRule, linux_file

__all__ = ["LinuxNV"]

GAIN = 128 / 256  # Linux 6.12, net/ipv4/tcp_nv.c: nv_rtt_factor = 128 of 256
"""Of the mean round-trip time, per ACK."""
CLEARANCE = 2.0  # Linux 6.12, net/ipv4/tcp_nv.c: nv_pad_buffer = 2
"""Packets below the largest window from which it grows."""
MIN_WINDOW = 2.0  # Linux 6.12, net/ipv4/tcp_nv.c: nv_min_cwnd = 2
"""Packets."""
# Linux 6.12, net/ipv4/tcp_nv.c: nv_loss_dec_factor = 819 of 1024; nv_cong_dec_mult = 30 * 128 /
# 100, a whole number
LOSS_FACTOR, EXCESS_FACTOR = 819 / 1024, 38 / 128
"""Part of the window that a loss leaves; part of what is above the largest window that is given up at once."""
# Linux 6.12, net/ipv4/tcp_nv.c: nv_ssthresh_eval_min_calls = 30; nv_dec_eval_min_calls = 60;
# nv_inc_eval_min_calls = 20
FIRST_ACKS, DOWN_ACKS, UP_ACKS = 30.0, 60.0, 20.0
"""ACKs since the last decision: to end the first slow start, to shrink, to grow."""
# Linux 6.12, net/ipv4/tcp_nv.c: nv_rtt_min_cnt = 2; nv_stop_rtt_cnt = 10
MIN_ROUNDS, MAX_ROUNDS = 2.0, 10.0
"""Round trips before it shrinks; after which it no longer grows where it has too few ACKs to shrink."""
# Linux 6.12, net/ipv4/tcp_nv.c: cwnd_growth_factor > -8; nv_cwnd_growth_rate_neg = 8
MIN_SPEED, DECISIONS_TO_RECOVER = -8.0, 8.0
"""Halvings of the growth by timeouts, at most; decisions to grow that undo one of them."""
MIN_ACKS_PER_PACKET = 4.0  # Linux 6.12, net/ipv4/tcp_nv.c: max(4U, tcp_snd_cwnd)
"""ACKs per packet of growth above slow start, at least."""
FIRST_RESET = 2.0  # Linux 6.12, net/ipv4/tcp_nv.c: jiffies + 2 * HZ
"""s after which the least round-trip time is renewed for the first time."""


class LinuxNV(LinuxRule):
    r"""TCP NV as in Linux's tcp_nv.c: at most ``pad`` packets more than the path holds, by the largest rate of a round.

    Once per round trip, with RTT a mean of gain 1/2 and X the largest rate since the last decision, that of packets
    delivered in a round trip over RTT: the largest window is X RTT_min + pad. Above it, after two round trips and 60 ACKs (30 in the first slow start),
    it becomes the threshold, growth stops, and the window loses 38/128 of what is too much, at least two packets; of one
    or two packets too much all. Two packets below it or more, after 20 ACKs, growth is allowed: slow start, then a packet per window of ACKs.
    A loss leaves 819/1024 of the window and stops growth. A timeout also halves the speed of growth, which eight decisions to grow undo.

    RTT_min is the least mean since the last loss, and is renewed every ``reset_period`` seconds by the least one of that time; the module draws the
    period evenly from 3/4 to 5/4 of it. The number of packets delivered in a round trip is the window at its beginning.
    ACKs are counted by their times. Programs that tell it a round-trip time (BPF), and its
    provisions for windows below those that offloads need, are left out.

    Domain: p <= 0.02. Needs ``bandwidth``.

    Parameters
    ----------
    pad
        Packets in the queue, > 2.
    reset_period
        In s, > 0.
    kernel
        Version of the file: ``"6.12"``.

    Examples
    --------
    >>> from responsefn.linux import LinuxNV
    >>> round(float(LinuxNV().rate(1e-4, 0.04, bandwidth=2000.0)))
    1990
    """

    class State(NamedTuple):
        """Window and threshold in packets; mean RTT, least ones of this and of the next period, when it ends, s.

        Then the window at the beginning of the round and its largest rate in packets/s; ACKs and round trips since the
        last decision, ACKs left in this round and when the last one came, s; whether the window may grow, twofold speeds of growth,
        decisions to grow in a row.
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
            source="Linux 6.12, net/ipv4/tcp_nv.c: nv_reset_period = 5 s",
        )
        kernel: str = KERNEL

    older: ClassVar[dict[str, type[Any]]] = {}
    assigned: ClassVar[tuple[str, ...]] = (
        "ssthresh", "mean_rtt", "base_rtt", "next_rtt", "renewal", "begun", "top_rate", "acks", "rounds", "left", "last",
        "grows", "speed", "clear",
    )  # fmt: skip
    capacity: ClassVar[str] = "needed"
    counts_acks: ClassVar[bool] = True
    reference = linux_file("tcp_nv.c")
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = (
        "it holds the capacity over wide ranges of p, where its rate tells nothing of p"
    )

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Measure, once per round trip decide, then grow where that is allowed."""
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
        """Keep 819/1024 in whole packets; measure again, and grow after the next decision to do so."""
        return cut_by_loss(s)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet, once growth is allowed again, and above it half as fast."""
        lost = cut_by_loss(s)
        return lost._replace(cwnd=1.0, begun=1.0, speed=max(MIN_SPEED, min(0.0, s.speed) - 1.0))


def cut_by_loss(s: Any) -> Any:
    """Return the state after a loss."""
    window = max(2.0, whole(LOSS_FACTOR * whole(s.cwnd)))
    return s._replace(
        cwnd=window, ssthresh=window, mean_rtt=0.0, top_rate=0.0, begun=window, acks=0.0, rounds=0.0, left=0.0,
        grows=0.0, clear=0.0,
    )  # fmt: skip


def measure_rtt(s: Any, q: Any, e: Any) -> Any:
    """Return the state after the round-trip time of an ACK."""
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
    """Return the state after the window was compared with the largest one."""
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
        s = s._replace(
            cwnd=max(MIN_WINDOW, w - down), ssthresh=largest, grows=0.0, speed=min(0.0, s.speed), clear=0.0,
        )  # fmt: skip
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
