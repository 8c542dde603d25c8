"""AIMD, PFTK and TFRC under independent loss in ns-2 against their response functions (S02)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopflow.intervals import half_width
from responsefn import PFTK, TFRC, independent_constant
from validation.checks import claim
from validation.claims.zheng2002 import loss_sweeps
from validation.claims.zheng2002.loss_sweeps import (
    INDEPENDENT,
    LIFT,
    REFERENCE,
    RULES,
    Points,
    against,
    draw_points,
    judge_steps,
    rows,
)
from validation.display.drawing import COLOURS, errorbars, figure, label
from validation.judgements.verdicts import Judgement, Verdict, model_only
from validation.statistics import Values

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SQRT_STEPS = {200: 0.05, 100: 0.10, 50: 0.19, 20: 0.33}
PFTK_STEPS = {100: 0.05, 33: 0.07, 20: 0.13}
"""Tolerances by the smallest k = 1/p at which they apply, measured on runs made before these."""
NEAR_STEPS = {k: tolerance for k, tolerance in SQRT_STEPS.items() if k >= 200}
FAR_STEPS = {k: tolerance for k, tolerance in SQRT_STEPS.items() if k < 200}
STATED = dict(zip(RULES, (1.071, 1.034, 1.017), strict=True))
"""Rate under independent loss over the periodic law as p -> 0, from the same earlier runs."""
CONSTANT_TOLERANCE, EVENTS = 0.006, 7500
"""Sampling error of these constants, 0.5/sqrt(loss events)."""


@dataclass(frozen=True)
class IndependentLoss:
    """ns-2's rates over response functions.

    Attributes
    ----------
    law, by_event
        TCP(a, b), by rule, over the square-root law at the drop rate, and at that of loss events.
    rare
        Over the first of them below the claim's p.
    pftk, per_packet
        TCP(1,1/2) over PFTK at the loss event rate, and at the drop rate.
    limit, periodic_limit
        Ratio to the square-root law as p -> 0 with its half-width, by rule; under periodic loss.
    tfrc
        Of TFRC over RFC 5348 at the loss event rate.
    crowded
        Sums over the runs of TCP(1,1/2) at the largest p.
    """

    law: dict[str, Points]
    by_event: dict[str, Points]
    rare: dict[str, Points]
    pftk: Points
    per_packet: Points
    limit: dict[str, tuple[float, float]]
    periodic_limit: dict[str, float]
    tfrc: Points
    crowded: dict[str, float]

    @property
    def together(self) -> float:
        """Fraction of the drops at the largest p that belong to a loss event already begun."""
        return 1 - self.crowded["loss_events"] / self.crowded["drops"]


def pftk(runs: pd.DataFrame, loss: str) -> Values:
    """Return PFTK's rate in packets/s with the column ``loss`` as its p and the measured t_RTO."""
    (rto,) = set(runs["rto"])
    rate = PFTK(rto=float(rto)).rate(runs[loss].to_numpy(), runs["mean_rtt"].to_numpy())
    return np.asarray(rate)


def small_p_limit(runs: pd.DataFrame, smallest: int = 200, degree: int = 2) -> tuple[float, float]:
    """Return the ratio to the square-root law as p -> 0, and its 95 % half-width.

    For each seed a polynomial in sqrt(p), in which the loss cycle's corrections proceed, is fitted
    to the ratios; its value at 0 is averaged over the seeds (runs of one seed share their random
    numbers). Without seeds the half-width is 0.

    Parameters
    ----------
    runs
        Rows of one rule.
    smallest
        Only k >= smallest, that is p <= 1/smallest.
    degree
        Of the polynomial.
    """
    near = runs[runs["packets_per_loss"] >= smallest]
    near = near.assign(ratio=near["rate"] / loss_sweeps.aimd(near, "sqrt"))
    series = [group for _, group in near.groupby("seed")] if "seed" in near else [near]
    limits = [np.polyfit(np.sqrt(each["p"]), each["ratio"], degree)[-1] for each in series]
    return float(np.mean(limits)), float(half_width(limits)) if len(limits) > 1 else 0.0


