"""Rules that see the queue: Vegas, Westwood, Illinois, CTCP, FAST, Adaptive Reno and Fusion.

Their responses need the capacity: ``bandwidth=`` in packets/s, with a window above
``bandwidth * rtt`` waiting in a queue that only this flow fills. They are numerical cycles, derived
here, except where the round-trip time is fixed and a closed form is stated.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow import maximum, minimum, where
from hopflow.checks import one_number
from responsefn import references
from responsefn.rules import WindowRule, cut

if TYPE_CHECKING:
    from responsefn.symbolic import Formula

__all__ = ["ARENO", "CTCP", "FAST", "Fusion", "Illinois", "Vegas", "Westwood"]


def queued(cwnd: Any, base: Any, rtt: Any) -> Any:
    """Return how many packets of the window wait in the queue."""
    return cwnd * (rtt - base) / rtt


class Vegas(WindowRule):
    r"""TCP Vegas (Brakmo and Peterson 1995): keeps alpha to beta packets in the queue.

    Per round trip one packet more below alpha, one less above beta, half the window at a loss (the
    gentler cut of a loss that its own fine timer finds is left out).

    Without loss the window rests at W = CR + alpha, with C the capacity in packets/s. With loss the
    numerical cycle, derived here; where it reaches W, 1/p > 3 W^2/8, that is Reno's climb from W/2
    and then the capacity::

        T = (1/p) / (R (CR - W/2) + (1/p - ((CR)^2 - (W/2)^2) / 2) / C)

    Domain: p <= 0.02. Needs ``bandwidth``.

    Parameters
    ----------
    alpha, beta
        Packets in the queue, 0 < alpha <= beta.
    """

    class State(NamedTuple):
        """Window and threshold in packets, shortest RTT in s."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf

    class Params(NamedTuple):
        """Packets in the queue below which the window grows and above which it shrinks."""

        alpha: float = 2.0
        beta: float = 4.0

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt",)
    capacity: ClassVar[str] = "needed"
    reference = references.BRAKMO
    domain = (0.0, 0.02)

    def check(self) -> None:
        """Check the ranges of alpha and beta."""
        one_number("alpha", self.params.alpha, above=0.0)
        one_number("beta", self.params.beta, at_least=self.params.alpha)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or one packet per round trip up, down or not at all."""
        base = minimum(s.base_rtt, e.rtt)
        waiting = queued(s.cwnd, base, e.rtt)
        step = where(waiting < q.alpha, 1.0, where(waiting > q.beta, -1.0, 0.0)) / s.cwnd
        grown = s.cwnd + where(s.cwnd < s.ssthresh, 1.0, step)
        return s._replace(cwnd=maximum(1.0, grown), base_rtt=base)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve."""
        return cut(s, 0.5 * s.cwnd)


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
    reference = references.WESTWOOD
    domain = (0.0, 0.02)
    monotone = False

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


