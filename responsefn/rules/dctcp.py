"""DCTCP: how much the window falls follows the part of packets with a congestion mark."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import param
from responsefn.closed_forms.printed import use_printed
from responsefn.response import Reference
from responsefn.rules.base import WindowRule, after

if TYPE_CHECKING:
    from responsefn.closed_forms.symbolic import Formula

__all__ = ["DCTCP"]


class DCTCP(WindowRule):
    r"""DCTCP (RFC 8257): the window falls by half of its fraction of marked packets.

    Here p is the fraction of packets with a congestion mark, not a loss rate: ``signal`` is
    ``"mark"``, and the rule is refused without marking, as in `coexist`. At a loss it halves the
    window as `Reno` does (RFC 8257, Sect. 3.5). alpha is the average of the marked fraction
    with gain ``g`` per window; once per window with a mark cwnd falls by alpha/2 of it.

    The published response is for random marks in every window: growth by one packet per round trip balances
    alpha/2 = p/2 of the window, T = 2/(pR) (RFC 9332, Appendix C, eq. 6). The DCTCP paper's response is for queues that
    mark all packets beyond a step. With every 1/p-th packet marked, the cycle of the rule converges to within 1 % of it
    for p <= 0.015, verified down to 1e-4, where that takes half a million marks: a window of 2/p packets grows by one
    per round trip. Above, the initial state decides whether windows have two marks, or two and one in turn. Both rates
    differ by up to 23 %, and `rate` is one of them, the numerical cycle.

    The recovery is SACK, as in the stack of the original implementation (Alizadeh et al., SIGCOMM 2010, Sect. 4).

    Domain: p to 0.015.

    Parameters
    ----------
    g
        Gain of the average, 0 < g <= 1.

    Examples
    --------
    >>> from responsefn import DCTCP
    >>> round(DCTCP().rate(0.01, rtt=0.001), 3)
    200000.0
    """

    class State(NamedTuple):
        """Window and threshold in packets, marked part, ACKs since the last cut."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        alpha: float = 1.0
        since: float = 0.0

    class Params(NamedTuple):
        """Gain of the average of the marked part."""

        g: float = param(
            1 / 16,
            above=0.0,
            at_most=1.0,
            source="RFC 8257, Sect. 4.2: g = 1/16 in some implementations; the choice is left to the implementation",
        )

    recovery: ClassVar[str] = "sack"
    reference = Reference(
        "S. Bensley et al., Data center TCP (DCTCP), RFC 8257, 2017, Sect. 3.3 to 3.5 (rule); K. De Schepper et al., "
        "PI2, CoNEXT 2016, as in De Schepper, Briscoe and White, RFC 9332, 2023, Appendix C, eq. 6 (response)",
        "primary",
        "10.17487/RFC9332",
    )
    signal: ClassVar[str] = "mark"
    domain = (0.0, 0.015)

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
        window = where(cut, 1.0 - 0.5 * alpha, 1.0) * s.cwnd
        return s._replace(
            cwnd=maximum(1.0, window),
            ssthresh=where(cut, maximum(2.0, window), minimum(s.ssthresh, maximum(2.0, s.cwnd))),
            alpha=alpha,
            since=where(cut, 0.0, s.since),
        )

    @staticmethod
    def on_mark(s: Any, q: Any, e: Any) -> Any:
        """Count the marks; cut the window by alpha/2 if the last cut is a window ago."""
        alpha = minimum(1.0, s.alpha + q.g * e.marks / s.cwnd)
        cut = s.since >= s.cwnd
        window = maximum(1.0, where(cut, 1.0 - 0.5 * alpha, 1.0) * s.cwnd)
        threshold = maximum(2.0, window)
        return s._replace(
            cwnd=window,
            ssthresh=where(cut, threshold, minimum(s.ssthresh, threshold)),
            alpha=alpha,
            since=where(cut, 0.0, s.since),
        )

    @staticmethod
    def on_drop(s: Any, q: Any, e: Any) -> Any:
        """Halve the window (RFC 8257, 3.5)."""
        window = 0.5 * s.cwnd
        return s._replace(cwnd=maximum(1.0, window), ssthresh=maximum(2.0, window), since=0.0)

    @staticmethod
    @after(on_drop)
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0)

    def formula(self) -> Formula:
        """Return rate and inverse, in p and R."""
        return _dctcp()


@use_printed(())
def _dctcp() -> Formula:
    from responsefn.closed_forms.symbolic import Formula, R, T, p

    condition = p <= 0.015
    return Formula(2 / (p * R), None, 2 / (T * R), condition=condition)
