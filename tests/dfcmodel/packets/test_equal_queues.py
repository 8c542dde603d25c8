"""Queues, their lanes, `feeders` and queue managers: the compiled engine and the oracle, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel import simulate
from dfcmodel.results import Trajectory
from hopflow import Status
from responsefn import DCTCP, NewReno
from tests.dfcmodel.packets.conftest import plan_of
from tests.oracles.engines import ENGINES, NAMES, run_engine, run_reference

# Queues of the reference: what each discipline is for.


def run_two(discipline, rates=(900.0, 300.0), **link) -> Any:
    """Run two sources of constant rate over one link of 800 packets/s."""
    fields = {"rate": 800.0, "delay": 1e-3, "buffer": 20.0, "discipline": discipline, **link}
    flows = tuple(dfc.Flow(f"flow{n}", (1, 2), dfc.CBR(rate), priority=n) for n, rate in enumerate(rates))
    scenario = dfc.Scenario("two", dfc.chain(2, **fields), flows, duration=4.0)
    return run_reference(plan_of(scenario, dfc.Packets(seed=1)))


def test_fair_queues_give_equal_shares_and_what_is_not_used() -> None:
    """Max-min: 300 of the 800 packets/s to the small one, 500 to the other."""
    run = run_two(dfc.Fair())
    np.testing.assert_allclose(run.total / 4.0, [500.0, 300.0], rtol=0.02)


def test_a_priority_goes_first() -> None:
    """Flow 0 has the first rank: it fills the link and starves the other."""
    run = run_two(dfc.Priority())
    np.testing.assert_allclose(run.total / 4.0, [800.0, 0.0], rtol=0.02, atol=6.0)


def test_a_fifo_queue_drops_the_excess() -> None:
    run = run_two(dfc.FIFO())
    assert run.total.sum() / 4.0 == pytest.approx(800.0, rel=0.02)
    assert run.drops.sum() / 4.0 == pytest.approx(400.0, rel=0.05)
    assert run.peak[0] == 20


def test_random_early_detection_keeps_the_average_between_its_thresholds() -> None:
    run = run_two(dfc.RED(low=2.0, high=8.0, weight=0.02, max_p=0.5), buffer=100.0)
    waiting = np.cumsum(run.waiting[:, 0])[100:-1]
    assert 2.0 < waiting.mean() < 16.0
    assert run.peak[0] < 100


def test_pause_loses_nothing_where_the_port_before_can_hold_it() -> None:
    links = dfc.chain(3, rate=800.0, delay=1e-3, buffer=60.0, discipline=dfc.Pause(high=10.0, low=5.0))
    slow = replace(links[1], rate=400.0)
    flow = dfc.Flow("flow", (1, 2, 3), dfc.CBR(500.0))
    scenario = dfc.Scenario("pause", (links[0], slow), (flow,), duration=0.4)
    run = run_reference(plan_of(scenario, dfc.Packets(seed=1)))
    assert run.drops.sum() == 0
    assert 10 < run.peak[1] <= 10 + 1 + 800.0 * 2e-3 + 1  # one in transmission, a round trip


@pytest.mark.parametrize("engine", [run_reference, run_engine])
def test_a_port_that_is_paused_before_it_sends_keeps_to_its_buffer(engine) -> None:
    """Nothing is in transmission when the pause comes; what arrives then has the buffer's 20 places."""
    links = dfc.chain(3, rate=800.0, delay=1e-3, buffer=20.0, discipline=dfc.Pause(high=10.0, low=5.0))
    faulty = replace(links[1], discipline=dfc.Pause(high=10.0, low=5.0, storm=0.0))
    flow = dfc.Flow("flow", (1, 2, 3), dfc.CBR(500.0), start=0.05, host="direct")
    scenario = dfc.Scenario("paused", (links[0], faulty), (flow,), duration=0.4)
    run = engine(plan_of(scenario, dfc.Packets(seed=1)))
    assert run.peak[0] == 20
    assert run.drops[0] > 100


