"""The cost of a low threshold below the high one (M05)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from validation.checks import claim
from validation.claims.malhotra2005 import bundled, chain, level, protocol
from validation.claims.malhotra2005.chain import HIGH, LIGHT, Setting, cost, gain
from validation.display.drawing import (
    COLOURS,
    MARKERS,
    Axes,
    figure,
    label,
    legend_beside,
    maps,
    points,
    reference,
)
from validation.judgements.verdicts import Judgement, Sides, Verdict, model_only
from validation.networks.further_seeds import CASE
from validation.statistics import (
    LEVEL,
    Estimate,
    combine,
    everywhere,
    of_runs,
    ratio_gain,
    slope,
    weakest,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOTH = "malhotra2005/pause-both-rules"
SLIGHT = 1.0
"""Largest change of the throughput that counts as very slight, in per cent."""
LOWS, RUN_LOWS, BOTH_LOWS = range(1, 16), (1, 5, 10, 15), (1, 3, 5, 8, 10, 12, 14, 15)
BOTH_RUN_LOWS = (1, 10, 15)
"""Low thresholds of the packet runs where rules 6 and 8 both fire."""
TCP_LOWS, TCP_MILD = (1, 3, 5, 7, 9, 11, 13, 15), 9
"""The low thresholds of the TCP runs, and the mildest that is a quarter of the buffer lower."""
MILD = 10
"""A quarter of the buffer below T1: the mildest of the bundled changes."""
TWO_RTTS = (1.0, 5.0)
READ_RTTS = (0.1, 0.3, *TWO_RTTS)
"""Round-trip times of Fig. 5, which the paper does not state, s: each is a reading; packets were run at `TWO_RTTS`."""
APART = 5
"""T1 - T2 of the maps."""
MAP_HIGHS = (11, 13, 15, 17, 19)
MAP_RTTS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0)
DRAWN_RTTS = (0.1, 0.5, 1.0, 5.0, 20.0)
"""Round-trip times of the maps, s."""
PANELS = {
    "lambda1 = 25, mu2 = 2": Setting(),
    "lambda1 = 50, mu2 = 2": Setting(chain.HEAVY),
    "lambda1 = 25, mu2 = 10": Setting(paused_rate=10.0),
}


@dataclass(frozen=True)
class LowThreshold:
    """Gains over TCP alone and costs against T2 = T1 = 15, in per cent, by round-trip time.

    Attributes
    ----------
    curves
        Gains of the chain by T2, 1 to 15.
    rates, gains, costs
        Of the packet runs with T2 of `RUN_LOWS`: packets/s by T2; gains; costs, T2 = 15 left out.
    both
        Rates where rules 6 and 8 both fire, T2 of `BOTH_RUN_LOWS`.
    longer
        Costs of T2 = 1 in the chain, by the room B1 of queue 1.
    tcp
        TCP's goodput by T2, packets/s; 20 is without pausing.
    own
        The same at hopflow's packet level, T2 of `RUN_LOWS`.
    ends
        The chain with T2 = 15 and with T2 = 1, RTT 1 s.
    against
        Other input rates and round-trip times at which the chain lacks the trends.
    """

    curves: dict[float, list[float]]
    rates: dict[float, dict[int, Estimate]]
    both: dict[float, dict[int, Estimate]]
    gains: dict[float, list[Estimate]]
    costs: dict[float, list[Estimate]]
    longer: dict[int, float]
    ends: tuple[chain.Answer, chain.Answer]
    agreement: bundled.Agreement
    tcp: dict[float, dict[int, Estimate]]
    own: dict[float, dict[int, Estimate]]
    against: list[tuple[float, float]]

    def cost_at(self, low: int, rtt: float, reading: tuple[str, str] = chain.READINGS[0]) -> float:
        """Return the cost of T2 < T1 = 15 in the chain, in per cent of the throughput."""
        return cost(at(low, rtt).read(reading))

    def gain_at(self, low: int, rtt: float, reading: tuple[str, str] = chain.READINGS[0]) -> float:
        """Return the gain with T1 = 15 in the chain, in per cent."""
        return gain(at(low, rtt).read(reading))

    @property
    def steps(self) -> list[Estimate]:
        """By how much the packets' throughput falls from each T2 to the next lower one."""
        return [rise for rtt in TWO_RTTS for rise in rises_of(self.rates[rtt])]

    @property
    def falls(self) -> bool:
        """Whether the chain's gain falls at every step of T2."""
        return all(bool(np.all(np.diff(values) > 0)) for values in self.curves.values())

    @property
    def weakest(self) -> Estimate:
        """The fall with the smallest ratio of value to error."""
        return weakest(self.steps)

    @property
    def mild(self) -> list[float]:
        """The cost of T2 = 10 in the chain, in per cent."""
        return [cost(at(MILD, rtt)) for rtt in TWO_RTTS]

    def beyond(self, slight: float, level: float) -> Verdict:
        """Return whether T2 = 10 costs more than a limit in the packet runs."""
        exact = Estimate(slight, 0.0)
        costs = (self.costs[rtt][RUN_LOWS.index(MILD)] for rtt in TWO_RTTS)
        return everywhere([combine((found, exact), (1.0, -1.0)) for found in costs], level)

    @property
    def tcp_trends(self) -> list[Estimate]:
        """The slope of TCP's goodput over T2, packets/s per packet, by round-trip time."""
        return [slope([found[low] for low in TCP_LOWS], TCP_LOWS) for found in self.tcp.values()]

    @property
    def tcp_costs(self) -> list[Estimate]:
        """The cost of T2 = 9 against T2 = 15 in TCP, in per cent, by round-trip time."""
        return [-ratio_gain(found[TCP_MILD], found[HIGH]) for found in self.tcp.values()]

    @property
    def own_trends(self) -> list[Estimate]:
        """The slope of TCP's goodput over T2 at hopflow's packet level, by round-trip time."""
        return [slope(list(found.values()), list(found)) for found in self.own.values()]

    @property
    def own_costs(self) -> list[Estimate]:
        """The cost of T2 = 10 against T2 = 15 at hopflow's packet level, in per cent."""
        return [-ratio_gain(found[MILD], found[HIGH]) for found in self.own.values()]

    @property
    def turn(self) -> dict[float, int]:
        """The largest T2 at which pausing is worse than TCP alone in the chain."""
        return {
            rtt: max((low for low in LOWS if values[low - 1] < 0), default=0) for rtt, values in self.curves.items()
        }

    @property
    def worse(self) -> Verdict:
        """Whether T2 = 1 is worse than TCP alone in the packet runs, at `LEVEL`."""
        return everywhere([-self.gains[rtt][0] for rtt in TWO_RTTS], LEVEL)

    @property
    def gaining(self) -> list[Setting]:
        """Settings of the map at which pausing with T2 = T1 gains visibly."""
        cells = (Setting(LIGHT, h, h - APART, rtt) for h in MAP_HIGHS for rtt in MAP_RTTS)
        return [s for s in cells if gain(s._replace(low=None)) >= SLIGHT]

    @property
    def slight(self) -> list[Setting]:
        """Gaining settings of the map at which the lower T2 costs little."""
        return [s for s in self.gaining if cost(s) < SLIGHT]


