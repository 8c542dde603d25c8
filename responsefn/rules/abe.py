"""Alternative backoff with ECN (ABE): a smaller decrease at a mark than at a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow.parameters import param
from responsefn.response import rfc
from responsefn.rules.base import RenoGrowth, cut
from responsefn.rules.classic import AIMD

if TYPE_CHECKING:
    from responsefn.closed_forms.symbolic import Formula

__all__ = ["ABE"]


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
