"""H-TCP: the increase grows with the time since the last loss."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from responsefn.response import Reference
from responsefn.rules.base import WindowRule

__all__ = ["HTCP"]


class HTCP(WindowRule):
    r"""H-TCP (Leith and Shorten 2004): the increase grows with the time since the last loss.

    alpha(t) = 1 for t <= 1 s, then 1 + 10 (t-1) + ((t-1)/2)^2, times 2 (1 - beta). A loss leaves
    beta = RTT_min/RTT_max of the window, within 0.5 and 0.8, with the RTTs of the cycle. The published
    rule's switch to beta = 1/2 after a change of throughput by more than 20 % is omitted: it does
    not act in a steady cycle.

    Response: the numerical cycle, derived here. Without ``bandwidth`` the round-trip time is fixed
    and beta is 0.8.

    The recovery is SACK, as in Linux with its module tcp_htcp.c (`WindowRule.recovery`).

    Domain: p <= 0.02.

    Examples
    --------
    >>> from responsefn import HTCP
    >>> round(HTCP().rate(1e-3, rtt=0.1), 1)
    616.3
    """

    class State(NamedTuple):
        """Window and threshold in packets; time of the last loss and RTTs in s; decrease factor."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        since: float = 0.0
        base_rtt: float = math.inf
        top_rtt: float = 0.0
        beta: float = 0.5

    assigned: ClassVar[tuple[str, ...]] = ("since", "base_rtt", "top_rtt", "beta")
    capacity: ClassVar[str] = "optional"
    recovery: ClassVar[str] = "sack"
    reference = Reference("D. Leith, R. Shorten, H-TCP: TCP for high-speed and long-distance networks, PFLDnet 2004")
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= 2 (1 - \beta) (1 + 10 (t-1) + \tfrac14 (t-1)^2)"
        r",\ \text{loss: } W \leftarrow \beta W,\ \beta = R_{\min} / R_{\max}"
    )
    domain = (0.0, 0.02)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or alpha / cwnd."""
        slow = s.cwnd < s.ssthresh
        since = where(slow, e.time, s.since)
        late = maximum(0.0, e.time - since - 1.0)
        a = 2.0 * (1.0 - s.beta) * (1.0 + 10.0 * late + 0.25 * late * late)
        return s._replace(
            cwnd=s.cwnd + where(slow, 1.0, a / s.cwnd),
            since=since,
            base_rtt=minimum(s.base_rtt, e.rtt),
            top_rtt=maximum(s.top_rtt, e.rtt),
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Multiply the window by RTT_min/RTT_max, within 0.5 and 0.8."""
        top = maximum(s.top_rtt, e.rtt)
        beta = minimum(0.8, maximum(0.5, minimum(s.base_rtt, e.rtt) / top))
        return s._replace(
            cwnd=maximum(1.0, beta * s.cwnd),
            ssthresh=maximum(2.0, beta * s.cwnd),
            since=e.time,
            top_rtt=0.0,
            beta=beta,
        )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), top_rtt=0.0)
