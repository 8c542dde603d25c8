"""Run the cases of suites on a rule, and judge their observations."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dfcmodel.network.endpoints.native_rules import NativeRule
from dfcmodel.sharing.suites.cases import NotJudged, Observation, SuiteCase
from hopflow.errors import RuleError
from hopflow.progress import announce

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dfcmodel.sharing.suites.cases import Suite
    from responsefn import WindowRule

__all__ = [
    "ERROR",
    "FAILED",
    "KNOWN",
    "NOT_JUDGED",
    "PASSED",
    "UNDECIDED",
    "JudgedSuite",
    "SuiteVerdict",
    "after_event",
    "interrupted",
    "judge_case",
    "judge_suite",
]

PASSED, FAILED, KNOWN, UNDECIDED, NOT_JUDGED = "passed", "failed", "known deviation", "undecided", "not judged"
"""Verdicts on a case."""
ERROR = "error"
"""Verdict on a case that could not be run, for a reason outside of the rule."""
BYTES_FOR_PACKETS = 1000.0
"""Excess in packets above which a library that counts packets is taken to answer bytes."""


class SuiteVerdict(NamedTuple):
    """The verdict on a case of a suite.

    Attributes
    ----------
    suite, case
        Name of the suite, and the case.
    verdict
        ``"passed"``, ``"failed"``, ``"known deviation"``, ``"undecided"``, ``"not judged"`` or ``"error"``: the case
        could not be run, for a reason outside of the rule.
    event
        First event at which the quantity is out of tolerance; for a passed case the event nearest to that.
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
        """Whether the case passed, failed or is a known deviation (not undecided, unjudged or an error)."""
        return self.verdict in (PASSED, FAILED, KNOWN)


class JudgedSuite(NamedTuple):
    """A suite and the verdicts on its cases; no verdicts if the suite does not apply to the rule."""

    suite: Suite
    verdicts: tuple[SuiteVerdict, ...]
    applies: bool = True

    @property
    def judged(self) -> int:
        """Number of cases that passed, failed or are known deviations."""
        return sum(verdict.is_judged for verdict in self.verdicts)

    def count(self, verdict: str) -> int:
        """Return the number of cases with a verdict, such as "failed"."""
        return sum(one.verdict == verdict for one in self.verdicts)

    @property
    def headline(self) -> str:
        """Sentence with the number of cases per verdict, or with the reason why the suite does not apply."""
        if not self.applies:
            return f"does not apply: it is for rules that claim {' or '.join(self.suite.claims)}"
        others = (FAILED, ERROR, KNOWN, UNDECIDED, NOT_JUDGED)
        counts = [f"{self.count(name)} {name}" for name in others if self.count(name)]
        text = f"judged {self.judged} of {len(self.verdicts)}: {self.count(PASSED)} passed"
        return ", ".join([text, *counts])


def judge_suite(suite: Suite, rule: WindowRule, deviations: Mapping[str, str]) -> JudgedSuite:
    """Return the verdicts of all cases of a suite on a rule; none if the suite does not apply to it.

    Parameters
    ----------
    suite, rule
        The suite and the rule.
    deviations
        Reasons of known deviations by suite and case, ``"rfc9438/consecutive-losses"``.
    """
    if not suite.applies_to(rule):
        return JudgedSuite(suite, (), applies=False)
    return JudgedSuite(suite, tuple(judge_case(suite.name, case, rule, deviations) for case in suite.cases))


