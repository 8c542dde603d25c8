"""The evidence against itself: simulators that do the same thing, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hopflow.results import COLOURS, figure
from responsefn import PFTK
from validation.evidence import table
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LINUX, NS3 = "kaneko2007/loss-sweep-ns2", "kaneko2007/loss-sweep-ns3"
SACK = "zheng2002/independent-loss"
APART = 0.10


def windows() -> pd.DataFrame:
    """Goodput times round-trip time of Reno by simulator and loss rate, with standard errors."""
    import pandas as pd

    sack = table(SACK)
    sack = sack[sack["rule"] == "TCP(1,1/2)"].assign(
        source="ns-2 Sack1",
        window=lambda d: d["goodput"] * d["mean_rtt"],
        p=lambda d: d["p_nominal"],
    )
    parts = [sack[["source", "p", "window"]]]
    for case, source in ((LINUX, "ns-2 TCP/Linux"), (NS3, "ns-3")):
        flows = table(case, "flows")
        reno = flows[flows["rule"] == "reno"]
        events = reno.groupby("loss_rate")["loss_events"].transform("sum")
        reno = reno[events >= 100]  # over all seeds
        parts.append(
            pd.DataFrame(
                {
                    "source": source,
                    "p": reno["loss_rate"],
                    "window": reno["goodput"] * reno["base_rtt"],
                }
            )
        )
    grouped = pd.concat(parts).groupby(["source", "p"])["window"]
    return grouped.agg(["mean", "sem", "count"]).reset_index()


@claim("S03")
def reno_in_three_simulators() -> Finding:
    """Compare Reno's mean window at the loss rates that the simulators share."""
    frame = windows()
    wide = frame.pivot_table(index="p", columns="source", values=["mean", "sem"]).dropna()
    wide = wide[wide.index <= 0.02]  # above, timeouts: different timers, different answers
    reference = wide["mean"]["ns-2 Sack1"]
    verdicts, rows = [], []
    for source in ("ns-2 TCP/Linux", "ns-3"):
        ratio = wide["mean"][source] / reference
        error = 2.0 * np.hypot(
            wide["sem"][source] / wide["mean"][source], wide["sem"]["ns-2 Sack1"] / reference
        )
        near = abs(ratio - 1.0) + ratio * error < APART
        far = abs(ratio - 1.0) - ratio * error > APART
        verdicts.append(Verdict.of(bool(near.all()), bool(far.any())))
        rows += [
            Number(
                f"{source} over ns-2 Sack1 at p = {p:g}",
                simulation=f"{ratio[p]:.3f} ± {ratio[p] * error[p]:.3f}",
                tolerance=f"{APART:.0%}, about what PFTK is good for; ± two standard errors of the runs",
            )
            for p in wide.index
        ]

    def draw() -> Figure:
        fig, ax = figure()
        p = np.logspace(-4, -1.3, 60)
        ax.loglog(p, PFTK(rto=0.2).rate(p, 0.048) * 0.048, color="black", lw=1, label="PFTK")
        for (source, points), colour, mark in zip(
            frame.groupby("source"), COLOURS, "os^", strict=False
        ):
            ax.errorbar(
                points["p"], points["mean"], 2 * points["sem"], fmt=mark, ms=4, color=colour,
                capsize=2, label=source,
            )  # fmt: skip
        ax.set(xlabel="loss rate p", ylabel="goodput × RTT (packets)")
        ax.legend(fontsize=8)
        return fig

    return Finding(
        parts=tuple(
            Part(f"{source} agrees with ns-2's Sack1 agent within 10 %", Verdict.NOT_APPLICABLE, v)
            for source, v in zip(("ns-2's TCP/Linux", "ns-3"), verdicts, strict=True)
        ),
        summary=(
            "At the same independent loss Reno's window in ns-2's TCP/Linux is "
            f"{(wide['mean']['ns-2 TCP/Linux'] / reference).min():.2f} to "
            f"{(wide['mean']['ns-2 TCP/Linux'] / reference).max():.2f} of that in its Sack1 agent, "
            f"in ns-3 {(wide['mean']['ns-3'] / reference).min():.2f} to "
            f"{(wide['mean']['ns-3'] / reference).max():.2f}."
        ),
        explanation=(
            "With few runs the intervals of ns-3 reach 10 %. Where the 5 to 6 % to either side come "
            "from is unexplained; the three recover from a loss in different ways, ns-3 by "
            "proportional rate reduction."
        ),
        numbers=tuple(rows),
        pictures=(
            Picture(
                draw,
                "Reno under independent loss: goodput times base round-trip time.",
                "log-log plot of the window against the loss rate: three simulators near one line",
            ),
        ),
        cases=(SACK, LINUX, NS3),
    )
