"""Switch programs: the reference engine is the compiled one, packet for packet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import dfcmodel as dfc
from hopflow.parameters import extends
from responsefn import DCQCN, DCTCP, HPCC, NewReno
from tests.oracles.engines import equal_records, plan_scenario, run_engine, run_reference


@dataclass(frozen=True)
class Everything(dfc.SwitchProgram):
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
        rank = e.own + 0.1 * s.own + 1e-3 * e.bytes / e.size + e.priority + min(e.left, 50.0) + e.is_ack
        drop = 1.0 if e.random < 0.02 and e.backlog > 2.0 else 0.0
        mark = 1.0 if e.backlog > 5.0 and e.random > q.part else 0.0
        return s._replace(rank=rank, drop=drop, mark=mark, seen=s.seen + 1.0, own=s.own + 1.0)

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """Drop what has waited long, mark by rank."""
        late = e.waited * e.capacity > 30.0 * e.size and e.random < q.part
        return s._replace(drop=1.0 if late else 0.0, mark=1.0 if e.rank > 60.0 else 0.0)


@dataclass(frozen=True)
class Queues(dfc.SwitchProgram):
    """Five queues by hash, ECT and priority, with ranks and turns; cuts, drops and marks; numbers of port, queue and flow."""

    quantum: float = 1200.0
    queues: int = 5
    overflow = "longest"

    @extends(dfc.SwitchProgram.State)
    class State(NamedTuple):
        """Packets seen at the port; credit of the queue; packets of the flow."""

        seen: float = 0.0
        trim: float = 0.0
        skip: float = 0.0
        credit: float = 0.0
        own: float = 0.0

    of_queue = ("credit",)
    of_flow = ("own",)

    @staticmethod
    def queue_of(s: Any, q: Any, e: Any) -> Any:
        """Choose by all that may be seen."""
        if e.trimmed == 1.0 or e.is_ack == 1.0:
            return 0.0
        return 4.9 if s.own == 7.0 else 1.0 + math.floor(e.hash * 2.0) + e.ect

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Rank by queue; cut where the queue is long."""
        trim = 1.0 if e.queue_backlog > 3.0 and e.random < 0.5 else 0.0
        mark = 1.0 if e.queue_bytes > 2.0 * e.size else 0.0
        rank = -1.0 if e.queue == 0.0 else math.floor(e.queue * 0.5)
        drop = 1.0 if e.random > 0.98 else 0.0
        return s._replace(rank=rank, trim=trim, mark=mark, drop=drop, seen=s.seen + 1.0, own=s.own + 1.0)

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """Deficit round robin; few are dropped or cut."""
        if s.credit < e.size:
            return s._replace(skip=1.0, rank=e.rank, credit=s.credit + q.quantum)
        late = e.waited * e.capacity > 20.0 * e.size
        return s._replace(
            credit=s.credit - e.size if e.queue_backlog > 0.0 else 0.0,
            drop=1.0 if late and e.random < 0.1 else 0.0,
            trim=1.0 if late and e.random > 0.9 else 0.0,
        )


