"""TCP Adaptive Reno: Reno's growth and a part that follows the measured queue."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import param
from hopflow.units import PacketUnits
from responsefn.response import Reference
from responsefn.rules.base import NO_INVERSE_AT_CAPACITY, WindowRule

__all__ = ["ARENO", "congestion"]


class ARENO(WindowRule):
    r"""TCP-Adaptive Reno (Shimonishi and Murase): a Reno window and a probe beside it.

    With the congestion level c = min(1, (RTT - RTT_min)/(RTT_cong - RTT_min)), RTT_cong the average
    round-trip time at losses, the probe grows by W_inc(c) = W e^(-10 c) + beta c + gamma per round
    trip, where W is one packet per 10 Mb/s of capacity and beta, gamma make W_inc(1) and its mean
    over 0..1 one packet; at a loss the window becomes 1/(1 + c) of itself and the probe 0.

    The rule's paper was not available. The public implementations for ns-3 have these beta and gamma,
    and the probe grows by W_inc beside Reno's packet: two packets per round trip at c = 1. With
    ``inclusive=1`` Reno's packet is part of W_inc, so that the flow is no more aggressive than Reno
    there. Which reading is right is open: kaneko2007's slide of pairs is nearer to the latter in three
    of four pairs, and to the former beside HSTCP. RTT_cong is the average of the text, with the weight
    ``memory`` = 1/2 of the previous value; the implementations for ns-3 have 0.85.

    Domain: p <= 0.02. Needs ``bandwidth``. Without a queue a loss does not reduce the window,
    and the rate is the capacity over wide ranges of p, so that there is no inverse. If the
    capacity is unknown (a source in a network), the highest rate of ACKs so far replaces it.

    Parameters
    ----------
    unit_rate
        Capacity per packet of W, in packets/s: 10 Mb/s.
    inclusive
        1 or 0: whether W_inc includes Reno's packet per round trip.
    memory
        Weight of the previous RTT_cong at a loss, 0 <= memory < 1.

    Examples
    --------
    >>> from responsefn import ARENO
    >>> ARENO().capacity, ARENO().monotone
    ('needed', False)
    """

    class State(NamedTuple):
        """Window, threshold, Reno's part; shortest RTT and RTT at losses in s; top rate."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_window: float = 1.0
        base_rtt: float = math.inf
        loss_rtt: float = 0.0
        top_rate: float = 0.0

    class Params(NamedTuple):
        """Capacity per packet of growth, in packets/s; a flag; weight of the previous RTT_cong."""

        unit_rate: float = param(
            PacketUnits(10e6 / 12000, 1500.0),
            "rate",
            above=0.0,
            source="Shimonishi and Murase 2005: M = 10 Mb/s, packets of 1500 bytes",
        )
        inclusive: int = param(
            0,
            choices=(0, 1),
            source="the implementations for ns-3: W_inc beside Reno's packet",
        )
        memory: float = param(
            0.5,
            at_least=0.0,
            below=1.0,
            source="Shimonishi and Murase 2005: RTT_cong averages with a half",
        )

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt", "loss_rtt", "top_rate")
    capacity: ClassVar[str] = "needed"
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= 1 + W_{\mathrm{inc}}(c)"
        r",\ \text{loss: } W \leftarrow W / (1 + c)"
    )
    reference = Reference("H. Shimonishi, T. Murase, TCP-Adaptive Reno, 2005 and PFLDnet 2006")
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = NO_INVERSE_AT_CAPACITY

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or growth of Reno's part and of the probe."""
        base = minimum(s.base_rtt, e.rtt)
        top = maximum(s.top_rate, s.cwnd / e.rtt)
        level = congestion(e.rtt, base, s.loss_rtt)
        max_growth = top / q.unit_rate
        small = math.exp(-10.0)
        slope = 2.0 * max_growth * (0.1 - 1.1 * small)
        offset = where(q.inclusive > 0, 0.0, 1.0) - 2.0 * max_growth * (0.1 - 0.6 * small)
        growth = max_growth * math.exp(-10.0 * level) + slope * level + offset
        slow = s.cwnd < s.ssthresh
        probe = maximum(0.0, s.cwnd - s.base_window + where(slow, 0.0, growth / s.cwnd))
        base_window = s.base_window + where(slow, 1.0, 1.0 / s.cwnd)
        return s._replace(cwnd=base_window + probe, base_window=base_window, base_rtt=base, top_rate=top)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Multiply the window by 1/(1+c), and assign it to Reno's part."""
        base = minimum(s.base_rtt, e.rtt)
        window = maximum(1.0, s.cwnd / (1.0 + congestion(e.rtt, base, s.loss_rtt)))
        mean_rtt = q.memory * s.loss_rtt + (1.0 - q.memory) * e.rtt
        loss_rtt = where(s.loss_rtt > 0.0, mean_rtt, e.rtt)
        return s._replace(
            cwnd=window,
            ssthresh=maximum(2.0, window),
            base_window=window,
            base_rtt=base,
            loss_rtt=loss_rtt,
        )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), base_window=1.0)


def congestion(rtt: Any, base: Any, at_loss: Any) -> Any:
    """Return ARENO's congestion level, 0 to 1; RTT_cong is twice the base RTT before the first loss."""
    loss_delay = where(at_loss > 0.0, at_loss, 2.0 * base) - base
    return minimum(1.0, (rtt - base) / maximum(1e-9 * rtt, loss_delay))
