"""Whether the TCP rates between the highest and the lowest are linear in their number (M08)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from validation.checks import claim
from validation.claims.malhotra2005 import bundled, chain
from validation.claims.malhotra2005.chain import HEAVY, RTTS, SEEN, THREE, Setting, gain
from validation.claims.malhotra2005.load import PANELS, USUAL
from validation.display.drawing import COLOURS, Axes, figure, label, legend_beside, maps, points
from validation.judgements.verdicts import Judgement, Verdict, model_only
from validation.statistics import LEVEL, Estimate, Values, combine, difference, everywhere

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINEAR = {3: THREE, 4: chain.FOUR, 5: chain.FIVE}
GEOMETRIC: dict[int, tuple[float, ...]] = {
    3: (50.0, 7.0, 1.0),
    4: (50.0, 14.0, 4.0, 1.0),
    5: (50.0, 19.0, 7.0, 3.0, 1.0),
}
"""From 50 to 1, rounded to whole packets/s."""
OTHER: dict[str, dict[int, tuple[float, ...]]] = {
    "rates that halve at a loss": {
        3: THREE,
        4: (50.0, 25.0, 50.0 / 3.0, 1.0),
        5: (50.0, 25.0, 50.0 / 3.0, 12.5, 1.0),
    },
    "rates that fall with the square of the number": {
        3: (50.0, 13.25, 1.0),
        4: (50.0, 22.8, 6.4, 1.0),
        5: (50.0, 28.6, 13.25, 3.8, 1.0),
    },
}
"""Other rates that are not linear, by what they are: the highest over the state, as the chain doubles the state at a
loss, and squares of equal steps."""
POINTS = tuple(product(LINEAR, SEEN))
MIDDLE = (1.0, 3.0, 7.0, 11.0, 14.0, 16.0, 20.0, 25.0, 35.0, 50.0)
MAP_RTTS = (0.3, 1.0, 2.0, 5.0, 10.0, 20.0)
DRAWN_RTTS = RTTS[::2]
"""Round-trip times of the curves, s."""
LOWER, UPPER = (1.0, 11.0), (25.0, 50.0)
"""Ranges of middle rates below nu and above it, packets/s."""


@dataclass(frozen=True)
class Spacing:
    """Gains with geometric rates less those with linear ones, in percentage points.

    Attributes
    ----------
    model, packets
        Of chain and packet runs, by the number of rates and the round-trip time.
    yardstick
        Difference of the chain's gains of N = 2 and N = 3, by round-trip time.
    readings
        Differences for N = 3, 4, 5 and that yardstick at 1 s, by reading of the rules.
    cells
        Maps of the gain of N = 3 over its middle rate, by setting.
    """

    model: dict[tuple[int, float], float]
    packets: dict[tuple[int, float], Estimate]
    yardstick: dict[float, float]
    readings: dict[tuple[str, str], list[float]]
    cells: dict[str, Values]
    data: bundled.Runs
    agreement: bundled.Agreement

    def gain(self, rates: tuple[float, ...], rtt: float = 1.0) -> float:
        """Return the chain's gain over TCP alone in per cent."""
        return gain(Setting(rates, rtt=rtt))

    @property
    def beyond(self) -> list[tuple[int, float]]:
        """Points where the chain's difference exceeds that of N = 2 and N = 3."""
        return self.farther(1.0)

    def farther(self, times: float) -> list[tuple[int, float]]:
        """Return the points where it exceeds so many times that of N = 2 and N = 3."""
        far = {point: abs(d) > times * self.yardstick[point[1]] for point, d in self.model.items()}
        return [point for point, exceeds in far.items() if exceeds]

    @property
    def room(self) -> dict[tuple[int, float], Estimate]:
        """The packets' difference of N = 2 and N = 3 less that of linear and geometric rates.

        The signs are those measured.
        """
        return {point: self._room(*point) for point in POINTS}

    def _room(self, n: int, rtt: float) -> Estimate:
        two, three, bent, straight = (
            self.data.gain(Setting(rates, rtt=rtt)) for rates in (HEAVY, THREE, GEOMETRIC[n], LINEAR[n])
        )
        sign = math.copysign(1.0, two.value - three.value)
        other = math.copysign(1.0, self.packets[n, rtt].value)
        if n == 3:  # one run is both N = 3 and the linear one
            return combine((two, three, bent), (sign, other - sign, -other))
        return combine((two, three, bent, straight), (sign, -sign, -other, other))

    def span(self, ends: tuple[float, float]) -> float:
        """Return the largest range of the gain over the middle rates, of all round-trip times."""
        rows = [ends[0] <= m <= ends[1] for m in MIDDLE]
        return float(np.ptp(self.cells[USUAL][rows], axis=0).max())

    def below_nu(self, sets: dict[int, tuple[float, ...]]) -> list[int]:
        """Return the number of rates below nu, for N = 3, 4, 5."""
        return [sum(rate < chain.NU for rate in rates) for rates in sets.values()]

    @property
    def largest_as_printed(self) -> float:
        """The largest difference where rules 6 and 8 both fire."""
        return max(map(abs, self.readings[chain.AS_PRINTED][:-1]))


