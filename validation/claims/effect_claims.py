"""Claims that certain differences are positive, or that certain ratios are one.

A claim of this kind is a function that reads bundled cases into `Effects`: estimates by statement,
and curves of them. All are judged and drawn by the same code; the text is the Markdown file with
the name of the function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from validation import evidence
from validation.checks import Check, claim
from validation.drawing import COLOURS, figure, label, legend_beside, points, reference
from validation.statistics import (
    LEVEL,
    Estimate,
    combine,
    difference,
    everywhere,
    of_runs,
    ratio,
    weakest,
)
from validation.verdicts import Judgement, Sides, Verdict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

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
    "where",
]

Estimates = tuple[Estimate, ...]
EQUAL = 0.1
"""Largest relative difference of quantities that count as equal."""


@dataclass(frozen=True)
class Statement:
    """Quantities that decide a statement, in the model and in packet runs; None: no data.

    Attributes
    ----------
    model, packets
        Quantities that are all positive if the statement holds; for a statement of equality,
        relative deviations that are all within a margin of zero. A verdict is used as is.
    equal
        Whether the statement is one of equality.
    level
        The same quantities at hopflow's own packet level.
    """

    packets: Estimates | Verdict | None = None
    model: Estimates | Verdict | None = None
    equal: bool = False
    level: Estimates | Verdict | None = None

    @property
    def weakest(self) -> Estimate:
        """The packets' estimate that is least certainly positive."""
        assert isinstance(self.packets, tuple)
        return weakest(self.packets)

    def judged(self, level: float, margin: float, otherwise: Verdict) -> Sides[Verdict]:
        """Return the verdicts; ``otherwise`` is the model's verdict if it has no quantities."""
        return Sides(
            self._judged(self.model, level, margin, otherwise),
            self._judged(self.packets, level, margin, Verdict.NOT_APPLICABLE),
        )

    def judged_level(self, level: float, margin: float) -> Verdict:
        """Return the verdict of hopflow's own packet level."""
        return self._judged(self.level, level, margin, Verdict.NOT_APPLICABLE)

    def _judged(
        self,
        estimates: Estimates | Verdict | None,
        level: float,
        margin: float,
        otherwise: Verdict,
    ) -> Verdict:
        if not estimates:
            return otherwise
        if isinstance(estimates, Verdict):
            return estimates
        if self.equal:
            exact = Estimate(margin, 0.0)
            signs = (1.0, -1.0)
            estimates = tuple(combine((exact, e), (1.0, s)) for e in estimates for s in signs)
        return everywhere(estimates, level)


@dataclass(frozen=True)
class Curve:
    """A quantity over numbers or names: from packet runs with errors, and from the model.

    ``level`` is the same at hopflow's own packet level.
    """

    x: Sequence[float | str]
    packets: Sequence[Estimate] = ()
    model: Sequence[float] = ()
    level: Sequence[Estimate] = ()


@dataclass(frozen=True)
class Effects:
    """Measurement for a claim: statements, curves, other values.

    Attributes
    ----------
    statements
        Statements by their keys in the text.
    curves
        Curves by their labels.
    axes
        Labels of the axes of the curves.
    log
        Logarithmic axes, such as ``"x"``.
    values
        Other numbers of the text, by name.
    readings
        Statements that differ in other readings, by the name of the reading.
    """

    statements: Mapping[str, Statement]
    curves: Mapping[str, Curve]
    axes: tuple[str, str]
    log: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    readings: Mapping[str, Mapping[str, Statement]] = field(default_factory=dict)


def effects(
    id: str, *arguments: object, cases: tuple[str, ...], equal: bool | float = False
) -> Callable[[Callable[..., Effects]], Check[Effects]]:
    """Register the function below as the measurement of a claim of this kind.

    Parameters
    ----------
    id, arguments, cases
        As for `validation.checks.claim`.
    equal
        Whether one of its statements is one of equality, which makes its margin a threshold; the
        margin itself where it is not `EQUAL`.
    """

    def register(measure: Callable[..., Effects]) -> Check[Effects]:
        if isinstance(measure, Check):
            return claim(id, *arguments, cases=cases)(measure)
        text = f"{measure.__name__}.md"
        check = claim(id, *arguments, cases=cases, text=text)(measure)
        margin = EQUAL if isinstance(equal, bool) else equal
        check.judge(judging_equality(margin) if equal else judge)
        check.readings(judging_readings(margin))
        check.packet_level(judging_level(margin))
        check.draw(curves)
        check.constants_of(sys.modules[__name__])
        return check

    return register


