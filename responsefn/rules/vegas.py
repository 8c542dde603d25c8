"""TCP Vegas, as published and as in ns-2: a few packets in the queue.

Its response needs the capacity: ``bandwidth=`` in packets/s, with a window above ``bandwidth * rtt``
waiting in a queue that only this flow fills.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.checks import one_number
from hopflow.functions import maximum, minimum, where
from hopflow.units import quantities
from responsefn.responses import references
from responsefn.rules.delay_based import BandRule, kept_in_band, queued

__all__ = ["NS2Vegas", "Vegas"]


@quantities(alpha="amount", beta="amount")
class Vegas(BandRule):
    r"""TCP Vegas (Brakmo and Peterson 1995): keeps alpha to beta packets in the queue.

    Per round trip one packet more below alpha, one less above beta, half the window at a loss (the
    gentler cut of a loss that its own fine timer finds is left out).

    Without loss the window rests at W = CR + alpha, with C the capacity in packets/s. With loss the
    numerical cycle, derived here; where it reaches W, 1/p > 3 W^2/8, that is Reno's climb from W/2
    and then the capacity::

        T = (1/p) / (R (CR - W/2) + (1/p - ((CR)^2 - (W/2)^2) / 2) / C)

    Domain: p <= 0.02. Needs ``bandwidth``.

    Parameters
    ----------
    alpha, beta
        Packets in the queue, 0 < alpha <= beta. The defaults are those of Linux; the authors' later book says that 1
        and 3 work well.

    Examples
    --------
    >>> from responsefn import Vegas
    >>> round(Vegas().rate(1e-7, 0.04, bandwidth=2000.0))
    2000
    """

    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= [N < \alpha] - [N > \beta],\ N = W (1 - R_{\min} / R)"
        r",\ \text{loss: } W \leftarrow W / 2"
    )
    reference = references.VEGAS_BOOK

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or one packet per round trip up, down or not at all."""
        return kept_in_band(s, q, e, 1.0)


@quantities(alpha="amount", beta="amount", gamma="amount")
class NS2Vegas(BandRule):
    r"""Vegas as in ns-2: a slow start of its own, and a mean round-trip time (Brakmo and Peterson 1995, Sect. 3.3).

    Slow start doubles the window in every other round trip, and ends when more than gamma packets wait in the
    queue, before anything is lost. The round-trip time is an average over about a window. Otherwise as `Vegas`,
    which begins like Reno, and overshoots.

    Domain: p <= 0.02. Needs ``bandwidth``.

    Parameters
    ----------
    alpha, beta
        Packets in the queue, 0 < alpha <= beta; ns-2's defaults.
    gamma
        Packets in the queue that end slow start, > 0.

    Examples
    --------
    >>> from responsefn import NS2Vegas
    >>> round(float(NS2Vegas().rate(1e-3, 0.04, bandwidth=8333.0)))
    968
    """

    class State(NamedTuple):
        """Window and threshold in packets, shortest and mean RTT in s, when the next pair of round trips begins in s."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf
        mean_rtt: float = 0.0
        turn: float = 0.0

    class Params(NamedTuple):
        """Packets queued: alpha (grow below), beta (shrink above), gamma (end slow start)."""

        alpha: float = 1.0
        beta: float = 3.0
        gamma: float = 1.0

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt", "turn", "ssthresh")
    dynamics: ClassVar[str] = Vegas.dynamics
    reference = references.BRAKMO

    def check(self) -> None:
        """Check the ranges of alpha, beta and gamma."""
        super().check()
        one_number("gamma", self.params.gamma, above=0.0)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start in every other round trip, or one packet per round trip up or down."""
        base = minimum(s.base_rtt, e.rtt)
        mean = where(s.mean_rtt > 0.0, s.mean_rtt + (e.rtt - s.mean_rtt) / s.cwnd, e.rtt)
        waiting = queued(s.cwnd, base, mean)
        turn = where(e.time > s.turn, e.time + 1.75 * e.rtt, s.turn)
        doubling = where(turn - e.time > 0.875 * e.rtt, 1.0, 0.0)
        threshold = where(waiting > q.gamma, minimum(s.ssthresh, s.cwnd), s.ssthresh)
        step = where(waiting < q.alpha, 1.0, where(waiting > q.beta, -1.0, 0.0)) / s.cwnd
        grown = s.cwnd + where(s.cwnd < threshold, doubling, step)
        return s._replace(
            cwnd=maximum(2.0, grown), ssthresh=threshold, base_rtt=base, mean_rtt=mean, turn=turn
        )
