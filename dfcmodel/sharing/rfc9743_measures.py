"""Measures of `evaluate_rfc9743` on a path, by section of RFC 9743."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from dfcmodel.network.elements.base import PathElement
from dfcmodel.network.elements.delays import DelayTrace, Jitter, Reordering
from dfcmodel.network.elements.losses import BurstLoss
from dfcmodel.network.elements.rates import RateTrace
from dfcmodel.network.endpoints.sources import CBR
from dfcmodel.network.queueing.disciplines import Discipline
from dfcmodel.network.queueing.managers import PIE, RED, CoDel
from dfcmodel.sharing.bottlenecks import Bottleneck
from responsefn import CUBIC, NewReno, WindowRule

__all__ = ["MEASURES", "QUEUES", "Bench", "Measure", "Quantity"]

REAL_TIME_SHARE = 0.05
"""Share of the bandwidth that the constant-rate flow sends."""
SHORT_FLOW_PACKETS = 50.0
"""Size of a short flow, packets."""
FLOWS = 8
LINK = "in->out"
"""Name of the bottleneck's link."""


class Bench(NamedTuple):
    """A path with a seed, on which measures run flows.

    Examples
    --------
    >>> from responsefn import NewReno
    >>> at = Bench(Bottleneck(1000.0, 0.04, 40, duration=20.0, warm_up=4.0), 1)
    >>> bool(at.run(NewReno()).utilisation > 0.9)
    True
    """

    link: Bottleneck
    seed: int

    def run(self, *sources: WindowRule | CBR, link: Bottleneck | None = None, **more: Any) -> Any:
        """Simulate flows of these sources on this path, or on ``link``; return their `Shared`."""
        return (link or self.link).run(sources, seed=self.seed, **more)


Run = Callable[[Bench, WindowRule], float]


class Quantity(NamedTuple):
    """What a measure measures: its unit, which values are better, its smallest and largest value.

    Differences of a ``share`` are in percentage points, those of other quantities a part of NewReno's mean.
    """

    unit: str
    better: Literal["high", "low", "near 0"]
    limits: tuple[float, float] = (0.0, 1.0)
    share: bool = True


class Measure(NamedTuple):
    """One number of a rule on a path: section of RFC 9743, name, quantity, and the function that runs its flows."""

    section: str
    name: str
    quantity: Quantity
    run: Run


def _heavy_loss(at: Bench, rule: WindowRule) -> float:
    """Return the packets per round trip of one flow at 10 % random loss."""
    return float(at.run(rule, link=replace(at.link, loss=0.1)).rate[0] * at.link.rtt)


def _queueing(at: Bench, rule: WindowRule) -> float:
    """Return the mean queueing delay of one flow, ms."""
    return 1e3 * float(at.run(rule).delay)


def _losses(at: Bench, rule: WindowRule) -> float:
    """Return the mean loss ratio of `FLOWS` flows of the rule."""
    return float(at.run(*[rule] * FLOWS).loss.mean())


def _fairness(flows: int) -> Run:
    """Return a function: Jain's index of this number of flows of the rule."""
    return lambda at, rule: float(at.run(*[rule] * flows).jain)


def _rtt_exponent(at: Bench, rule: WindowRule) -> float:
    """Return log2 of the rate at round-trip time R over that at 2R, side by side; inf if one of both gets nothing."""
    short, long = at.run(rule, rule, rtts=[at.link.rtt, 2.0 * at.link.rtt]).rate
    return math.log2(short / long) if short > 0.0 < long else math.inf


def _short_flow(short: WindowRule | None) -> Run:
    """Return a function: the duration, in round trips, of a short flow (None: of the rule) beside the rule."""

    def measure(at: Bench, rule: WindowRule) -> float:
        starts = [0.0, 0.5 * at.link.duration]
        run = at.run(rule, short or rule, starts=starts, sizes=[math.inf, SHORT_FLOW_PACKETS])
        return float(run.finished[1] / at.link.rtt)

    return measure


def _standard_rate(standard: WindowRule) -> Run:
    """Return a function: the rate of a standard flow beside the rule, over its rate beside a second standard flow."""

    def measure(at: Bench, rule: WindowRule) -> float:
        among = float(at.run(standard, standard).rate.mean())
        return float(at.run(standard, rule).rate[0]) / among

    return measure


def _real_time(at: Bench, rule: WindowRule) -> float:
    """Return the loss ratio of a constant-rate flow beside a flow of the rule."""
    return float(at.run(rule, CBR(REAL_TIME_SHARE * at.link.bandwidth)).loss[1])


def _utilisation(at: Bench, rule: WindowRule) -> float:
    """Return the utilisation of the path by one flow of the rule."""
    return float(at.run(rule).utilisation)


