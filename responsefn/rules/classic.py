"""Additive increase, multiplicative decrease: AIMD(a, b), Reno, NewReno (also of QUIC), Tahoe, ABE and Relentless.

Each response is that of the deterministic cycle: one packet in 1/p is lost, the window falls,
and grows to the same peak again. SymPy solves the cycle for the peak.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow.functions import maximum
from hopflow.parameters import param
from hopflow.tcp_constants import INITIAL_WINDOW
from responsefn.closed_forms.printed import use_printed
from responsefn.response import Reference, rfc
from responsefn.rules.base import RenoGrowth, WindowRule, after, cut, grow

if TYPE_CHECKING:
    from responsefn.closed_forms.symbolic import Formula

__all__ = ["ABE", "AIMD", "NewReno", "QUICNewReno", "Relentless", "Reno", "Tahoe"]

FORMS = ("sqrt", "precise", "recovery")
MIN_SSTHRESH = 2  # RFC 5681, Sect. 3.1, eq. 4: ssthresh of 2 SMSS at least
"""Minimum slow-start threshold in packets (RFC 5681): below it a cycle has slow start."""


class AIMD(WindowRule):
    r"""Additive increase, multiplicative decrease: TCP(a, b).

    The window grows by ``a`` packets per round trip and loses the fraction ``b`` at a loss. With
    the peak W, a cycle takes D(W) round trips and carries N(W) = 1/p packets; the rate is
    N / (D rtt).

    =============== ================================================ ============
    form            N(W)                                             D(W)
    =============== ================================================ ============
    ``"sqrt"``      b(2-b)/(2a) W^2                                  bW/a
    ``"precise"``   (2-b)/2 W (bW/a + 1)                             bW/a + 1
    ``"recovery"``  (2-b)/2 W (bW/a + 1) + (1-b) W                   bW/a + 2
    =============== ================================================ ============

    The first gives the square-root law T = sqrt(a(2-b) / (2bp)) / rtt. The second is zheng2002's
    "precise version" (Sect. 2.1, where p = 2a/(b(2-b)W^2 + a(2-b)W)). The third, derived here,
    adds the round trip in which the lost packet is sent again at the window (1-b) W.

    The square-root law is the response while the window after a loss is at least 2 packets, the
    minimum threshold of slow start, and at least sqrt(a/2), so that the window grows by less than
    two packets per ACK: p <= 2a(1-b)^2/(b(2-b) max(2, sqrt(a/2))^2), 1/6 for Reno. Above, `rate` is
    the numerical cycle. The other two forms are evaluated at every p.

    Domain: losses that fast recovery repairs, without timeouts, delayed ACKs and window limits, and
    p <= 0.02. Packet simulators with periodic loss stay below the first two, by a few percent at
    p = 2e-3.

    Parameters
    ----------
    a
        Increase in packets per round trip, > 0.
    b
        Fraction of the window lost at a loss, 0 < b <= 1.
    form
        Response function: ``"sqrt"``, ``"precise"`` or ``"recovery"``; the dynamics do not
        depend on it.

    Examples
    --------
    >>> round(AIMD(0.2, 0.125).rate(0.01, rtt=0.1), 3)
    122.474
    """

    class Params(NamedTuple):
        """Increase in packets per round trip, decrease as a fraction, response function."""

        a: float = param(1.0, above=0.0, source="RFC 5681, Sect. 3.1: one segment per round trip")
        b: float = param(
            0.5,
            above=0.0,
            at_most=1.0,
            source="RFC 5681, Sect. 3.1, eq. 4: half of FlightSize",
        )
        form: str = param(
            "sqrt",
            choices=FORMS,
            source="own choice: the law of Mathis et al. 1997, to which the others are corrections",
        )

    catalogue_rows = ({}, {"form": "precise"}, {"form": "recovery"})
    reference = Reference("Y. Zheng, J. Wen, Performance comparison of TFRC and TCP, 2002, Sect. 2.1", "primary")
    domain = (0.0, 0.02)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start below the threshold, a / cwnd above."""
        return grow(s, q.a / s.cwnd)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Multiply the window by 1 - b."""
        return cut(s, (1.0 - q.b) * s.cwnd)

    def formula(self) -> Formula:
        """Return rate, peak window and inverse, in p, R, a, b."""
        return _aimd_cycle(self.params.form)


class Reno(RenoGrowth):
    """TCP Reno: half the window at a loss, one packet per round trip otherwise (RFC 5681).

    The response functions are AIMD(1, 1/2)'s, with its forms and domain: the default
    is T = sqrt(3 / (2p)) / rtt. Fast recovery ends with the first new ACK, so several losses in
    one window halve it several times or end in a timeout.

    Parameters
    ----------
    form
        Response function, see `AIMD`.

    Examples
    --------
    >>> round(Reno().mean_window(0.01), 3)
    12.247
    """

    class Params(NamedTuple):
        """Response function."""

        form: str = param(
            "sqrt",
            choices=FORMS,
            source="own choice: the law of Mathis et al. 1997, to which the others are corrections",
        )

    recovery: ClassVar[str] = "reno"
    reference = rfc(5681, "M. Allman, V. Paxson, E. Blanton, TCP congestion control, 2009", "Sect. 3.1, eq. 4")
    domain = (0.0, 0.02)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve the window."""
        return cut(s, 0.5 * s.cwnd)

    def formula(self) -> Formula:
        """Return rate, peak window and inverse, in p and R."""
        return _halving_cycle(self.params.form)


