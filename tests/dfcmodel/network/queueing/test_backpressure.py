"""Backpressure flow control: both engines agree, nothing lost, short queues, and flows that are not held up by others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dfcmodel import BFC, CBR, FIFO, PFC, Flow, FlowOptions, Fluid, Link, Packets, Scenario, flows_from, simulate
from responsefn import DCQCN, FixedRate, NewReno
from tests.oracles.engines import equal_records, plan_scenario

SLOW = [pytest.param(n, marks=pytest.mark.slow) for n in range(4, 60)]


def random_backpressure(seed: int) -> tuple[Scenario, Packets]:
    """Return flows between unequal hosts over leaves and spines under backpressure, some sprayed, some from hosts without interfaces."""
    rng = np.random.default_rng([2053, seed])
    leaves, spines, per = (int(n) for n in rng.integers([2, 1, 1], [4, 4, 4]))
    rate = 1e6
    rule = BFC(float(rng.uniform(0.3, 2.0)), float(rng.choice([0.0, 1.7e-6])))
    links = []
    for leaf in range(leaves):
        for host in range(per):
            own, delay = rate * rng.uniform(0.6, 1.4), rng.uniform(0.5, 5.0) / rate
            ends = f"h{leaf}.{host}", f"leaf{leaf}"
            links += [Link(*way, own, delay, 200.0, rule) for way in (ends, ends[::-1])]
    up, far = rate * rng.uniform(0.4, 1.5), rng.uniform(0.5, 8.0) / rate
    for leaf in range(leaves):
        for spine in range(spines):
            ends = f"leaf{leaf}", f"spine{spine}"
            links += [Link(*way, up, far, (200.0, 20.0)[seed % 5 == 4], rule) for way in (ends, ends[::-1])]
    hosts = [f"h{leaf}.{host}" for leaf in range(leaves) for host in range(per)]
    count, sprays = int(rng.integers(3, 9)), seed % 3 == 2
    pairs = [rng.choice(len(hosts), 2, replace=False).tolist() for _ in range(count)]
    sources = (FixedRate(), DCQCN(), NewReno()) if sprays or seed % 2 else (CBR(0.7e6), CBR(1.1e6), FixedRate())
    # drawn in the order that makes the scenarios of a number those of before
    starts = rng.uniform(0.0, 30.0, count) / rate
    weight = int(rng.integers(1, 3)) if seed % 4 else 1
    flows = flows_from(
        [hosts[a] for a, _ in pairs],
        [hosts[b] for _, b in pairs],
        sizes=80,
        links=links,
        starts=starts,
        routes="spray" if sprays else "ecmp",
        source=[sources[n] for n in rng.integers(0, 3, count)],
        options=FlowOptions(
            host="nic" if sprays or seed % 4 else "unshaped",
            weight=weight,
            max_window=60.0,
        ),
    )
    method = Packets(
        seed=seed,
        spraying=("turns", "random")[seed % 2],
        recovery=("go-back-n", "selective")[seed % 2],
    )
    return Scenario(f"backpressure {seed}", links, flows, duration=1e3 / rate, min_rto=2e-4), method


@pytest.mark.parametrize("seed", [*range(4), *SLOW])
def test_flows_are_paused_as_in_the_reference(seed: int) -> None:
    scenario, method = random_backpressure(seed)
    plan = plan_scenario(scenario, method, duration=1e-3, sample=1e-4, may_spray=True)
    records = equal_records(plan)
    assert records.imbalance.max() == 0.0


RATE, TRUNK, DELAY = 1e6, 2e6, 2e-6
ENDS = [("h1", "a"), ("h2", "a"), ("h3", "a"), ("a", "b"), ("b", "t"), ("b", "u")]
PATHS = [("h1", "a", "b", "t"), ("h2", "a", "b", "t"), ("h3", "a", "b", "u")]


def victim(rule: Any, **options: Any) -> Any:
    """Return the run of two flows to one receiver and a third one that shares the trunk with them, at line rate."""
    links = [Link(*ends, TRUNK if ends == ("a", "b") else RATE, DELAY, 1000, rule) for ends in ENDS]
    flows = [Flow(path[0], path, FixedRate(), host="nic", **options) for path in PATHS]
    return simulate(Scenario("victim", links, flows, duration=4e-3), Packets(seed=1), sample=4e-4)


def test_other_flows_are_not_held_up() -> None:
    """Two flows share their receiver's link, the third one has its own rate: max-min shares. Under PFC it waits with them."""
    per_flow, per_class = victim(BFC()), victim(PFC(xoff=40, xon=20, counts="switch"))
    rates = [
        (run.delivered[:, -1] - run.delivered[:, 1]) / (run.time[-1] - run.time[1]) / RATE
        for run in (per_flow, per_class)
    ]
    np.testing.assert_allclose(rates[0], [0.5, 0.5, 1.0], rtol=0.02)
    assert rates[1][2] < 0.8
    assert per_flow.lost.sum() == 0


@pytest.mark.parametrize("threshold", [0.5, 1.0, 2.0])
def test_queues_are_bounded_by_one_hop_products(threshold: float) -> None:
    """A queue has its threshold, and what the link before sends until the pause takes effect; then nothing."""
    run = victim(BFC(threshold))
    into_b = 2 * DELAY + 1 / TRUNK
    into_a = 2 * DELAY + 1 / RATE
    at_b = 2 * (threshold * into_b * RATE + 1) + into_b * TRUNK + 2  # two flows, which share the trunk
    at_a = 3 * (threshold * into_a * TRUNK + 1 + into_a * RATE + 1)
    peak = dict(zip(run.scenario.senders, run.peak_queue.tolist(), strict=True))
    assert 1.0 < peak["b"] <= at_b
    assert peak["a"] <= at_a
    assert run.lost.sum() == 0
    assert run.pauses().sizes["pause"] > 10


def test_a_flow_that_ends_leaves_nothing_paused() -> None:
    run = victim(BFC(), size=700)
    assert np.isfinite(run.finished).all()
    assert run.finished.max() == pytest.approx(1400 / RATE, rel=0.02)
    assert float(run.pauses().end.max()) < 1.02 * run.finished.max()


def test_refusals_name_what_is_allowed() -> None:
    with pytest.raises(ValueError, match="threshold = 0"):
        BFC(0.0)
    with pytest.raises(ValueError, match="signalling = -1"):
        BFC(signalling=-1.0)
    links = [Link(*ends, RATE, DELAY, 100, BFC()) for ends in ENDS]
    flows = [Flow(path[0], path, CBR(1e5), host="nic") for path in PATHS]
    scenario = Scenario("refused", links, flows, duration=1e-3)
    with pytest.raises(
        ValueError,
        match=r"discipline of link h1->a: method=Fluid\(\) runs .*not BFC; use method=Packets\(\)",
    ):
        simulate(scenario, Fluid())
    mixed = [replace(link, discipline=FIFO()) if link.source == "a" else link for link in links]
    with pytest.raises(
        ValueError,
        match=r"discipline of link 'a->b' = FIFO.*must be BFC, as b->t pauses flows there",
    ):
        simulate(Scenario("refused", mixed, flows, duration=1e-3), Packets(seed=1))
