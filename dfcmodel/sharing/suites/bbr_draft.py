"""The test cases of the IETF draft on BBR, an empty path and the table of states, as a suite."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from dfcmodel.network.endpoints.native_rules import NativeRule
from dfcmodel.sharing.bbr_cases import CASES, FURTHER_CASES, Case
from dfcmodel.sharing.bbr_conformances import judge
from dfcmodel.sharing.bbr_observations import UnreportedError
from dfcmodel.sharing.suites.cases import NotJudged, Observation, Suite, SuiteCase, Tolerance, Undecided, truth
from hopflow.intervals import spawn_seeds
from responsefn import BBR

__all__ = ["BBR_DRAFT"]

RUNS = 5
"""Smallest number of runs with which a verdict is possible (`JudgedCase.verdict`)."""


def _observe(number: int, case: Case, rule: Any) -> Iterator[Observation]:
    """Run a case of BBR's draft with 5 seeds; yield its checks as true or false, or raise NotJudged or Undecided."""
    if isinstance(rule, NativeRule):
        if not rule.loaded.limits_flight:
            raise NotJudged("its window limits sequence numbers, not packets in flight (HOPFLOW_CC_FLIGHT)")
    else:
        missing = [name for name in BBR.State._fields if name not in rule.State._fields]
        if missing or not isinstance(rule, BBR):
            raise NotJudged(f"its state lacks variables of the draft: {', '.join(missing[:4]) or 'it is no BBR'}")
    try:
        judged = judge(rule, number, case, spawn_seeds(0, RUNS).tolist())
    except UnreportedError as error:
        raise NotJudged(str(error)) from None
    if judged.verdict == "inconclusive":
        raise Undecided(f"every check holds in {judged.as_expected} of {judged.runs} runs")
    is_expected = judged.verdict == "as expected"
    for check in judged.checks:
        yield truth(check.expected, check.holds or is_expected, "holds", check.happened)


BBR_DRAFT: Suite = Suite(
    "bbr-draft", 4, "draft-ietf-ccwg-bbr, appendix BBR Example Test Cases, 3 August 2026", ("bbr-draft",),
    tuple(
        SuiteCase(
            str(number), "checks of the draft's variables", "", case.title, "=", Tolerance(),
            case.source or f"draft-ietf-ccwg-bbr, appendix, case {number}",
            partial(_observe, number, case),
            "as the checks state; a case passes in more than half of all seeds at 95 %",
            case.deviation,
        )
        for number, case in enumerate((*CASES, *FURTHER_CASES), 1)
    ),
)  # fmt: skip
"""The 22 cases of the appendix, an empty path as case 23, and the table of states and the like as cases 24 to 36."""
