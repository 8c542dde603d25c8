"""PFC at packet level: service, room and pauses by class; and the fluid beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    FIFO,
    PFC,
    Flow,
    Link,
    Packets,
    Pause,
    Scenario,
    Trajectory,
    chain,
    simulate,
)
from hopflow import Status
from responsefn import NewReno

RULE = PFC(classes=(3,), xoff=50.0, xon=25.0)
PACKETS = Packets(seed=1)


def three_flows(rule: PFC, *, storage: float, web: float) -> Scenario:
    """Return two flows of class 3 that share the last of three links, and one of class 0."""
    flows = [
        Flow("a", (1, 2, 3, 4), CBR(storage), priority=3, host="unshaped"),
        Flow("b", (3, 4), CBR(storage), priority=3, host="unshaped"),
        Flow("web", (1, 2, 3, 4), CBR(web), host="unshaped"),
    ]
    links = chain(4, rate=1e4, delay=1e-3, buffer=400.0, discipline=rule)
    return Scenario("three flows", links, flows, duration=0.5)


def pauses(run: Trajectory) -> dict[tuple[str, int], tuple[float, float, float]]:
    """Return number, begin of the first, and duration of the pauses of each link and class."""
    table = run.pauses().to_pandas()
    return {
        key: (float(len(own)), own.begin.min(), own.duration.sum())
        for key, own in table.groupby(["link", "priority"])
    }


@pytest.mark.parametrize(
    ("classes", "storage", "web"),
    [((3,), 8e3, 3e3), ((3,), 8e3, 9e3), ((0, 3), 5e3, 9e3)],
    ids=["web unpaused", "web loses", "both paused"],
)
def test_fluid_and_packets_pause_the_same_classes(classes, storage: float, web: float) -> None:
    """Rates and drops to 3 %; pauses to one in ten in number, and 5 % in time.

    A packet more or less in a queue that grows by 1000 to 7000 packets/s is up to a millisecond. Of two
    ingress queues each has room for a fluid step more, 2.5 packets, which other classes have less.
    """
    scenario = three_flows(replace(RULE, classes=classes), storage=storage, web=web)
    fluid, packets = simulate(scenario), simulate(scenario, PACKETS)
    np.testing.assert_allclose(packets.delivered[:, -1], fluid.delivered[:, -1], rtol=0.03)
    np.testing.assert_allclose(packets.peak_queue, fluid.peak_queue, atol=2 * 2.5 + 3)
    np.testing.assert_allclose(
        packets.lost.sum(axis=(1, 2)), fluid.lost.sum(axis=(1, 2)), rtol=0.03
    )
    assert packets.lost[:2].sum() == 0.0
    one, two = pauses(fluid), pauses(packets)
    assert one.keys() == two.keys()
    assert {priority for _, priority in one} == set(classes)
    for key, (number, first, total) in one.items():
        assert two[key][0] == pytest.approx(number, rel=0.1, abs=1.0)
        assert two[key][1] == pytest.approx(first, abs=1e-3)
        assert two[key][2] == pytest.approx(total, rel=0.05)


def test_one_class_from_one_link_is_802_3x() -> None:
    """Packet for packet."""
    flow = Flow("a", (1, 2, 3, 4), CBR(8e3), host="unshaped")
    runs = []
    for rule in (PFC(xoff=50.0, xon=25.0), Pause(50.0, 25.0)):
        links = list(chain(4, rate=1e4, delay=1e-3, buffer=200.0, discipline=rule))
        links[2] = replace(links[2], rate=5e3)
        runs.append(simulate(Scenario("one", links, [flow], duration=0.3), PACKETS))
    np.testing.assert_array_equal(runs[0].queued, runs[1].queued)
    np.testing.assert_array_equal(runs[0].delivered, runs[1].delivered)
    assert len(runs[0].paused) > 10
    for name in ("link", "by", "begin", "end"):
        np.testing.assert_array_equal(runs[0].paused[name], runs[1].paused[name])


def test_less_room_than_what_is_on_its_way_loses_packets() -> None:
    tight = replace(RULE, headroom=8.0)
    run = simulate(three_flows(tight, storage=8e3, web=3e3), PACKETS)
    assert run.lost[:2].sum() > 0.0
    assert run.lost[2].sum() == 0.0
    assert run.imbalance.max() == 0.0


def test_tcp_behind_a_queue_of_one_class_and_acks_of_both() -> None:
    """A FIFO link of one class is paused as a whole; packets are accounted for in both classes."""
    links = [
        Link(1, 2, 1e4, 1e-3, 300.0, FIFO()),
        Link(3, 2, 1e4, 1e-3, 300.0, RULE),
        Link(2, 4, 5e3, 1e-3, 400.0, RULE),
        Link(4, 2, 5e3, 1e-3, 400.0, RULE),
    ]
    flows = [
        Flow("one", (1, 2, 4), NewReno(), 200.0, priority=3, host="unshaped"),
        Flow("two", (3, 2, 4), NewReno(), 200.0, priority=3, host="unshaped"),
        Flow("web", (3, 2, 4), NewReno(), 200.0, host="unshaped"),
        Flow("back", (4, 2), CBR(1e3), priority=3),
    ]
    run = simulate(Scenario("tcp", links, flows, duration=0.6), PACKETS)
    assert run.status is Status.COMPLETED
    assert {("1->2", 3), ("3->2", 3)} <= pauses(run).keys()
    assert run.lost[[0, 1, 3]].sum() == 0.0
    sent = run.delivered[:3, -1]
    assert sent[:2].sum() == pytest.approx(sent[2], rel=0.15)  # equal shares of the classes
    assert sent.sum() == pytest.approx(5e3 * 0.6, rel=0.1)
