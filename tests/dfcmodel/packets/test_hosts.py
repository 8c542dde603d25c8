"""Hosts: whose calendar queue the events of interfaces and of the ends of flows are in."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dfcmodel import PFC, Credited, Flow, Link, Packets, ReceiverAgent, Scenario
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.hosts import Hosts
from dfcmodel.packets.layouts.lookahead import ordered_ports, windows
from dfcmodel.packets.plans import Plan
from responsefn import NewReno
from tests.dfcmodel.packets.conftest import plan_of


def plan_between(hosts: int, **options: object) -> Plan:
    """Return the plan of hosts at a switch, of which each sends to the next one."""
    rule = PFC((0,), 20.0, 10.0)
    ends = [(f"h{n}", "s") for n in range(hosts)]
    links = [
        Link(a, b, 1e5, 1e-5, 900.0, rule)
        for here, there in ends
        for a, b in ((here, there), (there, here))
    ]
    flows = [
        Flow(f"flow{n}", (f"h{n}", "s", f"h{(n + 1) % hosts}"), NewReno(), max_window=64.0)
        for n in range(hosts)
    ]
    flows = [replace(flow, **options) for flow in flows]
    return plan_of(Scenario("hosts", links, flows, duration=0.05), Packets(seed=1))


def test_each_interface_has_a_queue_with_the_ends_of_its_flows() -> None:
    plan = plan_between(3)
    hosts = plan.hosts
    of_host = [plan.forward[f][0] for f in range(3)]
    assert hosts.queue.tolist() == list(range(len(plan.ports)))
    assert hosts.sender.tolist() == of_host
    assert hosts.receiver.tolist() == [of_host[1], of_host[2], of_host[0]]
    order, ahead = windows(plan, ordered_ports(plan))
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
class Answers(ReceiverAgent):
    """Acknowledge each packet, and let its sender send another one."""

    @staticmethod
    def on_packet(s, q, e):
        return s._replace(ack=1.0, credits=1.0)


def test_flows_to_an_agent_that_answers_over_several_links_share_one_queue() -> None:
    rule = PFC((0,), 20.0, 10.0)
    links = [
        Link(a, b, 1e5, 1e-5, 900.0, rule)
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
        Flow("one", ("a", "s", "d"), Credited(), receiver=agent, size=50.0),
        Flow("two", ("b", "t", "d"), Credited(), receiver=agent, size=50.0),
        Flow("to a", ("d", "s", "a"), NewReno()),
        Flow("to b", ("d", "t", "b"), NewReno()),
    ]
    plan = plan_of(Scenario("agent", links, flows, duration=0.05), Packets(seed=1))
    hosts, senders = plan.hosts, len(plan.ports)
    assert (hosts.queue[plan.at_senders] == senders).all()
    assert (hosts.sender == senders).all()
    assert (hosts.receiver == senders).all()
    alone = plan_of(
        Scenario("agent", links, [flows[0], *flows[2:]], duration=0.05), Packets(seed=1)
    )
    assert alone.hosts.receiver[0] == alone.backward[0][0]
