"""Known limits of runs: rules without marks, and packets over several paths."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel.lossless import fat_tree, leaf_spine
from dfcmodel.recoveries import RackRecovery
from dfcmodel.results.limits import flags_of_limits
from hopflow import Status
from responsefn import (
    BBR,
    DCQCN,
    DCTCP,
    HPCC,
    LEDBAT,
    NSCC,
    TIMELY,
    FixedRate,
    NewReno,
    PatchedTIMELY,
    Prague,
    Swift,
)
from responsefn.linux import LinuxCUBIC
from tests.dfcmodel.network.chakra_writer import ALL_REDUCE, COLL, COMP, node, trace


def _all_reduce(source, discipline, routes: str) -> dfc.Scenario:
    """Return an all-reduce of 8 hosts over 2 spines."""
    cables = {"access": dfc.Cable("100Gbps", "10m"), "trunk": dfc.Cable("100Gbps", "50m")}
    fabric = dfc.Fabric(leaf_spine(2, 2, hosts=4), buffer="2 MB", packet_size=4096, discipline=discipline, **cables)
    options = {"source": source, "links": fabric.links, "routes": routes}
    flows = dfc.all_reduce(fabric.hosts, 100, "halving-doubling", **options)
    return fabric.scenario("all-reduce", flows, duration=1e-3)


class _Loads(HPCC):
    """A rule of a user that reads telemetry."""


PATIENT = dfc.SelectiveRepair(reordering=64)
LATE = RackRecovery(reordering=64, reordering_seen=1)
TELEMETRY, GO_BACK = "telemetry over several paths", "go-back-N over several paths"
REORDERING = "reordering over several paths"
STEPS = "steps at the same time"


@pytest.mark.parametrize(
    ("source", "routes", "recovery", "expected"),
    [
        (HPCC(), "spray", PATIENT, [TELEMETRY, STEPS]),
        (HPCC(), "spray", "selective", [TELEMETRY, REORDERING, STEPS]),
        (HPCC(), "spray", None, [TELEMETRY, GO_BACK, STEPS]),
        (_Loads(), "spray", PATIENT, [TELEMETRY, STEPS]),
        (HPCC(), "even", None, []),
        (HPCC(), "ecmp", None, [STEPS]),
        (FixedRate(), "spray", None, [GO_BACK, STEPS]),
        (FixedRate(), "spray", PATIENT, []),
        (FixedRate(), "even", None, []),
    ],
)
def test_sprayed_flows_say_what_spraying_spoils(source, routes, recovery, expected) -> None:
    discipline = dfc.INT() if isinstance(source, HPCC) else dfc.PFC(counts="switch")
    scenario = _all_reduce(source, discipline, routes)
    run = dfc.simulate(scenario, dfc.Packets(seed=1, recovery=recovery))
    assert [each.partition(":")[0] for each in run.limits] == expected
    for each in expected:
        assert f"limit, {each}" in run.summary()


@pytest.mark.parametrize(
    ("routes", "recovery", "found"), [("spray", "sack", True), ("spray", LATE, False), ("even", "sack", False)]
)
def test_windows_that_reordering_reduces_are_named(routes, recovery, found) -> None:
    """No packet is lost: what senders with SACK take for losses was overtaken."""
    fabric = dfc.Fabric(leaf_spine(2, 2, hosts=4), buffer="2 MB", packet_size=4096, discipline=dfc.FIFO())
    flows = dfc.all_to_all(fabric.hosts, sizes=100, source=NewReno(), links=fabric.links, routes=routes)
    method = dfc.Packets(seed=1, recovery=recovery, spraying="random" if routes == "spray" else "turns")
    run = dfc.simulate(fabric.scenario("all-to-all", flows, duration=5e-3), method)
    assert not run.lost_by_flow.any()
    assert (run.loss_events.sum() > 0) == found
    assert [each.partition(":")[0] for each in run.limits] == [REORDERING] * found
    if found:
        affected = run.loss_events > 0
        sent, delivered = run.emitted[affected].sum(), run.delivered[affected, -1].sum()
        counts = f"sent {sent:.0f} packets for {delivered:.0f} delivered and 0 lost ones"
        assert f"had {run.loss_events.sum():.0f} loss events, and {counts}" in run.limits[0]


@pytest.mark.parametrize(
    ("routes", "recovery", "named"),
    [("spray", None, True), ("spray", RackRecovery(), False), ("even", None, False)],
)
def test_rules_that_take_sprayed_packets_for_lost_are_named(routes, recovery, named: bool) -> None:
    """No packet is lost, sent again or a loss event; without waiting the mean transfer takes 1.2 times as long."""
    cable = dfc.Cable("100Gbps", "200m")
    marks = dfc.RampMarking("80kB", "320kB", 1.0)
    fabric = dfc.Fabric(leaf_spine(4, 4, hosts=4), cable, cable, "400kB", 4096, marks)
    options = {"sizes": "2MB", "source": NSCC(), "links": fabric.links, "routes": routes}
    flows = dfc.permutation(fabric.hosts, 1, **options)
    run = dfc.simulate(fabric.scenario("permutation", flows, duration=2e-3), dfc.Packets(seed=1, recovery=recovery))
    limits = [limit for limit in run.limits if limit.startswith(f"{REORDERING}: ")]
    assert ["do so at once and in silence" in limit for limit in limits] == [True] * named
    if routes == "spray":
        assert run.lost.sum() == 0
        assert (run.finished.mean() > 195e-6) == named


@pytest.mark.parametrize(
    ("source", "recovery", "named"),
    [
        (DCTCP(), "rack", ""),
        (FixedRate(), "rack", "'rack'"),
        (FixedRate(), RackRecovery(), "'RackRecovery()'"),
        (NewReno(), "selective", "'selective'"),
        (NewReno(), {"f": "selective"}, ""),
        (NSCC(), {"f": "rack"}, "'rack'"),  # it runs as SACK
        (NSCC(), RackRecovery(), ""),
    ],
)
def test_a_recovery_that_no_flow_has_is_named(source, recovery, named: str) -> None:
    links = [dfc.Link("a", "s", 1e6, 1e-5, 100), dfc.Link("s", "d", 1e6, 1e-5, 100)]
    flow = dfc.Flow("f", ("a", "s", "d"), source, size=5, host="nic")
    scenario = dfc.Scenario("one", links, [flow], duration=1e-3)
    if isinstance(recovery, dict) and isinstance(source, NewReno):
        with pytest.raises(ValueError, match=r"^recovery of flow 'f' with NewReno\(\) = 'selective': must be one of"):
            dfc.simulate(scenario, dfc.Packets(seed=1, recovery=recovery))
        return
    limits = dfc.simulate(scenario, dfc.Packets(seed=1, recovery=recovery)).limits
    found = [limit for limit in limits if limit.startswith("unused options: ")]
    assert [limit.split(": ")[1] for limit in found] == [f"recovery = {named}"] * bool(named)


@pytest.mark.parametrize(("recovery", "repeats"), [("sack", True), (LATE, False)])
def test_reductions_at_marks_are_not_taken_for_reordering(recovery, repeats) -> None:
    """Sprayed flows reduce their windows at marks as well; named are only those that sent packets twice."""
    fabric = dfc.Fabric(leaf_spine(2, 2, hosts=4), buffer="2 MB", packet_size=4096, discipline=dfc.StepMarking(20))
    flows = dfc.all_to_all(fabric.hosts, sizes=100, source=DCTCP(), links=fabric.links, routes="spray")
    method = dfc.Packets(seed=1, recovery=recovery, spraying="random")
    run = dfc.simulate(fabric.scenario("all-to-all", flows, duration=5e-3), method)
    assert run.loss_events.sum() > 100 > run.lost_by_flow.sum()
    twice = run.emitted - run.delivered[:, -1] - run.lost_by_flow
    assert (twice.max() > 1) == repeats
    assert [each.partition(":")[0] for each in run.limits] == [REORDERING] * repeats
    if repeats:
        assert f"sent {run.emitted[twice > 1].sum():.0f} packets" in run.limits[0]


def _striped(recovery, duration, failures) -> dfc.results.Trajectory:
    """Return a run of a flow over four paths, one of which fails for a while if ``failures``: then queues differ."""
    links = [dfc.Link(*ends, 4e6, 1e-6, 4000) for ends in (("s", "l"), ("m", "r"))]
    links += [dfc.Link(*ends, 1e6, 1e-6, 4000) for n in range(4) for ends in (("l", f"p{n}"), (f"p{n}", "m"))]
    options = {"links": links, "routes": "spray", "options": dfc.FlowOptions(host="nic")}
    flows = dfc.flows_from(["s"], ["r"], sizes=8000, source=FixedRate(), **options)
    scenario = dfc.Scenario("striped", links, flows, duration=duration, min_rto=1e-3)
    down = {"l->p1": (5e-4, 1e-3)} if failures else {}
    return dfc.simulate(scenario, dfc.Packets(seed=1, recovery=recovery, failures=down))


@pytest.mark.parametrize(
    ("recovery", "duration", "failures", "named"),
    [
        ("selective", 1e-2, True, True),
        ("selective", 1.5e-3, True, True),
        ("selective", 1e-2, False, False),
        (dfc.SelectiveRepair(reordering=2000), 1e-2, True, False),
    ],
)
def test_selective_repair_of_overtaken_packets_is_named(recovery, duration, failures, named) -> None:
    """After a failure the queues of the paths differ, and packets overtake each other by more than a few."""
    run = _striped(recovery, duration, failures)
    assert (run.lost_by_flow[0] > 0) == failures
    assert [each.partition(":")[0] for each in run.limits] == [REORDERING] * named
    if named:
        assert run.emitted[0] > 1.05 * (run.delivered[0, -1] + run.lost_by_flow[0])
        assert f"sent {run.emitted[0]:.0f} packets for {run.delivered[0, -1]:.0f} delivered" in run.limits[0]


@pytest.mark.parametrize(("recovery", "named"), [("go-back-n", True), ("selective", True), (PATIENT, False)])
def test_repairs_of_packets_that_elements_hold_are_named(recovery, named) -> None:
    links = [dfc.Link("a", "s", 1e6, 1e-5, 500), dfc.Link("s", "b", 1e6, 1e-5, 500)]
    flow = dfc.Flow("one", ("a", "s", "b"), FixedRate(), size=5000, host="nic")
    late = dfc.Reordering("s->b", p=0.02, delay="20us")
    scenario = dfc.Scenario("late", links, [flow], duration=0.1, min_rto=1e-3, elements=[late])
    run = dfc.simulate(scenario, dfc.Packets(seed=1, recovery=recovery))
    assert run.lost.sum() == 0
    assert [each.partition(":")[0] for each in run.limits] == ["reordering"] * named
    assert (run.emitted[0] > 5000) == named
    if named:
        assert f"sent {run.emitted[0]:.0f} packets for 5000 delivered and 0 lost ones" in run.limits[0]


def test_flows_that_went_back_are_counted() -> None:
    run = dfc.simulate(_all_reduce(FixedRate(), dfc.PFC(counts="switch"), "spray"), dfc.Packets(seed=1))
    limit = run.limits[0]
    back = run.loss_events > 0
    assert f"went back {run.loss_events.sum()} times" in limit
    assert f"sent {run.emitted[back].sum():.0f} packets" in limit
    assert run.emitted[back].sum() > run.delivered[back, -1].sum()
    assert np.array_equal(run.emitted[~back], run.delivered[~back, -1])
    assert run.lost.sum() == 0.0
    assert "and 0 lost ones" in limit


@pytest.mark.parametrize("level", ["fluid", "packets"])
@pytest.mark.parametrize(
    ("sizes", "filled"),
    [
        (["640 B", "640 B"], "16%"),
        (["4096 B", "640 B"], "58%"),
        (["40960 B", "640 B"], ""),
        ([1, 1], ""),
        ([math.inf, "640 B"], "16%"),
        (["36.9 kB", math.inf], ""),
    ],
)
def test_transfers_that_fill_little_of_their_packets_are_named(sizes, filled, level) -> None:
    links = [dfc.Link("a", "s", 1e6, 1e-6, 100), dfc.Link("s", "d", 1e6, 1e-6, 100)]
    flows = [dfc.Flow(f"f{n}", ("a", "s", "d"), FixedRate(), size=size) for n, size in enumerate(sizes)]
    run = dfc.simulate(dfc.Scenario("f", links, flows, duration=1e-3, packet_size=4096), level=level)
    limits = [limit for limit in run.limits if limit.startswith("part-filled packets: ")]
    assert len(limits) == bool(filled)
    if filled:
        assert f"packets of 4096 bytes, of which {filled} are theirs; " in limits[0]
        assert "f1" in limits[0]


@pytest.mark.parametrize(
    ("options", "ratio"),
    [
        ({"max_window": 5}, 1.0),
        ({"max_window": "8192 B"}, 1.12),
        ({"max_window": 1.9}, 1.9),
        ({"max_window": 3, "delayed_acks": True, "initial_window": 2}, 1.5),
        ({"max_window": 5, "delayed_acks": "counted", "initial_window": 2}, 1.25),
        ({"max_window": 4, "delayed_acks": True, "initial_window": 2}, 1.0),
        ({"max_window": 21, "delayed_acks": True}, 1.05),
        ({"max_window": 1, "delayed_acks": True}, 6.0),
    ],
)
def test_windows_of_few_packets_are_named_in_the_fluid(options: dict[str, Any], ratio: float) -> None:
    """A window of 8192 bytes has five whole packets of 1460, and of an odd one the last packet waits for another."""
    links = [dfc.Link(a, b, "100 Mb/s", "10 ms", 1000) for a, b in ("ab", "ba")]
    flow = dfc.Flow("f", ("a", "b"), NewReno(), **options)
    scenario = dfc.Scenario("short", links, [flow], duration=6.0, packet_size=1460.0)
    run, packets = dfc.simulate(scenario, dfc.Fluid()), dfc.simulate(scenario, dfc.Packets(seed=1))
    assert run.delivered[0, -1] / packets.delivered[0, -1] == pytest.approx(ratio, rel=0.03)
    limits = [limit for limit in run.limits if limit.startswith("parts of packets: ")]
    if ratio > 2.0:
        assert limits[0].startswith("parts of packets: a single packet of flow f waits for the timer of delayed ACKs")
    elif ratio > 1.05:
        assert f"up to {ratio:.3g} times the goodput of packets" in limits[0]
    assert len(limits) == (ratio > 1.05)
    assert not any(limit.startswith("parts of packets") for limit in packets.limits)


@pytest.mark.parametrize(("window", "is_named"), [(None, True), (1, True), (2, False)])
def test_transfers_that_begin_with_one_packet_and_delayed_acks_are_named(window: int | None, is_named: bool) -> None:
    """Twenty packets take 7 ms in the fluid, and 107 ms in packets: the first one waits for 100 ms."""
    links = [dfc.Link(a, b, "100 Mb/s", "0.5 ms", 1000) for a, b in ("ab", "ba")]
    flow = dfc.Flow("f", ("a", "b"), NewReno(), size=20, delayed_acks=True, initial_window=window)
    scenario = dfc.Scenario("begins", links, [flow], duration=1.0)
    run, packets = dfc.simulate(scenario, dfc.Fluid()), dfc.simulate(scenario, dfc.Packets(seed=1))
    assert (packets.finished[0] - run.finished[0] > 0.09) == is_named
    assert any(limit.startswith("parts of packets: a single packet of flow f") for limit in run.limits) == is_named


def _to_one(source, discipline) -> dfc.Scenario:
    rate = 1e6
    links = [dfc.Link(name, "s", rate, 1e-6, 2000, discipline) for name in "ab"]
    links.append(dfc.Link("s", "d", rate, 1e-6, 2000, discipline))
    flows = [dfc.Flow(name, (name, "s", "d"), source) for name in "ab"]
    return dfc.Scenario("to one", links, flows, duration=2e-3)


@pytest.mark.parametrize("method", [dfc.Fluid(), dfc.Packets(seed=1)], ids=["fluid", "packets"])
@pytest.mark.parametrize("source", [DCQCN(), DCTCP()], ids=["DCQCN", "DCTCP"])
def test_a_rule_that_answers_marks_says_where_nothing_marks(source, method) -> None:
    for discipline, silent in (
        (dfc.PFC(xoff=40, xon=20, counts="switch"), True),
        (dfc.FIFO(), True),
        (dfc.PFC(xoff=400, xon=200, counts="switch", manager=dfc.RampMarking(25, 100, 0.1)), False),
        (dfc.StepMarking(20), False),
        (dfc.RED(20, 60, 0.1), True),
        (dfc.RED(20, 60, 0.1, ecn=True), False),
    ):
        limits = dfc.simulate(_to_one(source, discipline), method).limits
        said = [each for each in limits if each.startswith("no marks: no link marks packets of flows a, b")]
        assert len(said) == silent


@pytest.mark.parametrize("method", [dfc.Fluid(), dfc.Packets(seed=1)], ids=["fluid", "packets"])
@pytest.mark.parametrize(
    "manager", [dfc.StepMarking, lambda low: dfc.RampMarking(low, 2.0 * low, 0.1)], ids=["step", "ramp"]
)
def test_a_threshold_above_the_buffer_marks_nothing(manager, method) -> None:
    """Buffers of 2000 packets, of which the classes of PFC share those of all links out of a node."""
    of_link = r"no marks: .*; a->s marks from 100000 packets on, and no more than 2000 fit into its buffer"
    for discipline, said in (
        (manager(1e5), of_link),
        (dfc.PFC(xoff=400, xon=200, counts="switch", manager=manager(1e5)), of_link),
        (manager(200.0), None),
    ):
        scenario = _to_one(DCQCN(), discipline)
        limits = [limit for limit in dfc.simulate(scenario, method).limits if limit.startswith("no marks")]
        assert len(limits) == (said is not None)
        assert said is None or re.match(said, limits[0])


@pytest.mark.parametrize("method", [dfc.Fluid(), dfc.Packets(seed=1)], ids=["fluid", "packets"])
@pytest.mark.parametrize(
    ("source", "discipline", "message"),
    [
        (dfc.CBR(1e6), dfc.RampMarking(25, 100, 1.0), "links a->s, b->s, s->d can mark no packet"),
        (dfc.CBR(1e6), dfc.RampMarking(25, 100, 1.0, at="arrival"), "links a->s, b->s, s->d can mark no packet"),
        (dfc.OnOff(1e6, 1e-3, 1e-3), dfc.StepMarking(20), "links a->s, b->s, s->d can mark no packet"),
        (dfc.CBR(1e6), dfc.RED(20, 60, 0.1, ecn=True), "links a->s, b->s, s->d can mark no packet"),
        (dfc.CBR(1e6), dfc.StepMarking(1e5), "a->s marks from 100000 packets on"),
        (FixedRate(), dfc.StepMarking(1e5), "a->s marks from 100000 packets on"),
        (FixedRate(), dfc.StepMarking(20), ""),
        (dfc.CBR(1e6), dfc.RED(20, 60, 0.1), ""),
        (dfc.CBR(1e6), dfc.PI2(), ""),
    ],
    ids=str,
)
def test_queues_that_can_mark_nothing_are_named(source, discipline, message, method) -> None:
    """sonic-mgmt, pull request 25573: a queue of 301 packets between K_min = 40 kB and K_max = 168 kB, one in two marked."""
    run = dfc.simulate(_to_one(source, discipline), method)
    limits = [limit for limit in run.limits if limit.startswith("no marks: ")]
    assert len(limits) == bool(message)
    assert not message or limits[0].startswith(f"no marks: {message}")
    assert run.marks is None or (run.marks.sum() == 0.0) == (bool(message) or isinstance(source, dfc.CBR))


def test_one_ecn_capable_flow_suffices_for_queues_that_mark() -> None:
    scenario = _to_one(FixedRate(), dfc.StepMarking(20))
    background = dataclasses.replace(scenario.flows[1], source=dfc.CBR(1e6))
    mixed = dataclasses.replace(scenario, flows=[scenario.flows[0], background])
    assert not [limit for limit in dfc.simulate(mixed, dfc.Packets(seed=1)).limits if limit.startswith("no marks")]


@pytest.mark.parametrize(("low", "named"), [(100, True), (30, False)])
def test_pauses_that_keep_a_queue_below_its_marks_are_named(low: int, named: bool) -> None:
    """xoff of 50 packets, and up to some 10 that arrive until a pause takes effect."""
    rule = dfc.PFC(xoff=50, xon=40, manager=dfc.RampMarking(low, 200, 1.0))
    links = [dfc.Link("a", "s", 1e6, 1e-6, 2000, rule), dfc.Link("s", "d", 2e5, 1e-6, 2000, rule)]
    flow = dfc.Flow("f", ("a", "s", "d"), DCQCN(), host="nic")
    run = dfc.simulate(dfc.Scenario("pauses", links, [flow], duration=2e-3), dfc.Packets(seed=1))
    assert len(run.paused) > 0
    limits = [limit for limit in run.limits if limit.startswith("no marks: ")]
    assert (run.marks.sum() == 0) == named
    message = (
        f"no marks: s->d pauses before it marks: it had at most {run.peak_queue[1]:g} packets, and marks from 100 on. "
        "Packets of flow f, whose rules wait for marks to slow down, got none: mark below xoff"
    )
    assert limits == [message] * named


def test_pauses_before_marks_are_those_of_nodes_with_several_links() -> None:
    """Results have a queue per node, and pauses a link: a star has more links than nodes."""
    rule = dfc.PFC(xoff=50, xon=40, manager=dfc.RampMarking(100, 200, 1.0))
    hosts = [("h", n) for n in range(6)]
    links = [dfc.Link(host, "s", 1e6, 1e-6, 2000, rule) for host in hosts]
    links += [dfc.Link("s", host, 2e5 if host[1] == 5 else 1e6, 1e-6, 2000, rule) for host in hosts]
    flows = [dfc.Flow("f", (hosts[0], "s", hosts[5]), DCQCN(), host="nic")]
    run = dfc.simulate(dfc.Scenario("star", links, flows, duration=2e-3), dfc.Packets(seed=1))
    (limit,) = (limit for limit in run.limits if limit.startswith("no marks: "))
    node = run.scenario.senders.index("s")
    assert run.paused["by"].max() >= len(run.peak_queue)
    assert limit.startswith(
        f"no marks: s->('h', 5) pauses before it marks: it had at most {run.peak_queue[node]:g} packets"
    )


QUEUES = [
    *(dfc.FIFO(), dfc.Fair(), dfc.CoDel(), dfc.PIE(), dfc.RED(20, 60, 0.1), dfc.RED(20, 60, 0.1, ecn=True)),
    *(
        dfc.StepMarking(20),
        dfc.RampMarking(10, 40, 0.5),
        dfc.PFC(xoff=400, xon=200, counts="switch", manager=dfc.StepMarking(20)),
    ),
    *(dfc.PI2(), dfc.PI2(ecn=True), dfc.DualPI2(), dfc.DualPI2(ecn=True), dfc.FlowQueueCoDel(), dfc.CAKE(), dfc.AFD()),
    *(dfc.WeightedFair(), dfc.DeficitRoundRobin(), dfc.ShortestRemaining(), dfc.INT(), dfc.Trimming()),
]


@pytest.mark.parametrize("discipline", QUEUES, ids=str)
def test_queues_without_marks_are_those_in_which_no_packet_is_marked(discipline, monkeypatch) -> None:
    """Prague over a queue: what the run says of marks is what its packets have, counted whatever the queue is."""
    links = [dfc.Link("a", "s", 1e5, 1e-4, 2000), dfc.Link("s", "d", 2e4, 1e-3, 2000, discipline)]
    flow = dfc.Flow("f", ("a", "s", "d"), Prague())
    scenario = dfc.Scenario("marks", links, [flow], duration=1.0)
    run = dfc.simulate(scenario, dfc.Packets(seed=1))
    is_unmarked = any(limit.startswith("no marks: no link marks packets of flow f") for limit in run.limits)
    monkeypatch.setattr(type(discipline), "may_mark", True)
    marks = dfc.simulate(scenario, dfc.Packets(seed=1)).marks
    assert is_unmarked == (marks.sum() == 0)
    assert (run.marks is None) == is_unmarked
    assert is_unmarked or np.array_equal(run.marks, marks)


class OwnProgram(dfc.SwitchProgram):
    @staticmethod
    def on_enqueue(s, q, e):
        return type(s)(0.0, 1.0, 0.0)


def test_a_program_of_a_user_may_mark_in_any_way() -> None:
    assert OwnProgram().may_mark


@pytest.mark.parametrize(
    ("source", "recovery", "options", "unused"),
    [
        (FixedRate(), None, {"max_window": 1}, "max_window of flow f"),
        (FixedRate(), "selective", {"max_window": 1}, ""),
        (FixedRate(), dfc.SelectiveRepair(), {"max_window": 1}, ""),
        (FixedRate(), "selective", {"delayed_acks": True}, "delayed_acks of flow f"),
        (dfc.CBR(100.0), "selective", {"max_window": 1}, "max_window of flow f and recovery = 'selective'"),
        (
            dfc.CBR(100.0),
            None,
            {"max_window": 1, "delayed_acks": True},
            "max_window of flow f and delayed_acks of flow f",
        ),
        (NewReno(), None, {"max_window": 1, "delayed_acks": True}, ""),
        (FixedRate(), None, {}, ""),
    ],
)
def test_options_that_a_sender_does_not_use_are_named(source, recovery, options, unused) -> None:
    """A window of one packet is kept (one per round trip) or named: it is never ignored without a word."""
    links = [dfc.Link("a", "s", 1e5, 1e-4, 100), dfc.Link("s", "d", 1e5, 1e-4, 100)]
    flow = dfc.Flow("f", ("a", "s", "d"), source, host="nic", **options)
    run = dfc.simulate(dfc.Scenario("f", links, [flow], duration=0.5), dfc.Packets(seed=1, recovery=recovery))
    limits = [limit for limit in run.limits if limit.startswith("unused options: ")]
    assert [limit.split(": ")[1] for limit in limits] == [unused] * bool(unused)
    if options.get("max_window") == 1 and not unused:
        assert run.delivered[0, -1] <= 0.5 / 4e-4 + 1


@pytest.mark.parametrize("level", ["packets", "fluid"])
def test_lossless_classes_without_flows_are_named(level: str) -> None:
    """Both flows overload a link in class 0, which PFC for class 3 does not pause: packets are lost."""
    for priorities, losing in (((0, 0), True), ((3, 3), False), ((3, 0), False)):
        rule = dfc.PFC((3,), xoff=30, xon=15)
        links = [dfc.Link(*ends, 1e5, 1e-5, 300, rule) for ends in ("as", "bs", "sd")]
        flows = [
            dfc.Flow(host, (host, "s", "d"), dfc.CBR(8e4), priority=priority)
            for host, priority in zip("ab", priorities, strict=True)
        ]
        run = dfc.simulate(dfc.Scenario("classes", links, flows, duration=0.1), level=level)
        text = "unused options: classes 3 of PFC: priorities of flows: 0, which are never paused and may be lost"
        assert (text in run.limits) is losing
        assert not losing or run.lost.sum() > 0


@pytest.mark.parametrize("level", ["packets", "fluid"])
@pytest.mark.parametrize(
    ("source", "manager", "managed", "priorities", "unmarked", "unused"),
    [
        (DCQCN(), dfc.StepMarking(5), 3, (0, 0), "flows f0, f1", True),
        (DCQCN(), dfc.StepMarking(5), 3, (0, 3), "flow f0", False),
        (DCQCN(), dfc.StepMarking(5), 0, (0, 0), "", False),
        (DCQCN(), dfc.StepMarking(5), None, (0, 3), "", False),
        (FixedRate(), dfc.StepMarking(5), 3, (0, 0), "", True),
        (FixedRate(), dfc.RED(5, 10), 3, (0, 3), "", False),
        (FixedRate(), dfc.RED(5, 10), 3, (0, 0), "", True),
    ],
)
def test_flows_that_the_manager_of_another_class_does_not_see_are_named(
    source, manager, managed, priorities, unmarked, unused, level
) -> None:
    rule = dfc.PFC((0, 3), xoff=20, xon=10, manager=manager, managed=managed)
    links = [dfc.Link(*ends, "10Gbps", "1us", 400, rule) for ends in ("as", "bs", "sd")]
    flows = [
        dfc.Flow(f"f{n}", ("ab"[n], "s", "d"), source, priority=priority, host="nic")
        for n, priority in enumerate(priorities)
    ]
    run = dfc.simulate(dfc.Scenario("managed", links, flows, duration=5e-3), level=level)
    no_marks = (
        f"no marks: no link marks packets of {unmarked}, whose rules wait for marks to slow down (windows do at "
        "losses, too); a->s marks packets of class 3 alone: write managed=None for all classes, or the class of these "
        "flows"
    )
    no_class = "unused options: managed = 3: priorities of flows: 0, whose packets the manager does not see"
    said = [no_marks] * bool(unmarked) + [no_class] * unused
    assert [limit for limit in run.limits if limit.startswith(("no marks", "unused options"))] == said


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ((dfc.PFC((3,)), dfc.PFC((3,)), dfc.PFC((3,))), ""),
        ((dfc.PFC((3,)), dfc.PFC((3,)), dfc.PFC((4,))), "classes 4 of PFC at t->d: {} t->d"),
        ((dfc.PFC((3,)), dfc.PFC((4, 5)), dfc.PFC((3,))), "classes 4, 5 of PFC at s->t: {} s->t"),
        ((dfc.PFC((3,)), dfc.PFC((3, 4)), dfc.PFC((3,))), ""),
        ((dfc.PFC((4,)), dfc.PFC((3,)), dfc.PFC((3,))), ""),  # an interface obeys pauses of any class
        ((dfc.PFC((3,)), dfc.PFC((3,)), dfc.FIFO()), ""),
        ((dfc.Credits((3,)), dfc.Credits((3,)), dfc.Credits((4,))), "classes 4 of Credits at t->d: {} t->d"),
    ],
)
def test_a_class_that_is_lossless_on_a_part_of_the_path_is_named(rules, reason) -> None:
    """As of a switch whose neighbours pause another priority."""
    links = [
        dfc.Link(*ends, rate, "1us", 400, rule)
        for ends, rate, rule in zip(("as", "st", "td"), ("10Gbps", "10Gbps", "1Gbps"), rules, strict=True)
    ]
    flow = dfc.Flow("f", ("a", "s", "t", "d"), dfc.CBR("3Gbps"), host="nic", priority=3)
    run = dfc.simulate(dfc.Scenario("hops", links, [flow], duration=5e-3), dfc.Packets(seed=1))
    text = reason.format("flow f of class 3, which is lossless at a->s, may be lost at")
    assert [limit for limit in run.limits if limit.startswith("unused")] == [f"unused options: {text}"] * bool(reason)
    assert not reason or run.lost.sum() > 0.0


@pytest.mark.parametrize("level", ["fluid", "packets"])
@pytest.mark.parametrize(
    ("discipline", "ranks", "unused"),
    [
        (dfc.FIFO(), (0, 5), True),
        (dfc.RED(10, 20), (1, 5), True),
        (dfc.FIFO(), (0, 0), False),
        (dfc.FIFO(), (3, 3), False),  # as of a file whose flows all have one class
        (dfc.Priority(), (0, 5), False),
        (dfc.PFC((0, 5), xoff=40, xon=20), (0, 5), False),
    ],
)
def test_ranks_of_flows_that_no_link_serves_by_rank_are_named(discipline, ranks, unused, level) -> None:
    links = [dfc.Link(*ends, 1e5, 1e-4, 1000, discipline) for ends in ("as", "sd")]
    source = FixedRate(sending_rate=1e4)
    flows = [dfc.Flow(f"f{n}", ("a", "s", "d"), source, priority=rank) for n, rank in enumerate(ranks)]
    run = dfc.simulate(dfc.Scenario("ranks", links, flows, duration=0.05), level=level)
    names = "flow f1" if ranks[0] == 0 else "flows f0, f1"
    said = f"unused options: priority of {names}: priority is for links with Priority, PFC, Credits or a program"
    assert [limit for limit in run.limits if limit.startswith("unused options")] == [said] * unused


@pytest.mark.parametrize("rule", [dfc.PFC((3,), xoff=30, xon=15), dfc.Credits((3,))], ids=["PFC", "Credits"])
@pytest.mark.parametrize(("priority", "named"), [(3, False), (7, False), (8, True), (26, True), (-1, True)])
def test_priorities_that_are_no_class_are_named(rule, priority, named) -> None:
    """Such as the DSCP of class 3, 26: the flow beside one of class 3 is never paused."""
    links = [dfc.Link(*ends, 1e5, 1e-5, 300, rule) for ends in ("as", "bs", "sd")]
    flows = [dfc.Flow(host, (host, "s", "d"), FixedRate(), priority=c) for host, c in (("a", priority), ("b", 3))]
    run = dfc.simulate(dfc.Scenario("classes", links, flows, duration=0.05), dfc.Packets(seed=1))
    said = (
        "unused options: priority of flow a: classes are 0 to 7, of a DSCP usually DSCP // 8: others are never paused"
    )
    assert [limit for limit in run.limits if limit.startswith("unused options")] == [said] * named
    assert bool(run.lost[0].sum() > 0.0) is (priority != 3)


@pytest.mark.parametrize("level", ["fluid", "packets"])
@pytest.mark.parametrize("rule", [dfc.Pause(high=30, low=15), dfc.PFC((0,), xoff=30, xon=15)], ids=["Pause", "PFC"])
def test_storms_without_an_effect_are_named(rule, level) -> None:
    """A fault in ms without its unit, or at the link out of a host, whose feeders would be paused."""
    flow = dfc.Flow("f", ("h", "s", "d"), dfc.CBR(5e4), host="direct")
    nothing = "it pauses nothing: no link or host that obeys pauses feeds it with packets of a lossless class"
    late = "storm is in s, and the run ends at 0.02 s: no fault begins"
    for faulty, storm, reason in (("sd", 0.01, ""), ("sd", 10.0, late), ("hs", 0.01, nothing)):
        links = [
            dfc.Link(*ends, 1e5, 1e-4, 1000, dataclasses.replace(rule, storm=storm) if ends == faulty else rule)
            for ends in ("hs", "sd")
        ]
        run = dfc.simulate(dfc.Scenario("storm", links, [flow], duration=0.02), level=level)
        said = f"unused options: storm of link {faulty[0]}->{faulty[1]}: {reason}"
        assert [limit for limit in run.limits if limit.startswith("unused options")] == [said] * bool(reason)
        assert (run.status is Status.STORM) is (not reason)


@pytest.mark.parametrize("level", ["fluid", "packets"])
def test_delays_longer_than_the_run_are_named(level) -> None:
    """Such as 5 us that are written without their unit: nothing arrived, and losses were due to little headroom."""
    flow = dfc.Flow("f", ("h", "s", "d"), dfc.CBR(5e4), host="nic")
    for delay, signalling, subject, effect in (
        (1e-4, 1e-4, "", ""),
        (5.0, 0.0, "delay of link s->d: delay", "no packet arrives"),
        (1e-4, 5.0, "signalling of link s->d: signalling", "no pause or credit takes effect"),
    ):
        rules = dfc.Pause(high=50, low=25), dfc.Pause(high=50, low=25, signalling=signalling)
        delays = 1e-4, delay
        links = [dfc.Link(*ends, 1e5, delays[n], 1000, rules[n]) for n, ends in enumerate(("hs", "sd"))]
        run = dfc.simulate(dfc.Scenario("slow", links, [flow], duration=0.02), level=level)
        text = f"unused options: {subject} is in s, and the run ends at 0.02 s: {effect}"
        assert [limit for limit in run.limits if limit.startswith("unused")] == [text] * bool(subject)


@pytest.mark.parametrize("level", ["fluid", "packets"])
def test_flows_that_start_after_the_end_are_named(level) -> None:
    """Such as a start of 5 ms that is written without its unit, and is 5 s."""
    links = [dfc.Link(*ends, 1e4, 1e-4, 1000) for ends in ("as", "sd")]
    rate = FixedRate(sending_rate=1e3)
    for start, late in ((0.0, False), (0.04, False), (5.0, True)):
        flows = [dfc.Flow("now", ("a", "s", "d"), rate), dfc.Flow("later", ("a", "s", "d"), rate, start=start)]
        run = dfc.simulate(dfc.Scenario("starts", links, flows, duration=0.05), level=level)
        text = "unused options: start of flow later: start is in s, and the run ends at 0.05 s: nothing is sent"
        assert run.limits == ((text,) if late else ())
        assert bool(run.delivered[1, -1] == 0.0) is late


@pytest.mark.parametrize(
    ("element", "way_back"),
    [
        (dfc.Jitter("d->s", "10ms", acks=True), ", whose ACKs pass elements of s->d with acks=True"),
        (dfc.DelayTrace("d->s", (0.0,), (0.1,)), ", whose ACKs pass elements of s->d with acks=True"),
        (dfc.PeriodicLoss("s->b", 2), ""),
        (dfc.RateTrace("s->b", (0.0,), (1e3,)), ""),
        (dfc.RateTrace("d->s", (0.0,), (1e2,)), None),
        (dfc.Jitter("s->d", "10ms", acks=True), None),
        (dfc.Jitter("a->s", "10ms"), None),
    ],
    ids=repr,
)
def test_elements_that_act_on_no_packet_are_named(element, way_back) -> None:
    """ACKs pass the elements of the link of their data: one at their own link delayed nothing, and nothing said so."""
    links = [dfc.Link(*ends, 1e4, 1e-3, 100) for ends in ("as", "sd", "ds", "sa", "sb")]
    scenario = dfc.Scenario("one", links, [dfc.Flow("f", "asd", NewReno(), size=200)], duration=10.0)
    run, plain = (
        dfc.simulate(dataclasses.replace(scenario, elements=elements), dfc.Packets(seed=1))
        for elements in ([element], [])
    )
    name = f"{type(element).__name__} at {element.link}"
    text = f"unused options: {name}: no packet of data passes {element.link}{way_back}"
    assert [limit for limit in run.limits if limit.startswith("unused options")] == [text] * (way_back is not None)
    assert bool(run.finished[0] == plain.finished[0]) is (way_back is not None)


@pytest.mark.parametrize("level", ["packets", "fluid"])
@pytest.mark.parametrize(
    ("element", "named"),
    [
        (dfc.RateTrace("s->d", (0, 100), ("100Mbps", "10Mbps")), True),  # of 100 us
        (dfc.RateTrace("s->d", (0, "100us"), ("100Mbps", "10Mbps")), False),
        (dfc.DelayTrace("s->d", (0, 5.0), (0, "10us")), True),
        (dfc.DelayTrace("s->d", (0,), ("10us",)), False),
    ],
    ids=repr,
)
def test_traces_that_change_after_the_end_are_named(element, named: bool, level: str) -> None:
    links = [dfc.Link(*ends, "100Mbps", "1ms", 100) for ends in ("as", "sd")]
    scenario = dfc.Scenario("one", links, [dfc.Flow("f", "asd", NewReno())], duration=0.2, elements=[element])
    name = f"times of {type(element).__name__} at s->d"
    text = f"unused options: {name}: times are in s, and the run ends at 0.2 s: only the first value is used"
    limits = dfc.simulate(scenario, level=level).limits
    assert [limit for limit in limits if limit.startswith("unused options")] == [text] * named


def test_a_rate_over_time_of_a_link_with_acks_alone_is_named_in_the_fluid() -> None:
    links = [dfc.Link(*ends, 1e3, 1e-3, 100) for ends in ("ad", "da")]
    trace = dfc.RateTrace("d->a", (0.0,), (1e2,))
    scenario = dfc.Scenario("one", links, [dfc.Flow("f", "ad", NewReno())], duration=1.0, elements=[trace])
    named = [
        limit.startswith("unused options: RateTrace at d->a") for limit in dfc.simulate(scenario, dfc.Fluid()).limits
    ]
    assert any(named)


@pytest.mark.parametrize("level", ["fluid", "packets"])
def test_random_times_that_no_sender_has_are_named(level) -> None:
    """They change nothing in a run without window rules."""

    def run(*sources, jitter):
        links = [dfc.Link(*ends, 1e4, 1e-4, 1000) for ends in ("as", "sd")]
        flows = [dfc.Flow(f"f{n}", ("a", "s", "d"), source, size=50) for n, source in enumerate(sources)]
        return dfc.simulate(dfc.Scenario("times", links, flows, duration=0.05), level=level, packet_jitter=jitter)

    rate = FixedRate(sending_rate=1e3)
    plain, random = (run(rate, jitter=jitter) for jitter in (None, "1pkt"))
    assert np.array_equal(plain.finished, random.finished, equal_nan=True)
    assert random.limits == ("unused options: packet_jitter: packet_jitter delays packets of window rules",)
    assert plain.limits == ()
    assert "packet_jitter" not in "".join(run(rate, NewReno(), jitter="1pkt").limits)


def test_without_recorded_recoveries_nothing_is_said_of_rate_rules() -> None:
    """Runs that were made elsewhere have none; a sender without a window is named all the same."""
    links = [dfc.Link("a", "s", 1e5, 1e-4, 100), dfc.Link("s", "d", 1e5, 1e-4, 100)]
    sources = {"f": FixedRate(), "g": dfc.CBR(100.0)}
    flows = [dfc.Flow(name, ("a", "s", "d"), source, max_window=1) for name, source in sources.items()]
    run = dfc.simulate(dfc.Scenario("two", links, flows, duration=0.05), dfc.Packets(seed=1))
    assert "max_window of flows f, g:" in run.limits[0]
    (limit,) = dataclasses.replace(run, recoveries=()).limits
    assert "max_window of flow g:" in limit


@pytest.mark.parametrize(
    ("flow", "min_rto", "named"),
    [
        ({"stop": 2}, 0.2, "stop of flow f: stop is in s, and the run ends at 0.05 s: they do not stop"),
        ({"stop": "50 ms"}, 0.2, ""),
        (
            {"size": 10, "idle": 10},
            0.2,
            "idle of flow f: idle is in s, and the run ends at 0.05 s: each has one transfer",
        ),
        ({"size": 10, "idle": "10 ms"}, 0.2, ""),
        ({"arrivals": dfc.Replay((0, 10, 20), (1, 1, 1))}, 0.2, "arrivals of flow f: times of Replay are in s"),
        ({"arrivals": dfc.Replay((0, 0.01, 20), (1, 1, 1))}, 0.2, ""),
        ({}, 10, "min_rto: min_rto is in s, and the run ends at 0.05 s: no timer of a retransmission expires"),
        ({}, "10 ms", ""),
    ],
)
def test_times_of_flows_beyond_the_run_are_named(flow: dict, min_rto: Any, named: str) -> None:
    """Times in ms without a unit: a flow that was to stop after 2 ms went on, without a word."""
    links = [dfc.Link("a", "s", 1e5, 1e-4, 100), dfc.Link("s", "d", 1e5, 1e-4, 100)]
    flows = [dfc.Flow("f", ("a", "s", "d"), NewReno(), **flow)]
    run = dfc.simulate(dfc.Scenario("late", links, flows, duration=0.05, min_rto=min_rto), dfc.Packets(seed=1))
    texts = [limit.removeprefix("unused options: ") for limit in run.limits if limit.startswith("unused options")]
    assert len(texts) == bool(named)
    assert named in "".join(texts)


@pytest.mark.parametrize(
    ("source", "clause"),
    [
        (HPCC(), ""),
        (HPCC(base_rtt="13us"), ""),
        (HPCC(base_rtt="1us"), "HPCC of flow 0: base_rtt = 1 µs is below the round-trip time without queues, 4.166 µs"),
        (HPCC(additive="80B"), ""),
        (HPCC(additive=80), "additive = 80 packets is not below the window at the rate of the link, 52.08 packets"),
        (DCQCN(), ""),
        (DCQCN(additive=40e6), "DCQCN of flow 0: additive = 4e[+]07 packets/s is not below the rate of the link"),
        (TIMELY(), ""),
        (
            HPCC(base_rtt=4.2),
            "base_rtt = 4.2 s is 1.01e[+]06 times the round trip without queues, 4.166 µs: a number is in s",
        ),
        (TIMELY(t_low=0.05, t_high=0.5), "t_low = 50 ms is 1.2e[+]04 times the round trip"),
        (TIMELY(min_rtt=0.02), "min_rtt = 20 ms is 4.8e[+]03 times the round trip"),
        (
            TIMELY(segment=64e3),
            "segment = 64000 packets, 5.12 ms at the rate of the link, is 1.23e[+]03 times the round",
        ),
        (TIMELY(segment="64 kB"), ""),
        (DCQCN(timer=0.055), "timer = 55 ms is not over when the run ends, at 10 µs: a number is in s, others are a"),
        (DCQCN(timer="300us"), ""),
        (
            DCQCN(counter=10_000_000),
            "counter = 1e[+]07 packets, 800 ms at the rate of the link, is not over when the run",
        ),
        (DCQCN(counter="10 MB"), ""),
        (
            DCQCN(additive=40),
            "additive = 40 packets/s is 0.32 Mb/s, and the link has 100 Gb/s: a number is in packets/s",
        ),
        (DCQCN(additive="5Mbps", hyper=0), ""),
        (TIMELY(delta=10), "delta = 10 packets/s is 0.08 Mb/s, and the link has 100 Gb/s"),
        (FixedRate(50), "sending_rate = 50 packets/s is 0.4 Mb/s, and the link has 100 Gb/s"),
        (dfc.CBR(50), "CBR of flow 0: rate = 50 packets/s is 0.4 Mb/s, and the link has 100 Gb/s"),
        (TIMELY(delta=10e7), "delta = 1e[+]08 packets/s is not below the rate of the link, 1.25e[+]07 packets/s"),
        (PatchedTIMELY(t_low="2us", t_high="3us"), "t_high = 3 µs is not above the round-trip time without queues"),
        (FixedRate(), ""),
        (FixedRate("100Gbps"), ""),
        (FixedRate(100e9), "FixedRate of flow 0: sending_rate = 1e[+]11 packets/s is above the rate of the link"),
        (dfc.CBR("200Gbps"), ""),
        (dfc.CBR(100e9), "CBR of flow 0: rate = 1e[+]11 packets/s is 8e[+]03 times that of the link"),
        (dfc.Poisson(100e9), "Poisson of flow 0: rate = 1e[+]11 packets/s is 8e[+]03 times"),
    ],
)
def test_parameters_of_rate_rules_that_do_not_suit_the_path_are_named(source, clause: str) -> None:
    """HPCC(base_rtt="1us") had a quarter of an empty link, and nothing said so."""
    discipline = dfc.INT() if isinstance(source, HPCC) else dfc.RampMarking("100 kB", "400 kB", 0.2)
    fabric = dfc.Fabric(
        leaf_spine(1, 1, hosts=2), dfc.Cable("100Gbps", "200m"), buffer="4 MB", packet_size=1000, discipline=discipline
    )
    options = dfc.FlowOptions(names=["0"])
    flows = dfc.flows_from(
        *([host] for host in fabric.hosts), sizes=math.inf, source=source, links=fabric.links, options=options
    )
    limits = dfc.simulate(fabric.scenario("pair", flows, duration=1e-5), dfc.Packets(seed=1)).limits
    named = [limit for limit in limits if limit.startswith("unsuitable parameters: ")]
    assert len(named) == bool(clause)
    assert re.search(clause, "".join(named))


@pytest.mark.parametrize(
    ("source", "receiver", "share", "clause"),
    [
        (NSCC(base_rtt="4.2us", bdp="52 kB"), None, 1.0, ""),
        (NSCC(), None, 1.0, ""),
        (NSCC(base_rtt="4.2us", bdp=2), None, 0.06, "windows have at most 3 packets, .* rates below 6% of the slowest link"),
        (NSCC(base_rtt="1us"), None, 1.0, "base_rtt = 1 µs is below the round-trip time without queues, 4.166 µs"),
        (NSCC(base_rtt="4.2us", bdp=52e3), None, 1.0, "flows begin with 7.8e[+]04 packets, max_wnd times bdp, of which"),
        (NSCC(base_rtt="1ms"), None, 1.0, "flows begin with 1.875e[+]04 packets"),
        (NSCC(base_rtt=4.2, bdp="52 kB"), None, 1.0, "base_rtt = 4.2 s is 1.01e[+]06 times the round trip without queues"),
        (NSCC(base_rtt="4.2us", bdp="52 kB", target_qdelay=4.2), None, 1.0, "target_qdelay = 4.2 s is 1.01e[+]06 times"),
        (Swift(base_target=0.025), None, 1.0, "base_target = 25 ms is 6e[+]03 times the round trip"),
        (Swift(), None, 1.0, ""),
        (Swift(base_target="1us", fs_range=0.0), None, 0.3, "for a window of 52.08 packets, .*, is 1 µs, not above"),
        (dfc.Credited(), dfc.RCCC(unsolicited=80), 1.0, ""),
        (dfc.Credited(), dfc.RCCC(), 0.31, "RCCC of flow 0: unsolicited = 16 packets, .* rates below 31% of the slowest"),
        (dfc.Credited(), dfc.RCCC(unsolicited=80_000), 1.0, "80000 packets are sent without credit, of which a round"),
    ],
)  # fmt: skip
def test_windows_and_credits_that_do_not_suit_the_path_are_named(source, receiver, share: float, clause: str) -> None:
    """RCCC() had a third of an empty link, and nothing said so; a bandwidth-delay product in bytes overflowed queues."""
    fabric = dfc.Fabric(
        leaf_spine(1, 1, hosts=2), dfc.Cable("100Gbps", "200m"), buffer="4 MB", packet_size=1000,
        discipline=dfc.RampMarking("100 kB", "400 kB", 0.2),
    )  # fmt: skip
    options = dfc.FlowOptions(names=["0"], **({} if receiver is None else {"receiver": receiver}))
    nodes = ([host] for host in fabric.hosts)
    flows = dfc.flows_from(*nodes, sizes=math.inf, source=source, links=fabric.links, options=options)
    method = dfc.Packets(seed=1, recovery=None if receiver is None else "selective")
    run = dfc.simulate(fabric.scenario("pair", flows, duration=4e-4), method, sample=1e-4)
    assert (run.delivered[0, -1] - run.delivered[0, 0]) / 3e-4 <= 1.05 * share * 12.5e6
    named = [limit for limit in run.limits if limit.startswith("unsuitable parameters: ")]
    assert len(named) == bool(clause)
    assert re.search(clause, "".join(named))


@pytest.mark.parametrize("kind", [dfc.AFD, dfc.Trimming, lambda low: dfc.RED(low, 2.0 * low)])
def test_thresholds_above_the_buffer_that_drop_nothing_are_named(kind) -> None:
    named = []
    for threshold in (50.0, 1e5):
        links = [dfc.Link("a", "s", 2e6, 1e-6, 1000), dfc.Link("s", "d", 1e6, 1e-6, 200, kind(threshold))]
        flows = [dfc.Flow("0", ("a", "s", "d"), NewReno(), size=100)]
        run = dfc.simulate(dfc.Scenario("one", links, flows, duration=1e-3), dfc.Packets(seed=1))
        named += [limit for limit in run.limits if "packets fit into the buffer of s->d" in limit]
    assert len(named) == 1
    assert re.match("unused options: (target|limit|low) of [A-Za-z]* at link s->d: no more than 200 packets", named[0])


@pytest.mark.parametrize("kind", [dfc.CoDel, dfc.PIE, dfc.PI2])
def test_target_delays_that_no_queue_of_the_buffer_has_are_named(kind) -> None:
    """A buffer of 200 packets at 1000 packets/s is sent in 0.2 s; with a longer target it was drop-tail, without a word."""
    for target, buffer, faster, is_named in (
        (0.15, 200, 1.0, False), (0.25, 200, 1.0, True), ("250ms", 200, 1.0, True), (0.25, 300, 1.0, False),
        (0.15, 200, 2.0, True),
    ):  # fmt: skip
        discipline = kind(target, interval=1.0) if kind is dfc.CoDel else kind(target)
        links = [dfc.Link("a", "s", 2e3, 1e-3, 1000), dfc.Link("s", "d", 1e3 * faster, 1e-3, buffer, discipline)]
        scenario = dfc.Scenario("one", links, [dfc.Flow("0", ("a", "s", "d"), NewReno(), size=20)], duration=0.5)
        run = dfc.simulate(scenario, dfc.Packets(seed=1))
        named = [
            limit for limit in run.limits if re.search("target of [A-Z0-9a-z]* at link s->d: .* its full buffer", limit)
        ]
        assert len(named) == is_named
    late = kind(0.5, interval=1.0) if kind is dfc.CoDel else kind(0.5)
    links = [dfc.Link(*ends, 1e3, 1e-3, 200, late) for ends in ("as", "sd")]
    limits = dfc.simulate(dataclasses.replace(scenario, links=links), dfc.Packets(seed=1)).limits
    assert any(f"target of {kind.__name__} at links a->s, s->d: target is in s, and a->s" in limit for limit in limits)
    traced = dataclasses.replace(scenario, elements=[dfc.RateTrace("s->d", times=(0.0, 0.1), rates=(2e3, 1e3))])
    assert not any("target of" in limit for limit in dfc.simulate(traced, dfc.Packets(seed=1)).limits)


@pytest.mark.parametrize(
    ("source", "receiver", "recovery", "named"),
    [
        (NewReno(), None, None, True),
        (NSCC(base_rtt="30us", bdp=40), None, None, True),
        (FixedRate(), None, "selective", True),
        (FixedRate(), None, "go-back-n", False),
        (dfc.Credited(), dfc.RCCC(), "selective", False),
    ],
)
def test_packets_cut_to_headers_that_nobody_requests_are_named(source, receiver, recovery, named: bool) -> None:
    links = [dfc.Link(f"h{n}", "s", 1e6, 1e-6, 1000) for n in range(4)]
    links += [dfc.Link("s", "d", 1e6, 1e-6, 500, dfc.Trimming())]
    options = {"size": 200, "host": "nic", "receiver": receiver}
    flows = [dfc.Flow(f"{n}", (f"h{n}", "s", "d"), source, **options) for n in range(4)]
    run = dfc.simulate(dfc.Scenario("incast", links, flows, duration=0.01), dfc.Packets(seed=1, recovery=recovery))
    assert run.lost.sum() > 0.0
    limits = [limit for limit in run.limits if limit.startswith("trimmed packets: ")]
    assert (flags_of_limits(limits) != 0) == named  # of sweeps
    assert len(limits) == named
    assert re.search("[0-9]* packets of flows .* were cut to their headers" if named else "", "".join(limits))


@pytest.mark.parametrize("buffer", ["80 kB", "1 MB"])
def test_credits_that_full_buffers_drop_are_named(buffer: str) -> None:
    """A buffer of 19 packets holds as many ACKs; each that is dropped with a credit costs a timeout of 1 ms."""
    cable = dfc.Cable("100Gbps", "200m")
    fabric = dfc.Fabric(fat_tree(6), cable, cable, buffer, 4096, dfc.Trimming())
    receiver = dfc.RCCC(unsolicited=43, credit_per_pull=1, pull_rate=1.0)
    options = {"source": dfc.Credited(), "links": fabric.links, "options": dfc.FlowOptions(receiver=receiver)}
    flows = dfc.permutation(fabric.hosts, 1, sizes=200, routes="spray", **options)
    scenario = fabric.scenario("permutation", flows, duration=1e-3, min_rto=1e-3)
    run = dfc.simulate(scenario, dfc.Packets(seed=1, recovery=PATIENT))
    limits = [limit for limit in run.limits if limit.startswith("lost credits: ")]
    assert len(limits) == (buffer == "80 kB")
    assert (flags_of_limits(limits) != 0) == (buffer == "80 kB")  # of sweeps
    if limits:
        counts = "[0-9]+ answers? to senders and [0-9]+ packets? of flows? "
        assert re.match(f"lost credits: {counts}.* were dropped at links? .*, with their credits", limits[0])
        assert np.isnan(run.finished).any()
    else:
        assert run.finished.max() < 1.25 * dfc.completion_bounds(scenario).job


LATE = dfc.Reordering("b->c", p=0.05, delay="5ms")
"""A twentieth of the packets is 5 ms late: on 5 Mb/s at most two packets overtake one, fewer than the three that TCP waits for."""
COUNTED = "the rules of flow f count each packet that another one overtakes as lost"
KEPT = "recovery 'linux-6.12' of flow f keeps the smaller window after a packet that was only late"


def _late(rule, element, method, **options):
    """Return a run of flow f over a link of 5 Mb/s and 197 ms, and of flow g, which ends before that link."""
    links = [dfc.Link("a", "b", "1Gbps", "0.1ms", 10_000), dfc.Link("b", "c", "5Mbps", "98.4ms", 2000)]
    flows = [dfc.Flow("f", ("a", "b", "c"), rule, **options), dfc.Flow("g", ("a", "b"), rule, size=1, **options)]
    return dfc.simulate(dfc.Scenario("late", links, flows, duration=8.0, elements=element), method)


@pytest.mark.parametrize(
    ("rule", "element", "recovery", "message"),
    [
        (BBR(), LATE, None, COUNTED),
        (LEDBAT(), LATE, "rack", COUNTED),  # which a delivery rule replaces by SACK
        (BBR(), LATE, RackRecovery(), ""),
        (BBR(), dfc.Jitter("b->c", "5ms", in_order=False), None, COUNTED),
        (BBR(), dfc.DelayTrace("b->c", (0, 1), (0, 0.01), period=2, in_order=False), None, COUNTED),
        (BBR(), dfc.Reordering("a->b", p=0.05, delay="5ms", flows=("g",)), None, COUNTED.replace("flow f", "flow g")),
        (NewReno(), LATE, "linux-6.12", KEPT),
        (NewReno(), LATE, "rack", ""),
        (NewReno(), LATE, "sack", ""),
        *(
            (BBR(), element, None, "")
            for element in (
                dfc.Reordering("b->c", p=0.0, delay="5ms"),
                dfc.Reordering("b->c", p=1.0, delay="5ms"),
                dfc.Reordering("b->c", p=0.05, delay=0.0),
                dfc.Reordering("b->c", p=0.05, delay="5ms", acks=True),
                dfc.Jitter("b->c", "5ms"),
                dfc.Jitter("b->c", "5ms", "constant", in_order=False),
                dfc.DelayTrace("b->c", (0, 1), (0.01, 0.01), period=2, in_order=False),
            )
        ),
    ],
    ids=repr,
)
def test_senders_that_take_late_packets_for_lost_are_named(rule, element, recovery, message: str) -> None:
    limits = _late(rule, [element], dfc.Packets(seed=1, recovery=recovery)).limits
    named = [limit.removeprefix("reordering: ") for limit in limits if limit.startswith("reordering: ")]
    assert [limit.startswith(message) for limit in named] == [True] * bool(message)


def test_a_recovery_by_time_takes_no_late_packet_for_lost() -> None:
    """Nothing is lost, and BBR has less than 0.8 of the link from 4 to 8 s unless its recovery waits."""
    methods = (dfc.Packets(seed=1), dfc.Packets(seed=1, recovery=RackRecovery()))
    runs = [_late(BBR(), [LATE], method) for method in methods]
    assert [run.lost.sum() for run in runs] == [0.0, 0.0]
    received = [run.delivered[0, -1] - np.interp(4.0, run.time, run.delivered[0]) for run in runs]
    assert received[0] < 0.8 * 4.0 * 5e6 / 12e3 < 0.9 * 4.0 * 5e6 / 12e3 < received[1]


def test_the_stack_of_linux_is_named_where_packets_are_late() -> None:
    run = _late(LinuxCUBIC(), [LATE], dfc.Packets(seed=1), stack="linux-6.12")
    assert any(limit.startswith(f"reordering: {KEPT}") for limit in run.limits)


@pytest.mark.parametrize(
    ("policer", "is_named"),
    [
        (dfc.Policer("b->c", rate=20e6, burst=15_000), True),  # bits per second and bytes, as numbers
        (dfc.Policer("b->c", rate="1Gbps", burst=1), True),
        (dfc.Policer("b->c", rate="999Mbps", burst=1), False),
        (dfc.Policer("b->c", rate="20Mbps", burst="15kB"), False),
        (dfc.Policer("b->c", rate="2Gbps", burst=1, acks=True), False),
        (dfc.Policer("a->b", rate="2Gbps", burst=1), False),  # behind a host
        (dfc.Policer("a->b", rate="2Gbps", burst=1, flows=("g",)), False),
    ],
    ids=repr,
)
def test_policers_that_can_drop_nothing_are_named(policer: dfc.Policer, is_named: bool) -> None:
    """A bucket of 20,000,000 packets per second lets a link of 1 Gb/s pass, and nothing said so."""
    limits = _late(NewReno(), [policer], dfc.Packets(seed=1)).limits
    named = [
        limit for limit in limits if limit.startswith("unsuitable parameters: Policer at b->c drops nothing: rate = ")
    ]
    assert [limit.partition("not below")[2][:50] for limit in named] == [
        " that of link a->b before it, 8.333e+04 packets/s;"
    ] * is_named


@pytest.mark.parametrize(
    ("policer", "is_named"),
    [
        (dfc.Policer("a->b", rate=20e6, burst=100), True),
        (dfc.Policer("a->b", rate="1Gbps", burst=100), True),
        (dfc.Policer("a->b", rate="999Mbps", burst=100), False),
        (dfc.Policer("a->b", rate="1Gbps", burst=1), False),  # it drops packets of the first window
    ],
    ids=repr,
)
def test_policers_behind_hosts_that_drop_nothing_are_named(policer: dfc.Policer, is_named: bool) -> None:
    run = _late(NewReno(), [policer], dfc.Packets(seed=1))
    message = "Policer at a->b drops nothing: rate = "
    named = [limit for limit in run.limits if message in limit and "that of its own link, 8.333e+04 packets/s" in limit]
    assert len(named) == is_named
    assert (run.drops()["cause"] == "policer").any() or is_named or policer.burst == 100


@pytest.mark.parametrize("level", [dfc.Packets(seed=1), dfc.Fluid()], ids=["packets", "fluid"])
@pytest.mark.parametrize(
    ("rule", "named"),
    [
        (dfc.PFC((0,), xoff=0.5, xon=0.2), "xoff = 0.5 packets of PFC"),
        (dfc.Pause(high=0.8, low=0.5), "high = 0.8 packets of Pause"),
        (dfc.RED(low=0.2, high=0.8), "high = 0.8 packets of RED"),
        (dfc.PFC((0,), xoff=20, xon=10, manager=dfc.RampMarking(0.2, 0.8, 0.1)), "high = 0.8 packets of RampMarking"),
        (dfc.StepMarking("900 B"), "threshold = 0.6 packets of StepMarking"),
        (dfc.StepMarking(1.0), None),
        (dfc.RED(low=0.2, high=8.0), None),
    ],
    ids=str,
)
def test_thresholds_that_may_be_shares_of_the_buffer_are_named(rule: Any, named: str | None, level: Any) -> None:
    """A flow over RED from 0.2 to 0.8 packets had half of what it has from 20 to 80 % of the buffer."""
    links = [dfc.Link("a", "b", 1e3, 1e-3, 50), dfc.Link("b", "c", 500.0, 1e-3, 50, rule)]
    scenario = dfc.Scenario("shares", links, [dfc.Flow("f", ("a", "b", "c"), NewReno(), 40)])
    texts = [limit for limit in dfc.simulate(scenario, level).limits if "is less than a packet" in limit]
    assert [f"{named} at link b->c is less" in text for text in texts] == [True] * bool(named)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"delay": 0.6}, "a round trip of flow f takes 2.402 s without queues, a first timeout 1 s: delays are in s"),
        ({"rate": 1.0}, "a round trip of flow f takes 2.057 s without queues, a first timeout 1 s"),
        ({"delay": 0.2}, None),
        ({"packet_size": 1.5}, "packet_size = 1.5 bytes is less than the 40 bytes of an ACK"),
        ({"packet_size": 64}, None),
        ({"source": dfc.OnOff(300.0, 50, 0.1)}, "on of flow f: on is in s, and the run ends at 3 s"),
        ({"source": dfc.OnOff(300.0, 0.1, 40)}, "off of flow f: off is in s, and the run ends at 3 s"),
        ({"source": dfc.OnOff(300.0, 0.1, 0.1)}, None),
    ],
    ids=str,
)
def test_ms_gbit_and_kb_as_plain_numbers_are_named(changed: dict[str, Any], text: str | None) -> None:
    links = [dfc.Link(*ends, changed.get("rate", 1e3), changed.get("delay", 1e-3), 50) for ends in ("ab", "bc")]
    flows = [dfc.Flow("f", ("a", "b", "c"), changed.get("source", NewReno()))]
    scenario = dfc.Scenario("units", links, flows, packet_size=changed.get("packet_size", 1500))
    limits = dfc.simulate(scenario, dfc.Packets(seed=1)).limits
    assert (text is None and not limits) or (len(limits) == 1 and str(text) in limits[0])


@pytest.mark.parametrize(
    ("burst", "is_named"), [(45_000, True), ("45000 B", False), (1e3 * 8.0, True), (1e3 * 7.9, False)], ids=repr
)
def test_buckets_that_hold_more_than_the_rate_passes_in_the_run_are_named(burst: float | str, is_named: bool) -> None:
    """Bytes as packets: a flow had 2.3 times the rate of a policer, and nothing said so."""
    run = _late(NewReno(), [dfc.Policer("a->b", rate=1e3, burst=burst)], dfc.Packets(seed=1))
    named = [
        limit for limit in run.limits if "packets of Policer at a->b is as much as its rate, 1000 packets/s" in limit
    ]
    assert [f"burst = {burst:.6g} packets" in limit and "ends at 8 s" in limit for limit in named] == [True] * is_named


@pytest.mark.parametrize(
    ("element", "held"),
    [
        (dfc.Jitter("b->c", 5.0), "Jitter at b->c holds packets for up to 5 s"),
        (dfc.Jitter("b->c", "5ms"), None),
        (dfc.Aggregation("b->c", interval=10), "Aggregation at b->c holds packets for up to 10 s"),
        (dfc.Aggregation("b->c", count=8), None),
        (dfc.Reordering("b->c", p=0.05, delay=5), "Reordering at b->c holds packets for up to 5 s"),
        (dfc.DelayTrace("b->c", (0, 1), (0.5, 2.0)), "DelayTrace at b->c holds packets for up to 2 s"),
        (dfc.DelayTrace("b->c", (0, 1), (0.25, 0.9)), None),
    ],
    ids=repr,
)
def test_elements_that_hold_packets_for_a_timeout_are_named(element: dfc.PathElement, held: str | None) -> None:
    """A jitter of 5 ms as a number was 5 s: each packet cost a timeout, and nothing said so."""
    run = _late(NewReno(), [element], dfc.Packets(seed=1))
    named = [limit for limit in run.limits if " holds packets for up to " in limit]
    assert [f"unsuitable parameters: {held}, " in limit for limit in named] == [True] * (held is not None)


@pytest.mark.parametrize(
    ("rate", "on", "is_random", "factor"),
    [
        *((100.0, 0.1, False, 1.0), (300.0, 0.1, False, 1.0), (100.0, 0.105, False, 11 / 10.5)),
        *(
            (100.0, 0.105, True, 1.049),
            (100.0, 0.006, False, 1 / 0.6),
            (100.0, 0.003, True, 1.93),
            (1e4, 0.105, True, 1.0),
        ),
    ],
)
def test_on_periods_of_packets_have_their_product_or_are_named(rate, on, is_random, factor) -> None:
    """Half of the bursts of 100 packets/s for 0.1 s had 11 packets: due times are sums of rounded packet times."""
    links = dfc.chain(2, rate=1e5, delay=1e-3, buffer=1000)
    source = dfc.OnOff(rate, on, on, random=is_random)
    scenario = dfc.Scenario("bursts", links, [dfc.Flow("voice", (1, 2), source)], duration=100.0)
    run = dfc.simulate(scenario, dfc.Packets(seed=1))
    mean = 0.5 * rate * 100.0 * factor
    assert float(run.delivered[0, -1]) == pytest.approx(mean, rel=0.1 if is_random else 1.01 * on / 50.0)
    named = [limit for limit in run.limits if limit.startswith("unsuitable parameters: OnOff of flow voice sends")]
    assert [f"packet: {factor:.3g} times the mean rate of the fluid" in limit for limit in named] == [True] * (
        factor > 1.0
    )
    assert not any("OnOff" in limit for limit in dfc.simulate(scenario, level="fluid").limits)


@pytest.mark.parametrize(("burst", "is_named"), [(1, False), (2, True)])
def test_two_links_before_a_policer_may_send_at_once(burst: int, is_named: bool) -> None:
    links = [dfc.Link(*ends, 1e3, 1e-3, 100) for ends in ("as", "bs", "sd")]
    flows = [dfc.Flow(host, (host, "s", "d"), NewReno(), size=20) for host in "ab"]
    network = dfc.Scenario("two", links, flows, duration=1.0, elements=[dfc.Policer("s->d", 2e3, burst)])
    run = dfc.simulate(network, dfc.Packets(seed=1))
    assert any("Policer at s->d drops nothing" in limit for limit in run.limits) == is_named
    assert (run.lost.sum() == 0.0) >= is_named


def _star(rates: dict[int, float]) -> tuple[list[tuple[str, int]], list[dfc.Link]]:
    """Return four hosts and their links by way of a switch; ``rates`` are those to the switch that differ."""
    hosts = [("h", n) for n in range(4)]
    links = []
    for host in hosts:
        links += [dfc.Link(host, "s", rates.get(host[1], 1.2e7), 1e-7, 1e5), dfc.Link("s", host, 1.2e7, 1e-7, 1e5)]
    return hosts, links


def _of_trace(hosts, links, packets: int, computations: dict[int, int]) -> dfc.Flows:
    """Return a ring as a trace, whose ranks compute for a time in us before it, and wait for what they send."""
    traces = [
        trace(
            node(0, COMP, (), computations.get(rank, 0)),
            node(1, COLL, [0], comm_type=ALL_REDUCE, comm_size=1500 * packets),
        )
        for rank in range(len(hosts))
    ]
    return dfc.read_workload(traces, hosts, source=FixedRate(), links=links, options=dfc.WorkloadOptions(host="nic"))


@pytest.mark.parametrize("late", [0.0, 1e-3])
@pytest.mark.parametrize("slow", [False, True])
def test_steps_between_two_hosts_at_the_same_time_are_named(late: float, slow: bool) -> None:
    """Of a host that begins late, or whose link is slower than that of the host before it.

    It then receives messages faster than it sends them on. Ranks of a trace wait for both, as a connection does that
    sends in order, and are never named.
    """
    packets = 34500
    hosts, links = _star({3: 6e6} if slow else {})
    ring = dfc.all_reduce(hosts, packets, source=FixedRate(), links=links, options=dfc.CollectiveOptions(host="nic"))
    begun = [
        dataclasses.replace(flow, start=late) if flow.path[0] == hosts[3] and not flow.after else flow for flow in ring
    ]
    last = []
    for flows in (begun, [*_of_trace(hosts, links, packets, {3: round(1e6 * late)})]):
        run = dfc.simulate(dfc.Scenario("ring", links, flows, duration=0.1), dfc.Packets(seed=1), sample=0.1)
        last.append(run.finished.max())
        named = [limit for limit in run.limits if limit.startswith(STEPS)]
        assert bool(named) == (flows is begun and (slow or late > 0.0))
        assert not named or "('h', 3)->('h', 0)" in named[0]
    if late and not slow:
        assert last[0] / last[1] == pytest.approx(1.30, abs=0.005)
    elif not slow:
        assert last[0] == pytest.approx(last[1], rel=1e-9)


@pytest.mark.parametrize("algorithm", ["ring", "halving-doubling"])
def test_steps_of_several_jobs_are_not_named(algorithm: str) -> None:
    """Each job has its own connections, and a link is the slower for each of them."""
    hosts, links = _star({3: 6e6})
    job = dfc.all_reduce(
        hosts, 8000, algorithm, source=FixedRate(), links=links, options=dfc.CollectiveOptions(host="nic")
    )
    run = dfc.simulate(dfc.Scenario("jobs", links, job + job, duration=0.1), dfc.Packets(seed=1), sample=0.1)
    assert run.limits == ()


@pytest.mark.parametrize("algorithm", ["tree", "halving-doubling"])
def test_steps_to_different_hosts_at_the_same_time_are_not_named(algorithm: str) -> None:
    """Messages from one host to several others have connections of their own."""
    hosts, links = _star({})
    options = dfc.CollectiveOptions(host="nic", **({"pieces": 8} if algorithm == "tree" else {}))
    flows = dfc.all_reduce(hosts, 800, algorithm, source=FixedRate(), links=links, options=options)
    run = dfc.simulate(dfc.Scenario(algorithm, links, flows, duration=0.1), dfc.Packets(seed=1), sample=0.1)
    assert run.limits == ()


@pytest.mark.parametrize("level", ["fluid", "packets"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"max_window": 65535},
            "max_window = 65535 packets of flow f is above the 61.03 packets that links and buffers",
        ),
        ({"initial_window": 14600}, "hold: the rest is lost; a number is packets, '14600 B' are bytes"),
        ({"ssthresh": 65535}, "hold: slow start ends with a loss; a number is packets, '65535 B' are bytes"),
        ({"initial_window": 100}, "hold: the rest is lost"),
        ({"max_window": "65535 B", "initial_window": "14600 B", "ssthresh": "65535 B"}, ""),
        ({"max_window": 65535, "host": "unshaped"}, ""),  # the host has a queue of its own
        ({"max_window": 60}, ""),
        ({"max_window": 1000}, ""),  # no bound on purpose
        ({"max_window": 1e6}, ""),
    ],
)
def test_windows_above_what_a_path_holds_are_named(level: str, options: dict[str, Any], message: str) -> None:
    """Bytes given as packets: of 14,600 packets at once 14,540 were lost, and a bound of 65,535 bounded nothing."""
    links = [dfc.Link("a", "b", 1000.0, 0.02, 20.0), dfc.Link("b", "a", 1000.0, 0.02, 1000.0)]
    flows = [dfc.Flow("f", ("a", "b"), NewReno(), **options)]
    run = dfc.simulate(dfc.Scenario("one", links, flows, duration=0.5), level=level)
    named = [limit for limit in run.limits if limit.startswith("unsuitable parameters: ")]
    assert [message in limit for limit in named] == [True] * bool(message)


@pytest.mark.parametrize("level", ["fluid", "packets"])
@pytest.mark.parametrize(
    ("options", "is_named"),
    [
        ({}, True),
        ({"size": "100MB"}, True),
        ({"size": "10MB"}, False),  # ends before the window is that large
        ({"max_window": 9000}, False),  # on purpose
        ({"max_window": 2e5}, False),
        ({"start": 0.9}, False),
    ],
)
def test_flows_that_the_default_window_limits_are_named(level: str, options: dict[str, Any], is_named: bool) -> None:
    """100 MB over 25 Gb/s and 61 ms took 15.6 round trips without a word; 13 of slow start, of which the last ends early."""
    links = [dfc.Link(*ends, "25Gbps", "30.5ms", "200MB") for ends in (("a", "b"), ("b", "a"))]
    flows = [dfc.Flow("f", ("a", "b"), NewReno(), **{"initial_window": 10, **options})]
    run = dfc.simulate(dfc.Scenario("one", links, flows, duration=1.5), level=level)
    message = "max_window = 10000 packets, its default, limits flow f: the path takes 127084 in a round trip"
    assert [message in limit for limit in run.limits if "max_window" in limit] == [True] * is_named


@pytest.mark.parametrize(
    ("recovery", "options", "is_named"),
    [("selective", {}, True), ("go-back-n", {}, False), ("selective", {"max_window": 1e5}, False)],
)
def test_rates_that_the_default_window_limits_are_named(recovery: str, options: dict[str, Any], is_named: bool) -> None:
    """Selective repair had 0.3 of 400 Gb/s at 1 ms."""
    links = [dfc.Link(*ends, "400Gbps", "500us", "40MB") for ends in (("a", "b"), ("b", "a"))]
    flows = [dfc.Flow("f", ("a", "b"), FixedRate("400Gbps"), host="nic", **options)]
    scenario = dfc.Scenario("one", links, flows, duration=0.01)
    run = dfc.simulate(scenario, dfc.Packets(seed=1, recovery=recovery))
    assert ["its default, limits flow f: the path takes 33334" in limit for limit in run.limits] == [True] * is_named
