"""CUBIC: the window is a cubic function of the time since the last loss; by RFC 9438, in Linux and in Chromium."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import extends, param
from hopflow.tcp_constants import INITIAL_WINDOW
from hopflow.units import quantities
from responsefn.closed_forms.printed import use_printed
from responsefn.response import Reference, rfc
from responsefn.rules.base import WindowRule, after, whole
from responsefn.rules.linux import KERNEL, OLD, LinuxRule, linux_file, of_kernel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from responsefn.closed_forms.symbolic import Formula

__all__ = ["CUBIC", "ChromiumCUBIC", "LinuxCUBIC", "begin_curve"]


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
    between them it begins as the cubic and ends as the line, which `responsefn.closed_forms.cubic_region` solves; the
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

    A loss leaves at least two packets, a congestion mark at least one (Sect. 4.6, Figure 5).

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
    claims: ClassVar[str] = "cubic-rfc9438"
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
        lowest = where(e.marks > 0.0, 1.0, 2.0)  # RFC 9438, Sect. 4.6: two packets after a loss, one after a mark
        return begin_curve(s, q.C, maximum(lowest, q.beta * s.cwnd), peak, e.time)

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


# Linux 6.12, net/ipv4/tcp_cubic.c: hystart_low_window = 16, HYSTART_MIN_SAMPLES 8;
# quiche, hybrid_slow_start.cc: kHybridStartLowWindow = 16, kHybridStartMinSamples = 8
LOW_WINDOW, SAMPLES = 16.0, 8.0
"""HyStart: minimum window in packets, and RTT samples of a round."""
# Linux 6.12, net/ipv4/tcp_cubic.c: HYSTART_DELAY_MIN 4 ms, HYSTART_DELAY_MAX 16 ms, HYSTART_DELAY_THRESH(x >> 3);
# quiche, hybrid_slow_start.cc: kHybridStartDelayMinThresholdUs = 4000, kHybridStartDelayMaxThresholdUs = 16000,
# kHybridStartDelayFactorExp = 3, 2^3
MIN_DELAY_INCREASE, MAX_DELAY_INCREASE, DELAY_DIVISOR = 4e-3, 16e-3, 8.0
"""HyStart: bounds in s of the delay increase that ends slow start, and a divisor.