def _utilisation_with_loss(at: Bench, rule: WindowRule) -> float:
    """Return the utilisation of the path by one flow of the rule at 1 % random loss."""
    return float(at.run(rule, link=replace(at.link, loss=0.01)).utilisation)


def _measure_with_element(make_element: Callable[[Bottleneck], PathElement], quantity: str = "utilisation") -> Run:
    """Return a function of a flow and an element: the "utilisation", "losses" (loss ratio) or "delay", ms."""

    def measure(at: Bench, rule: WindowRule) -> float:
        element = make_element(at.link)
        run = at.run(rule, link=replace(at.link, elements=(element,)))
        if quantity == "delay":
            return 1e3 * float(run.delay)
        if quantity == "losses":
            return float(run.loss[0])
        mean = element.mean / at.link.bandwidth if isinstance(element, RateTrace) else 1.0
        return float(run.utilisation) / mean

    return measure


def _burst_loss(link: Bottleneck) -> PathElement:
    """Return an element that loses 1 % of the packets in bursts of ten, as a fading link does."""
    return BurstLoss(LINK, to_bad=0.001 / 0.99, to_good=0.1)


def _fading(link: Bottleneck) -> PathElement:
    """Return an element that changes the capacity every 10 round trips; the measured time holds whole periods."""
    levels = (1.0, 0.25, 0.75, 0.5)
    span = link.duration - link.warm_up
    period = span / max(1.0, round(span / (10.0 * len(levels) * link.rtt)))
    times = tuple(period * k / len(levels) for k in range(len(levels)))
    return RateTrace(LINK, times=times, rates=tuple(level * link.bandwidth for level in levels), period=period)


def _jitter(link: Bottleneck) -> PathElement:
    """Return an element that delays each packet at random by up to half of a round trip."""
    return Jitter(LINK, bound=0.5 * link.rtt)


def _delay_steps(low: float, high: float) -> Callable[[Bottleneck], PathElement]:
    """Return a function that returns an element: delay ``low``, from the measurement on ``high``, in round trips."""
    return lambda link: DelayTrace(LINK, times=(0.0, link.warm_up), delays=(low * link.rtt, high * link.rtt))


def _alternating_delay(link: Bottleneck) -> PathElement:
    """Return an element that alternates the minimum delay between R and 2R every 20 round trips."""
    half = 20.0 * link.rtt
    return DelayTrace(LINK, times=(0.0, half), delays=(0.0, link.rtt), period=2.0 * half)


def _reordering(link: Bottleneck) -> PathElement:
    """Return an element that delays 10 % of the packets by a round trip."""
    return Reordering(LINK, p=0.1, delay=link.rtt)


def _interruptions(link: Bottleneck) -> PathElement:
    """Return an element that interrupts the link twice in the measured time, for 5 % of it altogether."""
    period = 0.5 * (link.duration - link.warm_up)
    begin = math.fmod(link.warm_up, period) + 0.4 * period
    begin = math.fmod(begin, 0.95 * period)
    steps = (0.0, begin, begin + 0.05 * period)
    return RateTrace(LINK, times=steps, rates=(link.bandwidth, 0.0, link.bandwidth), period=period)


def _capacity_steps(low: float, high: float) -> Callable[[Bottleneck], PathElement]:
    """Return a function that returns an element: rate ``low``, from the measurement on ``high``, of the bandwidth."""
    return lambda link: RateTrace(
        LINK,
        times=(0.0, link.warm_up),
        rates=(low * link.bandwidth, high * link.bandwidth),
    )


def _route_change(at: Bench, rule: WindowRule) -> float:
    """Return the utilisation by one flow after a change of the route to half of the rate and twice the delay."""
    rate, delay = _capacity_steps(1.0, 0.5)(at.link), _delay_steps(0.0, 1.0)(at.link)
    return 2.0 * float(at.run(rule, link=replace(at.link, elements=(delay, rate))).utilisation)


def _onset(at: Bench, rule: WindowRule) -> float:
    """Return the loss ratio of a constant-rate flow, half the bandwidth, that begins beside an established flow."""
    sudden = CBR(0.5 * at.link.bandwidth)
    return float(at.run(rule, sudden, starts=[0.0, at.link.warm_up]).loss[1])


def _with_manager(name: str, measure: str) -> Run:
    """Return a function of two flows over the queue ``name`` of `QUEUES`: utilisation, or queueing delay in ms."""

    def two_flows(at: Bench, rule: WindowRule) -> float:
        run = at.run(rule, rule, link=replace(at.link, discipline=QUEUES[name](at.link.buffer)))
        return float(run.utilisation if measure == "utilisation" else 1e3 * run.delay)

    return two_flows


