"""The command that plants faults: which faults there are, how one is judged, and that lines may move."""

from __future__ import annotations

import ast
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.planted_faults.faults import Fault, faults_of, relocated, with_fault
from benchmarks.planted_faults.parts import (
    PART_TESTS,
    PARTS,
    Group,
    draw_fault,
    files_of,
    group_of,
    stages_of,
)
from benchmarks.planted_faults.reports import report
from benchmarks.planted_faults.runs import Outcome, Tree, changed_answers

ROOT = Path(__file__).resolve().parents[1]
SOURCE = '''"""A module."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    LIMIT = 7

SHARE = 0.4


def law(x: int, parts: list[int]) -> float:
    """Return 3 of 4."""
    if not x or x < 2 and x != 5:
        raise ValueError(f"x = {x + 1}: must be 2")
    total = -x
    for n in range(len(parts)):
        total += min(parts[n - 1], x) * SHARE
    return total


def plot(x: float) -> float:
    return x + 1.0
'''


def changes(source: str, functions: str = "") -> set[tuple[str, str, str]]:
    """Return kind, text and new text of all faults."""
    found = faults_of("a.py", source, functions)
    return {(fault.kind, fault.before, fault.after) for fault in found}


def test_faults_are_single_changes_of_what_is_computed() -> None:
    """Neither messages, drawings, types nor docstrings."""
    assert changes(SOURCE) == {
        ("constant", "0.4", "0.41"), ("constant", "0.4", "0.39"), ("constant", "2", "3"), ("constant", "2", "1"),
        ("constant", "5", "6"), ("constant", "5", "4"), ("constant", "1", "2"), ("constant", "1", "0"),
        ("not", "not ", ""), ("and/or", "or", "and"), ("and/or", "and", "or"), ("comparison", "<", "<="),
        ("comparison", "!=", "=="), ("sign", "-", ""), ("sign", "-", "+"), ("sign", "+", "-"),
        ("product", "*", "/"), ("extremum", "min", "max"), ("range", "len(parts)", "(len(parts)) - 1"),
    }  # fmt: skip


def test_only_the_functions_that_are_asked_for() -> None:
    source = "X = 1\n\ndef judge(x):\n    return x < 2\n\ndef other(x) -> Verdict:\n    return x == 1\n\ndef no(x):\n    return x > 1\n"
    kinds = {before for kind, before, _ in changes(source, "^judge|Verdict") if kind == "comparison"}
    assert kinds == {"<", "=="}


def test_a_fault_changes_one_place() -> None:
    for fault in faults_of("a.py", SOURCE):
        changed = with_fault(SOURCE, fault)
        assert changed != SOURCE
        assert len(changed) == len(SOURCE) - len(fault.before) + len(fault.after)
        assert ast.unparse(ast.parse(changed)) != ast.unparse(ast.parse(SOURCE)), fault
        assert changed.splitlines()[fault.line - 1] != SOURCE.splitlines()[fault.line - 1], fault


def test_words_of_two_bytes_do_not_move_the_place() -> None:
    (fault, _) = faults_of("a.py", "x = 'σ', 0.4\n")
    assert with_fault("x = 'σ', 0.4\n", fault) == "x = 'σ', 0.41\n"


def test_a_fault_is_found_again_where_lines_have_moved() -> None:
    fault = next(each for each in faults_of("a.py", SOURCE) if each.kind == "extremum")
    moved = SOURCE.replace("SHARE = 0.4", "# a comment\n\nSHARE = 0.4")
    assert relocated(moved, fault).line == fault.line + 2
    with pytest.raises(ValueError, match="is not the file of this fault"):
        with_fault(moved, fault)
    with pytest.raises(ValueError, match="has no 'min' in law any more"):
        relocated(SOURCE.replace("min(", "sum("), fault)


def test_every_part_has_files_tests_and_reference_answers() -> None:
    from benchmarks.planted_faults import chain_probes, judge_probes, network_probes, probes

    homes = (probes, chain_probes, network_probes, judge_probes)
    answered = {name for home in homes for name in home.PROBES}
    assert answered == {group.name for groups in PARTS.values() for group in groups}
    assert set(PARTS) == set(PART_TESTS)
    for tests in [*PART_TESTS.values(), *(g.tests for groups in PARTS.values() for g in groups)]:
        assert all((ROOT / test).exists() for test in tests), tests
    for groups in PARTS.values():
        assert all(len(files_of(ROOT, group)) >= 3 for group in groups)


