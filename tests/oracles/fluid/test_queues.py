"""Queues of the fluid oracle: drops, shares, managers, pauses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dfcmodel as dfc
from tests.oracles.engines import compile_scenario
from tests.oracles.fluid import runs as reference
from tests.oracles.fluid.drops import (
    RandomNumbers,
    draw,
    drop_in_turn,
    drop_part,
    drop_whole,
    time_until_full,
)
from tests.oracles.fluid.lines import WaitingLine
from tests.oracles.fluid.managed_links import ManagedLink
from tests.oracles.fluid.queues import RateQueues
from tests.oracles.fluid.shared_queues import SharedQueues
from tests.oracles.fluid.shares import equal_parts, paces, parts_by_rank
from tests.oracles.fluid.traffic import Traffic

# What full buffers drop in the reference, by hand; beside the kernel in `test_reference`.

Q = 2.0**-26


def test_random_numbers_are_those_of_park_and_miller() -> None:
    """Of the generator with multiplier 48271 the 10,000th number from seed 1 is 399268537."""
    random = RandomNumbers(1)
    for _ in range(10_000):
        random()
    assert random.seed == 399268537


def test_a_place_is_drawn_in_proportion() -> None:
    weights = np.array([0.0, 1.0, 3.0, 0.0])
    assert [draw(weights, at) for at in (0.0, 0.24, 0.26, 1.0)] == [1, 1, 2, 2]


def test_a_buffer_that_fills_evenly_is_full_after_what_fits() -> None:
    assert time_until_full(1.0, 4.0) == 0.75
    assert time_until_full(5.0, 4.0) == time_until_full(1.0, 0.0) == 0.0


def test_parts_are_rounded_up_and_never_more_than_the_excess() -> None:
    fresh = np.array([1.0, 2.0, 1.0])
    assert drop_part(fresh, 2.0, 0.5, 0.25).tolist() == [0.0, 1.25, 0.75]
    assert drop_in_turn(fresh, 2.0, 0.25).tolist() == [0.75, 1.25, 0.0]
    thirds = drop_part(fresh, 4.0 / 3.0, 1.0 / 3.0, Q)
    assert thirds == pytest.approx(fresh / 3.0, abs=3 * Q)
    assert drop_in_turn(fresh, 9.0, Q).tolist() == fresh.tolist()


def test_whole_packets_are_lost_of_one_flow_and_the_rest_of_one_later() -> None:
    fresh, owed = np.array([0.5, 0.5]), np.zeros(2)
    numbers = iter([0.1, 0.9])
    assert drop_whole(fresh, owed, 0.75, lambda: next(numbers)).tolist() == [0.5, 0.25]
    assert owed.tolist() == [0.5, 0.75]
    assert drop_whole(fresh, owed, 0.75, lambda: next(numbers)).tolist() == [0.5, 0.25]
    assert owed.tolist() == [0.0, 0.5]


# The reference's FIFO queue by hand: order, parts of steps on the grid, drops, delay of the head.

Q_LINES = 2.0**-26


def served(line: WaitingLine, pace: float, *came: float) -> list[float]:
    line.append(np.array(came))
    return line.serve(pace).tolist()


def test_whole_steps_leave_first_then_a_part_of_one() -> None:
    line = WaitingLine(2, Q_LINES)
    assert served(line, 1.0, 2.0, 2.0) == [0.5, 0.5]
    assert line.delay() == pytest.approx(0.75)  # three quarters of the first step wait
    assert served(line, 4.0, 0.0, 4.0) == [1.5, 2.5]
    assert line.delay() == pytest.approx(0.75)
    assert served(line, 9.0, 0.0, 0.0) == [0.0, 3.0]
    assert line.delay() == line.waits() == 0.0


def test_parts_are_rounded_down_and_of_two_flows_the_second_sends_the_rest() -> None:
    three, two = WaitingLine(3, 0.25), WaitingLine(2, 0.25)
    assert served(three, 1.0, 1.0, 1.0, 1.0) == [0.25, 0.25, 0.25]
    assert three.waits() == 2.0  # a quarter is served that no flow has sent yet
    assert served(two, 1.0, 1.0, 1.5) == [0.25, 0.75]
    assert served(three, 9.0, 0.0, 0.0, 0.0) == [0.75, 0.75, 0.75]


def test_drops_are_taken_from_what_came_last() -> None:
    line = WaitingLine(2, Q_LINES)
    served(line, 0.0, 1.0, 1.0)
    served(line, 0.0, 4.0, 0.0)
    line.drop(np.array([3.0, 0.0]))
    assert line.delay() == 2.0
    assert line.waits() == 3.0
    assert served(line, 2.5, 0.0, 0.0) == [1.5, 1.0]


# Queue managers in the reference, by hand: whole packets, marks and drops, all of a step.


def seen(backlog: float, arrivals: float) -> Any:
    return SimpleNamespace(
        time=0.0,
        step=1e-3,
        backlog=backlog,
        arrivals=arrivals,
        capacity=1000.0,
        delay=0.0,
        random=0.5,
    )


def link(*hears: bool) -> ManagedLink:
    return ManagedLink(dfc.StepMarking(4.0), 1500.0, 20.0, np.array(hears), 2.0**-26)


def test_what_would_be_marked_of_flows_that_do_not_hear_is_dropped() -> None:
    """Above the threshold step marking takes all that comes."""
    drops, marks = link(True, False).manage(seen(9.0, 3.0), np.array([1.0, 2.0]), lambda: 0.0)
    assert drops.tolist() == [0.0, 2.0]
    assert marks.tolist() == [1.0, 0.0]


def test_below_the_threshold_nothing_is_taken() -> None:
    drops, marks = link(True, False).manage(seen(1.0, 3.0), np.array([1.0, 2.0]), lambda: 0.0)
    assert not drops.any()
    assert not marks.any()


def test_a_packet_that_is_due_is_taken_as_it_comes() -> None:
    one = link(True, False)
    one.due["mark"] = 1.25
    numbers = iter([0.99])
    drops, _ = one.manage(seen(1.0, 0.5), np.array([0.25, 0.25]), lambda: next(numbers))
    assert drops.tolist() == [0.0, 0.25]
    assert one.due["mark"] == 0.25
    drops, _ = one.manage(seen(1.0, 1.0), np.array([0.0, 1.0]), lambda: 0.0)
    assert drops.tolist() == [0.0, 0.75]


# Queues with rates of their own in the reference, by hand.


@pytest.mark.parametrize(("shared", "lost"), [(True, [0.5, 1.5]), (False, [0.0, 1.0])])
def test_what_exceeds_a_buffer_is_lost(shared: bool, lost: list[float]) -> None:
    """Of 2 and 4 packets each queue sends one; there is room for 2, of both or of each."""
    link = dfc.Link("a", "b", 1000.0, 4e-3, 2.0, dfc.DFC(phases="synchronous"), shared)
    flows = [dfc.Flow(name, "ab", dfc.CBR(900.0), host="direct") for name in ("one", "two")]
    plan = compile_scenario(dfc.Scenario("one", (link,), flows), dfc.Fluid(), np.random.default_rng(0))
    traffic = Traffic(plan)
    queues = RateQueues(plan, 0, traffic)
    for f, amount in enumerate((2.0, 4.0)):
        traffic.depart(f, amount)
    queues.serve(0, np.ones(2))
    cells = queues.cells[np.argsort(traffic.flow_of[queues.cells])]
    assert traffic.lost[cells] == pytest.approx(lost, abs=2 * plan.quantum)
    assert traffic.queue[queues.cells].sum() + traffic.lost.sum() == 4.0
    assert [traffic.inside(c) for c in queues.cells] == [1.0, 1.0]


# Links whose flows share them, in the reference, by hand: order, full buffers, rooms of classes.


def served_of_shared_queues(rule, *, shared: bool = True) -> tuple[list[float], list[float], list[float]]:
    """Return what leaves, waits and is lost of 3 and 6 packets of classes 0 and 1 where one leaves and four find room."""
    link = dfc.Link("a", "b", 1000.0, 4e-3, 4.0, rule, shared)
    flows = [dfc.Flow(f"{n}", "ab", dfc.CBR(900.0), host="direct", priority=n) for n in range(2)]
    plan = compile_scenario(dfc.Scenario("one", (link,), flows), dfc.Fluid(), np.random.default_rng(0))
    traffic = Traffic(plan)
    queues = SharedQueues(plan, 0, traffic, RandomNumbers(1))
    for c, f in zip(queues.cells, traffic.flow_of[queues.cells], strict=True):
        assert traffic.up[c] == f
        traffic.depart(f, (3.0, 6.0)[f])
    queues.serve(0, 1.0, np.zeros(2), np.zeros(len(queues.bands)))
    own = np.argsort(traffic.flow_of[queues.cells])
    cells = queues.cells[own]
    assert sum(map(traffic.inside, cells)) == 1.0
    found = [traffic.inside(c) for c in cells], traffic.queue[cells], traffic.lost[cells]
    return tuple(np.asarray(each).tolist() for each in found)


def close(*amounts: float):
    return pytest.approx(amounts, abs=4 * 2.0**-26)


@pytest.mark.parametrize(
    ("rule", "shared", "leaves", "lost"),
    [
        (dfc.FIFO(), True, close(1 / 3, 2 / 3), close(4 / 3, 8 / 3)),  # in proportion
        (dfc.FIFO(), False, close(1 / 3, 2 / 3), close(0.0, 4 / 3)),
        (dfc.Fair(), True, close(0.5, 0.5), close(0.5, 3.5)),  # both are cut to half of the buffer
        (dfc.Priority(), True, close(1.0, 0.0), close(0.0, 4.0)),  # the highest rank first
    ],
)
def test_what_leaves_and_what_finds_no_room(rule, shared: bool, leaves, lost) -> None:
    left, waits, gone = served_of_shared_queues(rule, shared=shared)
    assert left == leaves
    assert gone == lost
    assert np.add(np.add(left, waits), gone).tolist() == [3.0, 6.0]


def test_a_lossless_class_has_its_room_and_others_share_the_rest() -> None:
    left, waits, gone = served_of_shared_queues(dfc.PFC((1,), xoff=1.0, xon=0.5, headroom=1.0))
    assert left == close(0.5, 0.5)
    assert waits == close(2.0, 2.0)
    assert gone == close(0.5, 3.5)


# Shares of a link by hand: max-min fairness, ranks, classes that are paused for a part of a step.

Q_SHARES = 2.0**-26


def test_equal_parts_are_max_min_fair_and_leave_nothing() -> None:
    found = equal_parts(np.array([0.5, 9.0, 2.0, 9.0]), 6.5, Q_SHARES)
    assert found.tolist() == [0.5, 2.0, 2.0, 2.0]
    third = equal_parts(np.full(3, 9.0), 1.0, Q_SHARES)
    assert third.sum() == 1.0
    assert np.ptp(third) == Q_SHARES  # what does not divide goes to the first
    assert equal_parts(np.array([1.0, 2.0]), 9.0, Q_SHARES).tolist() == [1.0, 2.0]


def test_the_lowest_rank_comes_first() -> None:
    ranks = np.array([1, 0, 1])
    assert parts_by_rank(np.array([5.0, 3.0, 5.0]), ranks, 4.0, Q_SHARES).tolist() == [
        0.5,
        3.0,
        0.5,
    ]


def test_a_class_that_is_paused_for_half_a_step_sends_half_of_its_share() -> None:
    ranks, waits = np.zeros(2, int), np.array([9.0, 9.0])
    assert paces(waits, ranks, np.array([0.0, 0.0]), 4.0, Q_SHARES).tolist() == [2.0, 2.0]
    assert paces(waits, ranks, np.array([0.0, 0.5]), 4.0, Q_SHARES).tolist() == pytest.approx([3.0, 1.0])
    assert paces(waits, ranks, np.array([0.0, 1.0]), 4.0, Q_SHARES).tolist() == [4.0, 0.0]


# Pauses of the reference by hand: a queue that rises and falls linearly crosses its thresholds within steps.

H = 1e-3


@pytest.mark.parametrize("rule", [dfc.Pause(20.0, 10.0), dfc.PFC((0,), 20.0, 10.0)])
def test_a_queue_at_a_constant_rate_asks_when_it_reaches_its_threshold(rule) -> None:
    """600 more packets/s than leave, from 4 ms on: 20 of them wait 1/30 s later."""
    links = (
        dfc.Link("a", "b", 1600.0, 4 * H, 500.0),
        dfc.Link("b", "c", 1000.0, 4 * H, 500.0, rule),
    )
    scenario = dfc.Scenario("one", links, (dfc.Flow("f", "abc", dfc.CBR(1600.0)),), duration=0.1)
    fluid = dfc.Fluid(store_and_forward=False)
    found = reference.advance(compile_scenario(scenario, fluid, np.random.default_rng(0)), 80, 10)
    on = found.switches[0]
    assert on["on"] == 1
    reached = (4 * H + 20.0 / 600.0) / H
    assert on["time"] == pytest.approx(reached, abs=0.5)  # the step of the queue's first packet
    off = found.switches[1]
    assert off["on"] == 0
    # a message takes 4 ms each way; after it the queue falls by 1000 packets/s to 10
    top = 20.0 + 600.0 * 8 * H
    assert off["time"] - on["time"] == pytest.approx((8 * H + (top - 10.0) / 1000.0) / H, abs=0.5)