@dataclass(frozen=True)
class MarkedByBoth(dfc.SwitchProgram):
    """Two queues by priority, of which the first is marked by the packets in both: its state is that of the port."""

    threshold: float = 6.0
    queues = 2

    @extends(dfc.SwitchProgram.State)
    class State(NamedTuple):
        """Packets in each of the queues."""

        first: float = 0.0
        second: float = 0.0

    @staticmethod
    def queue_of(s: Any, q: Any, e: Any) -> Any:
        """Choose the queue by priority."""
        return min(e.priority, 1.0)

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Mark a packet of the first queue."""
        first = e.queue_backlog + 1.0 if e.queue == 0.0 else s.first
        second = e.queue_backlog + 1.0 if e.queue == 1.0 else s.second
        mark = 1.0 if e.queue == 0.0 and first + second > q.threshold else 0.0
        return s._replace(first=first, second=second, mark=mark)

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """Count what stays."""
        if e.queue == 0.0:
            return s._replace(first=e.queue_backlog)
        return s._replace(second=e.queue_backlog)


@dataclass(frozen=True)
class HeadersFirst(dfc.SwitchProgram):
    """Cut nine of ten packets that find four; headers go first. Telemetry in all data, in part of what finds a packet."""

    telemetry = ("sent", "queue", "capacity", "found")

    @extends(dfc.SwitchProgram.State)
    class State(NamedTuple):
        """What is done with a packet; bytes that have left; telemetry of `HPCC`, and how many packets it found."""

        trim: float = 0.0
        total: float = 0.0
        sent: float = 0.0
        queue: float = 0.0
        capacity: float = 0.0
        found: float = 0.0

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Cut and rank."""
        trim = 1.0 if e.backlog >= 4.0 and e.random < 0.9 else 0.0
        rank = 0.0 if trim + e.trimmed + e.is_ack > 0.0 else 1.0
        return s._replace(trim=trim, rank=rank, found=e.backlog)

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """Write telemetry; the packet still has what `on_enqueue` wrote into it."""
        mark = 1.0 if s.found > 3.0 else 0.0
        return s._replace(mark=mark, total=s.total + e.size, sent=s.total, queue=e.bytes, capacity=e.capacity)


@dataclass(frozen=True)
class Departures(dfc.SwitchProgram):
    """See packets as they leave alone: count those of each flow, drop some, mark by queue, write telemetry."""

    telemetry = ("sent", "queue", "capacity")
    of_flow = ("left",)

    @extends(dfc.INT.State)
    class State(NamedTuple):
        """What is done with a packet; bytes that have left; telemetry of `HPCC`; packets of a flow that have left."""

        left: float = 0.0

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """Drop at random, some of them without a wait; mark by what waits and what has left."""
        drop = 1.0 if e.random < (0.05 if e.waited > 0.0 else 0.02) else 0.0
        mark = 1.0 if e.own + 0.01 * s.left + s.sent + s.queue > 4.0 and e.backlog > 1.0 else 0.0
        return s._replace(
            drop=drop, mark=mark, total=s.total + e.size, sent=s.total, queue=e.bytes, capacity=e.capacity,
            left=s.left + 1.0,
        )  # fmt: skip


def cuts(program: dfc.SwitchProgram) -> bool:
    """Return whether a program cuts packets to their headers."""
    return "trim" in type(program).State._fields


def random_star(seed: int, program: dfc.SwitchProgram) -> dfc.Scenario:
    """Return flows of several kinds over one link with a program, whose ACKs come back over another one."""
    rng = np.random.default_rng([91, seed])
    n = int(rng.integers(2, 7))
    rate, buffer = 1e5, int(rng.integers(4, 60))
    ends = [(f"s{k}", "x", rate * rng.uniform(0.5, 3.0), dfc.FIFO()) for k in range(n)]
    ends += [("x", "d", rate, program), ("d", "x", rate / 20.0, program)]
    links = [dfc.Link(a, b, r, 1e-4 * rng.uniform(0.2, 3.0), buffer, rule) for a, b, r, rule in ends]
    flows = []
    for k in range(n):
        sources = [
            NewReno(),
            DCTCP(),
            dfc.CBR(rate / 3.0),
            dfc.OnOff(rate, 2e-3, 2e-3, random=True),
        ]
        sources += [DCQCN()] * cuts(program) + [HPCC(2e-3)] * 2 * bool(program.telemetry)
        source = sources[rng.integers(len(sources))]
        size = float(rng.integers(10, 300)) if rng.integers(2) else math.inf
        flow = dfc.Flow(
            str(k), (f"s{k}", "x", "d"), source, 64.0, size=size, priority=int(rng.integers(4)),
            delayed_acks=bool(cuts(program) and isinstance(source, NewReno) and rng.integers(2)),
        )  # fmt: skip
        flows.append(flow)
    return dfc.Scenario("star", links, flows, duration=0.02 if cuts(program) else 0.04)


