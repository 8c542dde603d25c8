"""Runs by rule and simulator."""

from __future__ import annotations

import pandas as pd

from validation.claims.kaneko2007.by_simulator import apart


def test_no_simulator_hides_the_runs_of_another() -> None:
    one = pd.DataFrame({"rule": ["reno", "bic"], "seed": [1, 1]})
    other = pd.DataFrame({"rule": ["reno", "reno"], "seed": [1, 2]})
    found = apart(("ns-2", one), ("ns-3", other))
    assert {
        rule: {tool: len(runs) for tool, runs in each.items()} for rule, each in found.items()
    } == {
        "reno": {"ns-2": 1, "ns-3": 2},
        "bic": {"ns-2": 1},
    }
