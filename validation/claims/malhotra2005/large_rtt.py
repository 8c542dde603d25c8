"""The gain from pausing at very large round-trip times (M09)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from validation import evidence
from validation.checks import claim
from validation.claims.malhotra2005 import bundled, chain, protocol
from validation.claims.malhotra2005.chain import LIGHT, Setting, gain
from validation.display.drawing import COLOURS, figure, label, legend_beside, points
from validation.judgements.verdicts import Judgement, Sides, Verdict
from validation.statistics import LEVEL, Estimate, absent, combine, difference, everywhere, weakest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGE = (50.0, 100.0, 200.0, 500.0, 1000.0)
"""The large RTTs of the bundled runs, in s."""
FAR = (*LARGE, 1e4, 1e5, 1e6)
LOADS = (LIGHT, chain.HEAVY)
BEST = {LIGHT: 20.0, chain.HEAVY: 5.0}
"""The RTT of the packets' largest gain, in s."""
NOTHING = 0.1
"""Fraction of the largest gain below which a gain has practically vanished."""
VISIBLE = 1.0
"""Smallest gain that counts as visible, in per cent."""
READINGS = ("malhotra2005/tcp-readings", "malhotra2005/tcp-readings-seeds")
SMALL_WINDOW = "reading == 'window 10 packets'"
"""The runs of TCP whose windows cannot fill the bottleneck at their longest RTT."""
WINDOW, FLOWS = 44, 8
"""Packets of a TCP window and number of flows of the TCP runs."""

Rates = tuple[float, ...]


@dataclass(frozen=True)
class LargeRtt:
    """Gains over TCP alone in per cent, T1 = 15, by the rates.

    Attributes
    ----------
    curves, gains
        Of the chain at `FAR`; of the packet runs at 20 s and at `LARGE`.
    most, largest
        The largest gain of the chain, and of the packet runs.
    lost
        Losses per s at both queues without pausing, lambda1 = 25, by RTT.
    readings
        The chain's gain at 1000 s in all readings.
    small, small_lost
        TCP's gain by RTT with windows of ten packets, and the packets lost by each run without pausing at the longest.
    """

    curves: dict[Rates, list[float]]
    gains: dict[Rates, list[Estimate]]
    most: dict[Rates, float]
    largest: dict[Rates, Estimate]
    lost: dict[float, bundled.Compared]
    readings: dict[tuple[str, str], float]
    agreement: bundled.Agreement
    tcp: protocol.OverRtt
    small: dict[float, Estimate]
    small_lost: list[int]

    @property
    def falls(self) -> bool:
        """Whether the chain's gain falls at every step."""
        return all(bool(np.all(np.diff(values) < 0)) for values in self.curves.values())

    @property
    def products(self) -> dict[Rates, list[float]]:
        """The chain's gain times RTT at the three largest ones, in % s."""
        return {
            rates: [rtt * g for rtt, g in zip(FAR[-3:], values[-3:], strict=True)]
            for rates, values in self.curves.items()
        }

    @property
    def vanishes(self) -> bool:
        """Whether the last two of these products are the same within 1 %."""
        return all(abs(p[-1] / p[-2] - 1.0) < 0.01 for p in self.products.values())

    @property
    def steps(self) -> list[Estimate]:
        """By how much the packets' gain falls from each RTT to the next."""
        return [step for values in self.gains.values() for step in bundled.falls(values)]

    @property
    def weakest(self) -> Estimate:
        """The fall with the smallest ratio of value to error."""
        return weakest(self.steps)

    def left(self, part: float) -> list[Estimate]:
        """Return a fraction of the packets' largest gain less their gain at 1000 s."""
        return [combine((self.largest[r], self.gains[r][-1]), (part, -1.0)) for r in LOADS]

    @property
    def fewer(self) -> Estimate:
        """Losses per s in packets at an RTT of 100 s less those at 1000 s."""
        return difference(self.lost[100.0].packets, self.lost[1000.0].packets)

    @property
    def below(self) -> dict[Rates, float]:
        """The smallest RTT tried from which the chain's gain is below 1 %."""
        return {
            rates: next(rtt for rtt, g in zip(FAR, values, strict=True) if g < VISIBLE)
            for rates, values in self.curves.items()
        }

    @property
    def window_limit(self) -> float:
        """The RTT beyond which the windows of the TCP runs could not fill the bottleneck, s."""
        return FLOWS * WINDOW / chain.NU


