"""CAIA delay gradient (CDG) as in Linux's tcp_cdg.c."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import param, series
from responsefn.rules.base import after, whole
from responsefn.rules.deliveries.delivery_rule import DeliveryRule
from responsefn.rules.linux import KERNEL, LinuxRule, linux_file

__all__ = ["LinuxCDG"]

WINDOW = 8.0  # Linux 6.12, net/ipv4/tcp_cdg.c: window = 8
"""Number of round trips in the sum of gradients."""
# Linux 6.12, net/ipv4/tcp_cdg.c: last_ack + 3000 us; 125 us in base_owd and thresh
ACK_GAP, MIN_TRAIN_TIME = 3e-3, 125e-6
"""Slow start: maximum time between ACKs of a train, minimum duration of a train and minimum delay that end it, in s."""
SAMPLES = 8.0  # Linux 6.12, net/ipv4/tcp_cdg.c: sample_cnt < 8
"""ACKs of a round before its delay is compared in slow start."""
EFFECTIVE_FALL = -32e-6  # Linux 6.12, net/ipv4/tcp_cdg.c: gmin <= -32 or gmax <= -32 us
"""Sum of gradients in s up to which a cut has had an effect."""
NONE, CUT, LOSS = 0.0, 1.0, 2.0  # numbers of states
"""Reasons of the current reduction of the window."""


class LinuxCDG(LinuxRule, DeliveryRule):
    r"""CDG as in Linux's tcp_cdg.c: random cuts, whose probability increases with the growth of the delay.

    Once per round trip the changes of the round's minimum and maximum round-trip time since the previous round are
    summed over the last 8 rounds. g is the sum for the minimum if it is above 0, otherwise the sum for the maximum, in
    s. With the probability 1 - exp(-``backoff_factor`` g) the window falls to ``beta`` of itself within a round trip.
    After ``use_ineff`` such decisions without a fall of the delay there is no cut. Otherwise the window grows as
    Reno's. A loss halves it, or sets it to half of the window without those cuts (the shadow window), if that is more.
    Slow start ends by trains of ACKs and by delay, as in `LinuxCUBIC`, at any window: gaps below 3 ms for half of the
    minimum round-trip time, or the minimum of more than 8 round-trip times above the connection's minimum by an eighth.

    Cuts are random and belong to single round trips, so that it runs at packet level only. The tolerance of losses
    without a full queue, which the module has disabled, and its filter for delayed ACKs of single packets are omitted.

    Parameters
    ----------
    beta
        ``backoff_beta``, in 1024ths: factor of the window at a cut.
    backoff_factor
        Exponent of the probability per s of the summed gradient, > 0.
    hystart
        ``hystart_detect``: 1 by trains, 2 by delay, 3 by both, 0 no HyStart.
    use_ineff
        Maximum number of cuts without effect; 0: no limit.
    use_shadow
        1: with the shadow window, 0: without.
    kernel
        Version of the file: ``"6.12"``.

    Examples
    --------
    >>> from responsefn.linux import LinuxCDG
    >>> LinuxCDG().rate(0.01, 0.1)
    Traceback (most recent call last):
      ...
    ValueError: LinuxCDG(): has no response function of a loss rate: its window follows changes of the delay; ...
    """

    @series(range(1, 9), low=0.0, high=0.0)
    class State(NamedTuple):
        """Window, threshold and shadow window in packets; reason of the reduction; RTTs in s; gradients; the round.

        Minimum and maximum RTT of this and the last round (0: none), and the connection's minimum. The changes of both
        in the last eight rounds follow, s, with the number of changes and the number of cuts without effect. Then the
        packets left in the round, the times of its first and last ACK in s (negative: none), and its samples.
        """

        cwnd: float = 1.0
        ssthresh: float = math.inf
        shadow: float = 0.0
        reduced: float = NONE
        min_rtt: float = math.inf
        max_rtt: float = 0.0
        last_min_rtt: float = 0.0
        last_max_rtt: float = 0.0
        base_rtt: float = math.inf
        gradients: float = 0.0
        cuts: float = 0.0
        left: float = 0.0
        round_start: float = -1.0
        last_ack: float = -1.0
        samples: float = 0.0

    class Params(NamedTuple):
        """Decrease factor, probability of cuts, slow start, limit of cuts, shadow window, version."""

        beta: float = param(
            724 / 1024,
            above=0.0,
            at_most=1.0,
            source="Linux 6.12, net/ipv4/tcp_cdg.c: backoff_beta = 0.7071 * 1024, a whole number",
        )
        backoff_factor: float = param(
            42.0,
            "per s",
            above=0.0,
            source="Linux 6.12, net/ipv4/tcp_cdg.c: backoff_factor = 42, exp of -1e-6 per microsecond",
        )
        hystart: int = param(
            3,
            choices=(0, 1, 2, 3),
            source="Linux 6.12, net/ipv4/tcp_cdg.c: hystart_detect = 3",
        )
        use_ineff: int = param(
            5,
            "cuts",
            at_least=0.0,
            source="Linux 6.12, net/ipv4/tcp_cdg.c: use_ineff = 5",
        )
        use_shadow: int = param(
            1,
            choices=(0, 1),
            source="Linux 6.12, net/ipv4/tcp_cdg.c: use_shadow = true",
        )
        kernel: str = KERNEL

    older: ClassVar[dict[str, type[Any]]] = {}
    reference = linux_file("tcp_cdg.c")
    why_no_rate: ClassVar[str] = "its window follows changes of the delay"
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= 1,\ \text{with probability } 1 - e^{-f g}\text{: } W \gets \beta W"
        r",\ \text{loss: } W \gets W / 2"
    )

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Continue a reduction of the window; otherwise measure, decide about a cut, and grow."""
        if e.acked == 0.0:
            return s
        min_rtt = min(s.min_rtt, e.rtt)
        max_rtt = max(s.max_rtt, e.rtt)
        shadow = s.shadow if s.shadow > 0.0 else s.cwnd
        s = s._replace(min_rtt=min_rtt, max_rtt=max_rtt, shadow=shadow, left=s.left - e.acked)
        if e.recovering > 0.0:
            return s
        if s.reduced > NONE:
            return continue_reduction(s, q, e)
        if s.cwnd < s.ssthresh and q.hystart > 0:
            s = detect_exit(s, q, e)
        if s.left <= 0.0:
            s = decide_cut(s, q, e)
            if s.reduced > NONE:
                return s
        if e.limited > 0.0:
            shadow = min(s.shadow, s.cwnd)
            return s._replace(shadow=shadow)
        step = e.acked if s.cwnd < s.ssthresh else e.acked / whole(s.cwnd)
        return s._replace(cwnd=s.cwnd + step, shadow=s.shadow + step)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Set the window to half of itself or of its shadow window, if larger; complete a cut."""
        if s.reduced == CUT:
            return s._replace(cwnd=s.ssthresh, reduced=LOSS)
        w = whole(s.cwnd)
        shadow = min(whole(0.5 * s.shadow), w)
        window = max(2.0, whole(0.5 * w))
        if q.use_shadow > 0:
            window = max(window, shadow)
        return s._replace(cwnd=window, ssthresh=window, shadow=shadow, reduced=LOSS)

    @staticmethod
    @after(on_loss)
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; the threshold is the window that a loss leaves."""
        return s._replace(cwnd=1.0, reduced=NONE, left=0.0)


