"""TIMELY: a rate from the gradient of the round-trip time, and its patch with a fixed point."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.checks import one_number
from hopflow.parameters import extends, param
from hopflow.units import PacketUnits, readable_text
from responsefn.response import Reference
from responsefn.rules.rates.rate_rule import NoLossRate

__all__ = ["TIMELY", "PatchedTIMELY"]


class TIMELY(NoLossRate):
    r"""TIMELY (Mittal et al. 2015), as Zhu et al. (2016, Algorithm 1) state it.

    Each completed ``segment`` gives a round-trip time RTT. The rate R grows by delta below ``t_low`` and falls to
    R (1 - beta (1 - T_high / RTT)) above ``t_high``. In between it follows the gradient g, the smoothed change of
    the RTT over ``min_rtt``: it grows by delta if g <= 0 (five times as much after five segments), otherwise it
    falls to R (1 - beta g). It has no unique fixed point: the shares depend on the initial rates, as Zhu et
    al. prove; `PatchedTIMELY` has a fixed point.

    Changes are scaled by the time since the last change if that is shorter than ``min_rtt``. The rate
    stays between delta and the rate of the first link. Packets are paced one by one, not in bursts of a segment. A
    round-trip time includes the transmission times of the path.

    Parameters
    ----------
    delta
        Additive step, packets/s.
    beta
        Multiplicative decrease, 0 < beta <= 1.
    alpha
        Weight of a new change of the round-trip time, 0 < alpha <= 1.
    t_low, t_high
        Round-trip times between which the gradient determines the rate, s, below 5.
    min_rtt
        Time by which changes are normalized, s, below 5.
    segment
        Packets, >= 1.
    start_part
        Initial rate as a fraction of the first link's, 0 < start_part <= 1. If N flows begin together with 1, their
        rates collapse for tens of milliseconds, also in the fluid model of Zhu et al.

    The defaults are Zhu et al.'s: 10 Mb/s, 50 and 500 us, 20 us, 16 kB. In a network, rates and sizes, also values with
    units, are converted to its packets. Outside of a network packets have 1500 bytes.

    Examples
    --------
    >>> from responsefn import TIMELY, Feedback
    >>> rule = TIMELY(segment=1)
    >>> state = rule.start(line_rate=1e6)._replace(rate=1e5, previous=5e-5, updated=0.0)
    >>> rule.on_feedback(state, rule.params, Feedback(time=1e-3, rtt=5e-5, acks=1.0, marks=0.0)).rate
    100833.33...
    """

    class State(NamedTuple):
        """Rates in packets/s; the last round-trip time, its smoothed change and the last update in s; counts.

        segment_acks: packets of this segment; falling: segments in a row whose gradient was not positive.
        """

        rate: float = math.inf
        line_rate: float = math.inf
        previous: float = 0.0
        change: float = 0.0
        updated: float = -math.inf
        segment_acks: float = 0.0
        falling: float = 0.0

    class Params(NamedTuple):
        """Step in packets/s, decrease, weight, times in s, packets, part of a rate."""

        delta: float = param(
            PacketUnits(10e6 / 12000.0, 1500.0),
            "rate",
            above=0.0,
            source="Zhu et al. 2016, Sect. 4: delta = 10 Mb/s, packets of 1500 bytes",
        )
        beta: float = param(
            0.8,
            above=0.0,
            at_most=1.0,
            source="Mittal et al. 2015, Sect. 4.3; Zhu et al. 2016: beta = 0.8",
        )
        alpha: float = param(
            0.875,
            above=0.0,
            at_most=1.0,
            source="Zhu et al. 2016, Sect. 4: alpha = 0.875",
        )
        t_low: float = param(
            50e-6,
            "time",
            above=0.0,
            below=5.0,
            source="Mittal et al. 2015, Sect. 4.4: T_low = 50 us",
        )
        t_high: float = param(
            500e-6,
            "time",
            below=5.0,
            source="Mittal et al. 2015, Sect. 4.4: T_high = 500 us",
        )
        min_rtt: float = param(
            20e-6,
            "time",
            above=0.0,
            below=5.0,
            source="Zhu et al. 2016, Sect. 4: D_minRTT = 20 us",
        )
        segment: float = param(
            PacketUnits(16e3 / 1500.0, 1500.0),
            "amount",
            at_least=1.0,
            source="Zhu et al. 2016, Sect. 4: Seg = 16 KB, packets of 1500 bytes",
        )
        start_part: float = param(
            1.0,
            "share",
            above=0.0,
            at_most=1.0,
            source="own choice: the rate of the interface, as a sender over RDMA begins",
        )

    reference = Reference(
        "R. Mittal et al., TIMELY: RTT-based congestion control for the datacenter, SIGCOMM 2015, "
        "as stated and patched in Y. Zhu et al., ECN or delay: lessons learnt from "
        "analysis of DCQCN and TIMELY, CoNEXT 2016, Algorithms 1 and 2",
        "primary",
        "10.1145/2999572.2999593",
    )
    follows = "round-trip times"
    dynamics: ClassVar[str] = (
        r"R \mathrel{+}= \delta\ (g \le 0),\ R \gets R (1 - \beta g)\ (g > 0),\ "
        r"g = \dot{\mathrm{RTT}} / D_{\min}"
    )

    def check(self) -> None:
        """Check the ranges of the parameters."""
        q = self.params
        one_number("t_high", q.t_high, at_least=q.t_low, hint="in s, not below t_low")

    def path_mismatch(self, line_rate: float, rtt: float) -> str:
        """Name an increase of at least the rate of the link or a path on which the rate only falls."""
        if self.params.t_high <= rtt:
            return (
                f"t_high = {readable_text(self.params.t_high, 's')} is not above the round-trip time without queues, "
                f"{readable_text(rtt, 's')}, so that each round trip lowers the rate"
            )
        if self.params.delta >= line_rate:
            return (
                f"delta = {self.params.delta:g} packets/s is not below the rate of the link, {line_rate:.4g} "
                "packets/s: a number is in packets/s, bits are a string such as '10Mbps'"
            )
        return ""

    def start(self, line_rate: float) -> Any:
        """Return the state of a new sender, which sends at ``start_part`` of ``line_rate`` in packets/s."""
        return super().start(line_rate)._replace(rate=self.params.start_part * line_rate)

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Count packets; change the rate when a segment is complete."""
        return update_rate(s, q, e, 0.0)


