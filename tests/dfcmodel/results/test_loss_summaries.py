"""Where packets were lost, and what dropped them, as a summary says it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    PFC,
    RED,
    Flow,
    Fluid,
    Link,
    Packets,
    Pause,
    RampMarking,
    Scenario,
    simulate,
)
from dfcmodel.results.loss_summaries import largest_queue, places_of_losses
from hopflow import mbps
from responsefn import CUBIC, NewReno

METHODS = [Fluid(), Packets(seed=1)]


def into_one(discipline, senders: int = 8, source=None, host: str = "unshaped") -> Scenario:
    links = [Link(f"h{n}", "s", 3e6, 1e-6, 5000, discipline) for n in range(senders)]
    links.append(Link("s", "d", 3e6, 1e-6, 5000, discipline))
    flows = [
        Flow(f"{n}", (f"h{n}", "s", "d"), source or CBR(3e6), size=1000, host=host)
        for n in range(senders)
    ]
    return Scenario("into one", links, flows, duration=5e-3)


@pytest.mark.parametrize("method", METHODS)
def test_losses_at_a_senders_own_link_are_marked(method) -> None:
    """A sender without a host puts its packets into the first buffer; behind an access link they come at its rate."""
    links = Link("a", "b", 1000.0, 1e-3, 5), Link("b", "c", 500.0, 1e-3, 5)
    scenario = Scenario("two", links, [Flow("f", ("a", "b", "c"), CBR(2000.0))], duration=1.0)
    run = simulate(scenario, method)
    own, network = (run.lost.sum(axis=(0, 2))[n] for n in (0, 1))
    assert own > network > 0.0
    assert places_of_losses(run) == f"a: {own:.0f} (at the senders' own link), b: {network:.0f}"
    assert run.summary()["lost at"] == places_of_losses(run)
    hosted = replace(scenario, flows=(replace(scenario.flows[0], host="unshaped"),))
    assert "own link" not in simulate(hosted, method).summary()["lost at"]


@pytest.mark.parametrize("method", METHODS)
def test_where_nothing_is_lost_no_place_is_named(method) -> None:
    scenario = Scenario("one", (Link(1, 2, 1e3, 1e-3, 5),), [Flow("f", (1, 2), CBR(100.0))], 1.0)
    run = simulate(scenario, method)
    assert places_of_losses(run) == ""
    assert "lost at" not in run.summary()


@pytest.mark.parametrize("method", METHODS)
def test_packets_that_a_marking_manager_drops_are_said_to_be(method) -> None:
    run = simulate(into_one(RampMarking(at="arrival")), method)
    assert run.peak_queue.max() < 4999.0
    assert "(dropped by the manager, as these flows do not react to marks)" in places_of_losses(run)
    red = Scenario("red", (Link(1, 2, 1e3, 1e-3, 500, RED()),), [Flow("f", (1, 2), NewReno())], 5.0)
    flows = (replace(red.flows[0], max_window=40.0),)
    said = places_of_losses(simulate(replace(red, flows=flows), method))
    assert "dropped by the manager before the buffer was full" in said


@pytest.mark.parametrize("method", METHODS)
def test_drops_by_manager_and_for_want_of_room_are_told_apart(method) -> None:
    """Manager and pauses are of one class: the counts of causes add up to the losses."""
    rule = PFC(
        (0,),
        xoff=60,
        xon=30,
        headroom=1,
        manager=RampMarking(100, 5000, 0.5, at="arrival"),
        managed=0,
    )
    run = simulate(into_one(rule), method)
    table = run.drops()
    by_cause = {
        cause: float(table.packets[(table.cause == cause) & (table.link == "s->d")].sum())
        for cause in np.unique(table.cause)
    }
    assert set(by_cause) == {"buffer", "manager"}
    assert sum(by_cause.values()) == pytest.approx(run.lost[:, -1].sum(), rel=1e-12)
    assert float(table.packets.sum()) == pytest.approx(run.lost.sum(), rel=1e-12)
    assert f"{by_cause['manager']:.0f} dropped by the manager" in places_of_losses(run)
    assert f"{by_cause['buffer']:.0f} without room" in places_of_losses(run)


def test_too_little_room_for_a_pause_is_named() -> None:
    """Of two links of 8,333 packets/s 2 x 2 ms each: 67 packets, where 20 find room."""
    rule = Pause(high=80, low=60)
    links = [Link(n, "sw", mbps(100), 2e-3, 100, rule) for n in "ab"]
    links.append(Link("sw", "c", mbps(50), 2e-3, 100, rule))
    flows = [Flow("1", ("a", "sw", "c"), CUBIC()), Flow("2", ("b", "sw", "c"), NewReno())]
    run = simulate(Scenario("pauses", links, flows, duration=2.0), level="fluid")
    said = "Pause(high=80) leaves room for 20 packets, up to 67 can arrive until links obey"
    assert said in places_of_losses(run)


def test_many_places_are_summed() -> None:
    run = simulate(into_one(RED(), senders=9, host="direct", source=NewReno()), Packets(seed=1))
    many = replace(run, lost=np.ones_like(run.lost))
    said = places_of_losses(many)
    assert said.count(",") == 6
    assert "4 other nodes" in said


def test_the_largest_queue_names_the_link_or_a_node_with_several() -> None:
    scenario = into_one(RampMarking(at="arrival"))
    run = simulate(scenario, level="fluid")
    assert largest_queue(run).endswith("of link s->d")
    more = replace(scenario, links=(*scenario.links, Link("s", "e", 1e3, 1e-3, 5)))
    assert largest_queue(simulate(more, level="fluid")).endswith("at node s")
