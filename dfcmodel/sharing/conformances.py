"""Conformance of rules and traces: to suites, to the test cases of the IETF draft on BBR, or state by state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, overload

from dfcmodel.network.endpoints.native_rules import NativeRule
from dfcmodel.sharing.bbr_cases import CASES
from dfcmodel.sharing.bbr_conformances import Conformance, judge
from dfcmodel.sharing.qlog_traces import QlogTrace
from dfcmodel.sharing.suites.index import ALL, OTHER_NAMES, SUITES
from dfcmodel.sharing.suites.isolation import judge_isolated
from dfcmodel.sharing.suites.judging import judge_suite
from dfcmodel.sharing.suites.known_deviations import deviations_of_own_rules, read_known
from dfcmodel.sharing.suites.results import SuiteConformance
from dfcmodel.sharing.trace_conformances import TraceConformance, check_trace
from hopflow.checks import choice, instance, instances, integer
from hopflow.intervals import spawn_seeds
from hopflow.progress import announcing, progress_bar
from responsefn import BBR, CUBIC, WindowRule

if TYPE_CHECKING:
    import numpy as np

__all__ = ["conformance"]


@overload
def conformance(
    rule: BBR,
    *,
    cases: Iterable[int] | None = None,
    runs: int = 5,
    seed: int | np.random.Generator = 0,
    suite: None = None,
    known: None = None,
) -> Conformance: ...
@overload
def conformance(rule: QlogTrace, *, cases: None = None) -> TraceConformance: ...
@overload
def conformance(
    rule: WindowRule,
    *,
    suite: str | Iterable[str],
    against: WindowRule | None = None,
    known: str | Path | Mapping[str, str] | None = None,
) -> SuiteConformance: ...


def conformance(
    rule: WindowRule | QlogTrace,
    *,
    cases: Iterable[int] | None = None,
    runs: int = 5,
    seed: int | np.random.Generator = 0,
    suite: str | Iterable[str] | None = None,
    against: WindowRule | None = None,
    known: str | Path | Mapping[str, str] | None = None,
) -> Conformance | TraceConformance | SuiteConformance:
    """Hold a rule to suites of cases, run the IETF draft's test cases of BBR on it, or check a trace.

    With ``suite`` the rule is held to tables of cases, each with the section of its source: ``"rfc5681"`` (NewReno),
    ``"rfc9438"`` (CUBIC), ``"bbr-draft"``, ``"rfc9743"`` (criteria for new congestion control), ``"robustness"`` and
    ``"incidents"`` (public faults). A suite about another specification than the rule claims (``claims`` of
    `responsefn.WindowRule`) does not apply. ``hopflow conform`` prints the same, with an exit status. A `NativeRule`
    runs in a process per suite, so that a library that crashes, or that does not return within a minute, fails the
    case.

    Without it the test cases of BBR's draft are run. Each case is one flow over one bottleneck at packet level, some
    with a burst beside it or with elements of the path: rates over time, aggregated acknowledgements, a policer,
    reordering. A case ends in checks of the draft's variables. Known failures of BBR are named as deviations. Each case
    runs with several independent seeds; its verdict is on the part of all seeds in which every check holds
    (`JudgedCase.verdict`).

    Of a trace (`read_qlog_trace`) each state is checked: its successor, its duration, its window and its pacing rate,
    as far as the trace has them. Undoing a spurious loss, which may lead back to STARTUP or UP, shows as a deviation.

    Parameters
    ----------
    rule
        With ``suite``, a rule of a window, in Python or a `NativeRule`. Otherwise `responsefn.BBR` with any parameters
        or a subclass with its state, or a `dfcmodel.results.QlogTrace`.
    cases
        Numbers of cases in the appendix, 1 to 22; None: all, and of a trace or suites.
    runs
        Runs of each case. Fewer than five are always inconclusive.
    seed
        Integer >= 0 or a `numpy.random.Generator`, from which the seeds of the runs are spawned. Of a trace neither has
        an effect: it is checked as it is. Suites have seeds of their own.
    suite
        Name of a suite, several names, or ``"all"``; None: the draft's test cases, or a trace.
    against
        Rule whose contradicted sections of ``"rfc9743"`` are no failures; None: CUBIC, whose answers are bundled.
    known
        Reasons of known deviations by suite and case, or a TOML file with lines ``"rfc9438/fast-convergence" = "why"``.
        Such cases do not count as failed.

    Raises
    ------
    TypeError, ValueError
        For another rule, and for numbers that are no case.
    ArithmeticError
        Where a rule does not reach the state in which a case begins.

    Examples
    --------
    >>> from dfcmodel import conformance
    >>> from responsefn import BBR
    >>> result = conformance(BBR(), cases=(1, 3))
    >>> [case.verdict for case in result.cases]
    ['as expected', 'as expected']
    """
    if suite is not None:
        if cases is not None:
            raise ValueError(f"cases = {cases!r}: must be None with suite = {suite!r}")
        return _conform(rule, suite, against, known)
    for name, value in (("against", against), ("known", known)):
        if value is not None:
            raise ValueError(f"{name} = {value!r}: must be None without suite")
    if isinstance(rule, QlogTrace):
        if cases is not None:
            raise ValueError(f"cases = {cases!r}: must be None for a trace")
        return check_trace(rule)
    bbr = instance("rule", rule, BBR, "BBR(), a rule of a subclass, or a QlogTrace, or give suite")
    chosen = range(1, len(CASES) + 1) if cases is None else instances("cases", cases, int, "a number")
    for n, number in enumerate(chosen):
        integer(f"cases[{n}]", number, 1, len(CASES))
    seeds = spawn_seeds(seed, integer("runs", runs, 1, 10_000)).tolist()
    judged = [judge(bbr, number, CASES[number - 1], seeds) for number in progress_bar(chosen, desc="BBR", unit="case")]
    return Conformance(bbr, tuple(judged))


def _conform(
    rule: WindowRule | QlogTrace,
    suite: str | Iterable[str],
    against: WindowRule | None,
    known: str | Path | Mapping[str, str] | None,
) -> SuiteConformance:
    """Return the verdicts of suites, by name, on a rule, compared with ``against`` and ``known`` failures."""
    window = instance("rule", rule, WindowRule, "a rule of a window, such as CUBIC()")
    names = (suite,) if isinstance(suite, str) else instances("suite", suite, str, "a name")
    for name in names:
        if name.lower() in OTHER_NAMES:
            allowed = ", ".join(map(repr, (*SUITES, ALL)))
            raise ValueError(f"suite = {name!r}: must be one of {allowed}; {OTHER_NAMES[name.lower()]}")
        choice("suite", name, (*SUITES, ALL))
    chosen = tuple(SUITES) if ALL in names else tuple(dict.fromkeys(names))
    if against is not None and "rfc9743" not in chosen:
        raise ValueError(f"against = {against!r}: must be None without the suite rfc9743")
    other = CUBIC() if against is None else instance("against", against, WindowRule, "a rule of a window, or None")
    reasons = dict(known) if isinstance(known, Mapping) else {} if known is None else read_known(Path(known))
    all_reasons = deviations_of_own_rules(window) | reasons
    judged = []
    with progress_bar(total=len(chosen), desc="conformance", unit="suite") as bar, announcing(bar.set_postfix_str):
        for name in chosen:
            if isinstance(window, NativeRule):
                judged.append(judge_isolated(name, other, window, all_reasons))
            else:
                judged.append(judge_suite(SUITES[name](other), window, all_reasons))
            bar.update()
    return SuiteConformance(window, tuple(judged), reasons)
