"""Conformance of a rule to suites: verdicts, exit status, table and figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dfcmodel.network.endpoints.native_rules import full_name
from dfcmodel.sharing.suites.judging import (
    ERROR,
    FAILED,
    KNOWN,
    NOT_JUDGED,
    PASSED,
    UNDECIDED,
    JudgedSuite,
    SuiteVerdict,
)
from hopflow.checks import choice
from hopflow.results import Result, figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from responsefn import WindowRule

__all__ = ["SuiteConformance"]

VERDICTS = (PASSED, FAILED, KNOWN, UNDECIDED, NOT_JUDGED, ERROR)
COLUMNS = ("suite", "case", "verdict", "quantity", "event", "expected", "found", "source", "reason")


@dataclass(frozen=True, repr=False, eq=False)
class SuiteConformance(Result):
    """Verdicts on the cases of suites, as `conformance` returns them with ``suite``.

    Attributes
    ----------
    rule
        The tested rule.
    suites
        Each suite with its verdicts.
    known
        Reasons of known deviations by suite and case, of the caller.

    Examples
    --------
    >>> from dfcmodel import conformance
    >>> from responsefn import NewReno
    >>> result = conformance(NewReno(), suite="robustness")
    >>> result.exit_status(), result.suites[0].headline
    (0, 'judged 10 of 10: 10 passed')
    """

    rule: WindowRule
    suites: tuple[JudgedSuite, ...]
    known: dict[str, str]

    @property
    def verdicts(self) -> tuple[SuiteVerdict, ...]:
        """The verdicts of all suites, in their order."""
        return tuple(verdict for suite in self.suites for verdict in suite.verdicts)

    @property
    def failures(self) -> tuple[SuiteVerdict, ...]:
        """Verdicts on failed cases, without known deviations."""
        return tuple(verdict for verdict in self.verdicts if verdict.verdict == FAILED)

    @property
    def unused_known(self) -> dict[str, str]:
        """Entries of ``known`` that are not deviations, with the verdict of their case or "no such case".

        Entries of suites that were not run are not among them.
        """
        by_name = {verdict.name: verdict.verdict for verdict in self.verdicts}
        run = {suite.suite.name for suite in self.suites if suite.applies}
        problems = {}
        for name in self.known:
            if name.partition("/")[0] in run and by_name.get(name) != KNOWN:
                problems[name] = by_name.get(name, "no such case")
        return problems

    def exit_status(self, *, strict: bool = False) -> int:
        """Return 0: no case failed (``strict``: all passed), 1: a failure, 2: an error without failures, or no verdict.

        Parameters
        ----------
        strict
            Whether undecided and unjudged cases, known deviations, and entries of ``known`` that do not deviate count
            as failures.
        """
        if not any(verdict.is_judged for verdict in self.verdicts):
            return 2
        if not self.failures and any(verdict.verdict == ERROR for verdict in self.verdicts):
            return 2
        passed = all(verdict.verdict == PASSED for verdict in self.verdicts)
        return int(bool(self.failures) or (strict and (not passed or bool(self.unused_known))))

    def verdict_on(self, name: str) -> SuiteVerdict:
        """Return the verdict on a case, given as "suite/case"; ValueError for an unknown one."""
        by_name = {verdict.name: verdict for verdict in self.verdicts}
        return by_name[choice("name", name, tuple(by_name))]

    @property
    def table(self) -> pd.DataFrame:
        """DataFrame of a row per case: suite, case, verdict, quantity, event, expected, found, source, reason."""
        import pandas as pd

        rows = [
            (v.suite, v.case.id, v.verdict, v.case.quantity, v.event, v.expected, v.found, v.case.source, v.reason)
            for v in self.verdicts
        ]
        return pd.DataFrame(rows, columns=list(COLUMNS))

    def to_xarray(self) -> Any:
        """Return the table of verdicts as an xarray Dataset over ``row``."""
        return self.table.rename_axis("row").to_xarray()

    def to_dict(self) -> dict[str, object]:
        """Return a dict of rule, headlines of suites, cases, unused entries of ``known`` and exit status."""
        return {
            "rule": repr(self.rule),
            "claims": self.rule.claims,
            "suites": {suite.suite.label: suite.headline for suite in self.suites},
            "cases": self.table.to_dict("records"),
            "unused_known": self.unused_known,
            "status": self.exit_status(),
        }

    def summary(self) -> dict[str, object]:
        """Return texts by name: the headline of each suite, and a description of each case that did not pass."""
        rows: dict[str, object] = {"rule": f"{full_name(self.rule)}, claims {self.rule.claims}"}
        for judged in self.suites:
            rows[judged.suite.label] = judged.headline
            for verdict in judged.verdicts:
                if verdict.verdict == PASSED:
                    continue
                text = verdict.verdict
                if verdict.event:
                    text += f" at {verdict.event}: expected {verdict.expected}, found {verdict.found}"
                rows[verdict.name] = text + (f" ({verdict.reason})" if verdict.reason else "")
        rows |= {f"known: {name}": f"does not deviate: {why}" for name, why in self.unused_known.items()}
        return rows

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the verdicts, a row per case; return the Axes."""
        verdicts = self.verdicts
        axes: Axes = figure(6.0, 0.2 * len(verdicts) + 1.0)[1] if ax is None else ax
        for color, name in zip(("C2", "C3", "C1", "C0", "0.7", "C4"), VERDICTS, strict=True):
            rows = [row for row, verdict in enumerate(verdicts) if verdict.verdict == name]
            if rows:
                axes.barh(rows, [1.0] * len(rows), color=color, label=name)
        axes.set_yticks(range(len(verdicts)), [verdict.name for verdict in verdicts], fontsize=6)
        axes.invert_yaxis()
        axes.set(xticks=[], title=str(self.rule))
        axes.legend(fontsize=6, loc="lower right")
        return axes
