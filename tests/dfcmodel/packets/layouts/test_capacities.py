"""Arrays of the compiled engine: small at first, and no answer changes as they grow."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import Packets, takano2006
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.kernel.calendar_queue import ALARM, USED
from dfcmodel.packets.layouts import capacities
from dfcmodel.packets.layouts.arrays import lay_out
from dfcmodel.packets.layouts.capacities import (
    first_elements,
    first_places,
    most_elements,
    outstanding,
)
from responsefn.responses.rule_events import signatures_of
from tests.dfcmodel.packets.conftest import plan_of, random_scenario


@pytest.mark.parametrize("name", ["fifo", "red", "codel"])
@pytest.mark.parametrize("recovery", ["newreno", "sack"])
def test_arrays_that_grow_change_nothing(name: str, recovery: str, monkeypatch) -> None:
    plan = plan_of(random_scenario(name, 3), Packets(seed=3, recovery=recovery))
    enough = run_engine(plan)
    for each, least in (("ELEMENTS", 1), ("PLACES", 1), ("FEWEST", 2)):
        monkeypatch.setattr(capacities, each, least)
    tight = run_engine(plan)
    assert enough.lost.sum() > 0
    for field in ("window", "acked", "delivered", "transit", "waiting", "lost", "peak", "waited"):
        np.testing.assert_array_equal(getattr(tight, field), getattr(enough, field))


def test_rings_are_powers_of_two_and_grow_unless_they_are_full() -> None:
    sizes, alarms = first_places(np.array([0, 5, 100, 1 << 20]), np.ones(4, dtype=int), 1)
    assert list(sizes) == [1, 8, 128, 2048]
    assert list(alarms[:3] > 1 << 40) == [True, True, True]
    assert alarms[3] == 512
    sizes, _ = first_places(np.array([100, 1 << 20]), np.array([1500, 1500]), 1)
    assert list(sizes) == [
        128,
        4096,
    ]  # two packets of each flow at once, where there is room for them


def test_elements_double_and_always_leave_room_for_a_window() -> None:
    scenario = takano2006("6", dfc=False, tcp="newreno")
    rules = signatures_of(flow.source for flow in scenario.flows)
    arrays = lay_out(plan_of(scenario, Packets(seed=1)), rules).arrays
    counters, first = arrays["counters"], len(arrays["packet"])
    for size in (2 * first, 4 * first, 8 * first, 16 * first):
        arrays["packet"]["number"][-1] = size
        counters[USED] = counters[ALARM] + 1
        capacities.grow(arrays, 16 * first)
        assert len(arrays["packet"]) == len(arrays["sent_at"]) == size
        assert arrays["packet"]["number"][size // 2 - 1] == size
        room = size - counters[ALARM]
        assert room == max(first // 2, size // 8) or (size == 16 * first and room < 0)


def test_elements_grow_up_to_what_links_and_windows_hold(one_link) -> None:
    plan = plan_of(one_link, Packets(seed=1))
    size, alarm = first_elements(plan, 1, 10**6)
    assert alarm == size // 2 < 2000
    most = most_elements(plan)
    assert first_elements(plan, 1 << 40, most)[0] == most
    assert (outstanding(plan) == 4 * one_link.flows[0].max_window).all()


def test_a_large_window_takes_no_memory_before_it_is_used() -> None:
    """takano2006 has windows of 20,000 packets and more, and buffers of 1,800."""
    scenario = takano2006("6", dfc=False, tcp="newreno")
    rules = signatures_of(flow.source for flow in scenario.flows)
    arrays = lay_out(plan_of(scenario, Packets(seed=1)), rules).arrays
    assert arrays["packet"].nbytes + arrays["ring"].nbytes < 2e5
