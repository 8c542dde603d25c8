"""Run the cases of suites on a rule, and judge what they observe."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, NamedTuple

from dfcmodel.sharing.suites.cases import NotJudged, Observation, SuiteCase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dfcmodel.sharing.suites.cases import Suite
    from responsefn import WindowRule

__all__ = [
    "FAILED",
    "KNOWN",
    "NOT_JUDGED",
    "PASSED",
    "UNDECIDED",
    "JudgedSuite",
    "SuiteVerdict",
    "interrupted",
    "judge_case",
    "judge_suite",
]

PASSED, FAILED, KNOWN, UNDECIDED, NOT_JUDGED = "passed", "failed", "known deviation", "undecided", "not judged"
"""Verdicts on a case."""


class SuiteVerdict(NamedTuple):
    """The verdict on a case of a suite.

    Attributes
    ----------
    suite, case
        Name of the suite, and the case.
    verdict
        ``"passed"``, ``"failed"``, ``"known deviation"``, ``"undecided"`` or ``"not judged"``.
    event
        First event at which the quantity leaves what is expected; of a passed case the event that is nearest to it.
    expected, found
        Expected and found value at that event, with unit.
    reason
        Why it was not judged, why a failure is known, or how the rule crashed; "" otherwise.
    observations
        All observations, in the order of events.

    Examples
    --------
    >>> from dfcmodel import conformance
    >>> from responsefn import CUBIC
    >>> verdict = conformance(CUBIC(), suite="rfc9438").verdict_on("rfc9438/consecutive-losses")
    >>> verdict.verdict, verdict.expected, verdict.found
    ('passed', '0.7 +- 0.01', '0.7')
    """

    suite: str
    case: SuiteCase
    verdict: str
    event: str = ""
    expected: str = ""
    found: str = ""
    reason: str = ""
    observations: tuple[Observation, ...] = ()

    @property
    def name(self) -> str:
        """Suite and case, as files of known deviations have them: ``rfc9438/consecutive-losses``."""
        return f"{self.suite}/{self.case.id}"

    @property
    def is_judged(self) -> bool:
        """Whether the case was judged: it passed, failed, or deviates as known."""
        return self.verdict in (PASSED, FAILED, KNOWN)


class JudgedSuite(NamedTuple):
    """A suite and the verdicts on its cases; none where it does not apply."""

    suite: Suite
    verdicts: tuple[SuiteVerdict, ...]
    applies: bool = True

    @property
    def judged(self) -> int:
        """Number of judged cases."""
        return sum(verdict.is_judged for verdict in self.verdicts)

    def count(self, verdict: str) -> int:
        """Return the number of cases with a verdict."""
        return sum(each.verdict == verdict for each in self.verdicts)

    @property
    def headline(self) -> str:
        """Counts of verdicts, with the numbers of judged and of all cases."""
        if not self.applies:
            return f"does not apply: it is for rules that claim {' or '.join(self.suite.claims)}"
        counts = [f"{self.count(name)} {name}" for name in (FAILED, KNOWN, UNDECIDED, NOT_JUDGED) if self.count(name)]
        text = f"judged {self.judged} of {len(self.verdicts)}: {self.count(PASSED)} passed"
        return ", ".join([text, *counts])


def judge_suite(suite: Suite, rule: WindowRule, known: Mapping[str, str]) -> JudgedSuite:
    """Run all cases of a suite on a rule.

    Parameters
    ----------
    suite, rule
        The suite and the rule.
    known
        Reasons of known deviations by suite and case, ``"rfc9438/consecutive-losses"``.
    """
    if not suite.applies_to(rule):
        return JudgedSuite(suite, (), applies=False)
    return JudgedSuite(suite, tuple(judge_case(suite.name, case, rule, known) for case in suite.cases))


def judge_case(
    suite: str,
    case: SuiteCase,
    rule: WindowRule,
    known: Mapping[str, str],
    on_event: Callable[[str], object] = str,
) -> SuiteVerdict:
    """Run a case and return its verdict; an exception of the rule is a failure.

    Parameters
    ----------
    suite, case, rule, known
        Name of the suite, the case, the rule, and reasons of known deviations by suite and case.
    on_event
        Called with the event of each observation, as it is made.
    """
    observations: list[Observation] = []
    try:
        for observation in case.observe(rule):
            observations.append(observation)
            on_event(observation.event)
    except NotJudged as why:
        return SuiteVerdict(suite, case, why.verdict, reason=str(why), observations=tuple(observations))
    except Exception as error:  # noqa: BLE001 - whatever a rule raises is a finding
        where = traceback.extract_tb(error.__traceback__)[-1]
        lines = str(error).splitlines() or [""]
        failure = f"crashed: {type(error).__name__}: {lines[0]} ({where.name}, line {where.lineno})"
        event = observations[-1].event if observations else ""
        return interrupted(suite, case, known, event, failure)._replace(observations=tuple(observations))
    wrong = [observation for observation in observations if not case.holds(observation)]
    if not observations:
        return SuiteVerdict(suite, case, NOT_JUDGED, reason="the rule reached no event of this case")
    verdict, reason = _deviation(suite, case, known) if wrong else (PASSED, "")
    shown = wrong[0] if wrong else max(observations, key=case.excess)
    expected, found = case.describe(shown)
    return SuiteVerdict(suite, case, verdict, shown.event, expected, found, reason, tuple(observations))


def interrupted(suite: str, case: SuiteCase, known: Mapping[str, str], event: str, failure: str) -> SuiteVerdict:
    """Return the verdict on a case that the rule did not complete.

    Parameters
    ----------
    suite, case, known
        Name of the suite, the case, and reasons of known deviations by suite and case.
    event, failure
        Event of the last observation, "" if there was none; what happened after it.
    """
    verdict, reason = _deviation(suite, case, known)
    after = f"after {event}" if event else "before the first event"
    return SuiteVerdict(suite, case, verdict, after, case.expectation, failure, reason)


def _deviation(suite: str, case: SuiteCase, known: Mapping[str, str]) -> tuple[str, str]:
    """Return the verdict on a case that deviates, with the reason if that is known."""
    reason = known.get(f"{suite}/{case.id}", case.known)
    return (KNOWN if reason else FAILED), reason