Between the bounds, the increase is the minimum RTT over the divisor."""
ACK_GAP = 2e-3  # Linux 6.12, net/ipv4/tcp_cubic.c: hystart_ack_delta_us = 2000
"""HyStart of Linux: maximum time in s between ACKs of a train."""
# Linux 6.12, net/ipv4/tcp_cubic.c, cubictcp_acked: samples within HZ after epoch_start are
# discarded
RTT_DISCARD_TIME = 1.0
"""Time in s after a loss in which RTT samples are discarded."""
MIN_ACKS_PER_PACKET = 2.0  # Linux 6.12, net/ipv4/tcp_cubic.c: cnt at least 2
"""Minimum number of ACKs per packet of growth."""


class LinuxCUBIC(LinuxRule):
    r"""CUBIC as in Linux's tcp_cubic.c: whole windows, fast convergence, HyStart by ACK trains and delays.

    Differences from `CUBIC` of RFC 9438: the window moves to the curve one minimum round trip ahead, by a packet after
    each floor(cwnd / distance) ACKs, at most one per two ACKs; all windows at a loss are whole packets; the
    Reno-friendly window grows by a packet in floor(15 cwnd / 8) ACKs, also above the last peak. The curve begins at the
    first ACK after recovery.

    ACKs are counted from one packet of growth to the next (``tcp_cong_avoid_ai``). ACKs counted while the curve is
    below the window take effect once it is above, so that the window follows a slow curve immediately. With fractions
    of a packet per ACK (``counted`` 0, and in the fluid) it follows a round trip later.

    HyStart ends slow start from 16 packets on, when ACKs with gaps of at most 2 ms have arrived for half of the minimum
    round-trip time plus ``ack_delay`` (the train), or when the minimum of more than eight round-trip times of a round
    exceeds the connection's minimum by an eighth of it, within 4 and 16 ms (the delay). Trains need single packets:
    the fluid has the delay only. Times are not in jiffies.

    Domain: p <= 0.02.

    Parameters
    ----------
    C
        Packets/s^3 (``bic_scale`` 41 of 1024, per 0.1 s).
    b
        Fraction of the window lost at a loss (307/1024).
    hystart
        ``hystart_detect``: 1 by trains, 2 by delay, 3 by both, 0 no HyStart.
    ack_delay
        Allowance for aggregation in s, below 5, added to the duration of a train; Linux has less above 2 Gb/s.
    whole_windows
        1: windows at a loss are whole packets; 0: with their fractions.
    counted
        1: ACKs are counted from packet to packet; 0: each ACK adds a fraction of a packet.
    kernel
        Version of the file: ``"6.12"``, or ``"2.6.22"``, whose parameters are ``C``, ``b`` (205/1024), ``largest`` (16
        packets in 0.1 s beyond the last peak) and ``per_ack`` (31/16, its estimate of packets per ACK), without
        HyStart.

    Examples
    --------
    >>> from responsefn.linux import LinuxCUBIC
    >>> round(float(LinuxCUBIC().rate(1e-3, 0.04))), round(float(LinuxCUBIC(kernel="2.6.22").rate(1e-3, 0.04)))
    (949, 968)
    """

    @extends(HyStartCUBICState)
    class State(NamedTuple):
        """Window, threshold, last peak, the curve's origin and Reno's window in packets; times in s.

        ``since`` is negative until the curve begins. HyStart has the times of the round's begin and of the train's last
        ACK, s. It also has the ACKs left in the round, its minimum RTT and samples, and whether it ended slow start.
        ``since_growth`` is the file's snd_cwnd_cnt, the ACKs since the window last grew.
        """

        round_start: float = 0.0
        last_ack: float = 0.0
        hystart_exit: float = 0.0
        since_growth: float = 0.0

    class Params(NamedTuple):
        """C in packets/s^3, decrease, and choices of the module.

        These are the detection of HyStart, the allowance of its trains in s, the version, a flag and the count of ACKs.
        """

        C: float = param(
            410 / 1024,
            above=0.0,
            source="Linux 6.12, net/ipv4/tcp_cubic.c: bic_scale = 41, times 10 in 1024ths",
        )
        b: float = param(
            307 / 1024,
            above=0.0,
            below=1.0,
            source="Linux 6.12, net/ipv4/tcp_cubic.c: beta = 717, BICTCP_BETA_SCALE 1024",
        )
        hystart: int = param(
            3,
            choices=(0, 1, 2, 3),
            source="Linux 6.12, net/ipv4/tcp_cubic.c: hystart_detect = HYSTART_ACK_TRAIN | HYSTART_DELAY",
        )
        ack_delay: float = param(
            1e-3,
            "time",
            at_least=0.0,
            below=5.0,
            source="Linux 6.12, net/ipv4/tcp_cubic.c: hystart_ack_delay, at most USEC_PER_MSEC",
        )
        kernel: str = KERNEL
        whole_windows: int = param(
            1,
            choices=(0, 1),
            source="Linux 6.12, include/net/tcp.h: snd_cwnd is a whole number",
        )
        counted: int = param(
            1,
            choices=(0, 1),
            source="Linux 6.12, net/ipv4/tcp_cong.c: tcp_cong_avoid_ai counts in snd_cwnd_cnt",
        )

    capacity: ClassVar[str] = "ignored"
    assigned: ClassVar[tuple[str, ...]] = (
        "peak",
        "origin",
        "plateau",
        "since",
        "base_rtt",
        "round_start",
        "last_ack",
        "left",
        "round_min_rtt",
        "samples",
        "hystart_exit",
        "since_growth",
    )
    reference = linux_file("tcp_cubic.c")
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = "its window moves in whole packets and ACKs, so that its rate jumps with p"

    def in_fluid(self) -> LinuxCUBIC:
        """Return the rule without ACK trains and ACK counting: a fluid has no single ACKs."""
        detects = self.params.hystart & 2
        if (detects, 0) == (self.params.hystart, self.params.counted):
            return self
        return self.replace(hystart=detects, counted=0)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Measure, then slow start, or towards the larger of the curve and Reno's window."""
        recent = s.since >= 0.0 and e.time - s.since < RTT_DISCARD_TIME
        if not recent:
            s = s._replace(base_rtt=min(s.base_rtt, e.rtt))
            if s.cwnd < s.ssthresh and q.hystart > 0 and s.hystart_exit == 0.0:
                s = detect(s, q, e)
        if s.cwnd < s.ssthresh:
            return s._replace(cwnd=s.cwnd + 1.0)
        w = whole(s.cwnd)
        begins = s.since < 0.0
        since = where(begins, e.time, s.since)
        below = maximum(0.0, s.peak - w)
        origin = where(begins, maximum(s.peak, w), s.origin)
        plateau = where(begins, (below / q.C) ** (1.0 / 3.0), s.plateau)
        late = e.time + minimum(s.base_rtt, e.rtt) - since - plateau
        moved = math.floor(q.C * abs(late) ** 3)
        away = origin + where(late < 0.0, -moved, moved) - w
        acks = where(away >= 1.0, math.floor(w / maximum(1.0, away)), 100.0 * w)
        acks = where(s.peak == 0.0, minimum(acks, 20.0), acks)
        slope = math.floor(8.0 * (2.0 - q.b) / (3.0 * q.b) + 1e-9)  # 15 for 307/1024
        reno = where(begins, w, s.reno) + 1.0 / math.floor(maximum(1.0, w * slope / 8.0))
        ahead = whole(reno) - w
        acks = where(ahead >= 1.0, minimum(acks, math.floor(w / maximum(1.0, ahead))), acks)
        acks = maximum(MIN_ACKS_PER_PACKET, acks)
        stored = s.since_growth >= acks
        count = where(stored, 0.0, s.since_growth) + 1.0
        full = count >= acks
        grown = w + where(stored, 1.0, 0.0) + where(full, 1.0, 0.0)
        return s._replace(
            cwnd=where(q.counted > 0, grown, s.cwnd + 1.0 / acks),
            since_growth=where(q.counted > 0, where(full, count - acks, count), 0.0),
            origin=origin,
            plateau=plateau,
            since=since,
            reno=reno,
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep 1 - b; remember less of a peak below the last one."""
        w = at_loss(s.cwnd, q)
        peak = where(w < s.peak, at_loss((1.0 - 0.5 * q.b) * w, q), w)
        window = maximum(2.0, at_loss((1.0 - q.b) * w, q))
        return s._replace(cwnd=window, ssthresh=window, peak=peak, since=-1.0, since_growth=0.0)

    @staticmethod
    @after(on_loss)
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; reset the peak and the minimum RTT."""
        return s._replace(cwnd=1.0, peak=0.0, base_rtt=math.inf, left=0.0, hystart_exit=0.0)


def at_loss(packets: Any, q: Any) -> Any:
    """Return a window at a loss, in whole packets unless ``whole_windows`` is 0."""
    return where(q.whole_windows > 0, whole(packets), packets)


def detect(s: Any, q: Any, e: Any) -> Any:
    """Update HyStart after an ACK in slow start."""
    # HyStart stands here three times, since the sources differ. Linux takes samples from LOW_WINDOW packets on, and
    # compares the minimum of the whole round from its ninth sample on. Chromium (`detect_delay`) takes samples at any
    # window, and compares the minimum of the first eight from the eighth on. HyStart++ (`slow_starts`) compares with
    # the previous round instead of the connection, and has a conservative slow start.
    left = s.left - 1.0
    begins = left <= 0.0
    start = where(begins, e.time, s.round_start)
    last = where(begins, e.time, s.last_ack)
    round_min_rtt = where(begins, math.inf, s.round_min_rtt)
    samples = where(begins, 0.0, s.samples)
    left = where(begins, whole(s.cwnd), left)
    hystart_exit = 0.0
    if s.cwnd >= LOW_WINDOW:
        if (q.hystart == 1 or q.hystart == 3) and e.time - last <= ACK_GAP:
            last = e.time
            if e.time - start > 0.5 * (s.base_rtt + q.ack_delay):
                hystart_exit = 1.0
        if q.hystart >= 2:
            round_min_rtt = min(round_min_rtt, e.rtt)
            if samples < SAMPLES:
                samples = samples + 1.0
            else:
                increase = min(MAX_DELAY_INCREASE, max(MIN_DELAY_INCREASE, s.base_rtt / DELAY_DIVISOR))
                if round_min_rtt > s.base_rtt + increase:
                    hystart_exit = 1.0
    return s._replace(
        ssthresh=where(hystart_exit > 0.0, s.cwnd, s.ssthresh),
        round_start=start,
        last_ack=last,
        left=left,
        round_min_rtt=round_min_rtt,
        samples=samples,
        hystart_exit=hystart_exit,
    )


@of_kernel(OLD)
class LinuxCUBIC2622(LinuxCUBIC):
    r"""CUBIC as in Linux 2.6.22's tcp_cubic.c, version 2.1: in whole packets, with fast convergence.

    Differences from `CUBIC` of RFC 9438: a decrease by 0.2; the window moves to the curve one minimum round trip ahead
    in whole packets, each after a whole number of ACKs and one, divided by the estimate of packets per ACK (see
    `LinuxBIC`); at most ``largest`` packets in 0.1 s beyond the last peak; the Reno-friendly window grows by 8/floor(8
    (2-b)/(3b)) packets per round trip, also above the last peak.

    Domain: p <= 0.02.

    Parameters
    ----------
    C
        As of `LinuxCUBIC`.
    b
        Fraction of the window lost at a loss (205/1024; later versions 0.3).
    largest
        ``max_increment``: packets in 0.1 s at most, beyond the last peak.
    per_ack
        Estimate of the packets that an ACK acknowledges; 31/16 in 2.6.22, 1 in ns-3.

    Examples
    --------
    >>> from responsefn.linux import LinuxCUBIC
    >>> round(float(LinuxCUBIC(kernel="2.6.22").rate(1e-3, 0.04)))
    968
    """

    @extends(CUBIC.State)
    class State(NamedTuple):
        """Window, threshold, last peak and the curve's origin in packets; times in s; Reno's window."""

        base_rtt: float = math.inf

    class Params(NamedTuple):
        """C in packets/s^3, decrease, largest increase in 0.1 s, packets per ACK."""

        C: float = param(
            410 / 1024,
            above=0.0,
            source="Linux 2.6.22, net/ipv4/tcp_cubic.c: bic_scale = 41, times 10 in 1024ths",
        )
        b: float = param(
            205 / 1024,
            above=0.0,
            below=1.0,
            source="Linux 2.6.22, net/ipv4/tcp_cubic.c: beta = 819, BICTCP_BETA_SCALE 1024",
        )
        largest: float = param(
            16.0,
            "amount",
            above=0.0,
            source="Linux 2.6.22, net/ipv4/tcp_cubic.c: max_increment = 16",
        )
        per_ack: float = param(
            31 / 16,
            above=0.0,
            source="Linux 2.6.22, net/ipv4/tcp_cubic.c: delayed_ack, 2 << ACK_RATIO_SHIFT less 1, at rest",
        )
        kernel: str = KERNEL

    assigned: ClassVar[tuple[str, ...]] = ("peak", "plateau", "since", "base_rtt")
    reference = linux_file("tcp_cubic.c", OLD)
    monotone = False
    why_no_inverse = "its window moves in whole packets and ACKs, so that its rate jumps with p"

    def in_fluid(self) -> LinuxCUBIC2622:
        """Return the rule itself, which has no HyStart."""
        return self

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or towards the larger of the curve and Reno's window."""
        slow = s.cwnd < s.ssthresh
        base = minimum(s.base_rtt, e.rtt)
        since, peak = where(slow, e.time, s.since), where(slow, s.cwnd, s.peak)
        late = e.time + base - since - s.plateau
        window = math.floor(s.cwnd)
        moved = math.floor(q.C * abs(late) ** 3)
        away = peak + where(late < 0.0, -moved, moved) - window
        acks = where(away >= 1.0, math.floor(window / maximum(1.0, away)), 100.0 * window)
        min_acks = where(late >= 0.0, window / (10.0 * q.largest * base), 0.0)
        acks = maximum(acks, min_acks)
        ahead = math.floor(s.reno) - window
        acks = where(ahead >= 1.0, minimum(acks, math.floor(window / maximum(1.0, ahead))), acks)
        steps = 1.0 / (1.0 + maximum(1.0, math.floor(acks / q.per_ack)))
        slope = 8.0 / math.floor(8.0 * (2.0 - q.b) / (3.0 * q.b))
        return s._replace(
            cwnd=s.cwnd + where(slow, 1.0, steps),
            peak=peak,
            plateau=where(slow, 0.0, s.plateau),
            since=since,
            base_rtt=base,
            reno=where(slow, s.cwnd + 1.0, s.reno + slope / s.cwnd),
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep 1 - b; remember less of a peak below the last one."""
        peak = where(s.cwnd < s.peak, 1.0 - 0.5 * q.b, 1.0) * s.cwnd
        return begin_curve(s, q.C, maximum(1.0, (1.0 - q.b) * s.cwnd), peak, e.time)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; the peak and the minimum round-trip time are forgotten."""
        threshold = maximum(2.0, (1.0 - q.b) * s.cwnd)
        return s._replace(cwnd=1.0, ssthresh=threshold, peak=0.0, plateau=0.0, base_rtt=math.inf, reno=1.0)


NEWTON_STEPS = 20  # numerical
"""Newton steps for the period of the curve."""
MIN_WINDOW = 2.0  # quiche, tcp_cubic_sender_bytes.cc: kDefaultMinimumCongestionWindow
"""Minimum window of Chromium in packets."""


class ChromiumCUBIC(WindowRule):
    r"""CUBIC as in Chromium's QUIC library (``cubic_bytes.cc``), which emulates several connections, two by default.

    With N connections a loss leaves (N - 1 + beta) / N of the window, and the Reno-friendly window grows by 3 N^2
    (1 - B) / (1 + B) packets per window of ACKs, where B is that fraction. If the window is more than a packet below
    the last peak, the stored peak is (N - 1 + 0.85) / N of the window (fast convergence). The curve begins at the first
    ACK after recovery. At each ACK the window moves to the curve's value one minimum round trip ahead, by at most half
    a packet per acknowledged packet. CUBIC's part therefore responds to losses as one connection with a larger beta.
    Only the decrease and the Reno-friendly window depend on N. Linux's module counts ACKs between whole packets
    (`LinuxCUBIC`). Here windows are bytes, without rounding.

    Slow start ends by delay: from 16 packets on, when the minimum of the first eight round-trip times of a round
    exceeds the minimum of the connection by an eighth of it, within 4 and 16 ms. ACK trains are not detected. A
    connection begins with 10 packets, and a timeout leaves two. It paces at 2 windows per round trip in slow start and
    1.25 above it: ``pacing`` of `dfcmodel.Flow`.

    Domain: p <= 0.02.

    Parameters
    ----------
    connections
        N, a whole number >= 1.
    C
        Packets/s^3 (``kCubeCongestionWindowScale`` 410 of 1024).
    beta
        Decrease factor of one connection at a loss.
    remembered
        Factor for the stored peak of one connection, for a window below the last peak.
    hystart
        1 or 0; 0: slow start ends by a loss.

    Examples
    --------
    >>> from responsefn import ChromiumCUBIC
    >>> round(float(ChromiumCUBIC().rate(1e-3, 0.04))), round(float(ChromiumCUBIC(connections=1).rate(1e-3, 0.04)))
    (1937, 970)
    """

    @extends(HyStartCUBICState)
    class State(NamedTuple):
        """Window, threshold, last peak, the curve's origin and Reno's window in packets; times in s.

        ``since`` is negative until the curve begins. HyStart has the packets left in the round, its minimum RTT and
        samples.
        """

        cwnd: float = INITIAL_WINDOW

    class Params(NamedTuple):
        """Connections, packets/s^3, factors of the window and of the stored peak, slow start."""

        connections: int = param(
            2,
            at_least=1.0,
            source="quiche, quic/core/quic_constants.h: kDefaultNumConnections = 2",
        )
        C: float = param(
            410 / 1024,
            above=0.0,
            source="quiche, cubic_bytes.cc: kCubeCongestionWindowScale = 410, in 1024ths",
        )
        beta: float = param(
            0.7,
            above=0.0,
            below=1.0,
            source="quiche, cubic_bytes.cc: kDefaultCubicBackoffFactor = 0.7",
        )
        remembered: float = param(
            0.85,
            above=0.0,
            at_most=1.0,
            source="quiche, cubic_bytes.cc: kBetaLastMax = 0.85",
        )
        hystart: int = param(
            1,
            choices=(0, 1),
            source="quiche, tcp_cubic_sender_bytes.cc: hybrid slow start is always asked",
        )

    capacity: ClassVar[str] = "ignored"
    assigned: ClassVar[tuple[str, ...]] = (
        "peak",
        "origin",
        "plateau",
        "since",
        "base_rtt",
        "left",
        "round_min_rtt",
        "samples",
    )
    recovery: ClassVar[str] = "sack"
    sets_initial_window: ClassVar[bool] = True
    timeout_window: ClassVar[float] = MIN_WINDOW
    reference = Reference(
        "quiche, quic/core/congestion_control/cubic_bytes.cc, tcp_cubic_sender_bytes.cc and hybrid_slow_start.cc, "
        "github.com/google/quiche, commit bac04054",
        "primary",
    )
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = "its cycles come to rest slowly, so that its rate is no smooth function of p"

    @quantities(p="share", rtt="time")
    def expected_peak(self, p: ArrayLike, rtt: ArrayLike) -> NDArray[np.float64]:
        """Return the peak to which a cycle returns, in packets: of the curve, or of Reno's window where that is larger.

        The curve is one round trip R ahead, so that a cycle of the curve lasts K - R and has
        C/R (K^3 (K - R)/(1 - B) - (K - R)^4/4) = 1/p packets, from which K follows by Newton's method.

        Parameters
        ----------
        p
            Loss event rate, any shape.
        rtt
            Round-trip time in s, any shape that broadcasts with ``p``.
        """
        q, p, rtt = self.params, np.asarray(p, dtype=float), np.asarray(rtt, dtype=float)
        lost = 1.0 - share(q.connections, q.beta)
        gain = 3.0 * q.connections**2 * lost / (2.0 - lost)
        line = np.sqrt(2.0 * gain / (lost * (2.0 - lost) * p))
        period = rtt + (rtt / (p * q.C * (1.0 / lost - 0.25))) ** 0.25
        for _ in range(NEWTON_STEPS):
            left = period - rtt
            packets = q.C / rtt * (period**3 * left / lost - left**4 / 4.0)
            slope = q.C / rtt * ((3.0 * period**2 * left + period**3) / lost - left**3)
            period = np.maximum(rtt, period - (packets - 1.0 / p) / slope)
        peaks: NDArray[np.float64] = np.maximum(line, q.C * period**3 / lost)
        return peaks

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or the larger of the curve and Reno's window."""
        base = min(s.base_rtt, e.rtt)
        s = s._replace(base_rtt=base)
        if s.cwnd < s.ssthresh:
            if q.hystart > 0:
                s = detect_delay(s, e)
            if s.cwnd < s.ssthresh:
                return s._replace(cwnd=s.cwnd + 1.0)
            return s
        if s.since < 0.0:
            below = max(0.0, s.peak - s.cwnd)
            s = s._replace(
                since=e.time,
                origin=max(s.peak, s.cwnd),
                plateau=(below / q.C) ** (1.0 / 3.0),
                reno=s.cwnd,
            )
        factor = share(q.connections, q.beta)
        ahead = e.time + base - s.since - s.plateau
        curve = min(s.origin + q.C * ahead * ahead * ahead, s.cwnd + 0.5)
        gain = 3.0 * q.connections * q.connections * (1.0 - factor) / (1.0 + factor)
        reno = s.reno + gain / s.reno
        return s._replace(cwnd=max(curve, reno), reno=reno)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Decrease by the factor of the connections; store less of a window below the last peak."""
        lower = s.cwnd + 1.0 < s.peak
        peak = share(q.connections, q.remembered) * s.cwnd if lower else s.cwnd
        window = max(MIN_WINDOW, share(q.connections, q.beta) * s.cwnd)
        return s._replace(cwnd=window, ssthresh=window, peak=peak, since=-1.0)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from two packets to half the window; reset the peak."""
        half = max(MIN_WINDOW, 0.5 * s.cwnd)
        return s._replace(cwnd=MIN_WINDOW, ssthresh=half, peak=0.0, since=-1.0, left=0.0)


def share(connections: Any, part: Any) -> Any:
    """Return the factor of the common window of several connections if one of them applies ``part`` to its own."""
    return (connections - 1.0 + part) / connections


def detect_delay(s: Any, e: Any) -> Any:
    """Update HyStart after an ACK, and end slow start if the delay has grown."""
    left = s.left - 1.0
    round_min_rtt = s.round_min_rtt
    samples = s.samples
    if left <= 0.0:
        left = s.cwnd
        round_min_rtt = math.inf
        samples = 0.0
    samples = samples + 1.0
    if samples <= SAMPLES:
        round_min_rtt = min(round_min_rtt, e.rtt)
    ssthresh = s.ssthresh
    allowed = min(MAX_DELAY_INCREASE, max(MIN_DELAY_INCREASE, s.base_rtt / DELAY_DIVISOR))
    if samples >= SAMPLES and s.cwnd >= LOW_WINDOW and round_min_rtt > s.base_rtt + allowed:
        ssthresh = s.cwnd
    return s._replace(left=left, round_min_rtt=round_min_rtt, samples=samples, ssthresh=ssthresh)
