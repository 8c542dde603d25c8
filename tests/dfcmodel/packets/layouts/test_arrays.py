"""Arrays of a run: senders, receivers, room, and the order of processing."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import ks_2samp

from dfcmodel import (
    CBR,
    PFC,
    ByteBuffer,
    Fair,
    Flow,
    Link,
    OnOff,
    Packets,
    Pause,
    ReceiverAgent,
    Scenario,
    chain,
    dumbbell,
    takano2006,
)
from dfcmodel.network.flows import window_rules
from dfcmodel.packets.engine import begin_run, run_engine
from dfcmodel.packets.kernel.calendar_queue import ALARM, USED
from dfcmodel.packets.kernel.layout import RECEIVER, SENDER
from dfcmodel.packets.layouts import lookahead, memory
from dfcmodel.packets.layouts.agents import agent_signatures
from dfcmodel.packets.layouts.arrays import lay_out
from dfcmodel.packets.layouts.lookahead import ordered_ports, stretches, windows
from dfcmodel.packets.layouts.memory import (
    first_elements,
    first_places,
    most_elements,
    outstanding,
)
from dfcmodel.packets.layouts.senders import begin_flows, lay_out_flows
from responsefn import CUBIC, DCQCN, NewReno
from responsefn.responses.rule_events import signatures_of
from tests.dfcmodel.packets.conftest import plan_of, random_classes, random_scenario
from tests.oracles.engines import plan_scenario

# All arrays of a run: what refers to what.

PLAIN_OR_NOT = {
    "pause": Pause(high=20.0, low=10.0),
    "PFC": PFC(xoff=20.0, xon=10.0),
    "fair": Fair(),
}


def test_the_hops_of_a_flow_are_its_packets_its_receiver_and_its_acks() -> None:
    plan = plan_of(random_scenario("fair", 1), Packets(seed=1))
    layout = lay_out(plan, signatures_of(window_rules(plan.scenario.flows)))
    flow, hop = layout.arrays["flow"], layout.arrays["hop"]
    for f, (out, back) in enumerate(zip(plan.forward, plan.backward, strict=True)):
        rows = hop[flow["way"][f] : flow["end"][f] + 1]
        assert rows["port"].tolist() == [*out, RECEIVER, *back, SENDER]
        assert flow["turn"][f] == flow["way"][f] + len(out)
    assert layout.ahead > 0.0
    assert layout.most >= len(layout.arrays["packet"])
    assert np.isfinite(layout.ahead)


@pytest.mark.parametrize("name", ["fifo", "fair", "red", "classes"])
def test_arrays_of_a_run_share_no_memory(name: str) -> None:
    """The loop is compiled for arrays that are apart (`calling_entry`)."""
    scenario = random_classes(3) if name == "classes" else random_scenario(name, 3)
    groups = begin_run(plan_of(scenario, Packets(seed=1))).groups()
    arrays = [each for group in groups for each in group if isinstance(each, np.ndarray)]
    assert len(arrays) > 50
    for one, other in itertools.combinations(arrays, 2):
        assert not np.may_share_memory(one, other)


def test_ports_with_lanes_are_plain_where_only_the_room_of_the_queue_decides() -> None:
    for name, expected in (("pause", False), ("PFC", True), ("fair", False)):
        links = chain(3, rate=1e4, delay=1e-3, buffer=100, discipline=PLAIN_OR_NOT[name])
        flows = [Flow("flow", (1, 2, 3), CBR(1e4), host="unshaped")]
        scenario = Scenario(name, links, flows, duration=0.1)
        ports = begin_run(plan_of(scenario, Packets(seed=1))).layout.arrays["port"]
        assert ports["plain"][0] == expected, name


# Arrays of receiver agents.


@dataclass(frozen=True)
class Counting(ReceiverAgent):
    class State(NamedTuple):
        ack: float = 0.0
        nack: float = -1.0
        mark: float = 0.0
        credits: float = 0.0
        timer: float = np.inf
        common: float = 7.0
        own: float = 3.0

    of_flow = ("own",)
    unsolicited: float = 2.0
    factor: float = 4.0

    @staticmethod
    def on_packet(s, q, e):
        return s._replace(ack=1.0)


def test_a_row_per_agent_and_node() -> None:
    links = [Link("a", "x", 1e6, 1e-6, 50), *(Link("x", n, 1e6, 1e-6, 50) for n in "bc")]
    agents = [Counting(), Counting(), Counting(), Counting(factor=5.0), None]
    flows = [
        Flow(f"{k}", ("a", "x", to), DCQCN(), size=10 + k, receiver=agent)
        for k, (agent, to) in enumerate(zip(agents, "bbccb", strict=True))
    ]
    scenario = Scenario("rows", links, flows, duration=0.01)
    plan = plan_scenario(scenario, Packets(), duration=0.01, sample=0.01)
    assert agent_signatures(plan) == ((Counting, ("unsolicited", "factor")),)
    arrays = lay_out(plan, signatures_of([DCQCN()])).arrays
    assert arrays["flow"]["agent"].tolist() == [0, 0, 1, 2, -1]
    assert arrays["flow"]["credits"].tolist() == [2.0, 2.0, 2.0, 2.0, np.inf]
    assert arrays["agent"]["state"][:, :2].tolist() == [[7.0, 3.0]] * 3
    assert arrays["agent"]["parameters"][:, 1].tolist() == [4.0, 4.0, 5.0]
    assert arrays["agent_state"][:, 0].tolist() == [3.0, 3.0, 3.0, 3.0, 0.0]
    assert arrays["agent_sizes"].tolist() == [10, 11, 12, 13, 14]
    assert len(arrays["block"]) == len(arrays["packet"])


# Flows in the arrays of the engine: rows of equal senders, bit maps, first events.


def test_equal_senders_differ_in_routes_starts_and_bit_maps_alone(one_link) -> None:
    (flow,) = one_link.flows
    sources = (NewReno(), NewReno(), CUBIC(), CBR(5.0))
    flows = tuple(
        replace(flow, name=f"{n}", source=source, start=0.1 * n, max_window=40.0)
        for n, source in enumerate(sources)
    )
    plan = plan_of(replace(one_link, flows=flows), Packets(seed=1, recovery="sack"))
    signatures = signatures_of(source for source in sources[:3])
    found = lay_out_flows(plan, signatures)
    rows, rules, bits = found.flow, found.rule, found.bits
    begin_flows(plan, {**lay_out(plan, signatures).arrays, "flow": rows})
    assert rows["due"].tolist() == [0.0, 0.1, 0.2, -1.0]
    assert rows["selective"][:3].all()
    own = {"way", "turn", "end", "due", "bits", "rule"}
    assert all(
        rows[0][name] == rows[1][name] for name in ("kind", "size", "most", "cwnd", "bit_mask")
    )
    differ = [
        name
        for name in rows.dtype.names
        if not np.array_equal(rows[0][name], rows[1][name], equal_nan=True)
    ]
    assert set(differ) == own
    maps = (rows["bit_mask"][:3] + 1) // 8 * 2  # received, and acknowledged selectively
    assert np.diff(rows["bits"][:3]).tolist() == maps[:2].tolist()
    assert len(bits) > maps.sum()
    assert rows["gap"][3] == 0.2
    assert rows["rule"].tolist() == [0, 1, 2, -1]  # a source without a rule has no row
    assert (rules[0] == rules[1], rules["cwnd"].tolist()) == (True, rows["cwnd"][:3].tolist())


def test_periods_drawn_anew_have_the_same_law(one_link) -> None:
    """Packets of 1000 sources in 0.1 s: the same distribution, with ten copies on the way and without."""
    (flow,) = one_link.flows
    bursts = OnOff(100.0, 0.03, 0.07, random=True)
    link = replace(one_link.links[0], rate=1e6, buffer=1e4)
    flows = tuple(replace(flow, name=f"{n}", source=bursts) for n in range(1000))
    busy = replace(one_link, links=(link,), flows=flows, duration=0.3)
    sent = []
    for copies in (False, True):
        run, rng = begin_run(plan_of(busy, Packets(seed=4))), np.random.default_rng(1)
        assert run.advance(20)
        before = run.layout.arrays["flow"]["sent"].astype(float)
        for n in range(20, 30):
            run = run.fork(rng) if copies else run
            assert run.advance(n + 1)
        sent.append(run.layout.arrays["flow"]["sent"] - before)
    assert (sent[0] != sent[1]).mean() > 0.5
    assert ks_2samp(*sent).pvalue > 1e-3
    # four standard errors of the difference of two means
    assert abs(sent[0].mean() - sent[1].mean()) < 4.0 * np.sqrt(2.0 * sent[0].var() / 1000)


def test_idle_times_are_drawn_anew_once_transfers_have_begun(one_link) -> None:
    """A copy draws the exponential rest of idle times that have begun, and leaves starts and constant ones."""
    (flow,) = one_link.flows
    kinds = ((0.0, True), (0.0, False), (1.5, True))
    flows = tuple(
        replace(flow, name=f"{n}", start=start, size=5.0, idle=1.0, random_idle=random)
        for n, (start, random) in enumerate(kinds)
    )
    run = begin_run(plan_of(replace(one_link, flows=flows), Packets(seed=1)))
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
    plan = plan_of(random_scenario(name, 3), Packets(seed=3, recovery=recovery))
    enough = run_engine(plan)
    for each, least in (("ELEMENTS", 1), ("PLACES", 1), ("FEWEST", 2)):
        monkeypatch.setattr(memory, each, least)
    tight = run_engine(plan)
    assert enough.lost.sum() > 0
    for field in ("window", "acked", "delivered", "transit", "waiting", "lost", "peak", "waited"):
        np.testing.assert_array_equal(getattr(tight, field), getattr(enough, field))


@pytest.mark.parametrize(("buffer", "most"), [(100.0, 34), (ByteBuffer(150_000), 33)])
def test_a_ring_is_filled_in_one_window_before_a_run_begins_again(
    buffer: float | ByteBuffer, most: int, monkeypatch
) -> None:
    """Of a burst one packet is sent, one is the last, and a ring of 32 has the others; of bytes that of the last one."""
    for each, least in (("PLACES", 1), ("FEWEST", 32)):
        monkeypatch.setattr(memory, each, least)
    links = chain(2, rate=1000.0, delay=0.05, buffer=buffer)
    for window in (most, most + 1):
        flow = Flow("burst", (1, 2), NewReno(), initial_window=window, max_window=200)
        scenario = Scenario("burst", links, (flow,), duration=0.09)  # before the first ACK
        run = begin_run(plan_scenario(scenario, Packets(seed=1), duration=0.09, sample=0.09))
        assert run.layout.arrays["port"]["ring_mask"][0] == 31
        assert run.advance(1) == (window == most)
        assert run.layout.arrays["port"]["peak"][0] == window - 1


def test_rings_are_powers_of_two_and_grow_unless_they_are_full() -> None:
    sizes, alarms = first_places(np.array([0, 5, 100, 1 << 20]), np.ones(4, dtype=int), 1)
    assert list(sizes) == [1, 8, 128, 2048]
    assert list(alarms[:3] > 1 << 40) == [True, True, True]
    assert alarms[3] == 512
    sizes, _ = first_places(np.array([100, 1 << 20]), np.array([1500, 1500]), 1)
    assert list(sizes) == [
        128,
        4096,
    ]  # two packets of each flow at once, where there is room for them


def test_elements_double_and_always_leave_room_for_a_window() -> None:
    scenario = takano2006("6", dfc=False, tcp="newreno")
    rules = signatures_of(flow.source for flow in scenario.flows)
    arrays = lay_out(plan_of(scenario, Packets(seed=1)), rules).arrays
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
    plan = plan_of(one_link, Packets(seed=1))
    size, alarm = first_elements(plan, 1, 10**6)
    assert alarm == size // 2 < 2000
    most = most_elements(plan)
    assert first_elements(plan, 1 << 40, most)[0] == most
    assert (outstanding(plan) == 4 * one_link.flows[0].max_window).all()


def test_a_large_window_takes_no_memory_before_it_is_used() -> None:
    """takano2006 has windows of 20,000 packets and more, and buffers of 1,800."""
    scenario = takano2006("6", dfc=False, tcp="newreno")
    rules = signatures_of(flow.source for flow in scenario.flows)
    arrays = lay_out(plan_of(scenario, Packets(seed=1)), rules).arrays
    assert arrays["packet"].nbytes + arrays["ring"].nbytes < 2e5


# Layouts: which ports need a box, and how long a window may last.


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
        order, ahead = windows(plan, inline := ordered_ports(plan), stretches(plan, inline))
        assert order[0] == len(plan.ports)
        assert len(set(order)) == len(order)
        assert ahead > 0.0
        least = min(
            sum(plan.passage[p, 1] for p in way) for way in (*plan.forward, *plan.backward) if way
        )
        assert ahead <= 2.0 * least or ahead < plan.passage.sum()


@pytest.mark.parametrize("name", ["fifo", "pause", "fair"])
def test_answers_do_not_depend_on_the_order_of_units(name: str, monkeypatch) -> None:
    plan = plan_of(random_scenario(name, 2), Packets(seed=2))
    found = {}
    for any_order in (False, True):
        monkeypatch.setattr(lookahead, "_any_order", lambda *_, chosen=any_order: chosen)
        plan.scenario.derived.clear()  # where the order is kept
        order, ahead = windows(plan, inline := ordered_ports(plan), stretches(plan, inline))
        found[any_order] = run_engine(plan), order.tolist(), ahead
    (one, _, longer), (other, _, shorter) = found[False], found[True]
    assert longer >= shorter
    for field in ("window", "acked", "delivered", "waiting", "lost", "peak", "waited"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


def test_no_order_is_sought_where_none_is_better() -> None:
    """Of pause and data between two ports one goes against any order, after about the same time."""
    plan = plan_of(random_scenario("pause", 1), Packets(seed=1))
    port = next(p for p in range(len(plan.ports)) if plan.pausable(p))
    is_host = np.append(plan.at_senders, True)
    a, b = np.array([port, plan.pausable(port)[0]]), np.array([plan.pausable(port)[0], port])
    assert lookahead._any_order(*_sorted(a, b, np.array([1.0, 1.05])), is_host)
    assert not lookahead._any_order(*_sorted(a, b, np.array([1.0, 5.0])), is_host)


def _sorted(a, b, time) -> tuple[np.ndarray, ...]:
    by = np.lexsort((b, a))
    return a[by], b[by], time[by]
