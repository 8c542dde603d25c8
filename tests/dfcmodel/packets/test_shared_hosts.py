"""Access links that several flows of a host share: queues by flow, rooms of PFC, and both engines."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dfcmodel import CBR, PFC, Flow, Fluid, Link, OnOff, Packets, Pause, Scenario, simulate
from responsefn import DCQCN, FixedRate, NewReno
from tests.oracles.engines import equal_records, plain_simulate, plan_scenario

RULE = PFC(classes=(0, 1), xoff=10.0, xon=5.0)


def hub(rates: list[Any], buffer: float = 500.0, rule: Any = RULE, **given: Any) -> Scenario:
    """Return flows of one host at a switch, whose first link is the bottleneck: they share the access link before it.

    A further flow over the switch makes its node no host.
    """
    links = [Link("x", "s", 1e4, 1e-4, buffer, rule), Link("s", "d", 1e4, 1e-4, buffer, rule)]
    flows = [
        Flow(f"f{k}", ("s", "d"), source, host="nic", priority=k % 2, **given)
        for k, source in enumerate(rates)
    ]
    flows.append(Flow("through", ("x", "s", "d"), CBR(100.0)))
    return Scenario("hub", links, flows, duration=0.2)


def test_the_backlog_is_that_of_each_flow() -> None:
    """Constant rates through an access link of 1e4 packets/s: what a flow offers beyond its share waits there.

    Classes take turns, and the flows of a class: f1 has half of the link, f0 all that it offers, f2 the rest.
    """
    rates = [2e3, 8e3, 12e3]
    run = simulate(
        hub([CBR(rate) for rate in rates], 5000.0, Pause(4000.0, 100.0)),
        Packets(seed=1),
        sample=0.01,
    )
    offered = np.array(rates)[:, np.newaxis] * run.time
    shares = np.array([2e3, 5e3, 3e3])[:, np.newaxis] * run.time
    assert run.backlog[:3] == pytest.approx(offered - shares, abs=3.0)
    assert (run.backlog[3] == 0.0).all()
    with_oracle = plain_simulate(
        hub([CBR(rate) for rate in rates], 5000.0, Pause(4000.0, 100.0)),
        Packets(seed=1),
        sample=0.01,
    )
    np.testing.assert_array_equal(run.backlog, with_oracle.backlog)


@pytest.mark.parametrize("seed", range(6))
def test_both_engines_agree_on_all_records(seed: int) -> None:
    """Backlogs by flow, peaks, and what is inside among them."""
    rng = np.random.default_rng([23, seed])
    sources = [NewReno(), DCQCN(), CBR(3e3), OnOff(8e3, 5e-3, 5e-3, random=True)]
    chosen = [sources[rng.integers(4)] for _ in range(rng.integers(2, 6))]
    size = [math.inf, 150.0][seed % 2]
    scenario = hub(chosen, rule=[RULE, Pause(20.0, 10.0)][seed % 2], size=size)
    plan = plan_scenario(scenario, Packets(seed=seed), duration=0.1, sample=0.005)
    found = equal_records(plan)
    assert found.at_hosts.any()
    assert (found.inside >= 0.0).all()


def test_flows_that_share_an_access_link_share_its_room() -> None:
    scenario = hub([CBR(1e3)] * 6)
    room = RULE.room(1e4, 1e-4, 1500.0, 500.0)
    # both classes of the shared access link, and class 0 of the link from x
    assert scenario.reserved(1) == pytest.approx(3.0 * room)
    plan = plan_scenario(scenario, Packets(seed=1), duration=0.1, sample=0.01)
    assert sum(plan.ingress(1).values()) == pytest.approx(scenario.reserved(1))
    assert plan.pool(1) == pytest.approx(500.0 - scenario.reserved(1))
    assert len(scenario.rooms(1)) == 7  # by flow, as the fluid counts


def test_a_buffer_that_holds_the_rooms_of_the_access_link_is_enough() -> None:
    room = RULE.room(1e4, 1e-4, 1500.0, 500.0)
    scenario = hub([CBR(4e3)] * 6, math.ceil(3.0 * room))
    run = simulate(scenario, Packets(seed=1))
    assert run.lost.sum() == 0.0
    assert run.status.ok
    with pytest.raises(ValueError, match="in the fluid each flow of a host has an access link"):
        simulate(scenario, Fluid())
    with pytest.raises(
        ValueError, match=r"PFC reserves .* packets of its buffer for 3 ingress queues"
    ):
        hub([CBR(4e3)] * 6, math.floor(3.0 * room) - 1.0)


@pytest.mark.parametrize(
    "source", [CBR(1e4), FixedRate(), NewReno()], ids=lambda each: type(each).__name__
)
@pytest.mark.parametrize("weights", [(1, 2, 5), (3, 3, 1)])
def test_flows_of_an_interface_share_it_by_their_weights(
    weights: tuple[int, ...], source: Any
) -> None:
    """All always have a packet to send: the shares are those of the weights, within a turn of each."""
    links = [Link("h", "s", 1e4, 1e-4, 500.0, RULE)]
    links += [Link("s", f"d{k}", 1e4, 1e-4, 500.0, RULE) for k in range(3)]
    flows = [
        Flow(f"f{k}", ("h", "s", f"d{k}"), source, weight=weight)
        for k, weight in enumerate(weights)
    ]
    run = simulate(Scenario("weights", links, flows, duration=0.2), Packets(seed=1), sample=0.05)
    late = run.delivered[:, -1] - run.delivered[:, 0]
    assert late == pytest.approx(late.sum() * np.array(weights) / sum(weights), abs=max(weights))
    assert late.sum() == pytest.approx(0.15 * 1e4, rel=0.01)


@pytest.mark.parametrize("seed", range(12))
def test_both_engines_agree_on_weights(seed: int) -> None:
    rng = np.random.default_rng([29, seed])
    sources = [NewReno(), DCQCN(), CBR(3e3), FixedRate(), OnOff(8e3, 5e-3, 5e-3, random=True)]
    chosen = [sources[rng.integers(5)] for _ in range(rng.integers(2, 6))]
    scenario = hub(chosen, rule=[RULE, Pause(20.0, 10.0)][seed % 2])
    flows = [replace(flow, weight=int(rng.integers(1, 5))) for flow in scenario.flows[:-1]]
    scenario = replace(scenario, flows=(*flows, replace(scenario.flows[-1], weight=2, host="nic")))
    equal_records(plan_scenario(scenario, Packets(seed=seed), duration=0.1, sample=0.005))


def test_the_fluid_refuses_weights() -> None:
    with pytest.raises(ValueError, match=r"weight of flow 'f0' = 2.*Packets\(\)"):
        simulate(hub([CBR(1e3)], weight=2), Fluid())