class PatchedTIMELY(TIMELY):
    r"""TIMELY with the patch of Zhu et al. (2016, Algorithm 2), which has a fixed point.

    Between ``t_low`` and ``t_high`` the rate R becomes delta (1 - w) + R (1 - beta w (RTT - T_low) / T_low), with
    w = 2 g + 1/2 within [0, 1]. N flows over a link of C packets/s come to C / N each, at

    .. math::

        \mathrm{RTT} = T_{low} \left(1 + \frac{N \delta}{\beta C}\right),

    their fixed point of the queue, with round-trip times that include the path's. All else is `TIMELY`'s; ``beta`` is
    0.008.

    Examples
    --------
    >>> from responsefn import Feedback, PatchedTIMELY
    >>> rule = PatchedTIMELY(segment=1)
    >>> state = rule.start(line_rate=1e6)._replace(rate=1e5, previous=5e-5, updated=0.0)
    >>> rule.on_feedback(state, rule.params, Feedback(time=1e-3, rtt=5e-5, acks=1.0, marks=0.0)).rate
    100416.66...
    """

    @extends(TIMELY.Params)
    class Params(NamedTuple):
        """Step in packets/s, decrease, weight, times in s, packets, part of a rate."""

        beta: float = param(0.008, source="Zhu et al. 2016, Sect. 4.3: beta = 0.008")

    dynamics: ClassVar[str] = (
        r"R \gets \delta (1 - w) + R (1 - \beta w (\mathrm{RTT} - T_{low}) / T_{low}),\ w = 2 g + \tfrac12"
    )

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Count packets; change the rate when a segment is complete."""
        return update_rate(s, q, e, 1.0)


def update_rate(s: Any, q: Any, e: Any, patched: Any) -> Any:
    """Return the state after ACKs: another rate if they complete a segment."""
    segment_acks = s.segment_acks + e.acks
    if segment_acks < q.segment:
        return s._replace(segment_acks=segment_acks)
    segment_acks = max(0.0, segment_acks - q.segment)
    if s.previous == 0.0:
        return s._replace(segment_acks=segment_acks, previous=e.rtt, updated=e.time)
    change = (1.0 - q.alpha) * s.change + q.alpha * (e.rtt - s.previous)
    gradient = change / q.min_rtt
    part = min(1.0, (e.time - s.updated) / q.min_rtt)
    falling = s.falling + 1.0 if gradient <= 0.0 else 0.0
    if e.rtt < q.t_low:
        step = q.delta
    elif e.rtt > q.t_high:
        step = -s.rate * q.beta * (1.0 - q.t_high / e.rtt)
    elif patched > 0.0:
        weight = min(1.0, max(0.0, 2.0 * gradient + 0.5))
        step = q.delta * (1.0 - weight) - s.rate * q.beta * weight * (e.rtt / q.t_low - 1.0)
    elif gradient <= 0.0:
        step = 5.0 * q.delta if falling >= 5.0 else q.delta
    else:
        step = -s.rate * q.beta * min(1.0, gradient)
    rate = min(s.line_rate, max(q.delta, s.rate + part * step))
    return s._replace(
        rate=rate,
        previous=e.rtt,
        change=change,
        updated=e.time,
        segment_acks=segment_acks,
        falling=falling,
    )
