"""DCQCN: the rate of RoCE senders, by marks and timers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from hopflow.parameters import is_overridden, param
from hopflow.units import PacketUnits, WithUnit, quantities
from responsefn.inputs import keeps_labels, loss_rate, plain, round_trip, same_shape, spread
from responsefn.response import Reference
from responsefn.rules.rates.rate_rule import RateRule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["DCQCN"]

GRID, BISECTIONS = 200, 60  # numerical
MIN_RATE, MAX_RATE = 1e-3, 1e15  # numerical
"""Range in packets/s of the search for the lowest fixed point, on a grid of logarithms."""


class DCQCN(RateRule):
    r"""DCQCN (Zhu et al. 2015): rate control of RDMA over Ethernet, as in QCN.

    A receiver of marked packets sends a congestion notification, at most one per ``notification``
    seconds. At each notification the sender's target R_T becomes its rate R_C, R_C falls by alpha/2 of itself, and
    alpha, its estimate of congestion, moves to 1 with gain ``g``. After each ``alpha_timer`` without a notification
    alpha falls by the fraction g. A timer and a counter of packets raise the rate: each time that one of them
    expires, R_C moves half way to R_T. After ``stages`` rounds of one of them since the last notification
    R_T first grows by ``additive``, and after as many rounds of both by ``hyper``.

    Here p is the fraction of packets with a mark. The rate is the fixed point of the paper's fluid model
    (Sect. 5), with packets marked independently:

    .. math::

        \tfrac12 R_C \alpha q / \tau = \tfrac12 (R_T - R_C) (b + t),\quad
        (R_T - R_C) q / \tau = R_{AI} (b (1-p)^{FB} + t (1-p)^{F T R_C}),

    with q = 1 - (1-p)^(tau R_C), alpha = 1 - (1-p)^(tau' R_C), b = R_C p / ((1-p)^(-B) - 1) and
    t = R_C p / ((1-p)^(-T R_C) - 1). The model omits that each notification sets R_T to R_C, the correlation of
    alpha and R_C, and the hyper increase. The round-trip time does not matter.

    The defaults are the paper's: 10 MB, 40 Mb/s (hyper: ten times that, as in QCN). A network converts them to its
    packets, also parameters in bytes or bits/s, such as ``additive="40Mbps"``. Outside of a network, as in `rate`,
    packets have 1500 bytes.

    Parameters
    ----------
    g
        Gain of alpha, 0 < g <= 1.
    notification
        tau: minimum time between two notifications of a flow, s, below 5.
    alpha_timer
        tau': time without a notification after which alpha falls, s, below 5.
    timer
        T: period of the timer that raises the rate, s, below 5.
    counter
        B: packets after which the counter raises the rate.
    stages
        F: rounds of fast recovery.
    additive, hyper
        R_AI, R_HAI: additive and hyper increase of R_T, packets/s.
    remembers
        1 or 0: whether the receiver stores a mark that arrives before it may send the next notification. 1: it notifies
        at the end of that interval, so that intervals follow each other while packets are marked, as in the fluid
        model. 0: it ignores the mark, and the first mark after the interval causes a notification. Ten senders at 40
        Gb/s then have twice the queue (about 143 packets instead of 76).

    Examples
    --------
    >>> from responsefn import DCQCN
    >>> round(DCQCN().rate(1e-3) / DCQCN().rate(4e-3), 1)
    3.0
    """

    class State(NamedTuple):
        """Rates in packets/s; alpha; rounds of timer and counter; the times (s) and packets of the clocks.

        target: R_T; notified: time of the last notification; pending_marks: marks of less than a whole packet; waiting:
        whether a notification is pending; sent: packets since the counter's last round; notifications: their number.
        """

        rate: float = math.inf
        target: float = math.inf
        alpha: float = 1.0
        line_rate: float = math.inf
        rounds_of_timer: float = 0.0
        rounds_of_counter: float = 0.0
        next_round: float = math.inf
        next_fall: float = math.inf
        notified: float = -math.inf
        pending_marks: float = 0.0
        waiting: float = 0.0
        sent: float = 0.0
        notifications: float = 0.0

    class Params(NamedTuple):
        """Gain, times in s, packets, rounds, rates in packets/s, and 1 or 0."""

        g: float = param(
            1 / 256,
            above=0.0,
            at_most=1.0,
            source="Zhu et al. 2015, Sect. 5.2 and Table 2: g = 1/256",
        )
        notification: float = param(
            50e-6,
            "time",
            above=0.0,
            below=5.0,
            source="Zhu et al. 2015, Sect. 3.3: one notification in 50 us",
        )
        alpha_timer: float = param(
            55e-6,
            "time",
            above=0.0,
            below=5.0,
            source="Zhu et al. 2015, Sect. 3.3: K = 55 us",
        )
        timer: float = param(
            55e-6,
            "time",
            above=0.0,
            below=5.0,
            source="Zhu et al. 2015, Sect. 5.2: T = 55 us",
        )
        counter: float = param(
            PacketUnits(10e6 / 1500.0, 1500.0),
            "amount",
            above=0.0,
            source="Zhu et al. 2015, Sect. 5.2: B = 10 MB, packets of 1500 bytes",
        )
        stages: int = param(5, at_least=1.0, source="Zhu et al. 2015, Sect. 3.3: F = 5")
        additive: float = param(
            PacketUnits(40e6 / 12000.0, 1500.0),
            "rate",
            above=0.0,
            source="Zhu et al. 2015, Sect. 3.3: R_AI = 40 Mb/s, packets of 1500 bytes",
        )
        hyper: float = param(
            PacketUnits(400e6 / 12000.0, 1500.0),
            "rate",
            at_least=0.0,
            source="own choice: ten times R_AI, as in quantized congestion notification",
        )
        remembers: int = param(
            1,
            choices=(0, 1),
            source="Zhu et al. 2015, Fig. 6: a mark within the interval is answered at its end",
        )

    reference = Reference(
        "Y. Zhu et al., Congestion control for large-scale RDMA deployments, SIGCOMM 2015, Sect. 3 and 5; protocol and "
        "fluid model as most of its authors state them in ECN or delay, CoNEXT 2016, doi:10.1145/2999572.2999593",
        "primary",
        "10.1145/2785956.2787484",
    )
    domain = (1e-7, 0.5)
    monotone = False
    is_idle_until_marked = True
    why_no_inverse = "for p of about 1e-8 and less its fluid model is never at rest"
    dynamics: ClassVar[str] = r"R_T \gets R_C,\ R_C \gets (1-\tfrac{\alpha}{2}) R_C;\ R_C \gets \tfrac12 (R_T + R_C)"

    def path_mismatch(self, line_rate: float, rtt: float) -> str:  # noqa: ARG002
        """Name an increase of at least the rate of the link."""
        if self.params.additive >= line_rate:
            return (
                f"additive = {self.params.additive:g} packets/s is not below the rate of the link, {line_rate:.4g} "
                "packets/s: a number is in packets/s, bits are a string such as '40Mbps'"
            )
        return ""

    def start(self, line_rate: float) -> Any:
        """Return the state of a new sender, which sends at ``line_rate`` in packets/s."""
        return super().start(line_rate)._replace(target=line_rate)

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Set a pending notification after a whole packet with a mark, unless the receiver ignores it."""
        pending_marks = s.pending_marks + e.marks
        waiting = s.waiting
        if pending_marks >= 1.0 - 1e-6:
            if q.remembers > 0.0 or e.time >= s.notified + q.notification:
                waiting = 1.0
            pending_marks = max(0.0, pending_marks - math.floor(pending_marks + 1e-6))
        return s._replace(pending_marks=pending_marks, waiting=waiting)

    @staticmethod
    def on_time(s: Any, q: Any, e: Any) -> Any:
        """Cut the rate if a notification is due; otherwise decrease alpha, and raise the rate."""
        if s.waiting > 0.0 and e.time >= s.notified + q.notification:
            return s._replace(
                rate=s.rate * (1.0 - 0.5 * s.alpha),
                target=s.rate,
                alpha=(1.0 - q.g) * s.alpha + q.g,
                rounds_of_timer=0.0,
                rounds_of_counter=0.0,
                next_round=e.time + q.timer,
                next_fall=e.time + q.alpha_timer,
                notified=e.time,
                waiting=0.0,
                sent=0.0,
                notifications=s.notifications + 1.0,
            )
        rate = s.rate
        target = s.target
        alpha = s.alpha
        by_timer = s.rounds_of_timer
        by_counter = s.rounds_of_counter
        next_round = s.next_round
        next_fall = s.next_fall
        sent = s.sent + e.sent if s.next_round < math.inf else 0.0  # from the first notification on
        while e.time >= next_fall:
            alpha *= 1.0 - q.g
            next_fall += q.alpha_timer
        while e.time >= next_round or sent >= q.counter:
            if e.time >= next_round:
                by_timer += 1.0
                next_round += q.timer
            else:
                by_counter += 1.0
                sent -= q.counter
            if min(by_timer, by_counter) > q.stages:
                target += q.hyper
            elif max(by_timer, by_counter) > q.stages:
                target += q.additive
            target = min(target, s.line_rate)
            rate = 0.5 * (rate + target)
        return s._replace(
            rate=rate,
            target=target,
            alpha=alpha,
            rounds_of_timer=by_timer,
            rounds_of_counter=by_counter,
            next_round=next_round,
            next_fall=next_fall,
            sent=sent,
        )

    @quantities(rtt="time", bandwidth="rate", p="share")
    @keeps_labels
    def rate(
        self,
        p: ArrayLike,
        rtt: ArrayLike = 1.0,
        bandwidth: WithUnit | None = None,  # noqa: ARG002
        *,
        unit_check: bool = True,
    ) -> float | NDArray[np.float64]:
        """Return the rate in packets/s at the lowest, stable fixed point of the paper's fluid model.

        It is inf without a fixed point, if so few packets are marked that the counter raises the rate without bound.

        Parameters
        ----------
        p
            Fraction of marked packets, 0 < p <= 1, any shape.
        rtt
            Ignored, except for its shape, which broadcasts with ``p``.
        bandwidth
            Ignored.
        unit_check
            Whether to refuse an ``rtt`` of 5 s or more.

        Raises
        ------
        ValueError
            With ``remembers=0``, which the paper's fluid model does not have, and for a class with other functions.
        """
        self._check_fluid_model("simulate it, dfcmodel.simulate")
        p, rtt = loss_rate(p), round_trip(rtt, unit_check)
        shape = same_shape(p=p, rtt=rtt)
        low = np.full(p.shape, math.log(MIN_RATE))
        grid = math.log(MAX_RATE / MIN_RATE) / GRID
        for _ in range(GRID):  # there is a second fixed point, unstable, where the counter is always full
            low = np.where(self.drift(np.exp(low + grid), p) > 0.0, low + grid, low)
        high = low + grid
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            rises = self.drift(np.exp(middle), p) > 0.0
            low, high = np.where(rises, middle, low), np.where(rises, high, middle)
        never = low > math.log(MAX_RATE) - 0.5 * grid
        return plain(spread(np.where(never, np.inf, np.exp(0.5 * (low + high))), shape))

    def expected(self) -> RateRule:
        """Return the paper's fluid model of this sender (Sect. 5); ValueError where `rate` raises it."""
        self._check_fluid_model("simulate it with drawn marks, or packet by packet")
        return ExpectedDCQCN(*self.params)

    def _check_fluid_model(self, instead: str) -> None:
        """Raise ValueError where the paper's fluid model does not hold: ``remembers=0``, and other functions."""
        if is_overridden(type(self), "drift", self.stated_functions):
            msg = "has other functions than DCQCN, whose fluid model does not hold for them"
            raise ValueError(f"{self!r}: {msg}; {instead}")
        if self.params.remembers == 0:
            msg = f"must be 1 for the published fluid model; {instead}"
            raise ValueError(f"remembers of {self!r} = 0: {msg}")

    @quantities(rate="rate", p="share")
    def drift(self, rate: ArrayLike, p: ArrayLike) -> NDArray[np.float64]:
        """Return the sign of the fluid model's change of the rate, for the target at which R_C is stationary.

        It is zero at a fixed point.
        """
        params, rate = self.params, np.asarray(rate, dtype=np.float64)
        log_unmarked = np.log1p(-np.minimum(np.asarray(p, dtype=np.float64), 1.0 - 1e-15))  # log (1 - p)
        notified = -np.expm1(params.notification * rate * log_unmarked) / params.notification
        alpha = -np.expm1(params.alpha_timer * rate * log_unmarked)
        b, t = (
            rate * -np.expm1(log_unmarked) * np.exp(n * log_unmarked) / -np.expm1(n * log_unmarked)
            for n in (params.counter, params.timer * rate)
        )
        raised = b * np.exp(params.stages * params.counter * log_unmarked)
        raised += t * np.exp(params.stages * params.timer * rate * log_unmarked)
        change: NDArray[np.float64] = np.sign(params.additive * raised * (b + t) / notified - rate * alpha * notified)
        return change


class ExpectedDCQCN(DCQCN):
    r"""The fluid model of DCQCN (Zhu et al. 2015, Sect. 5, eqs. (5) to (7)), the expected change of a sender.

    With p the probability of a mark and the symbols of `DCQCN`,

    .. math::

        \dot\alpha = \frac{g}{\tau'} (1 - (1-p)^{\tau' R_C} - \alpha),\quad
        \dot R_C = -\frac{\alpha q}{2 \tau} R_C + \frac{b + t}{2} (R_T - R_C),\quad
        \dot R_T = -\frac{q}{\tau} (R_T - R_C) + R_{AI} (b (1-p)^{FB} + t (1-p)^{F T R_C}).

    A step solves each equation exactly, with the other two variables at their initial values. R_T is at most the line
    rate, as in a sender.
    """

    class State(NamedTuple):
        """Rates in packets/s; alpha; the probability of a mark."""

        rate: float = math.inf
        target: float = math.inf
        alpha: float = 1.0
        line_rate: float = math.inf
        p: float = 0.0

    drift = DCQCN.drift

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Use the marked fraction as the marking probability."""
        return s._replace(p=min(1.0 - 1e-12, e.marks / e.acks)) if e.acks > 0.0 else s

    @staticmethod
    def on_time(s: Any, q: Any, e: Any) -> Any:
        """Integrate the differential equations over a step."""
        log_unmarked = math.log1p(-s.p)
        notified = -math.expm1(q.notification * s.rate * log_unmarked) / q.notification
        marked = -math.expm1(q.alpha_timer * s.rate * log_unmarked)
        by_counter = s.rate / q.counter
        by_timer = 1.0 / q.timer
        if s.p > 0.0:
            by_counter = s.rate * s.p * math.exp(q.counter * log_unmarked) / -math.expm1(q.counter * log_unmarked)
            n = q.timer * s.rate
            by_timer = s.rate * s.p * math.exp(n * log_unmarked) / -math.expm1(n * log_unmarked)
        grows = q.additive * (
            by_counter * math.exp(q.stages * q.counter * log_unmarked)
            + by_timer * math.exp(q.stages * q.timer * s.rate * log_unmarked)
        )
        falls = 0.5 * s.alpha * notified
        rises = 0.5 * (by_counter + by_timer)
        rate = s.rate
        if falls + rises > 0.0:
            rest = rises * s.target / (falls + rises)
            rate = rest + (s.rate - rest) * math.exp(-(falls + rises) * e.step)
        target = s.target + grows * e.step
        if notified > 0.0:
            rest = s.rate + grows / notified
            target = rest + (s.target - rest) * math.exp(-notified * e.step)
        alpha = marked + (s.alpha - marked) * math.exp(-q.g / q.alpha_timer * e.step)
        return s._replace(rate=rate, target=min(target, s.line_rate), alpha=alpha)
