"""The fixed point of RED with flows of several kinds: one queue, one loss rate, all responses.

With q packets in the queue on average a packet is lost with the probability RED(q), the round-trip
time is that of the path and the wait q/C, and each flow sends what its response says. The queue at
which they all together send what the link carries, C/(1 - p), is the fixed point: load falls with q.
An empty queue loses nothing, so that the link is always full: utilisation is one (V. Misra, W.-B.
Gong, D. Towsley, Fluid-based analysis of a network of AQM routers supporting TCP flows, 2000).
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from scipy.optimize import brentq

from responsefn import PFTK, TFRC, LossHistory

RTO = 0.2
"""The least timeout of ns-2 here, s."""


class Link(NamedTuple):
    """A link behind RED: packets/s, thresholds in packets, the largest probability, buffer."""

    capacity: float = 1875.0
    low: float = 30.0
    high: float = 90.0
    most: float = 0.1
    buffer: float = 180.0

    def loss(self, queue: float) -> float:
        """Return the probability of gentle RED at an average queue in packets."""
        if queue <= self.low:
            return 0.0
        if queue <= self.high:
            return self.most * (queue - self.low) / (self.high - self.low)
        rest = (queue - self.high) / self.high
        return min(1.0, self.most + (1.0 - self.most) * rest)


SLOW, FAST = Link(), Link(7500.0, 120.0, 360.0, 0.1, 720.0)
"""15 and 60 Mb/s with packets of 1000 bytes."""
LOW_THRESHOLDS = Link(low=5.0, high=15.0)


def _gentle(a: float, b: float, p: float, rtt: float) -> float:
    """Return the rate of TCP(a,b): PFTK's times the ratio of the square-root laws.

    So it has the timeouts that TCP(1,1/2) has at the same p. At every p: PFTK continues the
    square-root law to p = 1, where the cycle of the bare rule is another.
    """
    share = math.sqrt(a * (2.0 - b) / (3.0 * b))
    return share * float(PFTK(rto=max(RTO, rtt)).rate(p=p, rtt=rtt))


RATES = {
    "TCP(1,1/2)": lambda p, rtt: float(PFTK(rto=max(RTO, rtt)).rate(p=p, rtt=rtt)),
    "TCP(1/5,1/8)": lambda p, rtt: _gentle(1 / 5, 1 / 8, p, rtt),
    "TCP(3/7,1/4)": lambda p, rtt: _gentle(3 / 7, 1 / 4, p, rtt),
    "TFRC": lambda p, rtt: float(TFRC(rto=max(RTO, 4.0 * rtt)).rate(p=p, rtt=rtt)),
}
"""Rate of a flow in packets/s at a loss rate and a round-trip time, by kind."""
BY_EVENTS, WITH_TIMER = "TFRC by loss events", "TFRC by loss events, with a shorter timer"


def _by_events(p: float, rtt: float, rto: float) -> float:
    """Return TFRC's rate T where all packets lost within a round trip are one loss event.

    So RFC 5348, Sect. 5.2, defines the p of its equation. Where packets are lost independently a loss
    event covers the T R packets of a round trip, and the next begins 1/p packets later:
    p_event = p/(1 + p T R).
    """

    def excess(rate: float) -> float:
        return float(TFRC(rto=rto).rate(p=p / (1.0 + p * rate * rtt), rtt=rtt)) - rate

    least = float(TFRC(rto=rto).rate(p=p, rtt=rtt))
    most = least
    while excess(most) > 0.0:
        most *= 2.0
    return float(brentq(excess, least, most, rtol=1e-6)) if most > least else least


SWITCHES = {
    BY_EVENTS: lambda p, rtt: _by_events(p, rtt, max(RTO, 4.0 * rtt)),
    WITH_TIMER: lambda p, rtt: _by_events(p, rtt, max(RTO, rtt)),
}
"""TFRC as ns-2 has it, step by step: its loss event rate, and its least timeout instead of four
round trips."""


class Group(NamedTuple):
    """Flows that are alike: their kind, number, and round-trip time without a queue in s."""

    kind: str
    number: int
    base_rtt: float = 0.048


class FixedPoint(NamedTuple):
    """Average queue in packets, loss rate, and the rate of a flow of each group in packets/s."""

    queue: float
    loss: float
    rates: tuple[float, ...]


@functools.cache
def fixed_point(*groups: Group, link: Link = SLOW) -> FixedPoint:
    """Return the fixed point of groups of flows behind one link.

    Examples
    --------
    >>> found = fixed_point(Group("TCP(1,1/2)", 20))
    >>> round(20 * found.rates[0] * (1 - found.loss))
    1875
    """
    responses = RATES | SWITCHES

    def at(queue: float) -> FixedPoint:
        p, wait = link.loss(queue), queue / link.capacity
        return FixedPoint(queue, p, tuple(responses[g.kind](p, g.base_rtt + wait) for g in groups))

    def excess(queue: float) -> float:
        found = at(queue)
        offered = sum(g.number * rate for g, rate in zip(groups, found.rates, strict=True))
        return math.log(offered * (1.0 - found.loss) / link.capacity)

    ends = link.low * (1.0 + 1e-9), 2.0 * link.high * (1.0 - 1e-9)
    return at(float(brentq(excess, *ends, xtol=1e-9)))


def variation(kind: str, *, periodic: bool = False, b: float | None = None) -> float:
    """Return the standard deviation of a flow's rate over its mean, in the limit of few losses.

    With independent losses: of TCP(a,b), whose windows between w and (1 - b)w have the moments of V.
    Dumas, F. Guillemin, P. Robert, A Markovian analysis of additive-increase multiplicative-decrease
    algorithms, 2002; of TFRC, the root of an average of eight exponential intervals (RFC 5348).
    With periodic losses: of a saw tooth, and of a constant. ``b``: the part given up, None: the kind's.
    """
    if kind == "TFRC":
        weights = LossHistory(n=8).weights
        return 0.0 if periodic else 0.5 * math.sqrt(float((weights**2).sum())) / weights.sum()
    b = b or {"TCP(1,1/2)": 1 / 2, "TCP(1/5,1/8)": 1 / 8, "TCP(3/7,1/4)": 1 / 4}[kind]
    if periodic:
        return b / (math.sqrt(12.0) * (1.0 - b / 2.0))
    kept = 1.0 - b
    product = math.prod((1 - kept ** (2 * n)) / (1 - kept ** (2 * n - 1)) for n in range(1, 400))
    return math.sqrt(math.pi / (2.0 * b * product**2) - 1.0)
