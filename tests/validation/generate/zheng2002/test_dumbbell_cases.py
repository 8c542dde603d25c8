"""The experiments of Sect. 3: readings only where they differ."""

from __future__ import annotations

from validation.generate.zheng2002 import dumbbell_cases
from validation.generate.zheng2002.dumbbell_cases import MILD, TCP, TFRC


def test_readings_differ_only_for_other_decreases_than_one_half() -> None:
    assert dumbbell_cases.readings((TCP, TFRC)) == ("1-b",)
    assert dumbbell_cases.readings((MILD, TFRC)) == ("1-b", "b")


def test_runs_of_a_case_differ() -> None:
    for case in dumbbell_cases.CASES:
        commands = [command for run in case.runs for command in case.commands(run)]
        assert len(set(commands)) == len(case.runs), case.name
