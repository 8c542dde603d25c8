"""LEDBAT: a background sender that yields as the queueing delay grows."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import param, series
from responsefn.response import rfc
from responsefn.rules.deliveries.delivery_rule import DeliveryRule

__all__ = ["LEDBAT", "base_of", "delay_of", "filter_rtt"]


class LEDBAT(DeliveryRule):
    r"""LEDBAT (RFC 6817): a window that aims at a fixed delay of the queue, at most ``target``.

    Per round trip the window changes by ``gain`` times (target - delay) / target packets. A loss halves it, at most
    once per round trip. The delay is the minimum of four samples minus the minimum of ten minutes. Sect. 2.4.2 leaves
    FILTER() open, and names a minimum. Sect. 2.5 allows four samples. Samples are round-trip times instead of the RFC's
    one-way delays. A flow that begins while another fills the queue has too large a base delay, and gets more: the
    latecomer's advantage of Sect. 4.4, for which the RFC has no mechanism.

    Parameters
    ----------
    target
        Target of the queueing delay in s, 0 < target <= 0.1.
    gain
        Gain of the window, 0 < gain <= 1.

    Examples
    --------
    >>> from responsefn import LEDBAT
    >>> LEDBAT().rate(0.01, 0.1)
    Traceback (most recent call last):
      ...
    ValueError: LEDBAT(): has no response function of a loss rate: its window follows the delay of the queue; ...
    """

    @series(range(2, 11), base=math.inf)
    @series(range(2, 5), last=math.inf)
    class State(NamedTuple):
        """Window in packets, and delays in s.

        Delays are the last four, and the minima of ten minutes. The state also has the begin of the current minute, s.
        """

        cwnd: float = 2.0
        ssthresh: float = math.inf
        last: float = math.inf
        base: float = math.inf
        minute: float = 0.0

    class Params(NamedTuple):
        """Delay in s; gain."""

        target: float = param(
            0.1,
            "time",
            above=0.0,
            at_most=0.1,
            source="RFC 6817, Sect. 2.5: TARGET MUST be 100 ms or less",
        )
        gain: float = param(
            1.0,
            above=0.0,
            at_most=1.0,
            source="RFC 6817, Sect. 2.5: GAIN MUST be at most 1",
        )

    reference = rfc(
        6817,
        "S. Shalunov et al., Low extra delay background transport (LEDBAT), 2012",
        "Sect. 2.4.2 and 2.5",
    )
    why_no_rate: ClassVar[str] = "its window follows the delay of the queue"
    dynamics: ClassVar[str] = r"W \mathrel{+}= g (\tau - d) / (\tau W),\ \text{loss: } W \gets W / 2"

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve the window, to at least two packets, but do not increase a smaller window after a timeout."""
        return s._replace(cwnd=min(s.cwnd, max(2.0, 0.5 * s.cwnd)))

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Change the window towards the target delay, to at most one packet more than in flight."""
        s = filter_rtt(s, e)
        delay = delay_of(s) - base_of(s)
        cwnd = s.cwnd + q.gain * (q.target - delay) / q.target * e.acked / s.cwnd
        cwnd = max(2.0, min(cwnd, e.in_flight + e.acked + e.lost + 1.0))
        return s._replace(cwnd=cwnd)


def filter_rtt(s: Any, e: Any) -> Any:
    """Add a round-trip time to the last four and to the minima of ten minutes."""
    if e.time >= s.minute + 60.0:
        s = s._replace(
            base=e.rtt,
            base_2=s.base,
            base_3=s.base_2,
            base_4=s.base_3,
            base_5=s.base_4,
            base_6=s.base_5,
            base_7=s.base_6,
            base_8=s.base_7,
            base_9=s.base_8,
            base_10=s.base_9,
            minute=e.time,
        )
    base = min(s.base, e.rtt)
    return s._replace(last=e.rtt, last_2=s.last, last_3=s.last_2, last_4=s.last_3, base=base)


def delay_of(s: Any) -> Any:
    """Return the minimum of the last four round-trip times, s."""
    return min(min(s.last, s.last_2), min(s.last_3, s.last_4))


def base_of(s: Any) -> Any:
    """Return the minimum round-trip time of ten minutes, s."""
    early = min(min(s.base_2, s.base_3, s.base_4), min(s.base_5, s.base_6, s.base_7))
    return min(s.base, early, min(s.base_8, s.base_9, s.base_10))