def apart(base: Setting, n: int) -> float:
    """Return the chain's gain with geometric rates less that with linear ones."""
    return gain(base._replace(rates=GEOMETRIC[n])) - gain(base._replace(rates=LINEAR[n]))


def major(base: Setting) -> float:
    """Return the chain's gain of N = 2 less that of N = 3: significant, says the paper."""
    return abs(gain(base._replace(rates=HEAVY)) - gain(base._replace(rates=THREE)))


@claim("M08", cases=(bundled.LEVELS, bundled.GRANULARITY))
def measure() -> Spacing:
    """Solve the chain with linear and geometric rates, and read the packet runs."""
    data = bundled.runs(bundled.LEVELS, bundled.GRANULARITY)
    sets = (*LINEAR.values(), *GEOMETRIC.values())
    read = {key: Setting().read(key) for key in chain.READINGS}
    return Spacing(
        {(n, rtt): apart(Setting(rtt=rtt), n) for n, rtt in POINTS},
        {
            (n, rtt): difference(data.gain(Setting(GEOMETRIC[n], rtt=rtt)), data.gain(Setting(LINEAR[n], rtt=rtt)))
            for n, rtt in POINTS
        },
        {rtt: major(Setting(rtt=rtt)) for rtt in SEEN},
        {key: [*(apart(base, n) for n in LINEAR), major(base)] for key, base in read.items()},
        {
            title: np.array([[gain(base._replace(rates=(50.0, m, 1.0), rtt=rtt)) for rtt in MAP_RTTS] for m in MIDDLE])
            for title, base in PANELS.items()
        },
        data,
        bundled.agreement(run for s, run in data.items() if s.rates in sets),
    )


measure.constants_of(chain)


@measure.judge
def judge(found: Spacing, *, times: float = 1.0) -> Judgement:
    """Judge whether the spacing matters less than the step from N = 2 to N = 3.

    The rates are those of the model: TCP has none.
    """
    return {"minor": model_only(Verdict.of(not found.farther(times)))}


@measure.readings
def readings(found: Spacing, *, times: float = 1.0) -> dict[str, Judgement]:
    """Judge other rates that are not linear, and other readings of the rules at an RTT of 1 s."""

    def differ(rates: dict[int, tuple[float, ...]], n: int, rtt: float) -> bool:
        apart = found.gain(rates[n], rtt) - found.gain(LINEAR[n], rtt)
        return abs(apart) > times * found.yardstick[rtt]

    other = {
        name: {"minor": model_only(Verdict.of(not any(differ(rates, *at) for at in POINTS)))}
        for name, rates in OTHER.items()
    }
    return other | {
        chain.reading(key): {"minor": model_only(Verdict.of(max(map(abs, values[:-1])) < times * values[-1]))}
        for key, values in found.readings.items()
        if key != chain.READINGS[0]
    }


@measure.same_process
def same_process(found: Spacing, *, level: float = LEVEL) -> dict[str, Verdict]:
    """Judge the chain's own events."""
    return {"minor": everywhere(found.room.values(), level)}


@measure.draw
def gains(found: Spacing) -> Figure:
    """Draw the gains over the round-trip time for linear and geometric rates."""
    fig, ax = figure()
    for k, n in enumerate(LINEAR):
        for name, rates, style, fill in (
            ("linear", LINEAR[n], "-", "full"),
            ("geometric", GEOMETRIC[n], "--", "none"),
        ):
            values = [found.gain(rates, rtt) for rtt in DRAWN_RTTS]
            ax.plot(DRAWN_RTTS, values, style, color=COLOURS[k], label=f"N = {n}, {name}")
            seen = [found.data.gain(Setting(rates, rtt=rtt)) for rtt in SEEN]
            points(ax, SEEN, seen, k, fillstyle=fill)
    ax.plot(
        DRAWN_RTTS,
        [found.gain(HEAVY, rtt) for rtt in DRAWN_RTTS],
        ":",
        color="black",
        label="N = 2",
    )
    label(ax, "RTT (s)", "gain over TCP alone (%)", log="x")
    legend_beside(ax, "T1 = T2 = 15, from 50 to 1")
    return fig


@measure.draw
def middle_rate_maps(found: Spacing) -> Figure:
    """Draw the gain of N = 3 over its middle rate and the round-trip time."""
    return maps(found.cells, Axes(MAP_RTTS, MIDDLE, ("RTT (s)", "middle rate (packets/s)")))