PROGRAMS = [
    Everything(),
    dfc.WeightedFair(1.0, 2.0, 3.0, 4.0),
    dfc.ShortestRemaining(),
    dfc.FlowQueueCoDel(2e-4, 2e-3),
    Departures(),
]
CASES = [(program, seed) for program in PROGRAMS for seed in range(4)]
CASES += [(Queues(), 0), (HeadersFirst(), 1)]
SLOW = [
    (Queues(), 3),
    (HeadersFirst(), 5),
    (dfc.CAKE(2e-4, 2e-3), 0),
    (dfc.Trimming(), 5),
    (dfc.Trimming(), 6),
]


@pytest.mark.slow
@pytest.mark.parametrize(("program", "seed"), SLOW, ids=[f"{type(each).__name__}-{seed}" for each, seed in SLOW])
def test_both_engines_run_further_programs_alike(program: dfc.SwitchProgram, seed: int) -> None:
    test_both_engines_run_a_program_alike(program, seed)


@pytest.mark.parametrize(("program", "seed"), CASES, ids=[f"{type(each).__name__}-{seed}" for each, seed in CASES])
def test_both_engines_run_a_program_alike(program: dfc.SwitchProgram, seed: int) -> None:
    scenario = random_star(seed, program)
    plan = plan_scenario(scenario, dfc.Packets(seed=seed), duration=scenario.duration, sample=0.01)
    found, wanted = run_engine(plan), run_reference(plan)
    for name in ("delivered", "lost", "started", "waiting", "acked", "causes", "first_drops"):
        S = None if name in ("causes", "first_drops") else plan.samples
        values = getattr(found, name)[:S], getattr(wanted, name)[:S]
        np.testing.assert_array_equal(*values, err_msg=name)
    np.testing.assert_array_equal(found.peak, wanted.peak)
    np.testing.assert_array_equal(found.finished, wanted.finished)
    assert found.total.sum() > 50.0
    assert found.imbalance.max() == 0.0
    np.testing.assert_array_equal(found.inside, wanted.inside)
    run = dfc.simulate(scenario, dfc.Packets(seed=seed), sample=0.01)
    assert ("trimmed" in run.drops().cause.values) == cuts(program)


