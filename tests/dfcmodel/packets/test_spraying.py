"""Sprayed flows: packets over all shortest paths, both engines agree, and what repairs make of their order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dfcmodel import (
    FIFO,
    PFC,
    Cable,
    Credits,
    Fabric,
    Flow,
    Fluid,
    Link,
    Packets,
    RampMarking,
    Scenario,
    SelectiveRepair,
    all_reduce,
    completion_bounds,
    flows_from,
    job_completion,
    permutation,
    simulate,
)
from dfcmodel.lossless import fat_tree, leaf_spine
from responsefn import DCQCN, FixedRate, NewReno
from tests.oracles.engines import equal_records, plan_scenario

RULES = (FIFO(), PFC(xoff=8.0, xon=4.0, counts="switch"), Credits(), RampMarking(2.0, 20.0, 0.5))
SOURCES = (FixedRate(), DCQCN(), NewReno())


def random_spray(seed: int) -> tuple[Scenario, Packets]:
    """Return flows between leaves of unequal hosts, most of them sprayed, over any kind of fabric."""
    rng = np.random.default_rng([2050, seed])
    leaves, spines, per = (int(n) for n in rng.integers([2, 2, 1], [4, 5, 4]))
    rate = 1e6
    rule = RULES[seed % len(RULES)]
    links = []
    for leaf in range(leaves):
        for host in range(per):
            own, delay = rate * rng.uniform(0.6, 1.4), rng.uniform(0.5, 5.0) / rate
            ends = f"h{leaf}.{host}", f"leaf{leaf}"
            links += [Link(*way, own, delay, 30.0, rule) for way in (ends, ends[::-1])]
    up, far = rate * rng.uniform(0.4, 1.5), rng.uniform(0.5, 8.0) / rate
    for leaf in range(leaves):
        for spine in range(spines):
            ends = f"leaf{leaf}", f"spine{spine}"
            links += [Link(*way, up, far, 60.0, rule) for way in (ends, ends[::-1])]
    if not isinstance(rule, (FIFO, RampMarking)):
        links = [replace(link, buffer=1e4) for link in links]
    hosts = [f"h{leaf}.{host}" for leaf in range(leaves) for host in range(per)]
    count = int(rng.integers(3, 9))
    pairs = [rng.choice(len(hosts), 2, replace=False).tolist() for _ in range(count)]
    flows = flows_from(
        [hosts[a] for a, _ in pairs], [hosts[b] for _, b in pairs], sizes=80, links=links,
        starts=rng.uniform(0.0, 30.0, count) / rate, host="nic", routes="spray",
        source=[SOURCES[n] for n in rng.integers(0, 3, count)], max_window=60.0,
        after=np.where(np.arange(count) == count - 1, 0, -1),
    )  # fmt: skip
    selective = SelectiveRepair(reordering=int(rng.integers(0, 12)))
    method = Packets(
        seed=seed,
        spraying=("turns", "random")[seed % 2],
        recovery=("go-back-n", selective)[rng.integers(2)],
    )
    return Scenario(f"spray {seed}", links, flows, duration=1e3 / rate, min_rto=2e-4), method


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(n, marks=pytest.mark.slow) for n in range(4, 60))]
)
def test_sprayed_flows_are_those_of_the_reference(seed: int) -> None:
    scenario, method = random_spray(seed)
    plan = plan_scenario(scenario, method, duration=1e-3, sample=1e-4, may_spray=True)
    records = equal_records(plan)
    assert records.imbalance.max() == 0.0
    run = simulate(scenario, method)
    assert len(run.finished) == len(scenario.flows)
    assert run.scenario is scenario
    assert run.lost.sum() == records.lost[:-1, plan.hops.row[~plan.hops.is_ack]].sum()


FABRIC = Fabric(
    leaf_spine(4, 4, hosts=4), Cable("100Gbps", "10m"), buffer="1 MB", packet_size=4096,
    discipline=PFC(xoff=40, xon=20, counts="switch"),
)  # fmt: skip


def completed(fabric: Fabric, routes: str, recovery: Any, **given: Any) -> Any:
    """Return the run of a permutation, of which all transfers end."""
    flows = permutation(
        fabric.hosts, 1, sizes=400, source=FixedRate(), links=fabric.links, routes=routes,
        host="nic", **given,
    )  # fmt: skip
    scenario = fabric.scenario("permutation", flows, duration=0.02, min_rto=1e-3)
    run = simulate(scenario, Packets(seed=1, recovery=recovery), sample=0.02)
    assert np.isfinite(run.finished).all()
    assert run.finished.max() >= completion_bounds(scenario).job * (1.0 - 1e-12)
    return run


def test_a_sprayed_permutation_is_as_fast_as_its_interfaces() -> None:
    """Where repair waits for packets that others overtake, nothing is sent twice."""
    sprayed = completed(FABRIC, "spray", SelectiveRepair(reordering=64))
    hashed = completed(FABRIC, "ecmp", "selective")
    assert sprayed.lost.sum() == 0
    assert sprayed.emitted.sum() == 400 * len(sprayed.scenario.flows)
    assert sprayed.finished.max() < 1.1 * completion_bounds(sprayed.scenario).job
    assert hashed.finished.max() > 1.5 * sprayed.finished.max()


def test_go_back_n_takes_overtaking_for_loss() -> None:
    """Nothing is lost, and more is sent again than with selective repair: hashed routes are faster."""
    back = completed(FABRIC, "spray", "go-back-n")
    selective = completed(FABRIC, "spray", "selective")
    assert back.lost.sum() == 0
    needed = 400 * len(back.scenario.flows)
    assert back.emitted.sum() - needed > 5.0 * (selective.emitted.sum() - needed) > 0.0
    assert back.finished.max() > completed(FABRIC, "ecmp", "go-back-n").finished.max()


def test_collectives_and_fat_trees_spray() -> None:
    fabric = replace(FABRIC, switches=fat_tree(4))
    flows = all_reduce(
        fabric.hosts,
        160,
        "ring",
        source=FixedRate(),
        links=fabric.links,
        routes="spray",
        host="nic",
    )
    assert {len(flow.paths) for flow in flows} == {0, 1, 3}  # of one edge switch, pod, other pods
    scenario = fabric.scenario("ring", flows, duration=0.01, min_rto=1e-3)
    job = job_completion(
        simulate(scenario, Packets(seed=1, recovery="selective")), "all_reduce", 160
    )
    assert job.unfinished == 0
    assert job.time >= job.bound * (1.0 - 1e-12)


def test_refusals_name_what_is_allowed() -> None:
    links = [
        Link(a, b, 1e6, 1e-6, 100.0)
        for a, b in (("h", "a"), ("a", "s"), ("a", "t"), ("s", "b"), ("t", "b"), ("b", "d"))
    ]
    own, further = ("h", "a", "s", "b", "d"), ("h", "a", "t", "b", "d")
    flow = Flow("f", own, FixedRate(), size=10, host="nic", paths=(further,))

    def refused(flow: Flow, message: str, links: Any = links, method: Any = None) -> None:
        with pytest.raises(ValueError, match=message):
            simulate(Scenario("refused", links, [flow], duration=1e-3), method or Packets(seed=1))

    refused(replace(flow, host="direct"), "host of flow 'f' = 'direct': a sprayed flow needs")
    slower = [replace(link, rate=5e5) if link.name == "t->b" else link for link in links]
    refused(flow, "t->b must have the rate and delay of s->b", slower)
    refused(flow, "there is no link t->b", [link for link in links if link.name != "t->b"])
    refused(replace(flow, size=float("inf")), "paths of flow 'f'.*method=Packets", links, Fluid())
    for paths, message in (
        ((own,), "must differ from each other and from path"),
        ((("h", "a", "b", "d"),), r"paths\[0\] of flow 'f'.*must have as many nodes"),
    ):
        with pytest.raises(ValueError, match=message):
            replace(flow, paths=paths)
    with pytest.raises(ValueError, match="spraying = 'hash'"):
        Packets(spraying="hash")
    with pytest.raises(ValueError, match="sprayed flows are for simulate alone"):
        plan_scenario(Scenario("refused", links, [flow]), Packets(), duration=1e-3, sample=1e-3)
