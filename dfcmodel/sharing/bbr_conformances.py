"""Conformance of an implementation of BBR to the example test cases of the IETF draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dfcmodel.sharing.bbr_checks import Check
from dfcmodel.sharing.bbr_observations import MODES, Observation
from hopflow.checks import count_of
from hopflow.intervals import clopper_pearson
from hopflow.results import Result, figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dfcmodel.sharing.bbr_cases import Case
    from responsefn import BBR

__all__ = ["Conformance", "JudgedCase", "judge"]

LEVEL, REFERENCE_PART = 0.95, 0.5
"""Confidence of a verdict, and the part of all seeds with which it compares."""
REFERENCE = "draft-ietf-ccwg-bbr, appendix BBR Example Test Cases, 3 August 2026"


class JudgedCase(NamedTuple):
    """A case of the draft's appendix with its checks and its verdict.

    Attributes
    ----------
    number, title
        Number, from 1 on, and title in the appendix.
    checks
        Expectation, result and success of each check, in the first run with a failed check, or in the first run.
    deviation
        Reason of a known failure; "" if there is none.
    trace
        BBR's variables over time in that run.
    runs, as_expected
        Number of runs with independent seeds, and number of runs in which every check holds.

    Examples
    --------
    >>> from dfcmodel import conformance
    >>> from responsefn import BBR
    >>> case = conformance(BBR(), cases=(1,)).cases[0]
    >>> case.title, case.verdict
    ('Exiting STARTUP on bandwidth plateau', 'as expected')
    >>> case.runs, case.as_expected, round(case.interval[0], 2)
    (5, 5, 0.55)
    """

    number: int
    title: str
    checks: tuple[Check, ...]
    deviation: str
    trace: Observation
    runs: int = 1
    as_expected: int = 0

    @property
    def interval(self) -> tuple[float, float]:
        """Interval (Clopper and Pearson) of the fraction of seeds at which all checks hold, each end at 95 %."""
        return clopper_pearson(self.as_expected, self.runs - self.as_expected, 1.0 - LEVEL)

    @property
    def verdict(self) -> str:
        """Verdict on the case: "as expected", "known deviation", "deviates" or "inconclusive".

        As expected: in more than half of all seeds, at 95 % confidence by `interval`; this needs at least five runs.
        Deviates, or known deviation: in less than half. Inconclusive: neither, for example if few runs differ.
        """
        low, high = self.interval
        if low > REFERENCE_PART:
            return "as expected"
        if high >= REFERENCE_PART:
            return "inconclusive"
        return "known deviation" if self.deviation else "deviates"


@dataclass(frozen=True, repr=False, eq=False)
class Conformance(Result):
    """The cases of the draft's appendix with their checks, as `conformance` returns them.

    Attributes
    ----------
    rule
        The tested rule.
    cases
        Cases in the order of the appendix.

    Examples
    --------
    >>> from dfcmodel import conformance
    >>> from responsefn import BBR
    >>> result = conformance(BBR(), cases=(20,))
    >>> result.cases[0].verdict
    'as expected'
    """

    rule: BBR
    cases: tuple[JudgedCase, ...]

    @property
    def table(self) -> pd.DataFrame:
        """Table, a row per check: number, case, verdict, runs, as_expected, expected, happened, holds, deviation."""
        import pandas as pd

        rows = [
            (case.number, case.title, case.verdict, case.runs, case.as_expected, *check, case.deviation)
            for case in self.cases
            for check in case.checks
        ]
        columns = ["number", "case", "verdict", "runs", "as_expected", "expected", "happened", "holds", "deviation"]
        return pd.DataFrame(rows, columns=columns)

    def to_xarray(self) -> Any:
        """Return the table of checks as an xarray Dataset over ``row``."""
        return self.table.rename_axis("row").to_xarray()

    def summary(self) -> dict[str, object]:
        """Return a text by "number title" of each case: verdict and failed checks; also "rule" and "cases"."""
        rows: dict[str, object] = {"rule": repr(self.rule), "cases": REFERENCE}
        for case in self.cases:
            text = f"{case.verdict}, in {case.as_expected} of {count_of(case.runs, 'run')}"
            wrong = [check for check in case.checks if not check.holds]
            text += "".join(f"; {check.expected}: {check.happened}" for check in wrong)
            rows[f"{case.number} {case.title}"] = text + (f" ({case.deviation})" if wrong and case.deviation else "")
        return rows

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the states of all cases over time, a row per case; return the Axes."""
        axes: Axes = figure(8.0, 0.25 * len(self.cases) + 1.2)[1] if ax is None else ax
        for row, case in enumerate(self.cases):
            run = case.trace
            for number, mode in enumerate(MODES):
                spans = [(run.time[a], run.time[b - 1] - run.time[a]) for a, b in run.spells(mode)]
                axes.broken_barh(spans, (row - 0.4, 0.8), color=f"C{number}", label=mode if row == 0 else None)
        axes.set_yticks(range(len(self.cases)), [case.title for case in self.cases], fontsize=6)
        axes.invert_yaxis()
        axes.legend(fontsize=6, ncol=len(MODES), loc="lower center", bbox_to_anchor=(0.3, 1.0))
        axes.set(xlabel="time (s)")
        return axes


def judge(rule: BBR, number: int, case: Case, seeds: Sequence[int]) -> JudgedCase:
    """Run a case with each seed; return it with its checks, verdict and number of runs as expected."""
    runs = [case.run(rule, seed) for seed in seeds]
    checks = [tuple(case.check(run)) for run in runs]
    as_expected = [all(check.holds for check in of_run) for of_run in checks]
    shown = as_expected.index(False) if False in as_expected else 0
    return JudgedCase(number, case.title, checks[shown], case.deviation, runs[shown], len(runs), sum(as_expected))
