"""CUBIC: the window is a cubic function of the time since the last loss."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow.checks import choice, one_number
from hopflow.functions import maximum, minimum, where
from responsefn.responses import references
from responsefn.rules.base import WindowRule

if TYPE_CHECKING:
    from responsefn.responses.closed_forms.symbolic import Formula

__all__ = ["CUBIC"]


class CUBIC(WindowRule):
    r"""CUBIC (RFC 9438): the window is a cubic function of the time since the last loss.

    W(t) = C (t - K)^3 + W_max with K = cbrt(W_max (1 - beta)/C): it returns to the last peak after K
    seconds. Without fast convergence that is the fixed point of the cycle, and SymPy gives RFC 9438's

        mean window = (C (3 + beta)/(4 (1 - beta)))^(1/4) (R/p)^(3/4)

    In the Reno-friendly region the window of an AIMD(3 (1-beta)/(1+beta), 1-beta) flow is taken where
    it is larger. A cycle has only cubic parts for p <= p_1 and only parts of Reno for p >= p_2, ::

        p_1 = 4 (1-beta) C R^3 / ((3+beta) a^2),   p_2 = 54 (1-beta) C R^3 / ((1+beta) a^2)

    with a = 3 (1-beta)/(1+beta);
    between them it begins as the cubic and ends as the line, which `responses.closed_forms.cubic_region` solves; the
    larger of the two responses, which RFC 9438's tables have (``form="published"``, and with 1.2 for
    sqrt(3/2) there), is up to 4 % below. The cycle map is neutral at its fixed point: a peak of (1 + x) W comes
    to (1 + x - c x^3) W, with c = (1-beta) ((3+beta)/3)^3, so that it comes near only as 1/sqrt(2cn) in
    n cycles. Fast convergence does not act at the fixed point, but throws back a peak that passes it:
    the cycle comes from below, and after n cycles its rate is short of the closed form by

        (2 + beta)/3 / sqrt(2cn) = 0.85/sqrt(n),    6 % after 200 cycles, 1.5 % after 3000.

    The closed form holds while the window after a loss is at least 2 packets and, without the
    Reno-friendly region, K at least ten round trips; elsewhere `rate` is the numerical cycle.

    Losses are repaired by SACK: RFC 9438 leaves recovery as it is in RFC 6582 and RFC 6675 (Sect. 4.2) and describes the
    implementations of Linux, Windows and Apple (Sect. 1); Linux and Windows have SACK switched on.

    Domain: p <= 0.02.

    Parameters
    ----------
    C
        Packets/s^3, > 0.
    beta
        Part of the window kept at a loss, 0 < beta < 1.
    fast_convergence
        1 or 0; 1 remembers a peak below the last one as (1 + beta)/2 of it. The closed form is the
        same; the text above says how far from it real cycles are.
    friendly
        1 or 0; 0 without the Reno-friendly region.
    form
        ``"cycle"``, or ``"published"`` for the larger of the two responses.

    Examples
    --------
    >>> from responsefn import CUBIC
    >>> round(CUBIC().rate(1e-5, rtt=0.04), 1)
    13251.2
    >>> round(CUBIC().rate(1e-3, 0.1) / CUBIC(form="published").rate(1e-3, 0.1), 3)
    1.031
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
        """Packets/s^3; part of the window kept; two flags; which response."""

        C: float = 0.4
        beta: float = 0.7
        fast_convergence: int = 0
        friendly: int = 1
        form: str = "cycle"

    assigned: ClassVar[tuple[str, ...]] = ("since", "peak", "plateau")
    recovery: ClassVar[str] = "sack"
    reference = references.RFC9438
    dynamics: ClassVar[str] = (
        r"W = C (t - K)^3 + W_{\max}"
        r",\ \text{loss: } W \leftarrow \beta W"
    )
    domain = (0.0, 0.02)

    def check(self) -> None:
        """Check the ranges of the parameters."""
        one_number("C", self.params.C, above=0.0)
        one_number("beta", self.params.beta, above=0.0, below=1.0)
        choice("fast_convergence", self.params.fast_convergence, (0, 1))
        choice("friendly", self.params.friendly, (0, 1))
        choice("form", self.params.form, ("cycle", "published"))

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or towards the window that the cubic has one round trip ahead."""
        slow = s.cwnd < s.ssthresh
        since = where(slow, e.time, s.since)
        ahead = e.time - since + e.rtt - s.plateau
        curve = q.C * ahead * ahead * ahead + s.peak
        target = minimum(1.5 * s.cwnd, maximum(s.cwnd, curve))
        prior = s.ssthresh / q.beta  # the window when ssthresh was set
        gain = where(s.reno < prior, 3.0 * (1.0 - q.beta) / (1.0 + q.beta), 1.0)
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

    def formula(self) -> Formula:
        """Return rate and peak window in p, R, C, beta."""
        return _cubic(bool(self.params.friendly), self.params.form == "published")


@cache
def _cubic(friendly: bool, published: bool) -> Formula:
    import sympy as sp

    from responsefn.responses.closed_forms.cubic_region import PlateauRatio, ends
    from responsefn.responses.closed_forms.symbolic import Formula, R, a, b, p
    from responsefn.rules.classic import AIMD

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
        condition = sp.And(beta * top >= 2, period >= 10 * R)
        return Formula(window / R, top, condition=condition)
    gentle = AIMD().closed_form().subs({a: 3 * (1 - beta) / (1 + beta), b: 1 - beta})
    reno = sp.sqrt(sp.Rational(3, 2) / p)
    if sp.simplify(gentle.rate**2 * R**2 - reno**2) != 0 or gentle.peak_window is None:
        raise ArithmeticError("the Reno-friendly region is not Reno's")
    if published:
        larger = window > reno
        top = sp.Piecewise((top, larger), (gentle.peak_window, True))
        rate = sp.Piecewise((window, larger), (reno, True)) / R
        return Formula(rate, top, condition=beta * top >= 2)
    slope = 3 * (1 - beta) / (1 + beta)
    longest = sp.sqrt(slope / (R * C))
    u = R / (p * C * longest**4)
    low, high = ends(beta)
    # within the ends also where another branch is taken, for derivatives without NaN
    x = PlateauRatio(sp.Piecewise((low, u < low), (high, u > high), (u, True)), beta)
    branches = [
        (window, top, u >= high),
        (R / (p * longest * x**3), C * (longest * x) ** 3 / (1 - beta), u > low),
        (reno, gentle.peak_window, True),
    ]
    mean = sp.Piecewise(*((value, where) for value, _, where in branches))
    peak = sp.Piecewise(*((value, where) for _, value, where in branches))
    # the peak is at least that of either kind; solved for p, which is quicker to evaluate
    as_cubic = p <= R / (factor * (2 * (1 - beta) / (C * beta)) ** sp.Rational(4, 3))
    as_reno = p <= sp.Rational(3, 2) * (beta / (1 + beta)) ** 2
    return Formula(mean / R, peak, condition=sp.Or(as_cubic, as_reno))
