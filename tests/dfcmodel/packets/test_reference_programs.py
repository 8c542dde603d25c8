"""Switch programs: the reference engine is the compiled one, packet for packet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    FIFO,
    Flow,
    FlowQueueCoDel,
    Link,
    OnOff,
    Packets,
    Scenario,
    ShortestRemaining,
    SwitchProgram,
    WeightedFair,
)
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.reference import run_reference
from dfcmodel.packets.simulation import plan_scenario
from responsefn import DCTCP, NewReno


@dataclass(frozen=True)
class Everything(SwitchProgram):
    """Drop, mark and rank by all that is seen, with a number of the port and one of each flow."""

    part: float = 0.2
    overflow = "last"

    class State(NamedTuple):
        """Packets seen at the port, and of the flow."""

        drop: float = 0.0
        mark: float = 0.0
        rank: float = 0.0
        seen: float = 0.0
        own: float = 0.0

    of_flow = ("own",)

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Rank by a mixture; drop a few, mark some."""
        rank = (
            e.own
            + 0.1 * s.own
            + 1e-3 * e.bytes / e.size
            + e.priority
            + min(e.left, 50.0)
            + e.is_ack
        )
        drop = 1.0 if e.random < 0.02 and e.backlog > 2.0 else 0.0
        mark = 1.0 if e.backlog > 5.0 and e.random > q.part else 0.0
        return s._replace(rank=rank, drop=drop, mark=mark, seen=s.seen + 1.0, own=s.own + 1.0)

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """Drop what has waited long, mark by rank."""
        late = e.waited * e.capacity > 30.0 * e.size and e.random < q.part
        return s._replace(drop=1.0 if late else 0.0, mark=1.0 if e.rank > 60.0 else 0.0)


def random_star(seed: int, program: SwitchProgram) -> Scenario:
    """Return flows of several kinds over one link with a program, whose ACKs come back over another one."""
    rng = np.random.default_rng([91, seed])
    n = int(rng.integers(2, 7))
    rate, buffer = 1e5, int(rng.integers(4, 60))
    ends = [(f"s{k}", "x", rate * rng.uniform(0.5, 3.0), FIFO()) for k in range(n)]
    ends += [("x", "d", rate, program), ("d", "x", rate / 20.0, program)]
    links = [Link(a, b, r, 1e-4 * rng.uniform(0.2, 3.0), buffer, rule) for a, b, r, rule in ends]
    flows = []
    for k in range(n):
        source = [NewReno(), DCTCP(), CBR(rate / 3.0), OnOff(rate, 2e-3, 2e-3, random=True)][
            rng.integers(4)
        ]
        size = float(rng.integers(10, 300)) if rng.integers(2) else math.inf
        flow = Flow(
            str(k), (f"s{k}", "x", "d"), source, 64.0, size=size, priority=int(rng.integers(4))
        )
        flows.append(flow)
    return Scenario("star", links, flows, duration=0.04)


PROGRAMS = [
    Everything(),
    WeightedFair(1.0, 2.0, 3.0, 4.0),
    ShortestRemaining(),
    FlowQueueCoDel(2e-4, 2e-3),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("seed", range(4))
def test_both_engines_run_a_program_alike(seed: int, program: SwitchProgram) -> None:
    scenario = random_star(seed, program)
    plan = plan_scenario(scenario, Packets(seed=seed), duration=scenario.duration, sample=0.01)
    found, wanted = run_engine(plan), run_reference(plan)
    for name in ("delivered", "lost", "started", "waiting", "acked"):
        values = getattr(found, name)[: plan.samples], getattr(wanted, name)[: plan.samples]
        np.testing.assert_array_equal(*values, err_msg=name)
    np.testing.assert_array_equal(found.peak, wanted.peak)
    np.testing.assert_array_equal(found.finished, wanted.finished)
    assert found.total.sum() > 100.0
    assert found.imbalance.max() == 0.0
