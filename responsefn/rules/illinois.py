"""TCP-Illinois: AIMD whose increase and decrease follow the queueing delay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import extends
from responsefn.closed_forms.printed import use_printed
from responsefn.response import Reference
from responsefn.rules.base import WindowRule
from responsefn.rules.delay_based import QueueRule

if TYPE_CHECKING:
    from responsefn.closed_forms.symbolic import Formula

__all__ = ["Illinois"]

RENO_BELOW = 15.0  # Linux 2.6.22, net/ipv4/tcp_illinois.c: win_thresh = 15
"""Packets below which the window follows Reno."""


class Illinois(WindowRule):
    r"""TCP-Illinois (Liu, Basar and Srikant 2008): AIMD whose a and b follow the queueing delay.

    With the delay d and its maximum D, a = 10 for d <= D/100, falling as 1/(k + d) to 0.3 at D, and
    b = 1/8 for d <= D/10, rising linearly to 1/2 at 0.8 D. Below 15 packets it is Reno.

    Response at a fixed round-trip time: AIMD(10, 1/8)'s. With ``bandwidth`` the numerical
    cycle, derived here. It jumps where the peak equals the capacity of the path: any queue, however short,
    is the largest delay D while none was longer, and the decrease is 1/2 with a queue and 1/8 without. There
    cycles alternate, and over a range of p on both sides there is no inverse.

    The closed form holds while the window stays above Reno's region, p <= 0.29. From
    p = 8/(3 15^2) = 0.012 on, a flow that starts in that region never leaves it, since Reno's
    cycle lies within it. There are two responses, and `attractors` returns both.

    The recovery is SACK, as in Linux with its module tcp_illinois.c (`WindowRule.recovery`).

    Domain: p <= 0.02.

    Examples
    --------
    >>> from responsefn import Illinois
    >>> [round(rate) for rate in Illinois().attractors(0.02, 0.1)]
    [612, 87]
    """

    @extends(QueueRule.State)
    class State(NamedTuple):
        """Window and threshold in packets, shortest and longest RTT in s."""

        top_rtt: float = 0.0

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt", "top_rtt")
    capacity: ClassVar[str] = "optional"
    recovery: ClassVar[str] = "sack"
    reference = Reference(
        "S. Liu, T. Basar, R. Srikant, TCP-Illinois, Performance Evaluation 65, 2008; curves and constants as in "
        "Linux's tcp_illinois.c, whose authors are S. Hemminger and S. Liu",
        "primary",
        "10.1016/j.peva.2007.12.007",
    )
    domain = (0.0, 0.02)
    single_below: ClassVar[float] = 8.0 / (3.0 * 15.0**2)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or a / cwnd, where a follows the delay."""
        base, top = minimum(s.base_rtt, e.rtt), maximum(s.top_rtt, e.rtt)
        delay, max_delay = e.rtt - base, top - base
        share = 0.99 * max_delay * 0.3 / (10.0 - 0.3)
        falling = share * 10.0 / maximum(1e-300, share - 0.01 * max_delay + delay)
        above = where(delay <= 0.01 * max_delay, 10.0, falling)
        a = where(s.cwnd < RENO_BELOW, 1.0, above)
        step = where(s.cwnd < s.ssthresh, 1.0, a / s.cwnd)
        return s._replace(cwnd=s.cwnd + step, base_rtt=base, top_rtt=top)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Decrease the window by the fraction b, which follows the delay."""
        base, top = minimum(s.base_rtt, e.rtt), maximum(s.top_rtt, e.rtt)
        part = (e.rtt - base) / maximum(1e-300, top - base)
        b = minimum(0.5, maximum(0.125, 0.125 + 0.375 * (part - 0.1) / 0.7))
        window = (1.0 - where(s.cwnd < RENO_BELOW, 0.5, b)) * s.cwnd
        return s._replace(cwnd=maximum(1.0, window), ssthresh=maximum(2.0, window), base_rtt=base, top_rtt=top)

    def formula(self) -> Formula:
        """Return the response of AIMD(10, 1/8)."""
        return _illinois()


@use_printed(())
def _illinois() -> Formula:
    import sympy as sp

    from responsefn.closed_forms.symbolic import a, b, p
    from responsefn.rules.classic import AIMD

    fast = AIMD().closed_form().subs({a: sp.Integer(10), b: sp.Rational(1, 8)})
    low = sp.Rational(7, 8) * fast.peak_window  # a multiple of 1/sqrt(p)
    return replace(fast, condition=p <= sp.simplify(low**2 * p) / RENO_BELOW**2)
