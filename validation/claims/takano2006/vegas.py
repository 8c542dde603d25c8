"""Scenario 4 with Vegas: buffers of 1800 and of 400 packets (D16, D17)."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel import Trajectory, simulate, takano2006
from hopflow import maximum, minimum, where
from hopflow.results import figure
from responsefn import Vegas
from validation.claims.takano2006.measures import SETTLED
from validation.claims.takano2006.runs import rows
from validation.claims.takano2006.shown import BLUE, RED
from validation.evidence import table
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

NS2 = "takano2006/scenario-4v-without-dfc"
SMALL = "takano2006/scenario-4v-small-buffer-without-dfc"
NS3 = "takano2006/scenario-4v-with-dfc"
FIFO_THRESHOLDS = "takano2006/vegas-thresholds-without-dfc"
DFC_THRESHOLDS = "takano2006/vegas-thresholds-with-dfc"
TIMES = (1, 3, 10, 30, 100, 300)
"""Thresholds of Vegas over ns-2's defaults, 1, 3 and 1 packets."""
SIDES = {"with DFC": ("dfc", "shaped"), "without DFC": ("fifo", "direct")}
ALIKE = 0.1
"""Means that differ by less are the same: one round trip of slow start more or less doubles them."""
END = 0.5
"""Simulated time in s of the runs with DFC in ns-3."""


class PatientVegas(Vegas):
    """Vegas with its own slow start (Brakmo and Peterson 1995, Sect. 3.3).

    It doubles every other round trip, and ends when more than gamma packets of the window wait. As
    in ns-2 the round-trip time is an average over about a window.
    """

    class State(NamedTuple):
        """Window and threshold in packets, shortest and mean RTT in s, end of two RTTs in s."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf
        mean_rtt: float = 0.0
        turn: float = 0.0

    class Params(NamedTuple):
        """Packets in the queue: to grow below, to shrink above, to end slow start above."""

        alpha: float = 1.0
        beta: float = 3.0
        gamma: float = 1.0

    assigned = ("base_rtt", "turn", "ssthresh")

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start in every other round trip, or one packet per round trip up or down."""
        base = minimum(s.base_rtt, e.rtt)
        mean = where(s.mean_rtt > 0.0, s.mean_rtt + (e.rtt - s.mean_rtt) / s.cwnd, e.rtt)
        waiting = s.cwnd * (mean - base) / mean
        turn = where(e.time > s.turn, e.time + 1.75 * e.rtt, s.turn)
        doubling = where(turn - e.time > 0.875 * e.rtt, 1.0, 0.0)
        threshold = where(waiting > q.gamma, minimum(s.ssthresh, s.cwnd), s.ssthresh)
        step = where(waiting < q.alpha, 1.0, where(waiting > q.beta, -1.0, 0.0)) / s.cwnd
        grown = s.cwnd + where(s.cwnd < threshold, doubling, step)
        return s._replace(
            cwnd=maximum(2.0, grown), ssthresh=threshold, base_rtt=base, mean_rtt=mean, turn=turn
        )


@functools.cache
def _fluid(side: str, buffer: int = 1800, times: int = 1) -> Trajectory:
    scenario = takano2006("4V" if buffer == 1800 else "4V'", dfc=side == "with DFC")
    rule = PatientVegas(alpha=times, beta=3.0 * times, gamma=times)
    flows = tuple(replace(flow, source=rule) for flow in scenario.flows)
    return simulate(replace(scenario, flows=flows), duration=END)


def _packets(side: str, name: str, buffer: int = 1800) -> pd.DataFrame:
    """Rows of ns-3's chain, which has both sides, with ns-3's Vegas."""
    discipline, host = SIDES[side]
    sender = "ns3-vegas"
    return rows(
        NS3, name, discipline=discipline, host=host, buffer=buffer,
        target_source=sender, background_source=sender,
    )  # fmt: skip


def _of(side: str, buffer: int = 1800) -> tuple[np.ndarray, np.ndarray]:
    """Efficiency of the target over time (runs, T) after 0.2 s: the fluid's run, ns-3's runs."""
    run = _fluid(side, buffer)
    data = _packets(side, "efficiency", buffer)
    late = data[(data["time"] > SETTLED) & (data["flow"] == "target")]
    wide = late.pivot_table("efficiency", "run", "time").to_numpy()
    return run.efficiency.to_numpy()[:1, run.time > SETTLED], wide