@pytest.mark.parametrize("engine", [run_reference, run_engine])
@pytest.mark.parametrize("quanta", [1, 482])
def test_pauses_by_quanta_last_whole_numbers_of_them(engine, quanta: int) -> None:
    """They begin with the packet that is above ``high``, and end with quanta after which ``low`` is reached.

    A packet is 0.1 ms; 482 quanta of 512 bits of the link of 120 Mb/s are 2.06 ms.
    """
    links = dfc.chain(4, rate=1e4, delay=1e-3, buffer=1e3, discipline=dfc.Pause(41.0, 22.0, quanta=quanta))
    flows = (
        dfc.Flow("first", (1, 2, 3, 4), dfc.CBR(1e4), host="direct"),
        dfc.Flow("joins", (2, 3, 4), dfc.CBR(4e3), host="direct"),
    )
    plan = plan_of(dfc.Scenario("quanta", links, flows, duration=0.1), dfc.Packets(seed=1))
    run = engine(plan)
    times = np.array([time for time, p, *_ in run.switched if p == 1])
    span = quanta * 512 / (1e4 * 12_000)
    lasting = np.diff(times)[::2] / span
    assert len(lasting) > 3
    np.testing.assert_allclose(lasting, np.round(lasting), atol=1e-6)
    assert run.peak[1] <= 41 + 1e4 * 2e-3 * 1.4 + 2  # what comes until the pause is obeyed
    first = 41 / (1.4e4 - 1e4)  # s: it grows by 4000 packets/s
    assert times[0] == pytest.approx(first + 1e-3, abs=3e-4)  # and begins after the first link


# PI2 and DualPI2 of packets: their probabilities at rest, and Scalable beside Classic senders.


@pytest.mark.parametrize("kind", [dfc.PI2, dfc.DualPI2])
def test_pi2_holds_its_target_at_the_square_of_its_probability(kind: Any) -> None:
    """RFC 9332, A.1: at rest the delay is the target, and p'^2 = 1 - 1000 / 1250 of all is dropped.

    What PI2 drops never waits, what DualPI2 drops has waited.
    """
    run = overloaded(kind(target=0.03), duration=40.0)
    late = run.time > 20.0
    came = RATE if kind is dfc.PI2 else 1250.0
    assert run.queued[0, late].mean() / came == pytest.approx(0.03, rel=0.05)
    assert run.lost[0, 0, late].sum() / (20.0 * 1250.0) == pytest.approx(0.2, abs=0.01)


def test_dualpi2_gives_scalable_and_classic_senders_alike_with_a_queue_of_a_millisecond() -> None:
    """RFC 9332, 2.1: the square makes windows alike; the Scalable queue has its own ramp at 0.8 to 1.2 ms.

    A factor of 2 for the windows: the square root of a mean is more than the mean of a root, and DCTCP waits
    for a mark after each window.
    """
    rules = (DCTCP(), NewReno())
    links = [*dfc.chain(2, rate=4000.0, delay=10e-3, buffer=1000.0, discipline=dfc.DualPI2())]
    both = tuple(dfc.Flow(f"{n}", (1, 2), rule) for n, rule in enumerate(rules))
    run = simulate(dfc.Scenario("dual", tuple(links), both, duration=40.0), method=dfc.Packets(seed=1))
    first, second = np.ptp(run.delivered[:, run.time > 10.0], axis=1)
    windows = run.window[:, run.time > 10.0].mean(axis=1)
    assert 0.5 < windows[0] / windows[1] < 2.0
    assert first + second > 0.9 * 30.0 * 4000.0
    assert run.lost[0].sum() == 0  # DCTCP's packets are marked
    trip = run.round_trip[:, run.time > 10.0].mean(axis=1) - 20e-3
    assert trip[0] < 2.5e-3
    assert trip[1] > 5e-3


# Queue managers of packets: control laws of their RFCs, under sources that do not react.

RATE = 1000.0


def overloaded(
    discipline: dfc.QueueManager,
    load: float = 1250.0,
    duration: float = 20.0,
    simulate: Any = simulate,
    **options: Any,
) -> Any:
    """Run a source of constant rate over a link of 1000 packets/s."""
    links = dfc.chain(2, rate=RATE, delay=1e-3, buffer=500.0, discipline=discipline)
    scenario = dfc.Scenario("overload", links, (dfc.Flow("f", (1, 2), dfc.CBR(load)),), duration=duration)
    return simulate(scenario, method=dfc.Packets(seed=1, **options), sample=1e-3)


@pytest.mark.parametrize("simulate", ENGINES, ids=NAMES)
def test_codel_drops_at_intervals_over_the_square_root_of_the_count(simulate: Any) -> None:
    """RFC 8289, 5.3: drops are at departures, here 1 ms apart, from one interval after the target."""
    run = overloaded(dfc.CoDel(target=0.005, interval=0.1), duration=1.5, simulate=simulate)
    times = np.repeat(run.time, run.lost[0, 0].astype(int))[:20]
    law = np.cumsum(0.1 / np.sqrt(np.arange(1, 20)))
    assert len(times) == 20
    assert np.abs(times[1:] - times[0] - law).max() < 2e-3