def at(low: int, rtt: float) -> Setting:
    """Return T1 = 15 with a low threshold and a round-trip time."""
    return Setting(LIGHT, HIGH, low if low < HIGH else None, rtt)


OTHER_RATES = (20.0, 35.0, 50.0, 75.0, 100.0)
"""Higher input rates of the chain beside 25 packets/s, as of the bundled runs of M04."""
HIGHS = (17, 19)
"""Thresholds T1 = T2 between which the throughput collapses (M06)."""


def _against_at_other_rates() -> list[tuple[float, float]]:
    """Return the other rates and round-trip times at which the chain lacks the trends over T2 or close to the buffer's size."""
    against = []
    for rate, rtt in product(OTHER_RATES, TWO_RTTS):
        rates = (rate, 1.0)
        lows = [chain.solve(at(low, rtt)._replace(rates=rates)).throughput for low in LOWS]
        near, full = (chain.solve(Setting(rates, high, rtt=rtt)).throughput for high in HIGHS)
        if not (np.all(np.diff(lows) > 0) and full < near):
            against.append((rate, rtt))
    return against


@claim(
    "M05",
    cases=(bundled.LOW_THRESHOLD, bundled.THRESHOLDS, protocol.LOW_THRESHOLD, BOTH, CASE),
)
def measure() -> LowThreshold:
    """Solve the chain over T2, and read the packet runs."""
    data, on = bundled.runs(bundled.LOW_THRESHOLD), bundled.runs(bundled.THRESHOLDS)
    rates = {rtt: {low: data.rate(at(low, rtt)) for low in RUN_LOWS} for rtt in TWO_RTTS}
    printed = bundled.runs(BOTH)
    off = {rtt: on.rate(Setting(LIGHT, chain.B2, rtt=rtt)) for rtt in TWO_RTTS}
    return LowThreshold(
        {rtt: [gain(at(low, rtt)) for low in LOWS] for rtt in TWO_RTTS},
        rates,
        {rtt: {low: printed.rate(at(low, rtt).read(chain.AS_PRINTED)) for low in BOTH_RUN_LOWS} for rtt in TWO_RTTS},
        {rtt: [ratio_gain(e, off[rtt]) for e in rates[rtt].values()] for rtt in TWO_RTTS},
        {rtt: [-ratio_gain(rates[rtt][low], rates[rtt][HIGH]) for low in RUN_LOWS if low < HIGH] for rtt in TWO_RTTS},
        {room: cost(Setting(LIGHT, HIGH, 1, buffers=(room, chain.B2))) for room in (chain.B1, 20, 40)},
        (chain.solve(at(HIGH, 1.0)), chain.solve(at(1, 1.0))),
        bundled.agreement(data.values()),
        {rtt: protocol.by_low_threshold(rtt) for rtt in TWO_RTTS},
        {rtt: {low: of_runs(level.goodput(level.Bridges(rtt, HIGH, low))) for low in RUN_LOWS} for rtt in TWO_RTTS},
        _against_at_other_rates(),
    )


