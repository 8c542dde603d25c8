"""The gain, and the influence of the round-trip time on it, under heavier load (M04)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
LAST_TCP = 5.0
"""The longest round-trip time of the TCP runs over the load, s."""
USUAL = next(iter(PANELS))


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
    def steps(self) -> list[Estimate]:
        """By how much the packets' gain falls at every step of the load."""
        return [step for rtt in RUN_RTTS for step in bundled.falls(self.gains[rtt])]

    @property
    def rise(self) -> Estimate:
        """The clearest rise of the packets' gain at a step of the load."""
        return -weakest(self.steps)

    @property
    def apart(self) -> list[Estimate]:
        """The packets' gain at 20 s less that at 0.1 s, by load."""
        return list(map(difference, self.gains[20.0], self.gains[0.1]))

    @property
    def trend(self) -> Estimate:
        """The slope of that difference per unit of log(lambda1)."""
        return slope(self.apart, np.log(LOADS))

    @property
    def trends(self) -> dict[float, Estimate]:
        """The slope of the packets' gain per unit of log(lambda1), by round-trip time."""
        return {rtt: slope(values, np.log(LOADS)) for rtt, values in self.gains.items()}

    @property
    def tcp_trend(self) -> Estimate:
        """The same slope of TCP behind a link A of `LOADS`, RTT 1 s."""
        return self.trend_of_tcp(1.0)

    @property
    def tcp_loads(self) -> list[float]:
        """All rates of link A that were run with TCP, packets/s."""
        return sorted({load for load, _ in self.tcp})

    def trend_of_tcp(self, rtt: float, loads: Sequence[float] = LOADS) -> Estimate:
        """Return the slope of TCP's gain per unit of log(link A) at a round-trip time."""
        return slope([self.tcp[load, rtt] for load in loads], np.log(loads))

    @property
    def tcp_spread(self) -> Estimate:
        """The slope of TCP's gain at 5 s less that at 0.1 s."""
        apart = [difference(self.tcp[load, LAST_TCP], self.tcp[load, 0.1]) for load in LOADS]
        return slope(apart, np.log(LOADS))

    @property
    def own_trend(self) -> Estimate:
        """The slope at 1 s at hopflow's packet level."""
        return slope([self.own[load, 1.0] for load in OWN_LOADS], np.log(OWN_LOADS))

    @property
    def own_spread(self) -> Estimate:
        """The slope of the gain at 5 s less that at 0.1 s at hopflow's packet level."""
        apart = [difference(self.own[load, LAST_TCP], self.own[load, 0.1]) for load in OWN_LOADS]
        return slope(apart, np.log(OWN_LOADS))

    @property
    def random_trend(self) -> Estimate:
        """The slope at 1 s with exponential think times."""
        kept = [load for load, rtt in self.random if rtt == 1.0]
        return slope([self.random[load, 1.0] for load in kept], np.log(kept))

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
        {
            (load, rtt): level.idle_gain(level.Bridges(rtt, link_a=load))
            for load in OWN_LOADS
            for rtt in level.RTTS
        },
    )


measure.constants_of(chain)


@measure.judge
def judge(found: GainByLoad, *, level: float = LEVEL) -> Judgement:
    """Judge whether the gain, and the influence of the RTT on it, fall with the load."""
    gains = Verdict.of(all(found.falls.values()))
    return {
        "gain": Sides(gains, everywhere([-found.tcp_trend], level)),
        "influence": Sides(
            monotone(-np.diff(found.influences)), everywhere([-found.tcp_spread], level)
        ),
    }


@measure.readings
def readings(found: GainByLoad, *, level: float = LEVEL) -> dict[str, Judgement]:
    """Judge other readings of the rules (at 1 s), and exponential think times."""
    rules = {
        chain.reading(key): {
            "gain": model_only(monotone(-np.diff(found.readings[key]))),
            "influence": model_only(monotone(-np.diff(found.reading_influences[key]))),
        }
        for key in chain.READINGS[1:]
    }
    think = {"gain": packets_only(everywhere([-found.random_trend], level))}
    all_loads = {
        "gain": packets_only(everywhere([-found.trend_of_tcp(1.0, found.tcp_loads)], level))
    }
    at_rtts = {
        f"RTT {rtt:g} s": {
            "gain": Sides(
                Verdict.of(found.falls[rtt]), everywhere([-found.trend_of_tcp(rtt)], level)
            )
        }
        for rtt in (0.1, LAST_TCP)
    }
    return rules | {"exponential think times": think, "all rates of link A": all_loads} | at_rtts


@measure.packet_level
def at_packet_level(found: GainByLoad, *, level: float = LEVEL) -> dict[str, Verdict]:
    """Judge TCP at hopflow's packet level."""
    return {
        "gain": everywhere([-found.own_trend], level),
        "influence": everywhere([-found.own_spread], level),
    }


@measure.same_process
def same_process(found: GainByLoad, *, level: float = LEVEL) -> dict[str, Verdict]:
    """Judge the chain's own events."""
    return {
        "gain": everywhere(found.steps, level),
        "influence": everywhere([-found.trend], level),
    }


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