def _lost(side: str, buffer: int = 1800) -> tuple[float, float]:
    """Packets lost by both flows: the fluid's run, and all of ns-3's (and ns-2's) together."""
    drops = float(_packets(side, "flows", buffer)["dropped"].sum())
    if side == "without DFC":
        drops += float(table(NS2 if buffer == 1800 else SMALL, "flows")["dropped"].sum())
    return float(_fluid(side, buffer).lost.sum()), drops


def _swing(values: np.ndarray) -> float:
    """Smallest standard deviation over time of the runs, over the mean."""
    return float((values.std(axis=1) / values.mean(axis=1)).min())


def _same(one: float, other: float) -> bool:
    return abs(one - other) < ALIKE * max(one, other)


@claim("D16")
def vegas() -> Finding:
    """Strong oscillation, the same with and without DFC; no loss."""
    found = {side: _of(side) for side in SIDES}
    means = {side: [float(each.mean()) for each in pair] for side, pair in found.items()}
    swings = {side: [_swing(each) for each in pair] for side, pair in found.items()}
    losses = {side: _lost(side) for side in SIDES}
    alike = zip(*means.values(), strict=True)
    return Finding(
        parts=(
            *(
                Part(
                    f"{side}: strong oscillation",
                    *(Verdict.of(swing > 0.5, swing < 0.1) for swing in swings[side]),
                )
                for side in SIDES
            ),
            Part(
                "with and without DFC the efficiency is the same",
                *(Verdict.of(_same(one, other)) for one, other in alike),
            ),
            *(
                Part(f"{side}: no loss", *(Verdict.of(drops == 0.0) for drops in losses[side]))
                for side in SIDES
            ),
        ),
        summary=(
            "In ns-3 Vegas sends a burst per round trip and rests: its efficiency, "
            f"{means['with DFC'][1]:.3f} with DFC and {means['without DFC'][1]:.3f} without, swings "
            f"by {swings['with DFC'][1]:.0%} and {swings['without DFC'][1]:.0%} of its mean at "
            "1 ms, and nothing is lost. In the fluid the means are "
            f"{means['with DFC'][0]:.3f} and {means['without DFC'][0]:.3f}."
        ),
        explanation=(
            "Slow start doubles the window in a burst at twice the link rate, half of which waits "
            "at the first node. Vegas takes that for congestion and stops at a window that fills a "
            "twentieth of the path. From there it adds a packet per round trip. The burst remains "
            "one burst, whose packets follow each other at the link rate: on for a window, off for "
            "the rest of the round trip."
        ),
        numbers=tuple(
            Number(
                f"{side}: mean of the target after 0.2 s; its standard deviation (1 ms) over the "
                "mean; packets lost",
                *(
                    f"{mean:.4f}; {swing:.2f}; {drops:.0f}"
                    for mean, swing, drops in zip(
                        means[side], swings[side], losses[side], strict=True
                    )
                ),
            )
            for side in SIDES
        ),
        pictures=(
            Picture(
                _draw,
                "Scenario 4V, the target by the millisecond: fluid (dashed) and ns-3, one run each.",
                "efficiency over time: short bursts once per round trip, growing, alike with and "
                "without DFC",
            ),
        ),
        cases=(NS2, NS3),
    )


@functools.cache
def _by_threshold(side: str, times: int) -> tuple[list[float], list[float]]:
    """Packets lost and mean of the target with 1800 and 400 packets of buffer: fluid, packets."""
    runs = [_fluid(side, buffer, times) for buffer in (1800, 400)]
    fluid = [
        *(float(run.lost.sum()) for run in runs),
        *(float(run.mean_efficiency()[0]) for run in runs),
    ]
    data = table(DFC_THRESHOLDS if side == "with DFC" else FIFO_THRESHOLDS, "flows")
    data = data[data["vegas"] == times]
    target = data[data["flow"] == "target"].groupby("buffer")["mean_efficiency"].mean()
    drops = data.groupby(["buffer", "seed"])["dropped"].sum().groupby("buffer").mean()
    packets = [float(part.get(b, math.nan)) for part in (drops, target) for b in (1800, 400)]
    return fluid, packets


