"""Backpressure flow control: both engines alike, nothing lost, short queues, and flows that are not held up by others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dfcmodel import BFC, CBR, FIFO, PFC, Flow, Fluid, Link, Packets, Scenario, flows_from, simulate
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
            links += [
                Link(*way, up, far, (200.0, 20.0)[seed % 5 == 4], rule)
                for way in (ends, ends[::-1])
            ]
    hosts = [f"h{leaf}.{host}" for leaf in range(leaves) for host in range(per)]
    count, sprays = int(rng.integers(3, 9)), seed % 3 == 2
    pairs = [rng.choice(len(hosts), 2, replace=False).tolist() for _ in range(count)]
    sources = (
        (FixedRate(), DCQCN(), NewReno())
        if sprays or seed % 2
        else (CBR(0.7e6), CBR(1.1e6), FixedRate())
    )
    flows = flows_from(
        [hosts[a] for a, _ in pairs], [hosts[b] for _, b in pairs], sizes=80, links=links,
        starts=rng.uniform(0.0, 30.0, count) / rate, host="nic" if sprays or seed % 4 else "unshaped",
        routes="spray" if sprays else "ecmp", weight=int(rng.integers(1, 3)) if seed % 4 else 1,
        source=[sources[n] for n in rng.integers(0, 3, count)], max_window=60.0,
    )  # fmt: skip
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
