"""The gain, and the influence of the round-trip time on it, under heavier load (M04)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from validation.checks import claim
from validation.claims.malhotra2005 import bundled, chain, level
from validation.claims.malhotra2005.chain import RUN_RTTS, Setting, gain
from validation.display.drawing import COLOURS, Axes, figure, label, legend_beside, maps, points
from validation.judgements.verdicts import Judgement, Sides, Verdict, model_only, packets_only
from validation.networks.further_seeds import CASE
from validation.statistics import (
    LEVEL,
    Estimate,
    Values,
    difference,
    everywhere,
    monotone,
    slope,
    weakest,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOADS = (20.0, 25.0, 35.0, 50.0, 75.0, 100.0)
"""lambda1 of the bundled runs, in packets/s."""
MAP_LOADS = (16.0, 18.0, 20.0, 25.0, 35.0, 50.0, 75.0, 100.0, 200.0)
MAP_RTTS = (0.1, 0.3, 1.0, 3.0, 5.0, 10.0, 20.0, 50.0)
READ_LOADS = (20.0, 50.0, 100.0)
LIGHTEST, HEAVY_LOAD = 20.0, 75.0
PANELS = {
    "T1 = 15, mu2 = 2": Setting(),
    "T1 = 18, mu2 = 2": Setting(high=18),
    "T1 = 15, mu2 = 10": Setting(paused_rate=10.0),
}
OWN_LOADS = (25.0, 35.0, 100.0)
"""Rates of link A at hopflow's packet level, those of M10 from the default on, packets/s."""
TCP_RTTS = RUN_RTTS[:3]
"""Round-trip times of the TCP runs over the load, s."""
RANDOM_LOADS, RANDOM_RTTS = (20.0, 25.0, 35.0, 50.0), (1.0, 5.0)
"""Rates of link A, packets/s, and round-trip times, s, that were run with exponential think times."""
USUAL = next(iter(PANELS))
Gains: TypeAlias = Mapping[tuple[float, float], Estimate]
"""Gains by load and round-trip time, per cent."""


@dataclass(frozen=True)
class GainByLoad:
    """Gains over TCP alone in per cent by load, at each of `RUN_RTTS`.

    Attributes
    ----------
    curves, gains
        Of the chain and of the packet runs at `LOADS`.
    influences
        Range of the chain's gain over the round-trip time, by load, percentage points.
    readings, reading_influences
        The gains at 1 s and the influences at `READ_LOADS` in all readings.
    cells
        Maps of the chain's gain over load and round-trip time, by setting.
    tcp, random
        Gains of TCP behind a link A of that rate, by rate and round-trip time: with a think time of
        one second, and with exponential ones.
    own
        The same as ``tcp`` at hopflow's packet level.
    """

    curves: dict[float, list[float]]
    gains: dict[float, list[Estimate]]
    influences: list[float]
    readings: dict[tuple[str, str], list[float]]
    reading_influences: dict[tuple[str, str], list[float]]
    cells: dict[str, Values]
    tcp: dict[tuple[float, float], Estimate]
    random: dict[tuple[float, float], Estimate]
    agreement: bundled.Agreement
    own: dict[tuple[float, float], Estimate]

    @property
    def falls(self) -> dict[float, bool]:
        """Whether the chain's gain falls at every step of the load, by round-trip time."""
        return {rtt: bool(np.all(np.diff(values) < 0)) for rtt, values in self.curves.items()}

    @property
    def events(self) -> Gains:
        """Gains of the packet runs of the chain's own events."""
        return {
            (load, rtt): value for rtt, values in self.gains.items() for load, value in zip(LOADS, values, strict=True)
        }

    @property
    def steps(self) -> list[Estimate]:
        """By how much the gain of the chain's own events falls at every step of the load."""
        return falls(self.events, LOADS, RUN_RTTS)

    @property
    def rise(self) -> Estimate:
        """The clearest rise of that gain at a step of the load."""
        return -weakest(self.steps)

    @property
    def trends(self) -> dict[float, Estimate]:
        """The slope of that gain per unit of log(lambda1), by round-trip time."""
        return {rtt: slope_of(values, LOADS) for rtt, values in self.gains.items()}

    @property
    def ranges(self) -> dict[tuple[float, ...], list[float]]:
        """Ranges of the chain's gain over the round-trip times of packet runs, by load: all of them, and those of TCP."""
        return {
            rtts: [float(np.ptp(column)) for column in np.array([self.curves[r] for r in rtts]).T]
            for rtts in (RUN_RTTS, TCP_RTTS)
        }

    @property
    def tcp_ranges(self) -> list[Estimate]:
        """Ranges of TCP's gain over the round-trip time, at each of `LOADS`."""
        return ranges(self.tcp, LOADS, TCP_RTTS)

    @property
    def tcp_loads(self) -> list[float]:
        """All rates of link A that were run with TCP, packets/s."""
        return sorted({load for load, _ in self.tcp})

    @property
    def tcp_trends(self) -> dict[float, Estimate]:
        """The slope of TCP's gain per unit of log(link A), by round-trip time."""
        return {rtt: slope_of([self.tcp[load, rtt] for load in LOADS], LOADS) for rtt in TCP_RTTS}

    @property
    def jumps(self) -> list[Estimate]:
        """Growth of TCP's gain from a link A of 20 to 25 packets/s at 5 s: with fixed and with exponential think times."""
        return [
            difference(gains[LOADS[1], TCP_RTTS[-1]], gains[LOADS[0], TCP_RTTS[-1]])
            for gains in (self.tcp, self.random)
        ]

    @property
    def own_ranges(self) -> list[Estimate]:
        """Ranges of the gain over the round-trip time at hopflow's packet level, at each of `OWN_LOADS`."""
        return ranges(self.own, OWN_LOADS, TCP_RTTS)

    @property
    def event_ranges(self) -> list[Estimate]:
        """Ranges of the gain of the chain's own events over the round-trip time, at each of `LOADS`."""
        return ranges(self.events, LOADS, RUN_RTTS)

    @property
    def best(self) -> dict[float, float]:
        """The load of the largest gain of the default setting, by round-trip time."""
        places = np.argmax(self.cells[USUAL], axis=0)
        return {rtt: MAP_LOADS[n] for rtt, n in zip(MAP_RTTS, places, strict=True)}

    def unused(self, load: float, rtt: float) -> float:
        """Return the chain's unused capacity without pausing, in per cent of its throughput."""
        return 100.0 * (chain.NU / chain.solve(at(load, rtt).off).throughput - 1.0)

    def won_back(self, load: float, rtt: float) -> float:
        """Return how much of the unused capacity pausing recovers, in per cent."""
        return 100.0 * gain(at(load, rtt)) / self.unused(load, rtt)


