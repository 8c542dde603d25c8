"""Loss-based rules for large windows: HSTCP, Scalable, BIC, CUBIC, H-TCP, Relentless, and DCTCP.

All but H-TCP ignore the queue: the round-trip time is fixed.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow import maximum, minimum, where
from hopflow.checks import choice, one_number
from responsefn import references
from responsefn.rules import WindowRule, cut, grow

if TYPE_CHECKING:
    from responsefn.symbolic import Formula

__all__ = ["BIC", "CUBIC", "DCTCP", "HSTCP", "HTCP", "Relentless", "Scalable"]

LOW_WINDOW, HIGH_WINDOW, HIGH_DECREASE = 38.0, 83000.0, 0.1
"""RFC 3649, Sect. 5: the windows at p = 10^-3 and 10^-7 in packets, and b at the upper one."""

# RFC 3649, Appendix B: a(w) reaches 1, 2, 3 ... at these windows, where b(w) is these 256ths
# (also in validation/published, with the source; a test compares them)
WINDOWS = (
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399,
    3778, 4177, 4596, 5036, 5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358,
    12082, 12834, 13614, 14424, 15265, 16137, 17042, 17981, 18955, 19965, 21013, 22101, 23230,
    24402, 25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586, 37253, 38992, 40808, 42707,
    44694, 46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401, 79517,
    84035, 89053,
)  # fmt: skip
DECREASES = (
    128, 112, 104, 98, 93, 89, 86, 83, 81, 78, 76, 74, 72, 71, 69, 68, 66, 65, 64, 62, 61, 60,
    59, 58, 57, 56, 55, 54, 53, 52, 52, 51, 50, 49, 48, 48, 47, 46, 45, 45, 44, 43, 43, 42, 41,
    41, 40, 39, 39, 38, 38, 37, 36, 36, 35, 35, 34, 33, 33, 32, 32, 31, 30, 30, 29, 28, 28, 27,
    26, 26, 25, 24,
)  # fmt: skip


def highspeed_decrease(w: Any) -> Any:
    """Return b(w) of RFC 3649, 1/2 at 38 packets and 0.1 at 83000, linear in log w."""
    share = math.log(maximum(w, LOW_WINDOW) / LOW_WINDOW) / math.log(HIGH_WINDOW / LOW_WINDOW)
    return 0.5 + (HIGH_DECREASE - 0.5) * share


def highspeed_increase(w: Any) -> Any:
    """Return a(w) of RFC 3649: what keeps w at the loss rate p(w) = 0.078/w^1.2 with b(w)."""
    b = highspeed_decrease(w)
    return maximum(1.0, where(w <= LOW_WINDOW, 1.0, 0.078 * w**0.8 * 2.0 * b / (2.0 - b)))


def table_row(w: Any) -> Any:
    """Return the row of RFC 3649's table that a window uses: the first that is not below it."""
    row = 0
    for edge in WINDOWS:
        row += where(w > edge, 1, 0)
    return min(row, len(WINDOWS) - 1)


