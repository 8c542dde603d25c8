"""PCC Vivace: a rate that follows the gradient of a utility, measured in intervals of a round trip."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import param, series
from hopflow.units import PacketUnits
from responsefn.response import Reference
from responsefn.rules.deliveries.delivery_rule import DeliveryRule

__all__ = ["Vivace"]

STARTING, PROBING, MOVING = 0.0, 1.0, 2.0  # numbers of states
"""What it does: doubles its rate; tries rates around it; follows the gradient."""
PROBES = 4.0  # PCC-Uspace, pcc_vivace_rc.cpp: offset <= 3
"""Intervals of a probe: two pairs of a higher and a lower rate."""
PACKETS = 20.0  # PCC-Uspace, pcc_sender.cpp: kMinimumPacketsPerInterval = 20
"""Least packets of an interval."""
# PCC-Uspace, pcc_vivace_ucalc.cpp: kBitsPerMegabit = 1024 * 1024, in packets of 1500 bytes
UNIT = PacketUnits(2**20 / 12000, 1500.0, 2**20 / 8)
"""Packets/s: 2^20 bit/s."""
FIRST_RATE = 5.0  # PCC-Uspace, pcc_vivace_rc.cpp: kStartingRate = 5 * kMegabit
"""Rate at the start, units."""
STEP = 0.1  # PCC-Uspace, pcc_vivace_rc.cpp: kGradientStepFactor = 0.1 * kMegabit
"""Units of the rate for a gradient of one utility per unit, times the amplifier."""
AMPLIFIER = 10.0  # PCC-Uspace, pcc_vivace_rc.cpp: kMinAmplifier = 10
"""Amplifier of the first step, one more in each further one."""
# PCC-Uspace, pcc_vivace_rc.cpp: kMinChangeBound = 0.10; kChangeBoundStepSize = 0.5 *
# kMinChangeBound; kMinChangeProportion = 0.01
BOUND, MORE_BOUND, MIN_STEP = 0.1, 0.05, 0.01
"""Fractions of the rate: maximum step, its increase each time it is reached, and minimum step."""
MIN_RATE = 10.0  # own choice: the sources have no least rate
"""Minimum rate in packets/s; the sources have none."""
GAIN = 0.125  # RFC 6298, Sect. 2: alpha = 1/8
"""Gain of the smoothed round-trip time (RFC 6298)."""
WINDOW = 1e6  # own choice: the rate alone limits it, as in the sources
"""Window in packets: the rate alone limits the sender."""
INTERVAL = ("begin", "end", "rate", "count", "total", "moment", "sent", "first", "came", "lost")
"""Fields of an interval, besides its number in a probe and whether its utility is unknown."""


class Vivace(DeliveryRule):
    r"""PCC Vivace (Dong et al. 2018): gradient ascent of x^0.9 - 900 x dRTT/dt - 11.35 x L.

    Time is divided in intervals of a round trip, or of 20 packets. The utility of an interval follows from its rate x,
    the slope dRTT/dt of the round-trip times of its packets, and the lost fraction L. It is known a round trip after
    the end. The slope is the smaller of two estimates, by least squares and by the difference of the times in which the
    packets arrived and were sent. Below ``rtt_filter`` it counts as zero. The authors' module for Linux takes the slope
    from the first and the last smoothed round-trip time of the interval (``smoothed=1``), which is more sensitive to
    jitter.

    The rate doubles from interval to interval until the utility falls. Then four intervals test rates 2 % above and
    below it, two of each in random order. If both pairs prefer the same side, the rate moves there, in each interval by
    0.1 units times the gradient in utility per unit, times an amplifier of 10, 11, 12 and so on, by 1 % to 10 % of the
    rate. The upper bound grows by 5 % of the rate each time it is reached. It probes again once the gradient changes
    sign.

    Two flows on 24 or 48 Mb/s converge to half each. On 12 Mb/s, where a probe changes little, the second flow has a
    tenth for minutes.

    Utility, states and constants follow the authors' code; the loss term is the paper's. An
    interval begins with an ACK, not with a packet; a timeout halves the rate and probes (our own).

    Parameters
    ----------
    exponent
        Exponent of the rate in the utility, above 0 and below 1.
    rtt_weight
        Weight of the slope of the round-trip time, >= 0.
    loss_weight
        Weight of the losses, >= 0.
    probing
        Step of a probe as a fraction of the rate, above 0 and below 1.
    rtt_filter
        Slope below which it counts as zero, >= 0.
    unit_rate
        Packets/s that are one unit of x: 2^20 bit/s.
    smoothed
        1: the slope of smoothed round-trip times over the time of sending. It is zero below two packets' times and
        between -``rtt_filter`` and ``rtt_filter``, and not negative while the rate doubles. 0: the smaller of two
        estimates.

    Examples
    --------
    >>> from responsefn import Vivace
    >>> Vivace().rate(0.01, 0.1)
    Traceback (most recent call last):
      ...
    ValueError: Vivace(): has no response function of a loss rate: its rate follows a measured gradient; ...
    """

    @series(INTERVAL, now=0.0, last=0.0, old=0.0)
    class State(NamedTuple):
        """Window in packets, pacing in packets/s; mode and rates, packets/s; three intervals, times in s.

        - ``target``: the rate
        - ``amplifier``, ``bound``: of the next step
        - ``gradient``: utility per packet/s
        - ``up``: whether it moves to higher rates
        - ``rate``, ``utility``: of the previous interval (rate < 0: none)
        - ``probe``: number of the next interval of a probe
        - ``high``: whether its first interval has the higher rate
        - ``u_0`` to ``u_3``: utilities of its intervals

        For the current interval (now), the previous (last) and its predecessor (old): begin and end (for ``now``:
        earliest), rate, number in a probe (-1: none), packets delivered, sum of their round-trip times, and their first
        moment over the packet numbers (with ``smoothed`` the first and the last smoothed time). Then the time at which
        the last packet was sent, the times at which the first and the last were acknowledged, and the packets lost.
        ``open`` is 1 while the utility is unknown.
        """

        cwnd: float = WINDOW
        ssthresh: float = math.inf
        pacing_rate: float = FIRST_RATE * float(UNIT)
        mode: float = STARTING
        target: float = 0.0
        amplifier: float = AMPLIFIER
        bound: float = BOUND
        gradient: float = 0.0
        up: float = 0.0
        rate: float = -1.0
        utility: float = 0.0
        probe: float = 0.0
        high: float = 0.0
        u_0: float = 0.0
        u_1: float = 0.0
        u_2: float = 0.0
        now_probe: float = -1.0
        last_probe: float = -1.0
        last_open: float = 0.0
        old_probe: float = -1.0
        old_open: float = 0.0
        srtt: float = 0.0

    class Params(NamedTuple):
        """Exponent and weights of the utility, step of a probe, and limits.

        These are the slope that counts as zero, the packets/s of a unit, and the choice of the slope's estimate.
        """

        exponent: float = param(
            0.9,
            above=0.0,
            below=1.0,
            source="Dong et al. 2018, Sect. 4, and PCC-Uspace, pcc_vivace_ucalc.cpp: kExponent = 0.9",
        )
        rtt_weight: float = param(
            900.0,
            at_least=0.0,
            source="PCC-Uspace, pcc_vivace_ucalc.cpp: kRTTCoefficient = 900",
        )
        loss_weight: float = param(
            11.35,
            at_least=0.0,
            source="Dong et al. 2018, Sect. 4: c = 11.35",
        )
        probing: float = param(
            0.02,
            above=0.0,
            below=1.0,
            source="PCC-Uspace, pcc_vivace_rc.cpp: kProbingStep = 0.02",
        )
        rtt_filter: float = param(
            0.02,
            at_least=0.0,
            source="PCC-Uspace, pcc_vivace_ucalc.cpp: kRTTFilter = 0.02",
        )
        unit_rate: float = param(
            UNIT,
            "rate",
            above=0.0,
            source="PCC-Uspace, pcc_vivace_ucalc.cpp: kBitsPerMegabit = 1024 * 1024, in packets of 1500 bytes",
        )
        smoothed: int = param(
            0,
            choices=(0, 1),
            source="PCC-Uspace, pcc_vivace_ucalc.cpp: a regression",
        )

    reference = Reference(
        "M. Dong, T. Meng, D. Zarchy, E. Arslan, Y. Gilad, P. B. Godfrey, M. Schapira, PCC Vivace: online-learning "
        "congestion control, NSDI 2018 (its loss weight), and PCCproject/PCC-Uspace, pcc_vivace_rc.cpp, "
        "pcc_vivace_ucalc.cpp, pcc_mi.cpp, and PCCproject/PCC-Kernel, tcp_pcc.c (the authors' own)",
        "secondary",
    )
    why_no_rate: ClassVar[str] = "its rate follows a measured gradient"
    dynamics: ClassVar[str] = (
        r"x \mathrel{+}= m\,\theta\,\mathrm{d}u/\mathrm{d}x,\ u = x^{0.9} - b x\,\mathrm{d}R/\mathrm{d}t - c x L"
    )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Halve the rate, and start a probe; drop the open intervals."""
        target = max(MIN_RATE, 0.5 * s.target)
        s = s._replace(target=target, pacing_rate=target, now_end=0.0, last_open=0.0, old_open=0.0)
        return probing(s, s.high)

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Count the packet in its interval, evaluate intervals with known packets, and begin the next interval."""
        sent = e.time - e.rtt
        other = 1.0 if e.random < 0.5 else 0.0
        smooth = e.rtt if s.srtt == 0.0 else s.srtt + GAIN * (e.rtt - s.srtt)
        s = s._replace(srtt=smooth)
        if s.old_open > 0.0 and sent >= s.old_end:
            s = evaluate_interval(s, q, other)
        if s.old_open == 0.0 and s.last_open > 0.0 and sent >= s.last_end:
            s = evaluate_interval(archive_interval(s), q, other)
        s = count_delivery(s, q, sent, e)
        if e.time >= s.now_end and (s.old_open == 0.0 or s.last_open == 0.0):
            s = begin_interval(s, q, e)
        return s


def count_delivery(s: Any, q: Any, sent: Any, e: Any) -> Any:
    """Count a delivery and losses in the interval in which the newest packet was sent."""
    if s.old_open > 0.0 and sent < s.old_end:
        if e.acked == 0.0:
            return s._replace(old_lost=s.old_lost + e.lost)
        first = e.time if s.old_count == 0.0 else s.old_first
        total, moment = add_rtt(s, q, e, s.old_count, s.old_total, s.old_moment)
        return s._replace(
            old_lost=s.old_lost + e.lost,
            old_count=s.old_count + e.acked,
            old_total=total,
            old_moment=moment,
            old_sent=sent,
            old_came=e.time,
            old_first=first,
        )
    if s.last_open > 0.0 and sent < s.last_end:
        if e.acked == 0.0:
            return s._replace(last_lost=s.last_lost + e.lost)
        first = e.time if s.last_count == 0.0 else s.last_first
        total, moment = add_rtt(s, q, e, s.last_count, s.last_total, s.last_moment)
        return s._replace(
            last_lost=s.last_lost + e.lost,
            last_count=s.last_count + e.acked,
            last_total=total,
            last_moment=moment,
            last_sent=sent,
            last_came=e.time,
            last_first=first,
        )
    if e.acked == 0.0 or sent < s.now_begin:
        return s._replace(now_lost=s.now_lost + e.lost)
    first = e.time if s.now_count == 0.0 else s.now_first
    total, moment = add_rtt(s, q, e, s.now_count, s.now_total, s.now_moment)
    return s._replace(
        now_lost=s.now_lost + e.lost,
        now_count=s.now_count + e.acked,
        now_total=total,
        now_moment=moment,
        now_sent=sent,
        now_came=e.time,
        now_first=first,
    )


def add_rtt(s: Any, q: Any, e: Any, count: Any, total: Any, moment: Any) -> Any:
    """Return sum and first moment of the round-trip times, or the first and the last smoothed time."""
    if q.smoothed > 0:
        if count == 0.0:
            return s.srtt, s.srtt
        return total, s.srtt
    return total + e.acked * e.rtt, moment + count * e.acked * e.rtt


def archive_interval(s: Any) -> Any:
    """Move the last interval to the old interval, which must not be open."""
    return s._replace(
        old_begin=s.last_begin,
        old_end=s.last_end,
        old_rate=s.last_rate,
        old_probe=s.last_probe,
        old_count=s.last_count,
        old_total=s.last_total,
        old_moment=s.last_moment,
        old_sent=s.last_sent,
        old_first=s.last_first,
        old_came=s.last_came,
        old_lost=s.last_lost,
        old_open=s.last_open,
        last_open=0.0,
    )


def begin_interval(s: Any, q: Any, e: Any) -> Any:
    """Begin the next interval; the current interval becomes the last."""
    if s.last_open > 0.0:
        s = archive_interval(s)
    if s.now_end > 0.0:
        s = s._replace(
            last_begin=s.now_begin,
            last_end=e.time,
            last_rate=s.now_rate,
            last_probe=s.now_probe,
            last_count=s.now_count,
            last_total=s.now_total,
            last_moment=s.now_moment,
            last_sent=s.now_sent,
            last_first=s.now_first,
            last_came=s.now_came,
            last_lost=s.now_lost,
            last_open=1.0,
        )
    number = -1.0
    target = s.target if s.target > 0.0 else FIRST_RATE * q.unit_rate
    s = s._replace(target=target)
    rate = target
    if s.mode == STARTING:
        if s.rate > 0.0:
            rate = 2.0 * target
            s = s._replace(target=rate)
    elif s.mode == PROBING:
        number = s.probe
        s = s._replace(probe=number + 1.0)
        if number < PROBES:
            rate = (1.0 + q.probing * sign_of(number, s.high)) * target
    else:
        s = step_rate(s, q)
        rate = s.target
    return s._replace(
        pacing_rate=rate,
        now_begin=e.time,
        now_end=e.time + max(e.rtt, PACKETS / rate),
        now_rate=rate,
        now_probe=number,
        now_count=0.0,
        now_total=0.0,
        now_moment=0.0,
        now_lost=0.0,
    )


def sign_of(number: Any, high: Any) -> Any:
    """Return 1 for an interval of a probe with the higher rate, -1 with the lower rate."""
    outer = number == 0.0 or number == 3.0
    return 1.0 if outer == (high > 0.0) else -1.0


def utility_of(s: Any, q: Any) -> Any:
    """Return the utility of the old interval."""
    n = s.old_count
    slope = slope_of_smoothed(s, q) if q.smoothed > 0 else slope_of(s, q)
    lost = s.old_lost / max(1.0, s.old_lost + n)
    x = s.old_rate / q.unit_rate
    return x**q.exponent - q.rtt_weight * slope * x - q.loss_weight * lost * x


def slope_of(s: Any, q: Any) -> Any:
    """Return the slope of the round-trip times of the old interval, the smaller of two estimates."""
    n, slope, received = s.old_count, 0.0, 0.0
    duration, came = s.old_sent - s.old_begin, s.old_came - s.old_first
    if n >= 2.0 and duration > 0.0:
        moment = s.old_moment - 0.5 * (n - 1.0) * s.old_total
        slope = 12.0 * moment / (n * n - 1.0) / duration
    if came > 0.0:
        received = 1.0 - duration / came
    if abs(received) < abs(slope):
        slope = received
    if slope < q.rtt_filter:
        slope = 0.0
    return slope


def slope_of_smoothed(s: Any, q: Any) -> Any:
    """Return the slope of the smoothed round-trip times of the old interval."""
    change, duration = s.old_moment - s.old_total, s.old_sent - s.old_begin
    if duration <= 0.0 or abs(change) < 2.0 * (s.old_came - s.old_first) / max(1.0, s.old_count):
        return 0.0
    slope = change / duration
    if abs(slope) < q.rtt_filter or (slope < 0.0 and s.mode == STARTING):
        return 0.0
    return slope


def evaluate_interval(s: Any, q: Any, other: Any) -> Any:
    """Evaluate the old interval, whose packets are known; ``other``: ``high`` of the next probe."""
    utility, rate, number = utility_of(s, q), s.old_rate, s.old_probe
    s = s._replace(old_open=0.0)
    if s.mode == STARTING:
        if s.rate > 0.0 and utility < s.utility and s.rate < rate:
            return probing(s._replace(target=s.rate), other)
        return s._replace(rate=rate, utility=utility)
    if s.mode == PROBING:
        if number == 0.0:
            return s._replace(u_0=utility)
        if number == 1.0:
            return s._replace(u_1=utility)
        if number == 2.0:
            return s._replace(u_2=utility)
        if number == 3.0:
            return decide(s, q, utility, other)
        return s
    gradient = (utility - s.utility) / (rate - s.rate) if rate != s.rate else 0.0
    s = s._replace(gradient=gradient)
    if (s.up > 0.0) == (gradient >= 0.0):
        return s._replace(rate=rate, utility=utility)
    return probing(step_rate(s._replace(target=s.rate), q), other)


def decide(s: Any, q: Any, u_3: Any, other: Any) -> Any:
    """Return the state at the end of a probe: moving to the side that both pairs prefer, or another probe."""
    first, second = sign_of(0.0, s.high), sign_of(2.0, s.high)
    part = 2.0 * q.probing * s.target
    gradient_0 = first * (s.u_0 - s.u_1) / part
    gradient = second * (s.u_2 - u_3) / part
    if (gradient_0 > 0.0) != (gradient > 0.0):
        return probing(s, other)
    better = first if s.u_0 > s.u_1 else -first
    up = 1.0 if gradient_0 > 0.0 else 0.0
    return s._replace(
        mode=MOVING,
        amplifier=AMPLIFIER,
        bound=BOUND,
        gradient=gradient,
        up=up,
        target=(1.0 + q.probing * better) * s.target,
        rate=(1.0 - q.probing * second) * s.target,
        utility=u_3,
    )


def probing(s: Any, high: Any) -> Any:
    """Return the state at the begin of a probe."""
    return s._replace(mode=PROBING, probe=0.0, high=high)


def step_rate(s: Any, q: Any) -> Any:
    """Move the rate a step along the gradient."""
    step = STEP * s.amplifier * q.unit_rate * q.unit_rate * s.gradient
    part = abs(step) / s.target
    bound = BOUND
    if part > s.bound:
        part = s.bound
        bound = s.bound + MORE_BOUND
    part = max(part, MIN_STEP)
    sign = 1.0 if step >= 0.0 else -1.0
    target = max(MIN_RATE, (1.0 + sign * part) * s.target)
    return s._replace(target=target, amplifier=s.amplifier + 1.0, bound=bound)
