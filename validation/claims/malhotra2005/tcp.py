"""How near the chain is to the trend of TCP itself with the round-trip time, by load (M13)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopflow.intervals import t_quantile
from validation.checks import claim
from validation.claims.malhotra2005 import bundled, chain
from validation.claims.malhotra2005.bundled import LINK_A, RANDOM_THINK, tcp_gains, tcp_goodput
from validation.claims.malhotra2005.chain import Setting, gain
from validation.display.drawing import label, legend_beside, panels, points, reference
from validation.judgements.verdicts import Judgement, packets_only
from validation.statistics import LEVEL, Estimate, Values, combine, difference, everywhere, slope

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CASES = {"think time of one second": LINK_A, "random think time": RANDOM_THINK}
COMPARED = (1.0, 5.0)
"""RTTs of both cases at every load, in s: the trend is judged between them; at 0.1 s neither gains more than 2 %."""
TOLD = (20.0, 50.0, 100.0)
"""Loads in packets/s for which the text quotes the unused capacity."""


@dataclass(frozen=True)
class AgainstTcp:
    """TCP's gains from pausing by link A's rate and the RTT, in per cent, by case.

    ``alone`` is TCP's goodput without pausing behind a link A of that rate, packets/s.
    """

    gains: dict[str, dict[tuple[float, float], Estimate]]
    alone: dict[tuple[float, float], Estimate]

    @property
    def loads(self) -> dict[str, list[float]]:
        """The rates of link A, by case."""
        return {case: [load for load, rtt in found if rtt == COMPARED[0]] for case, found in self.gains.items()}

    def chain(self, case: str, rtt: float, base: Setting = Setting()) -> list[float]:  # noqa: B008
        """Return the chain's gains at the rates of a case, in per cent."""
        return [gain(base._replace(rates=(load, 1.0), rtt=rtt)) for load in self.loads[case]]

    def distances(self, case: str, rtt: float, base: Setting = Setting()) -> list[Estimate]:  # noqa: B008
        """Return the distance of the chain's gain from TCP's, in percentage points, by load."""
        return [
            distance(base._replace(rates=(load, 1.0), rtt=rtt), self.gains[case][load, rtt])
            for load in self.loads[case]
        ]

    def growth(self, case: str) -> list[Estimate]:
        """Return the growth of TCP's gain from the first to the last round-trip time compared, percentage points, by load."""
        first, last = COMPARED
        return [difference(self.gains[case][load, last], self.gains[case][load, first]) for load in self.loads[case]]

    def chain_growth(self, case: str, base: Setting = Setting()) -> list[float]:  # noqa: B008
        """Return the same of the chain."""
        first, last = (self.chain(case, rtt, base) for rtt in COMPARED)
        return [b - a for a, b in zip(first, last, strict=True)]

    def growth_distances(self, case: str, base: Setting = Setting()) -> list[Estimate]:  # noqa: B008
        """Return the distance of the chain's growth from TCP's, percentage points, by load."""
        pairs = zip(self.chain_growth(case, base), self.growth(case), strict=True)
        return [apart(exact, seen) for exact, seen in pairs]

    def growth_trend(self, case: str, base: Setting = Setting()) -> Estimate:  # noqa: B008
        """Return the slope of that distance per unit of log(load), with the error from the scatter over the loads."""
        return scattered_slope(self.growth_distances(case, base), np.log(self.loads[case]))

    @property
    def enough_rates(self) -> dict[str, int]:
        """Rates of link A in the same range that would decide, at the slope and the scatter seen, by case."""
        quantile = float(t_quantile(math.inf, 1.0 - 2.0 * LEVEL))
        trends = {case: self.growth_trend(case) for case in self.gains}
        return {
            case: math.ceil(len(self.loads[case]) * (quantile * trend.error / trend.value) ** 2)
            for case, trend in trends.items()
        }

    @property
    def steps(self) -> list[Estimate]:
        """By how much that distance falls from each rate of link A to the next, with a think time of one second."""
        return bundled.falls(self.growth_distances(LINK_A))

    def trend(self, case: str, rtt: float, base: Setting = Setting()) -> Estimate:  # noqa: B008
        """Return the slope of the distance per unit of log(load)."""
        return slope(self.distances(case, rtt, base), [math.log(load) for load in self.loads[case]])

    @property
    def readings(self) -> dict[tuple[str, str], Estimate]:
        """That slope with a think time of one second, RTT 1 s, by reading of the rules."""
        return {key: self.trend(LINK_A, 1.0, Setting().read(key)) for key in chain.READINGS}

    @property
    def unused(self) -> list[float]:
        """Unused capacity of TCP without pausing, in per cent of its goodput."""
        return [100.0 * (chain.NU / self.alone[load, 1.0].value - 1.0) for load in TOLD]

    @property
    def chain_unused(self) -> list[float]:
        """Unused capacity of the chain without pausing, in per cent of its throughput."""
        return [100.0 * (chain.NU / chain.solve(Setting((load, 1.0)).off).throughput - 1.0) for load in TOLD]