class HSTCP(WindowRule):
    r"""HighSpeed TCP (RFC 3649): Reno up to 38 packets, then less cautious the larger the window.

    Published response: w = 38 (p / 10^-3)^-0.835 for p < 10^-3, a straight line on logarithmic axes
    through (10^-3, 38) and (10^-7, 83000), printed as 0.12/p^0.835, and Reno's above. It is the
    design from which a(w) = w^2 p(w) 2 b(w)/(2 - b(w)) follows, and not what the rule does in a
    cycle of constant p; ``form="cycle"`` is the numerical solution of that cycle, derived here.
    With ``table=1`` the dynamics uses the integer table of Appendix B, whose a is up to
    one packet larger than the formula (twice it just above 38 packets), and the cycle is always
    numerical.

    Domain: p from 10^-7 to 10^-3.

    Parameters
    ----------
    form
        ``"published"`` or ``"cycle"``.
    table
        1 for the integer table, 0 for the formulas.
    """

    class Params(NamedTuple):
        """Which response; whether a and b come from the integer table (1) or the formulas (0)."""

        form: str = "published"
        table: int = 0

    reference = references.RFC3649
    domain = (1e-7, 1e-3)

    def check(self) -> None:
        """Check the name of the form and the flag."""
        choice("form", self.params.form, ("published", "cycle"))
        choice("table", self.params.table, (0, 1))

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start below the threshold, a(cwnd) / cwnd above."""
        a = where(q.table > 0, table_row(s.cwnd) + 1.0, highspeed_increase(s.cwnd))
        return grow(s, a / s.cwnd)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Lose the part b(cwnd)."""
        b = where(q.table > 0, DECREASES[table_row(s.cwnd)] / 256.0, highspeed_decrease(s.cwnd))
        return cut(s, (1.0 - b) * s.cwnd)

    def formula(self) -> Formula | None:
        """Return the published response, None for the cycle or the table."""
        published = self.params.form == "published" and not self.params.table
        return _highspeed() if published else None


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
        Fraction of the window lost at a loss, 0 < b < 1.
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
        one_number("b", self.params.b, above=0.0, below=1.0)
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

    def formula(self) -> Formula:
        """Return rate, peak window and inverse, in p, R, a, b."""
        import sympy as sp

        from responsefn.symbolic import Formula, PowerGrowth, R, T, a, b, p

        growth = PowerGrowth(sp.Integer(1), a, 1 - b)
        published = self.params.form == "published"
        per_p = a / b if published else a / sp.log(1 / (1 - b))
        return Formula(per_p / (p * R), a / (b * p), per_p / (T * R), growth)


class BIC(WindowRule):
    r"""BIC TCP (Xu, Harfoush and Rhee 2004): binary search for the window of the last loss.

    Per round trip the window takes half the distance to the last peak, at most ``largest`` and at
    least ``smallest`` packets; above the peak its distance from it doubles, within the same bounds.
    Below ``low_window`` packets it is Reno. With fast convergence a peak below the last one is
    remembered as (2 - b)/2 of it.

    Response: the numerical cycle, derived here. The published form for large p, AIMD with
    a = ``largest``, holds only as far as the search is a small part of the cycle.

    Domain: p <= 0.01.

    Parameters
    ----------
    b
        Fraction of the window lost at a loss, 0 < b < 1.
    largest, smallest
        Bounds of the increase per round trip in packets.
    low_window
        Packets below which it is Reno.
    fast_convergence
        1 or 0.
    """

    class State(NamedTuple):
        """Window, threshold and remembered peak in packets."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        peak: float = 1e9

    class Params(NamedTuple):
        """Decrease, bounds of the increase in packets, Reno's region in packets, a flag."""

        b: float = 0.125
        largest: float = 32.0
        smallest: float = 0.01
        low_window: float = 14.0
        fast_convergence: int = 1

    reference = references.BIC
    domain = (0.0, 0.01)

    def check(self) -> None:
        """Check the ranges of the parameters."""
        one_number("b", self.params.b, above=0.0, below=1.0)
        one_number("smallest", self.params.smallest, above=0.0)
        one_number("largest", self.params.largest, at_least=self.params.smallest)
        one_number("low_window", self.params.low_window, at_least=0.0)
        choice("fast_convergence", self.params.fast_convergence, (0, 1))

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, Reno's region, or the search."""
        distance = where(s.cwnd < s.peak, 0.5 * (s.peak - s.cwnd), s.cwnd - s.peak)
        search = minimum(q.largest, maximum(q.smallest, distance))
        step = where(s.cwnd < q.low_window, 1.0, search) / s.cwnd
        return grow(s, step)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Remember the peak, keep 1 - b (half in Reno's region)."""
        lower = where(s.cwnd < s.peak, q.fast_convergence, 0.0)
        kept = where(s.cwnd < q.low_window, 0.5, 1.0 - q.b) * s.cwnd
        return s._replace(
            cwnd=maximum(1.0, kept),
            ssthresh=maximum(2.0, kept),
            peak=s.cwnd * (1.0 - 0.5 * q.b * lower),
        )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), peak=s.cwnd)


