"""LEDBAT: a sender in the background, which gives way as the delay of the queue grows."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import param, series
from responsefn.response import rfc
from responsefn.rules.deliveries.delivery_rule import DeliveryRule

__all__ = ["LEDBAT", "base_of", "delay_of", "filtered"]


class LEDBAT(DeliveryRule):
    r"""LEDBAT (RFC 6817): a window that aims at a fixed delay of the queue, at most ``target``.

    Per round trip the window changes by ``gain`` times (target - delay) / target packets; a loss halves it,
    at most once per round trip. The delay is the least of four samples (FILTER() is left open by Sect. 2.4.2; a
    minimum and four samples are among what it and Sect. 2.5 name) less the least of ten minutes; samples are
    round-trip times, where the RFC has those of one way. A flow that begins while another fills the queue
    takes that for its base, and gets more: the latecomer's advantage of Sect. 4.4, which has no mechanism against it.

    Parameters
    ----------
    target
        Delay in s, 0 < target <= 0.1.
    gain
        0 < gain <= 1.

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
        """Window in packets; the last four delays; least delays of ten minutes, and when this one began, s."""

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
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= g (\tau - d) / (\tau W),\ \text{loss: } W \gets W / 2"
    )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve, to two packets at least; what a timeout left below stays."""
        return s._replace(cwnd=min(s.cwnd, max(2.0, 0.5 * s.cwnd)))

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Move the window towards the target delay, by at most what is in flight and one packet."""
        s = filtered(s, e)
        delay = delay_of(s) - base_of(s)
        cwnd = s.cwnd + q.gain * (q.target - delay) / q.target * e.acked / s.cwnd
        cwnd = max(2.0, min(cwnd, e.in_flight + e.acked + e.lost + 1.0))
        return s._replace(cwnd=cwnd)


def filtered(s: Any, e: Any) -> Any:
    """Return the state with a round-trip time among the last four, and among the least ones of ten minutes."""
    if e.time >= s.minute + 60.0:
        s = s._replace(
            base=e.rtt, base_2=s.base, base_3=s.base_2, base_4=s.base_3, base_5=s.base_4,
            base_6=s.base_5, base_7=s.base_6, base_8=s.base_7, base_9=s.base_8,
            base_10=s.base_9, minute=e.time,
        )  # fmt: skip
    base = min(s.base, e.rtt)
    return s._replace(last=e.rtt, last_2=s.last, last_3=s.last_2, last_4=s.last_3, base=base)


def delay_of(s: Any) -> Any:
    """Return the least of the last four round-trip times, s."""
    return min(min(s.last, s.last_2), min(s.last_3, s.last_4))


def base_of(s: Any) -> Any:
    """Return the least round-trip time of ten minutes, s."""
    early = min(min(s.base_2, s.base_3, s.base_4), min(s.base_5, s.base_6, s.base_7))
    return min(s.base, early, min(s.base_8, s.base_9, s.base_10))
