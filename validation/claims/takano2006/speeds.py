"""Efficiency from 1.23 to 37 Gb/s, with DFC and without (D05-D08)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopflow.results import figure
from validation.claims.takano2006.hosts import numbers
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
from validation.verdicts import Finding, Number, Picture, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _other_speed(name: str, explanation: str) -> Finding:
    """Return what D04 asks, at another link speed."""
    cases = case(name, "without"), case(name, "with")
    data = table(cases[0]).assign(run=lambda d: d["seed"])
    model_dfc, packet_dfc = (
        spread(frame(with_dfc(name)), SETTLED),
        spread(rows(cases[1]), SETTLED),
    )
    model, packets = spread(frame(without_dfc(name)), START), spread(data, START)
    others = (
        spread(frame(without_dfc(name)), START, "background")["mean"].mean(),
        spread(data, START, "background")["mean"].mean(),
    )
    fair = float(model_dfc["mean"].mean()), float(packet_dfc["mean"].mean())
    off = bias()

    def draw() -> Figure:
        fig, ax = figure()
        fluid = frame(without_dfc(name))
        band(ax, data, f"ns-2, {len(packets)} runs", BLUE)
        band(ax, fluid, f"fluid, {len(model)} runs", RED)
        dfc = with_dfc(name).runs[0].efficiency.sel(flow="target")
        ax.plot(dfc.time, dfc, color=GREEN, lw=1.2, label="fluid with DFC")
        efficiency_axes(ax)
        return fig

    return Finding(
        parts=low_and_unstable((model_dfc, packet_dfc), (model, packets), fair, off),
        summary=(
            f"With DFC the target holds {fair[0]:.3f} (fluid) and {fair[1]:.3f} (ns-3). Without it "
            f"its mean over 0.1-3 s is {model['mean'].mean():.3f} in the fluid and "
            f"{packets['mean'].mean():.3f} in ns-2, the background's {others[0]:.3f} and "
            f"{others[1]:.3f}."
        ),
        explanation=explanation,
        numbers=(
            Number(
                "mean efficiency of the target with DFC, after 0.2 s",
                f"{fair[0]:.4f}, {len(model_dfc)} runs",
                f"{fair[1]:.4f}, {len(packet_dfc)} runs",
                "near 0.5",
                f"{NEAR}: as in D04",
            ),
            Number(
                "mean of the target without DFC, Tahoe",
                f"{text(model['mean'].to_numpy())}, {len(model)} runs",
                f"{text(packets['mean'].to_numpy())}, {len(packets)} runs",
                "low",
                "Student's 95 % intervals over the runs; the fluid's widened by its bias where "
                f"ns-2 repeats, {off:.3f}",
            ),
            Number(
                "standard deviation over time without DFC (10 ms), smallest and largest of the runs",
                f"{model['std'].min():.3f} to {model['std'].max():.3f}",
                f"{packets['std'].min():.3f} to {packets['std'].max():.3f}",
                "unstable",
                f"{10 * NEAR}: ten times what counts as stable",
            ),
            Number(
                "packets lost without DFC by both flows, mean of the runs",
                f"{lost(without_dfc(name)).mean():.0f}",
                f"{table(cases[0], 'flows').groupby('seed')['dropped'].sum().mean():.0f}",
            ),
            beside(*with_starts(name)),
            *(numbers(name, "near 0.5, stable") if name in ("4", "5") else ()),
        ),
        pictures=(
            Picture(
                draw,
                f"Scenario {name}: means over 50 ms, the range of the runs and one of them.",
                "efficiency of the target over time: 0.5 with DFC; without, fluid and ns-2 agree "
                "that it is low",
            ),
        ),
        cases=(*cases, starts_case(name)),
    )


LOCKED_OUT = (
    "The target's window overshoots first, at node 1; while it recovers, the background flow takes "
    "the links and keeps them: the target is low, and steadily so."
)


@claim("D05")
def efficiency_of_scenario_2() -> Finding:
    """As D04, at 1.23 Gb/s."""
    return _other_speed("2", LOCKED_OUT)


@claim("D06")
def efficiency_of_scenario_3() -> Finding:
    """As D04, at 3.7 Gb/s."""
    return _other_speed("3", LOCKED_OUT)


@claim("D07")
def efficiency_of_scenario_4() -> Finding:
    """As D04, at 12.3 Gb/s."""
    return _other_speed("4", LOCKED_OUT)


@claim("D08")
def efficiency_of_scenario_5() -> Finding:
    """As D04, at 37 Gb/s."""
    return _other_speed(
        "5",
        "A window that fills these links takes seconds to grow again after a loss: for the three "
        "seconds shown the target climbs by a packet per round trip, low but without swings. Which "
        "of a few levels it climbs from is decided by the first losses: whether the target's packets "
        "that are sent again meet the background's overshoot at node 15, a matter of some tenths of "
        "a millisecond. Where all flows start on time ns-2 always finds the same of these levels; "
        "with starts spread over a millisecond it finds the others too, the fluid's among them.",
    )
