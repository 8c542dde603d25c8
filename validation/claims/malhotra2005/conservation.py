"""M01 and M02: flow is conserved, and T1 = B2 switches the control off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hopflow.results import figure
from markov import SparseLU, stationary
from validation.claims.malhotra2005.chain import (
    B1,
    B2,
    LIGHT,
    READINGS,
    THREE,
    Setting,
    solve,
)
from validation.claims.malhotra2005.packets import (
    GRANULARITY,
    LOW_THRESHOLD,
    OFF,
    THRESHOLDS,
    Estimate,
    ratio_gain,
    runs,
)
from validation.claims.malhotra2005.shown import points, size_text
from validation.claims.malhotra2005.significance import LEVEL, agreement, welch_test
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure


EXACT = 1e-12
"""Relative rounding of some thousand sums."""


def _spread(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / max(values)


def _conserved(n: Mapping[str, float]) -> bool:
    """Return whether the counts of a run balance, packet for packet."""
    return (
        n["arrivals"] == n["accepted_1"] + n["dropped_1"]
        and n["accepted_1"] == n["sent_1"] + n["left_1"]
        and n["sent_1"] == n["accepted_2"] + n["dropped_2"]
        and n["accepted_2"] == n["sent_2"] + n["left_2"]
        and n["sent_2"] == n["delivered"]
        and 0 <= n["left_1"] <= B1
        and 0 <= n["left_2"] <= B2
    )


def _counted_expressions(n: Mapping[str, float]) -> tuple[float, float, float]:
    """Return the three throughput expressions in counts: packets instead of packets/s."""
    lost = n["dropped_2"] / n["sent_1"]
    return n["accepted_2"], n["accepted_1"] * (1.0 - lost), n["delivered"]


@claim("M01")
def m01() -> Finding:
    """Check that the three throughput expressions agree and flow is conserved."""
    grid = [
        Setting(rates, high, low, rtt, paused_rate, recovery, both)
        for rates in (LIGHT, THREE)
        for recovery, both in READINGS
        for high, low in ((2, None), (15, None), (15, 1), (20, 5))
        for rtt, paused_rate in ((0.1, 0.5), (1.0, 2.0), (20.0, 50.0))
    ]
    answers = [solve(s) for s in grid]
    defects = [_spread(a.expressions) for a in answers]
    flows = [
        abs(a["effective_rate_1"] - a["effective_rate_2"] - a["loss_rate_2"])
        / a["effective_rate_1"]
        for a in answers
    ]
    printed = {
        reading: max(
            abs(a.printed_rate_2 - a.throughput) / a.throughput
            for s, a in zip(grid, answers, strict=True)
            if s.pause_at_threshold == reading
        )
        for reading in ("exclusive", "both")
    }
    sample = grid[:: len(grid) // 8]
    methods = max(
        abs(stationary(s.model, SparseLU()).throughput / solve(s).throughput - 1.0) for s in sample
    )
    cases = (THRESHOLDS, GRANULARITY, LOW_THRESHOLD, OFF)
    sets = [run for case in cases for run in runs(case).values()]
    data = [counts for run in sets for counts in run.seeds]
    conserved = sum(_conserved(n) for n in data)
    spreads = [max(values) - min(values) for values in map(_counted_expressions, data)]
    relative = [spread / n["delivered"] for spread, n in zip(spreads, data, strict=True)]
    within = sum(
        spread <= n["left_1"] + n["left_2"] + 1e-6 for spread, n in zip(spreads, data, strict=True)
    )

    def draw() -> Figure:
        fig, ax = figure()
        throughput = [a.throughput for a in answers]
        floor = 1e-17
        ax.plot(throughput, np.maximum(defects, floor), "o", ms=4, label="chain: three expressions")
        ax.plot(throughput, np.maximum(flows, floor), "x", ms=5, label="chain: flow balance")
        drawn = [max(r, 1e-3 / n["delivered"]) for r, n in zip(relative, data, strict=True)]
        rates = [run.estimates["throughput"].value for run in sets for _ in run.seeds]
        ax.plot(rates, drawn, "^", ms=4, label="packets: three expressions")
        ax.axhline(color="black", ls="--", lw=1)
        ax.text(14.9, EXACT * 1.6, "tolerance of the chain", ha="right", fontsize=8)
        ax.set(
            yscale="log",
            ylim=(5e-18, 1e-3),
            xlabel="throughput (packets/s)",
            ylabel="relative disagreement",
        )
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=3, frameon=False, fontsize=8)
        return fig

    return Finding(
        parts=(
            Part(
                "the three throughput expressions agree",
                Verdict.of(max(defects) <= EXACT),
                Verdict.of(within == len(data)),
            ),
            Part(
                "flow is conserved",
                Verdict.of(max(flows) <= EXACT),
                Verdict.of(conserved == len(data)),
            ),
        ),
        summary=(
            f"In the chain the three expressions agree to {max(defects):.0e} and the flow "
            f"balances to {max(flows):.0e} over {len(grid)} parameter sets; in {conserved} of "
            f"{len(data)} packet runs every packet is accounted for."
        ),
        explanation=(
            "Rule 6 as printed also fires at j = T1, beside rule 8, so that queue 1 sends at "
            "twice mu1 there. Its flow then balances only when lambda_effec,2 counts both; the "
            "formula as printed does not and misses the throughput by up to "
            f"{100 * printed['both']:.1f} %. Where rule 8 replaces rule 6 (the default) the "
            f"printed formula agrees to {printed['exclusive']:.0e}: the paper's own sentence asks "
            "for this reading."
        ),
        numbers=(
            Number(
                "largest relative disagreement of the three expressions",
                model=f"{max(defects):.1e} ({len(grid)} parameter sets)",
                simulation=f"{max(relative):.1e} ({len(data)} runs)",
                paper="0",
                tolerance=(
                    "chain 1e-12: rounding of some thousand sums; packets: the packets left in "
                    "the queues at the end over those delivered"
                ),
            ),
            Number(
                "runs in which the expressions differ by no more than the packets left",
                simulation=f"{within} of {len(data)}; largest difference {max(spreads):.1f} packets",
                tolerance=f"at most B1 + B2 = {B1 + B2} packets can be left",
            ),
            Number(
                "flow balance: accepted by queue 1 = accepted by queue 2 + lost at queue 2",
                model=f"{max(flows):.1e}",
                simulation=(
                    f"exact in {conserved} of {len(data)} runs, with the packets left counted"
                ),
                tolerance="chain 1e-12 (rounding); counts of packets: none",
            ),
            Number(
                "lambda_effec,2 exactly as printed, against nu P(j > 0)",
                model=(
                    f"rule 8 replaces rule 6: {printed['exclusive']:.1e}; both fire: "
                    f"{printed['both']:.1e}"
                ),
                tolerance="1e-12 (rounding)",
            ),
            Number(
                f"sparse LU against GTH, throughput, {len(sample)} sets",
                model=f"{methods:.1e}",
                tolerance="1e-12; GTH has no subtraction, so it is the more accurate of the two",
            ),
            agreement(sets, "all their parameter sets"),
        ),
        pictures=(
            Picture(
                draw,
                "Relative disagreement of the three throughput expressions, and defect of the "
                "flow balance, over all parameter sets and packet runs. The chain's values below "
                "1e-17 and the packets' below a thousandth of a packet are drawn there.",
                "Scatter plot over throughput: the chain's points lie between 1e-17 and 1e-14, "
                "far below the tolerance of 1e-12; the packet runs lie below 1e-4, where the "
                "packets left in the queues put them.",
            ),
        ),
        cases=cases,
    )


MEASURES = ("throughput", "effective_rate_1", "loss_rate_2", "mean_queue_1", "mean_queue_2")


@claim("M02")
def m02() -> Finding:
    """Check that T1 = B2 switches the control off."""
    variants = ((None, 2.0), (5, 2.0), (None, 50.0), (5, 0.5), (1, 14.0))
    readings = (("always", "exclusive"), ("up", "both"))

    def largest_spread(high: int) -> float:
        groups = [
            [
                solve(Setting(rates, high, low, rtt, paused_rate, *reading))
                for low, paused_rate in variants
                for reading in readings
            ]
            for rates, rtt in ((LIGHT, 0.1), (LIGHT, 1.0), (LIGHT, 20.0), (THREE, 1.0))
        ]
        return max(_spread([a[m] for a in group]) for group in groups for m in MEASURES)

    spread = largest_spread(B2)
    on = [solve(Setting(LIGHT, 15, low, 1.0, rate)).throughput for low, rate in variants]
    data = runs(OFF)
    tests = {m: welch_test([run.estimates[m] for run in data.values()]) for m in MEASURES}
    never = all(run.estimates["pause_fraction"].value == 0.0 for run in data.values())
    same = all(t.p > LEVEL / len(tests) for t in tests.values())
    widest = max(r.estimates["throughput"].half_width for r in data.values())
    off = solve(Setting(high=B2))

    def draw() -> Figure:
        fig, ax = figure()
        names = [f"T2 = {s.low or s.high}\nmu2 = {s.paused_rate:g}" for s in data]
        for n, measure in enumerate(("throughput", "loss_rate_2", "mean_queue_2")):
            expected = off[measure]
            deviation = [
                ratio_gain(r.estimates[measure], Estimate(expected, 0.0)) for r in data.values()
            ]
            x = [k + 0.15 * (n - 1) for k in range(len(data))]
            points(ax, x, deviation, n, label=measure.replace("_2", ", queue 2").replace("_", " "))
        ax.axhline(0.0, color="black", lw=1)
        ax.text(0.5, 0.03, "chain", ha="center", fontsize=8)
        ax.set(
            ylabel="packets against chain (%)", xticks=range(len(data)), xlabel="mu2 in packets/s"
        )
        ax.set_xticklabels(names)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=3, frameon=False, fontsize=8)
        return fig

    lines = "; ".join(f"{m.replace('_', ' ')} p = {t.p:.2f}" for m, t in tests.items())
    return Finding(
        parts=(
            Part(
                "with T1 = B2 nothing depends on T2 or mu2",
                Verdict.of(spread <= EXACT),
                Verdict.of(same and never),
            ),
        ),
        summary=(
            f"With T1 = B2 five pairs of (T2, mu2) give the same chain to {size_text(spread)}; four "
            f"packet runs do not differ ({lines.split(';')[0]}) and never pause. The same changes "
            f"at T1 = 15 move the throughput between {min(on):.2f} and {max(on):.2f} packets/s."
        ),
        numbers=(
            Number(
                "largest relative spread over T2, mu2 and the readings of the rules, five measures",
                model=f"{spread:.1e}",
                paper="0",
                tolerance="1e-12 (rounding)",
            ),
            Number(
                "homogeneity of the four runs (Welch)",
                simulation=lines,
                tolerance=(
                    f"different when p < {LEVEL:g}/{len(tests)}: 99 % over five measures "
                    f"(Bonferroni); half-width of a throughput {widest:.3f} packets/s, so a "
                    f"difference above about {100 * 2.5 * widest / off.throughput:.1f} % would "
                    "show"
                ),
            ),
            Number(
                "fraction of the time paused",
                model=f"{off.pause_fraction:g}",
                simulation="0 in every run" if never else "not 0",
                tolerance="none: no message is ever sent",
            ),
            Number(
                "throughput over the same T2 and mu2, T1 = 15 (packets/s)",
                model=f"{min(on):.3f} to {max(on):.3f}",
                tolerance="shows that the check can fail",
            ),
            *(
                agreement(data.values(), "T1 = B2", m)
                for m in ("throughput", "loss_rate_2", "mean_queue_2")
            ),
        ),
        pictures=(
            Picture(
                draw,
                "Packet runs with T1 = B2 = 20, lambda1 = 25, RTT 1 s: deviation from the chain, "
                "with 95 % intervals.",
                "Four settings of T2 and mu2: throughput, loss rate and mean queue deviate from "
                "the chain by less than about one per cent, without a trend.",
            ),
        ),
        cases=(OFF,),
    )
