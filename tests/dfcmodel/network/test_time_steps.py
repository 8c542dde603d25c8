"""Which delays set the time step of the fluid, and what a longer step leaves as it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    DFC,
    PFC,
    RED,
    Fair,
    Flow,
    Fluid,
    Link,
    Pause,
    Scenario,
    chain,
    dumbbell,
    parking_lot,
    simulate,
    takano2006,
)
from dfcmodel.engine import driver
from dfcmodel.network.time_steps import PART_OF_TRIP, contracted_delay
from responsefn import NewReno
from tests.oracles.engines import compile_scenario
from tests.oracles.fluid import runs as reference

ENDS = {"access_rate": 1e5, "access_delay": 1e-5, "buffer": 200.0}


def pairs(*sources, host="direct", window=1e4, size=np.inf, **bottleneck) -> Scenario:
    """Flows over a bottleneck of 20 ms, with access links of 10 us."""
    links = dumbbell(len(sources), rate=1e4, delay=0.02, **(ENDS | bottleneck))
    flows = [
        Flow(
            f"{n}", (f"s{n}", "left", "right", f"d{n}"), source, window, 0.013 * n, size, host=host
        )
        for n, source in enumerate(sources, 1)
    ]
    return Scenario("short access links", links, flows, duration=1.0)


def lot() -> Scenario:
    """A flow over three links of 5 ms, and one over each."""
    links = parking_lot(3, rate=1e4, delay=5e-3, **ENDS)
    flows = [Flow("long", ("s1", 1, 2, 3, 4, "d4"), NewReno())]
    flows += [
        Flow(f"{n}", (f"s{n}", n, n + 1, f"d{n + 1}"), NewReno(), start=0.1 * n) for n in (1, 2, 3)
    ]
    return Scenario("parking lot", links, flows, duration=1.0)


@pytest.mark.parametrize("name", ["1", "3", "5", "4S", "4L"])
@pytest.mark.parametrize("dfc", [True, False])
def test_links_of_equal_delays_keep_it(name: str, dfc: bool) -> None:
    assert contracted_delay(takano2006(name, dfc=dfc)) == 1e-4


def test_short_access_links_do_not_set_the_step() -> None:
    trip = 2 * (0.02 + 2e-5)
    assert contracted_delay(pairs(NewReno())) == pytest.approx(trip / PART_OF_TRIP)
    assert contracted_delay(lot()) == pytest.approx(2 * (5e-3 + 2e-5) / PART_OF_TRIP)
    short = Fluid(contracted=False).step_of(pairs(NewReno()))
    assert short == 2.5e-6
    assert simulate(pairs(NewReno()), duration=0.01, level="fluid").step == pytest.approx(
        trip / PART_OF_TRIP / 4
    )


def test_short_links_in_the_middle_of_paths_and_small_buffers_do() -> None:
    links = [*chain(4, rate=1e4, delay=0.02, buffer=100)]
    links[1] = replace(links[1], delay=1e-4)
    flows = [Flow("a", (1, 2, 3, 4), NewReno())]
    assert contracted_delay(Scenario("patch", links, flows)) == 1e-4
    assert contracted_delay(pairs(NewReno(), buffer=2.0)) == pytest.approx(2e-4)


@pytest.mark.parametrize(
    "discipline", [Pause(high=50, low=25), RED(), PFC(xoff=20, xon=10, headroom=10), Fair()]
)
def test_links_that_feed_a_discipline_other_than_fifo_count(discipline) -> None:
    assert contracted_delay(pairs(NewReno(), discipline=discipline)) == 1e-5


def test_links_with_feedback_count() -> None:
    links = chain(3, rate=1e4, delay=0.02, buffer=100, discipline=DFC())
    links = (replace(links[0], delay=1e-4), links[1])
    assert contracted_delay(Scenario("dfc", links, [Flow("a", (1, 2, 3), CBR(1e3))])) == 1e-4


def test_contracted_is_a_flag() -> None:
    with pytest.raises(ValueError, match="contracted = 2"):
        Fluid(contracted=2)  # type: ignore[arg-type]


@pytest.mark.parametrize("host", ["direct", "unshaped"])
def test_round_trips_are_exact_where_links_are_shorter_than_a_step(host: str) -> None:
    run = simulate(pairs(NewReno(), NewReno(), host=host, window=20.0), sample=0.01, level="fluid")
    access = 0.0 if host == "direct" else 1e-5
    packets = 1 / 1e5 * (1 if host == "direct" else 2) + 1 / 1e4 + 1 / 1e5
    trip = 2 * (0.02 + 2e-5 + access) + packets
    assert np.nanmin(run.round_trip, axis=1) == pytest.approx(trip, abs=run.step)
    begin = int(0.5 / 0.01)
    delivered = run.delivered[:, -1] - run.delivered[:, begin - 1]
    assert delivered == pytest.approx(0.5 * 20.0 / trip, abs=20.0)  # windows arrive at once
    assert run.imbalance.max() < 1e-12
    assert run.peak_queue.max() < 21.0


@pytest.mark.parametrize("scenario", [pairs(NewReno(), CBR(2e3)), lot()], ids=["pairs", "lot"])
def test_the_engine_follows_the_reference_where_lags_are_below_a_step(scenario: Scenario) -> None:
    flows = tuple(replace(flow, max_window=8.0) for flow in scenario.flows)
    plans = [
        compile_scenario(replace(scenario, flows=flows), Fluid(2), np.random.default_rng(1))
        for _ in range(2)
    ]
    assert 0 in plans[0].layout.lag
    steps = round(0.12 / plans[0].step)
    ours = driver.advance(plans[0], steps, 10)
    theirs = reference.advance(plans[1], steps, 10)
    assert ours.queued == pytest.approx(theirs.queued, abs=1e-4)
    assert ours.flows[:, :, :4] == pytest.approx(theirs.flows[:, :, :4], abs=1e-4)


def test_links_as_fast_as_all_that_feed_them_have_no_queues() -> None:
    """What comes over two links of half the rate: with and without the queue, the same."""
    links = [Link("a", "c", 500.0, 0.01, 50), Link("b", "c", 500.0, 0.012, 50)]
    links += [Link("c", "d", 1000.0, 0.01, 50), Link("d", "e", 800.0, 0.01, 50)]
    flows = [Flow("1", "acde", CBR(600.0)), Flow("2", "bcde", CBR(300.0))]
    fast = Scenario("merged", links, flows, duration=1.0)
    slow = replace(fast, links=(*links[:2], replace(links[2], rate=999.9), links[3]))
    plan = compile_scenario(fast, Fluid(), np.random.default_rng(0))
    assert 2 not in plan.layout.order
    runs = [simulate(each, sample=0.1, level="fluid") for each in (fast, slow)]
    assert runs[0].delivered == pytest.approx(runs[1].delivered, abs=0.1)
    assert runs[0].queued == pytest.approx(runs[1].queued, abs=0.1)
