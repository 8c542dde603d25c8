"""The sections of RFC 9743 as a suite: contradicted for a rule, and not for the rule in use beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache, partial
from importlib import resources
from typing import TYPE_CHECKING

from dfcmodel.sharing.evaluations import evaluate_rfc9743
from dfcmodel.sharing.suites.cases import ANY, NotJudged, Observation, Suite, SuiteCase, Tolerance, Undecided, truth
from responsefn import CUBIC

if TYPE_CHECKING:
    from dfcmodel.sharing.rfc9743_verdicts import SectionVerdict
    from responsefn import WindowRule

__all__ = ["RUNS", "answers_of", "suite_beside"]

RUNS = 5
"""Seeds of each measure, the fewest with an interval."""
BUNDLED = "rfc9743_cubic.json"
"""Answers of CUBIC() by section, as `answers_of` returns them; a slow test makes them again."""


@lru_cache(maxsize=8)
def _verdicts(rule: WindowRule) -> dict[str, SectionVerdict]:
    """Return verdicts on a rule by section, "5.1.1 congestion collapse" etc.; simulates; eight results are cached."""
    return {verdict.section: verdict for verdict in evaluate_rfc9743(rule, runs=RUNS, seed=0).verdicts}


def answers_of(rule: WindowRule) -> dict[str, str]:
    """Return answers on a rule, such as "holds", by section, "5.1.1 congestion collapse" etc.; simulates."""
    return {section: verdict.answer for section, verdict in _verdicts(rule).items()}


def _bundled() -> dict[str, str]:
    """Return CUBIC's answers by section of RFC 9743, from a file."""
    answers: dict[str, str] = json.loads(resources.files(__package__ or "").joinpath(BUNDLED).read_text("utf-8"))
    return answers


def _observe(section: str, against: WindowRule, rule: WindowRule) -> Iterator[Observation]:
    """Yield one truth: a section holds for ``rule``, or is contradicted for ``against`` too; NotJudged, Undecided."""
    verdict = _verdicts(rule)[section]
    if verdict.answer == "not judged":
        raise NotJudged(verdict.why)
    if verdict.answer == "undecided":
        raise Undecided(verdict.why)
    other = _bundled() if against == CUBIC() else answers_of(against)
    holds = verdict.answer == "holds" or other[section] == "contradicted"
    found = f"{verdict.answer} ({verdict.why}); {against}: {other[section]}"
    expected = f"no measure worse than NewReno's, unless {against} has one"
    yield truth(f"all paths, {RUNS} seeds", holds, expected, found)


def suite_beside(against: WindowRule) -> Suite:
    """Return the suite of RFC 9743, in which sections that ``against`` contradicts are no failures.

    Parameters
    ----------
    against
        Rule whose contradicted sections are no failures: deployed congestion control contradicts them as well.
    """
    cases = tuple(
        SuiteCase(
            section.partition(" ")[0], "measures beside NewReno's", "", section, "=", Tolerance(),
            f"RFC 9743, Sect. {section.partition(' ')[0]}", partial(_observe, section, against),
            "own choice: the RFC has no thresholds; five points, or 5 % of NewReno's value (`evaluate_rfc9743`)",
        )
        for section in _bundled()
    )  # fmt: skip
    return Suite(
        "rfc9743", 1, "RFC 9743, Specifying New Congestion Control Algorithms, 2025", ANY, cases, shares_runs=True
    )