@claim("D17")
def vegas_with_small_buffers() -> Finding:
    """Without DFC losses and a marked drop; with DFC as in 4V."""
    small, large = _of("without DFC", 400), _of("without DFC")
    shaped, before = _of("with DFC", 400), _of("with DFC")
    losses = {side: _lost(side, 400) for side in SIDES}
    pattern = {
        kind: [
            times
            for times in TIMES
            if (found := _by_threshold("without DFC", times)[n])[1] > 0 == found[0]
            and found[3] < 0.5 * found[2]
        ]
        for n, kind in enumerate(("fluid", "packets"))
    }
    return Finding(
        parts=(
            Part(
                "without DFC packets are lost",
                *(Verdict.of(drops > 0.0) for drops in losses["without DFC"]),
            ),
            Part(
                "without DFC the efficiency drops markedly: below half of that in 4V",
                *(
                    Verdict.of(bool(few.mean() < 0.5 * many.mean()))
                    for few, many in zip(small, large, strict=True)
                ),
            ),
            Part(
                "with DFC nothing is lost, and the efficiency is that of 4V",
                *(
                    Verdict.of(drops == 0.0 and _same(float(few.mean()), float(many.mean())))
                    for drops, few, many in zip(losses["with DFC"], shaped, before, strict=True)
                ),
            ),
        ),
        summary=(
            "With Vegas' usual thresholds 400 packets are as good as 1800 in both packet "
            "simulators: its queues stay below 170. The paper's losses come with thresholds "
            f"{_listed(pattern['packets'])} times as large in ns-2"
            f" and {_listed(pattern['fluid'])} times in the fluid; DFC prevents them at any."
        ),
        explanation=(
            "The paper does not give Vegas' thresholds. Slow start ends when more than gamma "
            "packets wait; only a gamma of tens of packets lets its last doubling overflow 400 "
            "packets but not 1800. With shaped hosts the burst waits at the host, so that neither "
            "buffer nor threshold matters to the network."
        ),
        numbers=tuple(
            Number(
                f"{side}, thresholds times {times}: packets lost with 1800 and 400 of buffer; mean "
                "of the target with 1800 and 400",
                *(
                    f"{found[0]:.0f}, {found[1]:.0f}; {found[2]:.3f}, {found[3]:.3f}"
                    if found[0] == found[0]
                    else ""
                    for found in _by_threshold(side, times)
                ),
            )
            for side in ("without DFC", "with DFC")
            for times in TIMES
        ),
        pictures=(
            Picture(
                _draw_thresholds,
                "Packets that 400-packet buffers lose without DFC by Vegas' thresholds over their "
                "defaults; none with 1800 where the line is solid.",
                "losses over thresholds: none up to ten times the defaults, hundreds from thirty "
                "times on",
            ),
        ),
        cases=(SMALL, NS3, FIFO_THRESHOLDS, DFC_THRESHOLDS),
    )


def _listed(times: list[int]) -> str:
    return " to ".join(str(end) for end in dict.fromkeys((times[0], times[-1]))) if times else "no"


def _draw() -> Figure:
    fig, axes = figure(8.0, 3.2, ncols=2, sharey=True)
    for ax, side in zip(axes, SIDES, strict=True):
        data = _packets(side, "efficiency")
        one = data[(data["run"] == data["run"].min()) & (data["flow"] == "target")]
        ax.plot(one["time"], one["efficiency"], color=BLUE, lw=0.8, label="ns-3")
        run = _fluid(side)
        style = {"color": RED, "ls": "--", "lw": 0.8}
        ax.plot(run.time, run.efficiency.to_numpy()[0], label="fluid", **style)
        ax.set(xlim=(0.2, 0.3), xlabel="time (s)", title=side)
        ax.set_ylim(bottom=0)
    axes[0].set_ylabel("efficiency of the target")
    axes[0].legend(fontsize=8)
    return fig


def _draw_thresholds() -> Figure:
    fig, ax = figure()
    for n, (label, colour) in enumerate((("fluid", RED), ("ns-2", BLUE))):
        found = np.array([_by_threshold("without DFC", times)[n] for times in TIMES])
        ax.semilogx(TIMES, found[:, 1], "o-", color=colour, label=f"{label}, 400")
        ax.semilogx(TIMES, found[:, 0], "s:", color=colour, label=f"{label}, 1800")
    ax.set(xlabel="thresholds over 1, 3, 1 packets", ylabel="packets lost")
    ax.legend(fontsize=8)
    return fig
