"""Losses on their way to receivers, and what is left at the end of a run."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dfcmodel import CBR, PFC, RED, Flow, Fluid, Link, Priority, Scenario, chain, simulate
from dfcmodel.engine.kernel.loss_records import up_to_next_change
from responsefn import NewReno

# Stretches of losses at a queue, as the receiver finds them.


def stretch(first: float, end: float, lost: float) -> np.recarray:
    return np.rec.array([(first, end, lost, 0.0)], names="first,end,lost,marked")


@pytest.mark.parametrize(
    ("cursor", "expected"),
    [
        (4.99, (0.01, 1.0)),  # before the stretch nothing is lost
        (5.0, (3.0, 4.0 / 3.0)),  # in it three of four packets leave
        (7.99, (0.0, 1.0)),  # at its end what is left is lost
    ],
)
def test_packets_leave_up_to_where_the_density_of_losses_changes(cursor, expected) -> None:
    queue = SimpleNamespace(losses_first=0, losses_end=1, cursor=cursor)
    left, came_each = up_to_next_change(queue, stretch(5.0, 9.0, 1.0 if cursor < 7.0 else 1.5))
    assert (left, came_each) == pytest.approx(expected)


def test_without_losses_nothing_changes() -> None:
    queue = SimpleNamespace(losses_first=2, losses_end=2, cursor=0.0)
    assert up_to_next_change(queue, stretch(0.0, 1.0, 0.5)) == (math.inf, 1.0)


# What is left at the end of a fluid run adds up.


@pytest.mark.parametrize(
    "discipline", [RED(low=5, high=15), Priority(), PFC(xoff=30, xon=20)], ids=str
)
def test_drops_by_cause_add_up_to_the_losses(discipline) -> None:
    links = chain(3, rate=1e3, delay=1e-3, buffer=90, discipline=discipline)
    flows = [Flow("a", (1, 2, 3), CBR(1.5e3)), Flow("b", (2, 3), CBR(800.0), priority=1)]
    run = simulate(Scenario("two", links, flows, duration=1.0), level="fluid")
    assert run.lost.sum() > 0.0
    for f in range(2):
        for n, link in enumerate(run.scenario.links[:2]):
            own = run.dropped[(run.dropped["flow"] == f) & (run.dropped["link"] == n)]
            assert own["packets"].sum() == run.lost[f, n].sum(), link.name
    assert run.dropped["first"].min() == pytest.approx(np.nanmin(run.first_loss), abs=1e-12)


def test_packets_inside_are_those_sent_and_neither_lost_nor_delivered() -> None:
    """Of a constant rate over an empty path: what its delays hold; of a window also ACKs, a window in all."""
    links = chain(3, rate=1e4, delay=1e-2, buffer=200)
    rate = Flow("rate", (1, 2, 3), CBR(1e3))
    window = Flow("window", (1, 2, 3), NewReno(), max_window=8.0)
    run = simulate(Scenario("two", links, [rate, window], duration=1.0), Fluid(steps_per_delay=16))
    assert run.inside[0] == pytest.approx(1e3 * 2e-2, abs=1.0)  # with half of a packet per link
    assert run.emitted[0] == pytest.approx(1e3, abs=1.0)
    assert run.inside[1] == pytest.approx(8.0, abs=1.0)  # within a step: 16 make a delay


def test_what_waits_without_pauses_is_not_recorded() -> None:
    links = [Link(1, 2, 1e3, 1e-3, 50)]
    run = simulate(
        Scenario("one", links, [Flow("a", (1, 2), CBR(2e3))], duration=0.5), level="fluid"
    )
    assert run.queued[0, -1] > 40.0
    assert len(run.remaining) == 0
