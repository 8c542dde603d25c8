"""The best threshold (M06)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from validation.checks import claim
from validation.claims.malhotra2005 import bundled, chain, level, protocol
from validation.claims.malhotra2005.bundled import Compared
from validation.claims.malhotra2005.chain import B2, LIGHT, SEEN, Setting, gain, solve
from validation.display.drawing import COLOURS, Axes, figure, label, maps, points, reference
from validation.judgements.verdicts import Judgement, Verdict, model_only
from validation.networks.further_seeds import CASE
from validation.statistics import LEVEL, Estimate, difference, everywhere, of_runs, ratio_gain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RUN_HIGHS = (2, 5, 8, 11, 13, 14, 15, 16, 17, 18, 19, 20)
BAND = range(14, 17)
"""70 to 80 % of B2: the paper's optimum."""
SHARES = (70, 80)
FLAT = 0.01
"""Part of the best rate within which thresholds cannot be told apart in a figure."""
ABOVE, NEXT, LAST = 17, 18, 19
"""The first threshold above the band, the next, and the last below B2."""
OWN_HIGHS = (*BAND, NEXT, LAST, B2)
"""Thresholds at hopflow's packet level: those that are judged."""
PAUSED = (0.1, 2.0, 5.0, 8.0, 11.0, 14.0)
MAP_RTTS = (0.3, *SEEN)
MAP_LOADS = (20.0, 25.0, 50.0)
EXAMPLES = ((1.0, 25.0), (20.0, 25.0), (1.0, 50.0), (1.0, 20.0))
"""Round-trip times and lambda1 for which the text quotes the best threshold."""
ROOMS = (7, 10, 13)
TOLD = (15, 17, 19)


@dataclass(frozen=True)
class BestThreshold:
    """Gains over TCP alone in per cent by T1 = T2, lambda1 = 25.

    Attributes
    ----------
    scans
        Of the chain, by round-trip time and threshold.
    data
        The packet runs.
    optimum
        The chain's best threshold by round-trip time, lambda1 and mu2.
    readings
        The same by reading at the defaults.
    tcp
        TCP's goodput by round-trip time and T1 = T2, with a think time of one second.
    own
        The same at hopflow's packet level.
    reading_scans
        The chain's gain by reading, round-trip time and threshold, at the two thresholds of the collapse.
    rooms
        The chain's gain with T1 a packet below B2 - B1, and with T1 there, by B1.
    """

    scans: dict[float, dict[int, float]]
    data: bundled.Runs
    optimum: dict[tuple[float, float, float], int]
    readings: dict[tuple[str, str], int]
    reading_scans: dict[tuple[str, str], dict[float, dict[int, float]]]
    rooms: dict[int, tuple[float, float]]
    agreement: bundled.Agreement
    tcp: dict[float, dict[int, Estimate]]
    own: dict[float, dict[int, Estimate]]

    def gain(self, high: int, rtt: float) -> Estimate:
        """Return the packets' gain."""
        return self.data.gain(Setting(LIGHT, high, rtt=rtt))

    def lost(self, high: int, rtt: float = 5.0) -> Compared:
        """Return the losses per s at queue 2."""
        setting = Setting(LIGHT, high, rtt=rtt)
        seen = self.data[setting].estimates["loss_rate_2"]
        return Compared(solve(setting)["loss_rate_2"], seen)

    def less(self, high: int, other: int, rtt: float) -> Compared:
        """Return the throughput with one threshold less that with another, packets/s."""
        one, two = Setting(LIGHT, high, rtt=rtt), Setting(LIGHT, other, rtt=rtt)
        exact = solve(one).throughput - solve(two).throughput
        return Compared(exact, difference(self.data.rate(one), self.data.rate(two)))

    @property
    def best(self) -> dict[float, int]:
        """The chain's best threshold by round-trip time."""
        return {rtt: max(scan, key=scan.__getitem__) for rtt, scan in self.scans.items()}

    @property
    def flat(self) -> tuple[int, int]:
        """The chain's lowest and highest threshold within `FLAT` of the best rate at the shortest round-trip time."""
        rates = {high: 1.0 + gain / 100.0 for high, gain in self.scans[chain.RUN_RTTS[0]].items()}
        near = [high for high, rate in rates.items() if rate >= (1.0 - FLAT) * max(rates.values())]
        return min(near), max(near)

    @property
    def run_rates(self) -> dict[float, dict[int, Estimate]]:
        """Throughput of the packet runs by round-trip time, at 1, 5 and 20 s, and by threshold below B2."""
        return {rtt: {h: self.data.rate(Setting(LIGHT, h, rtt=rtt)) for h in RUN_HIGHS if h < B2} for rtt in SEEN}

    @property
    def best_run(self) -> list[int]:
        """The best threshold of the packet runs, at 1, 5 and 20 s."""
        return [max(rates, key=lambda high: rates[high].value) for rates in self.run_rates.values()]

    @property
    def collapse(self) -> list[Compared]:
        """Fall of the throughput from T1 = 17 to 19, and from 19 to 20."""
        return [self.less(a, b, rtt) for rtt in SEEN for a, b in ((ABOVE, LAST), (LAST, B2))]

    @property
    def above(self) -> dict[float, list[Compared]]:
        """Throughput with T1 = 17 less that with each threshold of the band."""
        return {rtt: [self.less(ABOVE, high, rtt) for high in BAND] for rtt in SEEN}

    def tcp_less(self, high: int, other: int) -> list[Estimate]:
        """Return TCP's goodput with one threshold less that with another, packets/s."""
        return [difference(found[high], found[other]) for found in self.tcp.values()]

    def own_less(self, high: int, other: int) -> list[Estimate]:
        """Return the same at hopflow's packet level."""
        return [difference(found[high], found[other]) for found in self.own.values()]

    @property
    def tcp_best(self) -> dict[float, int]:
        """TCP's best threshold by round-trip time."""
        return {rtt: max(found, key=lambda high: found[high].value) for rtt, found in self.tcp.items()}

    def won(self, rtt: float) -> Estimate:
        """Return the gain in throughput of T1 = 17 over 15 in packets, in per cent."""
        one, two = (self.data.rate(Setting(LIGHT, high, rtt=rtt)) for high in (ABOVE, 15))
        return ratio_gain(one, two)

    @property
    def factor(self) -> float:
        """Factor of the losses at queue 2 for a packet less of headroom, T1 = 13 to 17."""
        loss = [solve(Setting(LIGHT, high))["loss_rate_2"] for high in range(13, 18)]
        return float(np.mean(np.divide(loss[1:], loss[:-1])))

    @property
    def inside(self) -> dict[tuple[float, float], float]:
        """The smallest mu2 tried with the best threshold in the band, by RTT and lambda1."""
        return {
            load: next((mu2 for mu2 in PAUSED if self.optimum[(*load, mu2)] in BAND), math.nan) for load in EXAMPLES
        }


