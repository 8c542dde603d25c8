"""H-TCP: growth by the time since the last loss; by its draft and in Linux."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import extends, param
from responsefn.response import Reference
from responsefn.rules.base import WindowRule, cut, whole
from responsefn.rules.linux import KERNEL, OLD, LinuxRule, linux_file, of_kernel, timeout_after

__all__ = ["HTCP", "LinuxHTCP", "end_cycle", "measure"]


class HTCP(WindowRule):
    r"""H-TCP (Leith and Shorten 2004): the increase grows with the time since the last loss.

    alpha(t) = 1 for t <= 1 s, then 1 + 10 (t-1) + ((t-1)/2)^2, times 2 (1 - beta). A loss leaves
    beta = RTT_min/RTT_max of the window, within 0.5 and 0.8, with the RTTs of the cycle. The published
    rule's switch to beta = 1/2 after a change of throughput by more than 20 % is omitted: it does
    not act in a steady cycle.

    Response: the numerical cycle, derived here. Without ``bandwidth`` the round-trip time is fixed
    and beta is 0.8.

    The recovery is SACK, as in Linux with its module tcp_htcp.c (`WindowRule.recovery`).

    Domain: p <= 0.02.

    Examples
    --------
    >>> from responsefn import HTCP
    >>> round(HTCP().rate(1e-3, rtt=0.1), 1)
    616.3
    """

    class State(NamedTuple):
        """Window and threshold in packets; time of the last loss and RTTs in s; decrease factor."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        since: float = 0.0
        base_rtt: float = math.inf
        top_rtt: float = 0.0
        beta: float = 0.5

    assigned: ClassVar[tuple[str, ...]] = ("since", "base_rtt", "top_rtt", "beta")
    capacity: ClassVar[str] = "optional"
    recovery: ClassVar[str] = "sack"
    reference = Reference("D. Leith, R. Shorten, H-TCP: TCP for high-speed and long-distance networks, PFLDnet 2004")
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= 2 (1 - \beta) (1 + 10 (t-1) + \tfrac14 (t-1)^2)"
        r",\ \text{loss: } W \leftarrow \beta W,\ \beta = R_{\min} / R_{\max}"
    )
    domain = (0.0, 0.02)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or alpha / cwnd."""
        slow = s.cwnd < s.ssthresh
        since = where(slow, e.time, s.since)
        late = maximum(0.0, e.time - since - 1.0)
        a = 2.0 * (1.0 - s.beta) * (1.0 + 10.0 * late + 0.25 * late * late)
        return s._replace(
            cwnd=s.cwnd + where(slow, 1.0, a / s.cwnd),
            since=since,
            base_rtt=minimum(s.base_rtt, e.rtt),
            top_rtt=maximum(s.top_rtt, e.rtt),
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Multiply the window by RTT_min/RTT_max, within 0.5 and 0.8."""
        top = maximum(s.top_rtt, e.rtt)
        beta = minimum(0.8, maximum(0.5, minimum(s.base_rtt, e.rtt) / top))
        return s._replace(
            cwnd=maximum(1.0, beta * s.cwnd),
            ssthresh=maximum(2.0, beta * s.cwnd),
            since=e.time,
            top_rtt=0.0,
            beta=beta,
        )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), top_rtt=0.0)


class LinuxHTCP(LinuxRule):
    r"""H-TCP as in Linux's tcp_htcp.c: with RTT scaling, in whole numbers and jiffies.

    alpha = 2 (1 - beta) f, where f = 1 + 10 (t-1) + ((t-1)/2)^2 for t > 1 s after the loss was repaired and 1 before,
    times 10 RTT_min (in s, that factor within 0.1 and 2), in whole numbers and at least 1. A packet more takes
    ceil(cwnd / alpha) ACKs and one. beta is RTT_min/RTT_max in 128ths within 0.5 and 0.8, but 0.5 unless the maximum
    throughput of each of the last two cycles was within 20 % of the preceding cycle's. Throughput is averaged with a
    gain of 1/4 per round trip. RTT_max decreases by 5 % of its distance from RTT_min at each loss. The rule depends on
    the queue if ``bandwidth`` is given.

    Domain: p <= 0.02.

    Parameters
    ----------
    hz
        Jiffies per second; the module rounds round-trip times up to jiffies.
    kernel
        Version of the file: ``"6.12"``, or ``"2.6.22"``, without parameters: windows with fractions, alpha / cwnd per
        ACK.

    Examples
    --------
    >>> from responsefn.linux import LinuxHTCP
    >>> round(float(LinuxHTCP().rate(1e-3, 0.04))), round(float(LinuxHTCP(kernel="2.6.22").rate(1e-3, 0.04)))
    (1001, 1061)
    """

    @extends(HTCP.State)
    class State(NamedTuple):
        """Window and threshold in packets; time of the last loss and RTTs in s; decrease factor.

        Throughput, its maximum in this and the last cycle in packets/s; whether the last two maxima agree. ``since`` is
        negative until recovery ends.
        """

        throughput: float = 0.0
        top_throughput: float = 0.0
        last_top_throughput: float = 0.0
        steady: float = 0.0

    class Params(NamedTuple):
        """Jiffies per second, version."""

        hz: float = param(
            250.0,
            "jiffies per second",
            above=0.0,
            source="Debian's configuration of Linux 6.12: CONFIG_HZ = 250",
        )
        kernel: str = KERNEL

    assigned: ClassVar[tuple[str, ...]] = (
        "since",
        "base_rtt",
        "top_rtt",
        "beta",
        "throughput",
        "top_throughput",
        "last_top_throughput",
        "steady",
    )
    capacity: ClassVar[str] = "optional"
    reference = linux_file("tcp_htcp.c")
    domain = (0.0, 0.02)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or a packet per ceil(cwnd / alpha) ACKs and one."""
        slow = s.cwnd < s.ssthresh
        since = where(s.since < 0.0, e.time, s.since)
        base = minimum(s.base_rtt, e.rtt)
        ticks = math.ceil(base * q.hz - 1e-9)
        late = maximum(0.0, e.time - since - 1.0)
        factor = 1.0 + math.floor(10.0 * late + 0.25 * late * late)
        scale = minimum(80.0, maximum(4.0, math.floor(8.0 * q.hz / (10.0 * ticks))))
        a = 2.0 * (1.0 - s.beta) * maximum(1.0, math.floor(8.0 * factor / scale))
        step = 1.0 / (math.ceil(whole(s.cwnd) / a) + 1.0)
        s = measure(s, e, since, 4.0)
        return s._replace(cwnd=s.cwnd + where(slow, 1.0, step))

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep RTT_min/RTT_max of the window, within 0.5 and 0.8, or half of it."""
        base = minimum(s.base_rtt, e.rtt)
        top = maximum(s.top_rtt, e.rtt)
        ticks = math.ceil(base * q.hz - 1e-9)
        ratio = math.floor(128.0 * ticks / math.ceil(top * q.hz - 1e-9)) / 128.0
        beta = minimum(102.0 / 128.0, maximum(0.5, ratio))
        s = end_cycle(s, where(ticks > math.ceil(0.01 * q.hz), beta, 0.5))
        window = maximum(2.0, whole(s.beta * whole(s.cwnd)))
        top = base + 0.95 * (top - base)
        return s._replace(cwnd=window, ssthresh=window, since=-1.0, top_rtt=top)

    on_timeout = timeout_after(on_loss)