def falls(gains: Gains, loads: Sequence[float], rtts: Sequence[float]) -> list[Estimate]:
    """Return by how much a gain falls from each load to the next, at each round-trip time, percentage points."""
    return [fall for rtt in rtts for fall in bundled.falls([gains[load, rtt] for load in loads])]


def ranges(gains: Gains, loads: Sequence[float], rtts: Sequence[float]) -> list[Estimate]:
    """Return the range of a gain over the round-trip times, by load, percentage points.

    It is the difference of the largest and the smallest mean, which noise widens where gains are nearly equal.
    """
    by_load = [sorted((gains[load, rtt] for rtt in rtts), key=lambda e: e.value) for load in loads]
    return [difference(values[-1], values[0]) for values in by_load]


def slope_of(values: Sequence[Estimate], loads: Sequence[float]) -> Estimate:
    """Return the slope of estimates per unit of log(load)."""
    return slope(values, np.log(loads))


def at(load: float, rtt: float, base: Setting | None = None) -> Setting:
    """Return a setting with another load and round-trip time."""
    return (base or Setting())._replace(rates=(load, 1.0), rtt=rtt)


def influence(load: float, base: Setting | None = None) -> float:
    """Return the range of the chain's gain over the RTT, in percentage points."""
    gains = [gain(at(load, rtt, base)) for rtt in chain.RTTS]
    return max(gains) - min(gains)


@claim(
    "M04",
    cases=(
        CASE,
        bundled.LOAD,
        bundled.THRESHOLDS,
        bundled.GRANULARITY,
        bundled.LINK_A,
        bundled.RANDOM_THINK,
    ),
)
def measure() -> GainByLoad:
    """Solve the chain over the load, and read the packet runs."""
    data = bundled.runs(bundled.LOAD, bundled.THRESHOLDS, bundled.GRANULARITY)
    read = {key: Setting().read(key) for key in chain.READINGS}
    return GainByLoad(
        {rtt: [gain(at(load, rtt)) for load in LOADS] for rtt in RUN_RTTS},
        {rtt: [data.gain(at(load, rtt)) for load in LOADS] for rtt in RUN_RTTS},
        [influence(load) for load in LOADS],
        {key: [gain(at(load, 1.0, base)) for load in READ_LOADS] for key, base in read.items()},
        {key: [influence(load, base) for load in READ_LOADS] for key, base in read.items()},
        {
            title: np.array([[gain(at(load, rtt, base)) for rtt in MAP_RTTS] for load in MAP_LOADS])
            for title, base in PANELS.items()
        },
        bundled.tcp_gains(bundled.LINK_A),
        bundled.tcp_gains(bundled.RANDOM_THINK),
        bundled.agreement(data[at(load, rtt)] for rtt in RUN_RTTS for load in LOADS),
        {(load, rtt): level.idle_gain(level.Bridges(rtt, link_a=load)) for load in OWN_LOADS for rtt in level.RTTS},
    )


