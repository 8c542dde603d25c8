"""Rules that measure what the path carries: Westwood, Adaptive Reno and Fusion.

Their responses need the capacity as those of `responsefn.delay` do.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow import maximum, minimum, where
from hopflow.checks import one_number
from responsefn import references
from responsefn.delay import queued
from responsefn.rules import WindowRule

__all__ = ["ARENO", "Fusion", "Westwood"]

FULL = "it holds nearly the whole capacity over wide ranges of p, where its rate tells nothing of p"


class Westwood(WindowRule):
    r"""TCP Westwood with rate estimation (TCPW-RE): at a loss to the estimated rate times RTT_min.

    Reno's growth; at a loss the window becomes RE RTT_min, that is what the path holds without a
    queue. RE follows cwnd/RTT with a gain per round trip. While the queue is empty the estimate is
    the rate itself, less its lag, and random losses hardly reduce the window.

    Domain: p <= 0.02. Needs ``bandwidth``; the rate is so nearly the capacity over wide ranges of p
    that there is no inverse.

    Parameters
    ----------
    gain
        Of the rate estimate, per round trip, 0 < gain <= 1; 1/8 stands for the paper's filter.
    """

    class State(NamedTuple):
        """Window and threshold in packets, shortest RTT in s, rate estimate in packets/s."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf
        estimate: float = 0.0

    class Params(NamedTuple):
        """Gain of the rate estimate per round trip."""

        gain: float = 0.125

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt",)
    capacity: ClassVar[str] = "needed"
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= 1"
        r",\ \text{loss: } W \leftarrow \mathit{RE}\, R_{\min}"
    )
    reference = references.WESTWOOD
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = FULL

    def check(self) -> None:
        """Check the range of the gain."""
        one_number("gain", self.params.gain, above=0.0, at_most=1.0)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Reno's growth; the estimate follows the rate."""
        return s._replace(
            cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, 1.0 / s.cwnd),
            base_rtt=minimum(s.base_rtt, e.rtt),
            estimate=s.estimate + q.gain * (s.cwnd / e.rtt - s.estimate) / s.cwnd,
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep what the path holds at the estimated rate."""
        held = maximum(2.0, s.estimate * minimum(s.base_rtt, e.rtt))
        return s._replace(cwnd=minimum(s.cwnd, held), ssthresh=held)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to what the path holds."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, s.estimate * s.base_rtt))


class ARENO(WindowRule):
    r"""TCP-Adaptive Reno (Shimonishi and Murase): a Reno window and a probe beside it.

    With the congestion level c = min(1, (RTT - RTT_min)/(RTT_cong - RTT_min)), RTT_cong the average
    round-trip time at losses, the probe grows by W_inc(c) = W e^(-10 c) + beta c + gamma per round
    trip, where W is one packet per 10 Mb/s of capacity and beta, gamma make W_inc(1) and its mean
    zero; at a loss the window becomes 1/(1 + c) of itself and the probe 0.

    Domain: p <= 0.02. Needs ``bandwidth``; without a queue a loss does not reduce the window at all
    and the rate is the capacity over wide ranges of p, so that there is no inverse. Where the
    capacity is not known (a source in a network) the highest rate of ACKs so far stands for it.

    Parameters
    ----------
    unit_rate
        Capacity per packet of W, in packets/s; 10 Mb/s in packets of 1500 bytes.
    """

    class State(NamedTuple):
        """Window, threshold, Reno's part; shortest RTT and RTT at losses in s; top rate."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_window: float = 1.0
        base_rtt: float = math.inf
        loss_rtt: float = 0.0
        top_rate: float = 0.0

    class Params(NamedTuple):
        """Capacity per packet of growth, in packets/s."""

        unit_rate: float = 10e6 / 12000

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt", "loss_rtt", "top_rate")
    capacity: ClassVar[str] = "needed"
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= 1 + W_{\mathrm{inc}}(c)"
        r",\ \text{loss: } W \leftarrow W / (1 + c)"
    )
    reference = references.ARENO
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = FULL

    def check(self) -> None:
        """Check the range of the unit rate."""
        one_number("unit_rate", self.params.unit_rate, above=0.0)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or Reno's part and the probe by their own rules."""
        base = minimum(s.base_rtt, e.rtt)
        top = maximum(s.top_rate, s.cwnd / e.rtt)
        level = congestion(e.rtt, base, s.loss_rtt)
        most = top / q.unit_rate
        small = math.exp(-10.0)
        slope = 2.0 * most * (0.1 - 1.1 * small)
        offset = 1.0 - 2.0 * most * (0.1 - 0.6 * small)
        growth = most * math.exp(-10.0 * level) + slope * level + offset
        slow = s.cwnd < s.ssthresh
        probe = maximum(0.0, s.cwnd - s.base_window + where(slow, 0.0, growth / s.cwnd))
        base_window = s.base_window + where(slow, 1.0, 1.0 / s.cwnd)
        return s._replace(
            cwnd=base_window + probe, base_window=base_window, base_rtt=base, top_rate=top
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep 1/(1+c), all of it in Reno's part."""
        base = minimum(s.base_rtt, e.rtt)
        kept = maximum(1.0, s.cwnd / (1.0 + congestion(e.rtt, base, s.loss_rtt)))
        seen = where(s.loss_rtt > 0.0, 0.5 * (s.loss_rtt + e.rtt), e.rtt)
        return s._replace(
            cwnd=kept, ssthresh=maximum(2.0, kept), base_window=kept, base_rtt=base, loss_rtt=seen
        )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), base_window=1.0)


