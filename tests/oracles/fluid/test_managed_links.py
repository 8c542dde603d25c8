"""Queue managers in the reference, by hand: whole packets, marks and drops, all of a step."""

from __future__ import annotations

import numpy as np

from dfcmodel import StepMarking
from dfcmodel.network.disciplines import Arrivals
from tests.oracles.fluid.managed_links import ManagedLink


def seen(backlog: float, arrivals: float) -> Arrivals:
    return Arrivals(0.0, 1e-3, backlog, arrivals, 1000.0, 0.0, 0.5)


def link(*hears: bool) -> ManagedLink:
    return ManagedLink(StepMarking(4.0), 1500.0, 20.0, np.array(hears), 2.0**-26)


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