@claim(
    "M09",
    cases=(
        bundled.LARGE_RTT,
        bundled.THRESHOLDS,
        bundled.GRANULARITY,
        *protocol.OVER_RTT,
        *READINGS,
    ),
)
def measure() -> LargeRtt:
    """Solve the chain at very large round-trip times, and read the packet runs."""
    data = bundled.runs(bundled.LARGE_RTT, bundled.THRESHOLDS, bundled.GRANULARITY)

    def losses(rtt: float) -> bundled.Compared:
        setting = Setting(LIGHT, rtt=rtt).off
        estimates = [data[setting].estimates[f"loss_rate_{queue}"] for queue in (1, 2)]
        return bundled.Compared(math.fsum(chain.solve(setting).loss_rate), combine(estimates, (1.0, 1.0)))

    return LargeRtt(
        {rates: [gain(Setting(rates, rtt=rtt)) for rtt in FAR] for rates in LOADS},
        {rates: [data.gain(Setting(rates, rtt=rtt)) for rtt in (20.0, *LARGE)] for rates in LOADS},
        {rates: max(gain(Setting(rates, rtt=rtt)) for rtt in chain.RTTS) for rates in LOADS},
        {rates: data.gain(Setting(rates, rtt=rtt)) for rates, rtt in BEST.items()},
        {rtt: losses(rtt) for rtt in (1.0, 20.0, 100.0, 1000.0)},
        {key: gain(Setting(rtt=1000.0).read(key)) for key in chain.READINGS},
        bundled.agreement(run for s, run in data.items() if s.rtt in LARGE),
        protocol.over_rtt(),
        protocol.gains(*READINGS, query=SMALL_WINDOW),
        _lost(),
    )


def _lost() -> list[int]:
    """Return the packets lost without pausing at the longest round trip with small windows, by run."""
    frame = pd.concat([evidence.frame(case) for case in READINGS]).query(f"{SMALL_WINDOW} and pause == 'off'")
    frame = frame[frame["rtt"] == frame["rtt"].max()]
    return [int(lost) for lost in frame["dropped_1"] + frame["dropped_2"]]


measure.constants_of(chain)


@measure.judge
def judge(found: LargeRtt, *, nothing: float = NOTHING, level: float = LEVEL) -> Judgement:
    """Judge whether the gain falls towards nothing, and whether the losses cease.

    TCP with windows of ten packets, which cannot fill the bottleneck at the longest round trip run.
    """
    ceased = found.lost[1000.0].model < nothing * found.lost[20.0].model
    most = max(found.small, key=lambda rtt: found.small[rtt].value)
    last = found.small[max(found.small)]
    gone = combine((found.small[most], last), (nothing, -1.0))
    return {
        "falls": Sides(Verdict.of(found.falls and found.vanishes), everywhere([gone], level)),
        "ceases": Sides(Verdict.of(ceased), absent((lost > 0 for lost in found.small_lost), level)),
    }


@measure.same_process
def same_process(found: LargeRtt, *, nothing: float = NOTHING, level: float = LEVEL) -> dict[str, Verdict]:
    """Judge the chain's own events."""
    packets = everywhere(found.steps, level), everywhere(found.left(nothing), level)
    return {"falls": Verdict.all_of(packets), "ceases": everywhere([found.fewer], level)}


@measure.draw
def gains(found: LargeRtt) -> Figure:
    """Draw the gains up to very large round-trip times."""
    fig, ax = figure()
    x = np.geomspace(0.1, 1e4, 36)
    for n, rates in enumerate(LOADS):
        values = [gain(Setting(rates, rtt=float(rtt))) for rtt in x]
        ax.plot(x, values, color=COLOURS[n], label=f"lambda1 = {rates[0]:g}")
        points(ax, (20.0, *LARGE), found.gains[rates], n)
    ax.plot((1e3, 1e4), (700.0 / 1e3, 700.0 / 1e4), color="black", lw=0.8, ls=":")
    ax.text(3e3, 0.32, "1/RTT", fontsize=8)
    label(ax, "RTT (s)", "gain over TCP alone (%)", log="xy", ylim=(0.05, 40))
    legend_beside(ax, "T1 = T2 = 15")
    return fig