def _random_early_detection(buffer: int) -> Discipline:
    """Return RED with thresholds of an eighth and three eighths of the buffer."""
    low = max(2.0, buffer / 8.0)
    return RED(low=low, high=3.0 * low)


QUEUES: dict[str, Callable[[int], Discipline]] = {
    "RED": _random_early_detection,
    "CoDel": lambda _: CoDel(),
    "PIE": lambda _: PIE(),
}
"""Queue managers of section 7.1, as functions of the buffer in packets."""


UTILISATION = Quantity("", "high")
LOSSES = Quantity("of packets", "low")
QUEUEING = Quantity("ms", "low", (0.0, math.inf), share=False)
DURATION = Quantity("RTTs", "low", (0.0, math.inf), share=False)
KEPT_RATE = Quantity("of its own", "high", (0.0, math.inf))

MEASURES: tuple[Measure, ...] = (
    Measure(
        "5.1.1 congestion collapse",
        "rate at 10 % random loss",
        Quantity("packets per RTT", "low", (0.0, math.inf), share=False),
        _heavy_loss,
    ),
    Measure("5.1.2 bufferbloat", "queueing delay of one flow", QUEUEING, _queueing),
    Measure("5.1.3 high packet loss", "losses of 8 flows", LOSSES, _losses),
    *(
        Measure(
            "5.1.4 fairness within", f"Jain's index of {n} flows", Quantity("", "high", (1.0 / n, 1.0)), _fairness(n)
        )
        for n in (2, FLOWS)
    ),
    Measure(
        "5.1.4 fairness within",
        "RTT exponent, R and 2R",
        Quantity("", "near 0", (-math.inf, math.inf), share=False),
        _rtt_exponent,
    ),
    Measure("5.1.5 short flows", "50 packets of the rule beside it", DURATION, _short_flow(None)),
    Measure("5.2.1 existing control", "rate that NewReno keeps", KEPT_RATE, _standard_rate(NewReno())),
    Measure("5.2.1 existing control", "rate that CUBIC keeps", KEPT_RATE, _standard_rate(CUBIC())),
    Measure("5.2.2 real-time", "losses of a constant-rate flow", LOSSES, _real_time),
    Measure("5.2.3 short and long flows", "50 packets of CUBIC beside it", DURATION, _short_flow(CUBIC())),
    Measure("6.3 wired paths", "utilisation alone", UTILISATION, _utilisation),
    Measure("6.4 wireless", "utilisation at 1 % random loss", UTILISATION, _utilisation_with_loss),
    Measure("6.4 wireless", "utilisation at 1 % loss in bursts of 10", UTILISATION, _measure_with_element(_burst_loss)),
    Measure("6.4 wireless", "utilisation of a capacity of 1/4 to 1", UTILISATION, _measure_with_element(_fading)),
    Measure("6.4 wireless", "utilisation with jitter of half a RTT", UTILISATION, _measure_with_element(_jitter)),
    *(
        Measure("7.1 AQM", f"{measure} of 2 flows with {name}", quantity, _with_manager(name, measure))
        for name in QUEUES
        for measure, quantity in (("utilisation", UTILISATION), ("delay", QUEUEING))
    ),
    Measure(
        "7.3 varying delay",
        "utilisation after the minimum delay doubles",
        UTILISATION,
        _measure_with_element(_delay_steps(0.0, 1.0)),
    ),
    Measure(
        "7.3 varying delay",
        "utilisation while it alternates, R and 2R",
        UTILISATION,
        _measure_with_element(_alternating_delay),
    ),
    Measure(
        "7.3 varying delay",
        "queueing delay after it halves",
        QUEUEING,
        _measure_with_element(_delay_steps(1.0, 0.0), "delay"),
    ),
    Measure(
        "7.7 reordering",
        "utilisation, 10 % of packets a RTT late",
        UTILISATION,
        _measure_with_element(_reordering),
    ),
    Measure(
        "7.8 transient events",
        "utilisation over two interruptions",
        UTILISATION,
        _measure_with_element(_interruptions),
    ),
    Measure("7.8 transient events", "losses of a sudden flow of half the rate", LOSSES, _onset),
    Measure(
        "7.9 sudden changes",
        "utilisation after the capacity rises tenfold",
        UTILISATION,
        _measure_with_element(_capacity_steps(0.1, 1.0)),
    ),
    Measure(
        "7.9 sudden changes",
        "losses after it falls to a tenth",
        LOSSES,
        _measure_with_element(_capacity_steps(1.0, 0.1), "losses"),
    ),
    Measure("7.9 sudden changes", "utilisation after a route of 2R and half of it", UTILISATION, _route_change),
)
"""In the order of the table."""
