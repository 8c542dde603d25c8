"""M03: the gain over the round-trip time."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from hopflow.results import COLOURS, figure
from validation.claims.malhotra2005.chain import (
    B1,
    B2,
    HEAVY,
    LIGHT,
    NU,
    READINGS,
    RTTS,
    RUN_RTTS,
    Setting,
    gain,
    solve,
)
from validation.claims.malhotra2005.packets import (
    GRANULARITY,
    THRESHOLDS,
    combine,
    measured_gain,
    runs,
)
from validation.claims.malhotra2005.shown import points, yes
from validation.claims.malhotra2005.significance import agreement, everywhere, p_text
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@claim("M03")
def m03() -> Finding:
    """Check that the gain grows with the RTT."""
    data = runs(THRESHOLDS, GRANULARITY)
    helpful = (11, 13, 15, 17, 19)
    curves = {
        (rates, high): [gain(Setting(rates, high, rtt=rtt)) for rtt in RTTS]
        for rates, high in (
            *itertools.product((LIGHT, HEAVY), (8, 11, 15, 19)),
            ((20.0, 1.0), 15),
            ((100.0, 1.0), 15),
        )
    }
    peaks = {key: RTTS[int(np.argmax(values))] for key, values in curves.items()}
    to_5 = [n for n, rtt in enumerate(RTTS) if 0.1 <= rtt <= 5.0]
    grows = all(
        np.all(np.diff([values[n] for n in to_5]) > 0)
        for (_, high), values in curves.items()
        if high > B2 - B1
    )
    falls = all(values[-1] < max(values) for (_, high), values in curves.items() if high > B2 - B1)
    gains = {
        (rates, high): [measured_gain(data, Setting(rates, high, rtt=rtt)) for rtt in RUN_RTTS]
        for rates in (LIGHT, HEAVY)
        for high in (8, *helpful)
    }
    steps = [
        combine((after, before), (1.0, -1.0))
        for rates in (LIGHT, HEAVY)
        for high in helpful
        for before, after in itertools.pairwise(gains[rates, high][:3])
    ]
    rising = everywhere(steps)
    weakest = min(steps, key=lambda e: e.value / e.error)
    last = combine((gains[HEAVY, 15][3], gains[HEAVY, 15][2]), (1.0, -1.0))
    alone = {rtt: solve(Setting(LIGHT, B2, rtt=rtt)) for rtt in (0.1, 1.0, 13.0, 100.0)}
    used = [s for s in data if s.rates in (LIGHT, HEAVY) and s.high in (8, 15, 19, 20)]

    def draw() -> Figure:
        fig, axes = figure(7.2, 3.8, ncols=2, sharey=True)
        for ax, rates in zip(axes, (LIGHT, HEAVY), strict=True):
            for n, high in enumerate((8, 11, 15, 19)):
                ax.plot(RTTS, curves[rates, high], color=COLOURS[n], label=f"T1 = T2 = {high}")
                points(ax, RUN_RTTS, gains[rates, high], n)
            ax.axhline(0.0, color="black", lw=0.8)
            ax.set(xscale="log", xlabel="RTT (s)", title=f"lambda1 = {rates[0]:g} packets/s")
            ax.title.set_fontsize(9)
        axes[0].set_ylabel("gain over TCP alone (%)")
        handles, labels = axes[0].get_legend_handles_labels()
        fig.legend(handles, labels, loc="outside upper center", ncol=4, frameon=False, fontsize=8)
        return fig

    def row(rates: tuple[float, ...], high: int) -> Number:
        return Number(
            f"gain at RTT 0.1, 1, 5, 20 s; lambda1 = {rates[0]:g}, T1 = {high} (%)",
            model=", ".join(f"{gain(Setting(rates, high, rtt=rtt)):.2f}" for rtt in RUN_RTTS),
            simulation=", ".join(str(e) for e in gains[rates, high]),
            tolerance="95 % intervals from batch means",
        )

    return Finding(
        parts=(
            Part(
                "where pausing gains at all (T1 above B2 - B1), the gain grows with the RTT up "
                "to 5 s",
                Verdict.of(grows),
                rising,
            ),
        ),
        summary=(
            f"The gain grows from {curves[LIGHT, 15][1]:.2f} % at 0.1 s to "
            f"{curves[LIGHT, 15][7]:.1f} % at 5 s (T1 = 15, lambda1 = 25; packets "
            f"{gains[LIGHT, 15][2]} %), and turns at about "
            f"{min(peaks[r, 15] for r in (LIGHT, HEAVY, (100.0, 1.0))):g} to "
            f"{peaks[(20.0, 1.0), 15]:g} s, earlier for larger lambda1."
        ),
        explanation=(
            "The gain is bounded by what TCP alone leaves unused: "
            f"{100 * (NU / alone[0.1].throughput - 1):.2f} % at RTT 0.1 s, where the bottleneck "
            f"is always busy, {100 * (NU / alone[1.0].throughput - 1):.0f} % at 1 s. Beyond the "
            f"turn losses get rare ({alone[1.0]['loss_rate_2']:.2f} per s at RTT 1 s, "
            f"{alone[100.0]['loss_rate_2']:.3f} at 100 s) and so do pauses: there is little left "
            "to avoid, as the paper's conclusion says. Below T1 = B2 - B1 = 10 pausing takes "
            "buffer away instead of adding it, the gain is negative, and a longer RTT makes it "
            "worse first."
        ),
        numbers=(
            Number(
                "RTT of the largest gain, T1 = 15, lambda1 = 20, 25, 50, 100",
                model=", ".join(f"{peaks[(r, 1.0), 15]:g} s" for r in (20.0, 25.0, 50.0, 100.0)),
                paper="grows; none at very large RTT",
                tolerance=f"the next of {len(RTTS)} grid points from 0.05 to 100 s",
            ),
            Number(
                "gain grows at every step from 0.1 to 5 s, T1 = 11, 15, 19 and four loads",
                model=yes(grows),
                simulation=(
                    f"weakest of {len(steps)} steps {weakest} percentage points "
                    f"({p_text(weakest.p_positive())})"
                ),
                tolerance=(
                    "packets: T1 = 11 to 19, two loads; each step positive at 99 %; all must be, "
                    "so no correction for their number"
                ),
            ),
            Number(
                "gain at 20 s minus gain at 5 s, lambda1 = 50, T1 = 15 (percentage points)",
                model=f"{gain(Setting(HEAVY, rtt=20.0)) - gain(Setting(HEAVY, rtt=5.0)):.2f}",
                simulation=f"{last}, {p_text((-last).p_positive())} for a fall",
                tolerance="95 % interval; the turn lies between",
            ),
            Number(
                "gain at 100 s below the largest gain, all curves with T1 above 10",
                model=yes(falls),
                tolerance="none: the differences are above 1 % of the throughput",
            ),
            row(LIGHT, 15),
            row(HEAVY, 15),
            row(LIGHT, 8),
            *(
                Number(
                    f"gain at RTT 0.1, 1, 5, 20 s, rule 13 {a}, T1 {b} (%)",
                    model=", ".join(
                        f"{gain(Setting(rtt=rtt, recovery=a, pause_at_threshold=b)):.2f}"
                        for rtt in RUN_RTTS
                    ),
                    tolerance="lambda1 = 25, T1 = 15; grows to 5 s in all readings",
                )
                for a, b in READINGS[1:]
            ),
            agreement((data[s] for s in used), "the points of the figure"),
        ),
        pictures=(
            Picture(
                draw,
                "Gain in throughput over TCP alone: chain (lines) and packet runs (points, 95 % "
                "intervals).",
                "For thresholds 11, 15 and 19 the gain rises from nothing at an RTT of 0.1 s to "
                "a maximum between 5 and 20 s and falls after it; for threshold 8 it is negative "
                "and follows the mirrored course. Packet runs lie on the chain's curves.",
            ),
        ),
        cases=(THRESHOLDS, GRANULARITY),
    )
