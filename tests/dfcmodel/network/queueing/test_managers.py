"""Queue managers: RED, CoDel, PIE; those that mark; coupled ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dfcmodel as dfc
from responsefn import DCQCN, DCTCP, NewReno

# Queue managers: RED as Floyd and Jacobson have it, CoDel and PIE as their RFCs, step marking.

RATE, STEP = 1e3, 1e-3


def seen(arrivals: float = 1.0, backlog: float = 10.0, **more: float) -> Any:
    """What a manager sees of a step of a link of 1,000 packets/s."""
    known = {"time": 0.0, "step": STEP, "capacity": RATE, "delay": backlog / RATE, "random": 0.5}
    return SimpleNamespace(**{**known, **more}, backlog=backlog, arrivals=arrivals)


def parameters(manager: dfc.QueueManager):
    """The parameters as `on_step` sees them."""
    return type("Q", (), manager.numbers(1500.0))


@pytest.mark.parametrize(
    ("average", "gentle", "probability"),
    [
        (4.9, True, 0.0),
        (5.0, True, 0.0),
        (10.0, True, 0.05),
        (14.9, True, 0.099),
        (15.0, True, 0.1),
        (15.5, True, 0.1 + 0.9 / 30.0),
        (22.5, True, 0.55),
        (14.9, False, 0.099),
    ],
)
def test_probability_is_that_of_floyd_and_jacobson(average, gentle, probability) -> None:
    """From 0 at ``low`` to max_p at ``high``, and with ``gentle`` to 1 at twice that."""
    q = parameters(dfc.RED(5.0, 15.0, weight=1e-300, max_p=0.1, gentle=gentle))
    state = dfc.RED.State(average=average, gap=1e6)
    after = dfc.RED.on_step(state, q, seen(0.5))
    assert (1e6 - after.gap) / 0.5 == pytest.approx(probability, abs=1e-9)


@pytest.mark.parametrize("average", [15.0, 30.0, 40.0])
def test_without_gentle_everything_is_dropped_from_high_on(average: float) -> None:
    q = parameters(dfc.RED(5.0, 15.0, weight=1e-300, gentle=False))
    assert dfc.RED.on_step(dfc.RED.State(average=average), q, seen(2.0)).drop == 2.0


def test_the_next_drop_comes_after_one_to_two_over_p_packets() -> None:
    """As in ns-2 with wait_: the count from one drop to the next is uniform in [1/p, 2/p]."""
    q = parameters(dfc.RED(5.0, 15.0, weight=1e-300, max_p=0.1))  # p = 0.05 at an average of 10
    state, random, dropped = dfc.RED.State(average=10.0), np.random.default_rng(0), []
    for _ in range(12_000):
        state = dfc.RED.on_step(state, q, seen(random=random.random()))
        dropped.append(state.drop > 0.5)
    gaps = np.diff(np.flatnonzero(dropped))
    assert gaps.min() >= 20
    assert gaps.max() <= 41
    # parts of a packet are carried over: the mean is 1.5/p; 5 standard errors of a uniform gap
    assert gaps.mean() == pytest.approx(30.0, abs=5 * (20 / 12**0.5) / len(gaps) ** 0.5)


@pytest.mark.parametrize("random", [0.0, 0.25, 0.75])
def test_a_drop_draws_the_packets_to_the_next_drop(random: float) -> None:
    """1 + random over p, less what came after the drop; also where p is 1, and before the first packet."""
    q = parameters(dfc.RED(5.0, 15.0, weight=1e-300, max_p=0.1))  # p = 0.05 at an average of 10
    event = seen(1.0, random=random)
    after = dfc.RED.on_step(dfc.RED.State(average=10.0, gap=0.02), q, event)
    assert (after.drop, after.gap) == (1.0, pytest.approx(1.0 + random - 0.03, rel=1e-12))
    assert dfc.RED.on_step(dfc.RED.State(average=10.0), q, event).gap == pytest.approx(0.95 + random, rel=1e-12)
    assert dfc.RED.on_step(dfc.RED.State(average=40.0), q, event).gap == 1.0 + random


def test_average_follows_the_queue_by_its_weight_per_arrival() -> None:
    """n arrivals: avg += (1 - (1 - w)^n) (q - avg)."""
    q = parameters(dfc.RED(50.0, 150.0, weight=0.01))
    after = dfc.RED.on_step(dfc.RED.State(), q, seen(3.0, 20.0))
    assert after.average == pytest.approx(20.0 * (1.0 - 0.99**3), rel=1e-12)


def test_average_decays_over_idle_time_as_over_arrivals_of_small_packets() -> None:
    """Floyd and Jacobson: by (1 - w)^m, m the packets that the link could have sent."""
    q = parameters(dfc.RED(50.0, 150.0, weight=0.01))
    after = dfc.RED.on_step(dfc.RED.State(average=40.0), q, seen(0.0, 0.0, step=7e-3))
    assert after.average == pytest.approx(40.0 * 0.99**7, rel=1e-12)


def test_ecn_marks_below_the_high_threshold_and_drops_above() -> None:
    """RFC 3168, section 7: an average above the upper threshold means drops."""
    law = dfc.RED(5.0, 15.0, weight=1e-300, max_p=0.1, ecn=True)
    low = dfc.RED.on_step(dfc.RED.State(average=10.0, gap=0.01), parameters(law), seen(1.0))
    high = dfc.RED.on_step(dfc.RED.State(average=40.0, gap=0.01), parameters(law), seen(1.0))
    assert (low.drop, low.mark) == (0.0, 1.0)
    assert (high.drop, high.mark) == (1.0, 0.0)


def test_red_counts_bytes_in_units_of_its_mean_packet() -> None:
    """ns-2 multiplies the probability by packet size over mean packet size."""
    red = dfc.RED(5, 15, mean_packet=500)
    assert red.numbers(1000.0)["unit"] == 2.0
    assert replace(red, mean_packet=None).numbers(1000.0)["unit"] == 1.0


def test_step_marking_marks_all_that_comes_above_the_threshold() -> None:
    """RFC 8257, section 3.1."""
    q = parameters(dfc.StepMarking(threshold=20.0))
    assert dfc.StepMarking.on_step(dfc.StepMarking.State(), q, seen(2.0, 21.0)).mark == 2.0
    assert dfc.StepMarking.on_step(dfc.StepMarking.State(), q, seen(2.0, 20.0)).mark == 0.0


def test_codel_drops_at_intervals_over_the_square_root_of_the_count() -> None:
    """RFC 8289, 5.4: a delay above the target for an interval starts it; then interval/sqrt(n)."""
    law, state, times = dfc.CoDel(target=0.005, interval=0.1), dfc.CoDel.State(), []
    for k in range(600):
        state = dfc.CoDel.on_step(state, parameters(law), seen(1.0, 20.0, time=k * STEP))
        times += [k * STEP] * int(state.drop)
    expected = 0.1 + np.cumsum([0.0, *(0.1 / np.sqrt(np.arange(1, 10)))])
    # times are those of whole steps
    np.testing.assert_allclose(times[:10], expected, atol=STEP)


def test_codel_stops_when_the_delay_is_below_the_target() -> None:
    law, state = dfc.CoDel(), dfc.CoDel.State(dropping=1.0, next=0.2, drop_count=3.0)
    after = dfc.CoDel.on_step(state, parameters(law), seen(1.0, 4.0, time=0.3))
    assert (after.drop, after.dropping) == (0.0, 0.0)


def test_pie_raises_its_probability_by_the_delay_beyond_the_target() -> None:
    """RFC 8033, 4.2: p += alpha (delay - target) + beta (delay - old), scaled down below 0.1."""
    q = parameters(dfc.PIE())
    state = dfc.PIE.State(p=0.2, next=0.0, delay=0.03)
    after = dfc.PIE.on_step(state, q, seen(1.0, 35.0, time=1.0))
    assert after.p == pytest.approx(0.2 + 0.125 * (0.035 - 0.015) + 1.25 * (0.035 - 0.03))


@pytest.mark.parametrize(
    ("p", "divisor"),
    [(0.05, 2.0), (5e-3, 8.0), (5e-4, 32.0), (5e-5, 128.0), (5e-6, 512.0), (5e-7, 2048.0)],
)
def test_pie_scales_small_probabilities_as_the_rfc_does(p: float, divisor: float) -> None:
    """RFC 8033, 4.2: the table of p below 0.1, 0.01, ... 0.000001."""
    q = parameters(dfc.PIE())
    after = dfc.PIE.on_step(dfc.PIE.State(p=p, delay=0.03), q, seen(1.0, 35.0, time=1.0))
    change = 0.125 * (0.035 - 0.015) + 1.25 * (0.035 - 0.03)
    assert after.p == pytest.approx(p + change / divisor)


def test_pie_lowers_its_probability_by_a_fiftieth_while_there_is_no_delay() -> None:
    """RFC 8033, 4.2: p times 0.98 where this delay and the last one are zero, after the change by the target."""
    q = parameters(dfc.PIE())
    after = dfc.PIE.on_step(dfc.PIE.State(p=0.5), q, seen(0.0, 0.0, time=1.0))
    assert after.p == pytest.approx(0.98 * (0.5 - 0.125 * 0.015))


@pytest.mark.parametrize(
    ("delay", "before", "spent"), [(0.007, 0.007, 0.0), (0.0076, 0.007, 0.09), (0.007, 0.0076, 0.09)]
)
def test_pie_renews_its_burst_allowance_at_delays_below_half_of_the_target(
    delay: float, before: float, spent: float
) -> None:
    """RFC 8033, 4.4: without drops, where this delay and the last one are below half of the target, here 7.5 ms."""
    q = parameters(dfc.PIE())
    after = dfc.PIE.on_step(dfc.PIE.State(delay=before, spent=0.075), q, seen(1.0, 1e3 * delay, time=1.0))
    assert after.spent == pytest.approx(spent)


@pytest.mark.parametrize("manager", [dfc.PIE(), dfc.PI2()], ids=lambda m: type(m).__name__)
def test_the_delay_at_a_slow_link_is_its_backlog_over_its_capacity(manager: dfc.QueueManager) -> None:
    """A link of a packet in 1,000 s delays by it; a link without capacity, as in a pause, keeps the last delay."""
    q, before = parameters(manager), type(manager).State(p=0.2, delay=0.03)
    slow = manager.on_step(before, q, seen(1.0, 3.0, capacity=1e-3, time=1.0))
    paused = manager.on_step(before, q, seen(1.0, 3.0, capacity=0.0, time=1.0))
    assert (slow.delay, paused.delay) == (pytest.approx(3000.0), 0.03)


@dataclass(frozen=True)
class Rarely(dfc.QueueManager):
    """Drops whole packets, one in a hundred."""

    part: float = 0.01

    @staticmethod
    def on_step(s, q, e):
        return s._replace(drop=1.0 if e.random < q.part * e.arrivals else 0.0)


@pytest.mark.parametrize("steps_per_delay", [1, 4, 20])
def test_whole_packets_are_dropped_whatever_part_of_one_comes_in_a_step(steps_per_delay) -> None:
    """900 packets/s over 50 s: 450 of them, four standard errors of a binomial number to either side."""
    links = [dfc.Link(1, 2, 1e4, 1e-3, 100.0), dfc.Link(2, 3, 1e3, 1e-3, 100.0, Rarely())]
    flows = [dfc.Flow("a", (1, 2, 3), dfc.CBR(500.0)), dfc.Flow("b", (1, 2, 3), dfc.CBR(400.0))]
    run = dfc.simulate(dfc.Scenario("rare", links, flows, duration=50.0), method=dfc.Fluid(steps_per_delay))
    assert run.lost.sum() == pytest.approx(450.0, abs=4 * 450.0**0.5)


# Managers that mark.

QUEUE = {"time": 0.0, "step": 1e-6, "capacity": 1e6, "delay": 0.0}


@pytest.mark.parametrize(("backlog", "p"), [(5.0, 0.0), (10.0, 0.0), (30.0, 0.1), (50.0, 0.2), (51.0, 1.0)])
def test_ramp_marking_marks_with_the_probability_of_the_queue(backlog: float, p: float) -> None:
    """Four standard errors of a binomial number of marks, at 20,000 packets."""
    rule, random, packets = dfc.RampMarking(10.0, 50.0, 0.2), np.random.default_rng(1), 20_000
    state, marks = rule.State(), 0.0
    for _ in range(packets):
        seen = SimpleNamespace(backlog=backlog, arrivals=1.0, random=random.random(), **QUEUE)
        state = rule.on_step(state, rule, seen)
        marks += state.mark
    assert abs(marks - p * packets) <= 4.0 * np.sqrt(p * (1 - p) * packets)


def test_marks_never_drop_and_reach_the_senders_they_are_for() -> None:
    """Constant sources do not react to marks, so that what would be marked is dropped (RFC 3168, 5)."""
    links = dfc.chain(2, rate=1e5, delay=1e-4, buffer=1000.0, discipline=dfc.StepMarking(20.0))
    flow = dfc.Flow("a", (1, 2), DCQCN())
    run = dfc.simulate(dfc.Scenario("one", links, [flow], duration=0.05), method=dfc.Fluid(10))
    assert run.lost.sum() == 0.0
    blind = dfc.Flow("b", (1, 2), dfc.CBR(5e4))
    run = dfc.simulate(dfc.Scenario("two", links, [flow, blind], duration=0.05), method=dfc.Fluid(10))
    assert run.lost[0].sum() == 0.0
    assert run.lost[1].sum() > 0.0


@pytest.mark.parametrize(
    ("remembers", "queue", "used"), [(1, 81.0, 0.992), (0, 141.0, 1.0)], ids=["remember", "ignore"]
)
def test_the_notification_point_decides_the_queue_of_ten_senders(remembers: int, queue: float, used: float) -> None:
    """DCQCN at 40 Gb/s beside a simulation of slots of its own: mean queue 81 and 139 to 143, utilisation 0.992 and 1.

    Ten percent is the spread of the queue over seeds and starts, half a percent that of the utilisation.
    """
    rate = 40e9 / 8000.0
    links = [dfc.Link(f"s{k}", "x", rate, 1e-6, 4000) for k in range(10)]
    links += [dfc.Link("x", "d", rate, 1e-6, 4000, dfc.RampMarking(5.0, 200.0, 0.01))]
    rule = DCQCN(counter=1e4, additive=40e6 / 8000, hyper=400e6 / 8000, remembers=remembers)
    flows = [dfc.Flow(f"{k}", (f"s{k}", "x", "d"), rule, host="nic") for k in range(10)]
    scenario = dfc.Scenario("ten", links, flows, duration=0.2, packet_size=1000.0)
    run = dfc.simulate(scenario, dfc.Packets(seed=1), sample=1e-4)
    late = run.time > 0.04
    assert run.queued[scenario.senders.index("x"), late].mean() == pytest.approx(queue, rel=0.1)
    sent = run.delivered[:, late].sum(axis=0)
    span = run.time[late][-1] - run.time[late][0]
    assert (sent[-1] - sent[0]) / span / rate == pytest.approx(used, abs=0.005)


COUPLED = ({"target": 0.0}, {"update": -1.0}, {"coupling": 0.5}, {"alpha": 0.0})


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (dfc.RampMarking, ({"low": 0.0}, {"high": 1.0}, {"max_p": 2.0}, {"low": [1.0]})),
        (dfc.PI2, COUPLED),
        (dfc.DualPI2, COUPLED),
    ],
)
def test_parameters_out_of_range_are_named(kind: Any, wrong: tuple[dict[str, Any], ...]) -> None:
    for given in wrong:
        (name,) = given
        with pytest.raises(ValueError, match=f"^{name} = "):
            kind(**given)


# PI2 and DualPI2: what a fluid refuses of them.

RATE_COUPLED = 1000.0


def test_pi2_moves_p_by_both_errors_and_drops_its_square() -> None:
    """De Schepper et al. (2016), and RFC 9332, A.1: p' += alpha (delay - target) + beta (delay - the one before)."""
    law = dfc.PI2(target=0.02, update=0.03, alpha=0.4, beta=3.0)
    q = SimpleNamespace(**law.numbers(1500.0))
    seen = SimpleNamespace(time=1.0, backlog=50.0, capacity=1000.0, arrivals=8.0)
    after = dfc.PI2.on_step(dfc.PI2.State(p=0.1, delay=0.04), q, seen)
    p = 0.1 + 0.4 * (0.05 - 0.02) + 3.0 * (0.05 - 0.04)
    assert after.p == pytest.approx(p)
    assert after.drop == pytest.approx(8.0 * p * p)
    assert (after.mark, after.next, after.delay) == (0.0, 1.03, 0.05)


