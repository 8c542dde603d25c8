"""AIMD and TFRC under periodic loss in ns-2 against their response functions (S01)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from responsefn import TFRC
from validation.checks import claim
from validation.claims.zheng2002 import loss_sweeps
from validation.claims.zheng2002.loss_sweeps import (
    PERIODIC,
    REFERENCE,
    RULES,
    Points,
    against,
    aimd,
    draw_points,
    rows,
)
from validation.display.drawing import figure, label
from validation.judgements.verdicts import Judgement, Verdict, model_only
from validation.statistics import Values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMS = ("sqrt", "precise", "recovery")
RECOVERY_STEPS = {500: 0.01, 100: 0.035}
PRECISE_STEPS = {500: 0.04, 100: 0.10}
"""Tolerances by the smallest k = 1/p at which they apply, measured on runs made before these."""
TFRC_TOLERANCE = 1e-3
"""Discretization of clock and rate in ns-2, measured before."""
CYCLES = (1000, 100, 20)
"""k for which the text quotes the length of the loss cycle."""


@dataclass(frozen=True)
class PeriodicLoss:
    """ns-2's rates over response functions.

    Attributes
    ----------
    recovery, precise
        Of TCP(a, b), by rule, over these forms; ``rare`` over the first below the claim's p.
    tfrc, printed
        Of TFRC over RFC 5348's equation, and over that of zheng2002 as printed.
    larger
        Whether SymPy confirms that the precise form is the larger one.
    timeouts
        Timeouts in all runs.
    """

    recovery: dict[str, Points]
    precise: dict[str, Points]
    rare: dict[str, Points]
    tfrc: Points
    printed: Points
    larger: bool
    timeouts: int

    def largest(self, points: dict[str, Points], smallest: int) -> float:
        """Return the largest deviation from 1 of any rule in per cent for k >= smallest."""
        return max(each.largest(smallest) for each in points.values())

    def rounds(self, k: int, form: str) -> float:
        """Return the round trips of a loss cycle of TCP(1,1/2), as a form has them."""
        row = loss_sweeps.rows_at(PERIODIC, REFERENCE, k)
        return float((1 / (row["p"] * row["mean_rtt"] * aimd(row, form))).mean())

    def measured_rounds(self, k: int) -> float:
        """Return the measured round trips of such a cycle."""
        return loss_sweeps.cycle(REFERENCE, k)

    def mean(self, k: int, column: str) -> float:
        """Return the mean of a column over the runs of TCP(1,1/2) at one k."""
        return float(loss_sweeps.rows_at(PERIODIC, REFERENCE, k)[column].mean())

    @property
    def worst_tfrc(self) -> float:
        """The largest relative deviation of TFRC from RFC 5348."""
        return float(np.max(np.abs(self.tfrc.ratio - 1)))


def tfrc_as_printed(p: Values, rtt: Values) -> Values:
    """Return TFRC's rate with t_RTO = 4 RTT as zheng2002 prints it, without 3 and the root."""
    return 1 / (rtt * np.sqrt(2 * p / 3) + 4 * rtt * (3 * p / 8) * p * (1 + 32 * p**2))


def precise_exceeds_recovery() -> bool:
    """Return whether SymPy confirms that the precise form is the larger one at all a, b and p.

    At the same peak W the recovery form carries (1-b) W packets more per cycle, hence its peak is
    lower at the same p; and its packets per round trip, N/D, are fewer, because
    N_recovery D_precise - N_precise D_recovery = -(b/2) W (bW/a + 1). Both lower its rate.
    """
    import sympy as sp

    from responsefn.closed_forms.symbolic import a

    W, kept = sp.symbols("W kept", positive=True)  # kept = 1 - b
    b = 1 - kept
    rounds = b * W / a + 1
    packets, more = (2 - b) / 2 * W * rounds, kept * W
    slower = (packets + more) * rounds - packets * (rounds + 1)
    return bool(more.is_positive and sp.simplify(slower + b / 2 * W * rounds) == 0)


@claim("S01", cases=loss_sweeps.bundled(PERIODIC))
def measure() -> PeriodicLoss:
    """Compare the runs under periodic loss with the response functions."""
    few = {rule: rows(PERIODIC, rule, loss_sweeps.LARGEST + 1, loss_sweeps.RAREST) for rule in RULES}
    tfrc = rows(PERIODIC, "TFRC")
    p, rtt = tfrc["p"].to_numpy(), tfrc["mean_rtt"].to_numpy()
    (rto,) = set(tfrc["rto"])
    return PeriodicLoss(
        loss_sweeps.over_form(PERIODIC, "recovery"),
        loss_sweeps.over_form(PERIODIC, "precise"),
        {rule: against(each, aimd(each, "recovery")) for rule, each in few.items()},
        against(tfrc, np.asarray(TFRC(rto=float(rto)).rate(p, rtt))),
        against(tfrc, tfrc_as_printed(p, rtt)),
        precise_exceeds_recovery(),
        int(sum(rows(PERIODIC, rule)["timeouts"].sum() for rule in RULES)),
    )


measure.constants_of(loss_sweeps)


@measure.judge
def judge(found: PeriodicLoss, *, tfrc: float = TFRC_TOLERANCE) -> Judgement:
    """Judge each form by the tolerances stated before."""
    precise = found.precise.values()
    below = all(np.all(each.ratio + each.half < 1) for each in precise)
    above = any(np.any(each.ratio - each.half > 1) for each in precise)
    return {
        "recovery": model_only(loss_sweeps.judge_steps(found.recovery, RECOVERY_STEPS)),
        "larger": model_only(Verdict.all_of([Verdict.of(found.larger), Verdict.of(below, above)])),
        "precise": model_only(loss_sweeps.judge_steps(found.precise, PRECISE_STEPS)),
        "tfrc": model_only(found.tfrc.keeps(tfrc)),
    }


@measure.draw
def ratios(found: PeriodicLoss) -> Figure:
    """Draw the ratios over the loss rate."""
    fig, (top, bottom) = figure(6.4, 5.6, nrows=2, sharex=True)
    for rule in RULES:
        runs = rows(PERIODIC, rule)
        line = aimd(runs, "recovery") / aimd(runs, "precise")
        top.plot(runs["p"], line, color=loss_sweeps.COLOUR[rule], lw=1)
        draw_points(top, rule, found.precise[rule])
        draw_points(bottom, rule, found.recovery[rule])
    draw_points(bottom, "TFRC", found.tfrc)
    loss_sweeps.shade(bottom, RECOVERY_STEPS)
    top.axhline(1, color="0.4", lw=0.8)
    top.set_ylabel("ns-2 / precise form (1)")
    label(bottom, "loss rate p (1)", "ns-2 / corrected form (1)", log="x")
    top.legend(fontsize=8, title="points ns-2, lines corrected form", title_fontsize=8)
    bottom.legend(fontsize=8, loc="lower left")
    return fig
