"""Further seeds of the slides' cases: others than those that they add to, at the same settings."""

from __future__ import annotations

import pytest

from validation.generate.kaneko2007 import more_seeds, parking_lot, sweeps

FIRST = {case.name: case for case in (*sweeps.CASES, *parking_lot.CASES)}
FURTHER = [case for case in more_seeds.CASES if "-more-seeds-" in case.name]


@pytest.mark.parametrize("case", FURTHER, ids=lambda case: case.name)
def test_further_seeds_are_new_ones_of_the_same_settings(case) -> None:
    first = FIRST[case.name.replace("-more-seeds", "")]
    known = {run["seed"] for run in first.runs}
    assert not known & {run["seed"] for run in case.runs}
    settings = [run["factors"] for run in first.runs]
    for run in case.runs:
        assert run["factors"] in settings
        same = next(each for each in first.runs if each["factors"] == run["factors"])
        for name in ("rate", "rtts", "buffer", "loss", "begin", "end", "ssthresh", "window"):
            assert run[name] == same[name]


def test_windows_over_time_are_kept_where_a_claim_needs_them() -> None:
    series = {case.name: "series" in case.tables for case in more_seeds.CASES}
    assert series["kaneko2007/windows-alone-more-seeds-ns3"]
    assert not series["kaneko2007/windows-with-reno-more-seeds-ns3"]


def test_round_trips_that_are_equal_need_no_further_seeds() -> None:
    (case,) = (c for c in more_seeds.CASES if c.name == "kaneko2007/rtt-fairness-more-seeds-ns2")
    assert {run["factors"]["long_rtt"] for run in case.runs} == {0.06, 0.12}
