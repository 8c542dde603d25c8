"""M09: what is left of the gain at very large round-trip times."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from hopflow.results import COLOURS, figure
from validation.claims.malhotra2005.chain import (
    HEAVY,
    LIGHT,
    NU,
    READINGS,
    RTTS,
    Setting,
    gain,
    solve,
)
from validation.claims.malhotra2005.packets import (
    GRANULARITY,
    LARGE_RTT,
    THRESHOLDS,
    Estimate,
    combine,
    measured_gain,
    runs,
)
from validation.claims.malhotra2005.shown import beside, points, yes
from validation.claims.malhotra2005.significance import agreement, everywhere, p_text
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGE = (50.0, 100.0, 200.0, 500.0, 1000.0)
"""The large RTTs of the bundled runs, in s."""
NOTHING = 0.1
"""The part of the largest gain below which little is left (M09)."""


@claim("M09")
def m09() -> Finding:
    """Check that at a very large RTT there is no gain again, for want of congestion."""
    data = runs(LARGE_RTT, THRESHOLDS, GRANULARITY)
    far = (*LARGE, 1e4, 1e5, 1e6)
    loads = (LIGHT, HEAVY)
    curves = {rates: [gain(Setting(rates, rtt=rtt)) for rtt in far] for rates in loads}
    most = {rates: max(gain(Setting(rates, rtt=rtt)) for rtt in RTTS) for rates in loads}
    products = {
        rates: [rtt * value for rtt, value in zip(far[-3:], curves[rates][-3:], strict=True)]
        for rates in loads
    }
    falls = all(np.all(np.diff(values) < 0) for values in curves.values())
    vanishes = all(abs(p[-1] / p[-2] - 1.0) < 0.01 for p in products.values())
    gains = {
        rates: [measured_gain(data, Setting(rates, rtt=rtt)) for rtt in (20.0, *LARGE)]
        for rates in loads
    }
    steps = [
        combine((before, after), (1.0, -1.0))
        for rates in loads
        for before, after in itertools.pairwise(gains[rates])
    ]
    weakest = min(steps, key=lambda e: e.value / e.error)
    # A tenth of the largest gain that packets showed, at 20 s for LIGHT and 5 s for HEAVY.
    largest = {
        rates: measured_gain(data, Setting(rates, rtt=rtt))
        for rates, rtt in ((LIGHT, 20.0), (HEAVY, 5.0))
    }
    left = [combine((largest[rates], gains[rates][-1]), (NOTHING, -1.0)) for rates in loads]

    def losses(setting: Setting) -> tuple[float, Estimate]:
        """Return the losses per s at both queues, in the chain and in packets."""
        estimates = [data[setting].estimates[f"loss_rate_{queue}"] for queue in (1, 2)]
        return math.fsum(solve(setting).loss_rate), combine(estimates, (1.0, 1.0))

    lost = {rtt: losses(Setting(LIGHT, rtt=rtt).off) for rtt in (1.0, 20.0, 100.0, 1000.0)}
    fewer = combine((lost[100.0][1], lost[1000.0][1]), (1.0, -1.0))
    readings = {
        (a, b): gain(Setting(rtt=1000.0, recovery=a, pause_at_threshold=b)) for a, b in READINGS
    }
    below = {
        rates: next(rtt for rtt, value in zip(far, curves[rates], strict=True) if value < 1.0)
        for rates in loads
    }

    def draw() -> Figure:
        fig, ax = figure()
        x = np.geomspace(0.1, 1e4, 36)
        for n, rates in enumerate(loads):
            y = [gain(Setting(rates, rtt=float(rtt))) for rtt in x]
            ax.plot(x, y, color=COLOURS[n], label=f"lambda1 = {rates[0]:g}")
            points(ax, (20.0, *LARGE), gains[rates], n)
        ax.plot((1e3, 1e4), (700.0 / 1e3, 700.0 / 1e4), color="black", lw=0.8, ls=":")
        ax.text(3e3, 0.32, "1/RTT", fontsize=8)
        ax.set(
            xscale="log",
            yscale="log",
            ylim=(0.05, 40),
            xlabel="RTT (s)",
            ylabel="gain over TCP alone (%)",
        )
        beside(ax, "T1 = T2 = 15")
        return fig

    return Finding(
        parts=(
            Part(
                "beyond its largest value the gain falls with the RTT, towards nothing",
                Verdict.of(falls and vanishes),
                Verdict.all_of((everywhere(steps), everywhere(left))),
            ),
            Part(
                "there is no congestion then: losses without pausing cease with it",
                Verdict.of(lost[1000.0][0] < NOTHING * lost[20.0][0]),
                everywhere([fewer]),
            ),
        ),
        summary=(
            f"The gain falls from {most[LIGHT]:.1f} % to {gain(Setting(LIGHT, rtt=1000.0)):.1f} % at "
            f"an RTT of 1000 s (packets {gains[LIGHT][-1]} %), and as 1/RTT beyond; below 1 % it is "
            f"from {below[LIGHT]:g} s of the values tried on for lambda1 = 25, {below[HEAVY]:g} s "
            "for 50."
        ),
        explanation=(
            "The chain's reason is not the paper's. The paper has a window over a long RTT: with the "
            "44 packets of the TCP runs, eight flows could not fill the bottleneck beyond 8 x 44 / "
            f"15 = {8 * 44 / NU:.1f} s. The chain keeps lambda1 at every RTT, but a source that "
            "once lost waits an RTT to return, overloads the bottleneck for the same short time as "
            "ever, and loses again: the losses per RTT stay the same ("
            + ", ".join(f"{rtt * rate:.2f} at {rtt:g} s" for rtt, (rate, _) in lost.items())
            + "), those per second fall as 1/RTT, and so does what pausing can save, which is a "
            "fixed number of packets per RTT: gain times RTT tends to "
            f"{products[LIGHT][-1]:.0f} % s (lambda1 = 25) and {products[HEAVY][-1]:.0f} % s (50), "
            f"over a throughput that tends to lambda_N = 1."
        ),
        numbers=(
            *(
                Number(
                    f"gain at RTT 50, 100, 200, 500, 1000 s, lambda1 = {rates[0]:g} (%)",
                    model=", ".join(f"{value:.2f}" for value in curves[rates][: len(LARGE)])
                    + "; at 1e4, 1e5, 1e6 s: "
                    + ", ".join(f"{value:.1e}" for value in curves[rates][len(LARGE) :]),
                    simulation=", ".join(str(e) for e in gains[rates][1:]),
                    paper="none",
                    tolerance="95 % intervals from batch means",
                )
                for rates in loads
            ),
            Number(
                "gain times RTT at 1e4, 1e5, 1e6 s (% s)",
                model="; ".join(", ".join(f"{p:.0f}" for p in products[r]) for r in loads),
                tolerance="the last two within 1 %: the fall is that of 1/RTT, and the limit 0",
            ),
            Number(
                f"every step from 20 to 1000 s falls ({len(steps)} steps, two loads)",
                model=yes(falls),
                simulation=f"weakest {weakest} percentage points ({p_text(weakest.p_positive())})",
                tolerance="each positive at 99 %, all must be",
            ),
            Number(
                "gain at 1000 s below a tenth of the largest measured",
                model=", ".join(
                    f"{gain(Setting(r, rtt=1000.0)):.2f} of {most[r]:.2f} %" for r in loads
                ),
                simulation=", ".join(
                    f"{gains[r][-1]} of {largest[r]} % ({p_text(e.p_positive())})"
                    for r, e in zip(loads, left, strict=True)
                ),
                tolerance="a tenth, our measure of “no real benefits”; each at 99 %",
            ),
            Number(
                "losses per s without pausing, RTT 1, 20, 100, 1000 s, lambda1 = 25",
                model=", ".join(f"{rate:.4f}" for rate, _ in lost.values()),
                simulation=", ".join(
                    f"{e.value:.4f} ± {e.half_width:.4f}" for _, e in lost.values()
                ),
                paper="no congestion at all",
                tolerance="fewer at 1000 s than at 100 s, at 99 %",
            ),
            Number(
                "gain at 1000 s by reading of the rules, lambda1 = 25 (%)",
                model=", ".join(f"rule 13 {a}, T1 {b}: {g:.2f}" for (a, b), g in readings.items()),
                tolerance="falls as 1/RTT in all",
            ),
            agreement((run for s, run in data.items() if s.rtt in LARGE), "RTT 50 to 1000 s"),
        ),
        pictures=(
            Picture(
                draw,
                "Gain over TCP alone up to very large RTTs: chain (lines) and packet runs (points, "
                "95 % intervals).",
                "On logarithmic axes both curves rise to about 15 % near 10 s and fall beyond 100 s "
                "along a straight line of slope minus one; packet runs lie on them up to 1000 s.",
            ),
        ),
        cases=(LARGE_RTT, THRESHOLDS, GRANULARITY),
    )
