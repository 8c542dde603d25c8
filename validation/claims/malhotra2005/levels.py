"""The number of TCP rates of the model (M07)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from validation.checks import claim
from validation.claims.malhotra2005 import bundled, chain
from validation.claims.malhotra2005.chain import (
    HEAVY,
    HIGH,
    RTTS,
    RUN_RTTS,
    SEEN,
    THREE,
    Setting,
    gain,
)
from validation.display.drawing import (
    COLOURS,
    MARKERS,
    Axes,
    figure,
    label,
    legend_beside,
    maps,
    points,
)
from validation.judgements.verdicts import Judgement, Verdict, model_only
from validation.statistics import (
    LEVEL,
    Estimate,
    Outcome,
    Values,
    chi2_test,
    combine,
    difference,
    everywhere,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HIGHS, RUN_HIGHS = (11, 13, 15, 17, 18, 19), (13, 15, 17, 19)
MAP_RTTS = (0.3, 1.0, 2.5, 5.0, 10.0, 20.0)
PAUSED = (0.5, 2.0, 10.0)
MORE = {4: chain.FOUR, 5: chain.FIVE}
MIDDLE = (1.0, 3.0, 5.0, 8.0, 10.0, 12.0, 14.0, 16.0, 20.0, 25.0, 35.0, 50.0)
SCANNED = (1.0, 5.0)
"""Round-trip times at which the middle rate is scanned, s."""


@dataclass(frozen=True)
class NumberOfRates:
    """Gains over TCP alone in per cent by the number of rates.

    Attributes
    ----------
    pairs
        Of the chain with N = 2 and N = 3, by threshold and round-trip time.
    cells
        Maps of their ratio, by mu2.
    scans
        Of the chain with N = 3 by its middle rate, at the scanned round-trip times.
    readings
        The chain's gain at 1 s by reading of the rules and the number of rates.
    """

    pairs: dict[tuple[int, float], tuple[float, float]]
    cells: dict[str, Values]
    scans: dict[float, list[float]]
    readings: dict[tuple[str, str], dict[int, float]]
    data: bundled.Runs
    agreement: bundled.Agreement

    def chain(self, rates: tuple[float, ...], rtt: float) -> float:
        """Return the chain's gain with T1 = 15."""
        return gain(Setting(rates, rtt=rtt))

    def packets(self, rates: tuple[float, ...], rtt: float, high: int = HIGH) -> Estimate:
        """Return the gain of the packet runs."""
        return self.data.gain(Setting(rates, high, rtt=rtt))

    @property
    def ratios(self) -> dict[tuple[int, float], float]:
        """The chain's gain of N = 2 over that of N = 3, by threshold and round-trip time."""
        return {key: two / three for key, (two, three) in self.pairs.items()}

    @property
    def reading_ratios(self) -> dict[tuple[str, str], float]:
        """Ratio of the gains of N = 2 and N = 3 at 1 s by reading of the rules."""
        return {key: gains[2] / gains[3] for key, gains in self.readings.items()}

    @property
    def largest(self) -> tuple[int, float]:
        """Threshold and round-trip time of the largest ratio."""
        return max(self.ratios, key=self.ratios.__getitem__)

    @property
    def differences(self) -> dict[float, Estimate]:
        """The packets' gain of N = 2 less that of N = 3, by round-trip time."""
        return {rtt: difference(self.packets(HEAVY, rtt), self.packets(THREE, rtt)) for rtt in RUN_RTTS}

    @property
    def apart(self) -> Outcome:
        """Whether N = 2 and N = 3 are equal in packets."""
        return chi2_test([e.score() for e in self.differences.values()])

    @property
    def close(self) -> dict[float, bool]:
        """Whether N = 4 and 5 are nearer to N = 3 than N = 2 is in the chain, by round-trip time."""
        return {rtt: _judged(self.gains_at(rtt), 1.0)["close"].model is Verdict.HOLDS for rtt in SEEN}

    def gains_at(self, rtt: float) -> dict[int, float]:
        """Return the chain's gain with T1 = 15 by the number of rates."""
        two, three = self.pairs[HIGH, rtt]
        return {2: two, 3: three} | {n: self.chain(rates, rtt) for n, rates in MORE.items()}

    @property
    def nearer(self) -> dict[float, list[Estimate]]:
        """Distance of N = 2 from N = 3 less that of N = 4 and 5 from N = 3, in packets, by round-trip time.

        The signs of the differences are those of the chain.
        """
        found: dict[float, list[Estimate]] = {rtt: [] for rtt in SEEN}
        for rtt, rates in product(SEEN, MORE.values()):
            two, three = self.pairs[HIGH, rtt]
            sign = math.copysign(1.0, two - three)
            other = math.copysign(1.0, self.chain(rates, rtt) - three)
            gains = [self.packets(r, rtt) for r in (HEAVY, THREE, rates)]
            found[rtt].append(combine(gains, (sign, other - sign, -other)))
        return found


def ratio(high: int, rtt: float, paused_rate: float) -> float:
    """Return the chain's gain of N = 2 over that of N = 3."""
    two, three = (Setting(r, high, rtt=rtt, paused_rate=paused_rate) for r in (HEAVY, THREE))
    return gain(two) / gain(three)