def judge(found: Effects, *, level: float = LEVEL) -> Judgement:
    """Judge signs."""
    return {
        key: statement.judged(level, EQUAL, Verdict.OPEN)
        for key, statement in found.statements.items()
    }


def judging_equality(standard: float) -> Callable[..., Judgement]:
    """Return the function that judges signs, and equality within a margin."""

    def judge_equal(found: Effects, *, level: float = LEVEL, margin: float = standard) -> Judgement:
        return {
            key: statement.judged(level, margin, Verdict.OPEN)
            for key, statement in found.statements.items()
        }

    return judge_equal


def judging_readings(standard: float) -> Callable[..., dict[str, Judgement]]:
    """Return the function that judges other readings, of the statements that they change."""

    def readings(
        found: Effects, *, level: float = LEVEL, margin: float = standard
    ) -> dict[str, Judgement]:
        return {
            name: {
                key: statement.judged(level, margin, Verdict.NOT_APPLICABLE)
                for key, statement in statements.items()
            }
            for name, statements in found.readings.items()
        }

    return readings


def judging_level(standard: float) -> Callable[..., dict[str, Verdict]]:
    """Return the function that judges hopflow's own packet level."""

    def of_level(
        found: Effects, *, level: float = LEVEL, margin: float = standard
    ) -> dict[str, Verdict]:
        return {
            key: statement.judged_level(level, margin)
            for key, statement in found.statements.items()
        }

    return of_level


def curves(found: Effects) -> Figure:
    """Draw the curves: packets as points with 95 % intervals, the model as lines.

    hopflow's own packet level is drawn as open points of the same colour.
    """
    fig, ax = figure(7.0, 3.8)
    every = (x for curve in found.curves.values() for x in curve.x)
    names = {name: n for n, name in enumerate(dict.fromkeys(every)) if isinstance(name, str)}
    for n, (name, curve) in enumerate(found.curves.items()):
        x = np.array([names[e] if isinstance(e, str) else e for e in curve.x], dtype=np.float64)
        shift = 0.08 * (n - (len(found.curves) - 1) / 2) if names else 0.0
        colour = COLOURS[n % len(COLOURS)]
        if curve.model:
            style = "_" if names else "-"
            ax.plot(x + shift, curve.model, style, color=colour, label=f"{name}, model")
        if curve.packets:
            points(ax, (x + shift).tolist(), curve.packets, n % len(COLOURS), label=name)
        if curve.level:
            means = [estimate.value for estimate in curve.level]
            ax.plot(
                x + shift,
                means,
                "D",
                color=colour,
                mfc="none",
                ms=7,
                label=f"{name}, hopflow's packets",
            )
    label(ax, *found.axes, log=found.log)
    if names:
        ax.set_xticks(
            range(len(names)),
            list(names),
            rotation=90 if len(names) > 10 else 20 if len(names) > 4 else 0,
        )
    low, high = ax.get_ylim()
    if low < 0.0 < high:
        reference(ax)
    legend_beside(ax)
    return fig


def by(frame: pd.DataFrame, columns: str | list[str], value: str) -> dict[Any, Estimate]:
    """Return the mean of a column over the seeds, with its error, by other columns.

    Rows of one seed, such as its flows, are averaged first.
    """
    keys = [columns] if isinstance(columns, str) else columns
    runs = frame.groupby([*keys, "seed"])[value].mean()
    names = keys[0] if len(keys) == 1 else keys
    return {key: of_runs(seeds.to_numpy()) for key, seeds in runs.groupby(names)}


def beyond(estimate: Estimate, least: float) -> Estimate:
    """Return by how much an estimate exceeds the least difference that counts."""
    return combine((estimate, Estimate(least, 0.0)), (1.0, -1.0))


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
