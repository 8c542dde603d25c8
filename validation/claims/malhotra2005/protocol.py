"""TCP across two bridges with pause frames: the bundled runs of ns-3."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from validation import evidence
from validation.claims.effect_claims import by
from validation.claims.malhotra2005 import bundled
from validation.statistics import Estimate, ratio_gain, slope

THINK = "malhotra2005/tcp-rtt-think"
LONG_RTTS = {10.0: "malhotra2005/tcp-rtt-10-think", 20.0: "malhotra2005/tcp-rtt-20-think"}
"""The cases with more seeds, by round-trip time."""
CLOCK = "malhotra2005/tcp-clock"
SMALL_FILES = "malhotra2005/tcp-small-files"
ENDLESS = "malhotra2005/tcp-rtt-endless"
THRESHOLDS = "malhotra2005/tcp-thresholds"
LOW_THRESHOLD = "malhotra2005/tcp-low-threshold"
OVER_RTT = (THINK, *LONG_RTTS.values(), CLOCK, SMALL_FILES, bundled.RANDOM_THINK)
READINGS = ("a file per second at fixed times", "files of 80 kbit", "exponential think times")
"""Readings of the traffic beside the default, 80 KB and a second of think time."""


@dataclass(frozen=True)
class OverRtt:
    """Gains of TCP from pausing by the round-trip time, in per cent: default and other readings."""

    default: dict[float, Estimate]
    readings: dict[str, dict[float, Estimate]]

    def trend(self, ends: tuple[float, float], reading: str | None = None) -> Estimate:
        """Return the slope of the gain per unit of log(RTT) between two round-trip times."""
        found = self.readings[reading] if reading else self.default
        kept = [rtt for rtt in found if ends[0] <= rtt <= ends[1]]
        return slope([found[rtt] for rtt in kept], [math.log(rtt) for rtt in kept])

    def steps(self, ends: tuple[float, float]) -> list[Estimate]:
        """Return the growth of the gain from each round-trip time to the next."""
        kept = [gain for rtt, gain in self.default.items() if ends[0] <= rtt <= ends[1]]
        return [-step for step in bundled.falls(kept)]


def gains(*cases: str, column: str = "rtt", query: str = "") -> dict[float, Estimate]:
    """Return the gain in goodput over no pause, in per cent, by a column of cases."""
    frame = pd.concat([evidence.frame(case) for case in cases])
    if query:
        frame = frame.query(query)
    on, off = (by(frame[frame["pause"] == pause], column, "goodput") for pause in ("on", "off"))
    return {float(key): ratio_gain(on[key], off[key]) for key in on}


def over_rtt() -> OverRtt:
    """Return TCP's gains over the round-trip time."""
    long = {rtt: gains(case)[rtt] for rtt, case in LONG_RTTS.items()}
    found = (
        gains(CLOCK, query="file_size == 80000"),
        gains(SMALL_FILES),
        gains(bundled.RANDOM_THINK, query="link_a == 25"),
    )
    return OverRtt(gains(THINK) | long, dict(zip(READINGS, found, strict=True)))


def by_threshold(traffic: str, rtt: float) -> dict[int, Estimate]:
    """Return TCP's goodput by T1 = T2, packets/s; 20 is without pausing."""
    frame = evidence.frame(THRESHOLDS)
    frame = frame[(frame["traffic"] == traffic) & (frame["rtt"] == rtt)]
    return by(frame, "high_threshold", "goodput")


def by_low_threshold(rtt: float) -> dict[int, Estimate]:
    """Return TCP's goodput by T2, T1 = 15, packets/s; 20 is without pausing."""
    frame = evidence.frame(LOW_THRESHOLD)
    return by(frame[frame["rtt"] == rtt], "low_threshold", "goodput")


def trend(values: Sequence[Estimate], x: Sequence[float]) -> Estimate:
    """Return the slope per unit of log(x)."""
    return slope(values, [math.log(each) for each in x])
