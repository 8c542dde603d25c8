"""The ratios of TCP to UDP that the cases of Table 4 leave out."""

from __future__ import annotations

from validation.generate.yang2001 import all_ratios, priority


def test_with_the_ratios_of_the_other_cases_they_are_those_of_the_paper() -> None:
    (case,) = all_ratios.CASES
    ratios = {run["tcp_flows"] for run in case.runs}
    assert ratios.isdisjoint(priority.RATIOS)
    assert ratios | set(priority.RATIOS) == set(range(81, 100))
    assert {run["seed"] for run in case.runs} <= set(priority.SEEDS)
    assert len(case.runs) == 4 * 4 * 14 * 2
