"""The fabric kernel, whose records are those of the packet kernel and of the reference engine, bit by bit."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel.packets.engine import PacketRun
from dfcmodel.packets.fabric.conditions import is_fabric
from dfcmodel.packets.fabric.engine import FabricRun, begin_fabric, run_fabric
from dfcmodel.packets.fabric.kernel.windows import FULL
from dfcmodel.packets.simulation import begin_plan, run_plan
from responsefn import DCQCN, TIMELY, FixedRate, NewReno, RateRule
from tests.dfcmodel.packets.random_fabrics import in_turns, random_fabric
from tests.oracles.engines import check_records, plan_scenario, run_engine, run_reference

QUICK = range(24)
FABRICS = [pytest.param(seed, marks=[] if seed in QUICK else [pytest.mark.slow]) for seed in range(300)]
RATES: tuple[Any, ...] = (
    FixedRate(),
    FixedRate(sending_rate=1e5),
    FixedRate(3e6),
    DCQCN(),
    TIMELY(),
)
MANAGERS = (None, dfc.RampMarking(), dfc.RampMarking(2.0, 20.0, 0.5))


def with_rates(seed: int) -> dfc.Scenario:
    """Return a random fabric whose flows have a rate, in one class, under PFC."""
    given, rng = random_fabric(seed), np.random.default_rng([2044, seed])
    sources = RATES if rng.integers(2) else RATES[:1]
    manager = MANAGERS[rng.integers(3)]
    counts = ("output", "switch")[rng.integers(2)]
    flows = [
        replace(flow, source=sources[rng.integers(len(sources))], priority=given.flows[0].priority, delayed_acks=False)
        for flow in given.flows
    ]  # fmt: skip
    links: list[dfc.Link] = []
    buffer = (20_000.0, dfc.ByteBuffer("40 MB", cell=208))[rng.integers(2)]
    for link in given.links:
        rule: Any = link.discipline
        rule = rule if isinstance(rule, dfc.PFC) else dfc.PFC((0, 3), xoff=5.0, xon=3.0)
        rule = replace(rule, manager=manager, counts=counts, acks="control")
        links.append(replace(link, discipline=rule, buffer=buffer))
    min_rto = (1e-3, 0.2)[rng.integers(2)]
    return replace(given, flows=tuple(flows), links=tuple(links), min_rto=min_rto)


def plan_of(scenario: dfc.Scenario, recovery: str | None = None, samples: int = 10) -> Any:
    return plan_scenario(
        scenario, dfc.Packets(seed=1, recovery=recovery), duration=scenario.duration,
        sample=scenario.duration / samples,
    )  # fmt: skip


def check_equal(found: Any, wanted: Any) -> None:
    """Compare all records of the two kernels, sums of times too: these are added in the same order."""
    check_records(found, wanted)
    np.testing.assert_array_equal(found.starts(), wanted.starts())
    names = ("waited", "remaining", "emitted", "inside", "imbalance", "peak_bytes", "at_hosts")
    np.testing.assert_array_equal(found.queued_bytes[:-1], wanted.queued_bytes[:-1])
    for name in names:
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)


@pytest.mark.parametrize("seed", FABRICS)
def test_records_are_those_of_the_packet_kernel(seed: int) -> None:
    scenario = with_rates(seed)
    plan = plan_of(scenario, ("none", "go-back-n")[seed % 2])
    assert is_fabric(plan)
    found = run_fabric(plan)
    if found is None:  # a timer expired: about one in a hundred
        assert seed not in QUICK
        assert run_plan(plan).timeouts.sum() + run_plan(plan).drops.sum() > 0
        return
    check_equal(found, run_engine(plan))


@pytest.mark.parametrize("seed", range(4))
def test_records_are_those_of_the_reference(seed: int) -> None:
    plan = plan_of(with_rates(seed), "go-back-n")
    found = run_fabric(plan)
    assert found is not None
    check_records(found, run_reference(plan))


PAUSING = dfc.PFC((0,), xoff=4.0, xon=2.0)


def incast(rule: dfc.PFC = PAUSING, source: Any = None, n: int = 4, **given: Any) -> dfc.Scenario:
    """Return n hosts that send to one over a switch."""
    hosts = [f"h{i}" for i in range(n)]
    ends = [*((h, "s") for h in hosts), ("s", "to")]
    ends += [(b, a) for a, b in ends]
    links = [dfc.Link(a, b, 1e6, 2e-6, 1e5, rule) for a, b in ends]
    flows = [dfc.Flow(h, (h, "s", "to"), source or FixedRate(), size=100, **given) for h in hosts]
    return dfc.Scenario("incast", links, flows, duration=1e-3, min_rto=0.1, packet_size=1000.0)


def test_four_hosts_share_a_link_that_is_always_busy() -> None:
    """400 packets of 1 us, one transmission to the switch and two propagation delays; ACKs change nothing."""
    for recovery in ("none", "go-back-n"):
        run = dfc.simulate(incast(), dfc.Packets(recovery=recovery))
        assert run.status.ok
        assert run.finished.max() == pytest.approx(401e-6 + 4e-6)
        assert len(run.pauses()["pause"]) > 0
        assert run.lost.sum() == 0


class Counting(RateRule):
    """Counts its calls as notifications: the rate falls a little at each, so that records depend on all of them."""

    class State(NamedTuple):
        rate: float = np.inf
        notifications: float = 0.0

    class Params(NamedTuple):
        factor: float = 0.9999

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        return s._replace(rate=s.rate * q.factor, notifications=s.notifications + 1000.0)

    @staticmethod
    def on_time(s: Any, q: Any, e: Any) -> Any:
        return s._replace(rate=s.rate * q.factor, notifications=s.notifications + 1.0)

    def rate(self, p: Any, *given: Any, **options: Any) -> Any:
        raise ValueError("has none")


class Idle(Counting):
    """The same, called from the first mark on."""

    is_idle_until_marked = True


def crowded_host(source: Any, manager: Any = None) -> dfc.Scenario:
    """Return 60 flows of one host, whose packets wait there for 60 packet times, and of a second host to the same receiver."""
    rule = replace(PAUSING, manager=manager, xoff=60.0, xon=50.0, counts="switch")
    ends = [("a", "s"), ("b", "s"), ("s", "to")]
    ends += [(end, start) for start, end in ends]
    links = [dfc.Link(*way, 1e6, 2e-6, 1e5, rule) for way in ends]
    flows = [
        dfc.Flow(f"{host} {n}", (host, "s", "to"), source, size=20, start=start)
        for host, count, start in (("a", 60, 0.0), ("b", 3, 3e-4))
        for n in range(count)
    ]
    return dfc.Scenario("crowd", links, flows, duration=2e-3, min_rto=0.1, packet_size=1000.0)


CROWDS: dict[str, tuple[Any, Any]] = {
    "counted calls": (Counting(), None),
    "no marks": (DCQCN(), None),
    "marks": (DCQCN(), dfc.StepMarking(10.0, at="departure")),
    "marks that are not remembered": (
        DCQCN(remembers=0, notification=1e-5, timer=2e-5, counter=7.0),
        dfc.RampMarking(2.0, 60.0, 0.3),
    ),
    "round-trip times": (TIMELY(), None),
}


@pytest.mark.parametrize(("source", "manager"), CROWDS.values(), ids=CROWDS)
def test_flows_that_wait_at_a_host_catch_up(source: Any, manager: Any) -> None:
    """Their clocks move at the times at which the packet kernel moves them, the last ones at the end of the run."""
    plan = plan_of(crowded_host(source, manager), "go-back-n", samples=7)
    result, expected = run_fabric(plan), run_engine(plan)
    assert result is not None
    check_equal(result, expected)
    is_called = manager is not None or isinstance(source, Counting)
    assert np.any(expected.notifications) == is_called


def test_a_host_has_one_timer_for_each_flow() -> None:
    """Timers for the clocks of waiting flows were N / 16 per packet with N flows at a host."""
    plan = plan_of(crowded_host(DCQCN()), "go-back-n")
    run = begin_fabric(plan)
    assert run is not None
    assert len(run.arrays["timer"]) == len(plan.forward)
    assert run.advance(plan.samples)


def test_a_rule_that_is_idle_until_marked_is_not_called_before() -> None:
    plan = plan_of(crowded_host(Idle()), "go-back-n")
    result = run_fabric(plan)
    assert result is not None
    assert result.notifications.max() == 0
    marked = run_fabric(plan_of(crowded_host(Idle(), dfc.StepMarking(10.0, at="departure"))))
    assert marked is not None
    assert marked.notifications.max() > 1000


def test_rules_that_change_the_functions_of_an_idle_one_are_called_from_the_start() -> None:
    class Own(DCQCN):
        @staticmethod
        def on_time(s: Any, q: Any, e: Any) -> Any:
            return s._replace(rate=0.5 * s.line_rate)

    class Named(DCQCN):
        notes = "the functions of DCQCN"

    assert [rule.is_idle_until_marked for rule in (DCQCN, Named, Own, Idle, Counting)] == [
        True, True, False, True, False
    ]  # fmt: skip


def of_flows(**given: Any) -> dfc.Scenario:
    """Return the incast with other options of its flows."""
    scenario = incast()
    return replace(scenario, flows=tuple(replace(flow, **given) for flow in scenario.flows))


PLANS = {
    "a constant rate": (incast(), True),
    "a rate by marks": (of_flows(source=DCQCN()), True),
    "marks as packets leave": (incast(replace(PAUSING, manager=dfc.RampMarking())), True),
    "a threshold of marks": (
        incast(replace(PAUSING, manager=dfc.StepMarking(10.0, at="departure"))),
        True,
    ),
    "marks as packets come": (
        incast(replace(PAUSING, manager=dfc.RampMarking(at="arrival"))),
        False,
    ),
    "windows": (of_flows(source=NewReno()), False),
    "hosts without interfaces": (of_flows(host="unshaped"), False),
    "flows that are stopped": (of_flows(stop=5e-4), False),
    "a class that is not paused": (of_flows(priority=3), False),
    "packets counted by switch": (incast(replace(PAUSING, counts="switch")), True),
    "ACKs in the class": (incast(replace(PAUSING, acks="class")), False),
    "a pause storm": (incast(replace(PAUSING, storm=1e-4)), False),
}


@pytest.mark.parametrize("recovery", ["none", "go-back-n"])
def test_samples_shorter_than_the_latency_of_a_link(recovery: str) -> None:
    """A packet that leaves the last port is delivered several samples later, and up to then it is in transit."""
    plan = plan_of(incast(), recovery, samples=1500)
    assert plan.sample < 0.4 * plan.passage[plan.hops.port].min()
    found = run_fabric(plan)
    assert found is not None
    check_equal(found, run_engine(plan))


@pytest.mark.parametrize(("scenario", "runs"), PLANS.values(), ids=PLANS)
def test_which_kernel_runs_a_plan(scenario: dfc.Scenario, runs: bool) -> None:
    plan = plan_of(scenario)
    assert is_fabric(plan) is runs
    assert type(begin_plan(plan)) is (FabricRun if runs else PacketRun)


@dataclass(frozen=True)
class Numbered(dfc.Link):
    """A link with a field that no kernel has."""

    every: int = 0


@pytest.mark.parametrize("every", [0, 3])
def test_a_field_of_links_that_the_fabric_kernel_lacks_has_its_default(every: int) -> None:
    scenario = incast()
    values = [{field.name: getattr(link, field.name) for field in fields(link)} for link in scenario.links]
    links = [Numbered(**value, every=every) for value in values]
    assert is_fabric(plan_of(replace(scenario, links=links))) is (every == 0)


def test_methods_that_the_fabric_kernel_lacks() -> None:
    scenario = incast()
    for method in (dfc.Packets(recovery="selective"), dfc.Packets(loss={"h0->s": 0.1})):
        plan = plan_scenario(scenario, method, duration=1e-3, sample=1e-4)
        assert not is_fabric(plan)


@pytest.mark.parametrize("counts", ["output", "switch"])
def test_what_is_lost_is_left_to_the_packet_kernel(counts: str) -> None:
    """Without headroom for what is in flight packets are lost, and go-back-N sends them again."""
    plan = plan_of(incast(replace(PAUSING, headroom=0.5, counts=counts)), "go-back-n")
    assert is_fabric(plan)
    assert run_fabric(plan) is None
    found = run_plan(plan)
    assert found.drops.sum() > 0
    check_records(found, run_engine(plan))


def test_a_timer_that_expires_is_left_to_the_packet_kernel() -> None:
    scenario = replace(incast(n=8), min_rto=2e-5)
    plan = plan_of(scenario, "go-back-n")
    assert run_fabric(plan) is None
    assert run_plan(plan).timeouts.sum() > 0


def test_a_fabric_that_stands_still_is_deadlocked_in_both_kernels() -> None:
    """Three switches in a ring, each flow over two links of it: the rooms fill, and nothing moves again."""
    rule = dfc.PFC((0,), xoff=3.0, xon=1.0)
    links = [dfc.Link(f"s{i}", f"s{(i + 1) % 3}", 1e6, 1e-6, 100, rule) for i in range(3)]
    links += [dfc.Link(f"s{(i + 1) % 3}", f"s{i}", 1e6, 1e-6, 100, rule) for i in range(3)]
    hosts = [(f"{kind}{i}", f"s{i}") for kind in "ab" for i in range(3)]
    links += [dfc.Link(*ends, 1e6, 1e-6, 100, rule) for a, b in hosts for ends in ((a, b), (b, a))]
    flows = [
        dfc.Flow(str(i), (f"a{i}", f"s{i}", f"s{(i + 1) % 3}", f"s{(i + 2) % 3}", f"b{(i + 2) % 3}"), FixedRate())
        for i in range(3)
    ]  # fmt: skip
    scenario = dfc.Scenario("ring", links, flows, duration=5e-3, min_rto=10.0)
    plan = plan_of(scenario, "none")
    found = run_fabric(plan)
    assert found is not None
    check_equal(found, run_engine(plan))
    run = dfc.simulate(scenario, dfc.Packets(recovery="none"))
    assert run.status.label.startswith("deadlocked")


def test_packets_find_room_as_their_number_grows() -> None:
    """More packets in the network than there are rows at first, and pauses than rows of a table of them."""
    rule = dfc.PFC((0,), xoff=9000.0, xon=8000.0)
    scenario = incast(rule, n=3)
    flows = tuple(replace(flow, size=9e3) for flow in scenario.flows)
    scenario = replace(scenario, flows=flows, duration=0.03)
    plan = plan_of(scenario, "none")
    run = begin_fabric(plan)
    assert run is not None
    first = len(run.arrays["packet"])
    assert run.advance(plan.samples)
    assert len(run.arrays["packet"]) > first
    check_equal(run.finish(), run_engine(plan))


@pytest.mark.parametrize(("rate", "runs"), [(1e5, True), (2e4, True), (2e2, False)])
def test_acks_wait_for_longer_than_there_are_slots(rate: float, runs: bool) -> None:
    """ACKs come faster than the links to their senders take them: the run has more slots, or it is the packet kernel's."""
    scenario = incast(n=3)
    links = [replace(each, rate=rate) if each.target[0] == "h" else each for each in scenario.links]
    plan = plan_of(replace(scenario, links=tuple(links), duration=2e-3), "go-back-n", samples=7)
    run = begin_fabric(plan)
    assert run is not None
    assert run.advance(plan.samples) is (rate == 1e5)
    assert run.fault == (0 if rate == 1e5 else FULL)
    found, wanted = run_fabric(plan), run_engine(plan)
    assert (found is not None) is runs
    assert wanted.waiting.max() > 0
    if found is not None:
        check_equal(found, wanted)