def measure(s: Any, e: Any, since: Any, trips: float) -> Any:
    """Return the state after an ACK with its round-trip time and the throughput.

    Throughput is averaged with a gain of 1/4 per round trip. Until ``trips`` minimum round-trip times after ``since``
    it is that of the last ACK.
    """
    base = minimum(s.base_rtt, e.rtt)
    early = e.time - since <= trips * base
    now = s.cwnd / e.rtt
    throughput = where(early, now, s.throughput + 0.25 * (now - s.throughput) / s.cwnd)
    return s._replace(
        since=since,
        base_rtt=base,
        top_rtt=maximum(s.top_rtt, e.rtt),
        throughput=throughput,
        top_throughput=where(early, now, maximum(s.top_throughput, throughput)),
    )


def end_cycle(s: Any, beta: Any) -> Any:
    """Return the state at the end of a cycle: ``beta`` after two cycles of equal maximum throughput, otherwise 0.5."""
    alike = (s.top_throughput >= 0.8 * s.last_top_throughput) & (s.top_throughput <= 1.2 * s.last_top_throughput)
    beta = where(alike & (s.steady > 0.0), beta, 0.5)
    return s._replace(beta=beta, last_top_throughput=s.top_throughput, steady=where(alike, 1.0, 0.0))


@of_kernel(OLD)
class LinuxHTCP2622(LinuxHTCP):
    r"""H-TCP as in Linux 2.6.22's tcp_htcp.c: with RTT scaling, in whole numbers.

    alpha = 2 (1 - beta) f, where f = 1 + 10 (t-1) + ((t-1)/2)^2 for t > 1 s and 1 before, times 10 RTT_min (in s, that
    factor within 0.1 and 2), in whole numbers and at least 1. beta is RTT_min/RTT_max within 0.5 and 0.8, but 0.5
    unless the maximum throughput of each of the last two cycles was within 20 % of the preceding cycle's, as mostly
    under random losses, but not under deterministic losses. Throughput is averaged with a gain of 1/4 per round trip.
    RTT_max is the last cycle's, while the file reduces it by 5 % of the delay per loss. The rule depends on the queue
    if ``bandwidth`` is given.

    Domain: p <= 0.02.

    Examples
    --------
    >>> from responsefn.linux import LinuxHTCP
    >>> round(float(LinuxHTCP(kernel="2.6.22").rate(1e-3, 0.04)))
    1061
    """

    class Params(NamedTuple):
        """Version."""

        kernel: str = KERNEL

    reference = linux_file("tcp_htcp.c", OLD)

    def check(self) -> None:
        """Check the version."""
        LinuxRule.check(self)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or alpha / cwnd."""
        slow = s.cwnd < s.ssthresh
        since = where(slow, e.time, s.since)
        base = minimum(s.base_rtt, e.rtt)
        late = maximum(0.0, e.time - since - 1.0)
        factor = 1.0 + math.floor(10.0 * late + 0.25 * late * late)
        scale = minimum(10.0, maximum(0.5, 0.1 / base))
        a = 2.0 * (1.0 - s.beta) * maximum(1.0, math.floor(factor / scale))
        s = measure(s, e, since, 3.0)
        return s._replace(cwnd=s.cwnd + where(slow, 1.0, a / s.cwnd))

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep RTT_min/RTT_max of the window, within 0.5 and 0.8, or half of it."""
        top = maximum(s.top_rtt, e.rtt)
        beta = minimum(0.8, maximum(0.5, minimum(s.base_rtt, e.rtt) / top))
        s = end_cycle(s, beta)
        s = cut(s, s.beta * s.cwnd)
        return s._replace(since=e.time, top_rtt=e.rtt)

    on_timeout = timeout_after(on_loss)
