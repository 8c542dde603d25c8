"""Rules that regain a large window in few round trips: Scalable, H-TCP and Relentless."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow import maximum, minimum, where
from hopflow.checks import choice, one_number
from responsefn import references
from responsefn.rules import WindowRule, cut, grow

if TYPE_CHECKING:
    from responsefn.symbolic import Formula

__all__ = ["HTCP", "Relentless", "Scalable"]


class Scalable(WindowRule):
    r"""Scalable TCP (Kelly 2003): a packets per ACK, whatever the window, and a decrease by b.

    Below the legacy window of 16 packets it is Reno. In a cycle of 1/p ACKs the window grows by
    a/p, so that the peak is W = a/(bp), the 0.08/p that is printed as *the* response for a = 0.01
    and b = 1/8. The time average, derived here, is smaller, as growth is exponential in time::

        T = a / (p ln(1/(1-b)) R) = 0.0749/(pR):  0.08/p is 6.8 % above it.

    ``form="published"`` takes a/(bpR) for the rate.

    Domain: p <= a (1-b)/(16 b), 0.0044 by default: the legacy window is never entered.

    Parameters
    ----------
    a
        Increase per ACK in packets, > 0.
    b
        Fraction of the window lost at a loss, 0 < b <= 1. With b = 1 every cycle begins with Reno
        below the legacy window, and the response is the numerical cycle.
    form
        ``"cycle"`` or ``"published"``.
    """

    class Params(NamedTuple):
        """Increase per ACK in packets, decrease as a fraction, which response, legacy window."""

        a: float = 0.01
        b: float = 0.125
        form: str = "cycle"
        legacy: float = 16.0

    reference = references.KELLY
    domain = (0.0, 0.004)

    def check(self) -> None:
        """Check the ranges of the parameters and the name of the form."""
        one_number("a", self.params.a, above=0.0)
        one_number("b", self.params.b, above=0.0, at_most=1.0)
        choice("form", self.params.form, ("cycle", "published"))
        one_number("legacy", self.params.legacy, at_least=1.0)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, Reno below the legacy window, a above."""
        step = where(s.cwnd < q.legacy, 1.0 / s.cwnd, q.a)
        return grow(s, step)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep 1 - b, or half below the legacy window."""
        kept = where(s.cwnd < q.legacy, 0.5, 1.0 - q.b) * s.cwnd
        return cut(s, kept)

    def formula(self) -> Formula | None:
        """Return rate, peak window and inverse, in p, R, a, b; None for the cycle with b = 1."""
        import sympy as sp

        from responsefn.symbolic import Formula, PowerGrowth, R, T, a, b, p

        growth = PowerGrowth(sp.Integer(1), a, 1 - b)
        published = self.params.form == "published"
        if self.params.b == 1.0 and not published:
            return None
        per_p = a / b if published else a / sp.log(1 / (1 - b))
        return Formula(per_p / (p * R), a / (b * p), per_p / (T * R), growth)


class HTCP(WindowRule):
    r"""H-TCP (Leith and Shorten 2004): the increase grows with the time since the last loss.

    alpha(t) = 1 for t <= 1 s, then 1 + 10 (t-1) + ((t-1)/2)^2, times 2 (1 - beta); the part kept at a
    loss is beta = RTT_min/RTT_max of the cycle, within 0.5 and 0.8. Of the published rule the
    switch back to beta = 1/2 after a change of throughput by more than 20 % is left out: it does
    not act in a steady cycle.

    Response: the numerical cycle, derived here. Without ``bandwidth`` the round-trip time is fixed
    and beta is 0.8.

    Domain: p <= 0.02.
    """

    class State(NamedTuple):
        """Window and threshold in packets; time of the last loss and RTTs in s; part kept."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        since: float = 0.0
        base_rtt: float = math.inf
        top_rtt: float = 0.0
        kept: float = 0.5

    assigned: ClassVar[tuple[str, ...]] = ("since", "base_rtt", "top_rtt", "kept")
    capacity: ClassVar[str] = "optional"
    reference = references.LEITH
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
        a = 2.0 * (1.0 - s.kept) * (1.0 + 10.0 * late + 0.25 * late * late)
        return s._replace(
            cwnd=s.cwnd + where(slow, 1.0, a / s.cwnd),
            since=since,
            base_rtt=minimum(s.base_rtt, e.rtt),
            top_rtt=maximum(s.top_rtt, e.rtt),
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep RTT_min/RTT_max of the window, within 0.5 and 0.8."""
        top = maximum(s.top_rtt, e.rtt)
        kept = minimum(0.8, maximum(0.5, minimum(s.base_rtt, e.rtt) / top))
        return s._replace(
            cwnd=maximum(1.0, kept * s.cwnd),
            ssthresh=maximum(2.0, kept * s.cwnd),
            since=e.time,
            top_rtt=0.0,
            kept=kept,
        )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), top_rtt=0.0)


class Relentless(WindowRule):
    r"""Relentless congestion control (Mathis 2009): one packet less for each packet lost.

    The growth of one packet per round trip makes up for it in one round trip, whatever the window, so
    that a cycle is one round trip of 1/p packets: T = 1/(pR), exactly, with the peak 1/p + 1/2.

    Domain: p <= 0.02.
    """

    reference = references.RELENTLESS
    domain = (0.0, 0.02)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start below the threshold, 1 / cwnd above."""
        return grow(s, 1.0 / s.cwnd)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Lose one packet."""
        return cut(s, s.cwnd - 1.0)

    def formula(self) -> Formula:
        """Return rate, peak window and inverse, in p and R."""
        import sympy as sp

        from responsefn.symbolic import Formula, R, T, p

        return Formula(1 / (p * R), 1 / p + sp.Rational(1, 2), 1 / (T * R))