def judge_optimum(by_threshold: Mapping[int, Estimate], level: float) -> Verdict:
    """Return whether the threshold of the largest throughput is in the paper's band.

    HOLDS when one of the band is certainly above every threshold outside it, CONTRADICTED when one outside is
    certainly above every one of the band, each at ``level`` over the number of candidates.

    Parameters
    ----------
    by_threshold
        Throughput by T1 = T2, without that of no pausing.
    level
        Probability of a verdict by chance.
    """
    inside = [e for high, e in by_threshold.items() if high in BAND]
    outside = [e for high, e in by_threshold.items() if high not in BAND]

    def one_exceeds_all(candidates: Sequence[Estimate], others: Sequence[Estimate]) -> bool:
        limit = level / len(candidates)
        return any(all(difference(one, other).p_positive() < limit for other in others) for one in candidates)

    return Verdict.of(one_exceeds_all(inside, outside), one_exceeds_all(outside, inside))


def optima() -> dict[tuple[float, float, float], int]:
    """Return the best thresholds over the map, each search starting from the previous optimum."""
    found = {}
    for rtt, rate in product(MAP_RTTS, MAP_LOADS):
        here = LAST
        for mu2 in PAUSED:
            here = chain.best_threshold(Setting((rate, 1.0), here, rtt=rtt, paused_rate=mu2))
            found[rtt, rate, mu2] = here
    return found


