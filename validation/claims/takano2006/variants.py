"""Scenario 4 with other chains and other TCPs (D12-D15)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopflow.results import figure
from validation.claims.takano2006.measures import (
    SETTLED,
    above,
    interval,
    low,
    settles,
    spread,
    text,
)
from validation.claims.takano2006.runs import START, bias, case, frame, rows, with_dfc, without_dfc
from validation.claims.takano2006.shown import BLUE, GREEN, RED
from validation.evidence import table
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Alone:
    """Mean efficiencies (target, background) of the runs of one scenario without DFC, (runs, 2)."""

    name: str
    fluid: NDArray[np.float64]
    packets: NDArray[np.float64]


@functools.cache
def _alone(name: str) -> Alone:
    data = table(case(name, "without")).assign(run=lambda d: d["seed"])
    flows = [spread(data, START, flow)["mean"] for flow in ("target", "background")]
    return Alone(name, without_dfc(name).mean_efficiency(START), np.stack(flows, axis=1))


def _beside_scenario_4(
    name: str, statement: str, better: bool, below: str, explanation: str
) -> Finding:
    """Compare a variant of scenario 4 with it, and with itself under DFC."""
    here, there = _alone(name), _alone("4")
    cases = case(name, "without"), case("4", "without"), case(name, "with")
    model_dfc, packet_dfc = (
        spread(frame(with_dfc(name)), SETTLED),
        spread(rows(cases[2], target_source=_sender(name)), SETTLED),
    )
    fair, off = (float(model_dfc["mean"].mean()), float(packet_dfc["mean"].mean())), bias()

    def compared(one: NDArray[np.float64], other: NDArray[np.float64], margin: float) -> Verdict:
        first, second = (one, other) if better else (other, one)
        return above(first[:, 0], second[:, 0], margin)

    parts = [
        Part("with DFC the efficiency is high and stable", settles(model_dfc), settles(packet_dfc)),
        Part(
            statement,
            compared(here.fluid, there.fluid, off),
            compared(here.packets, there.packets, 0.0),
        ),
    ]
    if below:
        bottom, top = interval(here.fluid[:, 0])
        parts.append(
            Part(
                below,
                low(bottom - off, top + off, fair[0]),
                low(*interval(here.packets[:, 0]), fair[1]),
            )
        )

    def draw() -> Figure:
        fig, ax = figure()
        for n, (side, colour) in enumerate(((here, RED), (there, BLUE))):
            for x, values in ((n - 0.12, side.fluid), (n + 0.12, side.packets)):
                ax.plot(np.full(len(values), x), values[:, 0], "o", color=colour, alpha=0.6)
        ax.axhline(fair[0], color=GREEN, label="fluid with DFC")
        ax.set_xticks([-0.12, 0.12, 0.88, 1.12], ["fluid", "ns-2"] * 2)
        ax.set(
            xlabel=f"runs of scenario {name} (left) and scenario 4 (right), without DFC",
            ylabel="mean efficiency of the target",
            ylim=(0, 1),
        )
        ax.legend(fontsize=8)
        return fig

    tolerance = (
        "Student's 95 % intervals over the runs; the fluid's widened by its bias where ns-2 "
        f"repeats, {off:.3f}"
    )
    return Finding(
        parts=tuple(parts),
        summary=(
            f"Without DFC the target's mean over 0.1-3 s is {here.fluid[:, 0].mean():.3f} in the "
            f"fluid and {here.packets[:, 0].mean():.3f} in ns-2, against "
            f"{there.fluid[:, 0].mean():.3f} and {there.packets[:, 0].mean():.3f} in scenario 4; "
            f"with DFC it holds {fair[0]:.3f} (fluid) and {fair[1]:.3f} (ns-3)."
        ),
        explanation=explanation,
        numbers=tuple(
            Number(
                f"without DFC, scenario {side.name}, {what}",
                f"{text(side.fluid @ weights)}, {len(side.fluid)} runs",
                f"{text(side.packets @ weights)}, {len(side.packets)} runs",
                "",
                tolerance,
            )
            for what, weights in (
                ("mean of the target", np.array([1.0, 0.0])),
                ("sum of both flows (1: the links they share are full)", np.array([1.0, 1.0])),
            )
            for side in (here, there)
        ),
        pictures=(
            Picture(
                draw,
                f"Scenario {name} beside scenario 4: every run.",
                "mean efficiencies of single runs, fluid and ns-2 side by side, and the level with "
                "DFC",
            ),
        ),
        cases=cases,
    )


def _sender(name: str) -> str:
    """Return what ns-3's tables call the TCP of a scenario."""
    return {"4R": "reno", "4N": "newreno"}.get(name, "tahoe")


@claim("D12")
def fewer_hops() -> Finding:
    """Scenario 4S: TCP alone does better over 16 nodes than over 30."""
    return _beside_scenario_4(
        "4S",
        "without DFC it is better than in scenario 4",
        True,
        "",
        "Over half the path the target recovers from its first overshoot in half the time.",
    )


@claim("D13")
def more_hops() -> Finding:
    """Scenario 4L: TCP alone does worse over 60 nodes than over 30."""
    return _beside_scenario_4(
        "4L",
        "without DFC it is worse than in scenario 4",
        False,
        "",
        "The target does better over 60 nodes than over 30, because in scenario 4 it is locked out: "
        "the background flow, which is there first after the target's overshoot, fills the links "
        "and keeps them. Over 60 nodes the background's window is itself too small for its path "
        "after its first loss. What falls with the length of the chain, as the paper says, is what "
        "both flows together make of the links that they share; the figures of the paper show one "
        "flow.",
    )


@claim("D14")
def reno_at_scenario_4() -> Finding:
    """Scenario 4R: Reno does better than Tahoe without DFC, and worse than with it."""
    return _beside_scenario_4(
        "4R",
        "without DFC it is better than with Tahoe (scenario 4)",
        True,
        "without DFC it stays below that with DFC",
        "Tahoe's target is locked out by the background flow in most runs of scenario 4 and does "
        "well in some, so that its mean is uncertain in ns-2. Reno's runs end in one of four ways, "
        "in the fluid as in ns-2, by whether each flow needs its timer once or twice; which one is "
        "a matter of chance, and of the step.",
    )


@claim("D15")
def newreno_at_scenario_4() -> Finding:
    """Scenario 4N: NewReno does better than Tahoe without DFC, and worse than with it."""
    return _beside_scenario_4(
        "4N",
        "without DFC it is better than with Tahoe (scenario 4)",
        True,
        "without DFC it stays below that with DFC",
        "NewReno fills one hole per round trip and runs into its timer twice; Tahoe's target is "
        "locked out by the background flow in most runs and does well in some, so that its mean "
        "is uncertain in ns-2.",
    )
