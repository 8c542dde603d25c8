"""Relentless congestion control: one packet less for each packet lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from responsefn.closed_forms.printed import use_printed
from responsefn.response import Reference
from responsefn.rules.base import RenoGrowth, cut

if TYPE_CHECKING:
    from responsefn.closed_forms.symbolic import Formula

__all__ = ["Relentless"]


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
