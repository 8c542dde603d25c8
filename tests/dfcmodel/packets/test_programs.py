"""Switch programs: both engines, schedulers beside what is known of them, refusals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    FIFO,
    PFC,
    CoDel,
    Flow,
    FlowQueueCoDel,
    Fluid,
    Link,
    OnOff,
    Packets,
    Scenario,
    ShortestRemaining,
    SwitchProgram,
    WeightedFair,
    simulate,
)
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.reference import run_reference
from dfcmodel.packets.simulation import plan_scenario
from responsefn import DCTCP, NewReno

SIZE = 1500.0


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


def overloaded(
    program: SwitchProgram, *flows: Flow, duration: float = 0.1, buffer: int = 10_000
) -> Any:
    """Return the run of flows over one link of 1e5 packets/s with a program."""
    links = [Link("a", "s", 1e7, 1e-6, 10_000), Link("s", "b", 1e5, 1e-6, buffer, program)]
    return simulate(Scenario("overloaded", links, flows, duration=duration), Packets(seed=1))


def test_shares_are_the_weights() -> None:
    """Start-time fairness: of two flows that always wait, what they got for their weight differs by a packet each."""
    weights = (1.0, 2.0, 4.5, 0.5)
    flows = [Flow(str(n), ("a", "s", "b"), CBR(2e5), priority=n) for n in range(4)]
    run = overloaded(WeightedFair(*weights), *flows, duration=0.01)  # while the buffer is not full
    served = run.delivered[:, -1] / weights
    # Goyal et al., theorem 1: |W_m / r_m - W_n / r_n| <= l_m / r_m + l_n / r_n; one more each begins unevenly
    bound = 2.0 / np.array(weights)
    assert (np.abs(served[:, None] - served) <= bound[:, None] + bound).all()


def test_a_transfer_ends_after_all_packets_with_as_little_left() -> None:
    """Of each transfer at most as many packets as the one that ends has in all come before its end."""
    sizes = (700, 40, 300, 150)
    flows = [Flow(str(n), ("a", "s", "b"), CBR(9e5), size=n) for n in sizes]
    run = overloaded(ShortestRemaining(), *flows)
    begun = 700 / 9e5 * 1e5  # packets that leave until all have come, whatever their ranks
    for flow, finished in zip(flows, run.finished, strict=True):
        assert finished * 1e5 == pytest.approx(np.minimum(sizes, flow.size).sum(), abs=begun)
    assert (np.argsort(run.finished) == np.argsort(sizes)).all()


def test_a_full_buffer_drops_the_longest_transfer() -> None:
    flows = [Flow(str(n), ("a", "s", "b"), CBR(4e5), size=n) for n in (10, 2000)]
    run = overloaded(ShortestRemaining(), *flows, buffer=10)
    lost = run.lost.sum(axis=(1, 2))
    assert lost[0] == 0.0
    assert lost[1] > 100.0
    tail = overloaded(WeightedFair(), *flows, buffer=10)
    assert tail.lost.sum(axis=(1, 2))[0] > 0.0


def test_a_thin_flow_passes_a_bulk_flow_and_codel_holds_its_queue() -> None:
    """RFC 8290, 1: a flow below its share waits for at most one packet of each other flow."""
    links = [Link("a", "s", 1e5, 1e-3, 1000), Link("s", "b", 1e3, 1e-3, 1000, FlowQueueCoDel())]
    flows = [
        Flow("bulk", ("a", "s", "b"), NewReno(), 1000.0),
        Flow("thin", ("a", "s", "b"), CBR(50.0)),
    ]
    scenario = Scenario("bulk and thin", links, flows, duration=20.0)
    run = simulate(scenario, Packets(seed=1))
    plan = plan_scenario(scenario, Packets(seed=1), duration=20.0, sample=0.1)
    records = run_engine(plan)
    hop = records.first_hop[1] + 1  # of the thin flow at the second link
    assert records.waited[hop] / records.carried[hop] <= 2.0 / 1e3
    alone = Scenario(
        "bulk", [links[0], Link("s", "b", 1e3, 1e-3, 1000, CoDel())], flows[:1], duration=20.0
    )
    beside = simulate(alone, Packets(seed=1))
    # its queue is that of CoDel with a link to itself: 950 of 1000 packets/s, so within a tenth
    assert run.mean_queue.sum() == pytest.approx(beside.mean_queue.sum(), rel=0.2)
    assert run.delivered[1, -1] >= 999.0
    assert run.lost[1].sum() == 0.0


def test_what_a_program_must_be() -> None:
    with pytest.raises(
        TypeError, match="State of Short has the fields drop, must begin with drop, mark, rank"
    ):
        type("Short", (SwitchProgram,), {"State": NamedTuple("State", [("drop", float)])})
    with pytest.raises(
        TypeError, match=r"of_flow of Odd = \('virtual',\): must be the last fields of State"
    ):
        type("Odd", (WeightedFair,), {"of_flow": ("virtual",)})
    with pytest.raises(TypeError, match="overflow of First = 'first': must be 'arrival' or 'last'"):
        type("First", (SwitchProgram,), {"overflow": "first"})
    with pytest.raises(ValueError, match="weight_2 = 0"):
        WeightedFair(weight_2=0.0)


def test_the_fluid_refuses_a_program_and_names_the_packet_level() -> None:
    scenario = random_star(0, ShortestRemaining())
    with pytest.raises(ValueError, match=r"not ShortestRemaining; use method=Packets\(\)"):
        simulate(scenario, Fluid())


def test_a_pause_by_class_cannot_stop_a_class_of_a_program() -> None:
    links = [
        Link("a", "s", 1e5, 1e-6, 1000, WeightedFair()),
        Link("s", "b", 1e5, 1e-6, 1000, PFC((3,))),
    ]
    flows = [Flow(str(n), ("a", "s", "b"), CBR(1e4), priority=n, host="direct") for n in (0, 3)]
    with pytest.raises(ValueError, match="pauses class 3 alone, which WeightedFair cannot"):
        Scenario("classes", links, flows)
