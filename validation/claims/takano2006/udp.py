"""DFC below sources without any flow control (D19)."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel import CBR, Ensemble, ensemble, takano2006
from hopflow.results import figure
from validation.claims.takano2006.measures import NEAR, SETTLED, settles, spread
from validation.claims.takano2006.runs import frame, lost, rows
from validation.claims.takano2006.shown import BLUE, RED
from validation.evidence import table
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CASE = "takano2006/dfc-udp"
LOADS = (0.5, 1.0)
"""Of UDP, over the link rate; the paper gives none."""
WHERE = {
    "background": ("tahoe", "udp"),
    "target": ("udp", "tahoe"),
    "both flows": ("udp", "udp"),
}
"""Which flows are UDP, as the columns of the table say it."""
FLOWS = ("target", "background")


@functools.cache
def _fluid(where: str, load: float, host: str, dfc: bool = True) -> Ensemble:
    scenario = takano2006("1", dfc=dfc, host=host)
    rate = load * scenario.links[0].rate
    flows = [
        replace(flow, source=CBR(rate)) if kind == "udp" else flow
        for flow, kind in zip(scenario.flows, WHERE[where], strict=True)
    ]
    return ensemble(replace(scenario, flows=tuple(flows)), 2, jitter=20e-6, duration=1.5)


def _packets(where: str, load: float, host: str, dfc: bool, name: str) -> pd.DataFrame:
    target, background = WHERE[where]
    return rows(
        CASE, name, load=load, host=host, discipline="dfc" if dfc else "fifo",
        target_source=target, background_source=background,
    )  # fmt: skip


def _shares(where: str, load: float) -> tuple[Verdict, Verdict]:
    """Whether both flows settle near 0.5 with shaped hosts, in the fluid and in ns-3."""
    return tuple(  # type: ignore[return-value]
        Verdict.all_of(settles(spread(runs, SETTLED, flow)) for flow in FLOWS)
        for runs in (
            frame(_fluid(where, load, "shaped")),
            _packets(where, load, "shaped", True, "efficiency"),
        )
    )


def _losses(where: str, load: float, host: str = "shaped", dfc: bool = True) -> list[np.ndarray]:
    """Packets lost in each run, both flows: fluid and ns-3."""
    flows = _packets(where, load, host, dfc, "flows")
    return [
        lost(_fluid(where, load, host, dfc)),
        flows.groupby("seed")["dropped"].sum().to_numpy(float),
    ]


@claim("D19")
def sources_without_flow_control() -> Finding:
    """Constant-rate UDP as the background, as the target, and as both, with DFC."""
    parts = []
    for where in WHERE:
        shares = [_shares(where, load) for load in LOADS]
        losses = [_losses(where, load) for load in LOADS]
        parts += [
            Part(
                f"UDP as {where}: both flows settle near 0.5",
                *(Verdict.all_of(side) for side in zip(*shares, strict=True)),
            ),
            Part(
                f"UDP as {where}: nothing is lost",
                *(
                    Verdict.of(all(not runs.any() for runs in side))
                    for side in zip(*losses, strict=True)
                ),
            ),
        ]
    waits = [
        max(run.backlog[0, -1] for run in _fluid("both flows", 1.0, "shaped").runs),
        table(CASE, "flows")
        .query("host == 'shaped' and load == 1 and target_source == 'udp'")
        .query("background_source == 'udp' and flow == 'target'")["peak_host"]
        .max(),
    ]
    full = _losses("both flows", 1.0, "unshaped")
    return Finding(
        parts=tuple(parts),
        summary=(
            "With shaped hosts DFC needs nobody's cooperation: UDP at half the link rate or all of "
            "it shares the links equally with TCP or other UDP, and no packet is lost in the "
            "network."
        ),
        explanation=(
            "The node that a host sends to tells it r_0, and a shaped host obeys whatever the "
            "source does. What a source offers beyond that waits at the host, without bound: at "
            f"the full link rate {waits[0]:.0f} (fluid) and {waits[1]:.0f} (ns-3) packets after "
            "1.5 s. A host that sends at the link rate instead makes the first nodes drop what "
            f"does not fit, {full[0].mean():.0f} and {full[1].mean():.0f} packets with two such "
            "sources. Without DFC UDP takes what it likes and TCP what is left; two sources at the "
            "full rate meet a full buffer at every tick, where ns-3 takes the local one first and "
            "the fluid shares in proportion."
        ),
        numbers=tuple(
            _number(where, load, host, dfc)
            for host, dfc in (("shaped", True), ("unshaped", True), ("direct", False))
            for where in WHERE
            for load in LOADS
        ),
        pictures=(
            Picture(
                _draw,
                "UDP at the full link rate as background, TCP (Tahoe) as target, in scenario 1: "
                "fluid (dashed) and ns-3, one run each.",
                "efficiency over time: with DFC both flows at 0.5; without, UDP at 1 and TCP at 0",
            ),
        ),
        cases=(CASE,),
    )


def _number(where: str, load: float, host: str, dfc: bool) -> Number:
    """Return what both flows get and lose, in the fluid and in ns-3."""
    packets = _packets(where, load, host, dfc, "efficiency")
    means = (
        _fluid(where, load, host, dfc).mean_efficiency(SETTLED).mean(axis=0),
        [spread(packets, SETTLED, flow)["mean"].mean() for flow in FLOWS],
    )
    model, simulation = (
        f"{target:.3f}, {background:.3f}; {gone.mean():.0f}"
        for (target, background), gone in zip(means, _losses(where, load, host, dfc), strict=True)
    )
    judged = f"0.5 within {NEAR}, as in D04" if host == "shaped" else "not judged"
    return Number(
        f"UDP as {where}, load {load:g}, {host} hosts{'' if dfc else ', no DFC'}: means of target, "
        "background; packets lost",
        model,
        simulation,
        "",
        judged,
    )


def _draw() -> Figure:
    fig, axes = figure(8.0, 3.2, ncols=2, sharey=True)
    for ax, host, dfc in zip(axes, ("shaped", "direct"), (True, False), strict=True):
        packets = _packets("background", 1.0, host, dfc, "efficiency")
        one = packets[packets["run"] == packets["run"].max()]
        run = _fluid("background", 1.0, host, dfc).runs[0]
        for flow, colour in zip(FLOWS, (BLUE, RED), strict=True):
            part = one[one["flow"] == flow]
            ax.plot(part["time"], part["efficiency"], color=colour, lw=0.8, label=f"ns-3, {flow}")
            fluid = run.efficiency.sel(flow=flow)
            ax.plot(run.time, fluid, color=colour, ls="--", lw=1.2, label=f"fluid, {flow}")
        ax.set(xlim=(0, 1), ylim=(0, 1.05), xlabel="time (s)")
        ax.set_title("with DFC, shaped hosts" if dfc else "without DFC", fontsize=10)
    axes[0].set_ylabel("efficiency")
    axes[0].legend(fontsize=8)
    return fig
