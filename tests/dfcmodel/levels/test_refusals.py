"""What one level refuses with the name of the other, where that does not run the scenario either."""

from __future__ import annotations

from typing import Any

import pytest

from dfcmodel import CAKE, FIFO, Flow, Fluid, Link, Packets, Pause, Scenario, simulate
from responsefn import NewReno


def chain(first: Any, second: Any, **given: Any) -> Scenario:
    """Return a flow over two links."""
    links = [Link("a", "s", 1e4, 1e-3, 100, first), Link("s", "b", 1e3, 1e-3, 50, second)]
    return Scenario("two", links, [Flow("one", ("a", "s", "b"), NewReno(), **given)], duration=0.1)


@pytest.mark.parametrize(
    ("method", "other"), [(Fluid(), "Packets"), (Packets(), "Fluid"), ("auto", "")]
)
def test_a_refusal_says_that_the_other_level_refuses_too(method: Any, other: str) -> None:
    scenario = chain(CAKE(), Pause(30.0, 10.0, paused_rate=10.0))
    match = (
        rf"use .*method={other}\(\); but {other}\(\) does not run the scenario: "
        if other
        else "but "
    )
    with pytest.raises(ValueError, match=match):
        simulate(scenario, level=method) if method == "auto" else simulate(scenario, method)


def test_a_refusal_names_the_level_that_runs_the_scenario() -> None:
    for scenario, method, runs in (
        (chain(CAKE(), FIFO()), Fluid(), Packets(seed=1)),
        (chain(FIFO(), Pause(30.0, 10.0, paused_rate=10.0)), Packets(seed=1), Fluid()),
    ):
        with pytest.raises(ValueError, match=rf"method={type(runs).__name__}\(\)$"):
            simulate(scenario, method)
        assert simulate(scenario, runs).delivered[0, -1] > 0.0