def test_windows_differ_by_more_than_there_are_slots() -> None:
    """A link of 10 ms beside others of 1 us: the packet kernel runs it."""
    scenario = incast()
    links = tuple(
        replace(link, delay=1e-2, buffer=1e5) if link.source == "s" and link.target == "to" else link
        for link in scenario.links
    )
    plan = plan_of(replace(scenario, links=links, duration=0.05), "none")
    assert begin_fabric(plan) is None
    assert isinstance(begin_plan(plan), PacketRun)
    assert run_plan(plan).total.sum() == 400


def test_a_rate_that_is_no_number_is_refused() -> None:
    class Broken(FixedRate):
        is_constant = False

        @staticmethod
        def on_feedback(s: Any, q: Any, e: Any) -> Any:
            return s._replace(rate=s.rate - s.rate + (e.rtt - e.rtt) / (e.rtt - e.rtt))

    with pytest.raises(ArithmeticError, match="rate of flow 'h0' is not a number"):
        dfc.simulate(incast(source=Broken()), dfc.Packets())


@pytest.mark.parametrize("seed", range(12))
def test_the_fabric_kernel_starts_them_as_the_packet_kernel_does(seed: int) -> None:
    plan = plan_of(in_turns(with_rates(seed), seed), ("none", "go-back-n")[seed % 2])
    assert is_fabric(plan)
    assert plan.scenario.table.waits.any()
    found = run_fabric(plan)
    assert found is not None
    check_equal(found, run_engine(plan))