@pytest.mark.parametrize("target", [0.015, 0.05])
def test_pie_holds_its_target_at_the_drop_probability_of_the_overload(target: float) -> None:
    """RFC 8033, 4.2: at rest the delay is the target, and 1 - 1000 / 1250 of all is dropped."""
    run = overloaded(dfc.PIE(target=target))
    late = run.time > 10.0
    assert run.queued[0, late].mean() / RATE == pytest.approx(target, rel=0.05)
    dropped = run.lost[0, 0, late].sum() / (10.0 * 1250.0)
    assert dropped == pytest.approx(0.2, abs=0.01)


def test_pie_spares_a_burst_that_is_shorter_than_its_allowance() -> None:
    """RFC 8033, 4.4: a burst of 100 ms fills the queue to 25 packets without a drop, and is over."""
    links = dfc.chain(2, rate=RATE, delay=1e-3, buffer=500.0)
    lost = []
    for burst in (0.15, 0.0):
        pie = dfc.PIE(target=1e-3, alpha=12.5, beta=125.0, burst=burst)
        managed = (replace(links[0], discipline=pie),)
        scenario = dfc.Scenario("burst", managed, (dfc.Flow("f", (1, 2), dfc.CBR(1250.0)),), duration=0.1)
        lost.append(simulate(scenario, method=dfc.Packets(seed=1)).lost.sum())
    assert lost[0] == 0
    assert lost[1] > 0


def test_ramp_marking_drops_what_cannot_be_marked_by_the_queue() -> None:
    """The queue settles where the probability is that of the overload: 10 + 20 * 0.2 / 0.5."""
    run = overloaded(dfc.RampMarking(10.0, 30.0, 0.5, at="arrival"))
    assert run.queued[0, run.time > 5.0].mean() == pytest.approx(18.0, abs=0.5)


def test_a_manager_of_what_leaves_drops_nothing() -> None:
    run = overloaded(dfc.RampMarking(10.0, 30.0, 0.5))
    full = overloaded(dfc.FIFO())
    np.testing.assert_array_equal(run.lost, full.lost)  # by the full buffer, as what cannot be marked passes


def test_a_users_manager_drops_the_parts_that_it_asks_for() -> None:
    """A hundredth of each packet: every hundredth packet."""

    @dataclass(frozen=True)
    class Hundredth(dfc.QueueManager):
        part: float = 0.01

        @staticmethod
        def on_step(s: Any, q: Any, e: Any) -> Any:
            return s._replace(drop=q.part * e.arrivals)

    run = overloaded(Hundredth(), 500.0)
    assert run.lost.sum() == pytest.approx(0.01 * 500.0 * 20.0, abs=1.0)


def test_dctcp_keeps_the_queue_at_the_threshold_without_loss() -> None:
    """Alizadeh et al. 2011, eq. 6 and 8: the queue is at most K + N, and oscillates below it."""
    K, flows = 40.0, 2
    links = dfc.chain(2, rate=1e5, delay=1e-4, buffer=500.0, discipline=dfc.StepMarking(K))
    all_of = tuple(dfc.Flow(f"{n}", (1, 2), DCTCP(), start=1e-3 * n) for n in range(flows))
    run = simulate(dfc.Scenario("dctcp", links, all_of, duration=1.0), method=dfc.Packets(), sample=1e-4)
    late = run.queued[0, run.time > 0.3]
    pipe = 1e5 * 2e-4 + K
    assert run.lost.sum() == 0
    assert late.max() <= K + flows + 1
    assert np.ptp(late) == pytest.approx(0.5 * np.sqrt(2 * flows * pipe), rel=0.5)
    assert (run.delivered[:, -1] - run.delivered[:, 2999]).sum() / 0.7 == pytest.approx(1e5, rel=1e-3)


# PFC at packet level: service, room and pauses by class; and the fluid beside it.

RULE = dfc.PFC(classes=(3,), xoff=50.0, xon=25.0)
PACKETS = dfc.Packets(seed=1)


def three_flows(rule: dfc.PFC, *, storage: float, web: float) -> dfc.Scenario:
    """Return two flows of class 3 that share the last of three links, and one of class 0."""
    flows = [
        dfc.Flow("a", (1, 2, 3, 4), dfc.CBR(storage), priority=3, host="unshaped"),
        dfc.Flow("b", (3, 4), dfc.CBR(storage), priority=3, host="unshaped"),
        dfc.Flow("web", (1, 2, 3, 4), dfc.CBR(web), host="unshaped"),
    ]
    links = dfc.chain(4, rate=1e4, delay=1e-3, buffer=400.0, discipline=rule)
    return dfc.Scenario("three flows", links, flows, duration=0.5)


def pauses(run: Trajectory) -> dict[tuple[str, int], tuple[float, float, float]]:
    """Return number, begin of the first, and duration of the pauses of each link and class."""
    table = run.pauses().to_pandas()
    return {
        key: (float(len(own)), own.begin.min(), own.duration.sum()) for key, own in table.groupby(["link", "priority"])
    }


