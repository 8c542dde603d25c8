"""Predicted costs: long runs warn or are refused before they start."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from dfcmodel import (
    CBR,
    Flow,
    Fluid,
    Link,
    Packets,
    Scenario,
    choose_level,
    ensemble,
    simulate,
    takano2006,
)
from dfcmodel.levels.costs import check_cost
from dfcmodel.levels.predictions import predicted_seconds
from responsefn import NewReno


def short_link(delay: float = 1e-9, duration: float = 5.0, **flow) -> Scenario:
    """Return a flow over a link whose delay sets the step of the fluid: a fourth of it."""
    links = (Link(1, 2, 1000.0, delay, 50),)
    return Scenario("short", links, (Flow("a", (1, 2), NewReno(), **flow),), duration=duration)


def test_predictions_are_those_of_the_choice() -> None:
    scenario = takano2006("1")
    found = choose_level(scenario, duration=2.0)
    assert predicted_seconds(scenario, Fluid(), 2.0) == found.fluid_seconds
    assert predicted_seconds(scenario, Packets(), 2.0) == found.packet_seconds


def test_a_run_of_a_link_of_a_nanosecond_is_refused_unless_asked_for() -> None:
    """10 s are 4e10 steps, 1.1 hours; 100 s are 11."""
    with pytest.warns(UserWarning, match="1.1 hours of CPU time predicted for 'short'") as told:
        check_cost(short_link(), Fluid(), 10.0)
    assert "4e+10 steps of 2.5e-10 s" in str(told[0].message)
    assert "link 1->2" in str(told[0].message)
    assert "method=Packets() takes about" in str(told[0].message)
    with pytest.raises(
        ValueError, match=r"11 hours .* must be at most 3 hours; give max_cpu_time="
    ):
        simulate(short_link(), duration=100.0, level="fluid")
    with pytest.raises(ValueError, match="max_cpu_time"):
        ensemble(short_link(), runs=2, duration=50.0, level="fluid")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_cost(short_link(), Fluid(), 50.0, math.inf)
        check_cost(short_link(), Fluid(), 50.0, "1200min")
        check_cost(short_link(), Fluid(), 0.01)


def test_a_limit_of_the_user_replaces_both() -> None:
    with pytest.raises(ValueError, match="must be at most 1 s"):
        simulate(short_link(), duration=0.01, max_cpu_time="1s", level="fluid")
    run = simulate(short_link(1e-5), duration=0.01, max_cpu_time=1.0, level="fluid")
    assert run.status.ok
    for bad in (0.0, -1.0, math.nan, "soon"):
        with pytest.raises(ValueError, match="max_cpu_time"):
            simulate(short_link(1e-5), duration=0.01, max_cpu_time=bad, level="fluid")


def test_packets_are_predicted_by_what_is_sent() -> None:
    slow = Scenario(
        "fast", (Link(1, 2, 1e8, 1e-3, 500),), (Flow("a", (1, 2), CBR(1e8)),), duration=2000.0
    )
    with pytest.raises(ValueError, match=r"2e\+11 packets"):
        simulate(slow, Packets(seed=1))
    check_cost(slow, Packets(loss={"1->2": 0.1}), 1000.0)  # not predicted
    flow = Flow("a", (1, 2), CBR(1e8), size=1e3)
    check_cost(Scenario("few", slow.links, (flow,), duration=1000.0), Packets(), 1000.0)


def test_what_packets_cannot_run_is_not_advised() -> None:
    links = (Link(1, 2, 1000.0, 1e-9, 50, shared=False),)
    scenario = Scenario("own", links, short_link().flows, duration=5.0)
    with pytest.warns(UserWarning, match="steps") as told:
        check_cost(scenario, Fluid(), 5.0)
    assert "Packets" not in str(told[0].message)


@pytest.mark.parametrize("limit", [np.array([]), np.zeros((2, 3)), pd.NA, 0.0, -1.0, math.nan])
def test_a_limit_must_be_a_number_above_zero(limit) -> None:
    with pytest.raises(ValueError, match=r"^max_cpu_time = "):
        simulate(takano2006("1"), duration=0.01, max_cpu_time=limit, level="fluid")
