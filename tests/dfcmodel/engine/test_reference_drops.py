"""What the naive reference drops is what the kernel drops: random small networks of flows without feedback."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    FIFO,
    PIE,
    RED,
    CoDel,
    Fair,
    Flow,
    Fluid,
    Link,
    OnOff,
    Pause,
    Priority,
    RampMarking,
    Scenario,
    StepMarking,
    simulate,
)
from dfcmodel.engine import driver, reference
from dfcmodel.engine.plans import compile_scenario
from dfcmodel.engine.reference_drops import drop_tail, drop_unfair
from responsefn import NewReno

DISCIPLINES = {
    "fifo": FIFO(),
    "fair": Fair(),
    "priority": Priority(),
    "red": RED(low=2.0, high=6.0, weight=0.05),
    "red, not gentle": RED(low=2.0, high=6.0, weight=0.05, gentle=False, mean_packet=1000.0),
    "codel": CoDel(target=2e-3, interval=0.02),
    "pie": PIE(target=2e-3, update=4e-3, burst=0.02),
    "ramp": RampMarking(2.0, 5.0, 0.5),
    "step": StepMarking(4.0),
    "pause red": Pause(high=9.013, low=4.987, manager=RED(low=2.0, high=6.0, weight=0.05)),
}


def crowded(discipline, seed: int, *, shared: bool = True) -> Scenario:
    """Return a random tree of links to one node, overloaded by flows without feedback."""
    random = np.random.default_rng(seed)
    nodes = int(random.integers(3, 6))
    down = {n: int(random.integers(0, n)) for n in range(1, nodes)}
    links = tuple(
        Link(
            n, m, float(random.uniform(800, 2000)), float(random.uniform(2e-3, 5e-3)), 12.3,
            discipline, shared,
        )
        for n, m in down.items()
    )  # fmt: skip
    flows = []
    for f in range(4):
        path = [int(random.integers(1, nodes))]
        while path[-1] in down:
            path.append(down[path[-1]])
        rate = float(random.uniform(300, 1200))
        source = CBR(rate) if f % 2 else OnOff(2 * rate, 0.023, 0.017)
        host = "direct" if f == 1 else "unshaped"
        flows.append(Flow(f"{f}", tuple(path), source, start=0.007 * f, host=host, priority=f % 2))
    return Scenario(f"crowded {seed}", links, tuple(flows), duration=0.5)


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        *((name, 1) for name in ("fifo", "fair", "priority", "red", "codel", "pie")),
        *(
            pytest.param(name, seed, marks=pytest.mark.slow)
            for name in DISCIPLINES
            for seed in (2, 3, 4)
        ),
        *(pytest.param(name, 1, marks=pytest.mark.slow) for name in list(DISCIPLINES)[-3:]),
    ],
)
def test_drops_are_those_of_the_reference(name: str, seed: int) -> None:
    scenario = crowded(DISCIPLINES[name], seed)
    plans = [compile_scenario(scenario, Fluid(2), np.random.default_rng(3)) for _ in range(2)]
    ours, theirs = driver.advance(plans[0], 300, 20), reference.advance(plans[1], 300, 20)
    # rounding up of each drop to the grid of 2^-26 packets, in 300 steps and up to 4 queues
    assert ours.lost == pytest.approx(theirs.lost, abs=1200 * 2.0**-26)
    assert ours.queued == pytest.approx(theirs.queued, abs=1200 * 2.0**-26)
    assert ours.flows[:, :, 1] == pytest.approx(theirs.flows[:, :, 1], abs=1200 * 2.0**-26)
    assert ours.lost.sum() > 1.0


def test_what_it_does_not_know_it_refuses() -> None:
    for discipline in (RED(), Fair(manager=CoDel())):
        scenario = crowded(discipline, 1)
        tcp = Flow("tcp", (1, 0), NewReno())
        flows = (*scenario.flows, tcp) if isinstance(discipline, RED) else scenario.flows
        plan = compile_scenario(
            Scenario("x", scenario.links, flows), Fluid(), np.random.default_rng(0)
        )
        with pytest.raises(NotImplementedError, match=r"managers (are of|see)"):
            reference.advance(plan, 10, 10)
    assert simulate(scenario, duration=0.01).status.ok


def test_drops_by_hand() -> None:
    waits, fresh = np.array([6.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0])
    assert drop_tail(waits, fresh, 12.0).tolist() == [0.0, 0.0, 0.0]
    assert drop_tail(waits, fresh, 10.0).tolist() == [0.5, 1.0, 0.5]
    ranks = np.array([0, 1, 0])
    assert drop_unfair(waits, fresh, 11.0, np.zeros(3, int)).tolist() == [0.5, 0.0, 0.5]
    assert drop_unfair(waits, fresh, 9.0, ranks).tolist() == [1.0, 1.0, 1.0]