@pytest.mark.parametrize(
    ("classes", "storage", "web"),
    [((3,), 8e3, 3e3), ((3,), 8e3, 9e3), ((0, 3), 5e3, 9e3)],
    ids=["web unpaused", "web loses", "both paused"],
)
def test_fluid_and_packets_pause_the_same_classes(classes, storage: float, web: float) -> None:
    """Rates and drops to 3 %; pauses to one in ten in number, and 5 % in time.

    A packet more or less in a queue that grows by 1000 to 7000 packets/s is up to a millisecond. Of two
    ingress queues each has room for a fluid step more, 2.5 packets, which other classes have less.
    """
    scenario = three_flows(replace(RULE, classes=classes), storage=storage, web=web)
    fluid, packets = simulate(scenario, level="fluid"), simulate(scenario, PACKETS)
    np.testing.assert_allclose(packets.delivered[:, -1], fluid.delivered[:, -1], rtol=0.03)
    np.testing.assert_allclose(packets.peak_queue, fluid.peak_queue, atol=2 * 2.5 + 3)
    np.testing.assert_allclose(packets.lost.sum(axis=(1, 2)), fluid.lost.sum(axis=(1, 2)), rtol=0.03)
    assert packets.lost[:2].sum() == 0.0
    one, two = pauses(fluid), pauses(packets)
    assert one.keys() == two.keys()
    assert {priority for _, priority in one} == set(classes)
    for key, (number, first, total) in one.items():
        assert two[key][0] == pytest.approx(number, rel=0.1, abs=1.0)
        assert two[key][1] == pytest.approx(first, abs=1e-3)
        assert two[key][2] == pytest.approx(total, rel=0.05)


def test_one_class_from_one_link_is_802_3x() -> None:
    """Packet for packet."""
    flow = dfc.Flow("a", (1, 2, 3, 4), dfc.CBR(8e3), host="unshaped")
    runs = []
    for rule in (dfc.PFC(xoff=50.0, xon=25.0), dfc.Pause(50.0, 25.0)):
        links = list(dfc.chain(4, rate=1e4, delay=1e-3, buffer=200.0, discipline=rule))
        links[2] = replace(links[2], rate=5e3)
        runs.append(simulate(dfc.Scenario("one", links, [flow], duration=0.3), PACKETS))
    np.testing.assert_array_equal(runs[0].queued, runs[1].queued)
    np.testing.assert_array_equal(runs[0].delivered, runs[1].delivered)
    assert len(runs[0].paused) > 10
    for name in ("link", "by", "begin", "end"):
        np.testing.assert_array_equal(runs[0].paused[name], runs[1].paused[name])


def test_less_room_than_what_is_on_its_way_loses_packets() -> None:
    tight = replace(RULE, headroom=8.0)
    run = simulate(three_flows(tight, storage=8e3, web=3e3), PACKETS)
    assert run.lost[:2].sum() > 0.0
    assert run.lost[2].sum() == 0.0
    assert run.imbalance.max() == 0.0


def test_tcp_behind_a_queue_of_one_class_and_acks_of_both() -> None:
    """A FIFO link of one class is paused as a whole; packets are accounted for in both classes."""
    links = [
        dfc.Link(1, 2, 1e4, 1e-3, 300.0, dfc.FIFO()),
        dfc.Link(3, 2, 1e4, 1e-3, 300.0, RULE),
        dfc.Link(2, 4, 5e3, 1e-3, 400.0, RULE),
        dfc.Link(4, 2, 5e3, 1e-3, 400.0, RULE),
    ]
    flows = [
        dfc.Flow("one", (1, 2, 4), NewReno(), 200.0, priority=3, host="unshaped"),
        dfc.Flow("two", (3, 2, 4), NewReno(), 200.0, priority=3, host="unshaped"),
        dfc.Flow("web", (3, 2, 4), NewReno(), 200.0, host="unshaped"),
        dfc.Flow("back", (4, 2), dfc.CBR(1e3), priority=3),
    ]
    run = simulate(dfc.Scenario("tcp", links, flows, duration=0.6), PACKETS)
    assert run.status is Status.COMPLETED
    assert {("1->2", 3), ("3->2", 3)} <= pauses(run).keys()
    assert run.lost[[0, 1, 3]].sum() == 0.0
    sent = run.delivered[:3, -1]
    assert sent[:2].sum() == pytest.approx(sent[2], rel=0.15)  # equal shares of the classes
    assert sent.sum() == pytest.approx(5e3 * 0.6, rel=0.1)
