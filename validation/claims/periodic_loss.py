"""S01: AIMD and TFRC under periodic loss in ns-2 against their response functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from hopflow.results import figure
from responsefn import TFRC
from validation.claims.sweeps import (
    BEYOND,
    COLOUR,
    LARGEST,
    PERIODIC,
    RAREST,
    RULES,
    Points,
    against,
    aimd,
    bundled,
    errorbar,
    judge,
    judge_steps,
    largest_deviation,
    loss_axis,
    rows,
    shade,
    span,
    step_numbers,
    step_text,
)
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

FORMS = ("sqrt", "precise", "recovery")
RECOVERY_STEPS = {500: 0.01, 100: 0.035}
PRECISE_STEPS = {500: 0.04, 100: 0.10}
"""Tolerances by the smallest k = 1/p at which they apply, measured on runs made before these."""
TFRC_TOLERANCE = 1e-3


def _tfrc_as_printed(p: NDArray[np.float64], rtt: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return TFRC's rate with t_RTO = 4 RTT as zheng2002 prints it, without 3 and the root."""
    return 1 / (rtt * np.sqrt(2 * p / 3) + 4 * rtt * (3 * p / 8) * p * (1 + 32 * p**2))


def _precise_exceeds_recovery() -> bool:
    """Return whether SymPy confirms that the precise form is the larger one at all a, b and p.

    At the same peak W the recovery form carries (1-b) W packets more per cycle, hence its peak is
    lower at the same p; and its packets per round trip, N/D, are fewer, because
    N_recovery D_precise - N_precise D_recovery = -(b/2) W (bW/a + 1). Both lower its rate.
    """
    import sympy as sp
    from responsefn.symbolic import a

    W, kept = sp.symbols("W kept", positive=True)  # kept = 1 - b
    b = 1 - kept
    rounds = b * W / a + 1
    packets, more = (2 - b) / 2 * W * rounds, kept * W
    slower = (packets + more) * rounds - packets * (rounds + 1)
    return bool(more.is_positive and sp.simplify(slower + b / 2 * W * rounds) == 0)


def _rounds(runs: pd.DataFrame, k: int, form: str) -> float:
    """Return the length of a loss cycle in round trips, as a form has it or ``"measured"``."""
    row = runs[runs["packets_per_loss"] == k]
    if form == "measured":
        return float((row["duration"] / row["drops"] / row["mean_rtt"]).mean())
    return float((1 / (row["p"] * row["mean_rtt"] * aimd(row, form))).mean())


def _one(runs: pd.DataFrame, k: int, column: str) -> float:
    return float(runs.loc[runs["packets_per_loss"] == k, column].mean())


