"""Elements of paths: the compiled engine and the oracle, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel.recoveries import NewRenoRecovery, RenoRecovery
from responsefn import BBR, CUBIC, Copa, NewReno
from tests.oracles.engines import begin_run, equal_records, plan_scenario

RATE = 1000.0
"""Of the bottleneck, packets/s."""
RULES = (NewReno(), CUBIC(), BBR())
ELEMENTS: dict[str, tuple[Any, ...]] = {
    "uniform": (dfc.Jitter("left->right", 0.01),),
    "uniform, not in order": (dfc.Jitter("left->right", 0.01, in_order=False),),
    "constant": (dfc.Jitter("left->right", 0.01, "constant", acks=True),),
    "of one flow": (dfc.Jitter("left->right", 0.02, acks=True, flows=("flow 1",)), dfc.Jitter("left->right", 0.01)),
    "by trace": (dfc.DelayTrace("left->right", (0.0, 0.4, 0.5), (0.0, 0.05, 0.01), period=0.7),),
    "reordering": (dfc.Reordering("left->right", 0.02, 0.012), dfc.Reordering("left->right", 0.02, 0.012, acks=True)),
    "slots": (dfc.Aggregation("left->right", interval=0.02),),
    "batches": (dfc.Aggregation("left->right", count=8, hold=0.03),),
    "batches of data": (dfc.Aggregation("left->right", count=4, hold=0.01, acks=False), dfc.Jitter("left->right", 1e-3)),
    "policer": (dfc.Policer("left->right", 700.0, 30.0),),
    "bursts": (dfc.BurstLoss("left->right", 0.003, 0.3, loss_bad=0.9, loss_good=1e-3),),
    "periodic": (dfc.PeriodicLoss("left->right", 90), dfc.PeriodicLoss("left->right", 70, flows=("flow 1",))),
    "rates": (dfc.RateTrace("left->right", (0.0, 0.5, 1.0), (1000.0, 200.0, 0.0), period=1.2),),
    "all": (
        dfc.RateTrace("left->right", (0.0, 1.0), (1000.0, 500.0)),
        dfc.BurstLoss("left->right", 0.001, 0.5),
        dfc.Policer("left->right", 900.0, 50.0, flows=("flow 0", "flow 2")),
        dfc.Jitter("left->right", 0.005),
        dfc.Aggregation("left->right", count=3, hold=0.01, flows=("flow 1",)),
        dfc.Reordering("left->right", 0.01, 0.004),
        dfc.Aggregation("left->right", interval=0.003),
    ),
}  # fmt: skip


def three_flows(elements: tuple[Any, ...], discipline: Any = None, rules: Any = RULES) -> dfc.Scenario:
    """Return flows over one bottleneck behind access links."""
    fields = {} if discipline is None else {"discipline": discipline}
    access = {"access_rate": 5e3, "access_delay": 2e-3}
    links = dfc.dumbbell(len(rules), rate=RATE, delay=0.01, buffer=30, **access, **fields)
    flows = [
        dfc.Flow(f"flow {n}", (f"s{n + 1}", "left", "right", f"d{n + 1}"), rule, 200, start=0.01 * n)
        for n, rule in enumerate(rules)
    ]
    return dfc.Scenario("paths", links, flows, duration=2.0, elements=elements)


@pytest.mark.parametrize("name", ELEMENTS)
def test_each_element_as_the_oracle(name: str) -> None:
    """All that elements do is equal in both engines, with rules of windows and of deliveries."""
    scenario = three_flows(ELEMENTS[name])
    records = equal_records(plan_scenario(scenario, dfc.Packets(seed=3), duration=2.0, sample=0.1))
    assert (records.total > 30).all()


REORDERED_ACKS = dfc.Jitter("left->right", 0.01, in_order=False, acks=True)


@pytest.mark.parametrize("elements", [ELEMENTS["reordering"], (REORDERED_ACKS,)], ids=["some", "many"])
def test_overtaken_acks_over_seeds(elements: tuple[Any, ...]) -> None:
    """An ACK that another one has overtaken neither counts as a duplicate nor inflates a window (RFC 5681, 2)."""
    for seed in range(1, 25):
        equal_records(plan_scenario(three_flows(elements), dfc.Packets(seed=seed), duration=2.0, sample=0.1))


@pytest.mark.parametrize(
    "recovery", ["tahoe", "reno", "sack", "prr", "rack", NewRenoRecovery(), RenoRecovery()], ids=str
)
def test_overtaken_acks_with_each_recovery(recovery: Any) -> None:
    """Blocks of an overtaken ACK below the cumulative ACK are not on the scoreboard."""
    scenario = three_flows((REORDERED_ACKS,), None, (NewReno(), CUBIC(), NewReno()))
    for seed in (1, 2):
        method = dfc.Packets(seed=seed, recovery=recovery)
        equal_records(plan_scenario(scenario, method, duration=2.0, sample=0.1))


@pytest.mark.parametrize(
    ("discipline", "recovery"),
    [
        (dfc.RED(5, 15), "sack"),
        (dfc.CoDel(), "rack"),
        (dfc.Fair(), "newreno"),
        (dfc.WeightedFair(), "prr"),
    ],
)
def test_elements_before_other_queues(discipline: Any, recovery: str) -> None:
    """They stand in front of queues with managers, of flows, and of programs."""
    scenario = three_flows(ELEMENTS["all"], discipline, (NewReno(), CUBIC(), NewReno()))
    method = dfc.Packets(seed=1, recovery=recovery, loss={"s1->left": 0.01})
    equal_records(plan_scenario(scenario, method, duration=1.5, sample=0.1))


@pytest.mark.parametrize("rule", [BBR(), Copa()])
@pytest.mark.parametrize("process", [dfc.Poisson(600.0), dfc.Replay((0.0, 0.3, 1.2), (5, 400, 300))])
def test_rules_of_deliveries_without_data(rule: Any, process: Any) -> None:
    """Samples that the application limits are marked by both engines."""
    scenario = three_flows(ELEMENTS["bursts"], None, (rule, NewReno()))
    flows = (replace(scenario.flows[0], arrivals=process), scenario.flows[1])
    scenario = replace(scenario, flows=flows)
    equal_records(plan_scenario(scenario, dfc.Packets(seed=1), duration=2.0, sample=0.1))


def test_chains_are_shared_by_hops_with_the_same_elements() -> None:
    """Each chain stands once, and hops without elements end at once (`dfcmodel.packets.layouts.path_elements`)."""
    plan = plan_scenario(three_flows(ELEMENTS["all"]), dfc.Packets(), duration=1.0, sample=0.1)
    arrays = begin_run(plan).arrays
    rows, path = arrays["chain"], plan.path
    assert np.count_nonzero(rows == -1) == 1 + len(set(path.first[path.first >= 0].tolist()))
    assert (rows[arrays["chain_of"][plan.hops.row[path.first < 0]]] == -1).all()
    plain = plan_scenario(three_flows(()), dfc.Packets(), duration=1.0, sample=0.1)
    empty = begin_run(plain).arrays
    assert {len(empty[name]) for name in ("element", "steps", "chain", "chain_of")} == {1}