measure.constants_of(chain)


@measure.judge
def judge(found: LowThreshold, *, slight: float = SLIGHT, level: float = LEVEL) -> Judgement:
    """Judge whether the throughput falls with T2, and whether T2 = 10 costs very little."""
    little = _little(found.mild, slight)
    return {
        "falls": Sides(Verdict.of(found.falls), everywhere(found.tcp_trends, level)),
        "slightly": Sides(little, _within(found.tcp_costs, slight, level)),
        "rates": model_only(Verdict.of(not found.against)),
    }


@measure.packet_level
def at_packet_level(found: LowThreshold, *, slight: float = SLIGHT, level: float = LEVEL) -> dict[str, Verdict]:
    """Judge TCP at hopflow's packet level."""
    return {
        "falls": everywhere(found.own_trends, level),
        "slightly": _within(found.own_costs, slight, level),
    }


def _within(costs: Sequence[Estimate], slight: float, level: float) -> Verdict:
    """Judge whether costs are less than a limit."""
    exact = Estimate(slight, 0.0)
    return everywhere([combine((exact, cost), (1.0, -1.0)) for cost in costs], level)


def _little(costs: list[float], slight: float) -> Verdict:
    return Verdict.of(all(c < slight for c in costs), all(c > slight for c in costs))


@measure.readings
def readings(found: LowThreshold, *, slight: float = SLIGHT, level: float = LEVEL) -> dict[str, Judgement]:
    """Judge other readings of the rules, and each round-trip time by itself."""
    judged = {}
    for key in chain.READINGS[1:]:
        gains = [[found.gain_at(low, rtt, key) for low in BOTH_LOWS] for rtt in TWO_RTTS]
        costs = [found.cost_at(MILD, rtt, key) for rtt in TWO_RTTS]
        falls = Verdict.of(all(bool(np.all(np.diff(values) > 0)) for values in gains))
        judged[chain.reading(key)] = {
            "falls": model_only(falls),
            "slightly": model_only(_little(costs, slight)),
        }
    runs = dict(zip(TWO_RTTS, zip(found.tcp_trends, found.tcp_costs, strict=True), strict=True))
    for rtt in READ_RTTS:
        gains_at = [found.gain_at(low, rtt) for low in LOWS]
        seen = _seen(runs[rtt], slight, level) if rtt in runs else {}
        model = {
            "falls": Verdict.of(bool(np.all(np.diff(gains_at) > 0))),
            "slightly": _little([found.cost_at(MILD, rtt)], slight),
        }
        judged[f"RTT {rtt:g} s"] = {
            key: Sides(verdict, seen.get(key, Verdict.NOT_APPLICABLE)) for key, verdict in model.items()
        }
    return judged


@measure.level_in_readings
def at_packet_level_in_readings(
    found: LowThreshold, *, slight: float = SLIGHT, level: float = LEVEL
) -> dict[str, dict[str, Verdict]]:
    """Judge each round-trip time by itself at hopflow's packet level."""
    runs = zip(found.own, found.own_trends, found.own_costs, strict=True)
    return {f"RTT {rtt:g} s": _seen(each, slight, level) for rtt, *each in runs}


def _seen(run: Sequence[Estimate], slight: float, level: float) -> dict[str, Verdict]:
    """Judge the slope of the goodput over T2 and the cost of a lower T2."""
    trend, cost = run
    return {"falls": everywhere([trend], level), "slightly": _within([cost], slight, level)}


