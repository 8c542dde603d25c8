"""Compound TCP: the sum of a loss window and a delay window."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import param
from responsefn.closed_forms.printed import use_printed
from responsefn.response import Reference
from responsefn.rules.base import WindowRule
from responsefn.rules.delay_based import packets_in_queue

if TYPE_CHECKING:
    from responsefn.closed_forms.symbolic import Formula

__all__ = ["CTCP"]


class CTCP(WindowRule):
    r"""Compound TCP (Tan et al. 2006): a loss window like Reno's and a delay window beside it.

    While fewer than gamma packets wait in the queue, their sum W grows by alpha W^k per round trip.
    With more, the delay window shrinks by zeta times the queue. At a loss W decreases by b W.

    Response at a fixed round-trip time, derived here from the cycle: alpha n = (1 - (1-b)^(2-k))
    W^(2-k)/(2-k) packets and alpha t/R = (1 - (1-b)^(1-k)) W^(1-k)/(1-k), with n = 1/p. With
    ``bandwidth`` the numerical cycle.

    It holds while alpha W^k is at least Reno's one packet, also just after a loss, W >= alpha^(-1/k):
    p <= 0.0035 by default, less for smaller alpha or k. Above, `rate` is the numerical cycle, in
    which the window grows by Reno's packet if that is more.

    The recovery is SACK, the default of Windows (SackOpts = 1 since Windows 2000).

    Domain: p <= 0.02.

    Parameters
    ----------
    alpha, k
        Growth per round trip, alpha > 0, 0 <= k < 1.
    b
        Fraction of the window lost at a loss, 0 < b <= 1. With b = 1 every cycle begins where Reno
        grows faster, and the response is the numerical cycle.
    gamma
        Packets in the queue from which the delay window shrinks.
    zeta
        Fraction of the waiting packets by which it then shrinks per round trip.

    Examples
    --------
    >>> from responsefn import CTCP
    >>> round(CTCP().rate(1e-4, rtt=0.1), 1), CTCP(alpha=0.02).closed_form_holds(1e-4, 0.1).item()
    (4046.0, False)
    """

    class State(NamedTuple):
        """Window and threshold in packets, loss window in packets, shortest RTT in s."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        loss_window: float = 1.0
        base_rtt: float = math.inf

    class Params(NamedTuple):
        """Growth, decrease, exponent; queue threshold in packets, and reduction beyond it."""

        alpha: float = param(
            0.125,
            above=0.0,
            source="Tan et al. 2006, Sect. IV; draft-sridharan-tcpm-ctcp-02, Sect. 3.5: alpha = 1/8",
        )
        b: float = param(
            0.5,
            above=0.0,
            at_most=1.0,
            source="draft-sridharan-tcpm-ctcp-02, Sect. 3.5: beta = 1/2",
        )
        k: float = param(
            0.75,
            at_least=0.0,
            below=1.0,
            source="draft-sridharan-tcpm-ctcp-02, Sect. 3.5: k = 0.75",
        )
        gamma: float = param(
            30.0,
            "amount",
            above=0.0,
            source="Tan et al. 2006, Sect. III: gamma = 30 packets",
        )
        zeta: float = param(
            1.0,
            at_least=0.0,
            source="draft-sridharan-tcpm-ctcp-02, Sect. 3.5: eta = 1",
        )

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt",)
    capacity: ClassVar[str] = "optional"
    recovery: ClassVar[str] = "sack"
    reference = Reference("K. Tan et al., A compound TCP approach, INFOCOM 2006", doi="10.1109/INFOCOM.2006.188")
    domain = (0.0, 0.02)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or updates of both windows."""
        base = minimum(s.base_rtt, e.rtt)
        waiting = packets_in_queue(s.cwnd, base, e.rtt)
        slow = s.cwnd < s.ssthresh
        change_per_round = where(waiting < q.gamma, maximum(0.0, q.alpha * s.cwnd**q.k - 1.0), -q.zeta * waiting)
        beside = s.cwnd - s.loss_window  # the delay window, which may not fall below 0
        change = where(slow, 0.0, maximum(change_per_round, -1.0 * beside) / s.cwnd)
        step = where(slow, 1.0, 1.0 / s.cwnd)
        return s._replace(cwnd=s.cwnd + (step + change), loss_window=s.loss_window + step, base_rtt=base)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Multiply the sum by 1 - b, and halve the loss window."""
        window = maximum(1.0, (1.0 - q.b) * s.cwnd)
        return s._replace(
            cwnd=window,
            ssthresh=maximum(2.0, window),
            loss_window=minimum(window, 0.5 * s.loss_window),
        )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), loss_window=1.0)

    def bindings(self, rtt: Any) -> dict[str, Any]:  # noqa: ARG002
        """Return alpha, b and k."""
        return {"alpha": self.params.alpha, "b": self.params.b, "k": self.params.k}

    def formula(self) -> Formula | None:
        """Return rate and peak window in p, R, alpha, b, k; None for the cycle with b = 1."""
        return None if self.params.b == 1.0 else _power_growth(self.params.k == 0.0)


@use_printed((False,), (True,))
def _power_growth(linear: bool) -> Formula:
    """Return the closed forms; ``linear`` for k = 0, where alpha alone must be at least 1."""
    import sympy as sp

    from responsefn.closed_forms.symbolic import Formula, PowerGrowth, R, b, p

    alpha, k, W = sp.symbols("alpha k W", positive=True)
    rounds = (1 - (1 - b) ** (1 - k)) * W ** (1 - k) / (alpha * (1 - k))
    share = (1 - (1 - b) ** (2 - k)) / (alpha * (2 - k))  # packets over W^(2-k)
    peak = (1 / (p * share)) ** (1 / (2 - k))
    growth = PowerGrowth(2 - k, alpha, 1 - b)
    # where the window after a loss, (1-b) peak, is one or the other
    at_reno, at_two = ((1 - b) ** (2 - k) / (share * low ** (2 - k)) for low in (alpha ** (-1 / k), 2))
    condition = sp.And(alpha >= 1 if linear else p <= at_reno, p <= at_two)
    return Formula(1 / (p * rounds.subs(W, peak) * R), peak, growth=growth, condition=condition)
