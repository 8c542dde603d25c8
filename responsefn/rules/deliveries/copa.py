"""Copa: a window that follows a target rate, the inverse of the queue's delay."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import param, series
from hopflow.tcp_constants import INITIAL_WINDOW
from responsefn.response import Reference
from responsefn.rules.deliveries.delivery_rule import DeliveryRule

__all__ = ["Copa"]


class Copa(DeliveryRule):
    r"""Copa (Arun and Balakrishnan 2018): the target rate is 1/(delta d) with the queueing delay d.

    d is RTT_standing - RTT_min, the minimum round-trip times of half a smoothed round trip and of ten seconds. Each
    ACK changes the window W by v/(delta W), up while W / RTT_standing is at most the target, otherwise down. The
    velocity v is 1, and doubles per round trip once the window has moved in one direction for three. Slow start doubles
    the window until its rate exceeds the target. Packets are paced at 2 W / RTT_standing.

    N flows alone have 1/delta packets each in the queue, and empty it about every five round trips. If it has not been
    nearly empty (d below a tenth of its maximum of four round trips) for five, another sender fills it: then 1/delta
    grows by one per round trip and halves with a loss, but is not below its default. Three or more flows alone may
    mistake each other for such a sender, and keep hundreds of packets in a large buffer. ``competitive=0`` prevents
    that. In the authors' last code (``voted=1``) the velocity doubles immediately and ACKs vote on its direction. That
    avoids the mistake, but does not fill the link (94 % with four flows).

    The paper leaves two details open: v/(delta W) is at most one packet (as in the authors' code), and a
    timeout begins a slow start from two packets (our own). Minima of round-trip times are stored for quarters
    of half a round trip, for seconds and for round trips, so that the windows are up to one such part shorter.

    Parameters
    ----------
    delta
        Inverse of the flow's packets in the queue, > 0.
    competitive
        1 with the mode for competition with senders that fill the queue, 0 without.
    voted
        1: the velocity of the authors' code. It doubles at the end of each round trip in which most ACKs moved the
        window in the previous direction; otherwise it is 1 and the direction reverses. 0: the paper's.

    Examples
    --------
    >>> from responsefn import Copa
    >>> Copa().rate(0.01, 0.1)
    Traceback (most recent call last):
      ...
    ValueError: Copa(): has no response function of a loss rate: its window follows the delay of the queue; ...
    """

    @series(range(1, 5), high=0.0)
    @series(range(1, 6), low=math.inf)
    @series(range(1, 11), base=math.inf)
    @series(range(1, 5), now=math.inf)
    class State(NamedTuple):
        """Window in packets, pacing in packets/s; then their inputs, times in s.

        - ``packets``: current 1/delta
        - ``direction``: 1 up, -1 down
        - ``same``: windows without a change of direction
        - ``votes``: ACKs up minus ACKs down in this window
        - ``begun``, ``begun_cwnd``: time and window at the begin of this window
        - ``slow``: whether in slow start
        - ``now_1`` to ``now_4``: minimum RTTs of quarters of srtt / 2
        - ``base_1`` to ``base_10``: minimum RTTs of seconds
        - ``low_1`` to ``low_5``, ``high_1`` to ``high_4``: minima and maxima of round trips
        - ``lossy``: a loss in this round trip
        """

        cwnd: float = INITIAL_WINDOW
        ssthresh: float = math.inf
        pacing_rate: float = 1e9
        srtt: float = 0.0
        packets: float = 0.0
        velocity: float = 1.0
        direction: float = 0.0
        same: float = 0.0
        votes: float = 0.0
        begun: float = -math.inf
        begun_cwnd: float = 0.0
        slow: float = 1.0
        quarter: float = -math.inf
        second: float = -math.inf
        lossy: float = 0.0

    class Params(NamedTuple):
        """Inverse of packets in the queue; whether it competes; whether ACKs vote on the velocity."""

        delta: float = param(
            0.5,
            above=0.0,
            source="Arun and Balakrishnan 2018, Sect. 2.2: delta = 0.5",
        )
        competitive: int = param(
            1,
            choices=(0, 1),
            source="Arun and Balakrishnan 2018, Sect. 2.2: the mode is part of Copa",
        )
        voted: int = param(
            0,
            choices=(0, 1),
            source="Arun and Balakrishnan 2018, Sect. 2.1: the velocity doubles after three round trips",
        )

    reference = Reference(
        "V. Arun, H. Balakrishnan, Copa: practical delay-based congestion control for the Internet, NSDI 2018, "
        "eq. 1, Sect. 2.1 and 2.2, and venkatarun95/genericCC, markoviancc.cc (the authors' own)",
        "primary",
    )
    why_no_rate: ClassVar[str] = "its window follows the delay of the queue"
    dynamics: ClassVar[str] = r"W \mathrel{\pm}= v / (\delta W)\ \text{towards}\ \lambda_t = 1 / (\delta d_q)"

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from two packets."""
        return s._replace(cwnd=2.0, slow=1.0, velocity=1.0, same=0.0)

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Change the window towards the target rate."""
        if e.acked == 0.0:
            return s._replace(lossy=1.0)
        s = update_rtts(s, e)
        standing = min(min(s.now_1, s.now_2), min(s.now_3, s.now_4))
        early = min(min(s.base_1, s.base_2, s.base_3), min(s.base_4, s.base_5, s.base_6))
        min_rtt = min(early, min(s.base_7, s.base_8), min(s.base_9, s.base_10))
        if e.time >= s.begun + s.srtt:
            s = end_round(s, q, min_rtt, e.time)
        cwnd = s.cwnd
        velocity = min(s.velocity, max(1.0, cwnd / s.packets))
        slow, votes = s.slow, s.votes
        lossy = max(s.lossy, min(e.lost, 1.0))
        if cwnd * (standing - min_rtt) <= s.packets * standing:
            cwnd += e.acked * (1.0 if slow > 0.0 else min(1.0, velocity * s.packets / cwnd))
            votes += 1.0 - slow
        else:
            slow = 0.0
            votes -= 1.0
            cwnd = max(2.0, cwnd - e.acked * min(1.0, velocity * s.packets / cwnd))
        return s._replace(
            cwnd=cwnd, slow=slow, velocity=velocity, votes=votes, pacing_rate=2.0 * cwnd / standing, lossy=lossy
        )


def update_rtts(s: Any, e: Any) -> Any:
    """Update the minima and maxima of round-trip times with a new sample."""
    srtt = e.rtt if s.srtt == 0.0 else s.srtt + 0.125 * (e.rtt - s.srtt)
    if e.time >= s.quarter + 0.125 * srtt:
        s = s._replace(quarter=e.time, now_1=e.rtt, now_2=s.now_1, now_3=s.now_2, now_4=s.now_3)
    if e.time >= s.second + 1.0:
        s = s._replace(
            second=e.time,
            base_1=e.rtt,
            base_2=s.base_1,
            base_3=s.base_2,
            base_4=s.base_3,
            base_5=s.base_4,
            base_6=s.base_5,
            base_7=s.base_6,
            base_8=s.base_7,
            base_9=s.base_8,
            base_10=s.base_9,
        )
    return s._replace(
        srtt=srtt,
        now_1=min(s.now_1, e.rtt),
        base_1=min(s.base_1, e.rtt),
        low_1=min(s.low_1, e.rtt),
        high_1=max(s.high_1, e.rtt),
    )


def end_round(s: Any, q: Any, min_rtt: Any, now: Any) -> Any:
    """Return the state at the end of a round trip: the velocity, and 1/delta."""
    low = min(min(s.low_1, s.low_2, s.low_3), min(s.low_4, s.low_5))
    high = max(max(s.high_1, s.high_2), max(s.high_3, s.high_4))
    default = 1.0 / q.delta
    packets = default
    if q.competitive > 0.0 and s.high_4 > 0.0 and low - min_rtt > 0.1 * (high - min_rtt):
        packets = max(default, 0.5 * s.packets if s.lossy > 0.0 else s.packets + 1.0)
    direction = 1.0 if s.cwnd > s.begun_cwnd else -1.0
    same = s.same + 1.0 if direction == s.direction else 0.0
    velocity = 1.0
    if q.voted > 0.0:
        last = 1.0 if s.direction == 0.0 else s.direction
        direction = last if last * s.votes > 0.0 else -last
        velocity = 2.0 * s.velocity if direction == last else 1.0
    elif same >= 3.0 and s.slow == 0.0:
        velocity = 2.0 * s.velocity
    return s._replace(
        packets=packets,
        direction=direction,
        same=same,
        velocity=velocity,
        votes=0.0,
        begun_cwnd=s.cwnd,
        begun=now,
        lossy=0.0,
        low_1=math.inf,
        low_2=s.low_1,
        low_3=s.low_2,
        low_4=s.low_3,
        low_5=s.low_4,
        high_1=0.0,
        high_2=s.high_1,
        high_3=s.high_2,
        high_4=s.high_3,
    )
