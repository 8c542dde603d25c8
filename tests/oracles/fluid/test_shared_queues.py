"""Links whose flows share them, in the reference, by hand: order, full buffers, rooms of classes."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import CBR, FIFO, PFC, Fair, Flow, Fluid, Link, Priority, Scenario
from dfcmodel.engine.plans import compile_scenario
from tests.oracles.fluid.drops import RandomNumbers
from tests.oracles.fluid.shared_queues import SharedQueues
from tests.oracles.fluid.traffic import Traffic


def served(rule, *, shared: bool = True) -> tuple[list[float], list[float], list[float]]:
    """Return what leaves, waits and is lost of 3 and 6 packets of classes 0 and 1 where one leaves and four find room."""
    link = Link("a", "b", 1000.0, 4e-3, 4.0, rule, shared)
    flows = [Flow(f"{n}", "ab", CBR(900.0), host="direct", priority=n) for n in range(2)]
    plan = compile_scenario(Scenario("one", (link,), flows), Fluid(), np.random.default_rng(0))
    traffic = Traffic(plan)
    queues = SharedQueues(plan, 0, traffic, RandomNumbers(1))
    for c, f in zip(queues.cells, plan.layout.flow_of[queues.cells], strict=True):
        assert plan.layout.up[c] == f
        traffic.depart(f, (3.0, 6.0)[f])
    queues.serve(0, 1.0, np.zeros(2), np.zeros(len(queues.bands)))
    own = np.argsort(plan.layout.flow_of[queues.cells])
    cells = queues.cells[own]
    assert sum(map(traffic.inside, cells)) == 1.0
    found = [traffic.inside(c) for c in cells], traffic.queue[cells], traffic.lost[cells]
    return tuple(np.asarray(each).tolist() for each in found)


def close(*amounts: float):
    return pytest.approx(amounts, abs=4 * 2.0**-26)


@pytest.mark.parametrize(
    ("rule", "shared", "leaves", "lost"),
    [
        (FIFO(), True, close(1 / 3, 2 / 3), close(4 / 3, 8 / 3)),  # in proportion
        (FIFO(), False, close(1 / 3, 2 / 3), close(0.0, 4 / 3)),
        (Fair(), True, close(0.5, 0.5), close(0.5, 3.5)),  # both are cut to half of the buffer
        (Priority(), True, close(1.0, 0.0), close(0.0, 4.0)),  # the highest rank first
    ],
)
def test_what_leaves_and_what_finds_no_room(rule, shared: bool, leaves, lost) -> None:
    left, waits, gone = served(rule, shared=shared)
    assert left == leaves
    assert gone == lost
    assert np.add(np.add(left, waits), gone).tolist() == [3.0, 6.0]


def test_a_lossless_class_has_its_room_and_others_share_the_rest() -> None:
    left, waits, gone = served(PFC((1,), xoff=1.0, xon=0.5, headroom=1.0))
    assert left == close(0.5, 0.5)
    assert waits == close(2.0, 2.0)
    assert gone == close(0.5, 3.5)
