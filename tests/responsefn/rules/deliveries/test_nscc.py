"""NSCC: its four cases and quick adapt, by hand, and the queue and the shares that follow."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from dfcmodel import (
    FIFO,
    Cable,
    Fabric,
    Flow,
    FlowOptions,
    Link,
    Packets,
    RampMarking,
    Scenario,
    completion_bounds,
    permutation,
    simulate,
)
from dfcmodel.lossless import leaf_spine
from hopflow import gbps
from responsefn import NSCC, Delivery

BASE, TARGET, PRODUCT = 10e-6, 8e-6, 60.0
RULE = NSCC(base_rtt=BASE, target_qdelay=TARGET, bdp=PRODUCT, base_bdp=30.0)  # a = 2
SEEN = Delivery(*[0.0] * 15)._replace(time=1.0, acked=1.0, rtt=BASE)


def with_window(window: float, **more: float) -> Any:
    """Return a state with this window, whose increases were just added, in the middle of a period of quick adapt."""
    state = RULE.start(BASE)._replace(cwnd=window, adjusted=1.0, period=2.0)
    return state._replace(**more)


def after(state: Any, rule: NSCC = RULE, **seen: float) -> Any:
    """Return the state after one ACK."""
    return rule.on_delivery(state, rule.params, SEEN._replace(**seen))


def test_a_flow_begins_with_the_largest_window() -> None:
    """1.5 products; a shorter base round-trip time that it measures shortens it."""
    assert RULE.start(BASE).cwnd == 1.5 * PRODUCT
    assert after(RULE.start(BASE), rtt=0.5 * BASE).cwnd == 0.75 * PRODUCT


def grown(delay: float, packets: int, **state: float) -> float:
    """Return by how much a window of 40 packets has grown after this many ACKs with a queueing delay."""
    s = with_window(40.0, **state)
    for _ in range(packets):
        s = after(s, rtt=BASE + delay)
    return s.cwnd - 40.0


@pytest.mark.parametrize("delay", [2e-6, 6e-6, 7.999e-6])
def test_below_the_target_the_window_grows_by_the_distance_from_it(delay: float) -> None:
    """4 a b (1 - d / target) packets per window, added once more than 8 packets have come."""
    step = 4.0 * 2.0 * (TARGET / 12e-6) * (1.0 - delay / TARGET)
    assert grown(delay, 8) == 0.0
    assert grown(delay, 9) == pytest.approx(9.0 / 40.0 * step)


def test_from_the_target_on_all_windows_grow_alike() -> None:
    """5 a packets per window."""
    for delay in (TARGET * (1.0 + 1e-9), 20e-6):
        assert grown(delay, 9) == pytest.approx(9.0 / 40.0 * 10.0)


def test_on_an_empty_path_the_window_grows_by_a_part_of_each_packet() -> None:
    """Fast increase: from the first ACK beyond a whole window of delays below a microsecond, a/4 per packet."""
    state = with_window(40.0, clear=40.0)
    for n in range(1, 5):
        state = after(state, rtt=BASE + 0.5e-6)
        assert state.cwnd == pytest.approx(40.0 + 0.5 * n)
    assert after(state, rtt=BASE + 1.5e-6).fast == 0.0


def test_a_mark_below_the_target_changes_nothing() -> None:
    state = with_window(40.0, delay=5.0 * TARGET)
    assert after(state, rtt=BASE + 0.9 * TARGET, marks=1.0).cwnd == 40.0


@pytest.mark.parametrize(("average", "kept"), [(0.5, 1.0), (1.25, 0.84), (2.0, 0.6), (9.0, 0.5)])
def test_a_mark_from_the_target_on_cuts_by_the_average_delay_once_per_round_trip(average, kept):
    """1 - 0.8 (d' - target) / d', at least a half; ``delay_alpha`` 0 holds d' still."""
    rule = NSCC(base_rtt=BASE, target_qdelay=TARGET, bdp=PRODUCT, base_bdp=30.0, delay_alpha=0.0)
    state = with_window(40.0, delay=average * TARGET)
    late = {"rtt": BASE + 2.0 * TARGET, "marks": 1.0}
    state = after(state, rule, **late)
    assert state.cwnd == pytest.approx(40.0 * kept)
    assert after(state, rule, time=1.0 + 0.9 * BASE, **late).cwnd == state.cwnd
    again = after(state, rule, time=1.0 + 1.1 * BASE, **late)._replace(adjusted=1.0)
    assert again.cwnd <= state.cwnd * kept + 0.3 + 1e-9  # eta a, as a period has ended


def test_the_average_takes_little_of_a_delay_without_a_mark() -> None:
    """Below the target and with marks the delay itself, else a quarter of the base round-trip time."""
    late = BASE + 3.0 * TARGET
    assert after(with_window(40.0), rtt=late, marks=1.0).delay == pytest.approx(0.0125 * 3 * TARGET)
    assert after(with_window(40.0), rtt=late).delay == pytest.approx(0.0125 * 0.25 * BASE)


def test_quick_adapt_takes_what_came_in_the_period() -> None:
    """At its end, after a delay of more than 4 targets, if it is less than an eighth of the largest window."""
    late = {"time": 2.1, "rtt": BASE + 4.1 * TARGET, "marks": 1.0, "in_flight": 30.0}
    ready = with_window(40.0, achieved=6.0, adjusted=2.1)
    state = after(ready, **late)
    assert (state.cwnd, state.unheeded) == (7.0, 30.0)
    assert state.period == pytest.approx(2.1 + BASE + TARGET)
    for _ in range(29):
        state = after(state, **(late | {"time": 2.2}))
    assert state.cwnd == 7.0  # marks of packets that were in flight are not heeded
    enough = after(ready._replace(achieved=0.125 * 1.5 * PRODUCT), **late)
    assert enough.achieved == 0.0
    assert enough.unheeded == 0.0
    never = NSCC(base_rtt=BASE, target_qdelay=TARGET, bdp=PRODUCT, base_bdp=30.0, qa_gate=math.inf)
    assert after(ready, never, **late).unheeded == 0.0


def test_a_loss_takes_its_packet_and_triggers_quick_adapt() -> None:
    state = after(with_window(40.0), acked=0.0, lost=2.0)
    assert (state.cwnd, state.lossy) == (38.0, 1.0)
    assert state.delay == pytest.approx(BASE * (1.0 - 0.9875**2))
    adapted = after(state._replace(achieved=3.0), time=2.1, acked=1.0, rtt=BASE, in_flight=5.0)
    assert (adapted.cwnd, adapted.lossy) == (4.0, 0.0)


RATE = float(gbps(100, packet_size=4096))
TRIP = 10.66e-6  # four links of 2.5 us, and two transmissions
MARKS = RampMarking(8.0, 26.0, 1.0)  # from 0.2 to 0.8 of the product, as the consortium's model has it


def on_path(**given: float) -> NSCC:
    """Return the rule for the path below."""
    return NSCC(**({"base_rtt": TRIP, "bdp": TRIP * RATE, "target_qdelay": TRIP} | given))


def incast(rule: NSCC, flows: int, discipline: Any = MARKS, **given: Any) -> Scenario:
    """Return flows that share the last of two links of 100 Gb/s."""
    links = [Link("s", "d", RATE, 2.5e-6, given.pop("buffer", 2000.0), discipline)]
    links += [Link(f"h{n}", "s", RATE, 2.5e-6, 4000.0) for n in range(flows)]
    senders = [Flow(f"{n}", (f"h{n}", "s", "d"), rule, host="nic", **given) for n in range(flows)]
    return Scenario("incast", links, senders, duration=6e-3, packet_size=4096.0, min_rto=4e-3)


def late_part(scenario: Scenario) -> tuple[Any, float]:
    """Return the flows' parts of the link, and the mean queueing delay in s, in the second half of a run."""
    run = simulate(scenario, Packets(seed=1), sample=1e-5)
    late = run.time > 3e-3
    queue = run.queued[run.scenario.senders.index("s"), late].mean()
    assert run.lost.sum() == 0
    got = np.ptp(run.delivered[:, late], axis=1) / np.ptp(run.time[late]) / RATE
    return got, queue / RATE


@pytest.mark.parametrize("flows", [2, 8, 32])
def test_the_queue_of_an_incast_is_the_target_and_the_link_is_full(flows: int) -> None:
    got, queue = late_part(incast(on_path(), flows))
    assert got.sum() == pytest.approx(1.0, rel=2e-3)
    assert queue == pytest.approx(TRIP, rel=0.06)


@pytest.mark.parametrize("part", [0.6, 1.0, 1.5])
def test_the_queue_follows_the_target(part: float) -> None:
    """Where all packets are marked below it."""
    scenario = incast(on_path(target_qdelay=part * TRIP), 8, RampMarking(4.0, 16.0, 1.0))
    assert late_part(scenario)[1] == pytest.approx(part * TRIP, rel=0.1)


def test_a_faster_average_makes_shares_equal() -> None:
    """With the model's weight of 1/80 per ACK, eight flows keep unequal shares for hundreds of round trips."""
    shares = [late_part(incast(on_path(delay_alpha=x), 8))[0] for x in (0.0125, 0.1)]
    assert shares[0].min() < 0.6 * shares[0].max()
    assert shares[1].min() > 0.85 * shares[1].max()


# Each mechanism switched off.


def test_without_the_decrease_all_flows_have_the_largest_window() -> None:
    """8 windows of 1.5 products: 11 of them wait."""
    queue = late_part(incast(on_path(gamma=0.0), 8))[1]
    assert queue == pytest.approx(11.0 * TRIP, rel=0.03)


def test_without_increases_the_queue_stays_below_the_target() -> None:
    queue = late_part(incast(on_path(alpha=0.0, eta=0.0), 8))[1]
    assert queue < 0.6 * TRIP


def test_without_marks_fair_increase_fills_the_queue_and_without_it_growth_ends_at_the_target():
    """Nothing cuts a window that sees no mark. It begins above the target; a window of a product each begins below."""
    filled = late_part(incast(on_path(eta=0.0), 2, FIFO(), initial_window=30.0))[1]
    assert filled == pytest.approx(2.0 * TRIP, rel=0.05)
    ended = late_part(incast(on_path(fi=0.0, eta=0.0), 2, FIFO(), initial_window=20.0))[1]
    assert ended == pytest.approx(TRIP, rel=0.05)


def test_eta_alone_grows_by_a_part_of_a_packet_per_period() -> None:
    """0.15 a packets per base round trip: from one packet, without the other increases."""
    rule = on_path(alpha=0.0, fi=0.0, fi_scale=0.0)
    run = simulate(incast(rule, 1, initial_window=1.0), Packets(seed=1), sample=1e-4)
    scale = rule.bdp / rule.base_bdp
    at = 8  # 0.8 ms, when the link is not yet full
    assert run.window[0, at] - 1.0 == pytest.approx(0.15 * scale * run.time[at] / TRIP, rel=0.1)
    still = simulate(
        incast(on_path(alpha=0.0, fi=0.0, fi_scale=0.0, eta=0.0), 1, initial_window=1.0),
        Packets(seed=1),
    )
    assert (still.window == 1.0).all()


def test_fast_increase_fills_an_empty_path_sooner() -> None:
    times = []
    for fi_scale in (0.25, 0.0):
        rule = on_path(fi_scale=fi_scale, alpha=1.0)
        run = simulate(incast(rule, 1, size=1000, initial_window=1.0), Packets(seed=1))
        times.append(run.finished[0])
    assert times[0] < 0.8 * times[1]


@pytest.mark.parametrize("flows", [16, 32, 64])
def test_quick_adapt_drains_the_first_windows_sooner(flows: int) -> None:
    """First windows of 1.5 products each wait; how long until the delay is two targets."""
    times = []
    for gate in (3.0, math.inf):
        scenario = incast(on_path(qa_gate=gate), flows, buffer=8000.0)
        run = simulate(scenario, Packets(seed=1), sample=1e-5)
        queue = run.queued[run.scenario.senders.index("s")] / RATE
        times.append(run.time[(queue < 2.0 * TRIP) & (run.time > 1e-4)][0])
    assert times[0] < 0.95 * times[1]


def test_a_permutation_on_a_fabric_shares_its_trunks() -> None:
    """Even routes of a full fabric: each flow has its link, and nothing is lost."""
    fabric = Fabric(
        leaf_spine(4, 4, hosts=4),
        Cable("100Gbps", "200m"),
        Cable("100Gbps", "200m"),
        "2 MB",
        4096,
        MARKS,
    )
    trip = 8 * 1e-6 + 4 / RATE
    rule = NSCC(base_rtt=trip, bdp=trip * RATE, target_qdelay=trip)
    flows = permutation(
        fabric.hosts, 1, sizes=2000, source=rule, links=fabric.links, routes="even", options=FlowOptions(host="nic")
    )
    scenario = fabric.scenario("permutation", flows, duration=0.02, min_rto=1e-3)
    run = simulate(scenario, Packets(seed=1), sample=1e-4)
    assert run.lost.sum() == 0
    assert run.finished.max() < 1.01 * completion_bounds(scenario).job


HTSIM = {
    (2, 0): (332.018,), (4, 0): (659.698,), (8, 0): (1315.14,), (16, 0): (2625.78,), (31, 0): (5085.5,),
    (2, 20): (332.0, 315.136), (2, 60): (332.0, 274.165), (4, 50): (659.0, 492.948), (8, 40): (1317.0, 938.192),
}  # fmt: skip
"""N transfers of 500 packets that start so many us apart: when the last one is complete and, mean of seeds 1 to 3, how long one takes,
us: uet-htsim at commit 40ccb05, ``htsim_uec -sender_cc_only -disable_trim -mtu 4096 -linkspeed 100000 -q 2000 -ecn 8 30 -paths 16
-sack_threshold 4000`` on two leaves of 32 hosts, all of them at the first one."""
LAST_ACK = 2.0
"""us: its times end with the last ACK, two links of 1 us after the last packet."""


def as_in_htsim(flows: int, gap: float, **given: float) -> tuple[float, float]:
    """Return when the last transfer is complete, and the mean time of one over seeds 1 to 3, us; parameters as it prints them."""
    path = {"base_rtt": 9.3312e-6, "bdp": 116640 / 4096, "target_qdelay": 9.3312e-6}
    links = [Link("s", "d", RATE, 1e-6, 2000.0, RampMarking(8.0, 30.0, 1.0))]
    links += [Link(f"h{n}", "s", RATE, 1e-6, 4000.0) for n in range(flows)]
    senders = [
        Flow(
            f"{n}",
            (f"h{n}", "s", "d"),
            NSCC(**(path | given)),
            host="nic",
            size=500,
            start=1e-6 * gap * n,
        )
        for n in range(flows)
    ]
    scenario = Scenario("htsim", links, senders, duration=0.05, packet_size=4096.0, min_rto=4e-3)
    runs = [simulate(scenario, Packets(seed=seed), sample=1e-3) for seed in (1, 2, 3)]
    assert all(run.lost.sum() == 0 for run in runs)
    ends = 1e6 * np.array([run.finished for run in runs]) + LAST_ACK
    return ends.max(axis=1).mean(), ends.mean() - 0.5 * gap * (flows - 1)


@pytest.mark.parametrize(("flows", "gap"), HTSIM)
def test_transfers_take_as_long_as_in_the_consortiums_simulator(flows: int, gap: float) -> None:
    """The last one within 0.3 %, which a full link alone gives; the mean within 2 %, as seeds of htsim differ."""
    expected = HTSIM[flows, gap]
    found = as_in_htsim(flows, gap)
    assert found[0] == pytest.approx(expected[0], rel=3e-3)
    assert found[1:][: len(expected) - 1] == pytest.approx(expected[1:], rel=0.02)


@pytest.mark.parametrize(("flows", "gap", "other"), [
    (2, 20, {"delay_alpha": 0.1}), (2, 60, {"delay_alpha": 0.1}), (4, 50, {"gamma": 0.0}), (8, 40, {"alpha": 0.0}),
])  # fmt: skip
def test_with_other_constants_the_mean_time_differs(flows, gap, other) -> None:
    assert abs(as_in_htsim(flows, gap, **other)[1] / HTSIM[flows, gap][1] - 1.0) > 0.03


def test_what_follows_from_the_base_round_trip_follows_it() -> None:
    """The product of 100 Gb/s and the target, unless they are given; a copy with another round trip has others."""
    rule = NSCC(base_rtt=6e-6)
    assert (rule.bdp, rule.target_qdelay) == pytest.approx((75e3 / 4096, 6e-6))
    assert rule == NSCC(base_rtt="6us")
    assert rule.replace(base_rtt=12e-6) == NSCC()
    assert rule.replace(alpha=2.0).bdp == rule.bdp
    given = NSCC(base_rtt=6e-6, bdp=40.0)
    assert (given.bdp, given.target_qdelay) == (40.0, 6e-6)
    assert given.replace(base_rtt=3e-6).bdp == 40.0
    assert NSCC(base_rtt=6e-6, target_qdelay=9e-6).target_qdelay == 9e-6
    assert pickle.loads(pickle.dumps(given)) == given
    assert NSCC(base_bdp=20.0, base_rtt=6e-6).bdp == 10.0