@claim("S01")
def periodic_loss() -> Finding:
    """Check the responses to periodic loss."""
    runs = {rule: rows(PERIODIC, rule) for rule in RULES}
    recovery = {rule: against(each, aimd(each, "recovery")) for rule, each in runs.items()}
    precise = {rule: against(each, aimd(each, "precise")) for rule, each in runs.items()}
    tfrc_runs = rows(PERIODIC, "TFRC")
    p, rtt = tfrc_runs["p"].to_numpy(), tfrc_runs["mean_rtt"].to_numpy()
    (rto,) = set(tfrc_runs["rto"])
    tfrc = against(tfrc_runs, np.asarray(TFRC(rto=float(rto)).rate(p, rtt)))
    printed = against(tfrc_runs, _tfrc_as_printed(p, rtt))
    below = all(np.all(each.ratio + each.half < 1) for each in precise.values())
    above = any(np.any(each.ratio - each.half > 1) for each in precise.values())
    no_model = Verdict.NOT_APPLICABLE
    parts = (
        Part(
            f"TCP(a,b): the recovery-corrected form within {step_text(RECOVERY_STEPS)}",
            no_model,
            judge_steps(recovery, RECOVERY_STEPS),
        ),
        Part(
            "TCP(a,b): the precise form is above the rate at every p",
            Verdict.of(_precise_exceeds_recovery()),
            Verdict.of(below, above),
        ),
        Part(
            f"TCP(a,b): the precise form within {step_text(PRECISE_STEPS)}",
            no_model,
            judge_steps(precise, PRECISE_STEPS),
        ),
        Part(
            f"TFRC: RFC 5348 with the t_RTO that the agent uses within {TFRC_TOLERANCE:g}",
            no_model,
            judge(tfrc, TFRC_TOLERANCE),
        ),
    )
    numbers = [
        *step_numbers(recovery, RECOVERY_STEPS, "the recovery-corrected form"),
        *step_numbers(precise, PRECISE_STEPS, "the precise form"),
    ]
    for rule in RULES:
        far = recovery[rule].between(20, 51)
        quantity = f"{rule}: ns-2 over the recovery-corrected form, {span(far)}"
        reason = "none claimed: a cycle is a few round trips long and locks to halves of them"
        numbers.append(Number(quantity, simulation=far.worst(), tolerance=reason))
        few = rows(PERIODIC, rule, LARGEST + 1, RAREST)
        rare = against(few, aimd(few, "recovery"))
        quantity = f"{rule}: ns-2 over the recovery-corrected form, {span(rare)}"
        numbers.append(Number(quantity, simulation=rare.worst(), tolerance=BEYOND))
    tcp = runs["TCP(1,1/2)"]
    for k in (1000, 100, 20):
        numbers.append(
            Number(
                f"TCP(1,1/2): round trips per loss cycle, p = 1/{k}",
                model=", ".join(f"{_rounds(tcp, k, form):.2f} ({form})" for form in FORMS),
                simulation=f"{_rounds(tcp, k, 'measured'):.2f}",
                tolerance="discretization: bursts keep their places, steps of half a round trip",
            )
        )
    worst_tfrc = float(np.max(np.abs(tfrc.ratio - 1)))
    numbers += [
        Number(
            f"TFRC: ns-2 over RFC 5348, {span(tfrc)}",
            simulation=f"largest deviation {worst_tfrc:.1e}",
            tolerance=f"{TFRC_TOLERANCE:g}: discretization of clock and rate, measured before",
        ),
        Number(
            "TFRC: ns-2 over the equation as zheng2002 prints it, p = 1/20",
            simulation=f"{100 * (printed.ratio[-1] - 1):+.1f} %",
            tolerance="none: the printed timeout term lacks the factor 3 and the square root",
        ),
    ]
    return Finding(
        parts=parts,
        summary=(
            f"Under periodic loss ns-2's TCP(a,b) is within {largest_deviation(recovery, 500):.1f} % of the "
            f"recovery-corrected form for p <= 2e-3 and within {largest_deviation(recovery, 100):.1f} % for "
            f"p <= 0.01. The precise form is above ns-2 at every p: up to "
            f"{largest_deviation(precise, 500):.1f} %, {largest_deviation(precise, 100):.1f} % and, at 0.05, "
            f"{largest_deviation(precise, 20):.0f} %. TFRC has RFC 5348's rate to {worst_tfrc:.0e}."
        ),
        explanation=(
            "The precise form counts bW/a + 1 round trips per cycle and leaves out the one in which "
            "the lost packet is sent again and the window stands still: at p = 0.01 a cycle of "
            f"TCP(1,1/2) takes {_rounds(tcp, 100, 'measured'):.2f} round trips in ns-2, "
            f"{_rounds(tcp, 100, 'precise'):.2f} by the precise and "
            f"{_rounds(tcp, 100, 'recovery'):.2f} by the recovery-corrected form. What remains comes "
            "in steps: a window leaves as a burst that keeps its place in the round trip, so that "
            "cycles lock to halves of one. Half a round trip is 1 % of a cycle of 50 and 8 % of one "
            f"of 6, and at p = 0.05 TCP(1,1/2) needs {_rounds(tcp, 20, 'measured'):.2f} where the "
            f"corrected form has {_rounds(tcp, 20, 'recovery'):.2f}: its window averages "
            f"{_one(tcp, 20, 'mean_cwnd'):.2f} packets, of which only whole ones leave, "
            f"{_one(tcp, 20, 'rate') * _one(tcp, 20, 'mean_rtt'):.2f} per round trip. Timeouts in "
            f"all runs: {int(sum(each['timeouts'].sum() for each in runs.values()))}. TFRC meets its "
            "equation because periodic loss makes all its loss intervals equal and its t_RTO is "
            "pinned to four round trips."
        ),
        numbers=tuple(numbers),
        pictures=(
            Picture(
                lambda: _periodic_figure(runs, precise, recovery, tfrc),
                "Periodic loss, ns-2's rate over that of a form. Top: over the precise form; the "
                "lines are what one more round trip for the recovery predicts. Bottom: over the "
                "recovery-corrected form (TFRC: over RFC 5348).",
                "Two panels of ratios over loss rates from 1e-4 to 0.05. Top: ns-2 over the precise "
                "form falls from 0.99 to 0.70 for TCP(1,1/2) and to 0.78 for TCP(1/5,1/8), near the "
                "lines of the recovery-corrected form. Bottom: ns-2 over that form stays in the grey "
                "tolerance up to p = 0.01, then falls to between 0.82 and 0.90; TFRC stays at 1.",
            ),
        ),
        cases=bundled(PERIODIC),
    )


def _periodic_figure(
    runs: Mapping[str, pd.DataFrame],
    precise: Mapping[str, Points],
    recovery: Mapping[str, Points],
    tfrc: Points,
) -> Figure:
    new, (top, bottom) = figure(6.4, 5.6, nrows=2, sharex=True)
    for rule in RULES:
        line = aimd(runs[rule], "recovery") / aimd(runs[rule], "precise")
        top.plot(runs[rule]["p"], line, color=COLOUR[rule], linewidth=1)
        errorbar(top, rule, precise[rule])
        errorbar(bottom, rule, recovery[rule])
    errorbar(bottom, "TFRC", tfrc)
    shade(bottom, RECOVERY_STEPS)
    top.axhline(1, color="0.4", linewidth=0.8)
    top.set_ylabel("ns-2 / precise form (1)")
    bottom.set_ylabel("ns-2 / corrected form (1)")
    top.legend(fontsize=8, title="points ns-2, lines corrected form", title_fontsize=8)
    bottom.legend(fontsize=8, loc="lower left")
    loss_axis(bottom)
    return new
