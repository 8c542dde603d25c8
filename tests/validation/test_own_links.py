"""takano2006's chain with the hosts that the paper describes: clocks, settings, and the phase of simultaneous events."""

from __future__ import annotations

import numpy as np
import pytest

from validation.own_links import CLOCKS, KINDS, SCENARIOS, lines, runs, scenario_of


def test_every_scenario_has_every_kind_of_run() -> None:
    each = list(runs())
    found = {(run["scenario"], run["clocks"], run["convention"]) for run in each if not run["dfc"]}
    assert found == {(name, *kind) for name in SCENARIOS for kind in KINDS.values()}
    assert {run["convention"] for run in each if run["dfc"]} == {"standard"}


def test_clocks_stay_within_their_tolerance_and_their_seed_fixes_them() -> None:
    plain = scenario_of("4S", False, 0.0, 1).links[0].rate
    rates = np.array([link.rate for link in scenario_of("4S", False, CLOCKS, 1).links])
    again = [link.rate for link in scenario_of("4S", False, CLOCKS, 1).links]
    assert 0.0 < abs(rates / plain - 1.0).max() <= CLOCKS
    assert list(rates) == again
    assert list(rates) != [link.rate for link in scenario_of("4S", False, CLOCKS, 2).links]


def test_hosts_are_shaped_with_dfc_only() -> None:
    hosts = {dfc: scenario_of("1", dfc, 0.0, 1).flows[0].host for dfc in (True, False)}
    assert hosts == {True: "shaped", False: "unshaped"}


def test_unknown_scenarios_are_refused() -> None:
    with pytest.raises(ValueError, match="name = '4V'"):
        scenario_of("4V", False, 0.0, 1)


def test_the_order_of_simultaneous_events_decides_who_loses() -> None:
    """Scenario 1: all of the first losses are the background's, or the target's; means as in ns-3 (.058) or above .9."""
    first = {}
    for kind in ("departures first", "as in ns-2"):
        clocks, convention = KINDS[kind]
        words = {"scenario": "1", "dfc": 0, "clocks": clocks, "convention": convention, "seed": 1}
        flows = [line.split(",") for line in lines(words) if line.startswith("flows")]
        target, background = (int(flow[-1]) for flow in flows)
        first[kind] = target / (target + background), float(flows[0][2])
    assert first["departures first"] == (0.0, pytest.approx(0.99, abs=0.02))
    assert first["as in ns-2"] == (1.0, pytest.approx(0.09, abs=0.06))