@claim("S02", cases=loss_sweeps.bundled(INDEPENDENT, loss_sweeps.PERIODIC))
def measure() -> IndependentLoss:
    """Compare the runs under independent loss with the response functions."""
    few = {rule: rows(INDEPENDENT, rule, loss_sweeps.LARGEST + 1, loss_sweeps.RAREST) for rule in RULES}
    tcp, tfrc = rows(INDEPENDENT, REFERENCE), rows(INDEPENDENT, "TFRC")
    equation = TFRC(rto=float(tfrc["rto"].iloc[0]))
    rate = equation.rate(tfrc["p_event"].to_numpy(), tfrc["mean_rtt"].to_numpy())
    crowded = tcp[tcp["packets_per_loss"] == 20].sum(numeric_only=True)
    return IndependentLoss(
        loss_sweeps.over_form(INDEPENDENT, "sqrt"),
        loss_sweeps.over_form(INDEPENDENT, "sqrt", "p_event"),
        {rule: against(each, loss_sweeps.aimd(each, "sqrt")) for rule, each in few.items()},
        against(tcp, pftk(tcp, "p_event")),
        against(tcp, pftk(tcp, "p")),
        {rule: small_p_limit(rows(INDEPENDENT, rule)) for rule in RULES},
        {rule: small_p_limit(rows(loss_sweeps.PERIODIC, rule))[0] for rule in RULES},
        against(tfrc, np.asarray(rate)),
        {name: float(crowded[name]) for name in ("loss_events", "drops", "timeouts", "cuts")},
    )


measure.constants_of(loss_sweeps)


@measure.judge
def judge(found: IndependentLoss, *, constant: float = CONSTANT_TOLERANCE) -> Judgement:
    """Judge each law by the tolerances stated before, and the constants."""
    small = {rule: each.between(200) for rule, each in found.law.items()}
    large = {rule: each.between(20, 200) for rule, each in found.law.items()}
    derived = all(abs(LIFT[rule] - STATED[rule]) <= constant for rule in RULES)
    seen = all(abs(value - STATED[rule]) <= half for rule, (value, half) in found.limit.items())
    return {
        "near": model_only(judge_steps(small, NEAR_STEPS)),
        "far": model_only(judge_steps(large, FAR_STEPS)),
        "pftk": model_only(judge_steps({REFERENCE: found.pftk}, PFTK_STEPS)),
        "constants": model_only(Verdict.of(derived and seen)),
    }


@measure.draw
def ratios(found: IndependentLoss) -> Figure:
    """Draw the ratios over the loss rate."""
    fig, (top, bottom) = figure(6.4, 5.8, nrows=2, sharex=True)
    loss_sweeps.shade(top, SQRT_STEPS)
    for rule in RULES:
        draw_points(top, rule, found.law[rule])
        top.plot([8e-5, 6e-4], [LIFT[rule]] * 2, color=loss_sweeps.COLOUR[rule], lw=1)
    loss_sweeps.shade(bottom, PFTK_STEPS)
    draw_points(bottom, REFERENCE, found.pftk, f"{REFERENCE}, p of loss events")
    name = f"{REFERENCE}, p of drops"
    draw_points(bottom, REFERENCE, found.per_packet, name, marker="x", color=COLOURS[3])
    top.set_ylabel("ns-2 / square-root law (1)")
    label(bottom, "loss rate p (1)", "ns-2 / PFTK (1)", log="x")
    top.legend(fontsize=8, loc="lower left", title="lines: limits as p → 0", title_fontsize=8)
    bottom.legend(fontsize=8, loc="upper left")
    return fig


@measure.draw
def constants(found: IndependentLoss) -> Figure:
    """Draw the limits as p -> 0 over the part of the window given up."""
    fig, ax = figure(6.4, 3.2)
    b = np.linspace(0.02, 0.7, 200)
    ax.plot(b, np.asarray(independent_constant(b)), color="0.3", label="derived")
    for rule, (_, decrease) in RULES.items():
        value, half = found.limit[rule]
        style = {
            "color": loss_sweeps.COLOUR[rule],
            "markersize": 5,
            "capsize": 3,
            "label": f"ns-2, {rule}",
        }
        errorbars(ax, [decrease], [value], [half], loss_sweeps.MARKER[rule], **style)
    label(ax, "part of the window given up at a loss, b (1)", "rate / square-root law, p → 0 (1)")
    ax.legend(fontsize=8)
    return fig
