"""Arrays of watchdogs: lanes of their classes, chains of those at one port, room for the storms that they declare."""

from __future__ import annotations

from dataclasses import replace

from dfcmodel import PFC
from dfcmodel.packets.kernel.layout import WATCHED
from dfcmodel.packets.watchdogs import PortWatchdog
from tests.dfcmodel.packets.layouts.test_lanes import arrays_of, two_inputs


def test_watchdogs_of_one_port_are_a_chain_and_a_port_with_one_is_not_plain() -> None:
    plan = two_inputs(PFC((3,), 20.0, 10.0))
    dogs = [PortWatchdog(1, c, 2e-3 * n, 5e-3, 4e-3, 2, 3) for n, c in enumerate((3, -1))]
    arrays = arrays_of(replace(plan, watchdogs=tuple(dogs)))
    assert arrays["watched"][:3].tolist() == [-1, 1, -1]
    found = arrays["watchdog"]
    assert found["next"].tolist() == [-1, 0]
    first = arrays["port"]["lane"][1]
    assert first <= found["lane"][0] < first + 2
    assert found["lane"][1] == -1
    assert arrays["port"]["plain"][1] == WATCHED
    assert arrays["port"]["plain"][2] == arrays_of(plan)["port"]["plain"][2] == 1
    # 0.1 s have 20 intervals, of which 5 declare a storm and end it
    assert len(arrays["detected"]) == 1 + 2 * (20 // 5 + 2)


def test_a_plan_without_watchdogs_has_none() -> None:
    arrays = arrays_of(two_inputs(PFC((3,), 20.0, 10.0)))
    assert (arrays["watched"] == -1).all()
    assert len(arrays["detected"]) == 1
