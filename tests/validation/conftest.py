"""What tests of claims share: other data, and checks that measure anew."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest

from validation import Finding, Verdict, evidence
from validation.checks import subjects
from validation.claims import find
from validation.claims.takano2006.matrices import matrix
from validation.judgements.verdicts import Judgement

Change = Callable[[pd.DataFrame], Any]


@pytest.fixture
def doctor() -> Iterator[Callable[..., None]]:
    """Let one table of some cases (None: the headline) read as a function makes it; what claims computed before is forgotten, and after."""
    with contextlib.ExitStack() as contexts:

        def change(cases: str | tuple[str, ...], how: Change, name: str | None = None) -> None:
            wanted = (cases,) if isinstance(cases, str) else cases

            def doctored(case: str, file: str, whole: pd.DataFrame) -> pd.DataFrame:
                first = next(iter(evidence.provenance(case)["files"]))
                if case not in wanted or file.split(".")[0] != (name or first.split(".")[0]):
                    return whole
                frame = whole.copy()
                changed = how(frame)
                return frame if changed is None else changed

            contexts.enter_context(evidence.changed(doctored))

        yield change


@pytest.fixture
def check() -> Callable[[str], Finding]:
    """Return what a claim finds when it is measured anew."""

    def find_anew(id: str) -> Finding:
        find(id)
        subject = subjects()[id]
        return subject.found(subject.check.measure(*subject.arguments))

    return find_anew


@pytest.fixture
def judged() -> Callable[..., Judgement]:
    """Return the verdicts on the statements of a claim when it is measured anew, by key."""

    def judge_anew(id: str, **thresholds: float) -> Judgement:
        find(id)
        subject = subjects()[id]
        return subject.check.judged(subject.check.measure(*subject.arguments), **thresholds)

    return judge_anew


@pytest.fixture
def process() -> Callable[[str], dict[str, Verdict]]:
    """Return the verdicts on the chain's own events when a claim is measured anew, by key."""

    def judge_anew(id: str) -> dict[str, Verdict]:
        find(id)
        subject = subjects()[id]
        return subject.check.judged_process(subject.check.measure(*subject.arguments))

    return judge_anew


@pytest.fixture
def measured_anew() -> Iterator[None]:
    """Measure again: the matrices of takano2006 are computed once otherwise."""
    matrix.cache_clear()
    yield
    matrix.cache_clear()
