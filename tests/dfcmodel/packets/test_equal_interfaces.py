"""Network interfaces of hosts, the control class of ACKs, and fabrics that lose nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    DFC,
    FIFO,
    PFC,
    Flow,
    Fluid,
    Link,
    Packets,
    Pause,
    Scenario,
    chain,
    simulate,
)
from responsefn import DCQCN, NewReno
from tests.dfcmodel.packets.random_fabrics import random_fabric
from tests.oracles.engines import plan_scenario, run_engine, run_reference

RATE = 3e6
QUICK = (*range(12), 38)
"""Seeds of the quick tests; in the last one ACKs leave a switch by a port to which no data goes from their ingress."""
FABRICS = [
    pytest.param(seed, marks=[] if seed in QUICK else [pytest.mark.slow]) for seed in range(200)
]


def in_order(switched: np.ndarray) -> np.ndarray:
    """Return pauses by time: the compiled engine writes them port by port."""
    return switched[np.lexsort(switched.round(15).T[::-1])]


def both_engines(scenario: Scenario) -> object:
    """Return the records of the compiled engine, which those of the reference engine equal."""
    plan = plan_scenario(
        scenario, Packets(seed=1), duration=scenario.duration, sample=scenario.duration / 10
    )
    found, wanted = run_engine(plan), run_reference(plan)
    S = plan.samples
    for name in (
        "delivered",
        "lost",
        "started",
        "waiting",
        "acked",
    ):  # without what is beyond the end
        np.testing.assert_array_equal(
            getattr(found, name)[:S], getattr(wanted, name)[:S], err_msg=name
        )
    np.testing.assert_array_equal(found.peak, wanted.peak)
    for name in ("finished", "window"):  # sums of times in another order
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-9)
    np.testing.assert_allclose(in_order(found.switched), in_order(wanted.switched), rtol=1e-9)
    return found


@pytest.mark.parametrize("seed", FABRICS)
def test_random_fabrics_lose_nothing_and_are_those_of_the_reference(seed: int) -> None:
    scenario = random_fabric(seed)
    records: object = both_engines(scenario)
    assert records.lost[:-1].sum() == 0  # type: ignore[attr-defined]
    assert str(simulate(scenario, Packets(seed=1)).status) == "completed"


@pytest.mark.parametrize("host", ["unshaped", "direct"])
@pytest.mark.parametrize("seed", range(4))
def test_other_hosts_are_those_of_the_reference(seed: int, host: str) -> None:
    both_engines(random_fabric(seed, host))


def star(n: int, rule: object, **given: object) -> Scenario:
    """Return a host whose n flows go to as many others over one switch."""
    links = [Link("h", "leaf", RATE, 1e-6, 10_000, rule)]
    links += [Link("leaf", f"d{k}", RATE, 1e-6, 10_000, rule) for k in range(n)]
    flows = [Flow(f"{k}", ("h", "leaf", f"d{k}"), size=2000, **given) for k in range(n)]
    return Scenario("star", links, flows, duration=1.2 * n * 2000 / RATE)


@pytest.mark.parametrize("method", [Packets(seed=1), Fluid()], ids=["packets", "fluid"])
@pytest.mark.parametrize("source", [CBR(RATE), DCQCN()], ids=["CBR", "DCQCN"])
def test_flows_of_a_host_share_its_interface_and_nothing_is_lost(
    source: object, method: object
) -> None:
    run = simulate(star(8, PFC(xoff=64, xon=48), source=source), method)
    assert run.lost.sum() == 0.0
    # the last one ends when all have been sent, one after the other, and two ways of a packet later; 2 steps of fluid
    assert run.finished.max() == pytest.approx(8 * 2000 / RATE + 2e-6 + 1 / RATE, rel=1e-3)


def test_a_rate_rule_has_one_packet_at_most_in_the_interface() -> None:
    run = simulate(star(8, PFC(xoff=64, xon=48), source=DCQCN()), Packets(seed=1))
    assert 7 <= run.peak_queue[0] <= 8
    longer = simulate(star(8, PFC(xoff=64, xon=48), source=CBR(RATE)), Packets(seed=1))
    assert longer.peak_queue[0] > 1000  # what an application writes waits in its host


def test_a_pause_stops_one_class_of_an_interface() -> None:
    rule = PFC((3,), xoff=40, xon=20)
    links = [
        Link("h", "s", RATE, 1e-6, 5000, rule),
        Link("s", "slow", RATE / 10, 1e-6, 5000, rule),
        Link("s", "quick", RATE, 1e-6, 5000, rule),
    ]
    flows = [
        Flow("storage", ("h", "s", "slow"), CBR(RATE / 2), priority=3),
        Flow("web", ("h", "s", "quick"), CBR(RATE / 2)),
    ]
    run = simulate(Scenario("classes", links, flows, duration=5e-3), Packets(seed=1))
    sent = run.delivered[:, -1] / run.time[-1] / RATE
    assert sent[0] == pytest.approx(0.1, rel=0.05)  # what its link takes
    assert sent[1] == pytest.approx(0.5, rel=0.01)  # all of it
    assert run.lost.sum() == 0.0


def two_ways(source: object, rule: PFC, **given: object) -> Scenario:
    """Return four flows that meet in both directions of two switches."""
    pairs = [("h1", "s1"), ("s1", "s2"), ("s2", "h2"), ("s2", "h3")]
    links = [Link(*ends, RATE, 1e-6, 5000, rule) for a, b in pairs for ends in ((a, b), (b, a))]
    paths = [
        ("h1", "s1", "s2", "h2"),
        ("h3", "s2", "h2"),
        ("h2", "s2", "s1", "h1"),
        ("h2", "s2", "h3"),
    ]
    flows = [Flow(str(n), path, source, **given) for n, path in enumerate(paths)]
    return Scenario("two ways", links, flows, duration=5e-3, packet_size=1000)


@pytest.mark.parametrize("acks", ["control", "class"])
@pytest.mark.parametrize("host", [None, "unshaped"])
@pytest.mark.parametrize("source", [DCQCN(), NewReno()], ids=["DCQCN", "NewReno"])
def test_acks_take_no_room_of_a_lossless_class(source: object, host: str | None, acks: str) -> None:
    scenario = two_ways(source, PFC(xoff=60, xon=30, acks=acks), host=host)
    assert simulate(scenario, Packets(seed=1)).lost.sum() == 0.0


def test_a_pause_of_the_class_delays_acks_in_it_alone() -> None:
    """A receiver behind a paused link answers at once where ACKs are apart."""
    trips = []
    for acks in ("control", "class"):
        rule = PFC(xoff=10, xon=5, acks=acks)
        links = [
            Link(*ends, RATE, 1e-6, 3000, rule) for ends in (("a", "s"), ("s", "b"), ("b", "s"))
        ]
        links += [Link("s", "a", RATE / 20, 1e-6, 3000, rule)]
        flows = [
            Flow("there", ("a", "s", "b"), NewReno(), 4.0),
            Flow("back", ("b", "s", "a"), CBR(RATE)),  # is paused nearly always
        ]
        run = simulate(Scenario("acks", links, flows, duration=5e-3), Packets(seed=1))
        trips.append(np.nanmean(run.round_trip[0]))
        assert run.lost.sum() == 0.0
    assert trips[0] < 0.2 * trips[1]


def test_the_host_follows_from_the_first_link() -> None:
    flow = Flow("a", (1, 2, 3), CBR(100.0))
    hosts = []
    for rule in (FIFO(), PFC(), Pause(50, 25), DFC()):
        links = chain(3, rate=1e3, delay=1e-3, buffer=500, discipline=rule)
        hosts.append(Scenario("x", links, [flow]).host_of(flow))
    assert hosts == ["direct", "nic", "nic", "direct"]


def test_an_interface_is_the_first_link_of_a_host_and_has_an_access_link_at_a_switch() -> None:
    links = chain(3, rate=1e3, delay=1e-3, buffer=500, discipline=PFC())
    first, last = Flow("a", (1, 2, 3), CBR(100.0)), Flow("b", (2, 3), CBR(100.0))
    scenario = Scenario("x", links, [first, last])
    assert scenario.interfaces == {0}
    assert [scenario.enters_at_once(flow) for flow in scenario.flows] == [True, False]
    assert scenario.base_rtt(last) == pytest.approx(4e-3)
    mixed = Scenario("x", links, [first, replace(first, name="c", host="direct")])
    assert not mixed.interfaces  # the packets of c enter the buffer of a switch
    both_engines(replace(mixed, flows=(*mixed.flows, last), duration=1.0))


def test_an_interface_is_not_counted_with_a_link_of_its_host_that_carries_acks_alone() -> None:
    """The compiled engine did not end."""
    rule = PFC(xoff=38.0, xon=8.0, counts="switch")
    links = [
        Link(0, 4, 643.0, 0.023, 20_000.0),
        Link(4, 0, 728.0, 0.0275, 20_000.0, rule),
        Link(4, 5, 2409.0, 0.0047, 20_000.0, rule),
        Link(5, 4, 2746.0, 0.00557, 20_000.0),
    ]
    flows = [
        Flow("to the host", (5, 4), NewReno(), max_window=134.0),
        Flow("from the host", (4, 0), CBR(752.0), size=53),
    ]
    scenario = Scenario("two links", links, flows, duration=0.6)
    assert scenario.interfaces == {1}
    assert [scenario.counted_together(n) for n in (1, 2)] == [(1,), (2,)]
    both_engines(scenario)
    assert simulate(scenario, Packets(seed=1)).finished[1] > 0.0


def test_an_interface_reports_no_rate_to_shape_to() -> None:
    links = chain(2, rate=1e3, delay=1e-3, buffer=500, discipline=DFC())
    with pytest.raises(ValueError, match="host of flow 'a' = 'nic': DFC reports a rate"):
        Scenario("x", links, [Flow("a", (1, 2), CBR(100.0), host="nic")])


@pytest.mark.slow
def test_interfaces_under_fifo_take_turns() -> None:
    """Two windows over one interface get equal shares of a lossy network, whose switch drops."""
    links = [Link("h", "s", 1e4, 1e-3, 50), Link("s", "d", 9e3, 1e-3, 50)]
    flows = [Flow(str(n), ("h", "s", "d"), NewReno(), host="nic") for n in range(2)]
    scenario = Scenario("lossy", links, flows, duration=2.0)
    both_engines(scenario)
    run = simulate(scenario, Packets(seed=1))
    assert run.lost[:, 0].sum() == 0.0  # none at the host
    assert run.lost[:, 1].sum() > 0.0
