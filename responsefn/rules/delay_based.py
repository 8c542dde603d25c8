"""Base of rules that respond to queueing delay, and FAST TCP."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import param
from responsefn.response import Reference
from responsefn.rules.base import WindowRule, cut

__all__ = ["FAST", "QueueRule", "no_slow_start", "packets_in_queue"]


def packets_in_queue(cwnd: Any, base: Any, rtt: Any) -> Any:
    """Return the packets of the window that wait in the queue."""
    return cwnd * (rtt - base) / rtt


def no_slow_start(s: Any, slow: Any, grown: Any) -> Any:
    """Return the threshold after an ACK, which above slow start is at most the new window.

    Otherwise a window that shrinks because of a queue would enter slow start below the threshold of the last loss.
    """
    return where(slow, s.ssthresh, minimum(s.ssthresh, grown))


class QueueRule(WindowRule):
    """Base of rules that target a number of packets in the queue, and halve the window at a loss."""

    class State(NamedTuple):
        """Window and threshold in packets, shortest RTT in s."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt",)
    capacity: ClassVar[str] = "needed"
    domain = (0.0, 0.02)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve the window."""
        return cut(s, 0.5 * s.cwnd)


class FAST(QueueRule):
    r"""FAST TCP (Wei et al. 2006): moves towards alpha packets in the queue, by gamma per round trip.

    w <- min(2w, (1-gamma) w + gamma (RTT_min/RTT w + alpha)); half the window at a loss.

    Without loss the window settles at CR + alpha, with C the capacity in packets/s. With loss the
    response is the numerical cycle, derived here: from half the window it grows by gamma alpha packets per
    round trip to CR, and the queue then approaches alpha exponentially.

    Domain: p <= 0.02. Needs ``bandwidth``.

    Parameters
    ----------
    alpha
        Packets in the queue, > 0; FAST's users set it by the capacity, 100 is ns-2's default.
    gamma
        Part of the way per round trip, 0 < gamma <= 1.

    Examples
    --------
    >>> from responsefn import FAST
    >>> round(FAST(alpha=20.0).rate(1e-4, 0.04, bandwidth=2000.0))
    1991
    """

    class Params(NamedTuple):
        """Packets in the queue, part of the way per round trip."""

        alpha: float = param(100.0, "amount", above=0.0, source="ns-2.35's TCP/Fast: alpha_ 100")
        gamma: float = param(
            0.5,
            above=0.0,
            at_most=1.0,
            source="Wei et al. 2006, Sect. IV: gamma = 1/2",
        )

    assigned: ClassVar[tuple[str, ...]] = ("ssthresh", "base_rtt")
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= \gamma (\alpha - N),\ N = W (1 - R_{\min} / R)"
        r",\ \text{loss: } W \leftarrow W / 2"
    )
    reference = Reference("D. Wei et al., FAST TCP, IEEE/ACM ToN 14(6), 2006", doi="10.1109/TNET.2006.886335")

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Move towards the target, at most doubling per round trip."""
        base = minimum(s.base_rtt, e.rtt)
        step = q.gamma * (q.alpha - packets_in_queue(s.cwnd, base, e.rtt)) / s.cwnd
        slow = s.cwnd < s.ssthresh
        grown = maximum(1.0, s.cwnd + where(slow, 1.0, minimum(1.0, step)))
        return s._replace(cwnd=grown, ssthresh=no_slow_start(s, slow, grown), base_rtt=base)
