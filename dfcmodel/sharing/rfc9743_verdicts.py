"""Verdicts on the sections of RFC 9743: no worse than NewReno, worse on at least one path, or undecided."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hopflow.intervals import half_width, t_quantile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from dfcmodel.sharing.rfc9743_measures import Quantity

__all__ = ["ANSWERS", "MARGIN", "NOMINAL_LEVEL", "Difference", "SectionVerdict", "differences", "judge"]

MARGIN = 0.05
"""Tolerated disadvantage to NewReno: five percentage points, or 5 % of NewReno's value."""
NOMINAL_LEVEL = 0.98
"""Nominal level of Student's intervals whose seeds stop where they are narrow, so that they cover at 95 %.

An interval that ends its own run is narrow by chance more often: with at least three seeds, budgets of 8, 16 and 64,
and standard deviations of single runs of 0.005 to 0.2 (20,000 normal samples each), a nominal 95 % covers in 90 to 95 %
of cases, a nominal 98 % in 95.1 to 99 %."""
ANSWERS = ("holds", "contradicted", "undecided", "not judged")
PATH_SECTIONS = {"7.5": "(7.5,", "7.11": "(7.11,"}
"""Sections that are a path: all measures on the paths that name them."""


class Difference(NamedTuple):
    """Mean advantage of a rule over NewReno, as a part of NewReno's or of 1, with a 95 % interval over paired seeds.

    Shares have percentage points, other measures a part of NewReno's mean. Negative is worse.
    """

    value: float
    low: float
    high: float


class SectionVerdict(NamedTuple):
    """Verdict on a section of RFC 9743, one of `ANSWERS`, and its reason."""

    section: str
    answer: str
    why: str


def differences(quantity: Quantity, values: Sequence[float], reference: Sequence[float]) -> Difference:
    """Return how much better a rule is than NewReno, as a part of NewReno's mean (shares: of 1), from values per run.

    A value that is not finite (a flow that did not finish) is the worst value. If the rule has it on all seeds and
    NewReno on none, the difference is minus infinity. Otherwise the difference is NaN if any value is not finite.
    """
    rule_values, standard = np.asarray(values, dtype=float), np.asarray(reference, dtype=float)
    if quantity.better == "near 0":
        rule_values, standard = np.abs(rule_values), np.abs(standard)
    rule_finite, reference_finite = np.isfinite(rule_values), np.isfinite(standard)
    if not rule_finite.any() and reference_finite.all():
        return Difference(-np.inf, -np.inf, -np.inf)
    if not (rule_finite.all() and reference_finite.all()):
        return Difference(np.nan, np.nan, np.nan)
    sign = 1.0 if quantity.better == "high" else -1.0
    mean = sign * float(rule_values.mean() - standard.mean())
    residuals = rule_values - standard
    if not quantity.share:
        scale = float(standard.mean())
        if scale == 0.0:
            same_value = not rule_values.any()
            return Difference(*([0.0 if same_value else -np.inf] * 3))
        mean /= scale
        # NewReno's mean is measured as well: the error of the ratio of both means, to first order
        residuals = (rule_values - rule_values.mean() / scale * standard) / scale
    half = float(half_width(residuals, NOMINAL_LEVEL))
    return Difference(mean, mean - half, mean + half)


def judge(table: pd.DataFrame, not_judged: Mapping[str, str]) -> tuple[SectionVerdict, ...]:
    """Return a verdict per section of a table of measures, and "not judged" with its reason for ``not_judged``.

    A section holds if the intervals of all of its differences are above minus `MARGIN`. It is contradicted if one
    interval is below it altogether; that interval is at the level at which all rows of the section together have 95 %
    (Bonferroni), because the lowest of many rows is low by chance. Otherwise it is undecided. Each of the two answers
    is wrong in at most 2.5 % of cases.
    """
    groups = dict(iter(table.groupby("section", sort=False)))
    for section, mark in PATH_SECTIONS.items():
        part = table[table["path"].str.contains(mark, regex=False)]
        if len(part):
            groups[f"{section} on its path"] = part
    verdicts = [_judge_section(str(name), part) for name, part in groups.items()]
    verdicts += [SectionVerdict(name, "not judged", why) for name, why in not_judged.items()]
    return tuple(sorted(verdicts, key=lambda verdict: _section_number(verdict.section)))


def _judge_section(name: str, part: pd.DataFrame) -> SectionVerdict:
    """Return the verdict on a section from its rows; its reason quotes the decisive row."""
    low, high = part["difference_low"].to_numpy(float), part["difference_high"].to_numpy(float)
    worse, holds = _joint_high(part) < -MARGIN, low >= -MARGIN
    order = np.argsort(np.where(np.isnan(low), -np.inf, low), kind="stable")
    if worse.any():
        order = np.argsort(np.where(worse, high, np.inf), kind="stable")
    row = part.iloc[int(order[0])]
    text = f"{row.measure} at {row.path}: {row.value:.3g}, NewReno {row.newreno:.3g} {row.unit}".rstrip()
    if worse.any():
        return SectionVerdict(name, "contradicted", f"worse in {worse.sum()} of {len(part)}; most: {text}")
    if holds.all():
        return SectionVerdict(name, "holds", f"no worse in all {len(part)}; nearest to it: {text}")
    open_ = f"{(~holds).sum()} of {len(part)} intervals include the margin, or there are none"
    return SectionVerdict(name, "undecided", f"{open_}; widest: {text}")


def _joint_high(part: pd.DataFrame) -> NDArray[np.float64]:
    """Return the upper ends, (n,), of the differences at the level at which all rows together have 95 %."""
    value, high = part["difference"].to_numpy(float), part["difference_high"].to_numpy(float)
    dof = np.maximum(part["seeds"].to_numpy(float) - 1.0, 1.0)
    wider = t_quantile(dof, 1.0 - (1.0 - NOMINAL_LEVEL) / len(part)) / t_quantile(dof, NOMINAL_LEVEL)
    with np.errstate(invalid="ignore"):  # minus infinity stays: the rule never finishes
        return np.where(np.isinf(high), high, value + wider * (high - value))


def _section_number(section: str) -> tuple[int, int, int]:
    """Return the three numbers of a section's title as a sort key, such as (5, 1, 0)."""
    digits = [int(digit) for digit in section.split()[0].rstrip(",").split(".")]
    first, second, third = (*digits, 0, 0)[:3]
    return first, second, third
