"""TCP(a,b) with a and b exchanged: which flows change."""

from __future__ import annotations

from validation.generate.zheng2002.exchanged import CASES


def test_only_the_gentle_rules_are_exchanged() -> None:
    kinds = {
        part for case in CASES for run in case.runs for part in run["options"]["kinds"].split(",")
    }
    rules = {kind.rpartition("/")[0] for kind in kinds}
    assert rules == {"sack/0.125/0.8", f"sack/0.25/{1 - 3 / 7!r}", "sack/1.0/0.5", "tfrc/0/0"}


def test_each_case_has_the_numbers_of_the_default_one() -> None:
    numbers = [sorted({run["factors"]["number"] for run in case.runs}) for case in CASES]
    assert numbers == [[8], [1, 2, 4, 8, 16, 32, 64], [4, 16, 32, 64]]