@measure.same_process
def same_process(found: LowThreshold, *, level: float = LEVEL, slight: float = SLIGHT) -> dict[str, Verdict]:
    """Judge the chain's own events."""
    return _of_process(found.rates, slight, level)


@measure.process_in_readings
def process_in_readings(
    found: LowThreshold, *, level: float = LEVEL, slight: float = SLIGHT
) -> dict[str, dict[str, Verdict]]:
    """Judge the chain's own events where rules 6 and 8 both fire, and at each round-trip time by itself."""
    at_rtts = {f"RTT {rtt:g} s": _of_process({rtt: rates}, slight, level) for rtt, rates in found.rates.items()}
    return {chain.reading(chain.AS_PRINTED): _of_process(found.both, slight, level)} | at_rtts


def _of_process(rates: Mapping[float, Mapping[int, Estimate]], slight: float, level: float) -> dict[str, Verdict]:
    """Judge throughputs of the chain's own events by round-trip time and T2: the fall at each step, the cost of T2 = 10."""
    rises = [rise for by_low in rates.values() for rise in rises_of(by_low)]
    costs = [-ratio_gain(by_low[MILD], by_low[HIGH]) for by_low in rates.values()]
    dear = everywhere([combine((each, Estimate(slight, 0.0)), (1.0, -1.0)) for each in costs], level)
    little = _within(costs, slight, level)
    return {
        "falls": everywhere(rises, level),
        "slightly": Verdict.of(little is Verdict.HOLDS, dear is Verdict.HOLDS),
    }


def rises_of(by_low: Mapping[int, Estimate]) -> list[Estimate]:
    """Return by how much throughput rises from each T2 to the next higher one."""
    return [-step for step in bundled.falls([by_low[low] for low in sorted(by_low)])]


@measure.draw
def gains(found: LowThreshold) -> Figure:
    """Draw the gains over T2 by round-trip time."""
    fig, ax = figure()
    for n, rtt in enumerate(TWO_RTTS):
        ax.plot(LOWS, found.curves[rtt], color=COLOURS[n], label=f"RTT {rtt:g} s")
        points(ax, RUN_LOWS, found.gains[rtt], n)
    both = [found.gain_at(low, 1.0, chain.AS_PRINTED) for low in BOTH_LOWS]
    ax.plot(BOTH_LOWS, both, "--", color=COLOURS[0], label="RTT 1 s, rules 6 and 8 both fire")
    reference(ax, text="TCP alone")
    label(ax, "low threshold T2 (packets), T1 = 15", "gain over TCP alone (%)")
    ax.legend(frameon=False, fontsize=8, loc="upper left")
    return fig


@measure.draw
def gain_and_costs(found: LowThreshold) -> Figure:
    """Draw the gain with T2 = T1 and the costs of lower T2 over the round-trip time."""
    fig, ax = figure()
    values = [found.gain_at(HIGH, rtt) for rtt in MAP_RTTS]
    ax.plot(MAP_RTTS, values, color="black", label="gain with T2 = T1")
    for n, low in enumerate((10, 7, 1)):
        values = [found.cost_at(low, rtt) for rtt in MAP_RTTS]
        style = {"ms": 4, "color": COLOURS[n], "label": f"cost of T2 = {low}"}
        ax.plot(MAP_RTTS, values, MARKERS[n] + "-", **style)
    reference(ax, SLIGHT, "“very slightly”", ls=":", lw=1)
    label(ax, "RTT (s)", "share of the throughput (%)", log="xy", ylim=(0.003, 40))
    legend_beside(ax, "T1 = 15")
    return fig


@measure.draw
def cost_maps(found: LowThreshold) -> Figure:  # noqa: ARG001
    """Draw the cost of T2 = T1 - 5 over threshold and round-trip time, for three settings."""
    grids, framed = {}, []
    for title, base in PANELS.items():
        cells = [base._replace(high=h, low=h - APART, rtt=r) for h, r in product(MAP_HIGHS, DRAWN_RTTS)]
        shape = len(MAP_HIGHS), len(DRAWN_RTTS)
        grids[title] = np.array([cost(s) for s in cells]).reshape(shape)
        visible = [gain(s._replace(low=None)) >= SLIGHT > cost(s) for s in cells]
        framed.append(np.array(visible).reshape(shape))
    labels = "RTT (s)", "high threshold T1 (packets)"
    axes = Axes(DRAWN_RTTS, MAP_HIGHS, labels)
    return maps(grids, axes, framed=np.array(framed), span=(0.0, 10.0))
