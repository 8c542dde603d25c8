"""Efficiency at 123 Gb/s: does DFC lose packets there? (D09)."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

from dfcmodel import simulate, takano2006
from hopflow.results import figure
from validation.claims.takano2006.hosts import numbers, with_host
from validation.claims.takano2006.measures import (
    NEAR,
    beside,
    interval,
    low,
    spread,
    text,
    unstable,
)
from validation.claims.takano2006.runs import (
    HOSTS,
    START,
    bias,
    case,
    frame,
    lost,
    rows,
    starts_case,
    with_dfc,
    with_starts,
    without_dfc,
)
from validation.claims.takano2006.shown import BLUE, GREEN, RED, band, efficiency_axes
from validation.evidence import table
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FIFO, DFC = case("6", "without"), case("6", "with")
BUFFERS = (400, 800, 1200, 1400, 1600, 1800)


@functools.cache
def _shaped_losses() -> dict[int, float]:
    """Packets that scenario 6 with DFC and shaped hosts loses in the fluid, by the buffer."""
    scenario = takano2006("6")
    found = {}
    for buffer in BUFFERS:
        links = tuple(replace(link, buffer=buffer) for link in scenario.links)
        run = simulate(replace(scenario, links=links), duration=0.5, sample=1e-2)
        found[buffer] = float(run.lost.sum())
    return found


@claim("D09")
def efficiency_of_scenario_6() -> Finding:
    """Low and unstable both with and without DFC; losses in both."""
    data = table(FIFO).assign(run=lambda d: d["seed"])
    model, packets = spread(frame(without_dfc("6")), START), spread(data, START)
    drops = table(FIFO, "flows").groupby("seed")["dropped"].sum()
    off = bias()
    shaped, unshaped, direct = (with_host("6", host) for host in HOSTS)
    small = _shaped_losses()
    enough = min(buffer for buffer, losses in small.items() if losses == 0.0)
    peak = rows(DFC, "nodes")["peak"].max(), max(run.peak_queue.max() for run in with_dfc("6").runs)
    (bottom, top), (least, most) = (
        interval(model["mean"].to_numpy()),
        interval(packets["mean"].to_numpy()),
    )

    def is_low(runs: pd.DataFrame) -> Verdict:
        return low(*interval(runs["mean"].to_numpy()), 0.5 - NEAR)

    return Finding(
        parts=(
            Part(
                "without DFC the efficiency is low: below the fair share",
                low(bottom - off, top + off, 0.5),
                low(least, most, 0.5),
            ),
            Part("without DFC it is unstable", unstable(model), unstable(packets)),
            Part(
                "without DFC packets are lost",
                Verdict.of(bool((lost(without_dfc("6")) > 0).all())),
                Verdict.of(bool((drops > 0).all())),
            ),
            Part("with DFC the efficiency is low", *(is_low(seen.spread) for seen in shaped)),
            Part("with DFC it is unstable", *(unstable(seen.spread) for seen in shaped)),
            Part(
                "with DFC packets are lost",
                *(Verdict.of(bool((seen.lost > 0).all())) for seen in shaped),
            ),
        ),
        summary=(
            f"Without DFC low ({model['mean'].mean():.3f} in the fluid, "
            f"{packets['mean'].mean():.3f} in ns-2) and lossy, but hardly moving. With DFC it "
            "depends on the host: shaped to r_0 both flows hold "
            f"{shaped[0].spread['mean'].mean():.3f} and lose nothing; with hosts that send at the link rate, "
            "or sit in the node, the target gets "
            f"{unshaped[0].spread['mean'].mean():.3f} or "
            f"{direct[0].spread['mean'].mean():.3f} and the paper is right."
        ),
        explanation=(
            "The paper does not say what a host does with a window larger than the network takes. "
            "Its sentence holds where the window goes straight to node 1: DFC takes its feedback "
            "one link delay too late for what arrives at full speed. A host that obeys eq. (9) "
            "keeps what does not fit to itself. Then the queues peak at "
            f"{peak[1]:.0f} (fluid) and {peak[0]:.0f} (ns-3) packets, which 1800 just hold; "
            f"in the fluid smaller buffers lose, {enough} and more do not. Speed and buffer are in "
            "proportion: the peak is that of scenario 5 times the ratio of the rates."
        ),
        numbers=(
            *numbers("6", "low, unstable, lossy"),
            Number(
                "target without DFC: mean; standard deviation over time; packets lost",
                f"{text(model['mean'].to_numpy())}; {model['std'].mean():.3f}; "
                f"{lost(without_dfc('6')).mean():.0f}",
                f"{text(packets['mean'].to_numpy())}; {packets['std'].mean():.3f}; "
                f"{drops.mean():.0f}",
                "low, unstable, lossy",
                f"Student's 95 % intervals; the fluid's widened by its bias, {off:.3f}",
            ),
            beside(*with_starts("6")),
            Number(
                "packets lost with DFC and shaped hosts, by the buffer in packets",
                ", ".join(f"{buffer}: {losses:.0f}" for buffer, losses in small.items()),
            ),
        ),
        pictures=(
            Picture(
                _draw,
                "Scenario 6, the target flow: the range of the runs and one of them, ns-3's and "
                "ns-2's to the left, the fluid's to the right.",
                "efficiency over time with three hosts and without DFC: 0.5 with shaped hosts, near "
                "zero with the others",
            ),
        ),
        cases=(FIFO, starts_case("6"), DFC),
    )


def _draw() -> Figure:
    fig, axes = figure(8.0, 3.4, ncols=2, sharey=True)
    fifo = table(FIFO).assign(run=lambda d: d["seed"]), frame(without_dfc("6"))
    for side, (ax, title) in enumerate(zip(axes, ("packets", "fluid"), strict=True)):
        for host, colour in zip(HOSTS, (GREEN, RED, "0.3"), strict=True):
            runs = frame(with_dfc("6", host)) if side else rows(DFC, host=host)
            band(ax, runs, f"with DFC, {host}", colour)
        band(ax, fifo[side], "without DFC", BLUE)
        efficiency_axes(ax, title, 0.5)
    axes[1].set_ylabel("")
    axes[1].get_legend().remove()
    return fig