class Illinois(WindowRule):
    r"""TCP-Illinois (Liu, Basar and Srikant 2008): AIMD whose a and b follow the queueing delay.

    With delay d and the largest one D: a = 10 for d <= D/100, falling as 1/(k + d) to 0.3 at D;
    b = 1/8 for d <= D/10, rising linearly to 1/2 at 0.8 D. Below 15 packets it is Reno.

    Response at a fixed round-trip time: that of AIMD(10, 1/8). With ``bandwidth`` the numerical
    cycle, derived here.

    Domain: p <= 0.01 (below Reno's region the closed form is too high).
    """

    class State(NamedTuple):
        """Window and threshold in packets, shortest and longest RTT in s."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf
        top_rtt: float = 0.0

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt", "top_rtt")
    capacity: ClassVar[str] = "optional"
    reference = references.ILLINOIS
    domain = (0.0, 0.01)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or a / cwnd with a by the delay."""
        base, top = minimum(s.base_rtt, e.rtt), maximum(s.top_rtt, e.rtt)
        delay, most = e.rtt - base, top - base
        share = 0.99 * most * 0.3 / (10.0 - 0.3)
        falling = share * 10.0 / maximum(1e-300, share - 0.01 * most + delay)
        a = where(delay <= 0.01 * most, 10.0, falling)
        a = where(s.cwnd < 15.0, 1.0, a)
        step = where(s.cwnd < s.ssthresh, 1.0, a / s.cwnd)
        return s._replace(cwnd=s.cwnd + step, base_rtt=base, top_rtt=top)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Lose b of the window, b by the delay."""
        base, top = minimum(s.base_rtt, e.rtt), maximum(s.top_rtt, e.rtt)
        part = (e.rtt - base) / maximum(1e-300, top - base)
        b = minimum(0.5, maximum(0.125, 0.125 + 0.375 * (part - 0.1) / 0.7))
        kept = (1.0 - where(s.cwnd < 15.0, 0.5, b)) * s.cwnd
        return s._replace(
            cwnd=maximum(1.0, kept), ssthresh=maximum(2.0, kept), base_rtt=base, top_rtt=top
        )

    def formula(self) -> Formula:
        """Return the response of AIMD(10, 1/8)."""
        import sympy as sp

        from responsefn.classic import AIMD
        from responsefn.symbolic import a, b

        return AIMD().closed_form().subs({a: sp.Integer(10), b: sp.Rational(1, 8)})


class CTCP(WindowRule):
    r"""Compound TCP (Tan et al. 2006): a loss window like Reno's and a delay window beside it.

    While fewer than gamma packets wait in the queue their sum W grows by alpha W^k per round trip,
    with a queue the delay window shrinks by zeta of what waits; at a loss W loses b.

    Response at a fixed round-trip time, derived here from the cycle: alpha n = (1 - (1-b)^(2-k))
    W^(2-k)/(2-k) packets and alpha t/R = (1 - (1-b)^(1-k)) W^(1-k)/(1-k), with n = 1/p. With
    ``bandwidth`` the numerical cycle.

    Domain: p <= 3e-4; at larger p alpha W^k falls below Reno's one packet, which the rule then takes.

    Parameters
    ----------
    alpha, k
        Growth per round trip, alpha > 0, 0 <= k < 1.
    b
        Fraction of the window lost at a loss, 0 < b < 1.
    gamma
        Packets in the queue from which the delay window shrinks.
    zeta
        How much of the waiting packets it then gives up per round trip.
    """

    class State(NamedTuple):
        """Window and threshold in packets, loss window in packets, shortest RTT in s."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        loss_window: float = 1.0
        base_rtt: float = math.inf

    class Params(NamedTuple):
        """Growth, decrease, exponent; queue in packets, and what is given up of it."""

        alpha: float = 0.125
        b: float = 0.5
        k: float = 0.75
        gamma: float = 30.0
        zeta: float = 1.0

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt",)
    capacity: ClassVar[str] = "optional"
    reference = references.CTCP
    domain = (0.0, 3e-4)

    def check(self) -> None:
        """Check the ranges of the parameters."""
        one_number("alpha", self.params.alpha, above=0.0)
        one_number("b", self.params.b, above=0.0, below=1.0)
        one_number("k", self.params.k, at_least=0.0, below=1.0)
        one_number("gamma", self.params.gamma, above=0.0)
        one_number("zeta", self.params.zeta, at_least=0.0)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or both windows by their own rules."""
        base = minimum(s.base_rtt, e.rtt)
        waiting = queued(s.cwnd, base, e.rtt)
        slow = s.cwnd < s.ssthresh
        change = where(
            waiting < q.gamma, maximum(0.0, q.alpha * s.cwnd**q.k - 1.0), -q.zeta * waiting
        )
        beside = maximum(0.0, s.cwnd - s.loss_window + where(slow, 0.0, change / s.cwnd))
        loss_window = s.loss_window + where(slow, 1.0, 1.0 / s.cwnd)
        return s._replace(cwnd=loss_window + beside, loss_window=loss_window, base_rtt=base)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Lose b of the sum; the loss window halves."""
        kept = maximum(1.0, (1.0 - q.b) * s.cwnd)
        return s._replace(
            cwnd=kept, ssthresh=maximum(2.0, kept), loss_window=minimum(kept, 0.5 * s.loss_window)
        )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), loss_window=1.0)

    def bindings(self, rtt: Any) -> dict[str, Any]:  # noqa: ARG002
        """Return alpha, b and k."""
        return {"alpha": self.params.alpha, "b": self.params.b, "k": self.params.k}

    def formula(self) -> Formula:
        """Return rate and peak window in p, R, alpha, b, k."""
        return _power_growth()


class FAST(WindowRule):
    r"""FAST TCP (Wei et al. 2006): moves towards alpha packets in the queue, by gamma per round trip.

    w <- min(2w, (1-gamma) w + gamma (RTT_min/RTT w + alpha)); half the window at a loss.

    Without loss the window rests at CR + alpha, with C the capacity in packets/s. With loss the
    numerical cycle, derived here; from half the window that is a climb by gamma alpha packets per
    round trip to CR, a queue that comes near alpha as an exponential, and rest.

    Domain: p <= 0.02. Needs ``bandwidth``.

    Parameters
    ----------
    alpha
        Packets in the queue, > 0; FAST's users set it by the capacity, 100 is ns-2's default.
    gamma
        Part of the way per round trip, 0 < gamma <= 1.
    """

    class State(NamedTuple):
        """Window and threshold in packets, shortest RTT in s."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf

    class Params(NamedTuple):
        """Packets in the queue, part of the way per round trip."""

        alpha: float = 100.0
        gamma: float = 0.5

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt",)
    capacity: ClassVar[str] = "needed"
    reference = references.FAST
    domain = (0.0, 0.02)

    def check(self) -> None:
        """Check the ranges of the parameters."""
        one_number("alpha", self.params.alpha, above=0.0)
        one_number("gamma", self.params.gamma, above=0.0, at_most=1.0)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Move towards the target, at most doubling per round trip."""
        base = minimum(s.base_rtt, e.rtt)
        step = q.gamma * (q.alpha - queued(s.cwnd, base, e.rtt)) / s.cwnd
        grown = s.cwnd + where(s.cwnd < s.ssthresh, 1.0, minimum(1.0, step))
        return s._replace(cwnd=maximum(1.0, grown), base_rtt=base)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve."""
        return cut(s, 0.5 * s.cwnd)


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
    reference = references.ARENO
    domain = (0.0, 0.02)
    monotone = False

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
    reference = references.FUSION
    domain = (0.0, 0.01)
    monotone = False

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


@cache
def _power_growth() -> Formula:
    import sympy as sp

    from responsefn.symbolic import Formula, PowerGrowth, R, b, p

    alpha, k, W = sp.symbols("alpha k W", positive=True)
    rounds = (1 - (1 - b) ** (1 - k)) * W ** (1 - k) / (alpha * (1 - k))
    share = (1 - (1 - b) ** (2 - k)) / (alpha * (2 - k))  # packets over W^(2-k)
    peak = (1 / (p * share)) ** (1 / (2 - k))
    growth = PowerGrowth(2 - k, alpha, 1 - b)
    return Formula(1 / (p * rounds.subs(W, peak) * R), peak, growth=growth)
