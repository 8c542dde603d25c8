"""CUBIC: the window is a cubic function of the time since the last loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import param
from responsefn.closed_forms.printed import use_printed
from responsefn.response import rfc
from responsefn.rules.base import WindowRule

if TYPE_CHECKING:
    from responsefn.closed_forms.symbolic import Formula

__all__ = ["CUBIC", "begin_curve"]


class HyStartCUBICState(NamedTuple):
    """Window and threshold in packets; the last peak, the origin of the curve and its plateau; times in s.

    ``reno``: window of the Reno-friendly region; then HyStart's ACKs left in this round, its minimum RTT and samples.
    """

    cwnd: float = 1.0
    ssthresh: float = math.inf
    peak: float = 0.0
    origin: float = 0.0
    plateau: float = 0.0
    since: float = -1.0
    base_rtt: float = math.inf
    reno: float = 1.0
    left: float = 0.0
    round_min_rtt: float = math.inf
    samples: float = 0.0


class CUBIC(WindowRule):
    r"""CUBIC (RFC 9438): the window is a cubic function of the time since the last loss.

    W(t) = C (t - K)^3 + W_max with K = cbrt(W_max (1 - beta)/C). Where the window is W(t) it returns to the last peak
    after K seconds, the fixed point of the cycle without fast convergence, and SymPy gives RFC 9438's

        mean window = (C (3 + beta)/(4 (1 - beta)))^(1/4) (R/p)^(3/4) = R/(p K)

    The window of Sect. 4.4 grows by (W(t + R) - cwnd)/cwnd per ACK and so lags behind W(t). Its linear equation
    R cwnd' = W(t + R) - cwnd returns to the peak x R later, x^3 + 3 x = 2, and to first order in R/K a cycle lasts

        K + x (2 + beta)/(3 + beta) R = K + 0.435 R for beta = 0.7

    with the K of the mean window above. The rate is one loss per 1/p packets of that cycle, lower than the RFC's by 1 %
    where K is 43 round trips. In the Reno-friendly region the window is that of an AIMD(3 (1-beta)/(1+beta), 1-beta)
    flow if it is larger. A cycle has only cubic parts for p <= p_1 and only parts of Reno for p >= p_2, ::

        p_1 = 4 (1-beta) C R^3 / ((3+beta) a^2),   p_2 = 54 (1-beta) C R^3 / ((1+beta) a^2)

    with a = 3 (1-beta)/(1+beta) (the lag lowers p_1 by 2 x R/K);
    between them it begins as the cubic and ends as the line, which `responses.closed_forms.cubic_region` solves; the
    larger of the two responses, which RFC 9438's tables have (``form="published"``, and with 1.2 for
    sqrt(3/2) there), differs from it by up to 4 %. The cycle map is neutral at its fixed point: a peak of (1 + x) W
    becomes (1 + x - c x^3) W, with c = (1-beta) ((3+beta)/3)^3, so that its distance falls only as 1/sqrt(2cn) in
    n cycles. Fast convergence does not act at the fixed point, but sets back a peak that passes it:
    the cycle approaches from below, and after n cycles its rate is below the RFC's by

        (2 + beta)/3 / sqrt(2cn) = 0.85/sqrt(n),    6 % after 200 cycles, 1.5 % after 3000.

    The closed form holds within 0.5 % of the cycle ACK by ACK where the window after a loss is at least 2 packets, and
    K at least 6 round trips with p at most 1/250, or at least 7 round trips if the cycle ends as the line. The line
    alone needs neither. ``form="published"`` holds within 4 %: from K of 11 round trips on. Elsewhere `rate` is the
    numerical cycle.

    The recovery is SACK: RFC 9438 keeps the recovery of RFC 6582 and RFC 6675 (Sect. 4.2) and describes the
    implementations of Linux, Windows and Apple (Sect. 1); Linux and Windows enable SACK.

    Domain: p <= 0.02.

    Parameters
    ----------
    C
        Packets/s^3, > 0.
    beta
        Multiplicative decrease factor: a loss leaves beta of the window, 0 < beta < 1.
    fast_convergence
        1 or 0; 1 stores a peak below the previous peak as (1 + beta)/2 of it, RFC 9438's heuristic (Sect. 4.7) for
        competing flows, which is not the default here. It does not change the closed form; the text above gives
        the difference of real cycles.
    friendly
        1 or 0; 0 without the Reno-friendly region.
    form
        ``"cycle"``, or ``"published"`` for RFC 9438's mean window, the larger of the two responses.

    Examples
    --------
    >>> from responsefn import CUBIC
    >>> round(CUBIC().rate(1e-5, rtt=0.04), 1)
    13220.7
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
        """Packets/s^3; multiplicative decrease factor; two flags; response function."""

        C: float = param(0.4, above=0.0, source="RFC 9438, Sect. 5.1: C SHOULD be set to 0.4")
        beta: float = param(
            0.7,
            above=0.0,
            below=1.0,
            source="RFC 9438, Sect. 4.6: beta_cubic SHOULD be set to 0.7",
        )
        fast_convergence: int = param(
            0,
            choices=(0, 1),
            source="own choice: RFC 9438, Sect. 4.7 is a heuristic for the coming of others; its fixed point is the "
            "same",
        )
        friendly: int = param(
            1,
            choices=(0, 1),
            source="RFC 9438, Sect. 4.3: the Reno-friendly region",
        )
        form: str = param(
            "cycle",
            choices=("cycle", "published"),
            source="own choice: the cycle of the larger of two windows (RFC 9438, Sect. 4.2), not the larger of two "
            "responses",
        )

    capacity: ClassVar[str] = "ignored"
    assigned: ClassVar[tuple[str, ...]] = ("since", "peak", "plateau")
    recovery: ClassVar[str] = "sack"
    catalogue_rows = ({}, {"fast_convergence": 1})
    reference = rfc(
        9438,
        "L. Xu et al., CUBIC for fast and long-distance networks, 2023",
        "Sect. 4.2 to 4.7, 5.2",
    )
    dynamics: ClassVar[str] = (
        r"W = C (t - K)^3 + W_{\max}"
        r",\ \text{loss: } W \leftarrow \beta W"
    )
    domain = (0.0, 0.02)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or growth towards the cubic's window one round trip ahead."""
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
        """Multiply the window by beta, and compute K with its cube root once."""
        lower = where(s.cwnd < s.peak, q.fast_convergence, 0.0)
        peak = s.cwnd * (1.0 - 0.5 * (1.0 - q.beta) * lower)
        return begin_curve(s, q.C, maximum(1.0, q.beta * s.cwnd), peak, e.time)

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


