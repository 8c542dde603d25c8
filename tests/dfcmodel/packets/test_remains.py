"""What is left at the end of a packet-level run adds up."""

from __future__ import annotations

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel import simulate
from responsefn import DCQCN, NewReno, PatchedTIMELY
from tests.oracles.engines import ENGINES, NAMES

DISCIPLINES = [
    dfc.RED(low=5, high=15),
    dfc.Fair(),
    dfc.Priority(),
    dfc.PFC(xoff=30, xon=20),
    dfc.Pause(high=30, low=20),
]


@pytest.mark.parametrize("simulate", ENGINES, ids=NAMES)
@pytest.mark.parametrize("discipline", DISCIPLINES, ids=str)
def test_drops_by_cause_add_up_to_the_losses(discipline, simulate) -> None:
    links = dfc.chain(3, rate=1e3, delay=1e-3, buffer=90, discipline=discipline)
    flows = [
        dfc.Flow("a", (1, 2, 3), dfc.CBR(1.5e3), host="direct"),
        dfc.Flow("b", (2, 3), NewReno(), priority=1, host="direct"),
    ]
    run = simulate(dfc.Scenario("two", links, flows, duration=1.0), dfc.Packets(seed=1))
    assert run.lost.sum() > 0.0
    for f in range(2):
        for n, link in enumerate(run.scenario.links[:2]):
            own = run.dropped[(run.dropped["flow"] == f) & (run.dropped["link"] == n)]
            own = own[own["ack"] == 0]
            assert own["packets"].sum() == run.lost[f, n].sum(), link.name
    assert run.dropped["first"].min() == np.nanmin(run.first_loss)


@pytest.mark.parametrize("simulate", ENGINES, ids=NAMES)
def test_packets_inside_are_those_sent_and_neither_lost_nor_delivered(simulate) -> None:
    """Of a constant rate: what its delays hold; of a window all of it, packets and ACKs."""
    links = dfc.chain(3, rate=1e4, delay=1e-2, buffer=200)
    rate = dfc.Flow("rate", (1, 2, 3), dfc.CBR(1e3))
    window = dfc.Flow("window", (1, 2, 3), NewReno(), max_window=8.0)
    scenario = dfc.Scenario("two", links, [rate, window], duration=1.0)
    run = simulate(scenario, dfc.Packets(seed=1))
    assert run.inside.tolist() == [run.emitted[0] - run.delivered[0, -1], 8.0]
    assert run.emitted[0] == pytest.approx(1e3, abs=1.0)


@pytest.mark.parametrize("simulate", ENGINES, ids=NAMES)
def test_a_delayed_ack_is_in_the_network(simulate) -> None:
    links = dfc.chain(2, rate=1e4, delay=1e-3, buffer=200)
    flow = dfc.Flow("one", (1, 2), NewReno(), size=1, delayed_acks=True)
    method = dfc.Packets(seed=1)
    for duration, inside in ((0.01, 1.0), (0.2, 0.0)):  # it is sent after 0.1 s
        run = simulate(dfc.Scenario("one packet", links, [flow], duration=duration), method)
        assert run.delivered[0, -1] == 1.0
        assert run.inside.tolist() == [inside]


@pytest.mark.parametrize("simulate", ENGINES, ids=NAMES)
def test_what_will_be_dropped_after_the_end_is_in_the_network(simulate) -> None:
    """Over a first delay of 50 ms, of which 2 ms came to a full queue before the end."""
    links = [dfc.Link("a", "b", 1e4, 0.05, 1e4), dfc.Link("b", "c", 1e3, 0.05, 2)]
    scenario = dfc.Scenario("far ahead", links, [dfc.Flow("f", ("a", "b", "c"), PatchedTIMELY())], 0.052)
    run = simulate(scenario, dfc.Packets(seed=1))
    assert run.lost.sum() > 0.0
    assert run.inside.tolist() == [run.emitted[0] - run.lost.sum()]


def test_acks_of_nothing_are_in_the_network() -> None:
    """The first packet of a flow is lost, and the receiver answers those beyond it."""
    links = dfc.chain(2, rate=1e4, delay=1e-2, buffer=200)
    scenario = dfc.Scenario("first lost", links, [dfc.Flow("one", (1, 2), DCQCN())], duration=0.015)
    found = []
    for seed in range(1, 5):
        given = {"seed": seed, "loss": {"1->2": 0.5}}
        run, slow = (run(scenario, dfc.Packets(**given)) for run in ENGINES)
        np.testing.assert_array_equal(run.inside, slow.inside)
        found.append(run.delivered[0, -1])
    assert 0.0 in found


@pytest.mark.parametrize("rule", [dfc.PFC(xoff=30, xon=20), dfc.Pause(high=30, low=20)], ids=str)
def test_what_waits_at_interfaces_is_that_of_the_reference(rule) -> None:
    """Two flows of a host that is a node, and one of a host at a switch."""
    links = dfc.chain(3, rate=1e4, delay=1e-4, buffer=300, discipline=rule)
    paths = {"a": (1, 2, 3), "b": (1, 2, 3), "c": (2, 3)}
    flows = [dfc.Flow(n, p, dfc.CBR(8e3)) for n, p in paths.items()]
    scenario = dfc.Scenario("interfaces", links, flows, duration=0.1)
    run, slow = (run(scenario, dfc.Packets(seed=1)) for run in ENGINES)
    assert set(run.remaining["link"].tolist()) == {-3, 0, 1}
    np.testing.assert_array_equal(run.remaining, slow.remaining)
    np.testing.assert_array_equal(run.inside, slow.inside)
    assert run.remaining["packets"].sum() == run.queued[:, -1].sum() + run.backlog[:, -1].sum()


@pytest.mark.parametrize("rule", [dfc.PFC(xoff=30, xon=20), dfc.Pause(high=30, low=20)], ids=str)
def test_what_waits_adds_up_to_the_queues(rule) -> None:
    links = dfc.chain(3, rate=1e3, delay=1e-3, buffer=90, discipline=rule)
    flows = [dfc.Flow(n, p, dfc.CBR(1.5e3), host="unshaped") for n, p in (("a", (1, 2, 3)), ("b", (2, 3)))]
    run = simulate(dfc.Scenario("two", links, flows, duration=1.0), dfc.Packets(seed=1))
    for n in range(2):
        waits = run.remaining["packets"][run.remaining["link"] == n].sum()
        assert waits == run.queued[n, -1] > 0.0
    hosts = run.remaining[run.remaining["link"] < 0]
    assert hosts["packets"].sum() == run.backlog[:, -1].sum() > 0.0
    assert (run.remaining["still"] == 0).all()
