"""Bundled runs of the slides' rules, and the same with the rules of responsefn."""

from __future__ import annotations

import pandas as pd
import pytest

from validation.claims.kaneko2007.runs import (
    modelled,
    of_cases,
    relative,
    seeds_of,
    share,
    slow_start_of,
)

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
