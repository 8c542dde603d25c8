"""Interfaces of hosts, those that flows share among them, against the oracle."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel.packets.ports import Ports
from responsefn import DCQCN, FixedRate, NewReno
from tests.dfcmodel.packets.random_fabrics import random_fabric
from tests.oracles.engines import (
    equal_records,
    plain_simulate,
    plan_scenario,
    run_engine,
    run_reference,
)

# Network interfaces of hosts, the control class of ACKs, and fabrics that lose nothing.

RATE = 3e6
QUICK = (*range(6), 38)
"""Seeds of the quick tests; in the last one ACKs leave a switch by a port to which no data goes from their ingress."""
FABRICS = [pytest.param(seed, marks=[] if seed in QUICK else [pytest.mark.slow]) for seed in range(200)]


def in_order(switched: np.ndarray) -> np.ndarray:
    """Return pauses by time: the compiled engine writes them port by port."""
    return switched[np.lexsort(switched.round(15).T[::-1])]


def both_engines(scenario: dfc.Scenario) -> object:
    """Return the records of the compiled engine, which those of the reference engine equal."""
    plan = plan_scenario(scenario, dfc.Packets(seed=1), duration=scenario.duration, sample=scenario.duration / 10)
    found, wanted = run_engine(plan), run_reference(plan)
    S = plan.samples
    for name in (
        "delivered",
        "lost",
        "started",
        "waiting",
        "acked",
    ):  # without what is beyond the end
        np.testing.assert_array_equal(getattr(found, name)[:S], getattr(wanted, name)[:S], err_msg=name)
    np.testing.assert_array_equal(found.peak, wanted.peak)
    for name in ("finished", "window"):  # sums of times in another order
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-9)
    np.testing.assert_allclose(in_order(found.switched), in_order(wanted.switched), rtol=1e-9)
    return found


@pytest.mark.parametrize("seed", FABRICS)
def test_random_fabrics_lose_nothing_and_are_those_of_the_reference(seed: int) -> None:
    scenario = random_fabric(seed)
    records: object = both_engines(scenario)
    assert records.lost[:-1].sum() == 0  # type: ignore[attr-defined]
    assert str(dfc.simulate(scenario, dfc.Packets(seed=1)).status) == "completed"


@pytest.mark.parametrize("host", ["unshaped", "direct"])
@pytest.mark.parametrize("seed", range(4))
def test_other_hosts_are_those_of_the_reference(seed: int, host: str) -> None:
    both_engines(random_fabric(seed, host))


def star(n: int, rule: object, **given: object) -> dfc.Scenario:
    """Return a host whose n flows go to as many others over one switch."""
    links = [dfc.Link("h", "leaf", RATE, 1e-6, 10_000, rule)]
    links += [dfc.Link("leaf", f"d{k}", RATE, 1e-6, 10_000, rule) for k in range(n)]
    flows = [dfc.Flow(f"{k}", ("h", "leaf", f"d{k}"), size=2000, **given) for k in range(n)]
    return dfc.Scenario("star", links, flows, duration=1.2 * n * 2000 / RATE)


@pytest.mark.parametrize("method", [dfc.Packets(seed=1), dfc.Fluid()], ids=["packets", "fluid"])
@pytest.mark.parametrize("source", [dfc.CBR(RATE), DCQCN()], ids=["CBR", "DCQCN"])
def test_flows_of_a_host_share_its_interface_and_nothing_is_lost(source: object, method: object) -> None:
    run = dfc.simulate(star(8, dfc.PFC(xoff=64, xon=48), source=source), method)
    assert run.lost.sum() == 0.0
    # the last one ends when all have been sent, one after the other, and two ways of a packet later; 2 steps of fluid
    assert run.finished.max() == pytest.approx(8 * 2000 / RATE + 2e-6 + 1 / RATE, rel=1e-3)


def test_a_rate_rule_has_one_packet_at_most_in_the_interface() -> None:
    run = dfc.simulate(star(8, dfc.PFC(xoff=64, xon=48), source=DCQCN()), dfc.Packets(seed=1))
    assert 7 <= run.peak_queue[0] <= 8
    longer = dfc.simulate(star(8, dfc.PFC(xoff=64, xon=48), source=dfc.CBR(RATE)), dfc.Packets(seed=1))
    assert longer.peak_queue[0] > 1000  # what an application writes waits in its host


def test_a_pause_stops_one_class_of_an_interface() -> None:
    rule = dfc.PFC((3,), xoff=40, xon=20)
    links = [
        dfc.Link("h", "s", RATE, 1e-6, 5000, rule),
        dfc.Link("s", "slow", RATE / 10, 1e-6, 5000, rule),
        dfc.Link("s", "quick", RATE, 1e-6, 5000, rule),
    ]
    flows = [
        dfc.Flow("storage", ("h", "s", "slow"), dfc.CBR(RATE / 2), priority=3),
        dfc.Flow("web", ("h", "s", "quick"), dfc.CBR(RATE / 2)),
    ]
    run = dfc.simulate(dfc.Scenario("classes", links, flows, duration=5e-3), dfc.Packets(seed=1))
    sent = run.delivered[:, -1] / run.time[-1] / RATE
    assert sent[0] == pytest.approx(0.1, rel=0.05)  # what its link takes
    assert sent[1] == pytest.approx(0.5, rel=0.01)  # all of it
    assert run.lost.sum() == 0.0


def two_ways(source: object, rule: dfc.PFC, **given: object) -> dfc.Scenario:
    """Return four flows that meet in both directions of two switches."""
    pairs = [("h1", "s1"), ("s1", "s2"), ("s2", "h2"), ("s2", "h3")]
    links = [dfc.Link(*ends, RATE, 1e-6, 5000, rule) for a, b in pairs for ends in ((a, b), (b, a))]
    paths = [
        ("h1", "s1", "s2", "h2"),
        ("h3", "s2", "h2"),
        ("h2", "s2", "s1", "h1"),
        ("h2", "s2", "h3"),
    ]
    flows = [dfc.Flow(str(n), path, source, **given) for n, path in enumerate(paths)]
    return dfc.Scenario("two ways", links, flows, duration=5e-3, packet_size=1000)


@pytest.mark.parametrize("acks", ["control", "class"])
@pytest.mark.parametrize("host", [None, "unshaped"])
@pytest.mark.parametrize("source", [DCQCN(), NewReno()], ids=["DCQCN", "NewReno"])
def test_acks_take_no_room_of_a_lossless_class(source: object, host: str | None, acks: str) -> None:
    scenario = two_ways(source, dfc.PFC(xoff=60, xon=30, acks=acks), host=host)
    assert dfc.simulate(scenario, dfc.Packets(seed=1)).lost.sum() == 0.0


def test_a_pause_of_the_class_delays_acks_in_it_alone() -> None:
    """A receiver behind a paused link answers at once where ACKs are apart."""
    trips = []
    for acks in ("control", "class"):
        rule = dfc.PFC(xoff=10, xon=5, acks=acks)
        links = [dfc.Link(*ends, RATE, 1e-6, 3000, rule) for ends in (("a", "s"), ("s", "b"), ("b", "s"))]
        links += [dfc.Link("s", "a", RATE / 20, 1e-6, 3000, rule)]
        flows = [
            dfc.Flow("there", ("a", "s", "b"), NewReno(), 4.0),
            dfc.Flow("back", ("b", "s", "a"), dfc.CBR(RATE)),  # is paused nearly always
        ]
        run = dfc.simulate(dfc.Scenario("acks", links, flows, duration=5e-3), dfc.Packets(seed=1))
        trips.append(np.nanmean(run.round_trip[0]))
        assert run.lost.sum() == 0.0
    assert trips[0] < 0.2 * trips[1]


def test_the_host_follows_from_the_first_link() -> None:
    flow = dfc.Flow("a", (1, 2, 3), dfc.CBR(100.0))
    hosts = []
    for rule in (dfc.FIFO(), dfc.PFC(), dfc.Pause(50, 25), dfc.DFC()):
        links = dfc.chain(3, rate=1e3, delay=1e-3, buffer=500, discipline=rule)
        hosts.append(dfc.Scenario("x", links, [flow]).host_of(flow))
    assert hosts == ["direct", "nic", "nic", "direct"]


def test_an_interface_is_the_first_link_of_a_host_and_has_an_access_link_at_a_switch() -> None:
    links = dfc.chain(3, rate=1e3, delay=1e-3, buffer=500, discipline=dfc.PFC())
    first, last = dfc.Flow("a", (1, 2, 3), dfc.CBR(100.0)), dfc.Flow("b", (2, 3), dfc.CBR(100.0))
    scenario = dfc.Scenario("x", links, [first, last])
    assert scenario.interfaces == {0}
    assert [scenario.enters_at_once(flow) for flow in scenario.flows] == [True, False]
    assert scenario.base_rtt(last) == pytest.approx(4e-3)
    mixed = dfc.Scenario("x", links, [first, replace(first, name="c", host="direct")])
    assert not mixed.interfaces  # the packets of c enter the buffer of a switch
    both_engines(replace(mixed, flows=(*mixed.flows, last), duration=1.0))


@pytest.mark.parametrize("others", [0, 6, 7, 30])
def test_an_interface_does_not_depend_on_the_number_of_flows(others: int) -> None:
    """The first flow over the link enters at once, the second has the interface; the other flows send nothing."""
    flows = [
        dfc.Flow("first", ("a", "b"), NewReno(), 50.0, host="direct"),
        dfc.Flow("second", ("a", "b"), NewReno(), 50.0, host="nic"),
    ]
    flows += [dfc.Flow(f"idle {n}", ("a", "b"), dfc.CBR(1.0), start=50.0, host="direct") for n in range(others)]
    link = dfc.Link("a", "b", 1e3, 5e-3, 20.0)
    run = dfc.simulate(dfc.Scenario("mixed", [link], flows, duration=2.0), dfc.Packets(seed=1))
    np.testing.assert_array_equal(run.goodput[:2], [765.0, 145.0])


@pytest.mark.parametrize("seed", range(20))
def test_ports_are_those_of_a_loop_over_all_flows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng([76, seed])
    scenario = random_fabric(seed)
    hosts = (None, "nic", "direct", "unshaped")
    flows = [
        replace(
            flow,
            host=hosts[rng.integers(4)],
            path=flow.path[int(rng.integers(len(flow.path) - 1)) :],
        )
        for flow in scenario.flows
    ]
    used = {way for flow in flows for way in itertools.pairwise(flow.path)}
    links = [
        link
        for link in scenario.links
        if (link.source, link.target) in used or rng.integers(2)  # some without a link back
    ]
    scenario = replace(scenario, flows=flows, links=links)
    for ack_transmission in (True, False):
        method = dfc.Packets(seed=1, ack_transmission=ack_transmission)
        both = []
        for chooses in (True, False):
            if not chooses:
                monkeypatch.setattr(Ports, "_first_users", lambda *given: np.arange(len(flows)))
            receives_acks = np.array([not isinstance(f.source, (dfc.CBR, dfc.OnOff)) for f in flows])
            ports = Ports(scenario, method, receives_acks)
            both.append((ports.forward, ports.backward, tuple(ports)))
        monkeypatch.undo()
        assert both[0] == both[1]


def test_an_interface_is_not_counted_with_a_link_of_its_host_that_carries_acks_alone() -> None:
    """The compiled engine did not end."""
    rule = dfc.PFC(xoff=38.0, xon=8.0, counts="switch")
    links = [
        dfc.Link(0, 4, 643.0, 0.023, 20_000.0),
        dfc.Link(4, 0, 728.0, 0.0275, 20_000.0, rule),
        dfc.Link(4, 5, 2409.0, 0.0047, 20_000.0, rule),
        dfc.Link(5, 4, 2746.0, 0.00557, 20_000.0),
    ]
    flows = [
        dfc.Flow("to the host", (5, 4), NewReno(), max_window=134.0),
        dfc.Flow("from the host", (4, 0), dfc.CBR(752.0), size=53),
    ]
    scenario = dfc.Scenario("two links", links, flows, duration=0.6)
    assert scenario.interfaces == {1}
    assert [scenario.count_group(n) for n in (1, 2)] == [(1,), (2,)]
    both_engines(scenario)
    assert dfc.simulate(scenario, dfc.Packets(seed=1)).finished[1] > 0.0


def test_an_interface_reports_no_rate_to_shape_to() -> None:
    links = dfc.chain(2, rate=1e3, delay=1e-3, buffer=500, discipline=dfc.DFC())
    with pytest.raises(ValueError, match="host of flow 'a' = 'nic': DFC reports a rate"):
        dfc.Scenario("x", links, [dfc.Flow("a", (1, 2), dfc.CBR(100.0), host="nic")])


@pytest.mark.slow
def test_interfaces_under_fifo_take_turns() -> None:
    """Two windows over one interface get equal shares of a lossy network, whose switch drops."""
    links = [dfc.Link("h", "s", 1e4, 1e-3, 50), dfc.Link("s", "d", 9e3, 1e-3, 50)]
    flows = [dfc.Flow(str(n), ("h", "s", "d"), NewReno(), host="nic") for n in range(2)]
    scenario = dfc.Scenario("lossy", links, flows, duration=2.0)
    both_engines(scenario)
    run = dfc.simulate(scenario, dfc.Packets(seed=1))
    assert run.lost[:, 0].sum() == 0.0  # none at the host
    assert run.lost[:, 1].sum() > 0.0


# Access links that several flows of a host share: queues by flow, rooms of PFC, and both engines.

RULE = dfc.PFC(classes=(0, 1), xoff=10.0, xon=5.0)


def hub(rates: list[Any], buffer: float = 500.0, rule: Any = RULE, **given: Any) -> dfc.Scenario:
    """Return flows of one host at a switch, whose first link is the bottleneck: they share the access link before it.

    A further flow over the switch makes its node no host.
    """
    links = [
        dfc.Link("x", "s", 1e4, 1e-4, buffer, rule),
        dfc.Link("s", "d", 1e4, 1e-4, buffer, rule),
    ]
    flows = [
        dfc.Flow(f"f{k}", ("s", "d"), source, host="nic", priority=k % 2, **given) for k, source in enumerate(rates)
    ]
    flows.append(dfc.Flow("through", ("x", "s", "d"), dfc.CBR(100.0)))
    return dfc.Scenario("hub", links, flows, duration=0.2)


def test_the_backlog_is_that_of_each_flow() -> None:
    """Constant rates through an access link of 1e4 packets/s: what a flow offers beyond its share waits there.

    Classes take turns, and the flows of a class: f1 has half of the link, f0 all that it offers, f2 the rest.
    """
    rates = [2e3, 8e3, 12e3]
    run = dfc.simulate(
        hub([dfc.CBR(rate) for rate in rates], 5000.0, dfc.Pause(4000.0, 100.0)),
        dfc.Packets(seed=1),
        sample=0.01,
    )
    offered = np.array(rates)[:, np.newaxis] * run.time
    shares = np.array([2e3, 5e3, 3e3])[:, np.newaxis] * run.time
    assert run.backlog[:3] == pytest.approx(offered - shares, abs=3.0)
    assert (run.backlog[3] == 0.0).all()
    with_oracle = plain_simulate(
        hub([dfc.CBR(rate) for rate in rates], 5000.0, dfc.Pause(4000.0, 100.0)),
        dfc.Packets(seed=1),
        sample=0.01,
    )
    np.testing.assert_array_equal(run.backlog, with_oracle.backlog)


@pytest.mark.parametrize("seed", range(6))
def test_both_engines_agree_on_all_records(seed: int) -> None:
    """Backlogs by flow, peaks, and what is inside among them."""
    rng = np.random.default_rng([23, seed])
    sources = [NewReno(), DCQCN(), dfc.CBR(3e3), dfc.OnOff(8e3, 5e-3, 5e-3, random=True)]
    chosen = [sources[rng.integers(4)] for _ in range(rng.integers(2, 6))]
    size = [math.inf, 150.0][seed % 2]
    scenario = hub(chosen, rule=[RULE, dfc.Pause(20.0, 10.0)][seed % 2], size=size)
    plan = plan_scenario(scenario, dfc.Packets(seed=seed), duration=0.1, sample=0.005)
    found = equal_records(plan)
    assert found.at_hosts.any()
    assert (found.inside >= 0.0).all()


def test_flows_that_share_an_access_link_share_its_room() -> None:
    scenario = hub([dfc.CBR(1e3)] * 6)
    room = RULE.room(1e4, 1e-4, 1500.0, 500.0)
    # both classes of the shared access link, and class 0 of the link from x
    assert scenario.reserved(1) == pytest.approx(3.0 * room)
    plan = plan_scenario(scenario, dfc.Packets(seed=1), duration=0.1, sample=0.01)
    assert sum(plan.ingress(1).values()) == pytest.approx(scenario.reserved(1))
    assert plan.lossy_room(1) == pytest.approx(500.0 - scenario.reserved(1))
    assert len(scenario.rooms(1)) == 7  # by flow, as the fluid counts


def test_a_buffer_that_holds_the_rooms_of_the_access_link_is_enough() -> None:
    room = RULE.room(1e4, 1e-4, 1500.0, 500.0)
    scenario = hub([dfc.CBR(4e3)] * 6, math.ceil(3.0 * room))
    run = dfc.simulate(scenario, dfc.Packets(seed=1))
    assert run.lost.sum() == 0.0
    assert run.status.ok
    with pytest.raises(ValueError, match="in the fluid each flow of a host has an access link"):
        dfc.simulate(scenario, dfc.Fluid())
    with pytest.raises(ValueError, match=r"PFC reserves .* packets of its buffer for 3 ingress queues"):
        hub([dfc.CBR(4e3)] * 6, math.floor(3.0 * room) - 1.0)


@pytest.mark.parametrize("source", [dfc.CBR(1e4), FixedRate(), NewReno()], ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("weights", [(1, 2, 5), (3, 3, 1)])
def test_flows_of_an_interface_share_it_by_their_weights(weights: tuple[int, ...], source: Any) -> None:
    """All always have a packet to send: the shares are those of the weights, within a turn of each."""
    links = [dfc.Link("h", "s", 1e4, 1e-4, 500.0, RULE)]
    links += [dfc.Link("s", f"d{k}", 1e4, 1e-4, 500.0, RULE) for k in range(3)]
    flows = [dfc.Flow(f"f{k}", ("h", "s", f"d{k}"), source, weight=weight) for k, weight in enumerate(weights)]
    run = dfc.simulate(dfc.Scenario("weights", links, flows, duration=0.2), dfc.Packets(seed=1), sample=0.05)
    late = run.delivered[:, -1] - run.delivered[:, 0]
    assert late == pytest.approx(late.sum() * np.array(weights) / sum(weights), abs=max(weights))
    assert late.sum() == pytest.approx(0.15 * 1e4, rel=0.01)


@pytest.mark.parametrize("seed", range(12))
def test_both_engines_agree_on_weights(seed: int) -> None:
    rng = np.random.default_rng([29, seed])
    sources = [
        NewReno(),
        DCQCN(),
        dfc.CBR(3e3),
        FixedRate(),
        dfc.OnOff(8e3, 5e-3, 5e-3, random=True),
    ]
    chosen = [sources[rng.integers(5)] for _ in range(rng.integers(2, 6))]
    scenario = hub(chosen, rule=[RULE, dfc.Pause(20.0, 10.0)][seed % 2])
    flows = [replace(flow, weight=int(rng.integers(1, 5))) for flow in scenario.flows[:-1]]
    scenario = replace(scenario, flows=(*flows, replace(scenario.flows[-1], weight=2, host="nic")))
    equal_records(plan_scenario(scenario, dfc.Packets(seed=seed), duration=0.1, sample=0.005))


def test_the_fluid_refuses_weights() -> None:
    with pytest.raises(ValueError, match=r"weight of flow 'f0' = 2.*Packets\(\)"):
        dfc.simulate(hub([dfc.CBR(1e3)], weight=2), dfc.Fluid())
