"""Runs of the slides: bundled ones, and those of our packet level."""

from __future__ import annotations

import pandas as pd
import pytest

from responsefn import BIC
from validation.claims.kaneko2007 import level
from validation.claims.kaneko2007.beside_reno import SMALL_BDP
from validation.claims.kaneko2007.by_simulator import apart
from validation.claims.kaneko2007.runs import (
    RULES,
    modelled,
    of_cases,
    relative,
    seeds_of,
    share,
    slow_start_of,
)

# Bundled runs of the slides' rules, and the same with the rules of responsefn.

CASE = "kaneko2007/small-bdp-ns3"


def test_shares_of_two_flows_add_up_to_one() -> None:
    frame = of_cases(CASE)
    assert share(frame, 1, rule="fusion").value + share(
        frame, 2, rule="fusion"
    ).value == pytest.approx(1)


def test_a_flow_differs_from_itself_by_nothing() -> None:
    rates = seeds_of(of_cases(CASE), rule="fusion", flow=1)
    assert relative(rates, rates).value == 0.0


def test_the_model_carries_no_more_than_the_link() -> None:
    frame = modelled(CASE, "rule == 'fusion'")
    assert set(frame["rule"]) == {"fusion"}
    packet = 8 * 1500 / frame["duration"].iloc[0]  # one begun before the window may end in it
    assert frame.groupby("seed")["goodput_bits"].sum().max() <= 30e6 + packet * (1 + 1e-9)


def test_the_first_slow_start_ends_where_the_bundled_runs_end_it() -> None:
    """A flow's part of the bandwidth-delay product, by the case's driver."""
    from validation.generate.kaneko2007.sweeps import CASES

    for case in CASES:
        if case.name in (CASE, "kaneko2007/rtt-fairness-ns3", "kaneko2007/pairs-ns3"):
            run = case.runs[0]
            group = pd.DataFrame({"base_rtt": run["rtts"]})
            assert slow_start_of(group, {"rate": run["rate"]}) == run["ssthresh"], case.name


# Runs by rule and simulator.


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


# The slides' runs at hopflow's packet level.


def test_reno_shares_with_reno_and_bic_without_its_search_does_too() -> None:
    chosen = {"reno": {}, "bic": {"changed": (("bic", BIC(low_window=1e6)),)}}
    for rule, how in chosen.items():
        runs = level.levelled(SMALL_BDP["ns-3"][0], f"rule == {rule!r}", rules=tuple(RULES), **how)
        assert share(runs, 1).value == pytest.approx(0.5, abs=0.01)


def test_bic_takes_more_on_a_short_path() -> None:
    runs = level.levelled(SMALL_BDP["ns-3"][0], "rule == 'bic'", rules=tuple(RULES))
    assert share(runs, 1).value > 0.7