@dataclass(frozen=True)
class Wrong(Queues):
    """Returns one thing that cannot be, for the packets of flow 1 from the third on."""

    place: int = 0
    overflow = "longest"

    @staticmethod
    def queue_of(s: Any, q: Any, e: Any) -> Any:
        """Return a queue that is none."""
        late = e.flow == 1.0 and s.own > 2.0
        if late and 7.0 <= q.place <= 8.0:
            return 5.0 if q.place == 7.0 else math.nan
        return 0.0

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Return what is not a number."""
        late = e.flow == 1.0 and s.own > 2.0
        return s._replace(
            own=s.own + 1.0,
            drop=math.nan if late and q.place == 1.0 else 0.0,
            mark=math.nan if late and q.place == 2.0 else 0.5 if late and q.place == 9.0 else 0.0,
            rank=math.nan if late and q.place == 3.0 else 0.0,
            trim=math.nan if late and q.place == 4.0 else 0.0,
        )

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """Skip without end."""
        late = e.flow == 1.0 and s.own > 2.0
        skip = math.nan if q.place == 5.0 else 2.0 if q.place == 10.0 else 1.0
        return s._replace(skip=skip if late and q.place in (5.0, 6.0, 10.0) else 0.0)


REFUSED = {
    1: "on_enqueue returned for a packet of flow 'b' drop = nan: must be 0.0 or 1.0",
    2: "on_enqueue returned for a packet of flow 'b' mark = nan: must be 0.0 or 1.0",
    3: "on_enqueue returned for a packet of flow 'b' rank = nan: must be a number",
    4: "on_enqueue returned for a packet of flow 'b' trim = nan: must be 0.0 or 1.0",
    5: "on_dequeue returned for a packet of flow 'b' skip = nan: must be 0.0 or 1.0",
    6: "on_dequeue returned for a packet of flow 'b' 10000 times in a row skip = 1: some packet must be sent",
    7: "queue_of returned for a packet of flow 'b' queue = 5: must be from 0 to below 5",
    8: "queue_of returned for a packet of flow 'b' queue = nan: must be from 0 to below 5",
    9: "on_enqueue returned for a packet of flow 'b' mark = 0.5: must be 0.0 or 1.0",
    10: "on_dequeue returned for a packet of flow 'b' skip = 2: must be 0.0 or 1.0",
}


@pytest.mark.parametrize(("place", "message"), REFUSED.items())
def test_both_engines_refuse_what_is_no_number_or_queue(place: int, message: str) -> None:
    links = [
        dfc.Link("a", "s", 1e6, 1e-6, 100),
        dfc.Link("s", "b", 1e5, 1e-6, 100, Wrong(place=place)),
    ]
    flows = [dfc.Flow(name, ("a", "s", "b"), dfc.CBR(rate)) for name, rate in (("a", 2e4), ("b", 1e4))]
    scenario = dfc.Scenario("wrong", links, flows, duration=1e-3)
    plan = plan_scenario(scenario, dfc.Packets(seed=1), duration=1e-3, sample=1e-4)
    texts = []
    for run in (run_engine, run_reference):
        with pytest.raises(ArithmeticError, match=message) as refused:
            run(plan)
        texts.append(str(refused.value))
    assert texts[0] == texts[1]
    assert texts[0].startswith("wrong, t = 0.000")
    assert "link s->b: Wrong." in texts[0]


def test_a_marking_reads_two_queues() -> None:
    """A flow at a rate in one queue has packets of another queue marked: more of them the more it sends."""
    links = [dfc.Link("a", "s", 4e3, 1e-3, 100), dfc.Link("x", "s", 4e3, 1e-3, 100)]
    links.append(dfc.Link("s", "b", 1e3, 1e-3, 60, MarkedByBoth()))
    marks = []
    for rate in (10.0, 700.0):
        flows = [
            dfc.Flow("marked", ("a", "s", "b"), DCTCP(), 6),
            dfc.Flow("other", ("x", "s", "b"), dfc.CBR(rate), priority=1),
        ]
        scenario = dfc.Scenario("two queues", links, flows, duration=2.0)
        records = equal_records(plan_scenario(scenario, dfc.Packets(seed=1), duration=2.0, sample=0.1))
        marks.append(records.marks[0])
    assert marks[0] < 0.1 * marks[1]
    assert marks[1] > 10


@pytest.mark.parametrize("program", [dfc.DeficitRoundRobin(queues=3), dfc.WeightedFair()])
def test_what_waits_at_a_paused_program_is_the_same_in_both_engines(
    program: dfc.SwitchProgram,
) -> None:
    links = [
        dfc.Link("a", "s", 1e5, 1e-6, 60, program),
        dfc.Link("s", "b", 5e4, 1e-6, 100, dfc.Pause(high=20, low=10, storm=4e-3)),
    ]
    flows = [dfc.Flow(str(n), ("a", "s", "b"), dfc.CBR(4e4), host="direct") for n in range(3)]
    scenario = dfc.Scenario("paused", links, flows, duration=0.02)
    plan = plan_scenario(scenario, dfc.Packets(seed=1), duration=0.02, sample=0.01)
    found, wanted = run_engine(plan), run_reference(plan)
    np.testing.assert_array_equal(found.remaining, wanted.remaining)
    waiting = found.remaining[found.remaining["link"] == 0]
    assert waiting["packets"].sum() == 60.0
    assert waiting["still"].all()