@claim("M07", cases=(bundled.GRANULARITY, bundled.LEVELS, bundled.MORE_LEVELS))
def measure() -> NumberOfRates:
    """Solve the chain with two to five rates, and read the packet runs."""
    data = bundled.runs(bundled.GRANULARITY, bundled.LEVELS, bundled.MORE_LEVELS)
    return NumberOfRates(
        {
            (high, rtt): (gain(Setting(HEAVY, high, rtt=rtt)), gain(Setting(THREE, high, rtt=rtt)))
            for high, rtt in product(HIGHS, MAP_RTTS)
        },
        {f"mu2 = {mu2:g}": np.array([[ratio(high, rtt, mu2) for rtt in MAP_RTTS] for high in HIGHS]) for mu2 in PAUSED},
        {rtt: [gain(Setting((50.0, m, 1.0), rtt=rtt)) for m in MIDDLE] for rtt in SCANNED},
        {
            key: {n: gain(Setting(rates).read(key)) for n, rates in {2: HEAVY, 3: THREE, **MORE}.items()}
            for key in chain.READINGS
        },
        data,
        bundled.agreement(run for s, run in data.items() if s.rates in (HEAVY, THREE)),
    )


measure.constants_of(chain)


@measure.judge
def judge(found: NumberOfRates, *, near: float = 1.0) -> Judgement:
    """Judge at an RTT of 1 s whether N = 2 gains more than N = 3, and whether N > 3 is close.

    The number of rates is one of the model: TCP has none.
    """
    return _judged(found.gains_at(chain.RTT), near)


def _judged(gains: Mapping[int, float], near: float) -> Judgement:
    """Judge gains by the number of rates: an order, and distances from N = 3 over that of N = 2."""
    apart = near * abs(gains[2] - gains[3])
    return {
        "more": model_only(Verdict.of(gains[2] > gains[3])),
        "close": model_only(Verdict.of(all(abs(gains[n] - gains[3]) < apart for n in MORE))),
    }


@measure.readings
def readings(found: NumberOfRates, *, near: float = 1.0) -> dict[str, Judgement]:
    """Judge longer round-trip times, and other readings of the rules at 1 s."""
    longer = {f"RTT {rtt:g} s": _judged(found.gains_at(rtt), near) for rtt in SEEN if rtt > chain.RTT}
    rules = {chain.reading(key): _judged(found.readings[key], near) for key in chain.READINGS[1:]}
    return longer | rules


@measure.same_process
def same_process(found: NumberOfRates, *, level: float = LEVEL) -> dict[str, Verdict]:
    """Judge the chain's own events."""
    more = everywhere([found.differences[chain.RTT]], level)
    return {"more": more, "close": everywhere(found.nearer[chain.RTT], level)}


@measure.draw
def gains(found: NumberOfRates) -> Figure:
    """Draw the gains over the round-trip time by the number of rates."""
    fig, ax = figure()
    for n, (rates, name) in enumerate(((HEAVY, "N = 2 (50, 1)"), (THREE, "N = 3 (50, 25, 1)"))):
        ax.plot(RTTS, [found.chain(rates, rtt) for rtt in RTTS], color=COLOURS[n], label=name)
        points(ax, RUN_RTTS, [found.packets(rates, rtt) for rtt in RUN_RTTS], n)
    values = [found.chain(chain.LIGHT, rtt) for rtt in RTTS]
    ax.plot(RTTS, values, ":", color="black", label="N = 2 (25, 1)")
    for n, (number, rates) in enumerate(MORE.items(), 2):
        points(ax, SEEN, [found.packets(rates, rtt) for rtt in SEEN], n)
        style = {"ms": 5, "mfc": "none", "color": COLOURS[n], "label": f"N = {number}, linear"}
        ax.plot(SEEN, [found.chain(rates, rtt) for rtt in SEEN], MARKERS[n] + "--", **style)
    label(ax, "RTT (s)", "gain over TCP alone (%)", log="x")
    legend_beside(ax, "T1 = T2 = 15")
    return fig


@measure.draw
def ratio_maps(found: NumberOfRates) -> Figure:
    """Draw the ratio of N = 2 and N = 3 over threshold and round-trip time, by mu2."""
    framed = np.array(list(found.cells.values())) < 1.0
    labels = "RTT (s)", "T1 = T2 (packets)"
    return maps(found.cells, Axes(MAP_RTTS, HIGHS, labels), digits=2, framed=framed)


@measure.draw
def middle_rate(found: NumberOfRates) -> Figure:
    """Draw the gain of N = 3 over its middle rate."""
    fig, ax = figure()
    for n, (rtt, values) in enumerate(found.scans.items()):
        ax.plot(MIDDLE, values, "o-", ms=4, color=COLOURS[n], label=f"N = 3, RTT {rtt:g} s")
        style = {"color": COLOURS[n], "ls": "--", "lw": 1, "label": f"N = 2, RTT {rtt:g} s"}
        ax.axhline(found.pairs[HIGH, rtt][0], **style)
    for x, text, dashes in ((chain.NU, "nu", "-"), (25.0, "the paper's 25", ":")):
        ax.axvline(x, color="black", lw=0.8, ls=dashes)
        ax.text(x + 0.5, 38, text, fontsize=8)
    label(ax, "middle rate lambda2 (packets/s)", "gain over TCP alone (%)", ylim=(0, 41))
    ax.legend(frameon=False, fontsize=8, loc="upper right")
    return fig