class CUBIC(WindowRule):
    r"""CUBIC (RFC 9438): the window is a cubic function of the time since the last loss.

    W(t) = C (t - K)^3 + W_max with K = cbrt(W_max (1 - beta)/C): it returns to the last peak after K
    seconds. Without fast convergence that is the fixed point of the cycle, and SymPy gives RFC 9438's

        mean window = (C (3 + beta)/(4 (1 - beta)))^(1/4) (R/p)^(3/4)

    In the Reno-friendly region the window of an AIMD(3 (1-beta)/(1+beta), 1-beta) flow is taken where
    it is larger; the closed form is the larger of the two responses, as in RFC 9438's tables (which
    round sqrt(3/2) to 1.2). The cycle map without fast convergence is neutral at its fixed point:
    from elsewhere it comes near only as 1/sqrt(n) in n cycles. With fast convergence the response is
    the numerical cycle, derived here; it lies below.

    Domain: p <= 0.02; near the border of the Reno-friendly region, where a cycle has parts of both
    kinds, the rule is above the closed form.

    Parameters
    ----------
    C
        Packets/s^3, > 0.
    beta
        Part of the window kept at a loss, 0 < beta < 1.
    fast_convergence
        1 or 0; 1 remembers a peak below the last one as (1 + beta)/2 of it.
    friendly
        1 or 0; 0 without the Reno-friendly region.
    """

    class State(NamedTuple):
        """Window, threshold, last peak in packets; K and the time of the last loss in s; W_est."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        peak: float = 0.0
        plateau: float = 0.0
        since: float = 0.0
        reno: float = 1.0

    class Params(NamedTuple):
        """Packets/s^3; part of the window kept; two flags."""

        C: float = 0.4
        beta: float = 0.7
        fast_convergence: int = 0
        friendly: int = 1

    assigned: ClassVar[tuple[str, ...]] = ("since", "peak", "plateau")
    reference = references.RFC9438
    domain = (0.0, 0.02)

    def check(self) -> None:
        """Check the ranges of the parameters."""
        one_number("C", self.params.C, above=0.0)
        one_number("beta", self.params.beta, above=0.0, below=1.0)
        choice("fast_convergence", self.params.fast_convergence, (0, 1))
        choice("friendly", self.params.friendly, (0, 1))

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or towards the window that the cubic has one round trip ahead."""
        slow = s.cwnd < s.ssthresh
        since = where(slow, e.time, s.since)
        ahead = e.time - since + e.rtt - s.plateau
        target = q.C * ahead * ahead * ahead + s.peak
        target = minimum(1.5 * s.cwnd, maximum(s.cwnd, target))
        gain = where(s.reno < s.peak, 3.0 * (1.0 - q.beta) / (1.0 + q.beta), 1.0)
        reno = where(slow, s.cwnd + 1.0, s.reno + gain / s.cwnd)
        cubic = s.cwnd + where(slow, 1.0, (target - s.cwnd) / s.cwnd)
        return s._replace(
            cwnd=where(q.friendly > 0, maximum(cubic, reno), cubic),
            peak=where(slow, s.cwnd, s.peak),
            plateau=where(slow, 0.0, s.plateau),
            since=since,
            reno=reno,
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep beta; the cube root is taken here, once."""
        lower = where(s.cwnd < s.peak, q.fast_convergence, 0.0)
        peak = s.cwnd * (1.0 - 0.5 * (1.0 - q.beta) * lower)
        kept = maximum(1.0, q.beta * s.cwnd)
        return s._replace(
            cwnd=kept,
            ssthresh=maximum(2.0, q.beta * s.cwnd),
            peak=peak,
            plateau=(maximum(0.0, peak - kept) / q.C) ** (1.0 / 3.0),
            since=e.time,
            reno=kept,
        )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to beta of the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, q.beta * s.cwnd), reno=1.0)

    def bindings(self, rtt: Any) -> dict[str, Any]:  # noqa: ARG002
        """Return C and beta."""
        return {"C": self.params.C, "beta": self.params.beta}

    def formula(self) -> Formula | None:
        """Return rate and peak window in p, R, C, beta; None with fast convergence."""
        return None if self.params.fast_convergence else _cubic(bool(self.params.friendly))


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


class DCTCP(WindowRule):
    r"""DCTCP (RFC 8257): the window falls by half the part of its packets that were marked.

    Here p is the part of packets that carry a congestion mark, not a loss rate. alpha is its average
    with gain ``g`` per window; once per window with a mark cwnd falls by alpha/2 of it.

    Published response for marks in every window: one packet of growth per round trip against
    alpha/2 = p/2 of the window, T = 2/(pR). With every 1/p-th packet marked the direct simulation
    is 2 % below; the average of marks needs 1/p round trips and more to settle.

    Domain: p from 0.001 to 0.1.

    Parameters
    ----------
    g
        Gain of the average, 0 < g <= 1.
    """

    class State(NamedTuple):
        """Window and threshold in packets, marked part, ACKs since the last cut."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        alpha: float = 1.0
        since: float = 0.0

    class Params(NamedTuple):
        """Gain of the average of the marked part."""

        g: float = 1 / 16

    reference = references.RFC8257
    domain = (1e-3, 0.1)

    def check(self) -> None:
        """Check the range of g."""
        one_number("g", self.params.g, above=0.0, at_most=1.0)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start or 1 / cwnd; alpha decays."""
        return s._replace(
            cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, 1.0 / s.cwnd),
            alpha=s.alpha - q.g * s.alpha / s.cwnd,
            since=s.since + 1.0,
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Count a mark; cut the window by alpha/2 if the last cut is a window ago."""
        alpha = minimum(1.0, s.alpha + q.g / s.cwnd)
        cut = s.since >= s.cwnd
        kept = where(cut, 1.0 - 0.5 * alpha, 1.0) * s.cwnd
        return s._replace(
            cwnd=maximum(1.0, kept),
            ssthresh=where(cut, maximum(2.0, kept), minimum(s.ssthresh, maximum(2.0, s.cwnd))),
            alpha=alpha,
            since=where(cut, 0.0, s.since),
        )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), since=0.0)

    def formula(self) -> Formula:
        """Return rate and inverse, in p and R."""
        from responsefn.symbolic import Formula, R, T, p

        return Formula(2 / (p * R), None, 2 / (T * R))


