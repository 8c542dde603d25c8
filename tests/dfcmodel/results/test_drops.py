"""Drops by their cause, and losses of lossless classes with the room that would have been enough."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, PFC, RED, Flow, Fluid, Link, Packets, Pause, Scenario, chain, simulate
from hopflow import Status
from tests.oracles.engines import ENGINES

METHODS = [Packets(seed=1), Fluid()]
NAMES = ["packets", "fluid"]


def incast(rule, *, senders: int = 4, buffer: float = 2000.0, host: str = "unshaped") -> Scenario:
    """Return senders at line rate into one link; links are 300 packets long."""
    links = [Link(f"h{n}", "s", 3e6, 1e-4, buffer, rule) for n in range(senders)]
    links.append(Link("s", "d", 3e6, 1e-4, buffer, rule))
    flows = [Flow(f"{n}", (f"h{n}", "s", "d"), CBR(3e6), host=host) for n in range(senders)]
    return Scenario("incast", links, flows, duration=5e-3, packet_size=1000)


def causes(run) -> dict[str, float]:
    table = run.drops()
    return {
        str(cause): float(table.packets[(table.cause == cause) & ~table.ack].sum())
        for cause in np.unique(table.cause)
    }


@pytest.mark.parametrize("counts", ["output", "switch"])
@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_too_little_headroom_is_a_status_with_the_room_that_is_enough(method, counts) -> None:
    rule = PFC((0,), xoff=60, xon=30, headroom=100, counts=counts)
    run = simulate(incast(rule, buffer=20_000), method)
    assert run.status is Status.LOST_LOSSLESS
    assert run.status.ok
    loss = next(each for each in run.lossless_losses if each.link == "s->d")
    assert (loss.priority, loss.given, loss.acks) == (0, 100.0, 0.0)
    assert loss.packets == pytest.approx(run.lost[:, -1].sum(), rel=1e-12)
    assert loss.first == pytest.approx(run.first_loss.min(), abs=1e-12)
    assert str(loss).startswith("s->d, class 0")
    enough = np.ceil(max(each.headroom for each in run.lossless_losses))
    assert 100 < enough < 2 * 600 + 100  # at most what a round trip at line rate brings
    wide = simulate(incast(replace(rule, headroom=enough), buffer=20_000), method)
    assert wide.lost.sum() == 0.0
    assert wide.status is Status.COMPLETED
    half = simulate(incast(replace(rule, headroom=(100 + enough) // 2), buffer=20_000), method)
    assert half.status is Status.LOST_LOSSLESS  # so that the room was not plenty


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_pause_with_too_small_a_buffer_says_which_is_enough(method) -> None:
    rule = Pause(high=100, low=50)
    run = simulate(incast(rule, buffer=300), method)
    assert run.status is Status.LOST_LOSSLESS
    loss = next(each for each in run.lossless_losses if each.link == "s->d")
    assert (loss.priority, loss.given) == (-1, 200.0)
    assert "above high would have been enough" in str(loss)
    wide = simulate(incast(rule, buffer=100 + np.ceil(loss.headroom)), method)
    assert wide.lost.sum() == 0.0
    assert wide.status is Status.COMPLETED


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_other_losses_are_no_losses_of_a_lossless_class(method) -> None:
    """By a manager, or at the first link of senders that nothing pauses; or of a class that is not lossless."""
    rule = PFC((0,), xoff=60, xon=30, headroom=700, manager=RED(10, 40, weight=0.1))
    run = simulate(incast(rule, buffer=20_000), method)
    assert set(causes(run)) == {"manager"}
    assert run.status is Status.COMPLETED
    two = [Flow(n, ("h", "s", "d"), CBR(3e6), host="direct") for n in "ab"]
    links = [Link(*ends, 3e6, 1e-6, 100, PFC((0,), 30, 20)) for ends in (("h", "s"), ("s", "d"))]
    run = simulate(Scenario("one NIC", links, two, duration=1e-3), method)
    assert set(causes(run)) == {"own link"}
    assert run.lost.sum() > 0.0
    assert run.status is Status.COMPLETED
    lossy = incast(PFC((3,), xoff=60, xon=30))
    run = simulate(lossy, method)
    assert set(causes(run)) == {"buffer"}
    assert not run.drops().lossless.any()
    assert run.status is Status.COMPLETED


def test_random_losses_are_told_from_those_of_a_full_buffer() -> None:
    scenario = incast(PFC((0,), xoff=60, xon=30, headroom=700), buffer=20_000)
    run = simulate(scenario, Packets(seed=1, loss={"s->d": 0.01}))
    found = causes(run)
    assert set(found) == {"random"}
    assert found["random"] == run.lost.sum() > 50
    assert run.status is Status.COMPLETED
    assert "at random on the link" in run.summary()["lost at"]
    plain = chain(2, rate=1e3, delay=1e-3, buffer=20)
    flow = Flow("a", (1, 2), CBR(1.5e3), host="unshaped")
    both = simulate(
        Scenario("both", plain, [flow, replace(flow, name="b")], duration=2.0),
        Packets(seed=1, loss={"1->2": 0.1}),
    )
    found = causes(both)
    assert set(found) == {"buffer", "random"}
    assert sum(found.values()) == both.lost.sum()
    # 1 in 10 of what two access links send: four standard deviations of a binomial number
    assert found["random"] == pytest.approx(400.0, abs=4 * np.sqrt(400.0))


@pytest.mark.parametrize(
    "rule", [PFC((0,), 60, 30, headroom=100), Pause(high=100, low=50)], ids=str
)
def test_both_packet_engines_record_the_same_drops(rule) -> None:
    buffer = 300.0 if isinstance(rule, Pause) else 2000.0
    scenario = replace(incast(rule, buffer=buffer), duration=1e-3)
    method = Packets(seed=1, loss={"s->d": 0.02})
    run, slow = (run(scenario, method) for run in ENGINES)
    assert set(causes(run)) == {"buffer", "random"}
    assert len(run.excess) > 0
    np.testing.assert_array_equal(run.excess, slow.excess)
    np.testing.assert_array_equal(run.dropped, slow.dropped)


def test_a_run_without_a_record_of_causes_says_so() -> None:
    run = replace(simulate(incast(Pause(high=100, low=50)), level="fluid"), dropped=None)
    assert run.lossless_losses == ()
    with pytest.raises(ValueError, match="drops of 'incast': this run has no record"):
        run.drops()
