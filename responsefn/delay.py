"""Rules that go by the queueing delay: Vegas, FAST and Illinois.

Their responses need the capacity: ``bandwidth=`` in packets/s, with a window above
``bandwidth * rtt`` waiting in a queue that only this flow fills. They are numerical cycles, derived
here, except where the round-trip time is fixed and a closed form is stated.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow import maximum, minimum, where
from hopflow.checks import one_number
from responsefn import references
from responsefn.rules import WindowRule, cut

if TYPE_CHECKING:
    from responsefn.symbolic import Formula

__all__ = ["FAST", "Illinois", "Vegas", "queued"]


def queued(cwnd: Any, base: Any, rtt: Any) -> Any:
    """Return how many packets of the window wait in the queue."""
    return cwnd * (rtt - base) / rtt


class QueueRule(WindowRule):
    """Base of rules that keep some packets in the queue, and halve the window at a loss."""

    class State(NamedTuple):
        """Window and threshold in packets, shortest RTT in s."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt",)
    capacity: ClassVar[str] = "needed"
    domain = (0.0, 0.02)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve."""
        return cut(s, 0.5 * s.cwnd)


class Vegas(QueueRule):
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

    class Params(NamedTuple):
        """Packets in the queue below which the window grows and above which it shrinks."""

        alpha: float = 2.0
        beta: float = 4.0

    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= [N < \alpha] - [N > \beta],\ N = W (1 - R_{\min} / R)"
        r",\ \text{loss: } W \leftarrow W / 2"
    )
    reference = references.BRAKMO

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


class FAST(QueueRule):
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

    class Params(NamedTuple):
        """Packets in the queue, part of the way per round trip."""

        alpha: float = 100.0
        gamma: float = 0.5

    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= \gamma (\alpha - N),\ N = W (1 - R_{\min} / R)"
        r",\ \text{loss: } W \leftarrow W / 2"
    )
    reference = references.FAST

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


class Illinois(WindowRule):
    r"""TCP-Illinois (Liu, Basar and Srikant 2008): AIMD whose a and b follow the queueing delay.

    With delay d and the largest one D: a = 10 for d <= D/100, falling as 1/(k + d) to 0.3 at D;
    b = 1/8 for d <= D/10, rising linearly to 1/2 at 0.8 D. Below 15 packets it is Reno.

    Response at a fixed round-trip time: that of AIMD(10, 1/8). With ``bandwidth`` the numerical
    cycle, derived here. It jumps where the peak is what the path holds: any queue, however short, is
    the largest delay D while none was longer, and the cut is 1/2 with it and 1/8 without. There
    cycles alternate, and over a range of p on both sides there is no inverse.

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
        above = where(delay <= 0.01 * most, 10.0, falling)
        a = where(s.cwnd < 15.0, 1.0, above)
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
