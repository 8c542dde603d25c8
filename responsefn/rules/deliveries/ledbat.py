"""LEDBAT and LEDBAT++: background senders that yield as the queueing delay grows."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import extends, param, series
from responsefn.response import Reference, rfc
from responsefn.rules.deliveries.delivery_rule import DeliveryRule

__all__ = ["LEDBAT", "LEDBATpp", "base_of", "delay_of", "filter_rtt"]


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


FIRST, NORMAL, FROZEN, RAMP = 0.0, 1.0, 2.0, 3.0  # numbers of states
"""The first slow start; avoidance; two packets; slow start to the former window."""
MIN_WINDOW = 2.0  # draft-irtf-iccrg-ledbat-plus-plus-01, Sect. 4.4: 2 packets
"""Minimum window in packets."""
EXIT = 3 / 4  # draft-irtf-iccrg-ledbat-plus-plus-01, Sect. 4.1: 3/4 of the target
"""Fraction of the target delay at which the first slow start ends."""
# draft-irtf-iccrg-ledbat-plus-plus-01, Sect. 4.4: 2 packets for 2 RTT; 2 RTT after the initial
# slow start
FROZEN_ROUNDS, WAIT_ROUNDS = 2.0, 2.0
"""Round trips with two packets; from the end of the first slow start to the first slowdown."""
PERIOD = 9.0  # draft-irtf-iccrg-ledbat-plus-plus-01, Sect. 4.4: 9 times the duration
"""Time until the next slowdown, in durations of a slowdown."""


class LEDBATpp(DeliveryRule):
    r"""LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): LEDBAT with multiplicative decrease and periodic slowdowns.

    Per round trip the window grows by a gain g packets while the delay of the queue is below ``target``, and changes by
    max(g - c W (delay/target - 1), -W/2) above it, where g = 1 / min(``divisor``, ceil(2 target / base)). Slow start
    grows by g packets per acknowledged packet. The first slow start ends at 3/4 of the target. A slowdown follows two
    round trips later, and then nine times the duration of the previous slowdown after its end: two packets for two
    round trips, and slow start back to the former window. All flows then measure the empty queue, so that a latecomer
    has no advantage (unlike `LEDBAT`). A loss halves the window.

    The delay is the minimum of four round-trip times minus the minimum of ten minutes, as in `LEDBAT`.

    Parameters
    ----------
    target
        Target of the queueing delay in s, > 0.
    decrease
        Constant c of the decrease, > 0.
    divisor
        Maximum divisor of the gain, >= 1.

    Examples
    --------
    >>> from responsefn import LEDBATpp
    >>> LEDBATpp().rate(0.01, 0.1)
    Traceback (most recent call last):
      ...
    ValueError: LEDBATpp(): has no response function of a loss rate: its window follows the delay of the queue; ...
    """

    @extends(LEDBAT.State)
    class State(NamedTuple):
        """Window and former window in packets, delays in s, and the phase.

        Delays are the last four, and the minima of ten minutes. The begin of the current minute follows, s. The phase
        has the time in s at which it ends (in avoidance: at which the next slowdown begins), and the time at which the
        last slowdown began.
        """

        cwnd: float = MIN_WINDOW
        phase: float = FIRST
        until: float = math.inf
        began: float = 0.0

    class Params(NamedTuple):
        """Delay in s, constant of the decrease, bound of the divisor."""

        target: float = param(
            0.06,
            "time",
            above=0.0,
            below=5.0,
            source="draft-irtf-iccrg-ledbat-plus-plus-01, Sect. 4.5: 60 ms",
        )
        decrease: float = param(
            1.0,
            above=0.0,
            source="draft-irtf-iccrg-ledbat-plus-plus-01, Sect. 4.3: Constant, 1 recommended",
        )
        divisor: float = param(
            16.0,
            at_least=1.0,
            source="draft-irtf-iccrg-ledbat-plus-plus-01, Sect. 4.2: GAIN = 1 / min(16, ceil(2 TARGET / base))",
        )

    reference = Reference(
        "P. Balasubramanian, O. Ertugay, D. Havey, LEDBAT++, draft-irtf-iccrg-ledbat-plus-plus-01, Sect. 4.1 to 4.5",
        "primary",
    )
    sets_initial_window: ClassVar[bool] = True
    why_no_rate: ClassVar[str] = "its window follows the delay of the queue"
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= g,\ d > \tau\text{: } W \mathrel{+}= \max(g - c W (d/\tau - 1), -W/2)"
        r",\ \text{loss: } W \gets W / 2"
    )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve the window, to at least two packets, and end slow start."""
        cwnd = min(s.cwnd, max(MIN_WINDOW, 0.5 * s.cwnd))
        s = s._replace(cwnd=cwnd)
        if s.phase == FIRST:
            return s._replace(phase=NORMAL, until=e.time + WAIT_ROUNDS * e.rtt)
        if s.phase == RAMP:
            return s._replace(phase=NORMAL, until=e.time + PERIOD * (e.time - s.began))
        return s

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        ssthresh = max(MIN_WINDOW, 0.5 * s.cwnd)
        return s._replace(cwnd=1.0, ssthresh=ssthresh, phase=RAMP, began=e.time)

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Advance the phases; in avoidance change the window by the delay."""
        s = filter_rtt(s, e)
        base = base_of(s)
        delay = delay_of(s) - base
        gain = 1.0 / min(q.divisor, math.ceil(2.0 * q.target / base))
        if s.phase == FROZEN and e.time >= s.until:
            s = s._replace(phase=RAMP)
        if s.phase == FROZEN or e.recovering > 0.0:
            return s
        if s.phase == NORMAL and e.time >= s.until:
            until = e.time + FROZEN_ROUNDS * e.rtt
            return s._replace(cwnd=MIN_WINDOW, ssthresh=s.cwnd, phase=FROZEN, until=until, began=e.time)
        if s.phase == FIRST and delay <= EXIT * q.target:
            return s._replace(cwnd=s.cwnd + gain * e.acked)
        if s.phase == FIRST:
            s = s._replace(phase=NORMAL, until=e.time + WAIT_ROUNDS * e.rtt)
        if s.phase == RAMP:
            cwnd = min(s.ssthresh, s.cwnd + gain * e.acked)
            if cwnd < s.ssthresh:
                return s._replace(cwnd=cwnd)
            until = e.time + PERIOD * (e.time - s.began)
            return s._replace(cwnd=cwnd, phase=NORMAL, until=until)
        step = gain
        if delay > q.target:
            step = max(gain - q.decrease * s.cwnd * (delay / q.target - 1.0), -0.5 * s.cwnd)
        cwnd = max(MIN_WINDOW, s.cwnd + step * e.acked / s.cwnd)
        cwnd = min(cwnd, max(s.cwnd, e.in_flight + e.acked + e.lost + 1.0))
        return s._replace(cwnd=cwnd)