class NewReno(Reno):
    """TCP NewReno (RFC 6582): Reno's window, and one fast recovery for all losses of a window.

    Response functions, parameter ``form`` and domain are `Reno`'s.

    Examples
    --------
    >>> from responsefn import NewReno, Reno
    >>> NewReno().rate(0.01, 0.1) == Reno().rate(0.01, 0.1), NewReno().recovery
    (True, 'newreno')
    """

    recovery: ClassVar[str] = "newreno"
    claims: ClassVar[str] = "newreno"
    reference = rfc(6582, "T. Henderson et al., The NewReno modification, 2012", "Sect. 3.2")


class Tahoe(RenoGrowth):
    r"""TCP Tahoe: after every loss slow start from one packet to half the window (Jacobson 1988).

    Response of the deterministic cycle, derived here: with the peak W and the threshold
    s = max(2, W/2), slow start takes log2(s) round trips for s - 1 packets, congestion avoidance
    W - s round trips for (W^2 - s^2)/2 packets. Their sum is 1/p, so that::

        W = (2 sqrt(7 + 6/p) - 2) / 3   for p <= 1/7,   sqrt(2 + 2/p)   above,
        T = 1 / (p (log2(s) + W - s) rtt).

    Slow start passes the threshold by up to one packet, which the equations neglect: the cycle ACK by ACK is up to
    0.6 % faster at p = 1e-4, 1.1 % at 1e-3 and 1.7 % at 0.02.

    Domain: p below 0.02. As in the square-root form of `AIMD`, the round trip in which the loss is detected,
    the packets sent during it, and timeouts are not counted.

    Examples
    --------
    >>> round(Tahoe().peak_window(0.01), 3)
    15.758
    """

    recovery: ClassVar[str] = "tahoe"
    reference = Reference("V. Jacobson, Congestion avoidance and control, SIGCOMM 1988", doi="10.1145/52324.52356")
    domain = (0.0, 0.02)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd))

    def formula(self) -> Formula:
        """Return rate and peak window, in p and R."""
        return _tahoe_cycle()


