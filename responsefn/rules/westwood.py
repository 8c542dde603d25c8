"""TCP Westwood with rate estimation."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import extends, param
from responsefn.response import Reference
from responsefn.rules.base import FULL, WindowRule
from responsefn.rules.delay_based import QueueRule

__all__ = ["Westwood"]


class Westwood(WindowRule):
    r"""TCP Westwood with rate estimation (TCPW-RE): at a loss to the estimated rate times RTT_min.

    Reno's growth; at a loss the window becomes RE RTT_min, that is what the path holds without a
    queue. RE follows cwnd/RTT with a gain per round trip. While the queue is empty the estimate is
    the rate itself, less its lag, and random losses hardly reduce the window: under one loss in 1/p packets it
    climbs to the capacity, though only by (1/(4 p W))^2 packets from loss to loss (derived here, for a gain of 1/8 and
    cycles shorter than its lag of eight round trips).

    Domain: p <= 0.02. Needs ``bandwidth``; the rate is so nearly the capacity over wide ranges of p
    that there is no inverse.

    Parameters
    ----------
    gain
        Of the rate estimate, per round trip, 0 < gain <= 1; 1/8 stands for the paper's filter.

    Examples
    --------
    >>> from responsefn import Westwood
    >>> round(Westwood().rate(1e-3, 0.04, bandwidth=2000.0))
    2000
    """

    @extends(QueueRule.State)
    class State(NamedTuple):
        """Window and threshold in packets, shortest RTT in s, rate estimate in packets/s."""

        estimate: float = 0.0

    class Params(NamedTuple):
        """Gain of the rate estimate per round trip."""

        gain: float = param(
            0.125,
            above=0.0,
            at_most=1.0,
            source="tcp_westwood.c: westwood_do_filter, 7/8 of the old value; stands for the paper's filter",
        )

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt",)
    rate_estimates: ClassVar[tuple[str, ...]] = ("estimate",)
    capacity: ClassVar[str] = "needed"
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= 1"
        r",\ \text{loss: } W \leftarrow \mathit{RE}\, R_{\min}"
    )
    reference = Reference(
        "C. Casetti et al., TCP Westwood, MobiCom 2001; rate estimation: TCPW-RE, 2002",
        doi="10.1145/381677.381704",
    )
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = FULL

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Reno's growth; the estimate follows the rate."""
        return s._replace(
            cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, 1.0 / s.cwnd),
            base_rtt=minimum(s.base_rtt, e.rtt),
            estimate=s.estimate + q.gain * (s.cwnd / e.rtt - s.estimate) / s.cwnd,
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Set the window to the bandwidth-delay product at the estimated rate."""
        held = maximum(2.0, s.estimate * minimum(s.base_rtt, e.rtt))
        return s._replace(cwnd=minimum(s.cwnd, held), ssthresh=held)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to the bandwidth-delay product."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, s.estimate * s.base_rtt))
