"""Pauses by classes, with the bytes of `frame_sizes`, and how fast a sender obeys them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    DFC,
    FIFO,
    PFC,
    PIE,
    RED,
    ByteBuffer,
    CoDel,
    Fair,
    Flow,
    Fluid,
    Link,
    Packets,
    Pause,
    RampMarking,
    Scenario,
    StepMarking,
    chain,
    headroom,
    ring,
    simulate,
)
from hopflow import Status
from responsefn import DCTCP, NewReno
from tests.oracles.engines import advance, compile_scenario, plan_scenario
from tests.oracles.fluid import runs as reference

# PFC: which class is paused, what is lost, and what is refused.

LINK = {"rate": 1e4, "delay": 1e-3, "buffer": 400.0}
RULE_CLASS_PAUSES = PFC(classes=(3,), xoff=50.0, xon=25.0)


def two_classes(rule: PFC = RULE_CLASS_PAUSES, *, storage: float = 8e3, web: float = 3e3) -> Scenario:
    """Return two flows of class 3 that share the last of three links, and one of class 0."""
    flows = [
        Flow("a", (1, 2, 3, 4), CBR(storage), priority=3, host="unshaped"),
        Flow("b", (3, 4), CBR(storage), priority=3, host="unshaped"),
        Flow("web", (1, 2, 3, 4), CBR(web), host="unshaped"),
    ]
    return Scenario("two classes", chain(4, **LINK, discipline=rule), flows, duration=0.5)


def test_one_class_is_paused_and_the_other_is_not() -> None:
    """The other one is what it is without the paused class, late by the queue of its share."""
    run = simulate(two_classes(), level="fluid")
    assert set(run.pauses()["priority"].values.tolist()) == {3}
    assert run.lost.sum() == 0.0
    # the first link alone is faster than it needs: 3000 packets/s of 10,000 get through
    web = Scenario("web", chain(4, **LINK), [two_classes().flows[2]], duration=0.5)
    assert run.delivered[2, -1] == pytest.approx(simulate(web, level="fluid").delivered[0, -1], abs=1.0)
    storage = np.diff(run.delivered[:2, [249, 499]]).sum() / 0.25
    assert storage == pytest.approx(7e3, rel=1e-3)  # all of the rest
    under = simulate(two_classes(rule=replace(RULE_CLASS_PAUSES, classes=(0, 3))), level="fluid")
    assert set(under.pauses()["priority"].values.tolist()) == {3}  # 0 has no reason


def test_each_class_has_at_least_its_equal_share() -> None:
    """Half of the link for each of two that want more; paused or not makes no difference to that."""
    for classes in [(3,), (0, 3)]:
        run = simulate(
            two_classes(rule=replace(RULE_CLASS_PAUSES, classes=classes), web=9e3),
            duration=1.0,
            level="fluid",
        )
        late = np.diff(run.delivered[:, [499, 999]])[:, 0] / 0.5
        assert late[:2].sum() == pytest.approx(5e3, rel=0.01)
        assert late[2] == pytest.approx(5e3, rel=0.01)
        assert (run.lost[2].sum() > 0) == (classes == (3,))
        assert run.lost[:2].sum() == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_default_headroom_loses_nothing_and_less_does(seed: int) -> None:
    """Of random links, thresholds and signalling; with less than what is on its way, beside two packets in transmission, packets are lost."""
    random = np.random.default_rng(seed)
    rule = PFC((3,), xoff=float(random.uniform(5, 60)), signalling=float(random.uniform(0, 3e-3)), xon=1.0)
    links = [
        Link(n, n + 1, float(random.uniform(5e3, 2e4)), float(random.uniform(5e-4, 3e-3)), 5e3, rule)
        for n in range(1, 4)
    ]  # fmt: skip
    scenario = replace(two_classes(storage=2e4), links=links)
    run = simulate(scenario, level="fluid")
    assert run.lost[:2].sum() == 0.0
    assert len(run.paused) > 1
    ways = [rule.room(link.rate, link.delay) - rule.xoff - 2.0 for link in links]
    tight = replace(rule, headroom=0.3 * min(ways))
    short = simulate(replace(scenario, links=[replace(link, discipline=tight) for link in links]), level="fluid")
    assert short.lost[:2].sum() > 0.0


def test_one_class_from_one_link_is_802_3x() -> None:
    """Thresholds of the class are then those of the queue, to the last bit."""
    flow = Flow("a", (1, 2, 3, 4), CBR(8e3), host="unshaped")
    runs = []
    for rule in (PFC(xoff=50.3, xon=25.1, signalling=3e-4), Pause(50.3, 25.1, signalling=3e-4)):
        links = list(chain(4, **LINK, discipline=rule))
        links[2] = replace(links[2], rate=5e3)
        runs.append(simulate(Scenario("one", links, [flow], duration=0.5), level="fluid"))
    pfc, pause = runs
    np.testing.assert_array_equal(pfc.queued, pause.queued)
    np.testing.assert_array_equal(pfc.delivered, pause.delivered)
    assert len(pfc.paused) > 10
    for name in ("link", "by", "begin", "end"):
        np.testing.assert_array_equal(pfc.paused[name], pause.paused[name])


def test_thresholds_count_what_came_over_one_link() -> None:
    """Two inputs of 4000 packets/s at a link of 5000: each has its threshold and is paused for itself."""
    rule = PFC(xoff=20.0, xon=10.0)
    links = [Link(1, 3, **LINK, discipline=rule), Link(2, 3, **LINK, discipline=rule),
             Link(3, 4, 5e3, 1e-3, 400.0, rule)]  # fmt: skip
    flows = [Flow(f"{n}", (n, 3, 4), CBR(rate)) for n, rate in ((1, 5e3), (2, 1e3))]
    run = simulate(Scenario("inputs", links, flows, duration=0.5), level="fluid")
    assert {*run.pauses()["link"].values.tolist()} == {"1->3"}  # of the small one 6 at most wait
    first = run.pauses().isel(pause=0)
    # 1000 packets/s too many, five sixths of them of flow 1: it has 20 when 24 wait
    assert float(first.begin) == pytest.approx(1e-3 + 24.0 / 1e3 + 1e-3, abs=3e-4)


def test_marks_before_pauses_keep_classes_from_pausing() -> None:
    """ECN with PFC, as RoCE networks have it: senders that follow marks are paused at the start at most."""
    plain = replace(RULE_CLASS_PAUSES, xoff=60.0, xon=40.0)
    flows = [Flow(f"{n}", (n, 3, 4), DCTCP(), max_window=300, priority=3, host="unshaped") for n in (1, 2)]
    runs = []
    for rule in (plain, replace(plain, manager=RampMarking(15.0, 40.0, 0.5))):
        links = [Link(n, 3, **LINK, discipline=rule) for n in (1, 2)]
        links.append(Link(3, 4, **LINK, discipline=rule))
        runs.append(simulate(Scenario("RoCE", links, flows, duration=1.0), level="fluid"))
    paused = [(run.paused["begin"] > 0.3).sum() for run in runs]
    assert paused[0] > 10
    assert paused[1] == 0
    assert all(run.lost.sum() == 0.0 for run in runs)
    assert np.diff(runs[1].delivered[:, [299, 999]]).sum() / 0.7 == pytest.approx(1e4, rel=0.05)


def test_a_deadlock_of_one_class_leaves_the_other_alone() -> None:
    """Four links in a circle: class 3 fills it and stops for ever, class 0 goes on."""
    links = ring(4, rate=1e4, delay=1e-4, buffer=400.0, discipline=PFC((3,), 20.0, 10.0))
    nodes = [1, 2, 3, 4]
    flows = [
        Flow(f"{n}", [nodes[(n + j) % 4] for j in range(4)], CBR(9e3), priority=3, host="unshaped") for n in range(4)
    ]
    flows.append(Flow("web", (1, 2, 3), CBR(2e3), host="unshaped"))
    run = simulate(Scenario("circle", links, flows, duration=0.3), level="fluid")
    assert run.status is Status.DEADLOCKED
    assert set(run.deadlock.cycle) == {link.name for link in run.scenario.links if link.source in nodes}
    half = run.time > run.deadlock.since + 2e-3
    assert np.ptp(run.delivered[:4, half], axis=1).max() == 0.0
    late = run.delivered[4, half]
    assert (late[-1] - late[0]) / np.ptp(run.time[half]) == pytest.approx(2e3, rel=1e-3)


def test_a_queue_of_two_classes_cannot_stop_one_of_them() -> None:
    scenario = two_classes()
    for rule in (FIFO(), Fair(), Pause()):
        links = [replace(scenario.links[0], discipline=rule, buffer=2e3), *scenario.links[1:]]
        kind = type(rule).__name__
        match = rf"discipline of link '1->2': 2->3 pauses class 3 alone, which {kind} cannot among classes 0, 3"
        with pytest.raises(ValueError, match=match):
            replace(scenario, links=links)
    links = [replace(scenario.links[0], discipline=FIFO()), *scenario.links[1:]]
    one = simulate(replace(scenario, links=links, flows=scenario.flows[:2]), level="fluid")  # of one class it can
    assert {"1->2"} <= {*one.pauses()["link"].values.tolist()}
    links = [replace(scenario.links[0], discipline=DFC()), *scenario.links[1:]]
    with pytest.raises(ValueError, match=r"discipline of link '1->2': DFC cannot feed 2->3"):
        replace(scenario, links=links)


def test_a_buffer_has_room_for_all_that_is_reserved() -> None:
    """Two inputs of 50 packets and the headroom of 120 Mb/s and 1 ms, 22.07 each."""
    scenario = two_classes()
    small = replace(scenario.links[2], buffer=144.0)
    match = (
        r"buffer of link '3->4' = 144 packets: PFC reserves 144.143 packets of its buffer for 2 ingress queues; "
        r"increase it to 145 packets \(217.5 kB\), .*; with counts='switch'"
    )
    with pytest.raises(ValueError, match=match):
        replace(scenario, links=[*scenario.links[:2], small])
    enough = replace(scenario.links[2], buffer=145.0)
    assert replace(scenario, links=[*scenario.links[:2], enough]).links[2] == enough
    with pytest.raises(ValueError, match=r"shared of link a->b = False: its classes divide one"):
        Link("a", "b", **LINK, discipline=RULE_CLASS_PAUSES, shared=False)


@pytest.mark.parametrize("part", [0.99, 1.01, 2.0, 10.0, 1e3])
def test_buffers_are_refused_below_what_is_reserved_and_at_no_size_above(part: float) -> None:
    """The bound that spares large buffers the sum must not spare small ones."""
    large = [replace(link, buffer=1e6) for link in two_classes().links]
    scenario = replace(two_classes(), links=large)
    reserved = max(scenario.reserved(n) for n in range(len(large)))
    links = [replace(link, buffer=part * reserved) for link in large]
    if part > 1.0:
        assert replace(scenario, links=links).reserved(2) == reserved
        return
    with pytest.raises(ValueError, match="PFC reserves"):
        replace(scenario, links=links)


# Queue managers of one class under PFC: ECN for the lossless class alone, as RoCE fabrics have it; both levels.

RULE_MANAGED_CLASSES = PFC(classes=(3,), xoff=60.0, xon=30.0, manager=StepMarking(20.0), managed=3)
ROCE, TCP = DCTCP(), NewReno()
METHODS = pytest.mark.parametrize("method", [Fluid(), Packets(seed=1)], ids=["fluid", "packets"])


def fabric(rule: PFC = RULE_MANAGED_CLASSES, storage=ROCE, web=TCP, *, senders: int = 2) -> Scenario:
    """Return senders of class 3 and one of class 0 over a switch to one host."""
    links = [Link(f"h{n}", "sw", 1e4, 5e-5, 2e3, rule) for n in range(senders + 1)]
    links.append(Link("sw", "x", 1e4, 5e-5, 2e3, rule))
    flows = [Flow(f"{n}", (f"h{n}", "sw", "x"), storage, 400.0, priority=3, host="unshaped") for n in range(senders)]
    flows.append(Flow("web", (f"h{senders}", "sw", "x"), web, 400.0, host="unshaped"))
    return Scenario("fabric", links, flows, duration=1.0, min_rto=0.01)


def class_queue(run, late: float = 0.5) -> float:
    """Mean queue of the switch after a time."""
    at = list(run.scenario.senders).index("sw")
    return float(run.queued[at, run.time > late].mean())


@METHODS
def test_marks_keep_the_lossless_class_below_the_pause(method) -> None:
    """DCTCP settles at the threshold of the marks, and nobody is paused; without marks pauses hold it at xoff."""
    quiet = CBR(100.0)
    marked = simulate(fabric(web=quiet), method)
    assert marked.lost.sum() == 0.0
    table = marked.pauses()
    assert not (table["begin"].values > 0.3).any()
    assert 10.0 < class_queue(marked) < 45.0
    bare = simulate(fabric(replace(RULE_MANAGED_CLASSES, manager=None, managed=None), web=quiet), method)
    assert class_queue(bare) > class_queue(marked) + 20.0
    assert len(bare.pauses()["begin"]) > 10


@METHODS
def test_the_manager_sees_only_its_class(method) -> None:
    """Many packets of class 0 wait; class 3 alone is short, so that none of its packets is marked or dropped."""
    full = fabric(storage=CBR(1e3), web=CBR(2e4), rule=replace(RULE_MANAGED_CLASSES, manager=RED(5.0, 15.0)))
    run = simulate(replace(full, duration=0.3), method)
    assert run.lost[:2].sum() == 0.0
    web = run.lost[2].sum()
    every = replace(RULE_MANAGED_CLASSES, manager=RED(5.0, 15.0), managed=None)
    links = tuple(replace(link, discipline=every) for link in full.links)
    both = simulate(replace(full, links=links, duration=0.3), method)
    assert both.lost[:2].sum() > 0.0  # RED sees all that waits, and drops of all
    assert both.lost[2].sum() > web


@METHODS
def test_a_class_that_never_comes_has_a_manager_that_never_acts(method) -> None:
    plain = simulate(fabric(replace(RULE_MANAGED_CLASSES, manager=None, managed=None)), method, duration=0.1)
    other = simulate(fabric(replace(RULE_MANAGED_CLASSES, managed=5)), method, duration=0.1)
    np.testing.assert_array_equal(plain.delivered, other.delivered)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="managed = 8"):
        PFC(manager=StepMarking(), managed=8)
    with pytest.raises(ValueError, match="managed = 3: must be None where manager is None"):
        PFC(managed=3)
    for several in ({3: StepMarking(20.0), 0: RED()}, (StepMarking(20.0), RED())):
        with pytest.raises(TypeError, match="one queue manager: a link has one, of the class managed="):
            PFC(manager=several)
    for manager in (CoDel(), PIE()):
        scenario = fabric(replace(RULE_MANAGED_CLASSES, manager=manager))
        with pytest.raises(ValueError, match="managed of link h0->sw = 3"):
            simulate(scenario, Packets())
        assert simulate(scenario, duration=0.05, level="fluid").status.ok


# PFC that counts what waits of an ingress for all outputs of a switch, as switches do: both levels.

RULE_SWITCH_COUNTS = PFC(classes=(3,), xoff=40.0, xon=20.0, counts="switch")


def two_outputs(rule: PFC = RULE_SWITCH_COUNTS, *, rate: float = 900.0, buffer: float = 300.0) -> Scenario:
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
    most = {"switch": RULE_SWITCH_COUNTS.xoff + rate * 2 * 2e-3}  # until the pause is obeyed
    most["output"] = 2 * most["switch"] - 10.0  # the one that is not full yet stops with the other
    for counts in ("switch", "output"):
        run = simulate(two_outputs(replace(RULE_SWITCH_COUNTS, counts=counts)), method, sample=1e-3)
        assert run.lost.sum() == 0.0
        assert most_inside(run) == pytest.approx(most[counts], abs=4.0 if counts == "switch" else 10.0)
        by = set(run.pauses()["by"].values)
        assert ("node sw" if counts == "switch" else "sw->x") in by


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
    run = simulate(two_outputs(replace(RULE_SWITCH_COUNTS, headroom=1.0)), method, sample=1e-3)
    assert run.lost[:2].sum() > 1.0
    assert run.lost[2].sum() == 0.0
    assert most_inside(run) <= 41.0 + 3.0  # class 0 has the rest to itself
    assert (run.imbalance < 1e-12).all()


def test_rooms_are_taken_from_the_buffers_in_proportion() -> None:
    scenario = two_outputs()
    links = list(scenario.links)
    links[3] = replace(links[3], buffer=600.0)
    wide = replace(scenario, links=links)
    room = RULE_SWITCH_COUNTS.room(2e3, 2e-3)
    assert wide.count_group(2) == (2, 3)
    assert wide.count_group(1) == (1,)
    assert wide.rooms(2) == wide.rooms(3) == {(1, 3): room}
    assert wide.spare_of_rooms(3) == pytest.approx(900.0 - room)
    assert wide.reserved(2) == pytest.approx(room / 3)
    assert wide.reserved(3) == pytest.approx(2 * room / 3)
    assert scenario.reserved(1) == pytest.approx(RULE_SWITCH_COUNTS.room(4e3, 1e-3))


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
    np.testing.assert_allclose(one.queued, other.queued, atol=1e-6)  # of one input they are the same
    senders = list(two_inputs(FIFO()).senders)
    waits = [float(run.backlog[1].max() + run.queued[senders.index("small")].max()) for run in (by_input, by_output)]
    assert waits[1] > waits[0] + 1.0  # what the small flow has to wait for before it comes to the switch


def test_links_that_are_counted_together_have_one_rule() -> None:
    links = list(two_outputs().links)
    links[3] = replace(links[3], discipline=replace(RULE_SWITCH_COUNTS, xoff=41.0))
    with pytest.raises(ValueError, match=r"discipline of link 'sw->[xy]'.*must be equal"):
        replace(two_outputs(), links=links)
    links[3] = replace(links[3], discipline=replace(RULE_SWITCH_COUNTS, counts="output"))
    with pytest.raises(ValueError, match=r"discipline of link 'sw->[xy]'.*must be equal"):
        replace(two_outputs(), links=links)
    with pytest.raises(ValueError, match="counts = 'node'"):
        PFC(counts="node")
    with pytest.raises(ValueError, match="PFC reserves"):
        two_outputs(buffer=20.0)


# The default headroom of PFC: that of `headroom` for the link, and what is assumed where the standard has no value.

BYTES = 1500.0
RESPONSE_QUANTA = {
    10e6: 1.125, 100e6: 1.125, 1e9: 2, 10e9: 74, 25e9: 80, 40e9: 118, 50e9: 147, 100e9: 394, 200e9: 453, 400e9: 905,
    800e9: 905,
}  # fmt: skip
"""Response times of a peer in quanta of 512 bits by rate in b/s: IEEE 802.3, 31B.3.7, of 10GBASE-T at 10 Gb/s."""


def default_headroom(bits: Any, delay: float, signalling: float = 0.0) -> Any:
    """Return the room above xoff of links of some b/s, packets."""
    rule = PFC(xoff=0.5, xon=0.5, signalling=signalling)
    return rule.room(bits / (8.0 * BYTES), delay, BYTES) - 0.5


@pytest.mark.parametrize("rate", RESPONSE_QUANTA)
def test_it_is_the_headroom_of_the_cable_without_preambles_and_gaps(rate: float) -> None:
    """`headroom` rounds delays up to bit times: within a byte; preambles and gaps are 20 bytes of 1520."""
    for metres in (1.0, 300.0):
        port = headroom(f"{rate:.0f}bps", f"{metres:g}m", mtu=1500)
        parts = {item.name: item.bytes[1] for item in port.items}
        whole = sum(parts.values()) - parts["preambles, gaps and phase"]
        found = default_headroom(rate, metres / 2e8) * BYTES
        assert found == pytest.approx(whole, abs=1.0)
        assert port.bytes <= found <= 1.02 * port.bytes + 2.0 * BYTES


def test_rates_that_are_not_listed_take_the_response_of_the_next_faster_one() -> None:
    """Above the fastest one that of it; a rate is a listed one to rounding."""
    taken = {1e6: 10e6, 100e6: 100e6, 24e9: 25e9, 99e9: 100e9, 100e9 * (1.0 + 1e-12): 100e9, 101e9: 200e9, 3.2e12: 800e9}  # fmt: skip
    delay = 1e-6
    for bits, listed in taken.items():
        response = 512 * RESPONSE_QUANTA[listed] / listed  # s
        expected = 2.0 + (92.0 + bits / 8.0 * (2.0 * delay + response)) / BYTES
        assert default_headroom(bits, delay) == pytest.approx(expected, rel=1e-11)
    with pytest.raises(ValueError, match="response at 24 Gb/s: must be given"):
        headroom("24Gbps", "200m")


def test_signalling_is_a_pipeline_and_arrays_are_taken() -> None:
    more = default_headroom(100e9, 1e-6, 3e-6) - default_headroom(100e9, 1e-6)
    assert more == pytest.approx(3e-6 * 100e9 / (8.0 * BYTES))
    found = default_headroom(np.array([100e9, 200e9]), 1e-6)
    assert found.tolist() == [default_headroom(each, 1e-6) for each in (100e9, 200e9)]


def test_acks_in_the_class_take_whole_cells() -> None:
    """An ACK of 40 bytes takes a cell of 80: the room for what comes is twice as large; with cells of 64 1.6 times."""
    cells = ByteBuffer("10 MB", cell=80)
    rule = PFC(acks="class")
    plain = rule.room(1e6, 1e-6, 1600.0, 1e4) - rule.xoff
    assert rule.room(1e6, 1e-6, 1600.0, cells) - rule.xoff == pytest.approx(2.0 * plain)
    assert replace(rule, acks="control").room(1e6, 1e-6, 1600.0, cells) - rule.xoff == plain
    assert replace(rule, headroom=5.0).room(1e6, 1e-6, 1600.0, cells) == rule.xoff + 5.0
    bare = rule.room(1e6, 1e-6, 6400.0)
    for buffer, factor in ((ByteBuffer("10 MB"), 1.0), (ByteBuffer("10 MB", cell=64), 1.6)):
        room = rule.room(1e6, 1e-6, 6400.0, buffer) - rule.xoff
        assert room == pytest.approx(factor * (bare - rule.xoff))


# Packets without data have the same sizes wherever they are counted.


def test_acks_of_the_packet_level_are_those_of_the_headroom() -> None:
    """With the smallest one a cell of 80 bytes is half empty, as above."""
    links = chain(2, rate=1e4, delay=1e-3, buffer=10)
    scenario = Scenario("one", links, [Flow("one", (1, 2), NewReno())], duration=0.1)
    plan = plan_scenario(scenario, Packets(), duration=0.1, sample=0.1)
    assert plan.sizes[1:6].tolist() == [40, 48, 56, 64, 64]  # none to three SACK blocks, CNPs
