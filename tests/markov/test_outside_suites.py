"""Reference results of suites that others wrote, found by HOPFLOW_SUITES."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from benchmarks import certified
from benchmarks.outside import dsmts, prism, qcomp
from benchmarks.outside.rows import Question, answered, compared, suites

ROOT = suites()
REASON = "HOPFLOW_SUITES is not set: the folder with copies of the suites"
pytestmark = pytest.mark.skipif(ROOT is None, reason=REASON)
MAX_STATES = 2_000  # states of a model, in the quick tests


def small(questions: Any, root: Path | None) -> list[Question]:
    if root is None:
        return []
    return [q for q in questions(root) if q.states is None or q.states <= MAX_STATES]


@pytest.mark.parametrize(
    "question",
    small(qcomp.questions, ROOT),
    ids=lambda q: f"{q.model}-{q.parameters}-{q.query}".replace(" ", ""),
)
def test_a_result_of_the_verification_benchmark_set_lies_within_the_bound(
    question: Question,
) -> None:
    row = answered(question, MAX_STATES)
    assert row.status == "agrees", row


def test_no_result_of_the_regression_tests_of_prism_differs() -> None:
    assert ROOT is not None
    rows = [answered(q, MAX_STATES) for q in prism.questions(ROOT)]
    assert len(rows) >= 236
    wrong = [row for row in rows if row.status in ("differs", "no bound", "too large")]
    assert not wrong
    unread = [row for row in rows if row.status == "not stated"]
    assert all("cosafe" in row.note or "ltl" in row.note for row in unread), unread


LARGE = ("00005", "00007", "00023", "00025")  # thousands of molecules: 20 to 200 s of CPU each
EVENTS = ("00028", "00029", "00032", "00033")  # at given times, and such as a reaction triggers


def test_means_and_deviations_of_the_stochastic_models_are_right_to_their_digits() -> None:
    """One model in five, and those with events; ``python -m benchmarks.outside dsmts`` compares all."""
    assert ROOT is not None
    few = {f"{number:05}" for number in range(1, 40, 5)} - set(LARGE) | set(EVENTS)
    rows = [answered(q, MAX_STATES) for q in dsmts.questions(ROOT) if q.model in few]
    assert len(rows) > 30
    assert not [row for row in rows if row.status != "agrees"]


@pytest.mark.slow
def test_all_means_and_deviations_of_the_stochastic_models_are_right() -> None:
    assert ROOT is not None
    rows = [answered(q, MAX_STATES) for q in dsmts.questions(ROOT)]
    assert len({row.model for row in rows}) == 39
    assert len(rows) >= 90
    assert not [row for row in rows if row.status != "agrees"]


def test_a_wrong_value_would_be_noticed() -> None:
    question = Question("qcomp", "m", "", "p", Fraction(1, 3), Fraction(1, 3), None, lambda: (0, 0))
    assert compared(question, 0.3333, 1e-9)[0] == "differs"
    assert compared(question, 1.0 / 3.0, 1e-15)[0] == "agrees"


@pytest.mark.parametrize(
    "model",
    [
        "kanban.prism", "polling.3.prism", "papers/KNP07a-SFM07/ctmc.sm", "functionality/verify/multiple_bsccs_ss.sm",
    ],
)  # fmt: skip
def test_stationary_values_are_certified_with_the_rates_of_the_file(model: str, tmp_path: Path) -> None:
    assert ROOT is not None
    asked = [
        each for each in certified.steady(ROOT) if each[0].model == model and certified.is_steady(each[0], each[3])
    ]
    for question, *rest in asked:
        if question.states is None or question.states <= MAX_STATES:
            row = certified.certified(question, *rest, (tmp_path, MAX_STATES))
            assert row.status == "contains theirs", row
            assert row.rows.startswith("re-derived from")
    assert asked
