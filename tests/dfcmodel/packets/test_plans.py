"""Plans: ports of links and of their mirrors, sizes, times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import Packets, dumbbell, simulate, takano2006
from dfcmodel.packets.plans import bits_of
from tests.dfcmodel.packets.conftest import plan_of


def test_acks_return_over_a_mirror_of_the_link(one_link) -> None:
    plan = plan_of(one_link, Packets(seed=1))
    there, back = plan.ports
    assert (plan.forward, plan.backward) == (((0,),), ((1,),))
    assert (back.source, back.target, back.mirror) == ("b", "a", True)
    assert (back.bits, back.delay, back.room) == (there.bits, there.delay, there.room)
    np.testing.assert_allclose(plan.transmission[0, :2], [1e-3, 1e-3 * 40 / 1500])
    np.testing.assert_allclose(plan.passage, plan.transmission + 0.01)


def test_acks_can_take_propagation_delays_alone(one_link) -> None:
    plan = plan_of(one_link, Packets(seed=1, ack_transmission=False))
    assert (plan.passage[:, 1:] == 0.01).all()
    assert plan.transmission[0, 0] == pytest.approx(1e-3)


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


def test_simultaneous_arrivals_go_by_port_or_in_ns2_by_passage(one_link) -> None:
    links = dumbbell(1, rate=100.0, delay=0.1, access_rate=1e3, access_delay=0.01, buffer=9)
    flow = replace(one_link.flows[0], path=("s1", "left", "right", "d1"))
    scenario = replace(one_link, links=links, flows=(flow,))
    assert list(plan_of(scenario, Packets(seed=1)).ranks) == [0, 1, 2, 3, 4, 5]
    ranks = plan_of(scenario, Packets(convention="ns2")).ranks
    assert set(ranks[[1, 4]]) == {0, 1}


def test_phases_must_be_one_for_each_flow() -> None:
    with pytest.raises(ValueError, match="phases: 1 values"):
        plan_of(takano2006("1", dfc=False), Packets(convention="ns2", phases=(0.0,)))


def test_rates_that_were_meant_as_whole_bits_are() -> None:
    assert bits_of(370e6 / 12000, 1500.0) == 370e6
    assert bits_of(0.1, 1.0) == 0.8


@pytest.mark.parametrize("given", [{"duration": 1e-300}, {"duration": 1e-6, "sample": 1e-13}])
def test_times_that_the_kernel_cannot_count_in_samples_are_refused(one_link, given) -> None:
    """A number of samples beyond 64 bits would be a row before the first."""
    name, value = list(given.items())[-1]
    with pytest.raises(ValueError, match=f"^{name} = {value!r}: must be a finite number >= 1e-12"):
        simulate(one_link, method=Packets(seed=1), **given)