@cache
def _highspeed() -> Formula:
    import sympy as sp

    from responsefn.symbolic import Formula, R, p

    low_p, slope = (
        sp.Rational(1, 1000),
        sp.log(sp.Rational(83000, 38)) / sp.log(sp.Rational(1, 10000)),
    )
    fast = 38 * (p / low_p) ** sp.Float(slope.evalf(30), 30)
    reno = sp.sqrt(3 / (2 * p))
    # the two branches do not meet: 38 against 38.7 at p = 10^-3; the larger keeps it monotone
    window = sp.Piecewise((fast, fast > reno), (reno, True))
    return Formula(window / R)


@cache
def _cubic(friendly: bool) -> Formula:
    import sympy as sp

    from responsefn.classic import AIMD
    from responsefn.symbolic import Formula, R, a, b, p

    C, beta, K, t = sp.symbols("C beta K t", positive=True)
    peak = C * K**3 / (1 - beta)  # the window is back at the peak after K seconds
    mean = sp.integrate(sp.expand(C * (t - K) ** 3), (t, 0, K)) / K + peak
    # K mean / R packets are 1/p; mean and peak are multiples of K^3
    factor = sp.factor(sp.simplify(mean / K**3))
    period = (R / (p * factor)) ** sp.Rational(1, 4)
    window = (C * (3 + beta) / (4 * (1 - beta))) ** sp.Rational(1, 4) * (R / p) ** sp.Rational(3, 4)
    if sp.simplify(factor - C * (3 + beta) / (4 * (1 - beta))) != 0:
        raise ArithmeticError("the cubic's fixed point is not RFC 9438's")
    top = peak.subs(K, period)
    if not friendly:
        return Formula(window / R, top)
    gentle = AIMD().closed_form().subs({a: 3 * (1 - beta) / (1 + beta), b: 1 - beta})
    reno = sp.sqrt(sp.Rational(3, 2) / p)
    if sp.simplify(gentle.rate**2 * R**2 - reno**2) != 0 or gentle.peak_window is None:
        raise ArithmeticError("the Reno-friendly region is not Reno's")
    larger = window > reno
    return Formula(
        sp.Piecewise((window, larger), (reno, True)) / R,
        sp.Piecewise((top, larger), (gentle.peak_window, True)),
    )
