"""Efficiency at 370 Mb/s, with DFC and without (D04)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hopflow.results import figure
from validation.claims.takano2006.measures import (
    NEAR,
    SETTLED,
    beside,
    low_and_unstable,
    spread,
    text,
)
from validation.claims.takano2006.runs import (
    START,
    TRACES,
    bias,
    case,
    frame,
    lost,
    one_without_dfc,
    repeating,
    rows,
    starts_case,
    with_dfc,
    with_starts,
    without_dfc,
)
from validation.claims.takano2006.shown import BLUE, RED, band, efficiency_axes
from validation.evidence import table
from validation.verdicts import Finding, Number, Picture, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DFC, TAHOE = case("1", "with"), case("1", "without")


@claim("D04")
def efficiency_of_scenario_1() -> Finding:
    """Settles near 0.5 with DFC; low and unstable without."""
    dfc, tahoe = rows(DFC), table(TAHOE).assign(run=lambda d: d["seed"])
    model_dfc, packet_dfc = spread(frame(with_dfc("1")), SETTLED), spread(dfc, SETTLED)
    model, packets = spread(frame(without_dfc("1")), START), spread(tahoe, START)
    fair = float(model_dfc["mean"].mean()), float(packet_dfc["mean"].mean())
    off = bias()
    dropped = table(TAHOE, "flows").groupby("seed")["dropped"].sum()
    newreno = (
        one_without_dfc("newreno").mean_efficiency(START)[0],
        repeating("newreno", "flows").set_index("flow")["mean_efficiency"]["target"],
    )
    return Finding(
        parts=low_and_unstable((model_dfc, packet_dfc), (model, packets), fair, off),
        summary=(
            f"With DFC both flows hold {fair[0]:.3f} (fluid) and {fair[1]:.3f} (ns-3). Without it "
            "Tahoe's target flow swings between idle and full. Its mean over 0.1-3 s is "
            f"{text(model['mean'].to_numpy())} in the fluid and "
            f"{text(packets['mean'].to_numpy())} in ns-2, single runs from "
            f"{model['mean'].min():.2f} to {model['mean'].max():.2f} and from "
            f"{packets['mean'].min():.2f} to {packets['mean'].max():.2f}."
        ),
        explanation=(
            "Unstable it is, until the timeouts are over; low it need not be: 0.5 is the fair "
            "share, and what the target wins or loses is the background flow's. Tahoe is chaotic: "
            "in packets, up to 20 microseconds of processing time per packet decide which of them "
            "meet a full drop-tail queue, hence who backs off; in the fluid another step or a "
            "millisecond at the start does. The target, which started first, mostly wins in both, "
            "in the fluid in every run: it shares the drops of a full queue in "
            "proportion to the arrivals and has less luck to give. Reno and NewReno, which repeat "
            "in ns-2, it follows closely."
        ),
        numbers=(
            Number(
                "mean efficiency of the target with DFC, after 0.2 s",
                f"{fair[0]:.4f}, {len(model_dfc)} runs",
                f"{fair[1]:.4f}, {len(packet_dfc)} runs to {dfc['time'].max():g} s",
                "near 0.5",
                f"{NEAR}: one packet on one of 29 links is 0.011",
            ),
            Number(
                "its standard deviation over time (10 ms), largest of the runs",
                f"{model_dfc['std'].max():.5f}",
                f"{packet_dfc['std'].max():.4f}",
                "stays",
                f"{NEAR}, as above",
            ),
            Number(
                "mean without DFC, Tahoe",
                f"{text(model['mean'].to_numpy())}, {len(model)} runs",
                f"{text(packets['mean'].to_numpy())}, {len(packets)} runs",
                "low",
                "Student's 95 % intervals over the runs; the fluid's widened by its bias where "
                f"ns-2 repeats (Reno, NewReno), {off:.3f}",
            ),
            beside(*with_starts("1")),
            Number(
                "standard deviation over time without DFC (10 ms), smallest of the runs",
                f"{model['std'].min():.3f}",
                f"{packets['std'].min():.3f}",
                "unstable",
                f"{10 * NEAR}: ten times what counts as stable",
            ),
            Number(
                "mean without DFC, NewReno, one run",
                f"{newreno[0]:.3f}",
                f"{newreno[1]:.3f}",
                "",
                "not judged: shows the fluid's bias",
            ),
            Number(
                "packets lost without DFC, Tahoe, both flows",
                f"{lost(without_dfc('1')).mean():.0f} on average",
                f"{dropped.mean():.0f} on average",
            ),
        ),
        pictures=(
            Picture(
                _draw_dfc,
                "Scenario 1 with DFC, Tahoe: nothing is lost, so its rule does not matter.",
                "efficiency over time: the target at 1, then both flows at 0.5 from 0.15 s on, "
                "fluid and ns-3 on top of each other",
            ),
            Picture(
                _draw_tahoe,
                "Scenario 1 without DFC, hosts directly in the nodes' buffers: the range of the "
                "runs, and one of them.",
                "efficiency of the target over time: a wide band of ns-2 runs between 0 and 1, the "
                "fluid's within it",
            ),
            Picture(
                _draw_newreno,
                "The same with NewReno: one loss event and one timeout per flow.",
                "efficiency of both flows over time, fluid and ns-2 close to each other",
            ),
        ),
        cases=(DFC, TAHOE, starts_case("1"), TRACES),
    )


def _draw_dfc() -> Figure:
    fig, ax = figure()
    packets = rows(DFC)
    one = packets[packets["run"] == 1]
    for flow, colour in (("target", BLUE), ("background", RED)):
        part = one[one["flow"] == flow]
        style = {"color": colour, "lw": 0.6, "alpha": 0.6}
        ax.plot(part["time"], part["efficiency"], label=f"ns-3, {flow}", **style)
        run = with_dfc("1").runs[0].efficiency.sel(flow=flow)
        ax.plot(run.time, run, color=colour, ls="--", lw=1.4, label=f"fluid, {flow}")
    ax.set(xlim=(0, 0.6), ylim=(0, 1.05), xlabel="time (s)", ylabel="efficiency")
    ax.set_title("with DFC, shaped hosts", fontsize=10)
    ax.legend(fontsize=8, ncols=2)
    return fig


def _draw_tahoe() -> Figure:
    fig, ax = figure()
    packets, fluid = table(TAHOE).assign(run=lambda d: d["seed"]), frame(without_dfc("1"))
    band(ax, packets, f"ns-2, {packets['run'].nunique()} runs", BLUE)
    band(ax, fluid, f"fluid, {fluid['run'].nunique()} runs", RED)
    ax.axhline(0.5, color="black", lw=0.7, ls=":")
    efficiency_axes(ax, "without DFC, Tahoe: means over 50 ms")
    return fig


def _draw_newreno() -> Figure:
    fig, ax = figure()
    data = repeating("newreno", "efficiency")
    for flow, colour in (("target", BLUE), ("background", RED)):
        of_flow = data[data["flow"] == flow].set_index("time")["efficiency"]
        part = of_flow.rolling(20, center=True).mean()
        ax.plot(part.index, part, color=colour, lw=0.8, label=f"ns-2, {flow}")
        run = one_without_dfc("newreno").efficiency.sel(flow=flow)
        mean = np.convolve(run, np.ones(20) / 20, "same")
        ax.plot(run.time, mean, color=colour, ls="--", lw=1.3, label=f"fluid, {flow}")
    efficiency_axes(ax, "without DFC, NewReno: means over 20 ms")
    ax.set_ylabel("efficiency")
    ax.legend(fontsize=8, ncols=2)
    return fig
