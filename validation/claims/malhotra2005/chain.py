"""The pause tandem at the settings of malhotra2005, solved once each."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

from markov import PauseTandem, stationary

B1, B2, NU = 10, 20, 15.0
HIGH, RTT = 15, 1.0
"""Threshold and round-trip time of the headline."""
LIGHT: tuple[float, ...] = (25.0, 1.0)
HEAVY: tuple[float, ...] = (50.0, 1.0)
THREE: tuple[float, ...] = (50.0, 25.0, 1.0)
FOUR: tuple[float, ...] = (50.0, 34.0, 17.0, 1.0)
FIVE: tuple[float, ...] = (50.0, 38.0, 26.0, 13.0, 1.0)
RTTS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.5, 5.0, 8.0, 13.0, 20.0, 35.0, 60.0, 100.0)
RUN_RTTS = (0.1, 1.0, 5.0, 20.0)
"""Round-trip times of the bundled runs, in s."""
SEEN = RUN_RTTS[1:]
"""Those of them at which pausing gains: at 0.1 s no gain exceeds 0.02 %."""
READINGS = tuple(itertools.product(("always", "up"), ("exclusive", "both")))
"""Readings of rule 13 and of the state j = T1, see `PauseTandem`; the defaults come first."""
AS_PRINTED = ("always", "both")
"""The reading in which rules 6 and 8 both fire at j = T1."""


def reading(key: tuple[str, str]) -> str:
    """Return the name of one of the `READINGS`."""
    rule_13 = {"always": "for all k", "up": "for k = 1 only"}[key[0]]
    both = {"exclusive": "rule 6 excludes j = T1", "both": "rules 6 and 8 both fire"}[key[1]]
    return f"rule 13 {rule_13}, {both}"


class Setting(NamedTuple):
    """Parameters of `PauseTandem` under short names; ``low=None`` is T2 = T1."""

    rates: tuple[float, ...] = (25.0, 1.0)
    high: int = HIGH
    low: int | None = None
    rtt: float = RTT
    paused_rate: float = 2.0
    recovery: str = "always"
    pause_at_threshold: str = "exclusive"
    buffers: tuple[int, int] = (10, 20)

    @property
    def model(self) -> PauseTandem:
        """The chain."""
        return PauseTandem(
            buffers=self.buffers,
            high_threshold=self.high,
            low_threshold=self.low,
            paused_rate=self.paused_rate,
            arrival_rates=self.rates,
            rtt=self.rtt,
            recovery=self.recovery,
            pause_at_threshold=self.pause_at_threshold,
        )

    def read(self, reading: tuple[str, str]) -> Setting:
        """Return the setting in one of the `READINGS`."""
        return self._replace(recovery=reading[0], pause_at_threshold=reading[1])

    @property
    def off(self) -> Setting:
        """TCP alone: T1 = B2. T2, mu2 and the readings of the rules do not matter (M02)."""
        return Setting(self.rates, self.buffers[1], rtt=self.rtt, buffers=self.buffers)


@dataclass(frozen=True)
class Answer:
    """Measures of the stationary chain; pairs are of queue 1 and queue 2, rates in packets/s."""

    throughput: float
    expressions: tuple[float, float, float]
    printed_rate_2: float
    effective_rate: tuple[float, float]
    loss_rate: tuple[float, float]
    mean_queue: tuple[float, float]
    pause_fraction: float

    @property
    def printed_expressions(self) -> tuple[float, float, float]:
        """The three throughput expressions with lambda_effec,2 as printed, also in P2."""
        passed = self.printed_rate_2 / (self.printed_rate_2 + self.loss_rate[1])
        return self.printed_rate_2, self.effective_rate[0] * passed, self.throughput

    def __getitem__(self, measure: str) -> float:
        """Return a measure by the name of its column in the bundled tables."""
        name, _, queue = measure.rpartition("_")
        if queue in ("1", "2"):
            pair: tuple[float, float] = getattr(self, name)
            return pair[int(queue) - 1]
        value: float = getattr(self, measure)
        return value


@functools.cache  # not `kept`: there are 1,439 of these chains, and a file of an answer takes as long as solving the chain
def solve(setting: Setting) -> Answer:
    """Solve pi Q = 0, by GTH at these sizes, which subtracts nothing: no bound is asked for.

    ``printed_rate_2`` is lambda_effec,2 exactly as printed, which does not allow for two rules that
    fire at j = T1.
    """
    model = setting.model
    answer = stationary(model, proof=False)
    s = answer.states
    sends = (s.i > 0) & (s.j < setting.buffers[1])
    rate = model.params.link_rate * (s.k == 1) + setting.paused_rate * (s.k == 2)
    one, two, three = map(float, answer["throughput_expressions"])

    def pair(measure: str) -> tuple[float, float]:
        first, second = map(float, answer[measure])
        return first, second

    return Answer(
        throughput=answer.throughput,
        expressions=(one, two, three),
        printed_rate_2=float((answer.pi * rate * sends).sum()),
        effective_rate=pair("effective_rate"),
        loss_rate=pair("loss_rate"),
        mean_queue=pair("mean_queue"),
        pause_fraction=float(answer["pause_fraction"]),
    )


def gain(setting: Setting) -> float:
    """Return the gain in throughput over TCP alone, in per cent."""
    return 100.0 * (solve(setting).throughput / solve(setting.off).throughput - 1.0)


def cost(setting: Setting) -> float:
    """Return the loss of throughput from T2 < T1 relative to T2 = T1, in per cent."""
    return 100.0 * (1.0 - solve(setting).throughput / solve(setting._replace(low=None)).throughput)


def best_threshold(setting: Setting) -> int:
    """Return the T1 = T2 of the largest throughput, by climbing from the setting's own.

    The throughput has one maximum over 2 .. B2 - 1 (the full scans of M06 show it).
    """
    last = setting.buffers[1] - 1

    def value(threshold: int) -> float:
        inside = 1 <= threshold <= last
        return solve(setting._replace(high=threshold)).throughput if inside else -math.inf

    here = min(setting.high, last)
    while True:
        step = max((-1, 1), key=lambda step: value(here + step))
        if value(here + step) <= value(here):
            return here
        here += step
