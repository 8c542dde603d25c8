"""The dumbbells of zheng2002: options of ns-2, and rows of its outputs."""

from __future__ import annotations

import pytest

from validation.generate.zheng2002 import dumbbell, dumbbell_cases
from validation.generate.zheng2002.dumbbell_cases import MILD, TCP, TFRC
from validation.generate.zheng2002.exchanged import CASES

# One bottleneck: options, and the balance of its rows.


@pytest.mark.simulators
def test_ns2_repeats_the_bundled_rows(repeats) -> None:
    repeats("zheng2002/pairs-8x8", seed=1)


def test_readings_of_the_decrease() -> None:
    assert dumbbell.spec("TCP(1/5,1/8)", 8, "1-b") == "sack/0.2/0.875/8"
    assert dumbbell.spec("TCP(1/5,1/8)", 8, "b") == "sack/0.2/0.125/8"
    assert dumbbell.spec("TFRC", 8, "b") == "tfrc/0/0/8"
    assert dumbbell.spec("TCP(1/5,1/8)", 8, dumbbell.EXCHANGED) == "sack/0.125/0.8/8"
    assert dumbbell.spec("TCP(1,1/2)", 8, dumbbell.EXCHANGED) == "sack/1.0/0.5/8"


def test_packets_that_are_not_conserved_are_an_error() -> None:
    names = ("arrivals", "drops", "departures", "queued_before", "queued_after", "marks")
    link = dict.fromkeys(names, 0)
    dumbbell.check(link, [dict(link)])
    with pytest.raises(RuntimeError, match="not conserved"):
        dumbbell.check({**link, "arrivals": 1}, [dict(link)])
    with pytest.raises(RuntimeError, match="marks of the flows"):
        dumbbell.check(link, [{**link, "marks": 1}])


def test_six_digits() -> None:
    assert dumbbell.short(1.23456789) == 1.23457


# The experiments of Sect. 3: readings only where they differ.


def test_readings_differ_only_for_other_decreases_than_one_half() -> None:
    assert dumbbell_cases.readings((TCP, TFRC)) == ("1-b",)
    assert dumbbell_cases.readings((MILD, TFRC)) == ("1-b", "b")


def test_runs_of_a_case_differ() -> None:
    for case in dumbbell_cases.CASES:
        commands = [command for run in case.runs for command in case.commands(run)]
        assert len(set(commands)) == len(case.runs), case.name


# TCP(a,b) with a and b exchanged: which flows change.


def test_only_the_gentle_rules_are_exchanged() -> None:
    kinds = {
        part for case in CASES for run in case.runs for part in run["options"]["kinds"].split(",")
    }
    rules = {kind.rpartition("/")[0] for kind in kinds}
    assert rules == {"sack/0.125/0.8", f"sack/0.25/{1 - 3 / 7!r}", "sack/1.0/0.5", "tfrc/0/0"}


def test_each_case_has_the_numbers_of_the_default_one() -> None:
    numbers = [sorted({run["factors"]["number"] for run in case.runs}) for case in CASES]
    assert numbers == [[8], [1, 2, 4, 8, 16, 32, 64], [4, 16, 32, 64]]