def begin_curve(s: Any, C: Any, window: Any, peak: Any, now: Any) -> Any:
    """Return the state after a loss that leaves ``window`` packets, on the curve back to ``peak``."""
    plateau = (maximum(0.0, peak - window) / C) ** (1.0 / 3.0)
    ssthresh = maximum(2.0, window)
    return s._replace(cwnd=window, ssthresh=ssthresh, peak=peak, plateau=plateau, since=now, reno=window)


MIN_ROUNDS = 6  # own choice: where the first order of the lag is within 0.2 % of single ACKs
"""Minimum round trips in K for the first order of the lag: 0.2 % at 6 to 10 round trips, with many packets."""
# own choice: where the formula without lag is within 0.5 % of single ACKs
MIN_ROUNDS_TO_LINE = 7
"""Minimum round trips in K if the cycle ends as the line, whose formula has no lag.

The error is 0.34 % at 7 and 0.48 % at 6 round trips, for p up to 0.02."""
MIN_CYCLE_PACKETS = 250  # own choice: one packet of a cycle is below 0.5 %
"""Minimum packets of a cubic cycle for a continuous number of packets: the error is about one packet."""
# RFC 9438, Sect. 5.1: its formulas leave out the lag; they differ from single ACKs by this
PUBLISHED_ERROR = 0.04
"""Relative error up to which the published form is used, its error between p_1 and p_2."""


# root of x^3 + 3 x = 2 by Cardano: (1 + sqrt 2)^(1/3) - (1 + sqrt 2)^(-1/3)
LAG = 0.5960716379833215
"""Delay of the window's return to the last peak in round trips: the root of x^3 + 3 x = 2."""


class _Symbols(NamedTuple):
    """Symbols and terms of all forms.

    These are C and beta, RFC 9438's mean window and its K in s, the peak as a function of K, and ``lasts``.
    """

    C: Any
    beta: Any
    window: Any
    period: Any
    peak: Callable[[Any], Any]
    lasts: Callable[[Any], Any]


@use_printed((False, False), (False, True), (True, False), (True, True))
def _cubic(friendly: bool, published: bool) -> Formula:
    import sympy as sp

    from responsefn.closed_forms.symbolic import Formula, R, p

    symbols = _symbols()
    beta = symbols.beta
    by_lag = LAG * (2 + beta) / (3 + beta)
    if published:
        top, condition = symbols.peak(symbols.period), symbols.lasts(by_lag / PUBLISHED_ERROR)
        if friendly:
            return _larger_response(symbols, top, condition)
        return Formula(symbols.window / R, top, condition=sp.And(beta * top >= 2, condition))
    length, plateau = symbols.period + by_lag * R, symbols.period - LAG / (3 + beta) * R
    condition = sp.And(symbols.lasts(MIN_ROUNDS), p <= sp.Rational(1, MIN_CYCLE_PACKETS))
    if friendly:
        return _friendly(symbols, length, plateau, condition)
    top = symbols.peak(plateau)
    return Formula(1 / (p * length), top, condition=sp.And(beta * top >= 2, condition))


