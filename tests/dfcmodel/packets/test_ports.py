"""Ports of links and of their mirrors: rates, rooms, and which one ACKs return over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dfcmodel import DFC, FIFO, RED, CoDel, Packets, Pause, simulate
from dfcmodel.packets.ports import bits_of, has_lanes
from tests.dfcmodel.packets.conftest import plan_of


def test_queues_have_lanes_where_the_next_packet_is_chosen_late() -> None:
    rules = (FIFO(), RED(5.0, 15.0), CoDel(), Pause(6.0, 3.0), DFC())
    assert [has_lanes(rule) for rule in rules] == [False, False, True, True, True]


def test_acks_return_over_a_mirror_of_the_link(one_link) -> None:
    plan = plan_of(one_link, Packets(seed=1))
    there, back = plan.ports
    assert (plan.forward, plan.backward) == (((0,),), ((1,),))
    assert (back.source, back.target, back.mirror) == ("b", "a", True)
    assert (back.bits, back.delay, back.room) == (there.bits, there.delay, there.room)
    np.testing.assert_allclose(plan.transmission[0, :2], [1e-3, 1e-3 * 40 / 1500])
    np.testing.assert_allclose(plan.passage, plan.transmission + 0.01)


def test_acks_that_take_no_time_wait_behind_no_packets(one_link) -> None:
    """Beside a flow that fills the opposite link, a flow is as it is alone."""
    (link,), (flow,) = one_link.links, one_link.flows
    links = link, replace(link, source="b", target="a")
    against = replace(flow, name="against", path=("b", "a"))
    delivered = {}
    for acks in (True, False):
        for flows in ((flow,), (flow, against)):
            two = replace(one_link, links=links, flows=flows)
            run = simulate(two, Packets(seed=1, ack_transmission=acks), duration=2.0)
            delivered[acks, len(flows)] = run.delivered[0, -1]
    assert delivered[False, 2] == delivered[False, 1] >= delivered[True, 1] > delivered[True, 2]


def test_acks_return_over_the_link_of_the_scenario_where_there_is_one(one_link) -> None:
    (link,) = one_link.links
    back = replace(link, source="b", target="a", delay=0.03)
    plan = plan_of(replace(one_link, links=(link, back)), Packets(seed=1))
    assert plan.backward == ((1,),)
    assert len(plan.ports) == 2


def test_ns2_holds_one_packet_less(one_link) -> None:
    rooms = [plan_of(one_link, Packets(convention=c)).ports[0].room for c in ("standard", "ns2")]
    assert rooms == [20, 19]


def test_rates_that_were_meant_as_whole_bits_are() -> None:
    assert bits_of(370e6 / 12000, 1500.0) == 370e6
    assert bits_of(0.1, 1.0) == 0.8