def test_a_drawn_fault_is_the_same_for_the_same_seed() -> None:
    group, fault = draw_fault(ROOT, "validation", 3, seed=1)
    assert draw_fault(ROOT, "validation", 3, seed=1) == (group, fault)
    assert draw_fault(ROOT, "validation", 4, seed=1)[1] != fault
    assert group in PARTS["validation"]
    assert fault.path in files_of(ROOT, group)


def test_the_tests_of_a_module_are_first() -> None:
    folder = "tests/responsefn/rules"
    named = stages_of(ROOT, group_of("rules"), "responsefn/rules/slow_starts.py")
    assert named[0] == [f"{folder}/test_slow_starts.py", f"{folder}/refused_slow_starts.txt"]
    stages = stages_of(ROOT, group_of("rules"), "responsefn/rules/cubic.py")
    assert stages[0] == [f"{folder}/test_quic.py"]  # mentions its names most
    assert "tests/responsefn/test_one_rate.py" in stages[1]
    assert stages[2] == ["tests/responsefn/rules"]
    kernel = stages_of(ROOT, group_of("fluid kernel"), "dfcmodel/engine/kernel/loop.py")
    assert kernel[0] == ["tests/dfcmodel/test_default_constants.py", "tests/dfcmodel/engine"]
    calls = stages_of(ROOT, group_of("methods"), "markov/time/passages.py")
    assert calls[0] == [f"tests/markov/time/{n}" for n in ("test_passages.py", "refused_passages.txt")]
    constants = "tests/responsefn/test_default_constants.py"
    assert stages[1][:2] == [constants, "tests/responsefn/test_published_steps.py"]


def test_answers_differ_beyond_rounding_and_bounds_by_a_factor() -> None:
    before = {"a": [1.0, 2.0], "bound of a": [1e-12], "b": "an error", "c": [float("inf")]}
    assert changed_answers(before, dict(before)) == []
    assert changed_answers(before, before | {"a": [1.0, 2.0 * (1 + 1e-12)]}) == []
    assert changed_answers(before, before | {"bound of a": [1.9e-12]}) == []
    for name, value in {
        "a": [1.0, 2.01],
        "bound of a": [3e-12],
        "b": "another",
        "c": [1.0],
    }.items():
        assert changed_answers(before, before | {name: value}) == [name]
    assert changed_answers(before, before | {"a": [1.0]}) == ["a"]
    assert changed_answers(before, before | {"d": [1.0]}) == ["d"]
    assert changed_answers(before, {"": "no answer"}) == ["error: no answer"]


class Fake(Tree):
    """A tree in which it is known what fails and what is answered."""

    def __init__(self, fails: set[str], answer: float) -> None:
        super().__init__(ROOT, ROOT)
        self.fails, self.answer, self.planted = fails, answer, False

    @contextmanager
    def changed(self, fault: Fault) -> Any:
        self.planted = True
        yield
        self.planted = False

    def failing(self, tests: list[str]) -> str:
        return next((test for test in tests if test in self.fails and self.planted), "")

    def answers(self, group: str, path: str) -> dict[str, Any]:
        return {"x": [self.answer if self.planted else 1.0]}


OWN, BESIDE = (
    "tests/responsefn/rules/test_quic.py",
    "tests/responsefn/test_one_rate.py",
)


@pytest.mark.parametrize(
    ("fails", "answer", "result", "by"),
    [
        ({OWN}, 1.0, "caught", OWN),
        ({BESIDE}, 2.0, "caught", BESIDE),
        ({"tests/responsefn"}, 2.0, "caught", "tests/responsefn"),
        (set(), 1.0, "no answer changed", "1 answers"),
        (set(), 2.0, "survived", "x"),
    ],
    ids=["own test", "another one", "any of the part", "nothing changed", "not noticed"],
)
def test_a_fault_is_caught_or_survives(fails: set[str], answer: float, result: str, by: str):
    path = "responsefn/rules/cubic.py"
    fault = faults_of(path, (ROOT / path).read_text(encoding="utf-8"))[0]
    found = Fake(fails, answer).try_fault(group_of("rules"), "responsefn", fault)
    assert (found.result, found.by) == (result, by)
    assert Outcome.of_json(found.to_json()) == found


def test_the_report_counts_and_lists_survivors(tmp_path: Path) -> None:
    faults = faults_of("a.py", SOURCE)
    results = ("caught", "caught", "caught", "survived", "no answer changed")
    outcomes = [Outcome(f, "rules", r, "x") for f, r in zip(faults, results, strict=False)]
    text = report(outcomes, tmp_path / "none.toml")
    assert "| responsefn | rules | 3 | 1 | 1 |" in text
    assert "3 of 4 faults that change an answer are caught, 75%." in text
    assert str(faults[3]) in text
    assert Group("a", (), 1.0).tests == ()
