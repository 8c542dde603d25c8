"""D18: links of unequal delays."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel import Trajectory, simulate, takano2006
from hopflow.results import COLOURS, figure
from validation.evidence import table
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

UNEQUAL = "takano2006/dfc-unequal-delays"
NEAR = 0.01  # of efficiency: one packet on one of 29 links at 370 Mb/s is 0.011


@functools.cache
def _unequal(spread: float, seed: int = 1) -> Trajectory:
    """Return scenario 1 over links of s^u times a mean of 0.1 ms, u uniform in (-1, 1).

    In eighths of 0.1 ms, so that every delay is a whole number of steps.
    """
    plain = takano2006("1")
    draw = spread ** np.random.default_rng(seed).uniform(-1.0, 1.0, len(plain.links))
    eighths = np.maximum(1, np.round(8 * draw / draw.mean()))
    links = [
        replace(link, delay=link.delay * float(part) / 8)
        for link, part in zip(plain.links, eighths, strict=True)
    ]
    steps = round(min(eighths))
    return simulate(replace(plain, links=tuple(links)), duration=0.6, steps_per_delay=steps)


def _packets(diffusion: float) -> pd.DataFrame:
    flows = table(UNEQUAL, "flows")
    return flows[(flows["host"] == "shaped") & (flows["diffusion"] == diffusion)]


@claim("D18")
def unequal_delays() -> Finding:
    """Links of unequal delays with D_i = D / d_i and periods of one delay: losses and efficiency."""
    spreads = (1, 3, 10)
    runs = {s: _unequal(float(s)) for s in spreads}
    model = {s: float(run.mean_efficiency(0.3)[0]) for s, run in runs.items()}
    packets = {D: _packets(D) for D in (0.1, 0.01)}
    target = {
        D: flows[flows["flow"] == "target"].groupby("spread")["mean_efficiency"]
        for D, flows in packets.items()
    }
    mean = {D: groups.mean() for D, groups in target.items()}
    dropped = int(packets[0.1]["dropped"].sum())
    worst = {D: groups.min() for D, groups in target.items()}
    best = target[0.1].max()

    def draw() -> Figure:
        fig, axes = figure(width=8.0, ncols=2, sharey=True)
        data = table(UNEQUAL)
        data = data[
            (data["host"] == "shaped") & (data["diffusion"] == 0.1) & (data["flow"] == "target")
        ]
        for s, colour in zip(spreads, COLOURS, strict=False):
            run = runs[s].efficiency.sel(flow="target")
            axes[0].plot(run.time, run, color=colour, lw=0.8, label=f"spread {s}")
            line = data[data["spread"] == s].groupby("time")["efficiency"].mean()
            axes[1].plot(line.index, line, color=colour, lw=0.9, label=f"spread {s}")
        for ax, title in zip(axes, ("fluid", "ns-3, mean of 5 runs"), strict=True):
            ax.set(xlim=(0, 0.6), ylim=(0, 1.05), xlabel="time (s)", title=title)
        axes[0].set_ylabel("efficiency of the target")
        axes[0].legend(fontsize=8)
        return fig

    even_model = max(abs(model[s] - model[1]) for s in spreads) < NEAR
    even_packets = bool((abs(mean[0.1] - mean[0.1].loc[1]) < NEAR).all())
    lower = bool((best.loc[[3, 10]] < worst[0.1].loc[1] - NEAR).all())
    return Finding(
        parts=(
            Part(
                "no losses",
                Verdict.of(all(run.lost.sum() == 0 for run in runs.values())),
                Verdict.of(dropped == 0),
            ),
            Part(
                "the efficiency is that of equal delays",
                Verdict.of(even_model),
                Verdict.of(even_packets, lower),
            ),
        ),
        summary=(
            "Nothing is lost. The fluid keeps its efficiency; packets lose some: "
            f"{mean[0.1].loc[1]:.3f} with equal delays, {mean[0.1].loc[3]:.3f} and "
            f"{mean[0.1].loc[10]:.3f} when they spread by 3 and 10 either way. With D = 0.01 they keep "
            f"{mean[0.01].loc[3]:.3f} and {mean[0.01].loc[10]:.3f}."
        ),
        explanation=(
            "D_i = D / d_i gives a short link a large gain in 1/s. One whole packet more in a node "
            "takes D / d packets/s from the rate before it: 3 % of 370 Mb/s at 0.1 ms, a third at "
            "10 microseconds. A fluid has no whole packets. A tenth of D cures it, and so do faster "
            "links."
        ),
        numbers=(
            Number(
                "packets lost", f"{sum(run.lost.sum() for run in runs.values()):.0f}", f"{dropped}"
            ),
            *(
                Number(
                    f"mean efficiency of the target, spread {s}",
                    f"{model[s]:.4f}",
                    f"{mean[0.1].loc[s]:.4f} (D = 0.01: {mean[0.01].loc[s]:.4f})",
                    "the same",
                    f"{NEAR}: one packet on one of 29 links is 0.011",
                )
                for s in spreads
            ),
        ),
        pictures=(
            Picture(
                draw,
                "Scenario 1 with DFC, D = 0.1, delays spread by factors up to 1, 3 and 10 either way.",
                "efficiency of the target over time: in the fluid one curve for all spreads, in "
                "packets lower ones for spreads 3 and 10",
            ),
        ),
        cases=(UNEQUAL,),
    )
