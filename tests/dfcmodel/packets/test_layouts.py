"""Layouts: which ports need a box, and how long a window may last."""

from __future__ import annotations

from dataclasses import replace

from dfcmodel import Packets, dumbbell
from dfcmodel.packets.layouts import ordered_ports, way_of, windows
from tests.dfcmodel.packets.conftest import plan_of, random_scenario


def test_only_merging_ports_need_a_box(one_link) -> None:
    links = dumbbell(2, rate=100.0, delay=0.1, access_rate=1e3, access_delay=0.01, buffer=9)
    flows = tuple(
        replace(one_link.flows[0], name=f"flow{n}", path=(f"s{n}", "left", "right", f"d{n}"))
        for n in (1, 2)
    )
    plan = plan_of(replace(one_link, links=links, flows=flows), Packets(seed=1))
    merging = {p for p, one in enumerate(ordered_ports(plan)) if not one}
    there, back = plan.forward[0][1], plan.backward[0][1]
    assert merging == {there, back}


def test_a_window_is_shorter_than_what_goes_against_the_order() -> None:
    for seed in range(1, 6):
        plan = plan_of(random_scenario("fifo", seed), Packets(seed=1))
        order, ahead = windows(plan, ordered_ports(plan))
        assert order[0] == len(plan.ports)
        assert len(set(order)) == len(order)
        assert ahead > 0.0
        least = min(
            sum(plan.passage[p, 1] for p in way) for way in (*plan.forward, *plan.backward) if way
        )
        assert ahead <= 2.0 * least or ahead < plan.passage.sum()


def test_a_way_goes_there_and_back(one_link) -> None:
    assert way_of(plan_of(one_link, Packets(seed=1)), 0) == (0, 0, 1)