def judge_case(
    suite: str,
    case: SuiteCase,
    rule: WindowRule,
    deviations: Mapping[str, str],
    on_event: Callable[[str], object] = str,
) -> SuiteVerdict:
    """Run a case and return its verdict; an exception of the rule is a failure, another one an error.

    Parameters
    ----------
    suite, case, rule, deviations
        Name of the suite, the case, the rule, and reasons of known deviations by suite and case.
    on_event
        Called with the event of each observation, as it is made.
    """
    observations: list[Observation] = []
    announce(f"{suite}/{case.id}")
    try:
        for observation in case.observe(rule):
            observations.append(observation)
            on_event(observation.event)
    except NotJudged as why:
        return SuiteVerdict(suite, case, why.verdict, reason=str(why), observations=tuple(observations))
    except Exception as error:  # noqa: BLE001 - whatever a rule raises is a finding
        where = traceback.extract_tb(error.__traceback__)[-1]
        lines = str(error).splitlines() or [""]
        text = f"{type(error).__name__}: {lines[0]} ({where.name}, line {where.lineno})"
        after = after_event(observations[-1].event if observations else "")
        if _is_refusal(error):
            interruption = interrupted(suite, case, deviations, after, lines[0])
        elif _runs_rule(error, rule):
            interruption = interrupted(suite, case, deviations, after, f"crashed: {text}")
        else:
            reason = f"it could not be run, which is no fault of the rule: {text} in {Path(where.filename).name}"
            interruption = SuiteVerdict(suite, case, ERROR, reason=reason)
        return interruption._replace(observations=tuple(observations))
    wrong = [observation for observation in observations if not case.holds(observation)]
    if not observations:
        return SuiteVerdict(suite, case, NOT_JUDGED, reason="the rule reached no event of this case")
    verdict, reason = _deviation(suite, case, deviations) if wrong else (PASSED, "")
    shown = wrong[0] if wrong else max(observations, key=case.excess)
    expected, found = case.describe(shown)
    if verdict == FAILED and _answers_bytes(rule, case, shown):
        reason = "does it answer bytes? Then its table needs the flag HOPFLOW_CC_BYTES"
    return SuiteVerdict(suite, case, verdict, shown.event, expected, found, reason, tuple(observations))


def _is_refusal(error: Exception) -> bool:
    """Return whether an exception is a deliberate refusal of a rule's decision: RuleError or ArithmeticError itself."""
    return type(error) in (RuleError, ArithmeticError)


def _runs_rule(error: Exception, rule: WindowRule) -> bool:
    """Return whether an exception is a RuleError, or was raised while code of the rule's classes was running."""
    if isinstance(error, RuleError):
        return True
    modules = {cls.__module__ for cls in type(rule).__mro__ if not cls.__module__.startswith("dfcmodel.")}
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__") in modules for frame, _ in frames)


def _answers_bytes(rule: WindowRule, case: SuiteCase, observation: Observation) -> bool:
    """Return whether a library that counts packets seems to have returned bytes: over 1000 packets too many."""
    if not isinstance(rule, NativeRule) or rule.loaded.counts_bytes or case.unit != "packets":
        return False
    return observation.found - observation.expected > BYTES_FOR_PACKETS


def after_event(event: str) -> str:
    """Return "a call after ``event``", the point of an interruption; "" stands for no event yet.

    >>> after_event("a loss"), after_event("")
    ('a call after a loss', 'a call before the first observation')
    """
    return f"a call after {event}" if event else "a call before the first observation"


def interrupted(suite: str, case: SuiteCase, deviations: Mapping[str, str], event: str, failure: str) -> SuiteVerdict:
    """Return the verdict on a case that the rule did not complete: failed, or a known deviation.

    Parameters
    ----------
    suite, case, deviations
        Name of the suite, the case, and reasons of known deviations by suite and case.
    event, failure
        When it was interrupted, and what happened.
    """
    verdict, reason = _deviation(suite, case, deviations)
    return SuiteVerdict(suite, case, verdict, event, case.expectation, failure, reason)


def _deviation(suite: str, case: SuiteCase, deviations: Mapping[str, str]) -> tuple[str, str]:
    """Return (verdict, reason) for a case that deviates: known with its reason, or failed with ""."""
    reason = deviations.get(f"{suite}/{case.id}", case.known)
    return (KNOWN if reason else FAILED), reason