@cache
def _symbols() -> _Symbols:
    """Return RFC 9438's mean window, from the cubic, with the condition that K is at least `MIN_ROUNDS` round trips."""
    import sympy as sp

    from responsefn.closed_forms.symbolic import R, p

    C, beta, K, t = sp.symbols("C beta K t", positive=True)
    peak = C * K**3 / (1 - beta)  # the window is back at the peak after K seconds
    mean = sp.integrate(sp.expand(C * (t - K) ** 3), (t, 0, K)) / K + peak
    # K mean / R packets are 1/p; mean and peak are multiples of K^3
    factor = sp.factor(sp.simplify(mean / K**3))
    period = (R / (p * factor)) ** sp.Rational(1, 4)
    window = (C * (3 + beta) / (4 * (1 - beta))) ** sp.Rational(1, 4) * (R / p) ** sp.Rational(3, 4)
    if sp.simplify(factor - C * (3 + beta) / (4 * (1 - beta))) != 0:
        raise ArithmeticError("the cubic's fixed point is not RFC 9438's")

    def lasts(rounds: Any) -> Any:
        """Return the condition that K is at least this number of round trips."""
        return p <= R / (factor * (rounds * R) ** 4)

    return _Symbols(C, beta, window, period, lambda plateau: peak.subs(K, plateau), lasts)


def _line(symbols: _Symbols) -> tuple[Any, Any, Any]:
    """Return rate times R and peak of the Reno-friendly window, and K_0.

    K_0 is the K with which the cubic and the Reno-friendly window reach that peak together.
    """
    import sympy as sp

    from responsefn.closed_forms.symbolic import R, a, b, p
    from responsefn.rules.classic import AIMD

    slope = 3 * (1 - symbols.beta) / (1 + symbols.beta)
    gentle = AIMD().closed_form().subs({a: slope, b: 1 - symbols.beta})
    reno = sp.sqrt(sp.Rational(3, 2) / p)
    if sp.simplify(gentle.rate**2 * R**2 - reno**2) != 0 or gentle.peak_window is None:
        raise ArithmeticError("the Reno-friendly region is not Reno's")
    return reno, gentle.peak_window, sp.sqrt(slope / (R * symbols.C))


def _larger_response(symbols: _Symbols, top: Any, condition: Any) -> Formula:
    """Return the larger of RFC 9438's two responses."""
    import sympy as sp

    from responsefn.closed_forms.cubic_region import ends
    from responsefn.closed_forms.symbolic import Formula, R, p

    reno, peak, longest = _line(symbols)
    larger = symbols.window > reno
    top = sp.Piecewise((top, larger), (peak, True))
    rate = sp.Piecewise((symbols.window, larger), (reno, True)) / R
    u, (low, high) = R / (p * symbols.C * longest**4), ends(symbols.beta)
    to_line = sp.And(symbols.lasts(MIN_ROUNDS_TO_LINE), u < high)
    held = sp.Or(condition, to_line, u <= low)
    return Formula(rate, top, condition=sp.And(symbols.beta * top >= 2, held))


def _friendly(symbols: _Symbols, length: Any, plateau: Any, condition: Any) -> Formula:
    """Return the response with the Reno-friendly region, of cubic cycles with this length and K, in s.

    Where the line reaches the peak before the lagging cubic, a cycle is as long as the line takes, (K/K_0)^3 K_0, of
    first order in K/K_0 - 1.
    """
    import sympy as sp

    from responsefn.closed_forms.cubic_region import PlateauRatio, ends
    from responsefn.closed_forms.symbolic import Formula, R, p

    C, beta = symbols.C, symbols.beta
    reno, of_line, longest = _line(symbols)
    u, (low, high) = R / (p * C * longest**4), ends(beta)
    more = (u / high - 1) / (4 + 8 / (3 + beta))  # K/K_0 - 1 where the line ends the cycle
    # within the ends also where another branch is taken, for derivatives without NaN
    x = PlateauRatio(sp.Piecewise((low, u < low), (high, u > high), (u, True)), beta)
    branches = [
        (reno / R, of_line, u <= low),
        (1 / (p * longest * x**3), symbols.peak(longest * x), u < high),
        (
            1 / (p * longest * (1 + 3 * more)),
            symbols.peak(longest * (1 + more)),
            longest * (1 + 3 * more) < length,
        ),
        (1 / (p * length), symbols.peak(plateau), True),
    ]
    rate = sp.Piecewise(*((value, where) for value, _, where in branches))
    peak = sp.Piecewise(*((value, where) for _, value, where in branches))
    # the peak is at least that of either kind; solved for p, which is quicker to evaluate
    as_cubic = symbols.lasts((2 * (1 - beta) / (C * beta)) ** sp.Rational(1, 3) / R)
    as_reno = p <= sp.Rational(3, 2) * (beta / (1 + beta)) ** 2
    ended = sp.Or(condition, sp.And(symbols.lasts(MIN_ROUNDS_TO_LINE), u < high), u <= low)
    return Formula(rate, peak, condition=sp.And(sp.Or(as_cubic, as_reno), ended))
