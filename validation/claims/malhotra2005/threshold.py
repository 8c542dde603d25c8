"""M06: where the best threshold lies."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from hopflow.results import COLOURS, figure
from validation.claims.malhotra2005.chain import (
    B2,
    LIGHT,
    NU,
    READINGS,
    RUN_RTTS,
    Setting,
    best_threshold,
    gain,
    solve,
)
from validation.claims.malhotra2005.packets import (
    THRESHOLDS,
    combine,
    measured_gain,
    ratio_gain,
    runs,
)
from validation.claims.malhotra2005.shown import maps, points
from validation.claims.malhotra2005.significance import agreement, everywhere, opposite, p_text
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _rate(high: int, rtt: float) -> float:
    """Return the chain's throughput for lambda1 = 25."""
    return solve(Setting(LIGHT, high, rtt=rtt)).throughput


@claim("M06")
def m06() -> Finding:
    """Check that the gain collapses close to B2 and is best at 70-80 % of the buffer."""
    data = runs(THRESHOLDS)
    run_highs = (2, 5, 8, 11, 13, 14, 15, 16, 17, 18, 19, 20)
    band = range(14, 17)  # 70-80 % of B2
    scans = {
        rtt: {high: gain(Setting(LIGHT, high, rtt=rtt)) for high in range(2, B2 + 1)}
        for rtt in RUN_RTTS
    }
    rates = {
        rtt: {
            high: data[Setting(LIGHT, high, rtt=rtt)].estimates["throughput"] for high in run_highs
        }
        for rtt in RUN_RTTS
    }
    gains = {
        rtt: [measured_gain(data, Setting(LIGHT, high, rtt=rtt)) for high in run_highs[:-1]]
        for rtt in RUN_RTTS
    }
    seen = RUN_RTTS[1:]  # at 0.1 s no gain exceeds 0.02 %: nothing to see
    best = {rtt: max(scan, key=lambda high: scan[high]) for rtt, scan in scans.items()}
    collapse = all(scans[rtt][17] > scans[rtt][19] > scans[rtt][20] for rtt in seen)
    won = {rtt: ratio_gain(rates[rtt][17], rates[rtt][15]) for rtt in seen}
    down = [
        combine((rates[rtt][a], rates[rtt][b]), (1.0, -1.0))
        for rtt in seen
        for a, b in ((17, 19), (19, 20))
    ]
    falls = [_rate(a, rtt) - _rate(b, rtt) for rtt in seen for a, b in ((17, 19), (19, 20))]
    # 17, the first threshold above the band, has to beat all of it.
    above = {
        (rtt, high): combine((rates[rtt][17], rates[rtt][high]), (1.0, -1.0))
        for rtt in seen
        for high in band
    }
    beyond = everywhere(above.values())

    paused = (0.1, 2.0, 5.0, 8.0, 11.0, 14.0)
    map_rtts = (0.3, *seen)
    optimum: dict[tuple[float, float, float], int] = {}
    for rtt, rate in itertools.product(map_rtts, (20.0, 25.0, 50.0)):
        here = 19
        for mu2 in paused:
            here = best_threshold(Setting((rate, 1.0), here, rtt=rtt, paused_rate=mu2))
            optimum[rtt, rate, mu2] = here
    loads = ((1.0, 25.0), (20.0, 25.0), (1.0, 50.0), (1.0, 20.0))
    inside = {
        load: next((f"{mu2:g}" for mu2 in paused if optimum[(*load, mu2)] in band), "none")
        for load in loads
    }
    readings = {
        reading: best_threshold(Setting(LIGHT, 17, None, 1.0, 2.0, *reading))
        for reading in READINGS
    }
    rooms = {
        room: [gain(Setting(LIGHT, B2 - room + k, buffers=(room, B2))) for k in (-1, 0)]
        for room in (7, 10, 13)
    }
    loss = {high: solve(Setting(LIGHT, high))["loss_rate_2"] for high in range(13, 20)}
    factors = [loss[high + 1] / loss[high] for high in range(13, 17)]
    lost = {
        high: data[Setting(LIGHT, high, rtt=5.0)].estimates["loss_rate_2"] for high in (15, 17, 19)
    }
    model_lost = {
        high: solve(Setting(LIGHT, high, rtt=5.0))["loss_rate_2"] for high in (15, 17, 19)
    }

    def draw() -> Figure:
        fig, ax = figure()
        ax.axvspan(14, 16, color="0.88")
        ax.text(15, 33, "70–80 %", ha="center", va="top", fontsize=8)
        for n, rtt in enumerate(RUN_RTTS):
            high = sorted(scans[rtt])
            ax.plot(high, [scans[rtt][h] for h in high], color=COLOURS[n], label=f"RTT {rtt:g} s")
            points(ax, run_highs[:-1], gains[rtt], n)
        ax.axhline(0.0, color="black", lw=0.8)
        ax.set(
            xlabel="threshold T1 = T2 (packets), B2 = 20",
            ylabel="gain over TCP alone (%)",
            ylim=(-33, 35),
            xticks=range(2, 21, 2),
        )
        ax.legend(frameon=False, fontsize=8, loc="upper left")
        return fig

    def draw_optimum() -> Figure:
        cells = {
            f"lambda1 = {rate:g}": np.array(
                [[100.0 * optimum[rtt, rate, mu2] / B2 for rtt in map_rtts] for mu2 in paused]
            )
            for rate in (20.0, 25.0, 50.0)
        }
        values = np.array(list(cells.values()))
        return maps(
            cells,
            map_rtts,
            paused,
            ("RTT (s)", "rate while paused, mu2 (packets/s)"),
            digits=0,
            marked=(values >= 70.0) & (values <= 80.0),
        )

    return Finding(
        parts=(
            Part(
                "the gain collapses close to B2: it falls from T1 = 17 to 19, and is lost at 20",
                Verdict.of(collapse),
                everywhere(down),
            ),
            Part(
                "the optimum is at 70-80 % of the buffer (T1 = 14 to 16)",
                Verdict.of(
                    all(high in band for high in best.values()),
                    all(high not in band for high in best.values()),
                ),
                opposite(beyond),
            ),
        ),
        summary=(
            f"The gain collapses between T1 = 18 and B2 = 20, but its maximum is at {best[1.0]} "
            f"(90 %) at every RTT: {scans[1.0][18]:.2f} % at RTT 1 s against {scans[1.0][15]:.2f} "
            f"% at 15 (75 %). In packets T1 = 17 has {won[1.0]} % more throughput than 15 at 1 s, "
            f"{won[5.0]} % at 5 s."
        ),
        explanation=(
            "Pausing trades room: T1 + B1 packets instead of B2. It gains exactly from T1 = B2 - "
            "B1 on ("
            + "; ".join(
                f"B1 = {r}: {low:+.2f} % one packet below, {at:+.2f} % there"
                for r, (low, at) in rooms.items()
            )
            + "), and more with every packet of T1. What ends this is queue 2 overflowing during "
            "a pause, when mu2 arrives against nu: each packet of headroom less multiplies those "
            f"losses by about nu / mu2 = {NU / 2:.1f} (chain: {np.mean(factors):.1f} for T1 from "
            "13 to 17), while what room saves at queue 1 changes slowly. With mu2 = 2 two "
            "packets of headroom are best at all loads and RTTs shown: 90 %. The best threshold "
            "enters 70-80 % only when a paused queue 1 sends on at a good part of nu = 15: from "
            "mu2 = "
            + ", ".join(
                f"{inside[rtt, rate]} (lambda1 = {rate:g}, RTT {rtt:g} s)" for rtt, rate in loads
            )
            + " of the values tried. The other readings of the rules do not move it at RTT 1 s: "
            + ", ".join(f"{high} (rule 13 {a}, T1 {b})" for (a, b), high in readings.items())
            + "."
        ),
        numbers=(
            Number(
                "best T1 = T2 at RTT 0.1, 1, 5, 20 s, mu2 = 2",
                model=", ".join(str(best[rtt]) for rtt in RUN_RTTS),
                simulation="of those run: "
                + ", ".join(str(max(rates[rtt], key=lambda h: rates[rtt][h].value)) for rtt in seen)
                + " at 1, 5, 20 s",
                paper="14 to 16",
                tolerance="a whole packet; the chain's throughputs are exact to 1e-12",
            ),
            *(
                Number(
                    f"gain at T1 = 15, 17, 19, RTT {rtt:g} s (%)",
                    model=", ".join(
                        f"{gain(Setting(LIGHT, h, rtt=rtt)):.2f}" for h in (15, 17, 19)
                    ),
                    simulation=", ".join(str(gains[rtt][run_highs.index(h)]) for h in (15, 17, 19)),
                    tolerance="95 % intervals from batch means",
                )
                for rtt in seen
            ),
            *(
                Number(
                    f"throughput at T1 = 17 less that at 14, 15, 16, RTT {rtt:g} s (packets/s)",
                    model=", ".join(f"{_rate(17, rtt) - _rate(high, rtt):.3f}" for high in band),
                    simulation=", ".join(
                        f"{above[rtt, high]} ({p_text(above[rtt, high].p_positive())})"
                        for high in band
                    ),
                    tolerance="each positive at 99 %, all must be",
                )
                for rtt in seen
            ),
            Number(
                "fall of the throughput from T1 = 17 to 19 and from 19 to 20, RTT 1, 5, 20 s "
                "(packets/s)",
                model=", ".join(f"{fall:.3f}" for fall in falls),
                simulation=", ".join(str(e) for e in down),
                tolerance=(
                    "each positive at 99 %, all must be; RTT 0.1 s left out: no gain above 0.02 "
                    "% there"
                ),
            ),
            Number(
                "best T1 over mu2 = " + ", ".join(f"{m:g}" for m in paused),
                model="; ".join(
                    f"lambda1 {rate:g}, RTT {rtt:g} s: "
                    + ", ".join(str(optimum[rtt, rate, m]) for m in paused)
                    for rtt, rate in loads
                ),
                paper="14 to 16 for mu2 = 2",
                tolerance="a whole packet",
            ),
            Number(
                "losses per s at queue 2, T1 = 15, 17, 19, RTT 5 s",
                model=", ".join(f"{model_lost[h]:.2g}" for h in model_lost),
                simulation=", ".join(
                    f"{lost[h].value:.2g} ± {lost[h].half_width:.1g}" for h in lost
                ),
                tolerance="95 % intervals from batch means; few losses at 15",
            ),
            agreement(
                data.values(),
                "lambda1 = 25, twelve T1, four RTTs",
            ),
        ),
        pictures=(
            Picture(
                draw,
                "Gain over TCP alone by threshold, lambda1 = 25, mu2 = 2: chain (lines) and "
                "packet runs (points, 95 % intervals).",
                "The gain is negative below T1 = 10, rises to a maximum at 18 for every RTT "
                "above 0.1 s and falls to nothing at 20; the band of 14 to 16 lies on the rising "
                "flank. Packet runs lie on the curves.",
            ),
            Picture(
                draw_optimum,
                "Where the best threshold lies, in per cent of B2, by the RTT and the rate of a "
                "paused queue 1 (chain); framed: the paper's 70-80 %.",
                "Three maps. The best threshold falls from 95 % of the buffer at mu2 near zero over "
                "90 % at mu2 = 2 to 70, 75 and 80 % at mu2 = 14; it is the same at every RTT.",
            ),
        ),
        cases=(THRESHOLDS,),
    )
