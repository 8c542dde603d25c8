"""Counting instructions of the packet loop: client requests outside of Valgrind, files of Callgrind."""

from __future__ import annotations

import pytest

from benchmarks.instructions import CASES, START, Counts, ask, read_totals, scenario_of


def test_requests_do_nothing_outside_of_valgrind():
    assert ask(START) == 0


def test_totals_are_read_by_the_names_of_their_events():
    text = "version: 1\nevents: Ir Dr Dw\n\nfn=(1) f\n0 9 9 9\n\ntotals: 12 3 4\n"
    assert read_totals(text) == {"Ir": 12, "Dr": 3, "Dw": 4}
    with pytest.raises(ValueError, match="no line of events, or of totals"):
        read_totals("events: Ir\n")


def test_lines_are_per_packet_hop():
    assert Counts(10, 25, 15, 5, 1).line("x") == "| x | 10 | 2.5 | 1.5 | 0.5 | 0.1 |"


@pytest.mark.parametrize("case", CASES)
def test_each_case_is_a_scenario(case):
    scenario, method = scenario_of(case)
    assert len(scenario.flows) > 1
    assert method.is_ns2 == case.startswith("dumbbell")


def test_other_cases_are_refused():
    with pytest.raises(ValueError, match="case = 'ring': must be one of dumbbell 2"):
        scenario_of("ring")
