"""Claims that certain differences are positive, or that certain ratios are one.

A claim of this kind is a function that reads bundled cases into `Effects`: estimates by statement,
and curves of them. All are judged and drawn by the same code; the text is the Markdown file with
the name of the function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from validation import evidence
from validation.checks import BySimulator, Check, claim
from validation.claims.effect_pictures import curves
from validation.claims.effect_statements import (
    EQUAL,
    Curve,
    Effects,
    Estimates,
    Statement,
    beyond,
)
from validation.statistics import (
    LEVEL,
    UNBOUNDED,
    Estimate,
    difference,
    of_runs,
    ratio,
)
from validation.verdicts import Judgement, Verdict

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "EQUAL",
    "Curve",
    "Effects",
    "Estimates",
    "Statement",
    "beyond",
    "by",
    "deviation",
    "effects",
    "judging_equality",
    "judging_readings",
    "judging_simulators",
    "where",
]


def effects(
    id: str,
    *arguments: object,
    cases: tuple[str, ...],
    equal: bool | float = False,
    least: float = 0.0,
) -> Callable[[Callable[..., Effects]], Check[Effects]]:
    """Register the function below as the measurement of a claim of this kind.

    Parameters
    ----------
    id, arguments, cases
        As for `validation.checks.claim`.
    equal
        Whether one of its statements is one of equality, which makes its margin a threshold; the
        margin itself where it is not `EQUAL`.
    least
        The smallest difference that counts, where statements have one, which makes it a threshold.
    """

    def register(measure: Callable[..., Effects]) -> Check[Effects]:
        if isinstance(measure, Check):
            return claim(id, *arguments, cases=cases)(measure)
        text = f"{measure.__name__}.md"
        check = claim(id, *arguments, cases=cases, text=text)(measure)
        margin = EQUAL if isinstance(equal, bool) else equal
        if equal and least:
            check.judge(judging_equality_and_differences(margin, least))
        elif equal:
            check.judge(judging_equality(margin))
        else:
            check.judge(judging_differences(least) if least else judge)
        check.readings(judging_readings(margin))
        check.packet_level(judging_level(margin))
        check.simulators(judging_simulators(margin))
        check.draw(curves)
        check.constants_of(sys.modules[__name__])
        return check

    return register


def judge(found: Effects, *, level: float = LEVEL) -> Judgement:
    """Judge signs."""
    return {key: statement.judged(level, EQUAL) for key, statement in found.statements.items()}


def judging_differences(standard: float) -> Callable[..., Judgement]:
    """Return the function that judges signs beyond the smallest difference that counts."""

    def judge_differences(
        found: Effects, *, level: float = LEVEL, least: float = standard
    ) -> Judgement:
        return {
            key: statement.counting_from(least).judged(level, EQUAL)
            for key, statement in found.statements.items()
        }

    return judge_differences


def judging_equality(standard: float) -> Callable[..., Judgement]:
    """Return the function that judges signs, and equality within a margin."""

    def judge_equal(found: Effects, *, level: float = LEVEL, margin: float = standard) -> Judgement:
        return {key: statement.judged(level, margin) for key, statement in found.statements.items()}

    return judge_equal


def judging_equality_and_differences(standard: float, smallest: float) -> Callable[..., Judgement]:
    """Return the function that judges equality within a margin, and signs beyond the smallest difference."""

    def judge_both(
        found: Effects, *, level: float = LEVEL, margin: float = standard, least: float = smallest
    ) -> Judgement:
        return {
            key: statement.counting_from(least).judged(level, margin)
            for key, statement in found.statements.items()
        }

    return judge_both


def judging_readings(standard: float) -> Callable[..., dict[str, Judgement]]:
    """Return the function that judges other readings, of the statements that they change."""

    def readings(
        found: Effects,
        *,
        level: float = LEVEL,
        margin: float = standard,
        least: float | None = None,
    ) -> dict[str, Judgement]:
        return {
            name: {
                key: statement.counting_from(least).judged(level, margin)
                for key, statement in statements.items()
            }
            for name, statements in found.readings.items()
        }

    return readings


def judging_level(standard: float) -> Callable[..., dict[str, Verdict]]:
    """Return the function that judges hopflow's own packet level."""

    def of_level(
        found: Effects,
        *,
        level: float = LEVEL,
        margin: float = standard,
        least: float | None = None,
    ) -> dict[str, Verdict]:
        return {
            key: statement.counting_from(least).judged_level(level, margin)
            for key, statement in found.statements.items()
        }

    return of_level


def judging_simulators(standard: float) -> Callable[..., BySimulator]:
    """Return the function that judges each simulator, of the statements that tell them apart."""

    def of_simulators(
        found: Effects,
        *,
        level: float = LEVEL,
        margin: float = standard,
        least: float | None = None,
    ) -> BySimulator:
        def apart(statements: Mapping[str, Statement]) -> dict[str, dict[str, Verdict]]:
            judged = {
                key: statement.counting_from(least).judged_simulators(level, margin)
                for key, statement in statements.items()
            }
            return {key: each for key, each in judged.items() if each is not None}

        return {"": apart(found.statements)} | {
            name: apart(statements) for name, statements in found.readings.items()
        }

    return of_simulators


def by(
    frame: pd.DataFrame,
    columns: str | list[str],
    value: str,
    within: tuple[float, float] = UNBOUNDED,
) -> dict[Any, Estimate]:
    """Return the mean of a column over the seeds, with its error, by other columns.

    Rows of one seed, such as its flows, are averaged first. ``within`` is the possible range.
    """
    keys = [columns] if isinstance(columns, str) else columns
    runs = frame.groupby([*keys, "seed"])[value].mean()
    names = keys[0] if len(keys) == 1 else keys
    return {key: of_runs(seeds.to_numpy(), within) for key, seeds in runs.groupby(names)}


def where(case: str, name: str | None = None, **columns: object) -> pd.DataFrame:
    """Return the rows of a bundled table with these entries."""
    frame = evidence.table(case, name)
    for column, entry in columns.items():
        frame = frame[frame[column] == entry]
    return frame


def deviation(one: Estimate, other: Estimate | float) -> Estimate:
    """Return the relative difference of an estimate from another one, or from a number."""
    if not isinstance(other, Estimate):
        other = Estimate(other, 0.0)
    return difference(ratio(one, other), Estimate(1.0, 0.0))
