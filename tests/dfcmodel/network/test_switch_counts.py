"""PFC that counts what waits of an ingress for all outputs of a switch, as switches do: both levels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    FIFO,
    PFC,
    Flow,
    Fluid,
    Link,
    Packets,
    Pause,
    Scenario,
    load_scenario,
    save_scenario,
    simulate,
)
from tests.oracles.engines import advance, compile_scenario
from tests.oracles.fluid import runs as reference

RULE = PFC(classes=(3,), xoff=40.0, xon=20.0, counts="switch")


def two_outputs(rule: PFC = RULE, *, rate: float = 900.0, buffer: float = 300.0) -> Scenario:
    """Return flows of class 3 over one ingress of a switch to two outputs of half its rate, and one of class 0."""
    links = [
        Link("h", "a", 4e3, 1e-3, buffer, replace(rule, counts="output")),
        Link("a", "sw", 2e3, 2e-3, buffer, replace(rule, counts="output")),
        Link("sw", "x", 500.0, 1e-3, buffer, rule),
        Link("sw", "y", 500.0, 1e-3, buffer, rule),
    ]
    flows = [
        Flow("to x", ("h", "a", "sw", "x"), CBR(rate), priority=3, host="unshaped"),
        Flow("to y", ("h", "a", "sw", "y"), CBR(rate), priority=3, host="unshaped"),
        Flow("web", ("a", "sw", "x"), CBR(100.0), host="unshaped"),
    ]
    return Scenario("two outputs", links, flows, duration=0.5)


def most_inside(run) -> float:
    """Packets of class 3 that waited at once at the switch."""
    assert isinstance(run.scenario, Scenario)
    return float(run.queued[list(run.scenario.senders).index("sw")].max())


@pytest.mark.parametrize("method", [Fluid(), Packets(seed=1)], ids=["fluid", "packets"])
def test_all_outputs_together_reach_the_threshold(method: Fluid | Packets) -> None:
    """Counted apart each of two outputs holds xoff and more; together they hold that once."""
    rate = 1800.0 + 100.0 - 1000.0  # at which the queues grow
    most = {"switch": RULE.xoff + rate * 2 * 2e-3}  # until the pause is obeyed
    most["output"] = 2 * most["switch"] - 10.0  # the one that is not full yet stops with the other
    for counts in ("switch", "output"):
        run = simulate(two_outputs(replace(RULE, counts=counts)), method, sample=1e-3)
        assert run.lost.sum() == 0.0
        assert most_inside(run) == pytest.approx(
            most[counts], abs=4.0 if counts == "switch" else 10.0
        )
        assert "sw->x" in run.pauses()["by"].values


def test_levels_agree_on_when_links_are_paused() -> None:
    times = []
    for method in (Fluid(16), Packets(seed=1, ack_transmission=False)):
        table = simulate(two_outputs(), method, sample=1e-3).pauses()
        own = (table["by"] == "sw->x").values
        times.append(table["begin"].values[own][:3])
    assert times[0] == pytest.approx(times[1], abs=4e-3)  # two packets of the slower links


def test_the_engine_follows_the_reference() -> None:
    plans = [compile_scenario(two_outputs(), Fluid(), np.random.default_rng(1)) for _ in range(2)]
    ours, theirs = advance(plans[0], 600, 10), reference.advance(plans[1], 600, 10)
    assert ours.queued.max() > 10.0
    assert len(ours.switches) == len(theirs.switches) > 0
    assert ours.queued == pytest.approx(theirs.queued, abs=1e-4)
    assert ours.flows[:, :, :4] == pytest.approx(theirs.flows[:, :, :4], abs=1e-4)


@pytest.mark.parametrize("method", [Fluid(), Packets(seed=1)], ids=["fluid", "packets"])
def test_an_ingress_has_its_room_once(method: Fluid | Packets) -> None:
    """With less headroom than what is on its way, what exceeds xoff + headroom at all outputs is lost."""
    run = simulate(two_outputs(replace(RULE, headroom=1.0)), method, sample=1e-3)
    assert run.lost[:2].sum() > 1.0
    assert run.lost[2].sum() == 0.0
    assert most_inside(run) <= 41.0 + 3.0  # class 0 has the rest to itself
    assert (run.imbalance < 1e-12).all()


def test_rooms_are_taken_from_the_buffers_in_proportion() -> None:
    scenario = two_outputs()
    links = list(scenario.links)
    links[3] = replace(links[3], buffer=600.0)
    wide = replace(scenario, links=links)
    room = RULE.room(2e3, 2e-3)
    assert wide.counted_together(2) == (2, 3)
    assert wide.counted_together(1) == (1,)
    assert wide.rooms(2) == wide.rooms(3) == {(1, 3): room}
    assert wide.spare_of_rooms(3) == pytest.approx(900.0 - room)
    assert wide.reserved(2) == pytest.approx(room / 3)
    assert wide.reserved(3) == pytest.approx(2 * room / 3)
    assert scenario.reserved(1) == pytest.approx(RULE.room(4e3, 1e-3))


def two_inputs(rule) -> Scenario:
    """Return a large and a small flow that come to a switch over links of their own and leave over one."""
    links = [
        *(Link(name, "sw", 2e3, 1e-3, 300.0) for name in ("large", "small")),
        Link("sw", "x", 1e3, 1e-3, 300.0, rule),
    ]
    flows = [
        Flow(name, (name, "sw", "x"), CBR(rate), host="unshaped")
        for name, rate in (("large", 1500.0), ("small", 100.0))
    ]
    return Scenario("two inputs", links, flows, duration=0.5)


@pytest.mark.parametrize("method", [Fluid(), Packets(seed=1)], ids=["fluid", "packets"])
def test_with_one_class_inputs_are_paused_that_are_long_and_with_pause_all_are(method) -> None:
    """802.3x as most switches have it is PFC of one class that counts inputs."""
    by_input, by_output = (
        simulate(two_inputs(rule), method, sample=0.01)
        for rule in (PFC((0,), 40.0, 20.0, counts="switch"), Pause(40.0, 20.0))
    )
    small = [float(run.delivered[1, -1]) for run in (by_input, by_output)]
    assert small[0] == pytest.approx(100.0 * 0.5, abs=8.0)  # less what waits
    assert by_input.lost.sum() == by_output.lost.sum() == 0.0
    one, other = (
        simulate(replace(two_inputs(rule), flows=two_inputs(rule).flows[:1]), method, sample=0.01)
        for rule in (PFC((0,), 40.0, 20.0, counts="switch"), Pause(40.0, 20.0))
    )
    np.testing.assert_allclose(
        one.queued, other.queued, atol=1e-6
    )  # of one input they are the same
    senders = list(two_inputs(FIFO()).senders)
    waits = [
        float(run.backlog[1].max() + run.queued[senders.index("small")].max())
        for run in (by_input, by_output)
    ]
    assert (
        waits[1] > waits[0] + 1.0
    )  # what the small flow has to wait for before it comes to the switch


def test_links_that_are_counted_together_have_one_rule(tmp_path) -> None:
    links = list(two_outputs().links)
    links[3] = replace(links[3], discipline=replace(RULE, xoff=41.0))
    with pytest.raises(ValueError, match=r"discipline of link 'sw->[xy]'.*must be equal"):
        replace(two_outputs(), links=links)
    links[3] = replace(links[3], discipline=replace(RULE, counts="output"))
    with pytest.raises(ValueError, match=r"discipline of link 'sw->[xy]'.*must be equal"):
        replace(two_outputs(), links=links)
    with pytest.raises(ValueError, match="counts = 'node'"):
        PFC(counts="node")
    with pytest.raises(ValueError, match="PFC reserves"):
        two_outputs(buffer=20.0)
    path = tmp_path / "two.toml"
    save_scenario(two_outputs(), path)
    assert load_scenario(path) == two_outputs()
