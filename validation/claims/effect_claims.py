"""Claims that certain differences are positive, or that certain ratios are one.

A claim of this kind is a function that reads bundled cases into `Effects`: estimates by statement,
and curves of them. All are judged and drawn by the same code; the text is the Markdown file with
the name of the function.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from validation import evidence
from validation.checks import Check, claim
from validation.claims.effect_pictures import curves
from validation.claims.effect_statements import EQUAL, Effects, Statement
from validation.judgements.judges import ByReading, BySimulator
from validation.judgements.verdicts import Judgement, Verdict
from validation.statistics import LEVEL, UNBOUNDED, Estimate, difference, of_runs, ratio

if TYPE_CHECKING:
    import pandas as pd


def effects(
    id: str,
    *arguments: object,
    cases: tuple[str, ...],
    equal: bool | float = False,
    least: float = 0.0,
    also: Mapping[str, float] | None = None,
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
    also
        Further thresholds, of statements whose quantities are functions of them (`Statement`).
    """

    def register(measure: Callable[..., Effects]) -> Check[Effects]:
        if isinstance(measure, Check):
            return claim(id, *arguments, cases=cases)(measure)
        text = f"{measure.__name__}.md"
        check = claim(id, *arguments, cases=cases, text=text)(measure)
        margin = EQUAL if isinstance(equal, bool) else equal
        thresholds = {"level": LEVEL} | ({"margin": margin} if equal else {})
        judges = judging(thresholds | ({"least": least} if least else {}) | dict(also or {}))
        check.judge(judges.judge)
        check.readings(judges.readings)
        check.packet_level(judges.packet_level)
        check.level_in_readings(judges.level_in_readings)
        check.simulators(judges.simulators)
        check.draw(curves)
        check.constants_of(sys.modules[__name__])
        return check

    return register


class Fixed(NamedTuple):
    """Statements at thresholds, and the level of significance and the margin of equality by which they are judged."""

    statements: dict[str, Statement]
    used: tuple[float, float]


class Judges(NamedTuple):
    """The functions that judge `Effects`; their keyword parameters are the thresholds of the claim."""

    judge: Callable[..., Judgement]
    readings: Callable[..., dict[str, Judgement]]
    packet_level: Callable[..., dict[str, Verdict]]
    level_in_readings: Callable[..., ByReading]
    simulators: Callable[..., BySimulator]


def judging(thresholds: Mapping[str, float]) -> Judges:
    """Return the functions that judge with these thresholds by default.

    Examples
    --------
    >>> judges = judging({"level": 0.01, "margin": 0.1})
    >>> near = Effects({"it": Statement((Estimate(0.15, 0.001),), equal=True)}, {}, ("x", "y"))
    >>> print(judges.judge(near)["it"].packets, judges.judge(near, margin=0.2)["it"].packets)
    contradicted holds
    """

    def at(statements: Mapping[str, Statement], given: Mapping[str, float]) -> Fixed:
        every = {**thresholds, **given}
        fixed = {key: statement.at(every) for key, statement in statements.items()}
        return Fixed(fixed, (every["level"], every.get("margin", EQUAL)))

    def judged(statements: Mapping[str, Statement], given: Mapping[str, float]) -> Judgement:
        fixed, used = at(statements, given)
        return {key: each.judged(*used) for key, each in fixed.items()}

    def judge(found: Effects, **given: float) -> Judgement:
        return judged(found.statements, given)

    def readings(found: Effects, **given: float) -> dict[str, Judgement]:
        return {name: judged(each, given) for name, each in found.readings.items()}

    def level(statements: Mapping[str, Statement], given: Mapping[str, float]) -> dict[str, Verdict]:
        fixed, used = at(statements, given)
        return {key: each.judged_level(*used) for key, each in fixed.items()}

    def packet_level(found: Effects, **given: float) -> dict[str, Verdict]:
        return level(found.statements, given)

    def level_in_readings(found: Effects, **given: float) -> ByReading:
        return {name: level(found.readings[name], given) for name in found.level_readings}

    def simulators(found: Effects, **given: float) -> BySimulator:
        def apart(statements: Mapping[str, Statement]) -> dict[str, dict[str, Verdict]]:
            fixed, used = at(statements, given)
            each = {key: statement.judged_simulators(*used) for key, statement in fixed.items()}
            return {key: verdicts for key, verdicts in each.items() if verdicts is not None}

        others = {name: apart(statements) for name, statements in found.readings.items()}
        return {"": apart(found.statements)} | others

    parameters = [inspect.Parameter("found", inspect.Parameter.POSITIONAL_ONLY)] + [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in thresholds.items()
    ]
    functions = Judges(judge, readings, packet_level, level_in_readings, simulators)
    for function in functions:
        vars(function)["__signature__"] = inspect.Signature(parameters)
    return functions


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
    frame = evidence.frame(case, name)
    for column, entry in columns.items():
        frame = frame[frame[column] == entry]
    return frame


def deviation(one: Estimate, other: Estimate | float) -> Estimate:
    """Return the relative difference of an estimate from another one, or from a number."""
    if not isinstance(other, Estimate):
        other = Estimate(other, 0.0)
    return difference(ratio(one, other), Estimate(1.0, 0.0))
