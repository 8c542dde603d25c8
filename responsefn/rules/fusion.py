"""TCP-Fusion: Westwood's estimate, Vegas' queue and Reno's window."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import extends, param
from responsefn.response import Reference
from responsefn.rules.base import NO_INVERSE_AT_CAPACITY, WindowRule
from responsefn.rules.delay_based import packets_in_queue
from responsefn.rules.westwood import Westwood

__all__ = ["Fusion"]


class Fusion(WindowRule):
    r"""TCP-Fusion (Kaneko et al. 2007, slides): Westwood's decrease, Vegas' target, Reno as a floor.

    Let alpha = RE D_min with the rate estimate RE. Per round trip the window grows by W_inc = B D_min
    packets (one per 12 Mb/s in packets of 1500 bytes, for D_min = 1 ms) while fewer than alpha wait in the
    queue. It changes by alpha minus the queue if that is above 3 alpha, and not at all in between. It is
    never below Reno's window. At a loss it falls to max(RTT_min/RTT, 1/2) of itself; Reno's halves.

    Domain: p <= 0.01. Needs ``bandwidth``. While the queue is empty a loss does not reduce the
    window, and the rate is the capacity over wide ranges of p, so that there is no inverse. If
    the capacity is unknown (a source in a network), the highest rate of ACKs so far replaces it.

    Parameters
    ----------
    min_delay
        D_min, the resolution of the queueing delay, in s, below 5.
    gain
        Gain of the rate estimate per round trip; 1/8 replaces the filter of TCPW-RE.

    Examples
    --------
    >>> from responsefn import Fusion
    >>> round(Fusion().rate(1e-4, 0.04, bandwidth=2000.0))
    2000
    """

    @extends(Westwood.State)
    class State(NamedTuple):
        """Window and threshold; shortest RTT in s; RE and top rate in packets/s; Reno's window."""

        top_rate: float = 0.0
        reno: float = 1.0

    class Params(NamedTuple):
        """D_min in s, gain of the rate estimate."""

        min_delay: float = param(1e-3, "time", above=0.0, below=5.0, source="kaneko2007, slides: D_min = 1 ms")
        gain: float = param(
            0.125,
            above=0.0,
            at_most=1.0,
            source="tcp_westwood.c: westwood_do_filter, 7/8 of the old value; stands for the paper's filter: the filter"
            " of TCPW-RE",
        )

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt", "top_rate")
    rate_estimates: ClassVar[tuple[str, ...]] = ("estimate",)
    capacity: ClassVar[str] = "needed"
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= B D_{\min} [N < \alpha] + (\alpha - N) [N > 3 \alpha]"
        r",\ \text{loss: } W \leftarrow \max(R_{\min} / R, \tfrac12)\, W"
    )
    reference = Reference("K. Kaneko et al., TCP-Fusion, PFLDnet 2007 (slides)", "primary")
    domain = (0.0, 0.01)
    monotone = False
    why_no_inverse = NO_INVERSE_AT_CAPACITY

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or the larger of the delay-based and Reno's window."""
        base = minimum(s.base_rtt, e.rtt)
        top = maximum(s.top_rate, s.cwnd / e.rtt)
        waiting = packets_in_queue(s.cwnd, base, e.rtt)
        alpha = s.estimate * q.min_delay
        held = where(waiting > 3.0 * alpha, alpha - waiting, 0.0)
        step = where(waiting < alpha, top * q.min_delay, held) / s.cwnd
        slow = s.cwnd < s.ssthresh
        reno = s.reno + where(slow, 1.0, 1.0 / s.cwnd)
        return s._replace(
            cwnd=maximum(s.cwnd + where(slow, 1.0, step), reno),
            base_rtt=base,
            estimate=s.estimate + q.gain * (s.cwnd / e.rtt - s.estimate) / s.cwnd,
            top_rate=top,
            reno=reno,
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Multiply the window by RTT_min/RTT, at least by half."""
        base = minimum(s.base_rtt, e.rtt)
        window = maximum(1.0, maximum(base / e.rtt, 0.5) * s.cwnd)
        return s._replace(
            cwnd=window,
            ssthresh=maximum(2.0, window),
            base_rtt=base,
            reno=maximum(1.0, minimum(window, 0.5 * s.reno)),
        )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), reno=1.0)