measure.constants_of(chain)


def judge_steps(gains: Gains, loads: Sequence[float], rtts: Sequence[float], level: float) -> dict[str, Verdict]:
    """Return whether gain and range fall at every step of the load, by statement."""
    return {
        "gain": everywhere(falls(gains, loads, rtts), level),
        "influence": everywhere(bundled.falls(ranges(gains, loads, rtts)), level),
    }


@measure.judge
def judge(found: GainByLoad, *, level: float = LEVEL) -> Judgement:
    """Judge whether the gain, and the influence of the RTT on it, fall at every step of the load."""
    tcp = judge_steps(found.tcp, LOADS, TCP_RTTS, level)
    return {
        "gain": Sides(Verdict.of(all(found.falls.values())), tcp["gain"]),
        "influence": Sides(monotone(-np.diff(found.influences)), tcp["influence"]),
    }


@measure.readings
def readings(found: GainByLoad, *, level: float = LEVEL) -> dict[str, Judgement]:
    """Judge other readings of the rules (at 1 s), of the round-trip times, loads and think times, and of the statistic."""
    rules = {
        chain.reading(key): {
            "gain": model_only(monotone(-np.diff(found.readings[key]))),
            "influence": model_only(monotone(-np.diff(found.reading_influences[key]))),
        }
        for key in chain.READINGS[1:]
    }
    tcp = judge(found, level=level)
    short = {
        "gain": Sides(Verdict.of(all(found.falls[r] for r in TCP_RTTS)), tcp["gain"].packets),
        "influence": Sides(monotone(-np.diff(found.ranges[TCP_RTTS])), tcp["influence"].packets),
    }
    at_rtts = {
        f"RTT {rtt:g} s": {
            "gain": Sides(Verdict.of(found.falls[rtt]), everywhere(falls(found.tcp, LOADS, (rtt,)), level))
        }
        for rtt in TCP_RTTS
    }
    others = {
        "exponential think times": judge_steps(found.random, RANDOM_LOADS, RANDOM_RTTS, level),
        "all rates of link A": judge_steps(found.tcp, found.tcp_loads, TCP_RTTS, level),
    }
    exact = [[Estimate(v, 0.0) for v in values] for values in found.curves.values()]
    spread = [Estimate(v, 0.0) for v in found.influences]
    trend = {
        "gain": Sides(
            everywhere([-slope_of(values, LOADS) for values in exact], level),
            everywhere([-e for e in found.tcp_trends.values()], level),
        ),
        "influence": Sides(
            everywhere([-slope_of(spread, LOADS)], level),
            everywhere([-slope_of(found.tcp_ranges, LOADS)], level),
        ),
    }
    return (
        rules
        | {f"RTT up to {TCP_RTTS[-1]:g} s, those of TCP": short}
        | at_rtts
        | {name: {key: packets_only(verdict) for key, verdict in verdicts.items()} for name, verdicts in others.items()}
        | {"the slope over the loads, not each step": trend}
    )


@measure.packet_level
def at_packet_level(found: GainByLoad, *, level: float = LEVEL) -> dict[str, Verdict]:
    """Judge TCP at hopflow's packet level."""
    return judge_steps(found.own, OWN_LOADS, TCP_RTTS, level)


@measure.same_process
def same_process(found: GainByLoad, *, level: float = LEVEL) -> dict[str, Verdict]:
    """Judge the chain's own events."""
    return judge_steps(found.events, LOADS, RUN_RTTS, level)


@measure.draw
def gains(found: GainByLoad) -> Figure:
    """Draw the gains over the load by round-trip time."""
    fig, ax = figure()
    fine = np.geomspace(16.0, 200.0, 13)
    for n, rtt in enumerate(RUN_RTTS):
        values = [gain(at(float(load), rtt)) for load in fine]
        ax.plot(fine, values, color=COLOURS[n], label=f"RTT {rtt:g} s")
        points(ax, LOADS, found.gains[rtt], n)
    label(ax, "lambda1 (packets/s), nu = 15", "gain over TCP alone (%)", log="x", xticks=LOADS)
    ax.set_xticklabels([f"{load:g}" for load in LOADS])
    ax.minorticks_off()
    legend_beside(ax, f"T1 = T2 = 15 of {chain.B2}")
    return fig


@measure.draw
def gain_maps(found: GainByLoad) -> Figure:
    """Draw the gain over load and round-trip time; the best load framed."""
    values = np.array(list(found.cells.values()))
    framed = values == values.max(axis=1, keepdims=True)
    labels = "RTT (s)", "lambda1 (packets/s)"
    return maps(found.cells, Axes(MAP_RTTS, MAP_LOADS, labels), framed=framed, span=(0.0, 25.0))
