"""The gain over the round-trip time (M03)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from validation.checks import claim
from validation.claims.malhotra2005 import bundled, chain, level, protocol
from validation.claims.malhotra2005.chain import HEAVY, LIGHT, RTTS, RUN_RTTS, Setting, gain
from validation.display.drawing import COLOURS, label, panels, points, reference
from validation.judgements.verdicts import Judgement, Verdict, model_only
from validation.statistics import LEVEL, Estimate, difference, everywhere, monotone, slope, weakest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELPFUL = (11, 13, 15, 17, 19)
"""Thresholds of the runs at which pausing gains: above B2 - B1."""
SHOWN = (8, 11, 15, 19)
LOADS = (20.0, 25.0, 50.0, 100.0)
LASTS = (1.0, 20.0)
"""Other ends of that range, s."""
FIRST, LAST = 0.1, 5.0
"""Round-trip times between which the gain grows, s."""

Key = tuple[tuple[float, ...], int]


@dataclass(frozen=True)
class GainByRtt:
    """Gains over TCP alone in per cent, by rates and T1 = T2.

    Attributes
    ----------
    curves, gains
        Of the chain at `RTTS`, of the packet runs at `RUN_RTTS`.
    readings
        Of the chain at `RUN_RTTS` in the other readings.
    alone
        The chain without pausing, by the round-trip time.
    own
        Of TCP at hopflow's packet level, by the round-trip time.
    """

    curves: dict[Key, list[float]]
    gains: dict[Key, list[Estimate]]
    readings: dict[tuple[str, str], list[float]]
    alone: dict[float, chain.Answer]
    agreement: bundled.Agreement
    tcp: protocol.OverRtt
    own: dict[float, Estimate]

    def at(self, rates: tuple[float, ...], high: int) -> list[float]:
        """Return the chain's gains at the round-trip times of the runs."""
        return [gain(Setting(rates, high, rtt=rtt)) for rtt in RUN_RTTS]

    @property
    def helpful(self) -> list[list[float]]:
        """The curves with a threshold at which pausing gains."""
        return [values for (_, high), values in self.curves.items() if high > chain.B2 - chain.B1]

    @property
    def grows(self) -> bool:
        """Whether the chain's gain grows at every step up to 5 s."""
        return self.grows_to(LAST)

    def grows_to(self, last: float) -> bool:
        """Return whether it grows at every step up to a round-trip time."""
        kept = [n for n, rtt in enumerate(RTTS) if FIRST <= rtt <= last]
        return all(bool(np.all(np.diff([values[n] for n in kept]) > 0)) for values in self.helpful)

    @property
    def turns(self) -> bool:
        """Whether every curve of the chain ends below its largest value."""
        return all(values[-1] < max(values) for values in self.helpful)

    @property
    def peaks(self) -> dict[float, float]:
        """Round-trip time of the largest gain with T1 = 15, by lambda1, s."""
        return {r: RTTS[int(np.argmax(self.curves[(r, 1.0), 15]))] for r in LOADS}

    @property
    def steps(self) -> list[Estimate]:
        """By how much the packets' gains grow from one round-trip time to the next, up to 5 s."""
        sets = product((LIGHT, HEAVY), HELPFUL)
        return [-step for key in sets for step in bundled.falls(self.gains[key][:3])]

    @property
    def weakest(self) -> Estimate:
        """The step with the smallest ratio of value to error."""
        return weakest(self.steps)

    @property
    def last(self) -> Estimate:
        """The packets' gain at 20 s less that at 5 s, lambda1 = 50, T1 = 15."""
        return difference(self.gains[HEAVY, 15][3], self.gains[HEAVY, 15][2])

    @property
    def tcp_trend(self) -> Estimate:
        """The slope of TCP's gain per unit of log(RTT), from 0.1 to 5 s."""
        return self.tcp.trend((FIRST, LAST))

    @property
    def own_trend(self) -> Estimate:
        """The same slope at hopflow's packet level."""
        return slope(list(self.own.values()), np.log(list(self.own)))

    @property
    def tcp_weakest(self) -> Estimate:
        """The step of TCP's gain that is least certainly a growth."""
        return weakest(self.tcp.steps((FIRST, LAST)))

    @property
    def unused(self) -> dict[float, float]:
        """Unused capacity of TCP alone in the chain, relative to its throughput, by RTT."""
        return {rtt: chain.NU / answer.throughput - 1 for rtt, answer in self.alone.items()}


@claim("M03", cases=(bundled.THRESHOLDS, bundled.GRANULARITY, *protocol.OVER_RTT))
def measure() -> GainByRtt:
    """Solve the chain over the round-trip time, and read the packet runs."""
    data = bundled.runs(bundled.THRESHOLDS, bundled.GRANULARITY)
    keys = [*product((LIGHT, HEAVY), SHOWN), ((20.0, 1.0), 15), ((100.0, 1.0), 15)]
    kept = [run for s, run in data.items() if s.rates in (LIGHT, HEAVY) and s.high in (8, 15, 19, 20)]
    return GainByRtt(
        {key: [gain(Setting(*key, rtt=rtt)) for rtt in RTTS] for key in keys},
        {
            key: [data.gain(Setting(*key, rtt=rtt)) for rtt in RUN_RTTS]
            for key in product((LIGHT, HEAVY), (8, *HELPFUL))
        },
        {key: [gain(Setting(rtt=rtt).read(key)) for rtt in RUN_RTTS] for key in chain.READINGS[1:]},
        {rtt: chain.solve(Setting(LIGHT, chain.B2, rtt=rtt)) for rtt in (0.1, 1.0, 13.0, 100.0)},
        bundled.agreement(kept),
        protocol.over_rtt(),
        {rtt: level.idle_gain(level.Bridges(rtt)) for rtt in level.RTTS},
    )


measure.constants_of(chain)


@measure.judge
def judge(found: GainByRtt) -> Judgement:
    """Judge whether the chain's gain grows at every step; TCP's is judged by M10."""
    return {"grows": model_only(Verdict.of(found.grows))}


@measure.readings
def readings(found: GainByRtt) -> dict[str, Judgement]:
    """Judge other ranges of the round-trip time, which the paper does not state, and other readings of the rules."""
    ranges = {f"RTT up to {last:g} s": {"grows": model_only(Verdict.of(found.grows_to(last)))} for last in LASTS}
    rules = {
        chain.reading(key): {"grows": model_only(monotone(np.diff(values[:3])))}
        for key, values in found.readings.items()
    }
    return ranges | rules


@measure.same_process
def same_process(found: GainByRtt, *, level: float = LEVEL) -> dict[str, Verdict]:
    """Judge the chain's own events."""
    return {"grows": everywhere(found.steps, level)}


@measure.draw
def gains(found: GainByRtt) -> Figure:
    """Draw the gains over the round-trip time by threshold, for two loads."""
    titles = [f"lambda1 = {rates[0]:g} packets/s" for rates in (LIGHT, HEAVY)]
    fig, axes = panels(titles, 7.2, 3.8)
    for ax, rates in zip(axes, (LIGHT, HEAVY), strict=True):
        for n, high in enumerate(SHOWN):
            ax.plot(RTTS, found.curves[rates, high], color=COLOURS[n], label=f"T1 = T2 = {high}")
            points(ax, RUN_RTTS, found.gains[rates, high], n)
        reference(ax)
        label(ax, "RTT (s)", log="x")
    axes[0].set_ylabel("gain over TCP alone (%)")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncol=4, frameon=False, fontsize=8)
    return fig