@claim("M06", cases=(bundled.THRESHOLDS, protocol.THRESHOLDS, CASE))
def measure() -> BestThreshold:
    """Solve the chain over the threshold, and read the packet runs."""
    data = bundled.runs(bundled.THRESHOLDS)
    return BestThreshold(
        {rtt: {high: gain(Setting(LIGHT, high, rtt=rtt)) for high in range(2, B2 + 1)} for rtt in chain.RUN_RTTS},
        data,
        optima(),
        {key: chain.best_threshold(Setting(LIGHT, ABOVE).read(key)) for key in chain.READINGS},
        {
            key: {
                rtt: {high: gain(Setting(LIGHT, high, rtt=rtt).read(key)) for high in (ABOVE, LAST)}
                for rtt in chain.RUN_RTTS
            }
            for key in chain.READINGS[1:]
        },
        {
            room: (
                gain(Setting(LIGHT, B2 - room - 1, buffers=(room, B2))),
                gain(Setting(LIGHT, B2 - room, buffers=(room, B2))),
            )
            for room in ROOMS
        },
        bundled.agreement(data.values()),
        {rtt: protocol.by_threshold("think", rtt) for rtt in SEEN[:2]},
        {rtt: {h: of_runs(level.goodput(level.Bridges(rtt, h, h))) for h in OWN_HIGHS} for rtt in SEEN[:2]},
    )


measure.constants_of(chain)


@measure.judge
def judge(found: BestThreshold) -> Judgement:
    """Judge whether the chain's gain collapses close to B2, and whether its optimum is in the band; TCP is judged by M11."""
    inside = [best in BAND for best in found.best.values()]
    return {
        "collapse": model_only(_collapses(found.scans, ABOVE)),
        "optimum": model_only(Verdict.of(all(inside), not any(inside))),
    }


def _collapses(scans: dict[float, dict[int, float]], high: int) -> Verdict:
    """Return whether the chain's gain falls from a threshold to the last one below B2 at every round-trip time."""
    return Verdict.of(all(scan[high] > scan[LAST] for scan in scans.values()))


@measure.readings
def readings(found: BestThreshold) -> dict[str, Judgement]:
    """Judge the fall from the middle of the paper's band, and both statements in other readings of the rules, the optimum at 1 s."""
    middle = BAND[len(BAND) // 2]
    return {f"the fall from T1 = {middle}": {"collapse": model_only(_collapses(found.scans, middle))}} | {
        chain.reading(key): {
            "collapse": model_only(_collapses(found.reading_scans[key], ABOVE)),
            "optimum": model_only(Verdict.of(best in BAND)),
        }
        for key, best in found.readings.items()
        if key != chain.READINGS[0]
    }


def _at_every_round_trip(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict that all round-trip times agree in, as the chain's optimum is judged."""
    agreed = set(verdicts)
    return agreed.pop() if len(agreed) == 1 else Verdict.INCONCLUSIVE


@measure.same_process
def same_process(found: BestThreshold, *, level: float = LEVEL) -> dict[str, Verdict]:
    """Judge the chain's own events."""
    return {
        "collapse": everywhere((fall.packets for fall in found.collapse), level),
        "optimum": _at_every_round_trip(judge_optimum(rates, level) for rates in found.run_rates.values()),
    }


@measure.draw
def gains(found: BestThreshold) -> Figure:
    """Draw the gains over the threshold by round-trip time."""
    fig, ax = figure()
    ax.axvspan(BAND[0], BAND[-1], color="0.88")
    ax.text(15, 33, "70–80 %", ha="center", va="top", fontsize=8)
    for n, (rtt, scan) in enumerate(found.scans.items()):
        ax.plot(list(scan), list(scan.values()), color=COLOURS[n], label=f"RTT {rtt:g} s")
        points(ax, RUN_HIGHS[:-1], [found.gain(high, rtt) for high in RUN_HIGHS[:-1]], n)
    reference(ax)
    label(ax, "threshold T1 = T2 (packets), B2 = 20", "gain over TCP alone (%)")
    ax.set(ylim=(-33, 35), xticks=range(2, 21, 2))
    ax.legend(frameon=False, fontsize=8, loc="upper left")
    return fig


@measure.draw
def optimum_maps(found: BestThreshold) -> Figure:
    """Draw the best threshold over mu2 and the round-trip time, by lambda1."""
    cells = {
        f"lambda1 = {rate:g}": np.array(
            [[100.0 * found.optimum[rtt, rate, mu2] / B2 for rtt in MAP_RTTS] for mu2 in PAUSED]
        )
        for rate in MAP_LOADS
    }
    values = np.array(list(cells.values()))
    framed = (values >= SHARES[0]) & (values <= SHARES[1])
    labels = "RTT (s)", "rate while paused, mu2 (packets/s)"
    return maps(cells, Axes(MAP_RTTS, PAUSED, labels), digits=0, framed=framed)