def congestion(rtt: Any, base: Any, at_loss: Any) -> Any:
    """Return ARENO's congestion level, 0 to 1; by twice the base RTT before the first loss."""
    most = where(at_loss > 0.0, at_loss, 2.0 * base) - base
    return minimum(1.0, (rtt - base) / maximum(1e-9 * rtt, most))


class Fusion(WindowRule):
    r"""TCP-Fusion (Kaneko et al. 2007, slides): Westwood's decrease, Vegas' target, Reno as a floor.

    With alpha = RE D_min, RE the rate estimate, per round trip: W_inc = B D_min packets more (one per
    12 Mb/s in packets of 1500 bytes, for D_min = 1 ms) while fewer than alpha wait in the queue,
    alpha minus what waits when that is above 3 alpha, and nothing in between; never below the
    window that Reno would have. At a loss the window keeps max(RTT_min/RTT, 1/2); Reno's halves.

    Domain: p <= 0.01. Needs ``bandwidth``; while the queue is empty a loss does not reduce the
    window, and the rate is the capacity over wide ranges of p, so that there is no inverse. Where
    the capacity is not known (a source in a network) the highest rate of ACKs so far stands for it.

    Parameters
    ----------
    min_delay
        D_min, the queueing delay that is resolved, in s.
    gain
        Of the rate estimate, per round trip; 1/8 stands for the filter of TCPW-RE.
    """

    class State(NamedTuple):
        """Window and threshold; shortest RTT in s; RE and top rate in packets/s; Reno's window."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf
        estimate: float = 0.0
        top_rate: float = 0.0
        reno: float = 1.0

    class Params(NamedTuple):
        """D_min in s, gain of the rate estimate."""

        min_delay: float = 1e-3
        gain: float = 0.125

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt", "top_rate")
    capacity: ClassVar[str] = "needed"
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= B D_{\min} [N < \alpha] + (\alpha - N) [N > 3 \alpha]"
        r",\ \text{loss: } W \leftarrow \max(R_{\min} / R, \tfrac12)\, W"
    )
    reference = references.FUSION
    domain = (0.0, 0.01)
    monotone = False
    why_no_inverse = FULL

    def check(self) -> None:
        """Check the ranges of the parameters."""
        one_number("min_delay", self.params.min_delay, above=0.0)
        one_number("gain", self.params.gain, above=0.0, at_most=1.0)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or the larger of the delay-based and Reno's window."""
        base = minimum(s.base_rtt, e.rtt)
        top = maximum(s.top_rate, s.cwnd / e.rtt)
        waiting = queued(s.cwnd, base, e.rtt)
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
        """Keep RTT_min/RTT of the window, at least half."""
        base = minimum(s.base_rtt, e.rtt)
        kept = maximum(1.0, maximum(base / e.rtt, 0.5) * s.cwnd)
        return s._replace(
            cwnd=kept,
            ssthresh=maximum(2.0, kept),
            base_rtt=base,
            reno=maximum(1.0, minimum(kept, 0.5 * s.reno)),
        )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), reno=1.0)