def continue_reduction(s: Any, q: Any, e: Any) -> Any:
    """Return the state after an ACK during a reduction, which ends with its round trip or with a loss recovery."""
    if s.reduced == CUT and s.left > 0.0:
        cwnd = max(s.ssthresh, s.cwnd - (1.0 - q.beta) * e.acked)
        return s._replace(cwnd=cwnd)
    s = s._replace(cwnd=s.ssthresh, reduced=NONE)
    return new_round(s)


def new_round(s: Any) -> Any:
    """Return the state at the end of a round trip."""
    left = whole(s.cwnd)
    return s._replace(
        last_min_rtt=s.min_rtt,
        last_max_rtt=s.max_rtt,
        min_rtt=math.inf,
        max_rtt=0.0,
        left=left,
        round_start=-1.0,
        samples=0.0,
    )


def detect_exit(s: Any, q: Any, e: Any) -> Any:
    """Check whether a train of ACKs or the delay ends slow start."""
    base = min(s.base_rtt, s.min_rtt)
    start = s.round_start
    last = s.last_ack
    samples = s.samples
    exits = False
    if q.hystart == 1 or q.hystart == 3:
        if start < 0.0:
            start = e.time
            last = e.time
        elif e.time < last + ACK_GAP:
            last = e.time
            exits = e.time > start + max(0.5 * base, MIN_TRAIN_TIME)
    if not exits and q.hystart >= 2:
        if samples < SAMPLES:
            samples = samples + 1.0
        else:
            exits = s.min_rtt > max(1.125 * base, MIN_TRAIN_TIME)
    ssthresh = whole(s.cwnd) if exits else s.ssthresh
    return s._replace(base_rtt=base, round_start=start, last_ack=last, samples=samples, ssthresh=ssthresh)


def decide_cut(s: Any, q: Any, e: Any) -> Any:
    """Return the state at the end of a round trip, possibly at the beginning of a cut."""
    gradient = 0.0
    if s.last_max_rtt > 0.0:
        gradients = min(WINDOW, s.gradients + 1.0)
        s = s._replace(
            low_1=s.min_rtt - s.last_min_rtt,
            low_2=s.low_1,
            low_3=s.low_2,
            low_4=s.low_3,
            low_5=s.low_4,
            low_6=s.low_5,
            low_7=s.low_6,
            low_8=s.low_7,
            gradients=gradients,
        )
        s = s._replace(
            high_1=s.max_rtt - s.last_max_rtt,
            high_2=s.high_1,
            high_3=s.high_2,
            high_4=s.high_3,
            high_5=s.high_4,
            high_6=s.high_5,
            high_7=s.high_6,
            high_8=s.high_7,
        )
        low = s.low_1 + s.low_2 + s.low_3 + s.low_4 + s.low_5 + s.low_6 + s.low_7 + s.low_8
        high = s.high_1 + s.high_2 + s.high_3 + s.high_4 + s.high_5 + s.high_6 + s.high_7 + s.high_8
        gradient = (low if low > 0.0 else high) * WINDOW / s.gradients
        if low <= EFFECTIVE_FALL or high <= EFFECTIVE_FALL:
            s = s._replace(cuts=0.0)
    s = new_round(s)
    if gradient <= 0.0 or e.random <= math.exp(-q.backoff_factor * gradient):
        return s
    cuts = s.cuts + 1.0
    if q.use_ineff > 0 and cuts > q.use_ineff:
        return s._replace(cuts=cuts)
    shadow = max(s.shadow, s.cwnd)
    ssthresh = max(2.0, whole(q.beta * whole(s.cwnd)))
    return s._replace(cuts=cuts, shadow=shadow, ssthresh=ssthresh, reduced=CUT)