@pytest.mark.parametrize(("p", "backlog", "delay", "bounded"), [(0.9, 300.0, 0.2, 1.0), (0.1, 0.0, 0.1, 0.0)])
def test_pi2_keeps_p_between_zero_and_one(p: float, backlog: float, delay: float, bounded: float) -> None:
    """The square of p' is a probability (RFC 9332, A.1); with p' = 1 all arrivals are dropped, also with ECN."""
    q = SimpleNamespace(**dfc.PI2(target=0.02, update=0.03, alpha=0.4, beta=3.0, ecn=True).numbers(1500.0))
    seen = SimpleNamespace(time=1.0, backlog=backlog, capacity=1000.0, arrivals=8.0)
    after = dfc.PI2.on_step(dfc.PI2.State(p=p, delay=delay), q, seen)
    assert (after.p, after.drop, after.mark) == (bounded, 8.0 * bounded, 0.0)


def test_dualpi2_is_no_manager_of_another_discipline() -> None:
    with pytest.raises(ValueError, match="manager"):
        dfc.Fair(dfc.DualPI2())  # type: ignore[arg-type]


def test_pi2_is_refused_in_a_fluid_with_a_sender_that_answers_each_mark() -> None:
    links = dfc.chain(2, rate=RATE_COUPLED, delay=1e-3, buffer=500.0, discipline=dfc.PI2())
    for rule, error in ((DCTCP(), "answers each mark"), (NewReno(), None)):
        scenario = dfc.Scenario("fluid", links, (dfc.Flow("f", (1, 2), rule),), duration=0.1)
        if error is None:
            assert dfc.simulate(scenario, level="fluid").delivered[0, -1] > 0.0
        else:
            with pytest.raises(ValueError, match=error):
                dfc.simulate(scenario, level="fluid")


def test_dualpi2_is_refused_in_a_fluid() -> None:
    links = dfc.chain(2, rate=RATE_COUPLED, delay=1e-3, buffer=500.0, discipline=dfc.DualPI2())
    with pytest.raises(ValueError, match="DualPI2"):
        dfc.simulate(
            dfc.Scenario("fluid", links, (dfc.Flow("f", (1, 2), NewReno()),), duration=0.1),
            level="fluid",
        )