@use_printed(("sqrt",), ("precise",), ("recovery",))
def _aimd_cycle(form: str) -> Formula:
    import sympy as sp

    from responsefn.closed_forms.symbolic import (
        Formula,
        PowerGrowth,
        R,
        T,
        a,
        b,
        p,
        positive_root,
    )

    W, c = sp.symbols("W c", positive=True)  # the peak; 2 - b, one symbol while solving
    rounds = b * W / a + (0 if form == "sqrt" else 1)
    packets = c / 2 * W * rounds
    inverse = 1 / packets.subs(W, 2 * R * T / c)  # the mean window is R T
    if form == "recovery":
        packets, rounds, inverse = packets + (1 - b) * W, rounds + 1, None
    square, linear = (sp.expand(packets).coeff(W, power) for power in (2, 1))
    peak = positive_root(square, linear)
    rate = 1 / (p * rounds.subs(W, peak) * R)
    growth = PowerGrowth(sp.Integer(2), a, 1 - b)
    # the other forms count round trips that no cycle of the bare rule has
    condition = sp.true
    if form == "sqrt":
        growth_limit = sp.sqrt(a / 2)
        lowest = sp.Piecewise((growth_limit, growth_limit > MIN_SSTHRESH), (MIN_SSTHRESH, True))
        condition = p <= 2 * a * (1 - b) ** 2 / (b * (2 - b) * lowest**2)
    return Formula(rate, peak, inverse, growth, condition).subs({c: 2 - b})


@use_printed(("sqrt",), ("precise",), ("recovery",))
def _halving_cycle(form: str) -> Formula:
    import sympy as sp

    from responsefn.closed_forms.symbolic import a, b

    general, halving = _aimd_cycle(form), {a: sp.Integer(1), b: sp.Rational(1, 2)}
    return general.subs(halving)


@use_printed(())
def _tahoe_cycle() -> Formula:
    import sympy as sp

    from responsefn.closed_forms.symbolic import Formula, R, p

    W = sp.Symbol("W", positive=True)

    def solve_peak(threshold: sp.Expr) -> sp.Expr:
        packets = threshold - 1 + (W**2 - threshold**2) / 2
        return max(sp.solve(packets - 1 / p, W), key=lambda root: root.subs(p, sp.Rational(1, 9)))

    two = sp.Integer(2)
    high, low = solve_peak(W / 2), solve_peak(two)  # peaks above and below 4 packets
    (border,) = sp.solve(high - 2 * two, p)
    peak = sp.Piecewise((high, p <= border), (low, True))
    threshold = sp.Piecewise((high / 2, p <= border), (two, True))
    rounds = sp.log(threshold) / sp.log(2) + peak - threshold
    return Formula(1 / (p * rounds * R), peak, condition=high > 2 * MIN_SSTHRESH)


