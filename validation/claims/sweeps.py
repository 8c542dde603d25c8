"""The two loss sweeps: one flow over a lossy path in ns-2 against the response functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import responsefn
from hopflow.results import COLOURS, figure
from responsefn import AIMD, PFTK, TFRC
from validation import evidence
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = [
    "INDEPENDENT",
    "PERIODIC",
    "RULES",
    "Points",
    "against",
    "aimd",
    "band",
    "bundled",
    "independent_constant",
    "judge",
    "paired",
    "rows",
    "small_p_limit",
]

RULES = {"TCP(1,1/2)": (1.0, 1 / 2), "TCP(3/7,1/4)": (3 / 7, 1 / 4), "TCP(1/5,1/8)": (1 / 5, 1 / 8)}
PERIODIC = "periodic"
INDEPENDENT = "independent"
CASES = {
    PERIODIC: dict.fromkeys((*RULES, "TFRC"), "zheng2002/periodic-loss"),
    INDEPENDENT: {
        rule: f"zheng2002/independent-loss-{name}"
        for rule, name in zip(
            (*RULES, "TFRC"), ("tcp", "tcp-quarter", "tcp-eighth", "tfrc"), strict=True
        )
    },
}
"""The bundled case of a sweep that has a rule."""
LARGEST = 10_000  # the claims' smallest p is 1e-4
RAREST = 100_000
BEYOND = "none claimed: the claim begins at p = 1e-4"
COLOUR = dict(zip((*RULES, "TFRC"), COLOURS, strict=False))
MARKER = dict(zip((*RULES, "TFRC"), "osD^", strict=True))
FORMS = ("sqrt", "precise", "recovery")
LOOK = 0.01  # s, between two looks of the simulation at its counters
CONFIDENCE = 0.95

RECOVERY_STEPS = {500: 0.01, 100: 0.035}
PRECISE_STEPS = {500: 0.04, 100: 0.10}
SQRT_STEPS = {200: 0.05, 100: 0.10, 50: 0.19, 20: 0.33}
PFTK_STEPS = {100: 0.05, 33: 0.07, 20: 0.13}
"""Tolerances by the smallest k = 1/p at which they apply, measured on runs made before these."""
TFRC_TOLERANCE = 1e-3
CONSTANTS = (1.071, 1.034, 1.017)
"""Rate under independent loss over the law of periodic loss as p -> 0, from the same earlier runs."""
CONSTANT_TOLERANCE = 0.006  # 0.5/sqrt(7500 loss events)

MEASURED_BEFORE = "model bias, measured on earlier runs than these"
SEEDS = f"{MEASURED_BEFORE}; ± sampling, 95 % to either side by five seeds"


@dataclass(frozen=True)
class Points:
    """Ratios of simulated rates to something, one per k, with their intervals.

    Attributes
    ----------
    k
        Packets per loss, shape (n,).
    p
        Measured loss rates, shape (n,).
    ratio, half
        Ratio and half-width of its interval, shape (n,): 95 % confidence to either side, as a
        one-sided comparison with a tolerance needs it (Student's t over the seeds); for a single
        run the discretization of its duration.
    """

    k: NDArray[np.float64]
    p: NDArray[np.float64]
    ratio: NDArray[np.float64]
    half: NDArray[np.float64]

    def where(self, keep: NDArray[np.bool_]) -> Points:
        """Return the points that a mask of shape (n,) keeps."""
        return Points(self.k[keep], self.p[keep], self.ratio[keep], self.half[keep])

    def between(self, smallest: float, below: float = np.inf) -> Points:
        """Return the points with ``smallest`` <= k < ``below``."""
        return self.where((self.k >= smallest) & (self.k < below))

    def worst(self) -> str:
        """Return the largest deviation from 1, with its interval and its place."""
        at = int(np.argmax(np.abs(self.ratio - 1)))
        deviation, half = 100 * (self.ratio[at] - 1), 100 * self.half[at]
        interval = f" ± {half:.1f}" if half >= 0.05 else ""
        return f"{deviation:+.1f}{interval} % at p = 1/{self.k[at]:g}"


def rows(sweep: str, rule: str, smallest: int = 1, largest: int = LARGEST) -> pd.DataFrame:
    """Return the runs of one rule with ``smallest`` <= k = 1/p <= ``largest``, smallest p first."""
    table = evidence.table(CASES[sweep][rule])
    table = table[(table["rule"] == rule) & table["packets_per_loss"].between(smallest, largest)]
    return table.sort_values("packets_per_loss", ascending=False, kind="stable")


def bundled(*sweeps: str) -> tuple[str, ...]:
    """Return the cases that sweeps are in."""
    return tuple(dict.fromkeys(case for sweep in sweeps for case in CASES[sweep].values()))


def against(runs: pd.DataFrame, law: NDArray[np.float64]) -> Points:
    """Return simulated rates over those of a law.

    Parameters
    ----------
    runs
        Rows of a case, n of them.
    law
        Rate in packets/s at the p and mean RTT of each row, shape (n,).
    """
    return _points(runs, runs["rate"].to_numpy() / law)


def paired(runs: pd.DataFrame, reference: pd.DataFrame) -> Points:
    """Return rates over those of a reference at the same k and seed (the same random numbers)."""
    keys = [key for key in ("packets_per_loss", "seed") if key in runs]
    both = runs.merge(reference, on=keys, suffixes=("", "_reference"), validate="one_to_one")
    return _points(both, (both["rate"] / both["rate_reference"]).to_numpy())


def _points(runs: pd.DataFrame, ratio: NDArray[np.float64]) -> Points:
    from scipy.stats import t as student

    frame = runs.assign(ratio=ratio, error=ratio * 2 * LOOK / runs["duration"])
    groups = frame.groupby("packets_per_loss", sort=False)
    count = groups.size().to_numpy()
    quantile = student.ppf(CONFIDENCE, np.maximum(count - 1, 1))
    scatter = quantile * groups["ratio"].std().fillna(0.0).to_numpy() / np.sqrt(count)
    half = np.where(count > 1, scatter, groups["error"].mean().to_numpy())
    k = groups["packets_per_loss"].first().to_numpy(dtype=np.float64)
    return Points(k, groups["p"].mean().to_numpy(), groups["ratio"].mean().to_numpy(), half)


def aimd(runs: pd.DataFrame, form: str, loss: str = "p") -> NDArray[np.float64]:
    """Return the rate of AIMD at the measured mean RTT and column ``loss`` of each row, packets/s."""
    ((a, b),) = set(zip(runs["increase"], runs["decrease"], strict=True))
    rule = AIMD(float(a), float(b), form=form)
    return np.asarray(rule.rate(runs[loss].to_numpy(), runs["mean_rtt"].to_numpy()))


def judge(points: Points, tolerance: float) -> Verdict:
    """Decide whether ratios are 1 within a tolerance.

    Reproduced when every interval lies inside of it, contradicted when one lies outside, not
    reproduced when neither can be said.
    """
    deviation = np.abs(points.ratio - 1)
    return Verdict.of(
        bool(np.all(deviation + points.half <= tolerance)),
        bool(np.any(deviation - points.half > tolerance)),
    )


def band(points: Points, steps: Mapping[int, float]) -> list[tuple[int, float, Points]]:
    """Return for each step of a tolerance the smallest k, the tolerance and the points in it."""
    edges = sorted(steps, reverse=True)
    upper = [np.inf, *edges[:-1]]
    return [(k, steps[k], points.between(k, above)) for k, above in zip(edges, upper, strict=True)]


def _judge_steps(points: Mapping[str, Points], steps: Mapping[int, float]) -> Verdict:
    return Verdict.all_of(
        judge(inside, tolerance)
        for each in points.values()
        for _, tolerance, inside in band(each, steps)
    )


def _span(points: Points) -> str:
    first, last = points.k.max(), points.k.min()
    return f"p = 1/{first:g} to 1/{last:g}" if first > last else f"p = 1/{last:g}"


def _step_numbers(
    points: Mapping[str, Points],
    steps: Mapping[int, float],
    law: str,
    reason: str = MEASURED_BEFORE,
) -> list[Number]:
    """Return a row for each rule and each step of a tolerance: the largest deviation in it."""
    return [
        Number(
            f"{rule}: ns-2 over {law}, {_span(inside)}",
            simulation=inside.worst(),
            tolerance=f"{100 * tolerance:g} %: {reason}",
        )
        for rule, each in points.items()
        for _, tolerance, inside in band(each, steps)
    ]


def _step_text(steps: Mapping[int, float]) -> str:
    return ", ".join(f"{100 * steps[k]:g} % to p = 1/{k}" for k in sorted(steps, reverse=True))


def independent_constant(b: float) -> float:
    """Return how far independent loss lifts AIMD above its square-root law, derived in `responsefn`."""
    return float(responsefn.independent_constant(b))


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
    from scipy.stats import t as student

    near = runs[runs["packets_per_loss"] >= smallest]
    near = near.assign(ratio=near["rate"] / aimd(near, "sqrt"))
    series = [group for _, group in near.groupby("seed")] if "seed" in near else [near]
    limits = [np.polyfit(np.sqrt(each["p"]), each["ratio"], degree)[-1] for each in series]
    count = len(limits)
    if count == 1:
        return float(limits[0]), 0.0
    quantile = student.ppf((1 + CONFIDENCE) / 2, count - 1)
    return float(np.mean(limits)), float(quantile * np.std(limits, ddof=1) / np.sqrt(count))


def loss_axis(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlabel("loss rate p (1)")


def shade(axes: Axes, steps: Mapping[int, float], smallest_p: float = 8e-5) -> None:
    left = smallest_p
    for label, (k, tolerance) in enumerate(sorted(steps.items(), reverse=True)):
        axes.fill_between(
            [left, 1 / k],
            1 - tolerance,
            1 + tolerance,
            color="0.88",
            zorder=0,
            linewidth=0,
            label=None if label else "tolerance",
        )
        left = 1 / k
    axes.axhline(1, color="0.4", linewidth=0.8, zorder=1)


def errorbar(axes: Axes, rule: str, points: Points, label: str | None = None) -> None:
    axes.errorbar(
        points.p,
        points.ratio,
        yerr=points.half,
        fmt=MARKER[rule],
        color=COLOUR[rule],
        markersize=4,
        capsize=2,
        linestyle="none",
        label=rule if label is None else label,
    )


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


def _largest(points: Mapping[str, Points], smallest: int) -> float:
    """Return the largest deviation from 1 in % for k >= smallest."""
    return 100 * max(
        float(np.max(np.abs(each.between(smallest).ratio - 1))) for each in points.values()
    )


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
            f"TCP(a,b): the recovery-corrected form within {_step_text(RECOVERY_STEPS)}",
            no_model,
            _judge_steps(recovery, RECOVERY_STEPS),
        ),
        Part(
            "TCP(a,b): the precise form is above the rate at every p",
            Verdict.of(_precise_exceeds_recovery()),
            Verdict.of(below, above),
        ),
        Part(
            f"TCP(a,b): the precise form within {_step_text(PRECISE_STEPS)}",
            no_model,
            _judge_steps(precise, PRECISE_STEPS),
        ),
        Part(
            f"TFRC: RFC 5348 with the t_RTO that the agent uses within {TFRC_TOLERANCE:g}",
            no_model,
            judge(tfrc, TFRC_TOLERANCE),
        ),
    )
    numbers = [
        *_step_numbers(recovery, RECOVERY_STEPS, "the recovery-corrected form"),
        *_step_numbers(precise, PRECISE_STEPS, "the precise form"),
    ]
    for rule in RULES:
        far = recovery[rule].between(20, 51)
        quantity = f"{rule}: ns-2 over the recovery-corrected form, {_span(far)}"
        reason = "none claimed: a cycle is a few round trips long and locks to halves of them"
        numbers.append(Number(quantity, simulation=far.worst(), tolerance=reason))
        few = rows(PERIODIC, rule, LARGEST + 1, RAREST)
        rare = against(few, aimd(few, "recovery"))
        quantity = f"{rule}: ns-2 over the recovery-corrected form, {_span(rare)}"
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
            f"TFRC: ns-2 over RFC 5348, {_span(tfrc)}",
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
            f"Under periodic loss ns-2's TCP(a,b) is within {_largest(recovery, 500):.1f} % of the "
            f"recovery-corrected form for p <= 2e-3 and within {_largest(recovery, 100):.1f} % for "
            f"p <= 0.01. The precise form is above ns-2 at every p: up to "
            f"{_largest(precise, 500):.1f} %, {_largest(precise, 100):.1f} % and, at 0.05, "
            f"{_largest(precise, 20):.0f} %. TFRC has RFC 5348's rate to {worst_tfrc:.0e}."
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


def _pftk(runs: pd.DataFrame, loss: str) -> NDArray[np.float64]:
    """Return PFTK's rate in packets/s with the column ``loss`` as its p and the measured t_RTO."""
    (rto,) = set(runs["rto"])
    rate = PFTK(rto=float(rto)).rate(runs[loss].to_numpy(), runs["mean_rtt"].to_numpy())
    return np.asarray(rate)


@claim("S02")
def independent_loss() -> Finding:
    """Check the responses to independent loss."""
    runs = {rule: rows(INDEPENDENT, rule) for rule in RULES}
    law = {rule: against(each, aimd(each, "sqrt")) for rule, each in runs.items()}
    by_event = {rule: against(each, aimd(each, "sqrt", "p_event")) for rule, each in runs.items()}
    tcp = runs["TCP(1,1/2)"]
    pftk = against(tcp, _pftk(tcp, "p_event"))
    per_packet = against(tcp, _pftk(tcp, "p"))
    constant = {rule: independent_constant(b) for rule, (_, b) in RULES.items()}
    limit = {rule: small_p_limit(each) for rule, each in runs.items()}
    stated = dict(zip(RULES, CONSTANTS, strict=True))
    near = {k: tolerance for k, tolerance in SQRT_STEPS.items() if k >= 200}
    far = {k: tolerance for k, tolerance in SQRT_STEPS.items() if k < 200}
    small = {rule: each.between(200) for rule, each in law.items()}
    large = {rule: each.between(20, 200) for rule, each in law.items()}
    no_model = Verdict.NOT_APPLICABLE
    parts = (
        Part(
            f"TCP(a,b): the square-root law within {_step_text(near)}, from p = 1e-4",
            Verdict.of(max(constant.values()) - 1 <= SQRT_STEPS[200]),
            _judge_steps(small, near),
        ),
        Part(
            f"TCP(a,b): the square-root law within {_step_text(far)}",
            no_model,
            _judge_steps(large, far),
        ),
        Part(
            f"TCP(1,1/2): PFTK at the loss event rate within {_step_text(PFTK_STEPS)}",
            no_model,
            _judge_steps({"TCP(1,1/2)": pftk}, PFTK_STEPS),
        ),
        Part(
            "as p -> 0 the rates are about "
            + ", ".join(f"{value:g} ({rule})" for rule, value in stated.items())
            + " times the square-root law, which periodic loss gives",
            Verdict.of(
                all(abs(constant[rule] - stated[rule]) <= CONSTANT_TOLERANCE for rule in RULES)
            ),
            Verdict.of(all(abs(limit[rule][0] - stated[rule]) <= limit[rule][1] for rule in RULES)),
        ),
    )
    numbers = [
        *_step_numbers(law, SQRT_STEPS, "the square-root law", SEEDS),
        *_step_numbers(by_event, SQRT_STEPS, "the square-root law at the loss event rate", SEEDS),
        *_step_numbers({"TCP(1,1/2)": pftk}, PFTK_STEPS, "PFTK at the loss event rate", SEEDS),
        *_step_numbers({"TCP(1,1/2)": per_packet}, PFTK_STEPS, "PFTK at the drop rate", SEEDS),
    ]
    for rule in RULES:
        value, half = limit[rule]
        periodic, _ = small_p_limit(rows(PERIODIC, rule))
        numbers.append(
            Number(
                f"{rule}: rate over the square-root law as p -> 0",
                model=f"{constant[rule]:.4f} (derived)",
                simulation=f"{value:.4f} ± {half:.4f} (periodic loss: {periodic:.4f})",
                tolerance=f"stated: {stated[rule]:g}; ± is 95 %, Student's t over five seeds, each "
                "a quadratic in sqrt(p) fitted to p <= 5e-3; 0.5/sqrt(7500 loss events) = 0.006 for "
                "the stated value",
            )
        )
        few = rows(INDEPENDENT, rule, LARGEST + 1, RAREST)
        rare = against(few, aimd(few, "sqrt"))
        numbers.append(
            Number(
                f"{rule}: ns-2 over the square-root law, {_span(rare)}",
                f"{100 * (constant[rule] - 1):+.1f} % (derived for p -> 0)",
                rare.worst(),
                tolerance=f"{BEYOND}; 150 to 400 loss events for each p",
            )
        )
    tfrc_runs = rows(INDEPENDENT, "TFRC")
    rto = float(tfrc_runs["rto"].iloc[0])
    equation = TFRC(rto=rto).rate(tfrc_runs["p_event"].to_numpy(), tfrc_runs["mean_rtt"].to_numpy())
    tfrc = against(tfrc_runs, np.asarray(equation))
    numbers.append(
        Number(
            f"TFRC: ns-2 over RFC 5348 at the loss event rate, {_span(tfrc)}",
            simulation=f"{100 * (tfrc.ratio.min() - 1):+.1f} to {100 * (tfrc.ratio.max() - 1):+.1f} %",
            tolerance="none claimed: TFRC averages eight random loss intervals before the equation",
        )
    )
    crowded = tcp[tcp["packets_per_loss"] == 20].sum(numeric_only=True)
    first, last = law["TCP(1,1/2)"], law["TCP(1/5,1/8)"]
    return Finding(
        parts=parts,
        summary=(
            "Under independent loss TCP(1,1/2) exceeds the 5 % allowed up to p = 5e-3 at the two "
            f"smallest p ({_at(first, 10000)}, {_at(first, 5000)}) and keeps it from "
            f"{_at(first, 2000)} on; the other "
            "two rules keep it, and the wider tolerances above hold "
            f"({_at(last, 20)} for TCP(1/5,1/8)). PFTK at the loss event rate is at the edge with "
            f"{_at(pftk, 10000)} and within "
            f"{100 * float(np.max(np.abs(pftk.between(20, 1001).ratio - 1))):.1f} % for p >= 1e-3. "
            "The constants come out: "
            + ", ".join(f"{value:.3f} ± {half:.3f}" for value, half in limit.values())
            + " for b = 1/2, 1/4, 1/8."
        ),
        explanation=(
            "The square-root law assumes equal loss intervals. Random ones lift it by a constant "
            "that follows from the window's distribution and grows with b: "
            + ", ".join(f"{value:.4f}" for value in constant.values())
            + ". So the law cannot stay within 5 % for TCP(1,1/2) as p -> 0; at larger p it did "
            "because the round trips that the law leaves out, a share of order sqrt(p), work against "
            f"the constant and cancel it near p = 5e-3 ({_at(first, 200)}). PFTK, too, puts the mean "
            f"loss interval for the random one, hence {_at(pftk, 10000)} and {_at(pftk, 5000)}. Its "
            "p is that of loss events: at p = 0.05 "
            f"{100 * (1 - crowded['loss_events'] / crowded['drops']):.0f} % of the drops come less "
            "than a round trip after one that began a loss event, SACK repairs them together, and with all drops as p "
            f"PFTK would be off by {_at(per_packet, 20)} instead of {_at(pftk, 20)}. There "
            f"{crowded['timeouts']:.0f} of {crowded['cuts']:.0f} window cuts are timeouts, which the "
            "square-root law does not know; after one the window has half its size to regain, W/(2a) "
            "round trips whatever b is: 0.5 W for a = 1 and 2.5 W for a = 1/5. With loss events as "
            "p the square-root law would be off by "
            f"{_at(by_event['TCP(1,1/2)'], 10000)} and, for TCP(1/5,1/8), by "
            f"{_at(by_event['TCP(1/5,1/8)'], 20)}."
        ),
        numbers=tuple(numbers),
        pictures=(
            Picture(
                lambda: _independent_figure(law, constant, pftk, per_packet),
                "Independent loss, ns-2's rate over the square-root law (top; short lines: the "
                "limits derived for p -> 0) and, for TCP(1,1/2), over PFTK with t_RTO = 0.2 s at the "
                "rate of loss events and at that of drops (bottom). Bars: 95 % to either side.",
                "Two panels of ratios over loss rates from 1e-4 to 0.05. Top: ns-2 over the "
                "square-root law starts at 1.06, 1.03 and 1.01 for b = 1/2, 1/4 and 1/8, below the "
                "derived limits, and falls to 0.79, 0.77 and 0.71; only TCP(1,1/2) leaves the grey "
                "tolerance, at p = 1e-4 and 2e-4. Bottom: over PFTK at the loss event rate the ratio "
                "falls from 1.05 to 1.00 and stays; at the drop rate it grows to 1.16.",
            ),
            Picture(
                lambda: _constant_figure(limit),
                "How much independent loss lifts AIMD above the law of periodic loss as p -> 0: "
                "derived, and extrapolated from ns-2 (bars: 95 % intervals over five seeds).",
                "The derived constant grows with b from 1 to 1.10 at b = 0.7; the three values from "
                "ns-2, at b = 1/8, 1/4 and 1/2, lie on it within their error bars.",
            ),
        ),
        cases=bundled(INDEPENDENT, PERIODIC),
    )


def _at(points: Points, k: int) -> str:
    """Return the deviation from 1 at one k."""
    return points.between(k, k + 1).worst()


def _independent_figure(
    law: Mapping[str, Points],
    constant: Mapping[str, float],
    pftk: Points,
    per_packet: Points,
) -> Figure:
    new, (top, bottom) = figure(6.4, 5.8, nrows=2, sharex=True)
    shade(top, SQRT_STEPS)
    for rule in RULES:
        errorbar(top, rule, law[rule])
        top.plot([8e-5, 6e-4], [constant[rule]] * 2, color=COLOUR[rule], linewidth=1)
    shade(bottom, PFTK_STEPS)
    errorbar(bottom, "TCP(1,1/2)", pftk, label="TCP(1,1/2), p of loss events")
    bottom.errorbar(
        per_packet.p,
        per_packet.ratio,
        yerr=per_packet.half,
        fmt="x",
        color=COLOURS[3],
        markersize=4,
        capsize=2,
        label="TCP(1,1/2), p of drops",
    )
    top.set_ylabel("ns-2 / square-root law (1)")
    bottom.set_ylabel("ns-2 / PFTK (1)")
    top.legend(fontsize=8, loc="lower left", title="lines: limits as p → 0", title_fontsize=8)
    bottom.legend(fontsize=8, loc="upper left")
    loss_axis(bottom)
    return new


def _constant_figure(limit: Mapping[str, tuple[float, float]]) -> Figure:
    new, axes = figure(6.4, 3.2)
    b = np.linspace(0.02, 0.7, 200)
    axes.plot(b, [independent_constant(value) for value in b], color="0.3", label="derived")
    for rule, (_, decrease) in RULES.items():
        value, half = limit[rule]
        axes.errorbar(
            [decrease],
            [value],
            yerr=[half],
            fmt=MARKER[rule],
            color=COLOUR[rule],
            markersize=5,
            capsize=3,
            label=f"ns-2, {rule}",
        )
    axes.set_xlabel("part of the window given up at a loss, b (1)")
    axes.set_ylabel("rate / square-root law, p → 0 (1)")
    axes.legend(fontsize=8)
    return new
