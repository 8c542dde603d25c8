"""What is left at the end of a fluid run adds up."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import CBR, PFC, RED, Flow, Fluid, Link, Priority, Scenario, chain, simulate
from responsefn import NewReno


@pytest.mark.parametrize(
    "discipline", [RED(low=5, high=15), Priority(), PFC(xoff=30, xon=20)], ids=str
)
def test_drops_by_cause_add_up_to_the_losses(discipline) -> None:
    links = chain(3, rate=1e3, delay=1e-3, buffer=90, discipline=discipline)
    flows = [Flow("a", (1, 2, 3), CBR(1.5e3)), Flow("b", (2, 3), CBR(800.0), priority=1)]
    run = simulate(Scenario("two", links, flows, duration=1.0))
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
    run = simulate(Scenario("one", links, [Flow("a", (1, 2), CBR(2e3))], duration=0.5))
    assert run.queued[0, -1] > 40.0
    assert len(run.remaining) == 0
