"""M08: whether the TCP rates between the highest and the lowest are linear in their number or not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hopflow.results import COLOURS, figure
from validation.claims.malhotra2005.chain import (
    FIVE,
    FOUR,
    HEAVY,
    NU,
    READINGS,
    RTTS,
    RUN_RTTS,
    THREE,
    Setting,
    gain,
)
from validation.claims.malhotra2005.packets import (
    GRANULARITY,
    LEVELS,
    Estimate,
    combine,
    measured_gain,
    runs,
)
from validation.claims.malhotra2005.shown import beside, maps, points
from validation.claims.malhotra2005.significance import agreement, everywhere, p_text
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINEAR = {3: THREE, 4: FOUR, 5: FIVE}
GEOMETRIC: dict[int, tuple[float, ...]] = {
    3: (50.0, 7.0, 1.0),
    4: (50.0, 14.0, 4.0, 1.0),
    5: (50.0, 19.0, 7.0, 3.0, 1.0),
}
"""From 50 to 1, rounded to whole packets/s."""
SEEN = RUN_RTTS[1:]  # at 0.1 s no gain exceeds 0.02 %: nothing to see
MIDDLE = (1.0, 3.0, 7.0, 11.0, 14.0, 16.0, 20.0, 25.0, 35.0, 50.0)
MAP_RTTS = (0.3, 1.0, 2.0, 5.0, 10.0, 20.0)
PANELS = {
    "T1 = 15, mu2 = 2": Setting(),
    "T1 = 18, mu2 = 2": Setting(high=18),
    "T1 = 15, mu2 = 10": Setting(paused_rate=10.0),
}


@claim("M08")
def m08() -> Finding:
    """Check that it makes no major difference whether the rates are linear in a."""
    data = runs(LEVELS, GRANULARITY)
    points_compared = [(n, rtt) for n in LINEAR for rtt in SEEN]

    def apart(base: Setting, n: int) -> float:
        """Return by how much the gain changes from linear to geometric rates (points)."""
        return gain(base._replace(rates=GEOMETRIC[n])) - gain(base._replace(rates=LINEAR[n]))

    def major(base: Setting) -> float:
        """Return by how much it changes from N = 2 to N = 3, which the paper calls significant."""
        return abs(gain(base._replace(rates=HEAVY)) - gain(base._replace(rates=THREE)))

    model = {(n, rtt): apart(Setting(rtt=rtt), n) for n, rtt in points_compared}
    yardstick = {rtt: major(Setting(rtt=rtt)) for rtt in SEEN}
    gains = {
        (rates, rtt): measured_gain(data, Setting(rates, rtt=rtt))
        for rates in (HEAVY, *LINEAR.values(), *GEOMETRIC.values())
        for rtt in SEEN
    }
    packets = {
        (n, rtt): combine((gains[GEOMETRIC[n], rtt], gains[LINEAR[n], rtt]), (1.0, -1.0))
        for n, rtt in points_compared
    }
    significant = {
        rtt: combine((gains[HEAVY, rtt], gains[THREE, rtt]), (1.0, -1.0)).value for rtt in SEEN
    }

    def left(n: int, rtt: float) -> Estimate:
        """Return what is left of that yardstick; the signs are those measured."""
        two = math.copysign(1.0, significant[rtt])
        other = math.copysign(1.0, packets[n, rtt].value)
        high, three, geometric = (gains[r, rtt] for r in (HEAVY, THREE, GEOMETRIC[n]))
        if n == 3:
            return combine((high, three, geometric), (two, other - two, -other))
        linear = gains[LINEAR[n], rtt]
        return combine((high, three, geometric, linear), (two, -two, -other, other))

    room = {point: left(*point) for point in points_compared}
    beyond = [point for point, value in model.items() if abs(value) > yardstick[point[1]]]
    readings = {
        (a, b): [apart(Setting(recovery=a, pause_at_threshold=b), n) for n in LINEAR]
        + [major(Setting(recovery=a, pause_at_threshold=b))]
        for a, b in READINGS
    }
    cells = {
        title: np.array(
            [
                [gain(base._replace(rates=(50.0, m, 1.0), rtt=rtt)) for rtt in MAP_RTTS]
                for m in MIDDLE
            ]
        )
        for title, base in PANELS.items()
    }
    used = [
        run for run in data.values() if run.setting.rates in (*LINEAR.values(), *GEOMETRIC.values())
    ]

    def spread(low: float, high: float) -> float:
        """Return how far the gain moves over middle rates in a range, at most over the RTT."""
        rows = [low <= m <= high for m in MIDDLE]
        return float(np.ptp(cells["T1 = 15, mu2 = 2"][rows], axis=0).max())

    def draw() -> Figure:
        fig, ax = figure()
        for k, n in enumerate(LINEAR):
            for rates, style in ((LINEAR[n], "-"), (GEOMETRIC[n], "--")):
                name = "linear" if style == "-" else "geometric"
                ax.plot(
                    RTTS,
                    [gain(Setting(rates, rtt=rtt)) for rtt in RTTS],
                    style,
                    color=COLOURS[k],
                    label=f"N = {n}, {name}",
                )
                full = "full" if style == "-" else "none"
                points(ax, SEEN, [gains[rates, rtt] for rtt in SEEN], k, fillstyle=full)
        ax.plot(
            RTTS,
            [gain(Setting(HEAVY, rtt=rtt)) for rtt in RTTS],
            ":",
            color="black",
            label="N = 2",
        )
        ax.set(xscale="log", xlabel="RTT (s)", ylabel="gain over TCP alone (%)")
        beside(ax, "T1 = T2 = 15, from 50 to 1")
        return fig

    def draw_map() -> Figure:
        return maps(cells, MAP_RTTS, MIDDLE, ("RTT (s)", "middle rate (packets/s)"))

    return Finding(
        parts=(
            Part(
                "linear or geometric rates differ by less than N = 2 and N = 3 do",
                Verdict.of(not beyond),
                everywhere(room.values()),
            ),
        ),
        summary=(
            "It does: at RTT 1 s geometric rates gain "
            + ", ".join(f"{gain(Setting(GEOMETRIC[n])):.1f}" for n in LINEAR)
            + " % for N = 3, 4, 5, linear ones "
            + ", ".join(f"{gain(Setting(LINEAR[n])):.1f}" for n in LINEAR)
            + f" %. They are further apart than N = 2 and N = 3 in {len(beyond)} of {len(model)} "
            f"pairs of N and RTT (packets, N = 5 at 1 s: {packets[5, 1.0]} percentage points)."
        ),
        explanation=(
            "What decides is how many rates lie below nu = 15. A source above it overloads the "
            "bottleneck and loses again at once, so that a second rate above nu acts like the first; "
            "one below lets the queues empty. Linear rates from 50 to 1 have "
            + ", ".join(str(sum(rate < NU for rate in LINEAR[n])) for n in LINEAR)
            + " such rates for N = 3, 4, 5, geometric ones "
            + ", ".join(str(sum(rate < NU for rate in GEOMETRIC[n])) for n in GEOMETRIC)
            + ". The map has N = 3 with every middle rate: the gain is smallest for one close to nu, and "
            "grows on both sides. Between 25 and 50, both above nu, it changes by at most "
            f"{spread(25.0, 50.0):.1f} points at T1 = 15, between 1 and 11 by up to "
            f"{spread(1.0, 11.0):.1f}. With rules 6 and 8 both firing at j = T1 "
            "the differences are at most "
            f"{max(abs(d) for d in readings['always', 'both'][:-1]):.1f} points."
        ),
        numbers=(
            *(
                Number(
                    f"gain with geometric less that with linear rates, N = 3, 4, 5, RTT {rtt:g} s "
                    "(percentage points)",
                    model=", ".join(f"{model[n, rtt]:+.2f}" for n in LINEAR)
                    + f"; N = 2 against N = 3: {yardstick[rtt]:.2f}",
                    simulation=", ".join(str(packets[n, rtt]) for n in LINEAR),
                    paper="no major difference",
                    tolerance=(
                        "major: more than N = 2 and N = 3 differ, which the paper calls significant; "
                        "95 % intervals"
                    ),
                )
                for rtt in SEEN
            ),
            Number(
                "the difference of N = 2 and N = 3 less that of linear and geometric rates, RTT 1, 5, "
                "20 s (percentage points)",
                simulation="; ".join(
                    f"N = {n}: "
                    + ", ".join(
                        f"{room[n, rtt]} ({p_text((-room[n, rtt]).p_positive())})" for rtt in SEEN
                    )
                    for n in LINEAR
                ),
                tolerance="each above 0 at 99 %; contradicted when one is below, Bonferroni over 9",
            ),
            *(
                Number(
                    f"the same at 1 s, rule 13 {a}, T1 {b}",
                    model=", ".join(f"{value:+.2f}" for value in values[:-1])
                    + f"; N = 2 against N = 3: {values[-1]:.2f}",
                    tolerance="as above",
                )
                for (a, b), values in readings.items()
            ),
            agreement(used, "N = 3, 4, 5, linear and geometric"),
        ),
        pictures=(
            Picture(
                draw,
                "Gain over TCP alone for linear (full lines and points) and geometric rates (dashed, "
                "open): chain and packet runs (95 % intervals).",
                "For N = 3, 4 and 5 the dashed line of geometric rates lies above the full one below "
                "5 s, by up to five percentage points, and crosses it at longer RTTs.",
            ),
            Picture(
                draw_map,
                "Gain over TCP alone in per cent of N = 3 by RTT and middle rate (chain), for three "
                "settings.",
                "Three maps. In each the gain is smallest for a middle rate of 14 or 16 up to 5 s, of "
                "11 beyond, and several times as large for one of 1 or 3.",
            ),
        ),
        cases=(LEVELS, GRANULARITY),
    )