class ABE(RenoGrowth):
    """NewReno with alternative backoff (RFC 8511): a mark leaves more of the window than a loss.

    A mark leaves ``beta_ecn`` of the window, once per window, and a loss leaves half. Marks come from short queues,
    which empty after a decrease to half. The response to marks is `AIMD`'s with (1, 1 - beta_ecn). The response to
    losses is Reno's.

    Domain: p <= 0.02, for marks.

    Parameters
    ----------
    beta_ecn
        Part of the window that a mark leaves, 0.5 <= beta_ecn < 1. RFC 8511 recommends 0.8 for NewReno (and 0.85 for
        CUBIC).

    Examples
    --------
    >>> from responsefn import ABE, AIMD
    >>> round(ABE().rate(0.01, 0.1), 6) == round(AIMD(1.0, 0.2).rate(0.01, 0.1), 6)
    True
    """

    class Params(NamedTuple):
        """Part of the window that a mark leaves."""

        beta_ecn: float = param(
            0.8,
            at_least=0.5,
            below=1.0,
            source="RFC 8511, Sect. 3.1: 0.8 for NewReno",
        )

    recovery: ClassVar[str] = "sack"
    signal: ClassVar[str] = "mark"
    reference = rfc(8511, "N. Khademi et al., TCP alternative backoff with ECN (ABE), 2018", "Sect. 3.1")
    domain = (0.0, 0.02)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Multiply the window by beta_ecn at a mark."""
        return cut(s, q.beta_ecn * s.cwnd)

    def bindings(self, rtt: Any) -> dict[str, Any]:  # noqa: ARG002
        """Return increase and decrease of the AIMD with the same response."""
        return {"a": 1.0, "b": 1.0 - self.params.beta_ecn}

    def formula(self) -> Formula:
        """Return rate, peak window and inverse, in p, R, a, b."""
        return AIMD().formula()


class Relentless(RenoGrowth):
    r"""Relentless congestion control (Mathis 2009): one packet less for each packet lost.

    The growth of one packet per round trip makes up for it in one round trip, whatever the window, so
    that a cycle is one round trip of 1/p packets: T = 1/(pR), exactly, with the peak 1/p + 1/2.

    It holds while the window after a loss is at least 2 packets, p <= 0.4; above, `rate` is the
    numerical cycle.

    The recovery is SACK, which reports the number of lost packets (`WindowRule.recovery`).

    Domain: p <= 0.02.

    Examples
    --------
    >>> from responsefn import Relentless
    >>> Relentless().rate(0.01, rtt=0.1), Relentless().peak_window(0.01)
    (1000.0, 100.5)
    """

    recovery: ClassVar[str] = "sack"
    reference = Reference("M. Mathis, Relentless congestion control, PFLDnet 2009")
    domain = (0.0, 0.02)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Decrease the window by one packet."""
        return cut(s, s.cwnd - 1.0)

    def formula(self) -> Formula:
        """Return rate, peak window and inverse, in p and R."""
        return _relentless()


@use_printed(())
def _relentless() -> Formula:
    import sympy as sp

    from responsefn.closed_forms.symbolic import Formula, R, T, p

    peak = 1 / p + sp.Rational(1, 2)
    max_p = sp.Rational(2, 5)  # above, the peak is below 3
    return Formula(1 / (p * R), peak, 1 / (T * R), condition=p <= max_p)


MIN_WINDOW = 2.0  # RFC 9002, Sect. 7.2: kMinimumWindow, two packets
"""Minimum window of QUIC in packets."""


class QUICNewReno(Reno):
    """NewReno of QUIC (RFC 9002, Sect. 7 and Appendix B): Reno's window, at least two packets, ten at the beginning.

    Other than in TCP, a probe timeout does not reduce the window. Persistent congestion reduces it to two packets
    (Sect. 7.6). Here it is a timeout, which in packet runs is RFC 6298's. Selective ACKs detect losses, and all losses
    of a window are one event (Sect. 7.3.2).

    Response functions, parameter ``form`` and domain are `Reno`'s.

    Examples
    --------
    >>> from responsefn import QUICNewReno, Reno
    >>> QUICNewReno().rate(0.01, 0.1) == Reno().rate(0.01, 0.1), QUICNewReno().State().cwnd
    (True, 10.0)
    """

    class State(NamedTuple):
        """Window and threshold in packets."""

        cwnd: float = INITIAL_WINDOW
        ssthresh: float = math.inf

    recovery: ClassVar[str] = "sack"
    sets_initial_window: ClassVar[bool] = True
    claims: ClassVar[str] = "newreno"
    timeout_window: ClassVar[float] = MIN_WINDOW
    reference = rfc(
        9002,
        "J. Iyengar, I. Swett, QUIC loss detection and congestion control, 2021",
        "Sect. 7 and Appendix B",
    )
    formula = Reno.formula

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve the window, to at least two packets."""
        window = maximum(MIN_WINDOW, 0.5 * s.cwnd)
        return s._replace(cwnd=window, ssthresh=window)

    @staticmethod
    @after(on_loss)
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from two packets to half the window."""
        return s._replace(cwnd=MIN_WINDOW)