def distance(setting: Setting, measured: Estimate) -> Estimate:
    """Return the distance of the chain's gain from a measured one, in percentage points."""
    return apart(gain(setting), measured)


def apart(exact: float, measured: Estimate) -> Estimate:
    """Return the distance of an exact number from a measured one."""
    sign = math.copysign(1.0, exact - measured.value)
    return combine((Estimate(exact, 0.0), measured), (sign, -sign))


def scattered_slope(values: Sequence[Estimate], x: Values) -> Estimate:
    """Return the slope of the straight line through values, its error from their scatter about the line.

    For a tendency over settings that differ by more than their runs do: seeds alone would call any of them a trend.
    """
    means = np.array([e.value for e in values])
    centred = x - x.mean()
    slope = float(centred @ means / (centred @ centred))
    residuals = means - means.mean() - slope * centred
    dof = len(values) - 2
    return Estimate(slope, math.sqrt(float(residuals @ residuals) / dof / float(centred @ centred)), dof)


@claim("M13", cases=(LINK_A, RANDOM_THINK))
def measure() -> AgainstTcp:
    """Read TCP's gains over two bridges."""
    return AgainstTcp({case: tcp_gains(case) for case in CASES.values()}, tcp_goodput(LINK_A, "off"))


measure.constants_of(chain)


@measure.judge
def judge(found: AgainstTcp, *, level: float = LEVEL) -> Judgement:
    """Judge whether the chain is nearer to TCP's trend under heavier load, and to its gain at an RTT of 1 s."""
    return _judged(found, Setting(), level)


def _judged(found: AgainstTcp, base: Setting, level: float) -> Judgement:
    gains = [-found.trend(case, COMPARED[0], base) for case in CASES.values()]
    return {
        "trend": packets_only(everywhere([-found.growth_trend(LINK_A, base)], level)),
        "nearer": packets_only(everywhere(gains, level)),
    }


@measure.readings
def readings(found: AgainstTcp, *, level: float = LEVEL) -> dict[str, Judgement]:
    """Judge random think times, and other readings of the rules of the chain."""
    rules = {chain.reading(key): _judged(found, Setting().read(key), level) for key in chain.READINGS[1:]}
    random = packets_only(everywhere([-found.growth_trend(RANDOM_THINK)], level))
    return rules | {"exponential think times": {"trend": random}}


@measure.draw
def gains(found: AgainstTcp) -> Figure:
    """Draw the gains of chain and TCP over the load at two round-trip times."""
    fig, axes = panels([f"RTT {rtt:g} s" for rtt in COMPARED], 7.6, 3.6, sharey=False)
    for ax, rtt in zip(axes, COMPARED, strict=True):
        ax.plot(found.loads[LINK_A], found.chain(LINK_A, rtt), color="black", label="chain")
        for k, (name, case) in enumerate(CASES.items()):
            loads = found.loads[case]
            points(ax, loads, [found.gains[case][load, rtt] for load in loads], k, label=name)
        reference(ax, lw=0.6)
        label(ax, "link A = lambda1 (packets/s)")
    axes[0].set_ylabel("gain over TCP alone (%)")
    legend_beside(axes[1], "TCP Reno, 8 flows")
    return fig
