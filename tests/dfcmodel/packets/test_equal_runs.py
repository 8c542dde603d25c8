"""The compiled engine gives what the heap of events gives, bit for bit."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from dfcmodel import PI2, RED, CoDel, DualPI2, Flow, Link, Packets, RampMarking, Scenario
from responsefn import CUBIC, DCTCP, NewReno, Tahoe
from tests.dfcmodel.packets.conftest import (
    DISCIPLINES,
    MANAGED,
    Own,
    plan_of,
    random_classes,
    random_method,
    random_scenario,
    random_switches,
)
from tests.oracles.engines import ENGINES, equal_records


@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_random_networks_run_bit_equal_in_both_engines(discipline: str, seed: int) -> None:
    scenario = random_scenario(discipline, seed)
    plan = plan_of(scenario, random_method(seed), jitter=0.0 if seed % 3 else 2e-4)
    run = equal_records(plan)
    assert run.total.sum() > (10.0 if "pause" in discipline else 100.0)  # pause can deadlock
    assert run.lost.sum() == run.drops.sum()
    assert (np.cumsum(run.waiting, axis=0) >= 0).all()
    assert (run.imbalance == 0.0).all()


@pytest.mark.parametrize("seed", [*range(1, 15), 17, 22, 31, 37])
def test_random_networks_with_pauses_by_class_run_bit_equal_in_both_engines(seed: int) -> None:
    """PFC with every queue manager and without, beside links that pause as a whole; faults that never end."""
    scenario = replace(random_classes(seed), duration=0.6)
    if seed % 4 == 1:
        faulty = replace(scenario.links[0].discipline, storm=0.2)
        scenario = replace(scenario, links=(replace(scenario.links[0], discipline=faulty), *scenario.links[1:]))
    plan = plan_of(scenario, random_method(seed), jitter=0.0 if seed % 3 else 2e-4)
    run = equal_records(plan)
    assert run.total.sum() > 100.0
    assert (run.imbalance == 0.0).all()


@pytest.mark.parametrize("seed", [2, 4, 6, 8, 10, 12])
def test_switches_that_count_all_outputs_run_bit_equal_in_both_engines(seed: int) -> None:
    """PFC per ingress over all links of a node, with managers and without; every network has such a node."""
    scenario = replace(random_switches(seed), duration=0.6)
    plan = plan_of(scenario, random_method(seed), jitter=0.0 if seed % 3 else 2e-4)
    assert max(map(len, plan.counting)) > 1
    run = equal_records(plan)
    assert run.total.sum() > 100.0
    assert len(run.switched) > 0
    assert (run.imbalance == 0.0).all()


@pytest.mark.parametrize("discipline", ["fifo", "pause"])
def test_acks_without_transmission_times_run_bit_equal_in_both_engines(discipline: str) -> None:
    plan = plan_of(random_scenario(discipline, 1), random_method(1, ack_transmission=False))
    equal_records(plan)


@pytest.mark.parametrize("discipline", ["fifo", "ecn", "pause", "fair", "ramp marking", "codel"])
def test_receivers_that_delay_acks_run_bit_equal_in_both_engines(discipline: str) -> None:
    """Some flows of a network delay ACKs, others do not."""
    for seed in (2, 3):
        scenario = replace(random_scenario(discipline, seed), duration=0.8)
        flows = tuple(replace(flow, delayed_acks=(n + seed) % 3 > 0) for n, flow in enumerate(scenario.flows))
        plan = plan_of(replace(scenario, flows=flows), random_method(seed, ack_delay=0.03))
        run = equal_records(plan)
        assert (run.imbalance == 0.0).all()


@pytest.mark.parametrize("discipline", MANAGED)
def test_networks_with_queue_managers_run_bit_equal_in_both_engines(discipline: str) -> None:
    for seed in (1, 3):
        scenario = replace(random_scenario(discipline, seed), duration=0.8)
        plan = plan_of(scenario, random_method(seed), jitter=0.0 if seed == 1 else 2e-4)
        run = equal_records(plan)
        assert (run.imbalance == 0.0).all()
        assert run.drops.sum() > 0


def shared_link(discipline: Any) -> Scenario:
    """Return four flows with different rules over one link under a discipline."""
    links = [Link("in", "out", 1000.0, 2e-3, 40, discipline)]
    links += [Link(f"s{n}", "in", 1e4, 1e-3 * (1 + 0.1 * n), 1000) for n in range(4)]
    rules = (DCTCP(), NewReno(), DCTCP(g=0.2), CUBIC())
    flows = [Flow(f"{n}", (f"s{n}", "in", "out"), rule, 200.0, start=0.013 * n) for n, rule in enumerate(rules)]
    return Scenario("shared", tuple(links), tuple(flows), duration=1.0)


@pytest.mark.parametrize(
    "discipline",
    [
        RampMarking(2.0, 10.0, 0.4),
        RED(low=2.0, high=10.0, weight=0.1, ecn=True),
        CoDel(),
        Own(),
        PI2(target=5e-3, update=5e-3),
        DualPI2(target=5e-3, update=5e-3, ecn=True),
        DualPI2(update=5e-3, alpha=20.0, coupling=40.0),
    ],
    ids=["RampMarking", "RED", "CoDel", "Own", "PI2", "DualPI2", "DualPI2 overloaded"],
)
@pytest.mark.parametrize(("recovery", "delayed"), [("newreno", True), ("sack", False)])
def test_rules_that_answer_marks_run_bit_equal_in_both_engines(discipline, recovery, delayed) -> None:
    scenario = shared_link(discipline)
    flows = tuple(replace(flow, delayed_acks=delayed) for flow in scenario.flows)
    scenario = replace(scenario, flows=flows)
    plan = plan_of(scenario, Packets(seed=3, recovery=recovery, loss={"in->out": 1e-3}))
    run = equal_records(plan)
    assert (run.loss_events > 0).all()


@pytest.mark.parametrize("recovery", ["tahoe", "reno", "newreno", "sack"])
def test_the_conventions_of_ns2_run_bit_equal_in_both_engines(one_link, recovery: str) -> None:
    rule = Tahoe() if recovery == "tahoe" else NewReno()
    scenario = replace(one_link, flows=(replace(one_link.flows[0], source=rule),))
    plan = plan_of(scenario, Packets(convention="ns2", recovery=recovery, seed=3))
    run = equal_records(plan)
    assert run.drops.sum() > 0


@pytest.mark.parametrize("discipline", ["fifo", "red"])
def test_random_losses_are_the_same_in_both_engines(one_link, discipline: str) -> None:
    links = (replace(one_link.links[0], discipline=DISCIPLINES[discipline]),)
    method = Packets(seed=1, loss={links[0].name: 0.02})
    runs = [run(replace(one_link, links=links), method=method) for run in ENGINES]
    np.testing.assert_array_equal(runs[0].delivered, runs[1].delivered)
    np.testing.assert_array_equal(runs[0].lost, runs[1].lost)
    assert runs[0].lost.sum() > 0
    assert runs[0].imbalance.max() == 0.0


def test_a_trajectory_is_the_same_from_both_engines(one_link) -> None:
    runs = [run(one_link, method=Packets(seed=5), duration=1.0) for run in ENGINES]
    for field in fields(runs[0]):
        if field.name not in {"scenario", "seconds", "in_transit", "mean_queue", "imbalance"}:
            a, b = (getattr(run, field.name) for run in runs)
            np.testing.assert_array_equal(a, b, err_msg=field.name)
