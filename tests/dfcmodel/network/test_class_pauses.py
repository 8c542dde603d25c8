"""PFC: which class is paused, what is lost, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    DFC,
    FIFO,
    PFC,
    Fair,
    Flow,
    Link,
    Pause,
    RampMarking,
    Scenario,
    chain,
    load_scenario,
    ring,
    save_scenario,
    simulate,
)
from dfcmodel import FIFO as NO_MANAGER
from dfcmodel.network.class_pauses import IN_TRANSMISSION
from hopflow import Status
from responsefn import DCTCP

LINK = {"rate": 1e4, "delay": 1e-3, "buffer": 400.0}
RULE = PFC(classes=(3,), xoff=50.0, xon=25.0)


def two_classes(rule: PFC = RULE, *, storage: float = 8e3, web: float = 3e3) -> Scenario:
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
    assert run.delivered[2, -1] == pytest.approx(
        simulate(web, level="fluid").delivered[0, -1], abs=1.0
    )
    storage = np.diff(run.delivered[:2, [249, 499]]).sum() / 0.25
    assert storage == pytest.approx(7e3, rel=1e-3)  # all of the rest
    under = simulate(two_classes(rule=replace(RULE, classes=(0, 3))), level="fluid")
    assert set(under.pauses()["priority"].values.tolist()) == {3}  # 0 has no reason


def test_each_class_has_at_least_its_equal_share() -> None:
    """Half of the link for each of two that want more; paused or not makes no difference to that."""
    for classes in [(3,), (0, 3)]:
        run = simulate(
            two_classes(rule=replace(RULE, classes=classes), web=9e3), duration=1.0, level="fluid"
        )
        late = np.diff(run.delivered[:, [499, 999]])[:, 0] / 0.5
        assert late[:2].sum() == pytest.approx(5e3, rel=0.01)
        assert late[2] == pytest.approx(5e3, rel=0.01)
        assert (run.lost[2].sum() > 0) == (classes == (3,))
        assert run.lost[:2].sum() == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_default_headroom_loses_nothing_and_less_does(seed: int) -> None:
    """Of random links, thresholds and signalling; with less than what is on its way packets are lost."""
    random = np.random.default_rng(seed)
    rule = PFC(
        (3,), xoff=float(random.uniform(5, 60)), signalling=float(random.uniform(0, 3e-3)), xon=1.0
    )
    links = [
        Link(n, n + 1, float(random.uniform(5e3, 2e4)), float(random.uniform(5e-4, 3e-3)), 5e3, rule)
        for n in range(1, 4)
    ]  # fmt: skip
    scenario = replace(two_classes(storage=2e4), links=links)
    run = simulate(scenario, level="fluid")
    assert run.lost[:2].sum() == 0.0
    assert len(run.paused) > 1
    ways = [rule.room(link.rate, link.delay) - rule.xoff - IN_TRANSMISSION for link in links]
    tight = replace(rule, headroom=0.3 * min(ways))
    short = simulate(
        replace(scenario, links=[replace(link, discipline=tight) for link in links]), level="fluid"
    )
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
    plain = replace(RULE, xoff=60.0, xon=40.0)
    flows = [
        Flow(f"{n}", (n, 3, 4), DCTCP(), max_window=300, priority=3, host="unshaped")
        for n in (1, 2)
    ]
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
        Flow(f"{n}", [nodes[(n + j) % 4] for j in range(4)], CBR(9e3), priority=3, host="unshaped")
        for n in range(4)
    ]
    flows.append(Flow("web", (1, 2, 3), CBR(2e3), host="unshaped"))
    run = simulate(Scenario("circle", links, flows, duration=0.3), level="fluid")
    assert run.status is Status.DEADLOCKED
    assert set(run.deadlock.cycle) == {
        link.name for link in run.scenario.links if link.source in nodes
    }
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
    one = simulate(
        replace(scenario, links=links, flows=scenario.flows[:2]), level="fluid"
    )  # of one class it can
    assert {"1->2"} <= {*one.pauses()["link"].values.tolist()}
    links = [replace(scenario.links[0], discipline=DFC()), *scenario.links[1:]]
    with pytest.raises(ValueError, match=r"discipline of link '1->2': DFC cannot feed 2->3"):
        replace(scenario, links=links)


def test_a_buffer_has_room_for_all_that_is_reserved() -> None:
    """Two inputs of 50 packets and the headroom of 120 Mb/s and 1 ms, 22.07 each."""
    scenario = two_classes()
    small = replace(scenario.links[2], buffer=144.0)
    match = r"buffer of link '3->4' = 144: PFC reserves 144.143 packets of its buffer for 2 ingress"
    with pytest.raises(ValueError, match=match):
        replace(scenario, links=[*scenario.links[:2], small])
    with pytest.raises(ValueError, match=r"shared of link a->b = False: its classes divide one"):
        Link("a", "b", **LINK, discipline=RULE, shared=False)


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


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        ("classes", (), r"classes = \(\): must be a tuple of priorities from 0 to 7"),
        ("classes", 3, r"classes = 3: must be a tuple"),
        ("classes", (8,), "classes = 8"),
        ("classes", (1, 1), "must differ"),
        ("classes", (1.5,), "classes = 1.5"),
        ("xoff", 0.0, "xoff = 0"),
        ("xon", 51.0, "xon = 51"),
        ("headroom", -1.0, "headroom = -1"),
        ("signalling", -1.0, "signalling = -1"),
        ("storm", -1.0, "storm = -1"),
        ("manager", NO_MANAGER(), r"manager = FIFO\(\): must be a queue manager"),
    ],
)
def test_bad_parameters_are_named(field: str, value: object, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        replace(RULE, **{field: value})


def test_files_keep_it(tmp_path) -> None:
    scenario = two_classes(rule=replace(RULE, headroom=30.0, manager=RampMarking(5.0, 20.0, 0.1)))
    assert load_scenario(save_scenario(scenario, tmp_path / "pfc.toml")) == scenario
