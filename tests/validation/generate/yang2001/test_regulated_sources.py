"""Rows of Table 4 without best effort: settings of the inference."""

from __future__ import annotations

from validation.generate.yang2001 import regulated_sources, unstated_parameters


def test_settings_and_seeds_are_those_of_the_inference() -> None:
    (case,), (other,) = regulated_sources.CASES, unstated_parameters.CASES
    known = {run["setting"]: (run["seed"], run["chosen"]) for run in other.runs}
    assert {run["environment"] for run in case.runs} == {"cc/cc", "ts/ts"}
    assert len(case.runs) == 16 * 2 * 4
    assert all(known[run["setting"]] == (run["seed"], run["chosen"]) for run in case.runs)
