"""Efficiency at 370 Mb/s, with DFC and without (D04)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from validation import evidence
from validation.checks import claim
from validation.claims.takano2006 import axes, speeds, studies
from validation.claims.takano2006.axes import WINDOW, band, efficiency_axes, smooth
from validation.claims.takano2006.speeds import Speed, speed_of
from validation.drawing import BLUE, RED, figure
from validation.verdicts import Sides

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STUDY = studies.Study("1")
LINKS = 29
FINE = 20
"""Samples of a millisecond that the curves of NewReno average."""


@dataclass(frozen=True)
class Scenario1(Speed):
    """Scenario 1, and the target's mean efficiency with NewReno, whose runs repeat.

    Attributes
    ----------
    end
        Of the packet runs with DFC, s.
    overhead
        Largest random time that ns-2's agents wait before a packet, s.
    """

    newreno: Sides[float]
    end: float
    overhead: float


@claim(
    "D04", cases=(STUDY.with_dfc_case, STUDY.without_dfc_case, STUDY.starts_case, studies.TRACES)
)
def measure() -> Scenario1:
    """Return the efficiencies of scenario 1."""
    flows = studies.repeating("newreno", "flows").set_index("flow")["mean_efficiency"]
    fluid = float(studies.one_without_dfc("newreno").mean_efficiency(studies.START)[0])
    end = float(STUDY.with_dfc().packets.time.max())
    parameters = evidence.provenance(STUDY.without_dfc_case)["parameters"]
    return Scenario1(
        **vars(speed_of(STUDY)),
        newreno=Sides(fluid, float(flows["target"])),
        end=end,
        overhead=parameters["overhead_"]["value"],
    )


measure.constants_of(studies, axes)


judge = measure.judge(speeds.judge)


@measure.draw
def with_dfc(found: Scenario1) -> Figure:  # noqa: ARG001
    """Draw both flows with DFC, a run of each side."""
    fig, ax = figure()
    fluid, packets = STUDY.with_dfc()
    for flow, colour in zip(studies.FLOWS, (BLUE, RED), strict=True):
        style = {"color": colour, "lw": 0.6, "alpha": 0.6}
        ax.plot(packets.time, packets.flows[flow][0], label=f"ns-3, {flow}", **style)
        style = {"color": colour, "ls": "--", "lw": 1.4}
        ax.plot(fluid.time, fluid.flows[flow][0], label=f"fluid, {flow}", **style)
    efficiency_axes(ax, "with DFC, shaped hosts", 0.6, of="")
    return fig


@measure.draw
def without_dfc(found: Scenario1) -> Figure:  # noqa: ARG001
    """Draw the target without DFC: the range of the runs."""
    fig, ax = figure()
    fluid, packets = STUDY.without_dfc()
    for side, name, colour in ((packets, "ns-2", BLUE), (fluid, "fluid", RED)):
        band(ax, side, f"{name}, {len(side.flows['target'])} runs", colour)
    ax.axhline(studies.FAIR, color="black", lw=0.7, ls=":")
    efficiency_axes(ax, f"without DFC, Tahoe: means over {WINDOW}")
    return fig


@measure.draw
def newreno(found: Scenario1) -> Figure:  # noqa: ARG001
    """Draw both flows without DFC, with NewReno."""
    fig, ax = figure()
    data = studies.repeating("newreno", "efficiency")
    run = studies.one_without_dfc("newreno")
    for flow, colour in zip(studies.FLOWS, (BLUE, RED), strict=True):
        of_flow = data[data["flow"] == flow]
        values = smooth(of_flow["efficiency"].to_numpy(), FINE)
        ax.plot(of_flow["time"], values, color=colour, lw=0.8, label=f"ns-2, {flow}")
        fluid = smooth(run.efficiency.sel(flow=flow).to_numpy(), FINE)
        ax.plot(run.time, fluid, color=colour, ls="--", lw=1.3, label=f"fluid, {flow}")
    efficiency_axes(ax, f"without DFC, NewReno: means over {FINE} ms", of="")
    return fig
