"""Arrays of ports: lanes, queue managers, switch programs, watchdogs, DFC, interfaces."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dfcmodel import (
    AFD,
    CAKE,
    CBR,
    DFC,
    FIFO,
    INT,
    PFC,
    PIE,
    RED,
    CoDel,
    DeficitRoundRobin,
    Fair,
    Flow,
    Link,
    Packets,
    Pause,
    Scenario,
    Trimming,
    WeightedFair,
    simulate,
)
from dfcmodel.network.flows import window_rules
from dfcmodel.network.programs import flow_hash
from dfcmodel.packets.kernel.codes import PAUSE, RECEIVE_FEEDBACK, SEND_FEEDBACK
from dfcmodel.packets.kernel.layout import BY_CLASS, BY_FLOW
from dfcmodel.packets.kernel.ports import INTERFACE, LANES
from dfcmodel.packets.layouts import arrays as engine_arrays
from dfcmodel.packets.layouts.arrays import lay_out
from dfcmodel.packets.layouts.lookahead import ordered_ports, stretches, windows
from dfcmodel.packets.layouts.managers import (
    MANAGERS,
    called_managers,
    lay_out_called,
    lay_out_control,
    lay_out_early,
    manager_numbers,
)
from dfcmodel.packets.layouts.programs import lay_out_programs, program_signatures
from dfcmodel.packets.layouts.units import BUCKETS_PER_WINDOW, lay_out_units
from dfcmodel.packets.plans import QUANTUM, Plan
from dfcmodel.packets.watchdogs import PortWatchdog
from responsefn import DCQCN, NewReno
from responsefn.responses.rule_events import signatures_of
from tests.dfcmodel.packets.conftest import Own, plan_of, random_scenario
from tests.oracles.engines import plan_scenario, run_engine

# Layouts of lanes: which ports have which, and what counts the packets of a class.


def two_inputs(discipline: object) -> Plan:
    """Return flows of classes 0 and 3 over two links into one under a discipline."""
    links = [
        Link("a", "m", 1e3, 1e-3, 200.0, PFC((3,), 10.0, 5.0)),
        Link("b", "m", 2e3, 2e-3, 200.0, PFC((3,), 10.0, 5.0)),
        Link("m", "z", 1e3, 1e-3, 200.0, discipline),
    ]
    flows = [
        Flow("storage", ("a", "m", "z"), CBR(100.0), priority=3, host="direct"),
        Flow("web", ("b", "m", "z"), NewReno(), host="direct"),
        Flow("more", ("b", "m", "z"), CBR(100.0), priority=3, host="direct"),
    ]
    return plan_of(Scenario("two", links, flows, duration=0.1), Packets(seed=1))


def arrays_of(plan: Plan) -> dict[str, np.ndarray]:
    """Return the arrays of the compiled engine."""
    return lay_out(plan, signatures_of(window_rules(plan.scenario.flows))).arrays


def test_a_port_with_pfc_has_a_lane_for_each_class_and_counts_each_ingress() -> None:
    rule = PFC((3,), 20.0, 10.0)
    arrays = arrays_of(two_inputs(rule))
    port_rows, hop, feeder = (arrays[name] for name in ("port", "hop", "feeder"))
    assert (port_rows["kind"][:3] == LANES).all()
    assert port_rows["by_turns"][:3].tolist() == [BY_CLASS] * 3
    assert port_rows["lanes"][:3].tolist() == [1, 2, 2]
    last = feeder[hop["ingress"][hop["port"] == 2]]
    a, b = last[last["port"] == 0], last[last["port"] == 1]
    assert set(a["priority"]) == set(b["priority"]) == {3}
    assert a["room"][0] == rule.room(1e3, 1e-3) * 1500.0  # bytes
    assert b["room"][0] == rule.room(2e3, 2e-3) * 1500.0
    pool = last[last["port"] == -1]  # of web, and of receivers' rows that are not used
    assert pool["room"].max() == 200.0 * 1500.0 - a["room"][0] - b["room"][0]
    assert arrays["lane"]["flow"].size >= 5


def test_lanes_by_flow_and_one_lane_for_all() -> None:
    plan = two_inputs(Fair())
    wide = replace(plan.scenario.links[2], discipline=Pause(50.0, 20.0))
    fair, pause = (arrays_of(two_inputs(each))["port"][2] for each in (Fair(), wide.discipline))
    assert (fair["by_turns"], fair["lanes"]) == (BY_FLOW, 3)
    assert (pause["by_turns"], pause["lanes"], pause["feeders"]) == (0, 1, 2)
    plain = arrays_of(two_inputs(FIFO()))["port"][2]
    assert plain["kind"] != LANES


def test_quanta_are_of_the_paused_link() -> None:
    arrays = arrays_of(two_inputs(Pause(50.0, 20.0, quanta=100)))
    port = arrays["port"][2]
    rows = arrays["feeder"][port["feeder"] : port["feeder"] + port["feeders"]]
    np.testing.assert_allclose(rows["span"], [100 * QUANTUM / (rate * 12e3) for rate in (1e3, 2e3)])


def test_faults_are_messages_to_each_ingress_that_never_end() -> None:
    arrays = arrays_of(two_inputs(PFC((3,), 20.0, 10.0, storm=0.05)))
    told = arrays["packet"][: arrays["counters"][1]]
    told = told[told["number"] == PAUSE]
    np.testing.assert_allclose(sorted(told["time"]), [0.051, 0.052])
    assert (told["hop"] >= 0).all()  # a lane


# Queue managers in the arrays of the engine.


def one_under(one_link, rule) -> Plan:
    """Return the plan of a flow over a link with a manager."""
    links = (replace(one_link.links[0], discipline=rule),)
    return plan_of(replace(one_link, links=links), Packets(seed=1))


def test_managers_of_the_kernel_have_rows_of_parameters(one_link) -> None:
    for rule, rows_of in ((RED(5.0, 15.0), lay_out_early), (PIE(), lay_out_control),
                          (CoDel(target=0.01), lay_out_control)):  # fmt: skip
        plan = one_under(one_link, rule)
        numbers = manager_numbers(plan)
        assert numbers[0] == MANAGERS[type(rule).on_step]
        assert numbers[1:] == [0] * (len(plan.ports) - 1)
        row = rows_of(plan, numbers)[0]
        assert (row["low"], row["high"]) == (5.0, 15.0) if rule is RED else True
        if isinstance(rule, CoDel):
            assert row["target"] == 0.01


def test_a_manager_of_a_user_is_called_by_address(one_link) -> None:
    plan = one_under(one_link, Own(part=0.25))
    assert len(called_managers(plan)) == 1
    row = lay_out_called(plan)[0]
    assert 0.25 in row["parameters"]
    assert row["kind"] == 0


# Layouts of switch programs: parameters, first states, flows.


def test_a_port_has_its_parameters_and_a_flow_its_size() -> None:
    links = [
        Link("a", "b", 1e3, 1e-3, 50.0, WeightedFair(1.0, 7.0)),
        Link("b", "c", 1e3, 1e-3, 50.0, AFD(50.0, 0.01)),
    ]
    flows = [Flow("few", "abc", CBR(10.0), size=5, priority=1), Flow("all", "abc", CBR(10.0))]
    plan = plan_of(Scenario("programs", links, flows, duration=0.1), Packets(seed=1))
    assert [kind.__name__ for kind, _ in program_signatures(plan)] == [
        "WeightedFair",
        "AFD",
    ]
    found = lay_out_programs(plan, 10, 8)
    program, own = found["program"], found["own"]
    assert program["parameters"][0, :4].tolist() == [1.0, 7.0, 1.0, 1.0]
    assert program["parameters"][1, :2].tolist() == [50.0, 0.01]
    assert program["capacity"].tolist() == [1.5e6, 1.5e6]
    assert program["of_flow"].tolist() == [1, 2]
    assert program["first_of_flow"].tolist() == [4, 7]
    rows = plan.hops.row
    assert own["size"][rows].tolist() == [5.0, 5.0, math.inf, math.inf]
    assert own["priority"][rows].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert len(found["rank"]) == 10


def test_queues_have_lanes_and_rows_of_their_own_and_routes_places_of_records() -> None:
    rules = (CAKE(queues=3), INT(), WeightedFair(), Trimming())
    links = [
        Link(a, b, 1e3, 1e-3, 50.0, rule)
        for (a, b), rule in zip(("ab", "bc", "cd", "de"), rules, strict=True)
    ]
    flows = [Flow("all", "abcde", CBR(10.0)), Flow("part", "cde", CBR(10.0))]
    plan = plan_of(Scenario("programs", links, flows, duration=0.1), Packets(seed=1))
    found = lay_out_programs(plan, 10, 12)
    program = found["program"]
    assert program["queues"].tolist() == [3, 0, 0, 2]
    assert program["first"][[0, 3]].tolist() == [0, 3]
    assert len(found["program_queue"]) == 5
    assert program["skip"].tolist() == [0, -1, -1, 1]
    assert program["trim"].tolist() == [-1, -1, -1, 0]
    assert len(found["trimmed"]) == 10
    places, most = plan.telemetry
    assert most.tolist() == [1, 0]
    assert places[plan.hops.flow == 0].tolist() == [0, 0, 1, 1]
    assert found["telemetry"].shape == (10, 1, 5)
    layout = lay_out(plan, ())
    assert layout.arrays["port"]["lanes"][:4].tolist() == [3, 1, 1, 2]


def test_without_programs_there_is_nothing() -> None:
    scenario = Scenario("none", [Link("a", "b", 1e3, 1e-3, 50.0)], [Flow("x", "ab", CBR(1.0))])
    found = lay_out(plan_of(scenario, Packets(seed=1)), ()).arrays
    names = ("program", "own", "rank", "program_queue", "trimmed", "telemetry")
    assert {name: len(found[name]) for name in names} == dict.fromkeys(names, 1)


# Arrays of watchdogs: lanes of their classes, chains of those at one port, room for the storms that they declare.


def test_watchdogs_of_one_port_are_a_chain_and_a_port_with_one_is_not_plain() -> None:
    plan = two_inputs(PFC((3,), 20.0, 10.0))
    dogs = [PortWatchdog(1, c, 2e-3 * n, 5e-3, 4e-3, 2, 3) for n, c in enumerate((3, -1))]
    arrays = arrays_of(replace(plan, watchdogs=tuple(dogs)))
    assert arrays["port"]["plain"][1] == -2  # the second watchdog
    found = arrays["watchdog"]
    assert found["next"].tolist() == [-1, 0]
    first = arrays["port"]["lane"][1]
    assert first <= found["lane"][0] < first + 2
    assert found["lane"][1] == -1
    assert arrays["port"]["plain"][2] == arrays_of(plan)["port"]["plain"][2] == 1
    # 0.1 s have 20 intervals, of which 5 declare a storm and end it
    assert len(arrays["detected"]) == 1 + 2 * (20 // 5 + 2)


def test_a_plan_without_watchdogs_has_none() -> None:
    arrays = arrays_of(two_inputs(PFC((3,), 20.0, 10.0)))
    assert (arrays["port"]["plain"] >= 0).all()
    assert len(arrays["detected"]) == 1


# Layouts of diffusion-type flow control: rates of lanes, and who reports to whom.

RULE = DFC(0.2, 1.5, phases="synchronous")


def chain_of_three() -> Plan:
    """Return a shaped flow over links of DFC, DFC and FIFO, and one that joins."""
    links = [
        Link(1, 2, 1e3, 1e-3, 50.0, RULE),
        Link(2, 3, 2e3, 4e-3, 50.0, RULE),
        Link(3, 4, 2e3, 1e-3, 50.0, FIFO()),
    ]
    flows = [
        Flow("shaped", (1, 2, 3, 4), CBR(100.0), host="shaped"),
        Flow("joins", (2, 3), CBR(100.0), host="direct"),
    ]
    return plan_of(Scenario("three", links, flows, duration=0.1), Packets(seed=1))


def test_nodes_report_to_the_ports_that_feed_them_once_per_delay() -> None:
    """To the host and the first link; the second one feeds a FIFO link and hears of nobody."""
    clocks = {clock.to: clock for clock in chain_of_three().clocks}
    host = 3
    assert clocks.keys() == {0, 1, host}
    assert (clocks[0].of, clocks[1].of, clocks[host].of) == (1, -1, 0)
    assert [clocks[p].period for p in (0, 1, host)] == [1e-3, 4e-3, 1e-3]
    assert clocks[0].keys == clocks[host].keys == ((0, False),)
    assert all(clock.first == 0.0 for clock in clocks.values())


def test_rows_have_the_numbers_of_the_law() -> None:
    plan = chain_of_three()
    arrays = lay_out(plan, signatures_of(window_rules(plan.scenario.flows))).arrays
    port_rows, rows = arrays["port"], arrays["diffusive"]
    one, two, host = (rows[port_rows["lane"][p]] for p in (0, 1, 3))
    np.testing.assert_allclose([one["gain"], two["gain"]], [0.2 / 1e-3, 0.2 / 4e-3])
    np.testing.assert_allclose([one["told_rate"], two["told_rate"]], [1e3, 2e3])
    assert [row["intensity"] for row in (one, two, host)] == [1.5] * 3
    assert [row["counts"] for row in (one, two, host)] == [1, 1, 0]
    assert port_rows["lanes"][[0, 1, 3]].tolist() == [1, 2, 1]
    events = arrays["packet"][: arrays["counters"][1]]
    assert (events["number"] == SEND_FEEDBACK).sum() == 2
    assert (events["number"] == RECEIVE_FEEDBACK).sum() == 3


def test_a_window_is_not_longer_than_a_period_of_feedback() -> None:
    plan = chain_of_three()
    _, ahead = windows(plan, inline := ordered_ports(plan), stretches(plan, inline))
    assert ahead < 1e-3


# Layouts of network interfaces: the control class, classes, flows.


def host(acks: str) -> dict[str, np.ndarray]:
    """Return the arrays of a host that sends in classes 0 and 3, and receives."""
    rule = PFC((0, 3), 20.0, 10.0, acks=acks)
    links = [
        Link(a, b, 1e5, 1e-4, 900.0, rule)
        for a, b in (("h", "s"), ("s", "h"), ("s", "d"), ("d", "s"))
    ]
    flows = [
        Flow("web", ("h", "s", "d"), CBR(1e4)),
        Flow("storage", ("h", "s", "d"), DCQCN(), priority=3),
        Flow("back", ("d", "s", "h"), DCQCN(), priority=3),
    ]
    plan = plan_of(Scenario("host", links, flows, duration=0.1), Packets(seed=1))
    arrays = lay_out(plan, signatures_of([DCQCN()])).arrays
    arrays["order of ports"] = windows(
        plan, inline := ordered_ports(plan), stretches(plan, inline)
    )[0]
    return arrays


def test_lanes_are_the_control_class_then_classes_then_flows() -> None:
    arrays = host("control")
    port, lane, flow, hop = (arrays[name] for name in ("port", "lane", "flow", "hop"))
    row = port[0]
    assert row["kind"] == INTERFACE
    assert (row["levels"], row["lanes"]) == (2, 5)  # 1 + 2 classes + 2 flows
    first = row["lane"]
    assert lane["level"][first + 3 : first + 5].tolist() == [first + 1, first + 2]
    assert lane["flow"][first + 3 : first + 5].tolist() == [0, 1]
    assert flow["lane"][0] == -1  # has no rate to wait for
    assert flow["lane"][1] == first + 4
    acks = hop[flow["turn"][2] + 1]  # of the flow that comes: its first hop back
    assert (acks["port"], acks["lane"]) == (0, first)


def test_acks_of_a_class_are_flows_of_it() -> None:
    arrays = host("class")
    row, lane, flow, hop = arrays["port"][0], arrays["lane"], arrays["flow"], arrays["hop"]
    assert (row["levels"], row["lanes"]) == (2, 6)
    acks = hop[flow["turn"][2] + 1]
    assert lane["level"][acks["lane"]] == row["lane"] + 2


def test_events_of_interfaces_are_among_those_of_their_hosts() -> None:
    arrays = host("control")
    hop, flow = arrays["hop"], arrays["flow"]
    assert set(hop["queue"][hop["port"] == 0]) == {0}
    assert arrays["order of ports"][:2].tolist() == [len(arrays["port"]) - 1, 0]
    assert hop["queue"][flow["end"][:2]].tolist() == [0, 0]
    assert arrays["home"][:2].tolist() == [0, 0]


# Units: rooms, rings and calendar queues.


def test_calendar_queues_reach_beyond_a_window_and_do_not_overlap() -> None:
    for name in ("fifo", "pause"):
        plan = plan_of(random_scenario(name, 1), Packets(seed=1))
        inline = ordered_ports(plan)
        parts = stretches(plan, inline)
        order, ahead = windows(plan, inline, parts)
        port_rows, buckets, ring = lay_out_units(
            plan, parts, order, ahead, 1, [0] * len(plan.ports)
        )
        rows = port_rows[order]
        count = rows["mask"] + 1
        assert (count & rows["mask"] == 0).all()  # powers of 2
        assert (count / rows["inverse"] >= ahead).all()
        assert (rows["inverse"] * ahead <= BUCKETS_PER_WINDOW * (1 + 1e-9)).all()
        assert count.sum() == buckets
        assert rows["at"].tolist() == (np.cumsum(count) - count).tolist()
        assert rows["place"].tolist() == list(range(len(order)))
        assert port_rows["room"][:-1].tolist() == [port.room for port in plan.ports]
        assert len(ring) == (port_rows["ring_mask"][:-1] + 1).sum()


def test_a_rate_so_low_that_times_cannot_be_counted_is_refused(one_link, refused) -> None:
    """A sample beyond 64 bits would be a row before the first."""
    slow = replace(one_link, links=(replace(one_link.links[0], rate=1e-300),))
    refused(("rate of", "1e-300", "samples"), lambda: simulate(slow, Packets(seed=1)))
    slow = replace(one_link, links=(replace(one_link.links[0], rate=1e-3),))
    assert simulate(slow, Packets(seed=1), duration=1.0).delivered[0, -1] == 0.0


def test_a_flow_that_starts_long_after_the_end_sends_nothing(one_link) -> None:
    late = replace(one_link, flows=(replace(one_link.flows[0], start=1e300),))
    assert simulate(late, Packets(seed=1), duration=1.0).delivered[0, -1] == 0.0


def test_no_record_depends_on_memory_without_values(one_link, monkeypatch) -> None:
    """The events at which flows start, and wait for after the end, have no hop."""
    late = replace(one_link, flows=(replace(one_link.flows[0], start=1e300),))
    aligned = engine_arrays.aligned

    def filled(count: int, dtype: object) -> np.ndarray:
        found = aligned(count, dtype)
        found.view(np.uint8)[:] = 0x11
        return found

    monkeypatch.setattr(engine_arrays, "aligned", filled)
    assert simulate(late, Packets(seed=1), duration=1.0).inside.tolist() == [0.0]


def test_a_hash_is_even_and_of_a_flow_and_its_acks_alone() -> None:
    found = flow_hash(np.full(4000, 5), np.repeat(np.arange(2000), 2), np.arange(4000) % 2 == 1)
    assert len(np.unique(found)) == 4000
    # of 4000 even numbers a tenth has 400 with a standard deviation of 19: five of them
    counts = np.histogram(found, 10, (0.0, 1.0))[0]
    assert np.abs(counts - 400).max() < 5 * 19
    assert flow_hash(np.array([5]), np.array([3]), np.array([True])) == found[7:8]


def test_a_thousand_flows_share_fewer_queues() -> None:
    """McKenney 1990: flows with the same hash share a queue, so that those that are alone in theirs get as much together."""
    flows = [Flow(str(n), ("a", "s", "b"), CBR(3e4)) for n in range(12)]
    program = DeficitRoundRobin(queues=8)
    links = [Link("a", "s", 1e7, 1e-6, 10_000), Link("s", "b", 1e5, 1e-6, 10_000, program)]
    plan = plan_scenario(
        Scenario("overloaded", links, flows), Packets(seed=1), duration=0.05, sample=0.05
    )
    hashes = flow_hash(plan.seeds[np.full(12, 1)], np.arange(12), np.zeros(12, dtype=bool))
    queues = np.floor(8.0 * hashes).astype(int)
    records = run_engine(plan)
    sent = np.bincount(queues, records.total, minlength=8)[np.unique(queues)]
    assert 2 < len(sent) < 9
    assert sent.max() - sent.min() <= 2.0 + 0.02 * sent.max()  # the flows begin one after the other
