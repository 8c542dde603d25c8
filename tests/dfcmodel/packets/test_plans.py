"""Plans of packet runs: ports, hops, hosts and records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel.packets.layouts.ports import order_and_window, ports_without_queues, route_parts
from dfcmodel.packets.plan import Hosts, PacketPlan, hops_of
from dfcmodel.packets.ports import bits_of, has_lanes
from hopflow.progress import parts
from responsefn import NewReno, Reno, Vegas
from tests.dfcmodel.packets.conftest import plan_of, random_scenario
from tests.oracles.engines import run_engine
from tests.oracles.packets.records import EventRecords

# Plans: what the ports of a run have in common, and what follows from their disciplines.


def chain_of(one_link, *disciplines) -> PacketPlan:
    """Return the plan of a flow over links with these disciplines."""
    links = dfc.chain(len(disciplines) + 1, rate=100.0, delay=0.01, buffer=20)
    links = [replace(link, discipline=rule) for link, rule in zip(links, disciplines, strict=True)]
    path = (*(link.source for link in links), links[-1].target)
    flow = replace(one_link.flows[0], path=path, host="direct")
    return plan_of(replace(one_link, links=tuple(links), flows=(flow,)), dfc.Packets(seed=1))


def test_values_by_discipline_are_those_of_each_port(one_link) -> None:
    plan = chain_of(one_link, dfc.FIFO(), dfc.Fair(), dfc.FIFO())
    named = plan.by_discipline(lambda rule: type(rule).__name__)
    assert named.tolist() == [type(port.discipline).__name__ for port in plan.ports]
    assert plan.ports_under(dfc.Fair) == [1]
    assert plan.ports_under(dfc.Fair, dfc.FIFO) == list(range(len(plan.ports)))


@pytest.mark.parametrize("seed", range(4))
def test_arrivals_at_one_time_are_in_the_order_of_their_passages_then_of_their_ports(seed) -> None:
    plan = plan_of(random_scenario("fifo", seed), dfc.Packets(seed=1))
    for classes in (range(plan.sizes.size), [0, 5]):
        passage = plan.passage[:, classes].ravel().tolist()
        expected = sorted(range(len(passage)), key=lambda n: (-passage[n], n))
        found = plan.arrival_order(classes)
        assert np.argsort(found, axis=None).tolist() == expected
        assert sorted(found.ravel().tolist()) == list(range(len(passage)))
    assert len(np.unique(plan.passage)) > 1
    np.testing.assert_array_equal(plan.arrival_ranks, plan.arrival_order(range(plan.sizes.size)))


def test_a_port_with_pause_pauses_what_feeds_it_which_has_lanes_then(one_link) -> None:
    plan = chain_of(one_link, dfc.FIFO(), dfc.Pause(6.0, 3.0), dfc.FIFO())
    assert (plan.pausable(1), plan.pausable(2)) == ((0,), ())
    assert plan.with_lanes[:3].tolist() == [True, True, False]


def test_columns_are_those_of_the_ports(one_link) -> None:
    plan = chain_of(one_link, dfc.FIFO(), dfc.Fair())
    for name, values in (("rooms", "room"), ("bits", "bits"), ("delays", "delay")):
        np.testing.assert_array_equal(getattr(plan, name), [getattr(port, values) for port in plan.ports])


# Ports of links and of their mirrors: rates, rooms, and which one ACKs return over.


def test_queues_have_lanes_where_the_next_packet_is_chosen_late() -> None:
    rules = (dfc.FIFO(), dfc.RED(5.0, 15.0), dfc.CoDel(), dfc.Pause(6.0, 3.0), dfc.DFC())
    assert [has_lanes(rule) for rule in rules] == [False, False, True, True, True]


def test_acks_return_over_a_mirror_of_the_link(one_link) -> None:
    plan = plan_of(one_link, dfc.Packets(seed=1))
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
            run = dfc.simulate(two, dfc.Packets(seed=1, ack_transmission=acks), duration=2.0)
            delivered[acks, len(flows)] = run.delivered[0, -1]
    assert delivered[False, 2] == delivered[False, 1] >= delivered[True, 1] > delivered[True, 2]


def test_acks_return_over_the_link_of_the_scenario_where_there_is_one(one_link) -> None:
    (link,) = one_link.links
    back = replace(link, source="b", target="a", delay=0.03)
    plan = plan_of(replace(one_link, links=(link, back)), dfc.Packets(seed=1))
    assert plan.backward == ((1,),)
    assert len(plan.ports) == 2


def test_ns2_holds_one_packet_less(one_link) -> None:
    rooms = [plan_of(one_link, dfc.Packets(convention=c)).ports[0].room for c in ("standard", "ns2")]
    assert rooms == [20, 19]


def test_rates_that_were_meant_as_whole_bits_are() -> None:
    assert bits_of(370e6 / 12000, 1500.0) == 370e6
    assert bits_of(0.1, 1.0) == 0.8


# Hops of flows as columns, against a loop.


def test_columns_are_those_of_a_loop_over_the_routes() -> None:
    for seed in range(1, 4):
        plan = plan_of(random_scenario("fifo", seed), dfc.Packets(seed=1))
        expected, row = [], 0
        for f, (out, back) in enumerate(zip(plan.forward, plan.backward, strict=True)):
            before = -1
            for is_ack, route in ((False, out), (True, back)):
                for n, port in enumerate(route):
                    expected.append((f, port, is_ack, n == 0, before, row))
                    before = port
                    row += 1
                row += 1  # the receiver's, or the sender's
        columns = (*plan.hops, plan.hops.before, plan.hops.row)
        assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected


def test_a_source_without_acks_has_hops_one_way() -> None:
    hops = hops_of([(3, 4)], [()])
    assert hops.row.tolist() == [0, 1]
    assert not hops.is_ack.any()


@pytest.mark.parametrize("host", ["direct", "unshaped"])
def test_the_round_trip_without_queue_is_that_of_a_packet_alone(host: str) -> None:
    """A window of one packet: every round trip is a packet's and its ACK's transmission and propagation."""
    links = dfc.chain(6, rate=1000.0, delay=2e-3, buffer=20)
    flow = dfc.Flow("alone", (1, 2, 3, 4, 5, 6), Reno(), 1.0, host=host)
    alone = dfc.Scenario("alone", links, (flow,), duration=0.2)
    (base,) = plan_of(alone, dfc.Packets()).base_rtts
    hops = 5 if host == "direct" else 6
    assert base == pytest.approx(2 * hops * 2e-3 + hops * (1500 + 40) / 1500 / 1000.0)
    trips = dfc.simulate(alone, dfc.Packets()).round_trip
    assert np.nanmin(trips) == pytest.approx(base, rel=1e-12)
    assert np.nanmax(trips) == pytest.approx(base, rel=1e-12)


def test_transmission_times_are_no_queue() -> None:
    """Vegas keeps alpha to beta packets in the queue of a long chain, where propagation alone would tell of 27 more."""
    links = dfc.chain(31, rate=1000.0, delay=0.5e-3, buffer=100)
    flow = dfc.Flow("alone", tuple(range(1, 32)), Vegas(), 200.0)
    one = dfc.Scenario("chain", links, (flow,), duration=5.0)
    run = dfc.simulate(replace(one, flows=(replace(flow, pacing=True),)), dfc.Packets())
    late = run.time > 3.0
    assert 1.0 <= run.queued[0, late].mean() <= 5.0
    assert np.ptp(run.delivered[0, late]) / np.ptp(run.time[late]) == pytest.approx(1000.0, rel=0.01)


# Hosts: whose calendar queue the events of interfaces and of the ends of flows are in.


def plan_between(hosts: int, **options: object) -> PacketPlan:
    """Return the plan of hosts at a switch, of which each sends to the next one."""
    rule = dfc.PFC((0,), 20.0, 10.0)
    ends = [(f"h{n}", "s") for n in range(hosts)]
    links = [dfc.Link(a, b, 1e5, 1e-5, 900.0, rule) for here, there in ends for a, b in ((here, there), (there, here))]
    flows = [
        dfc.Flow(f"flow{n}", (f"h{n}", "s", f"h{(n + 1) % hosts}"), NewReno(), max_window=64.0) for n in range(hosts)
    ]
    flows = [replace(flow, **options) for flow in flows]
    return plan_of(dfc.Scenario("hosts", links, flows, duration=0.05), dfc.Packets(seed=1))


def test_each_interface_has_a_queue_with_the_ends_of_its_flows() -> None:
    plan = plan_between(3)
    hosts = plan.hosts
    of_host = [plan.forward[f][0] for f in range(3)]
    assert hosts.queue.tolist() == list(range(len(plan.ports)))
    assert hosts.sender.tolist() == of_host
    assert hosts.receiver.tolist() == [of_host[1], of_host[2], of_host[0]]
    order, ahead = order_and_window(plan, inline := ports_without_queues(plan), route_parts(plan, inline))
    assert order[:4].tolist() == [len(plan.ports), *sorted(of_host)]
    assert ahead > 0.9 * 1e-5


def test_answers_are_those_of_one_queue_for_all_hosts() -> None:
    apart, plan = run_engine(plan_between(4)), plan_between(4)
    senders = len(plan.ports)
    queue, ends = np.arange(senders), np.full(len(plan.forward), senders)
    queue[plan.at_senders] = senders
    vars(plan)["hosts"] = Hosts(queue, ends, ends)  # a property that is computed once
    one = run_engine(plan)
    for field in ("window", "acked", "delivered", "waiting", "lost", "peak", "waited"):
        np.testing.assert_array_equal(getattr(apart, field), getattr(one, field))
    assert apart.delivered.sum() > 100


@dataclass(frozen=True)
class Answers(dfc.ReceiverAgent):
    """Acknowledge each packet, and let its sender send another one."""

    @staticmethod
    def on_packet(s, q, e):
        return s._replace(ack=1.0, credits=1.0)


def test_flows_to_an_agent_that_answers_over_several_links_share_one_queue() -> None:
    rule = dfc.PFC((0,), 20.0, 10.0)
    links = [
        dfc.Link(a, b, 1e5, 1e-5, 900.0, rule)
        for a, b in (
            ("a", "s"),
            ("s", "a"),
            ("b", "t"),
            ("t", "b"),
            ("s", "d"),
            ("d", "s"),
            ("t", "d"),
            ("d", "t"),
        )
    ]
    agent = Answers()
    flows = [
        dfc.Flow("one", ("a", "s", "d"), dfc.Credited(), receiver=agent, size=50.0),
        dfc.Flow("two", ("b", "t", "d"), dfc.Credited(), receiver=agent, size=50.0),
        dfc.Flow("to a", ("d", "s", "a"), NewReno()),
        dfc.Flow("to b", ("d", "t", "b"), NewReno()),
    ]
    plan = plan_of(dfc.Scenario("agent", links, flows, duration=0.05), dfc.Packets(seed=1))
    hosts, senders = plan.hosts, len(plan.ports)
    assert (hosts.queue[plan.at_senders] == senders).all()
    assert (hosts.sender == senders).all()
    assert (hosts.receiver == senders).all()
    alone = plan_of(dfc.Scenario("agent", links, [flows[0], *flows[2:]], duration=0.05), dfc.Packets(seed=1))
    assert alone.hosts.receiver[0] == alone.backward[0][0]


# Records: bins of time, and the books of a run.


def test_bins_are_samples_and_one_for_all_that_is_later(one_link) -> None:
    records = EventRecords(plan_of(one_link, dfc.Packets(seed=1)))
    assert [records.bin_of(t) for t in (0.0, 0.0099, 0.015, 1.999, 2.0, 5.0)] == [
        0, 0, 1, 199, 200, 200,
    ]  # fmt: skip


def test_runs_of_a_scenario_share_ports_and_what_follows_from_them_unless_its_flows_have_many_hops(monkeypatch) -> None:
    scenario = random_scenario("fifo", 3)
    methods = (dfc.Packets(seed=1), dfc.Packets(seed=1, ack_transmission=False))
    for method in methods:
        run_engine(plan_of(scenario, method))
    assert {name for name, *_ in scenario.derived} == {"checked", "ports", "layout"}
    one, other = (plan_of(scenario, replace(method, seed=2)) for method in methods)
    assert one.ports is not other.ports
    for plan in (one, other):
        assert plan.ports.derived is not None
        assert {"hops", "lookahead", "with_lanes"} <= plan.ports.derived.keys()
        assert plan.hops is plan.ports.derived["hops"]
    monkeypatch.setattr("dfcmodel.packets.ports.MAX_SHARED_HOPS", 0)
    scenario = random_scenario("fifo", 3)
    run_engine(plan := plan_of(scenario, dfc.Packets(seed=1)))
    assert plan.ports.derived is None
    assert {name for name, *_ in scenario.derived} == {"checked"}


def test_parts_are_of_one_size_and_end_at_the_end() -> None:
    run, ends = SimpleNamespace(done=0, bar=None), [0]
    for last in parts(run, 1000, 300):
        run.done = last
        ends.append(last)
    assert ends == [0, 300, 600, 900, 1000]


def test_a_part_has_as_many_hops_as_flows_with_equal_shares_send(monkeypatch) -> None:
    # flow 0 takes both links of 100 and 40 packets/s, flow 1 the second one: 20 packets/s each, 2 and 1 hops
    links = [
        replace(link, rate=rate)
        for link, rate in zip(dfc.chain(3, rate=1.0, delay=0.01, buffer=20), (100.0, 40.0), strict=True)
    ]
    flows = [dfc.Flow("0", (1, 2, 3), source=Reno()), dfc.Flow("1", (2, 3), source=Reno())]
    scenario = dfc.Scenario("two", links, flows)
    monkeypatch.setattr("dfcmodel.packets.plan.HOPS_OF_PART", 600)
    for longer in (1, 4):  # what is kept of a scenario does not depend on the samples of its runs
        given = plan_of(scenario, dfc.Packets(seed=1))
        plan = replace(given, sample=given.sample * longer)
        assert plan.hops.flow.tolist() == [0, 0, 0, 0, 1, 1]  # ACKs too
        assert plan.samples_of_part == int(600 / (6 * 20.0 * plan.sample))


def test_a_run_that_stops_in_a_part_goes_on_from_there() -> None:
    run, seen = SimpleNamespace(done=0, bar=None), []
    for last in parts(run, 6, 4):
        seen.append((run.done, last))
        run.done = min(run.done + 1, last)
    assert seen == [(n, min(n + 4, 6)) for n in range(6)]


def test_nothing_is_run_twice() -> None:
    assert list(parts(SimpleNamespace(done=5, bar=None), 5, 1)) == []
