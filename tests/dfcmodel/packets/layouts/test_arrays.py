"""Arrays of a run of the packet kernel: what they share and how they grow; wrong rows show in runs beside the oracle."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

import dfcmodel as dfc
from dfcmodel.network.flows import random_starts
from dfcmodel.network.queueing.class_pauses import ALL
from dfcmodel.network.queueing.programs import flow_hash
from dfcmodel.packets.engine import begin_run, run_engine
from dfcmodel.packets.kernel.calendar_queue import ALARM, USED
from dfcmodel.packets.layouts import arrays as engine_arrays
from dfcmodel.packets.layouts import memory, ports
from dfcmodel.packets.layouts.arrays import lay_out
from dfcmodel.packets.layouts.memory import (
    CONSTANT,
    WITHOUT_VALUES,
    first_elements,
    first_ring_sizes,
    max_elements,
    outstanding,
)
from dfcmodel.packets.layouts.ports import order_and_window, ports_without_queues, route_parts
from dfcmodel.packets.plan import PortWatchdog
from responsefn import NewReno
from responsefn.rule_events import signatures_of
from tests.dfcmodel.packets.conftest import plan_of, random_classes, random_scenario
from tests.oracles.engines import check_records, plan_scenario

# All arrays of a run: what refers to what.


@pytest.mark.parametrize("name", ["fifo", "fair", "red", "classes"])
def test_arrays_of_a_run_share_no_memory(name: str) -> None:
    """The loop is compiled for arrays that are apart (`calling_entry`)."""
    scenario = random_classes(3) if name == "classes" else random_scenario(name, 3)
    groups = begin_run(plan_of(scenario, dfc.Packets(seed=1))).groups()
    arrays = [each for group in groups for each in group if isinstance(each, np.ndarray)]
    assert len(arrays) > 50
    for one, other in itertools.combinations(arrays, 2):
        assert not np.may_share_memory(one, other)


def test_periods_drawn_anew_have_the_same_law(one_link) -> None:
    """Packets of 500 sources in 0.1 s: the same distribution, with ten copies on the way and without."""
    (flow,) = one_link.flows
    bursts = dfc.OnOff(100.0, 0.03, 0.07, random=True)
    link = replace(one_link.links[0], rate=1e6, buffer=1e4)
    flows = tuple(replace(flow, name=f"{n}", source=bursts) for n in range(500))
    busy = replace(one_link, links=(link,), flows=flows, duration=0.3)
    sent = []
    for copies in (False, True):
        run, rng = begin_run(plan_of(busy, dfc.Packets(seed=4))), np.random.default_rng(1)
        assert run.advance(20)
        before = run.layout.arrays["flow"]["sent"].astype(float)
        for n in range(20, 30):
            run = run.fork(rng) if copies else run
            assert run.advance(n + 1)
        sent.append(run.layout.arrays["flow"]["sent"] - before)
    assert (sent[0] != sent[1]).mean() > 0.5
    assert ks_2samp(*sent).pvalue > 1e-3
    # four standard errors of the difference of two means
    assert abs(sent[0].mean() - sent[1].mean()) < 4.0 * np.sqrt(2.0 * sent[0].var() / 500)


def test_idle_times_are_drawn_anew_once_transfers_have_begun(one_link) -> None:
    """A copy draws the exponential rest of idle times that have begun, and leaves starts and constant ones."""
    (flow,) = one_link.flows
    kinds = ((0.0, True), (0.0, False), (1.5, True))
    flows = tuple(
        replace(flow, name=f"{n}", start=start, size=5.0, idle=1.0, random_idle=random)
        for n, (start, random) in enumerate(kinds)
    )
    run = begin_run(plan_of(replace(one_link, flows=flows), dfc.Packets(seed=1)))
    assert run.advance(20)
    before = run.layout.arrays["flow"]["due"].copy()
    after = run.fork(np.random.default_rng(1)).layout.arrays["flow"]["due"]
    assert (before >= 0.0).all()
    assert (after != before).tolist() == [True, False, False]
    assert after[0] > 0.2


# Arrays of the compiled engine: small at first, and no answer changes as they grow.


@pytest.mark.parametrize("name", ["fifo", "red", "codel"])
@pytest.mark.parametrize("recovery", ["newreno", "sack"])
def test_arrays_that_grow_change_nothing(name: str, recovery: str, monkeypatch) -> None:
    plan = plan_of(random_scenario(name, 3), dfc.Packets(seed=3, recovery=recovery))
    enough = run_engine(plan)
    for each, least in (("ELEMENTS", 1), ("PLACES", 1), ("FEWEST", 2)):
        monkeypatch.setattr(memory, each, least)
    tight = run_engine(plan)
    assert enough.lost.sum() > 0
    for field in ("window", "acked", "delivered", "transit", "waiting", "lost", "peak", "waited"):
        np.testing.assert_array_equal(getattr(tight, field), getattr(enough, field))


@pytest.mark.parametrize(("buffer", "most"), [(100.0, 34), (dfc.ByteBuffer(150_000), 33)])
def test_a_ring_is_filled_in_one_window_before_a_run_begins_again(
    buffer: float | dfc.ByteBuffer, most: int, monkeypatch
) -> None:
    """Of a burst one packet is sent, one is the last, and a ring of 32 has the others; of bytes that of the last one."""
    for each, least in (("PLACES", 1), ("FEWEST", 32)):
        monkeypatch.setattr(memory, each, least)
    links = dfc.chain(2, rate=1000.0, delay=0.05, buffer=buffer)
    for window in (most, most + 1):
        flow = dfc.Flow("burst", (1, 2), NewReno(), initial_window=window, max_window=200)
        scenario = dfc.Scenario("burst", links, (flow,), duration=0.09)  # before the first ACK
        run = begin_run(plan_scenario(scenario, dfc.Packets(seed=1), duration=0.09, sample=0.09))
        assert run.layout.arrays["port"]["ring_mask"][0] == 31
        assert run.advance(1) == (window == most)
        assert run.layout.arrays["port"]["peak"][0] == window - 1


def test_rings_are_powers_of_two_and_grow_unless_they_are_full() -> None:
    sizes, alarms = first_ring_sizes(np.array([0, 5, 100, 1 << 20]), np.ones(4, dtype=int), 1)
    assert list(sizes) == [1, 8, 128, 8192]
    assert list(alarms[:3] > 1 << 40) == [True, True, True]
    assert alarms[3] == 2048
    sizes, _ = first_ring_sizes(np.array([100, 1 << 20]), np.array([15_000, 15_000]), 1)
    assert list(sizes) == [128, 1 << 15]  # two packets of each flow at once, where there is room


def test_elements_double_and_always_leave_room_for_a_window() -> None:
    scenario = dfc.takano2006("6", dfc=False, tcp="newreno")
    rules = signatures_of(flow.source for flow in scenario.flows)
    arrays = lay_out(plan_of(scenario, dfc.Packets(seed=1)), rules).arrays
    counters, first = arrays["counters"], len(arrays["packet"])
    for size in (2 * first, 4 * first, 8 * first, 16 * first):
        arrays["packet"]["number"][-1] = size
        counters[USED] = counters[ALARM] + 1
        memory.grow(arrays, 16 * first)
        assert len(arrays["packet"]) == len(arrays["sent_at"]) == size
        assert arrays["packet"]["number"][size // 2 - 1] == size
        room = size - counters[ALARM]
        assert room == max(first // 2, size // 8) or (size == 16 * first and room < 0)


def test_elements_grow_up_to_what_links_and_windows_hold(one_link) -> None:
    plan = plan_of(one_link, dfc.Packets(seed=1))
    size, alarm = first_elements(plan, 1, 10**6)
    assert alarm == size // 2 < 2000
    most = max_elements(plan)
    assert first_elements(plan, 1 << 40, most)[0] == most
    assert (outstanding(plan) == 4 * one_link.flows[0].max_window).all()


def test_a_large_window_takes_no_memory_before_it_is_used() -> None:
    """takano2006 has windows of 20,000 packets and more, and buffers of 1,800."""
    scenario = dfc.takano2006("6", dfc=False, tcp="newreno")
    rules = signatures_of(flow.source for flow in scenario.flows)
    arrays = lay_out(plan_of(scenario, dfc.Packets(seed=1)), rules).arrays
    assert arrays["packet"].nbytes + arrays["ring"].nbytes < 4e5


# How long a window may last, and where records begin.


@pytest.mark.parametrize("name", ["fifo", "pause", "fair"])
def test_answers_do_not_depend_on_the_order_of_ports(name: str, monkeypatch) -> None:
    runs = []
    order_ports = ports._order_ports
    for order in (order_ports, lambda ports, *_: ports, lambda ports, *_: ports[::-1]):
        monkeypatch.setattr(ports, "_order_ports", order)
        plan = plan_of(random_scenario(name, 2), dfc.Packets(seed=2))
        _, ahead = order_and_window(plan, inline := ports_without_queues(plan), route_parts(plan, inline))
        runs.append((run_engine(plan), ahead))
    (one, longest), *others = runs
    for other, ahead in others:
        assert ahead <= longest
        for field in ("window", "acked", "delivered", "waiting", "lost", "peak", "waited"):
            np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


def test_a_rate_so_low_that_times_cannot_be_counted_is_refused(one_link, refused) -> None:
    """A sample beyond 64 bits would be a row before the first."""
    slow = replace(one_link, links=(replace(one_link.links[0], rate=1e-300),))
    refused(("rate of", "1e-300", "samples"), lambda: dfc.simulate(slow, dfc.Packets(seed=1)))
    slow = replace(one_link, links=(replace(one_link.links[0], rate=1e-3),))
    assert dfc.simulate(slow, dfc.Packets(seed=1), duration=1.0).delivered[0, -1] == 0.0


def test_a_flow_that_starts_long_after_the_end_sends_nothing(one_link) -> None:
    late = replace(one_link, flows=(replace(one_link.flows[0], start=1e300),))
    assert dfc.simulate(late, dfc.Packets(seed=1), duration=1.0).delivered[0, -1] == 0.0


def test_no_record_depends_on_memory_without_values(one_link, monkeypatch) -> None:
    """The events at which flows start, and wait for after the end, have no hop."""
    late = replace(one_link, flows=(replace(one_link.flows[0], start=1e300),))
    aligned = engine_arrays.aligned

    def filled(count: int, dtype: object) -> np.ndarray:
        found = aligned(count, dtype)
        found.view(np.uint8)[:] = 0x11
        return found

    monkeypatch.setattr(engine_arrays, "aligned", filled)
    assert dfc.simulate(late, dfc.Packets(seed=1), duration=1.0).inside.tolist() == [0.0]


# Hashes of flows.


def test_a_hash_is_even_and_of_a_flow_and_its_acks_alone() -> None:
    found = flow_hash(np.full(4000, 5), np.repeat(np.arange(2000), 2), np.arange(4000) % 2 == 1)
    assert len(np.unique(found)) == 4000
    # of 4000 even numbers a tenth has 400 with a standard deviation of 19: five of them
    counts = np.histogram(found, 10, (0.0, 1.0))[0]
    assert np.abs(counts - 400).max() < 5 * 19
    assert flow_hash(np.array([5]), np.array([3]), np.array([True])) == found[7:8]


def test_a_thousand_flows_share_fewer_queues() -> None:
    """McKenney 1990: flows with the same hash share a queue, so that those that are alone in theirs get as much together."""
    flows = [dfc.Flow(str(n), ("a", "s", "b"), dfc.CBR(3e4)) for n in range(12)]
    program = dfc.DeficitRoundRobin(queues=8)
    links = [dfc.Link("a", "s", 1e7, 1e-6, 10_000), dfc.Link("s", "b", 1e5, 1e-6, 10_000, program)]
    plan = plan_scenario(dfc.Scenario("overloaded", links, flows), dfc.Packets(seed=1), duration=0.05, sample=0.05)
    hashes = flow_hash(plan.seeds[np.full(12, 1)], np.arange(12), np.zeros(12, dtype=bool))
    queues = np.floor(8.0 * hashes).astype(int)
    records = run_engine(plan)
    sent = np.bincount(queues, records.total, minlength=8)[np.unique(queues)]
    assert 2 < len(sent) < 9
    assert sent.max() - sent.min() <= 2.0 + 0.02 * sent.max()  # the flows begin one after the other


# Layouts of further runs of a scenario.


def both(scenario: dfc.Scenario, method: dfc.Packets, **options: Any) -> tuple[Any, Any]:
    """Return the plan of a run, and that of the same run of a scenario that has had none before."""
    given = {"duration": scenario.duration, "sample": scenario.duration / 4, **options}
    fresh = replace(scenario)
    assert not fresh.derived
    return plan_scenario(scenario, method, **given), plan_scenario(fresh, method, **given)


@pytest.mark.parametrize("name", ["fifo", "red", "pause", "pause quanta", "fair codel", "dualpi2", "classes"])
def test_further_runs_are_those_of_a_scenario_without_runs_before(name: str) -> None:
    scenario = random_classes(3) if name == "classes" else random_scenario(name, 3)
    scenario = replace(scenario, duration=0.2)
    runs = [(n, jitter) for n in range(1, 4) for jitter in (0.0, 0.01)]
    for seed, jitter in [*runs, (2, 0.0)]:
        starts = random_starts(scenario.table, jitter, np.random.default_rng(seed)) if jitter else None
        one, other = both(scenario, dfc.Packets(seed=seed), starts=starts)
        check_records(run_engine(one), run_engine(other))


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({"recovery": "sack"}, {}), ({"loss": {"1->2": 0.1}}, {}), ({"ack_transmission": False}, {}), ({"ack_delay": 0.3}, {}), ({}, {"packet_jitter": 1e-3}),
        ({}, {"duration": 0.3}), ({"convention": "ns2"}, {}),
    ],
)  # fmt: skip
def test_runs_with_other_options_are_no_further_runs(change: Any, options: Any) -> None:
    flows = [
        dfc.Flow("f", (1, 2, 3), NewReno(), delayed_acks=True),
        dfc.Flow("g", (1, 2, 3), dfc.CBR(900.0)),
    ]
    scenario = dfc.Scenario("two", dfc.chain(3, rate=1e3, delay=1e-3, buffer=9), flows, duration=0.5)
    for _ in range(3):
        run_engine(both(scenario, dfc.Packets(seed=1))[0])
    for seed in (1, 2, 3):
        one, other = both(scenario, dfc.Packets(seed=seed, **change), **options)
        check_records(run_engine(one), run_engine(other))


def test_runs_share_only_what_they_do_not_change() -> None:
    scenario = replace(random_scenario("fifo", 3), duration=0.3)
    first, second, third = (begin_run(plan_of(scenario, dfc.Packets(seed=n))) for n in (1, 2, 3))
    alike = {name for name in first.arrays if first.arrays[name] is second.arrays[name]}
    assert alike <= set(CONSTANT), "these two are no copies"
    fourth = begin_run(plan_of(scenario, dfc.Packets(seed=3)))
    before = {name: array.tobytes() for name, array in fourth.arrays.items()}
    assert third.advance(third.plan.samples)
    third.finish()
    for name, array in fourth.arrays.items():
        shared = np.may_share_memory(array, third.arrays[name])
        assert shared == (name in CONSTANT and array.size > 0), name
        if name not in WITHOUT_VALUES:
            assert array.tobytes() == before[name], name


def test_a_run_with_a_watchdog_is_no_further_run_of_one_without() -> None:
    scenario = replace(random_scenario("pause", 3), duration=0.3)
    plans = [plan_of(scenario, dfc.Packets(seed=n)) for n in (1, 2, 3)]
    assert [int(begin_run(plan).arrays["port"]["plain"].min()) for plan in plans] == [0, 0, 0]
    dog = PortWatchdog(1, ALL, 0.01, 0.01, 0.005, 2, 2)
    watched = begin_run(replace(plans[2], watchdogs=(dog,))).arrays
    assert (watched["port"]["plain"][1], watched["watchdog"]["port"].tolist()) == (-1, [1])


# Flows that start after the end have no state.


def with_idle(count: int, source: Any, **options: Any) -> dfc.Scenario:
    """Return two flows of one link, the second of which has ``count`` others before it that do not start."""
    given = {"max_window": 20.0, **options}
    flows = [dfc.Flow("first", (1, 2, 3), NewReno(), **given)]
    flows += [dfc.Flow(f"{n}", (1, 2, 3), source, start=0.5 + n, **given) for n in range(count)]
    flows += [dfc.Flow("last", (1, 2, 3), NewReno(), start=0.01, **given)]
    return dfc.Scenario("idle", dfc.chain(3, rate=1e3, delay=1e-3, buffer=9), flows, duration=0.5)


@pytest.mark.parametrize("source", [NewReno(), dfc.CBR(5.0)])
@pytest.mark.parametrize("recovery", ["newreno", "sack"])
def test_idle_flows_change_nothing_and_have_no_rows(source: Any, recovery: str) -> None:
    scenario = with_idle(7, source)
    method = dfc.Packets(seed=1, recovery=recovery)
    run = begin_run(plan_of(scenario, method))
    rows = run.arrays["flow"]
    assert run.arrays["begun"].tolist() == [0, 1, 8]  # one that starts at the end has its row
    assert not rows[2:8].tobytes().strip(b"\0")
    assert len(run.arrays["rule"]) == 3 - isinstance(source, dfc.CBR)
    found = dfc.simulate(scenario, method, sample=0.1)
    expected = dfc.simulate(with_idle(0, source), method, sample=0.1)
    for name in (
        "delivered",
        "lost",
        "finished",
        "timeouts",
        "emitted",
        "inside",
        "imbalance",
        "first_loss",
    ):
        of_all = np.asarray(getattr(found, name))
        np.testing.assert_array_equal(of_all[[0, 8]], np.asarray(getattr(expected, name)), err_msg=name)
        of_idle = of_all[1:8].astype(float)
        assert np.isnan(of_idle).all() if name in ("finished", "first_loss") else (of_idle == 0.0).all()
    first = 0.0 if isinstance(source, dfc.CBR) else NewReno().start(0.1).cwnd
    np.testing.assert_array_equal(found.window[1:8], first)
    np.testing.assert_array_equal(found.window[[0, 8]], expected.window)
    assert str(found.status) == str(expected.status)


def test_flows_that_wait_for_others_are_not_idle() -> None:
    chained = [
        dfc.Flow("a", (1, 2, 3), NewReno(), size=5),
        dfc.Flow("b", (1, 2, 3), NewReno(), size=5, after="a"),
        dfc.Flow("c", (1, 2, 3), NewReno(), start=9.0),
    ]
    scenario = dfc.Scenario("chained", dfc.chain(3, rate=1e3, delay=1e-3, buffer=9), chained, duration=0.5)
    run = dfc.simulate(scenario, dfc.Packets(seed=1))
    assert (run.finished[:2] < 0.5).all()
    assert np.isnan(run.finished[2])
