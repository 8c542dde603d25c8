"""TCP Westwood with rate estimation, and Westwood+ of Linux."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import extends, param
from responsefn.response import Reference
from responsefn.rules.base import NO_INVERSE_AT_CAPACITY, WindowRule
from responsefn.rules.delay_based import QueueRule
from responsefn.rules.linux import OLD, linux_file

__all__ = ["Westwood", "WestwoodPlus"]


class Westwood(WindowRule):
    r"""TCP Westwood with rate estimation (TCPW-RE): a loss sets the window to the estimated rate times RTT_min.

    The window grows as Reno's. At a loss it becomes RE RTT_min, the capacity of the path without a
    queue. RE follows cwnd/RTT with a gain per round trip. While the queue is empty the estimate is
    the rate, less its lag, and random losses hardly reduce the window. Under one loss in 1/p packets it
    grows to the capacity, by (1/(4 p W))^2 packets from loss to loss (derived here, for a gain of 1/8 and
    cycles shorter than its lag of eight round trips).

    Domain: p <= 0.02. Needs ``bandwidth``. The rate is nearly the capacity over wide ranges of p, so that there
    is no inverse.

    Parameters
    ----------
    gain
        Gain of the rate estimate per round trip, 0 < gain <= 1; 1/8 replaces the paper's filter.

    Examples
    --------
    >>> from responsefn import Westwood
    >>> round(Westwood().rate(1e-3, 0.04, bandwidth=2000.0))
    2000
    """

    @extends(QueueRule.State)
    class State(NamedTuple):
        """Window and threshold in packets, shortest RTT in s, rate estimate in packets/s."""

        estimate: float = 0.0

    class Params(NamedTuple):
        """Gain of the rate estimate per round trip."""

        gain: float = param(
            0.125,
            above=0.0,
            at_most=1.0,
            source="tcp_westwood.c: westwood_do_filter, 7/8 of the old value; stands for the paper's filter",
        )

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt",)
    rate_estimates: ClassVar[tuple[str, ...]] = ("estimate",)
    capacity: ClassVar[str] = "needed"
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= 1"
        r",\ \text{loss: } W \leftarrow \mathit{RE}\, R_{\min}"
    )
    reference = Reference(
        "C. Casetti et al., TCP Westwood, MobiCom 2001; rate estimation: TCPW-RE, 2002",
        doi="10.1145/381677.381704",
    )
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = NO_INVERSE_AT_CAPACITY

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Grow as Reno, and update the rate estimate."""
        return s._replace(
            cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, 1.0 / s.cwnd),
            base_rtt=minimum(s.base_rtt, e.rtt),
            estimate=s.estimate + q.gain * (s.cwnd / e.rtt - s.estimate) / s.cwnd,
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Set the window to the bandwidth-delay product at the estimated rate."""
        held = maximum(2.0, s.estimate * minimum(s.base_rtt, e.rtt))
        return s._replace(cwnd=minimum(s.cwnd, held), ssthresh=held)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to the bandwidth-delay product."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, s.estimate * s.base_rtt))


class WestwoodPlus(WindowRule):
    r"""Westwood+ as in Linux's tcp_westwood.c: two filters in series, no sample below 50 ms.

    Reno's growth; at a loss the window becomes the estimated rate times RTT_min. The rate of each
    sample of max(RTT, 50 ms) goes through two filters of gain 1/8, here spread over the ACKs of the
    sample. Needs ``bandwidth``; there is no inverse (see `Westwood`).

    Domain: p <= 0.02.

    Parameters
    ----------
    gain
        Gain of each filter per sample.
    shortest
        Minimum duration of a sample in s, below 5.
    deferred
        1: a loss halves the window, which becomes the estimated rate times RTT_min at the first ACK after recovery, as
        in the module. 0: it does so at the loss. With immediate repair, as in `rate`, both differ by at most two per
        cent; at packet level recovery sends less with 0 if the estimate is below half of the window.

    Examples
    --------
    >>> round(float(WestwoodPlus().rate(1e-3, 0.04, bandwidth=8333.0)))
    8333
    """

    @extends(QueueRule.State)
    class State(NamedTuple):
        """Window and threshold in packets, shortest RTT in s, and both filters.

        The filters are in packets/s. ``halved`` is 1 from a loss to the next ACK.
        """

        sampled: float = 0.0
        estimate: float = 0.0
        halved: float = 0.0

    class Params(NamedTuple):
        """Gain of each filter per sample, shortest sample in s, whether the estimate waits for the end of recovery."""

        gain: float = param(
            0.125,
            above=0.0,
            at_most=1.0,
            source="Linux 2.6.22, net/ipv4/tcp_westwood.c: westwood_do_filter, (7 a + b) >> 3",
        )
        shortest: float = param(
            0.05,
            "time",
            at_least=0.0,
            below=5.0,
            source="Linux 2.6.22, net/ipv4/tcp_westwood.c: TCP_WESTWOOD_RTT_MIN, HZ/20",
        )
        deferred: float = param(
            1.0,
            choices=(0.0, 1.0),
            source="Linux 6.12, net/ipv4/tcp_westwood.c: tcp_westwood_event takes the estimate when the recovery ends",
        )

    package: ClassVar[str] = "responsefn.linux"
    assigned: ClassVar[tuple[str, ...]] = ("base_rtt",)
    rate_estimates: ClassVar[tuple[str, ...]] = ("sampled", "estimate")
    capacity: ClassVar[str] = "needed"
    recovery: ClassVar[str] = "sack"
    reference = linux_file("tcp_westwood.c", OLD)
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = NO_INVERSE_AT_CAPACITY

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Grow as Reno, and update the rate estimate."""
        held = maximum(2.0, s.estimate * minimum(s.base_rtt, e.rtt))
        cwnd = where(s.halved > 0.5, held, s.cwnd)
        ssthresh = where(s.halved > 0.5, held, s.ssthresh)
        gain = q.gain * e.rtt / (maximum(e.rtt, q.shortest) * cwnd)
        return s._replace(
            cwnd=cwnd + where(cwnd < ssthresh, 1.0, 1.0 / cwnd),
            ssthresh=ssthresh,
            base_rtt=minimum(s.base_rtt, e.rtt),
            sampled=s.sampled + gain * (cwnd / e.rtt - s.sampled),
            estimate=s.estimate + gain * (s.sampled - s.estimate),
            halved=0.0,
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Set the window to the bandwidth-delay product at the estimated rate, or halve it until the next ACK."""
        held = maximum(2.0, s.estimate * minimum(s.base_rtt, e.rtt))
        window = where(q.deferred > 0.5, maximum(2.0, 0.5 * s.cwnd), held)
        return s._replace(cwnd=window, ssthresh=window, halved=q.deferred)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to the bandwidth-delay product."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, s.estimate * s.base_rtt), halved=0.0)
