"""The ports that count, and the times at which a pool is looked at."""

from __future__ import annotations

import pytest

from dfcmodel import CBR, FIFO, Flow, Link, Pause, Scenario
from dfcmodel.lossless.pools.pool_plans import plan_pool

RULES = {"x": Pause(high=5.0, low=2.0), "y": FIFO(), "z": Pause(high=6.0, low=2.0)}
LINKS = [Link("s", name, 1e4, 1e-3, 500.0, rule) for name, rule in RULES.items()]
FABRIC = Scenario("three", LINKS, [Flow("f", ("s", "x"), CBR(100.0))], duration=0.1)


def test_ports_are_all_that_pause_or_those_that_are_named() -> None:
    asked = plan_pool(FABRIC, 20, 0.1, None, None, None)
    assert (asked.ports, asked.size, asked.plan.samples) == ([0, 2], 20.0, 100)
    assert plan_pool(FABRIC, 20, 0.1, 0.02, ["s->z", "s->z"], None).ports == [2]
    with pytest.raises(ValueError, match="links = 's->y'"):
        plan_pool(FABRIC, 20, 0.1, None, "s->y", None)
