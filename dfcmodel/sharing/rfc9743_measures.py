"""What `evaluate_rfc9743` measures on a path, by section of RFC 9743."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from dfcmodel.network.disciplines import Discipline
from dfcmodel.network.flows import CBR
from dfcmodel.network.managers import PIE, RED, CoDel
from dfcmodel.sharing.bottlenecks import Bottleneck
from responsefn import CUBIC, NewReno, WindowRule

__all__ = ["MEASURES", "QUEUES", "Bench", "limits_of"]

REAL_TIME = 0.05
"""Share of the bandwidth that the constant-rate flow sends."""
SHORT = 50.0
"""Packets of a short flow."""
FLOWS = 8


class Bench(NamedTuple):
    """A path with a seed.

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
        """Return what flows of these sources get, on this path or on ``link``."""
        return (link or self.link).run(sources, seed=self.seed, **more)


def _heavy_loss(at: Bench, rule: WindowRule) -> float:
    return float(at.run(rule, link=at.link.changed(loss=0.1)).rate[0] * at.link.rtt)


def _queueing(at: Bench, rule: WindowRule) -> float:
    return 1e3 * float(at.run(rule).delay)


def _losses(at: Bench, rule: WindowRule) -> float:
    return float(at.run(*[rule] * FLOWS).loss.mean())


def _fairness(flows: int) -> Callable[[Bench, WindowRule], float]:
    return lambda at, rule: float(at.run(*[rule] * flows).jain)


def _rtt_exponent(at: Bench, rule: WindowRule) -> float:
    short, long = at.run(rule, rule, rtts=[at.link.rtt, 2.0 * at.link.rtt]).rate
    return math.log2(short / long) if short > 0.0 < long else math.inf


def _short_flow(short: WindowRule | None) -> Callable[[Bench, WindowRule], float]:
    """Time of a short flow, of the rule itself where None, beside a long one of the rule."""

    def measure(at: Bench, rule: WindowRule) -> float:
        later = [0.0, 0.5 * at.link.duration]
        run = at.run(rule, short or rule, starts=later, sizes=[math.inf, SHORT])
        return float(run.finished[1] / at.link.rtt)

    return measure


def _kept(standard: WindowRule) -> Callable[[Bench, WindowRule], float]:
    """Rate of a standard flow beside the rule over its rate beside its own kind."""

    def measure(at: Bench, rule: WindowRule) -> float:
        among = float(at.run(standard, standard).rate.mean())
        return float(at.run(standard, rule).rate[0]) / among

    return measure


def _real_time(at: Bench, rule: WindowRule) -> float:
    return float(at.run(rule, CBR(REAL_TIME * at.link.bandwidth)).loss[1])


def _used(at: Bench, rule: WindowRule) -> float:
    return float(at.run(rule).utilisation)


def _used_with_loss(at: Bench, rule: WindowRule) -> float:
    return float(at.run(rule, link=at.link.changed(loss=0.01)).utilisation)


def _managed(name: str, measure: str) -> Callable[[Bench, WindowRule], float]:
    """Measure two flows of the rule over a queue that manages itself."""

    def measured(at: Bench, rule: WindowRule) -> float:
        run = at.run(rule, rule, link=at.link.changed(discipline=QUEUES[name](at.link.buffer)))
        return float(run.utilisation if measure == "utilisation" else 1e3 * run.delay)

    return measured


def _red(buffer: int) -> Discipline:
    low = max(2.0, buffer / 8.0)
    return RED(low=low, high=3.0 * low)


QUEUES: dict[str, Callable[[int], Discipline]] = {
    "RED": _red,
    "CoDel": lambda _: CoDel(),
    "PIE": lambda _: PIE(),
}
"""Of 7.1, by the buffer in packets."""


def limits_of(measure: str) -> tuple[float, float]:
    """Return the smallest and the largest value that a measure can have, by its name in `MEASURES`.

    >>> limits_of("Jain's index of 8 flows"), limits_of("queueing delay of one flow")
    ((0.125, 1.0), (0.0, inf))
    """
    if measure.startswith("Jain"):
        return 1.0 / int(measure.split()[-2]), 1.0
    if measure.startswith("RTT exponent"):
        return -math.inf, math.inf
    return 0.0, 1.0 if measure.startswith(("losses", "utilisation")) else math.inf


MEASURES: tuple[tuple[str, str, str, Callable[[Bench, WindowRule], float]], ...] = (
    ("5.1.1 congestion collapse", "rate at 10 % random loss", "packets per RTT", _heavy_loss),
    ("5.1.2 bufferbloat", "queueing delay of one flow", "ms", _queueing),
    ("5.1.3 high packet loss", "losses of 8 flows", "of packets", _losses),
    ("5.1.4 fairness within", "Jain's index of 2 flows", "", _fairness(2)),
    ("5.1.4 fairness within", "Jain's index of 8 flows", "", _fairness(FLOWS)),
    ("5.1.4 fairness within", "RTT exponent, R and 2R", "", _rtt_exponent),
    ("5.1.5 short flows", "50 packets of the rule beside it", "RTTs", _short_flow(None)),
    ("5.2.1 existing control", "rate that NewReno keeps", "of its own", _kept(NewReno())),
    ("5.2.1 existing control", "rate that CUBIC keeps", "of its own", _kept(CUBIC())),
    ("5.2.2 real-time", "losses of a constant-rate flow", "of packets", _real_time),
    ("5.2.3 short and long flows", "50 packets of CUBIC beside it", "RTTs", _short_flow(CUBIC())),
    ("6.3 wired paths", "utilisation alone", "", _used),
    ("6.4 wireless, in part", "utilisation at 1 % random loss", "", _used_with_loss),
    *(
        ("7.1 AQM", f"{measure} of 2 flows with {name}", unit, _managed(name, measure))
        for name in QUEUES
        for measure, unit in (("utilisation", ""), ("delay", "ms"))
    ),
)
"""Section, what is measured, its unit, and how."""
