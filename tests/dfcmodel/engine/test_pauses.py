"""Pauses and feedback in the fluid: schedules, what links and senders do, intervals."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, DFC, FIFO, Flow, Fluid, Link, Pause, Scenario, chain, simulate, takano2006
from dfcmodel.engine.feedback_schedules import feedback, pauses
from dfcmodel.engine.kernel.records import SWITCH
from dfcmodel.engine.layouts import layout_of
from dfcmodel.engine.remains import times_of_pauses
from dfcmodel.network.class_pauses import ALL
from dfcmodel.results.pauses import intervals_of
from hopflow import mbps, us
from tests.oracles.engines import compile_scenario

# Pauses in the fluid: what links and senders do, and the intervals that a run records.

# From pauses turned on and off to intervals.


def test_an_interval_begins_and_ends_a_message_later() -> None:
    """On after 2 and 10 steps, off after 5.25: a message takes 1 ms and 0.1 ms of signalling."""
    pause = Pause(high=20.0, low=10.0, signalling=1e-4)
    links = chain(3, rate=1e4, delay=1e-3, buffer=50.0, discipline=pause)
    flow = Flow("a", (1, 2, 3), CBR(1e3), host="unshaped")
    plan = compile_scenario(Scenario("s", links, [flow]), Fluid(), np.random.default_rng(0))
    numbers = plan.feedback.pauses["paused"].tolist()
    host, link = numbers.index(-1), numbers.index(0)
    switches = np.array([(2, link, 1), (3, host, 1), (5.25, link, 0), (10, link, 1)], dtype=SWITCH)
    found = intervals_of(times_of_pauses(plan, switches), 3.4e-3)
    h, way = plan.step, 1.1e-3
    expected = [(0, 1, ALL, 2 * h + way, 5.25 * h + way, 0), (-1, 0, ALL, 3 * h + way, np.inf, 0)]
    np.testing.assert_allclose(found.tolist(), expected, rtol=1e-12)
    # the third has begun, and the first one lasts, depending on when the run ends
    assert len(intervals_of(times_of_pauses(plan, switches), 3.7e-3)) == 3
    assert intervals_of(times_of_pauses(plan, switches), 2.3e-3)["end"].tolist() == [np.inf, np.inf]
    assert intervals_of(times_of_pauses(plan, switches), 2.3e-3)["resumed"].tolist() == [1, 0]
    assert len(intervals_of(times_of_pauses(plan, switches[:0]), 1.0)) == 0


# When a pause acts: at the instant at which a message that left at a threshold has come, not at a step.

SLOW = 40.0  # packets/s over the link whose queue fills
PLAIN = Fluid(store_and_forward=False)


@pytest.mark.parametrize("high", [100.0, 101.3, 250.77])
@pytest.mark.parametrize("metres", [5.0, 300.0, 1e4])
@pytest.mark.parametrize("gigabits", [10.0, 100.0, 400.0, 800.0])
def test_overshoot_is_the_rate_times_the_closed_loop(
    gigabits: float, metres: float, high: float
) -> None:
    """Two cables and the response, 905 quanta of 512 bits (IEEE 802.3, 31B) or 1.3 ns, at four steps per delay.

    1e-4: meanwhile 40 packets/s leave, at 10 Gb/s 5e-5 of the rate.
    """
    rate, cable = gigabits * 1e9 / 12_000, metres / 2e8
    for response in (905 * 512 / (gigabits * 1e9), 1.3e-9):
        links = (
            Link("a", "b", rate, cable, 1e6, FIFO()),
            Link("b", "c", SLOW, cable, 1e6, Pause(high=high, low=50.0, signalling=response)),
        )
        flow = Flow("one", ("a", "b", "c"), CBR(rate), host="direct")
        loop = 2 * cable + response
        run = simulate(Scenario("s", links, [flow], 2 * loop + 2 * high / rate), PLAIN)
        assert run.peak_queue[1] - high == pytest.approx(rate * loop, rel=1e-4)


@pytest.mark.parametrize("signalling", [0.0, 0.37e-3])
@pytest.mark.parametrize("steps", [1, 4, 7])
def test_times_of_pauses_are_those_of_the_saw_tooth(steps: int, signalling: float) -> None:
    """Up at 4000 packets/s, down at 6000 while nothing comes: closed form, whatever the step."""
    high, low, up, down, delay = 41.3, 22.7, 4e3, 6e3, 1e-3
    rule = Pause(high=high, low=low, signalling=signalling)
    links = chain(4, rate=1e4, delay=delay, buffer=1e3, discipline=rule)
    flows = [
        Flow("first", (1, 2, 3, 4), CBR(1e4), host="direct"),
        Flow("joins", (2, 3, 4), CBR(up), host="direct"),
    ]
    run = simulate(
        Scenario("saw-tooth", links, flows, 0.1),
        Fluid(steps_per_delay=steps, store_and_forward=False),
    )
    table = run.pauses().to_pandas()
    table = table[~table.lasting]
    assert len(table) > 3
    lag = 2 * delay + signalling  # from a threshold until what it did has come
    falls, rises = (high - low + lag * up) / down, (high - low + lag * down) / up
    begin = delay + high / up + delay + signalling
    expected = []
    for _ in range(len(table)):
        expected.append((begin, begin + lag + falls))  # the queue grows for a lag after `high`
        begin = expected[-1][1] + lag + rises
    for (first, last), (wanted, ended) in zip(
        table[["begin", "end"]].to_numpy(), expected, strict=True
    ):
        assert (first, last) == pytest.approx((wanted, ended), abs=1e-8)


def test_quanta_last_as_long_as_they_are() -> None:
    """A queue that never empties is paused without a gap; one that does, for whole numbers of quanta."""
    quanta = 1.2345e-3  # s: 482 quanta of 512 bits are not whole steps
    number = round(quanta * 1e4 * 12_000 / 512)
    lasts = number * 512 / (1e4 * 12_000)
    links = chain(4, rate=1e4, delay=1e-3, buffer=1e3, discipline=Pause(41.3, 22.7, quanta=number))
    flows = [
        Flow("first", (1, 2, 3, 4), CBR(1e4), host="direct"),
        Flow("joins", (2, 3, 4), CBR(4e3), host="direct"),
    ]
    run = simulate(Scenario("quanta", links, flows, 0.1), PLAIN)
    table = run.pauses().to_pandas()
    times = table[~table.lasting].duration.to_numpy() / lasts
    assert len(times) > 3
    np.testing.assert_allclose(times, np.round(times), atol=1e-9)
    assert times.min() > 0.5
    assert abs(lasts / run.step - round(lasts / run.step)) > 0.01


def test_pauses_shorter_than_a_step_are_renewed_without_a_gap() -> None:
    """One quantum, a 60th of a step, ends in the quantum in which the queue has come down to low."""
    flows = [
        Flow("first", (1, 2, 3, 4), CBR(1e4), host="direct"),
        Flow("joins", (2, 3, 4), CBR(4e3), host="direct"),
    ]
    both = [
        simulate(
            Scenario("s", chain(4, rate=1e4, delay=1e-3, buffer=1e3, discipline=rule), flows, 0.1),
            PLAIN,
        )
        for rule in (Pause(41.3, 22.7), Pause(41.3, 22.7, quanta=1))
    ]
    told, renewed = (run.pauses().to_pandas()[:3] for run in both)
    assert len(told) == len(renewed) == 3
    late = (renewed.end - told.end).to_numpy()
    assert late[0] == pytest.approx(0.0, abs=512 / (1e4 * 12_000))
    assert late[0] >= 0.0
    assert all(a <= b for a, b in itertools.pairwise(late))  # and each is later by its own


# Schedules of feedback: one message per period and link, phases of the nodes, delays of pauses.


def with_law(**law) -> Scenario:
    scenario = takano2006("4S")
    return replace(
        scenario, links=tuple(replace(link, discipline=DFC(**law)) for link in scenario.links)
    )


def schedule(scenario: Scenario, seed: int = 0):
    layout = layout_of(scenario, [4] * len(scenario.links))
    h = scenario.links[0].delay / 4
    return layout, feedback(scenario, layout, h, np.random.default_rng(seed))


def slots(found) -> np.ndarray:
    """Number of links whose rates are set in each slot of the period."""
    return found["slots"]["hear_end"].astype(int) - found["slots"]["hear_one"].astype(int)


def test_synchronous_clocks_tick_together() -> None:
    layout, found = schedule(with_law(phases="synchronous"))
    assert found["clocks"]["period"].tolist() == [4]
    assert slots(found).tolist() == [len(layout.order) + len(layout.shaped), 0, 0, 0]


@pytest.mark.parametrize("seed", range(3))
def test_every_link_has_one_tick_per_period(seed: int) -> None:
    layout, found = schedule(with_law(), seed)
    assert slots(found).sum() == len(layout.order) + len(layout.shaped)
    assert np.count_nonzero(slots(found)) > 1


def test_phases_are_those_of_the_seed() -> None:
    one, same, other = (schedule(with_law(), seed)[1]["hearing"] for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_pause_takes_the_delay_of_the_paused_link_and_the_signalling() -> None:
    links = chain(
        3, rate=1e4, delay=1e-3, buffer=100, discipline=Pause(50.0, 25.0, signalling=2e-3)
    )
    flow = Flow("one", (1, 2, 3), CBR(1.0), host="unshaped")
    scenario = Scenario("pause", links, [flow], duration=0.1)
    layout = layout_of(scenario, [4, 4])
    found = pauses(scenario, layout, 2.5e-4, 2.0**-20)
    # the host by the first queue, the first link by the second queue: 1 ms + 2 ms
    assert found[["pausing", "paused", "wait"]].tolist() == [(0, -1, 12), (1, 0, 12)]
    assert found[["high", "low", "part"]].tolist() == [(50.0, 25.0, 0.0)] * 2


def test_pauses_take_effect_within_a_step() -> None:
    """1 ms and 2.1 ms of signalling in steps of 0.25 ms: 12 steps and four tenths."""
    law = Pause(50.0, 25.0, signalling=2.1e-3)
    links = chain(3, rate=1e4, delay=1e-3, buffer=100, discipline=law)
    scenario = Scenario("pause", links, [Flow("one", (1, 2, 3), CBR(1.0), host="unshaped")], 0.1)
    found = pauses(scenario, layout_of(scenario, [4, 4]), 2.5e-4, 2.0**-20)
    assert found["wait"].tolist() == [12, 12]
    assert found["part"] == pytest.approx([0.4, 0.4])


def test_a_direct_host_is_not_paused() -> None:
    links = chain(2, rate=1e4, delay=1e-3, buffer=100, discipline=Pause(50.0, 25.0))
    scenario = Scenario("pause", links, [Flow("one", (1, 2), CBR(1.0))], duration=0.1)
    assert len(pauses(scenario, layout_of(scenario, [4]), 2.5e-4, 2.0**-20)) == 0


def test_quanta_need_not_be_whole_steps() -> None:
    """Four quanta of 512 bit times at 120 Mb/s are 17 microseconds; a step is 25."""
    links = chain(
        3, rate=mbps(120), delay=us(100), buffer=400, discipline=Pause(30.0, 10.0, quanta=4)
    )
    scenario = Scenario("quanta", links, [Flow("one", (1, 2, 3), CBR(1500.0))], duration=0.01)
    found = pauses(scenario, layout_of(scenario, [4, 4]), 25e-6, 2.0**-20)
    assert found["quanta"] * 25e-6 == pytest.approx(4 * 512 / 120e6)
