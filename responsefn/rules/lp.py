"""TCP Low Priority as in Linux's tcp_lp.c."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import extends, param
from responsefn.rules.base import whole, whole_cut
from responsefn.rules.delay_based import QueueRule
from responsefn.rules.linux import KERNEL, LinuxRule, linux_file

__all__ = ["LinuxLP"]

WORD_VALUES = 2.0**32  # Linux 6.12, net/ipv4/tcp_lp.c: u32
"""Modulus of the module's arithmetic in words."""
TIMESTAMP_HZ = 1000.0  # Linux 6.12, include/net/tcp.h: TCP_TS_HZ 1000
"""Ticks per s of the timestamps of both ends."""
CLOCK_DIVISOR = 64.0  # Linux 6.12, net/ipv4/tcp_lp.c: remote_hz << 6
"""Divisor of changes of the estimate of the receiver's clock."""
THRESHOLD_PERCENT = 15.0  # Linux 6.12, net/ipv4/tcp_lp.c: 15 * (owd_max - owd_min) / 100
"""Threshold of congestion in percent of the range from the minimum to the maximum delay."""
INFERENCE_ROUNDS = 3.0  # Linux 6.12, net/ipv4/tcp_lp.c: inference = 3 * delta
"""Round trips after a cut in which the window does not grow and falls to one packet."""


class LinuxLP(LinuxRule):
    r"""TCP-LP as in Linux's tcp_lp.c: Reno that yields as the one-way delay grows, within the accuracy of its clocks.

    From the timestamps of an ACK, the receiver's V and the sender's own E in ticks of 1 ms, it estimates the frequency
    F of the receiver's clock and the delay D = floor(1000 / F) V - E, which is smoothed with a gain of 1/8. Above 15 %
    of the range from the minimum D to the maximum the window is halved, and for three round trips it does not grow. A
    second cut within these reduces it to one packet. Otherwise it grows as Reno, and halves at a loss.

    All quantities are words of 32 bits, as in the module, which determines the behaviour. V has an ``offset`` that
    Linux draws for each pair of hosts. Eight times the smoothed delay must fit into a word. For offsets of 2^29 and
    more, seven eighths of them, the smoothed delay is therefore always below the minimum: the sender is Reno, as in the
    runs of ``linux/remaining-rules``. Below, F changes by floor((f - F) / 64) with the ratio f of the ticks of both
    clocks between ACKs. If ACKs are few milliseconds apart, f is 1/2, 1 or 2, and F tends to values above 1000, with
    which D does not depend on the path. Single ticks then decide whether the sender yields, so that runs differ from a
    kernel's in detail.

    Domain: p <= 0.02.

    Parameters
    ----------
    offset
        Offset of the receiver's timestamps in ticks, 0 <= offset < 2**32.
    kernel
        Version of the file: ``"6.12"``.

    Examples
    --------
    >>> from responsefn.linux import LinuxLP
    >>> round(float(LinuxLP().rate(1e-3, 0.04)))
    956
    """

    @extends(QueueRule.State)
    class State(NamedTuple):
        """Window and threshold in packets; minimum RTT in s; all others in ticks, modulo 2**32.

        Frequency of the receiver's clock in ticks per s, and stamps of both clocks at the last ACK. Then eight times
        the smoothed delay, the minimum delay, the maximum, and the reserve of the maximum. Then three round trips, and
        the time of the last cut (negative: none).
        """

        frequency: float = 0.0
        theirs: float = 0.0
        ours: float = 0.0
        smoothed: float = 0.0
        owd_min: float = WORD_VALUES - 1.0
        owd_max: float = 0.0
        reserve: float = 0.0
        inference: float = 0.0
        last_cut: float = -1.0

    class Params(NamedTuple):
        """Offset in ticks, version."""

        offset: float = param(
            2.0**31,
            "ticks",
            at_least=0.0,
            below=WORD_VALUES,
            source="own choice: Linux draws the offset of timestamps for each pair of hosts",
        )
        kernel: str = KERNEL

    older: ClassVar[dict[str, type[Any]]] = {}
    assigned: ClassVar[tuple[str, ...]] = State._fields[2:]
    capacity: ClassVar[str] = "optional"
    counts_acks: ClassVar[bool] = True
    reference = linux_file("tcp_lp.c")
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = "its estimate of the receiver's clock jumps with the times of ACKs"

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Measure the delay, cut the window if it is long, otherwise grow as Reno."""
        now = float(math.floor(TIMESTAMP_HZ * e.time))
        s = s._replace(base_rtt=min(s.base_rtt, e.rtt))
        ours = float(math.floor(TIMESTAMP_HZ * (e.time - e.rtt)))
        theirs = word(math.floor(TIMESTAMP_HZ * (e.time - 0.5 * s.base_rtt)) + q.offset)
        s = sample_clocks(s, theirs, ours)
        if now > ours:
            s = s._replace(inference=INFERENCE_ROUNDS * (now - ours))
        inside = s.last_cut >= 0.0 and now - s.last_cut < s.inference
        limit = word(s.owd_min + math.floor(word(THRESHOLD_PERCENT * word(s.owd_max - s.owd_min)) / 100.0))
        delay = math.floor(s.smoothed / 8.0)
        if delay >= limit:
            double = float(math.floor(s.smoothed / 4.0))
            cwnd = 1.0 if inside else max(1.0, math.floor(0.5 * whole(s.cwnd)))
            s = s._replace(cwnd=cwnd, owd_min=float(delay), owd_max=double, reserve=double, last_cut=now)
        if inside:
            return s
        step = 1.0 if s.cwnd < s.ssthresh else 1.0 / whole(s.cwnd)
        return s._replace(cwnd=s.cwnd + step)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve, in whole packets."""
        return whole_cut(s, 0.5 * whole(s.cwnd))


def word(x: Any) -> Any:
    """Return a whole number modulo 2**32."""
    return x - WORD_VALUES * math.floor(x / WORD_VALUES)


def sample_clocks(s: Any, theirs: Any, ours: Any) -> Any:
    """Update the receiver's clock and the delay from the timestamps of an ACK."""
    frequency = s.frequency
    if s.theirs != 0.0 and s.ours != 0.0 and theirs != s.theirs and ours != s.ours:
        ratio = float(math.floor(TIMESTAMP_HZ * word(theirs - s.theirs) / word(ours - s.ours)))
        smoothed = max(0.0, frequency + math.floor((ratio - frequency) / CLOCK_DIVISOR))
        frequency = smoothed if frequency > 0.0 else ratio
    s = s._replace(frequency=frequency, theirs=theirs, ours=ours)
    if frequency <= 0.0:
        return s
    delay = word(theirs * math.floor(TIMESTAMP_HZ / frequency) - ours)
    if delay == 0.0:
        return s
    owd_max = s.owd_max
    reserve = s.reserve
    if delay > owd_max:
        owd_max = delay
        if delay > reserve:
            owd_max = reserve if reserve > 0.0 else delay
            reserve = delay
    smoothed = word(8.0 * delay)
    if s.smoothed > 0.0:
        smoothed = word(s.smoothed + delay - math.floor(s.smoothed / 8.0))
    return s._replace(owd_min=min(s.owd_min, delay), owd_max=owd_max, reserve=reserve, smoothed=smoothed)
