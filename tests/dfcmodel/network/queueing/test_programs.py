"""Switch programs and schedulers."""

from __future__ import annotations

import ast
import inspect
import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import (
    AFD,
    CAKE,
    CBR,
    FIFO,
    INT,
    CoDel,
    DeficitRoundRobin,
    Flow,
    FlowQueueCoDel,
    Fluid,
    Link,
    Packets,
    QueuedPacket,
    Scenario,
    ShortestRemaining,
    SwitchProgram,
    Trimming,
    WeightedFair,
    simulate,
    trace_packets,
)
from responsefn import DCQCN, HPCC, NewReno, RateRule
from tests.oracles.engines import begin_run, plan_scenario, run_engine

# What a switch program must be, and where it cannot be used.


def test_the_fluid_refuses_a_program_and_names_the_packet_level() -> None:
    links = [Link("a", "b", 1e5, 1e-4, 100, ShortestRemaining())]
    scenario = Scenario("one", links, [Flow("one", ("a", "b"), CBR(1e3))], duration=0.01)
    with pytest.raises(ValueError, match=r"not ShortestRemaining; use method=Packets\(\)"):
        simulate(scenario, Fluid())


def test_a_number_of_queues_that_cannot_be_is_refused_before_the_run() -> None:
    """Also where a program of one's own does not check it."""

    @dataclass(frozen=True)
    class Hashed(SwitchProgram):
        queues: int = 4

        @staticmethod
        def on_enqueue(s: Any, q: Any, e: Any) -> Any:
            return s

    links = [Link("a", "b", 1e5, 1e-4, 100, Hashed(queues=65537))]
    scenario = Scenario("one", links, [Flow("one", ("a", "b"), CBR(1e3))], duration=0.01)
    with pytest.raises(ValueError, match="queues of Hashed = 65537: must be a whole number in 1"):
        simulate(scenario, Packets())


def test_a_program_without_functions_is_a_fifo_queue() -> None:
    """Also in its drops; the random numbers of the port are those of a program with functions that change nothing."""

    @dataclass(frozen=True)
    class Written(SwitchProgram):
        @staticmethod
        def on_enqueue(s: Any, q: Any, e: Any) -> Any:
            return s

        @staticmethod
        def on_dequeue(s: Any, q: Any, e: Any) -> Any:
            return s

    runs = [
        simulate(
            one_link(rule, Flow("f", ("a", "s", "b"), NewReno()), duration=1.0, buffer=20),
            Packets(seed=1, loss={"s->b": 0.01}),
        )
        for rule in (SwitchProgram(), Written())
    ]
    first, second = (run.to_xarray().drop_attrs().drop_vars("marks", errors="ignore") for run in runs)
    assert first.identical(second)  # functions of users may mark, so that marks are counted
    assert runs[0].marks is None
    assert not runs[1].marks.any()
    plain = [
        simulate(
            one_link(rule, Flow("f", ("a", "s", "b"), CBR(1.2e3)), duration=1.0, buffer=20),
            Packets(seed=1),
        )
        for rule in (SwitchProgram(), FIFO())
    ]
    assert plain[0].delivered.tolist() == plain[1].delivered.tolist()
    assert plain[0].lost_by_flow.tolist() == plain[1].lost_by_flow.tolist() > [100.0]


# AFD and CAKE beside what their papers and definitions say.


def one_link(program: Any, *flows: Flow, duration: float, buffer: int = 1000) -> Scenario:
    """Return flows over a link of 1e3 packets/s with a program."""
    links = [Link("a", "s", 1e5, 1e-3, 1000), Link("s", "b", 1e3, 1e-3, buffer, program)]
    return Scenario("one link", links, flows, duration=duration)


def test_approximate_fair_dropping_gives_max_min_shares_to_what_does_not_react() -> None:
    """Offered 100, 300, 500 and 900 of 1000 packets/s: 100 for the first, 300 for each other one; the queue at its target."""
    offered = (100.0, 300.0, 500.0, 900.0)
    flows = [Flow(str(n), ("a", "s", "b"), CBR(rate)) for n, rate in enumerate(offered)]
    scenario = one_link(AFD(target=50.0), *flows, duration=40.0)
    run = simulate(scenario, Packets(seed=1), sample=1.0)
    rates = (run.delivered[:, -1] - run.delivered[:, 9]) / 30.0
    # the counts of the memory of 500 arrivals vary, and a share of 300 is dropped from when it is above the mean
    np.testing.assert_allclose(rates, (100.0, 300.0, 300.0, 300.0), rtol=0.05)
    assert run.queued[1, 10:].mean() == pytest.approx(50.0, rel=0.2)  # bursts of the four phases
    fifo = simulate(one_link(FIFO(), *flows, duration=40.0), Packets(seed=1), sample=1.0)
    assert fifo.delivered[3, -1] > 1.3 * run.delivered[3, -1]


@pytest.mark.parametrize("program", [CAKE(), FlowQueueCoDel()], ids=["CAKE", "FQ-CoDel"])
def test_a_sparse_flow_waits_for_one_packet_and_the_other_queues_are_held(program: Any) -> None:
    """DRR++: a flow below its share goes before all bulk flows."""
    flows = [Flow(f"bulk {n}", ("a", "s", "b"), NewReno(), 1000.0) for n in range(4)]
    flows.append(Flow("thin", ("a", "s", "b"), CBR(50.0)))
    scenario = one_link(program, *flows, duration=20.0)
    records = run_engine(plan_scenario(scenario, Packets(seed=1), duration=20.0, sample=0.1))
    hop = records.plan.end_rows.first[4] + 1  # of the thin flow at the second link
    assert records.waited[hop] / records.carried[hop] <= 1.0 / 1e3
    run = simulate(scenario, Packets(seed=1))
    assert run.delivered[4, -1] >= 999.0
    assert run.lost[4].sum() == 0.0
    assert run.delivered[:, -1].sum() > 0.97 * 2e4
    bulk = run.delivered[:4, -1]
    assert bulk.min() > 0.95 * bulk.max()
    unmanaged = simulate(one_link(FIFO(), *flows, duration=20.0), Packets(seed=1))
    assert run.mean_queue.sum() < 0.1 * unmanaged.mean_queue.sum()


def test_cobalt_drops_by_its_control_law() -> None:
    """Twice the rate of the link: the first drop an interval after the first packet above the target, the k-th one
    interval / sqrt(k) after the one before (Linux, cobalt_should_drop), each at the next packet that leaves."""
    flow = Flow("all", ("a", "s", "b"), CBR(2e3))
    scenario = one_link(CAKE(), flow, duration=2.0, buffer=5000)
    trace = trace_packets(scenario, "s->b", Packets(seed=1)).to_pandas()
    drops = trace.drop_time[trace.dropped].to_numpy()
    sent = trace[~trace.dropped]
    first = sent.sent[sent.sent - sent.arrived > 5e-3].min()
    due = first + 0.1 * np.cumsum([1.0, *(1.0 / np.sqrt(np.arange(2.0, len(drops) + 1)))])
    assert len(drops) > 50
    assert ((drops >= due) & (drops < due + 1e-3 + 1e-9)).all()  # a packet of 1 ms is sent before


def test_cobalt_spares_the_last_packet_of_a_queue_and_scales_its_target() -> None:
    program = CAKE()
    q = SimpleNamespace(**program.numbers())
    fields = dict.fromkeys(QueuedPacket._fields, 0.0)
    seen = QueuedPacket(**{**fields, "time": 9.0, "size": 1500.0, "waited": 0.05, "capacity": 1e6})
    state = CAKE.State(mtu=1500.0, deficit=100.0, dropping=1.0, drops=3.0, drop_next=8.99)
    last, other = (CAKE.on_dequeue(state, q, seen._replace(queue_backlog=n)) for n in (0.0, 1.0))
    assert (last.drop, last.drops, last.deficit) == (0.0, 4.0, -1400.0)
    assert (other.drop, other.drops, other.deficit) == (1.0, 4.0, 100.0)
    assert other.drop_next == 8.99 + 0.1 / 2.0
    # 1500 bytes at 60 kB/s take 25 ms: a target of 37.5 ms, four packets take 100 ms; an interval of 132.5 ms
    slow = seen._replace(capacity=6e4, waited=0.099, queue_backlog=1.0)
    assert CAKE.on_dequeue(state, q, slow).dropping == 0.0
    found = CAKE.on_dequeue(state._replace(dropping=0.0), q, slow._replace(waited=0.101))
    assert found.drop_next == pytest.approx(9.0 + 0.1325 / np.sqrt(3.0) + 0.1325 / 2.0)


def test_a_full_buffer_drops_from_the_longest_queue() -> None:
    """RFC 8290, 4.1.2: what overloads the link loses, nothing of a flow below its share."""
    flows = [Flow(str(rate), ("a", "s", "b"), CBR(rate)) for rate in (300.0, 2000.0)]
    run = simulate(one_link(CAKE(target=1.0, interval=9.0), *flows, duration=5.0, buffer=20), Packets(seed=1))
    lost = run.lost.sum(axis=(1, 2))
    assert lost[0] == 0.0
    assert lost[1] == pytest.approx(5.0 * (2300.0 - 1000.0), abs=50.0)
    assert run.peak_queue.max() == 20.0


# Trimming and telemetry beside what follows from their definitions.


def incast(program: Any, *flows: Flow, duration: float = 0.01, room: int = 10_000) -> Scenario:
    """Return flows from hosts of their own through a link of 1e5 packets/s with a program."""
    hosts = [flow.path[0] for flow in flows]
    links = [Link(host, "s", 2e5, 1e-6, 10_000) for host in hosts]
    links.append(Link("s", "b", 1e5, 1e-6, room, program))
    return Scenario("incast", links, flows, duration=duration, packet_size=9000.0)


def test_headers_take_their_bytes_and_all_other_capacity_is_for_data() -> None:
    """Under an overload of 5 each packet of data that leaves has 4 headers beside it: a share of 9000 / (9000 + 4 * 64)."""
    flows = [Flow(str(n), (f"h{n}", "s", "b"), CBR(1e5)) for n in range(5)]
    run = simulate(incast(Trimming(), *flows), Packets(seed=1))
    data = run.delivered[:, -1].sum() / 1e3
    assert data == pytest.approx(9000.0 / (9000.0 + 4.0 * 64.0), rel=0.01)  # 8 packets wait
    assert run.delivered[:, -1].min() > 0.5 * run.delivered[:, -1].mean()  # of 200 at random
    found = run.drops()
    assert set(found.cause.values.tolist()) == {"trimmed"}
    assert set(found.link.values.tolist()) == {"s->b"}
    assert "cut to their headers" in run.summary()["lost at"]
    lost = run.lost.sum(axis=(1, 2))
    np.testing.assert_array_equal(run.emitted, run.delivered[:, -1] + lost + run.inside)


def test_a_receiver_asks_for_a_packet_of_which_the_header_has_come() -> None:
    """Of a transfer without a timeout to wait for; with drops alone go-back-N ends as late as its timer or later."""
    sizes = (40, 40, 40)
    ends = {}
    for program in (Trimming(), FIFO()):
        flows = [Flow(str(n), (f"h{n}", "s", "b"), DCQCN(), size=size) for n, size in enumerate(sizes)]
        scenario = incast(program, *flows, duration=1.0, room=1000 if isinstance(program, Trimming) else 8)
        run = simulate(scenario, Packets(seed=1), sample=0.1)
        ends[type(program)] = run
        assert (run.delivered[:, -1] == sizes).all()
    cut, dropped = ends[Trimming], ends[FIFO]
    assert cut.timeouts.sum() == 0
    assert dropped.timeouts.sum() > 0
    assert cut.finished.max() < 0.02
    assert dropped.finished.max() > 0.2  # min_rto


def test_a_window_sender_loses_what_is_cut() -> None:
    flow = Flow("one", ("h", "s", "b"), NewReno(), 200.0, size=3000)
    run = simulate(incast(Trimming(limit=30.0), flow, duration=1.0), Packets(seed=1))
    assert run.drops().cause.values.tolist() == ["trimmed"]
    assert run.loss_events[0] > 0
    assert run.delivered[0, -1] == 3000.0


class AFifth(RateRule):
    """Sends at a fifth of its first link."""

    def start(self, line_rate: float) -> Any:
        """Begin at a fifth."""
        return self.State(rate=line_rate / 5.0)

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Keep the rate."""
        return s


class Watcher(AFifth):
    """Its state has what telemetry says of the second link."""

    telemetry = ("sent", "queue")

    class State(NamedTuple):
        """Rate; bytes that the link has sent, times of their intervals (s), the longest queue (bytes), the hop."""

        rate: float = math.inf
        sent: float = 0.0
        time: float = 0.0
        queue: float = 0.0
        hop: float = 0.0

    @staticmethod
    def on_telemetry(s: Any, q: Any, e: Any) -> Any:
        """Add up."""
        if e.hop == 0.0:
            return s
        return s._replace(
            sent=s.sent + e.sent - e.last_sent, time=s.time + e.interval,
            queue=max(s.queue, min(e.queue, e.last_queue)),
            hop=max(s.hop, e.hop),
        )  # fmt: skip


def test_telemetry_is_what_the_link_sends_and_what_waits() -> None:
    """Beside a constant rate, which fills the link to nine tenths: bytes per second and hop; a queue of a packet."""
    links = [
        Link(a, b, 2e5, 1e-6, 100, rule) for a, b, rule in (("h", "r", FIFO()), ("r", "s", INT()), ("x", "s", FIFO()))
    ]
    links.append(Link("s", "b", 1e5, 1e-6, 100, INT()))
    flows = [
        Flow("seen", ("h", "r", "s", "b"), Watcher()),
        Flow("other", ("x", "s", "b"), CBR(5e4)),
    ]
    plan = plan_scenario(Scenario("watch", links, flows, duration=0.01), Packets(seed=1), duration=0.01, sample=1e-3)
    run = begin_run(plan)
    run.advance(plan.samples)
    state = Watcher.State(
        *run.layout.arrays["flow"][0][["cwnd", "ssthresh"]].tolist(),
        *run.layout.arrays["rule"]["rule_state"][0, :3],
    )
    assert state.hop == 1.0
    assert state.time == pytest.approx(0.01, rel=0.02)  # all but the first packet, and an RTT of 60 us
    assert state.sent / state.time == pytest.approx(9e4 * 1500.0, rel=0.01)
    assert 0.0 <= state.queue <= 2.0 * 1500.0  # two senders of equal packets


def test_rules_of_telemetry_need_packets_that_carry_it() -> None:
    scenario = incast(FIFO(), Flow("one", ("h", "s", "b"), HPCC()))
    with pytest.raises(ValueError, match="follows telemetry, which no link of its path writes"):
        simulate(scenario, Packets())
    scenario = incast(FIFO(), Flow("one", ("h", "s", "b"), HPCC()))
    with pytest.raises(ValueError, match=r"rule that follows telemetry is for packets; use method"):
        simulate(scenario, Fluid())
    links = [
        Link("h", "s", 1e5, 1e-5, 100), Link("s", "b", 1e5, 1e-5, 100), Link("b", "s", 1e5, 1e-5, 100, INT())
    ]  # fmt: skip
    flows = [Flow("one", ("b", "s"), HPCC()), Flow("two", ("h", "s", "b"), HPCC())]
    with pytest.raises(ValueError, match=r"source of flow 'two' = .* no link of its path writes"):
        simulate(Scenario("the second flow", links, flows, duration=0.01), Packets())
    links[1] = Link("s", "b", 1e5, 1e-5, 100, Carried())
    match = "flow 'two' .* reads sent, queue, capacity of each link with telemetry, and s->b writes found, twice"
    with pytest.raises(ValueError, match=match):
        simulate(Scenario("others", links, flows, duration=0.01), Packets())


@dataclass(frozen=True)
class Carried(SwitchProgram):
    """Writes how many packets each one found, as it comes, and doubles that where it leaves."""

    telemetry = ("found", "twice")

    class State(NamedTuple):
        """What is done with a packet; what it carries on."""

        drop: float = 0.0
        mark: float = 0.0
        rank: float = 0.0
        found: float = 0.0
        twice: float = 0.0

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Write what it found; 100.0 where it is not 0.0 before."""
        return s._replace(found=e.backlog + 100.0 * (s.found + s.twice))

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """Write twice that."""
        return s._replace(twice=2.0 * s.found)


class Finder(AFifth):
    """Sends at twice the rate of the second link; its state has what two records said last."""

    telemetry = ("found", "twice")

    class State(NamedTuple):
        """Rate; the last record, the one before, and whether it was ever not twice."""

        rate: float = math.inf
        found: float = 0.0
        before: float = 0.0
        wrong: float = 0.0

    @staticmethod
    def on_telemetry(s: Any, q: Any, e: Any) -> Any:
        """Keep what is seen."""
        wrong = e.twice != 2.0 * e.found or e.last_twice != 2.0 * e.last_found
        return s._replace(found=e.found, before=e.last_found, wrong=s.wrong + (1.0 if wrong else 0.0))


def test_a_packet_carries_what_was_written_as_it_came_and_as_it_left() -> None:
    """Twice the rate of the link: every other packet finds one more."""
    links = [Link("h", "s", 1e6, 1e-6, 100), Link("s", "b", 1e5, 1e-6, 500, Carried())]
    scenario = Scenario("carried", links, [Flow("one", ("h", "s", "b"), Finder())], duration=2e-3)
    plan = plan_scenario(scenario, Packets(seed=1), duration=2e-3, sample=1e-4)
    run = begin_run(plan)
    run.advance(plan.samples)
    found, before = (
        run.layout.arrays["flow"]["ssthresh"][0],
        run.layout.arrays["rule"]["rule_state"][0, 0],
    )
    assert run.layout.arrays["rule"]["rule_state"][0, 1] == 0.0
    assert 60.0 < found < 100.0  # of 2e-3 s at 1e5 packets/s the last ACKs have left behind some 90
    assert 0.0 <= found - before <= 2.0


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"telemetry": ("finish",)}, "telemetry of Odd = .*: must be the last fields of State"),
        ({"telemetry": ("virtual",)}, None),
        ({"telemetry": True}, "telemetry of Odd = True: must be the last fields"),
        ({"telemetry": ("a", "b", "c", "d", "e")}, "at most 4"),
    ],
)
def test_telemetry_names_fields_of_the_state(given: dict[str, Any], match: str | None) -> None:
    if match is None:
        type("Odd", (WeightedFair,), given)
        return
    with pytest.raises(TypeError, match=match):
        type("Odd", (WeightedFair,), given)


def test_rules_name_the_telemetry_that_they_see() -> None:
    for names in ((), True, ("a", "b", "c", "d", "e"), (1,)):
        with pytest.raises(TypeError, match=r"telemetry of Odd = .*: must be the names of the numbers"):
            type("Odd", (Finder,), {"telemetry": names})


# The gallery.


@pytest.mark.parametrize(
    "program",
    [AFD, CAKE, INT, DeficitRoundRobin, FlowQueueCoDel, ShortestRemaining, Trimming, WeightedFair],
)
def test_programs_of_the_gallery_have_at_most_60_lines(program: type[SwitchProgram]) -> None:
    """Without docstrings and empty lines."""
    text = inspect.getsource(program)
    texts: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            texts |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), 1)
    assert sum(bool(line.strip()) and n not in texts for n, line in lines) <= 60


class Nothing(SwitchProgram):
    """Forgets to return its state."""

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Return nothing."""
        s._replace(rank=e.size)


def test_a_program_that_returns_nothing_is_named() -> None:
    scenario = one_link(Nothing(), Flow("one", ("a", "s", "b"), CBR(10.0)), duration=0.1)
    with pytest.raises(TypeError, match=r"test_programs.py:\d+: def on_enqueue.*: the function returns None"):
        simulate(scenario, Packets())


# Weighted fair queueing, shortest remaining first and flow queues with CoDel beside what is known of them.


def overloaded(program: SwitchProgram, *flows: Flow, duration: float = 0.1, buffer: int = 10_000) -> Any:
    """Return the run of flows over one link of 1e5 packets/s with a program."""
    return simulate(overloaded_scenario(program, *flows, duration=duration, buffer=buffer), Packets(seed=1))


def overloaded_scenario(program: SwitchProgram, *flows: Flow, duration: float = 0.05, buffer: int = 10_000) -> Scenario:
    """Return flows over one link of 1e5 packets/s with a program."""
    links = [Link("a", "s", 1e7, 1e-6, 10_000), Link("s", "b", 1e5, 1e-6, buffer, program)]
    return Scenario("overloaded", links, flows, duration=duration)


def test_shares_are_the_weights() -> None:
    """Start-time fairness: of two flows that always wait, what they got for their weight differs by a packet each."""
    weights = (1.0, 2.0, 4.5, 0.5)
    flows = [Flow(str(n), ("a", "s", "b"), CBR(2e5), priority=n) for n in range(4)]
    run = overloaded(WeightedFair(*weights), *flows, duration=0.01)  # while the buffer is not full
    served = run.delivered[:, -1] / weights
    # Goyal et al., theorem 1: |W_m / r_m - W_n / r_n| <= l_m / r_m + l_n / r_n; one more each begins unevenly
    bound = 2.0 / np.array(weights)
    assert (np.abs(served[:, None] - served) <= bound[:, None] + bound).all()


def test_deficit_round_robin_serves_by_weight_within_its_bound() -> None:
    """Shreedhar and Varghese 1995, Lemma 2: after m turns a queue has sent m quanta of its own, and at most a packet less."""
    weights, quantum = (1.0, 2.0, 4.5, 0.5), 1000.0  # less than a packet: some turns send nothing
    flows = [Flow(str(n), ("a", "s", "b"), CBR(2e5), priority=n) for n in range(4)]
    run = overloaded(DeficitRoundRobin(*weights, quantum=quantum), *flows, duration=0.01)
    turns = 1500.0 * run.delivered[:, -1] / (quantum * np.array(weights))
    # two queues differ by a turn, and by the packet that each may still send
    bound = 1.0 + 1500.0 / (quantum * np.array(weights))
    assert (np.abs(turns[:, None] - turns) <= 1.0 + np.maximum(bound[:, None], bound)).all()


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


def test_a_new_queue_that_is_empty_again_is_old_until_the_old_ones_have_had_a_turn() -> None:
    """RFC 8290, 4.2."""
    q = SimpleNamespace(**FlowQueueCoDel().numbers())
    fields = dict.fromkeys(QueuedPacket._fields, 0.0)
    seen = QueuedPacket(**{**fields, "size": 1500.0})
    come, leave = FlowQueueCoDel.on_enqueue, FlowQueueCoDel.on_dequeue
    start = come(FlowQueueCoDel.State(turns=5.0, old_queues=2.0), q, seen)
    assert (start.rank, start.deficit, start.old) == (0.0, 1500.0, 0.0)
    empty = leave(start, q, seen)
    assert (empty.deficit, empty.new_at, empty.old_queues) == (0.0, 7.0, 2.0)
    early = come(empty, q, seen)
    assert (early.rank, early.old, early.old_queues, early.deficit) == (1.0, 1.0, 3.0, 0.0)
    late = come(empty._replace(turns=7.0), q, seen)
    assert (late.rank, late.old, late.old_queues, late.deficit) == (0.0, 0.0, 2.0, 1500.0)
    turn = leave(early, q, seen)
    assert (turn.skip, turn.rank, turn.turns, turn.deficit) == (1.0, 1.0, 6.0, 1500.0)
    gone = leave(turn._replace(skip=0.0, rank=0.0), q, seen)
    assert (gone.turns, gone.old, gone.old_queues, gone.new_at) == (7.0, 0.0, 2.0, 7.0)
    # a queue that an overflow has emptied is counted no more
    assert come(early, q, seen._replace(queue_backlog=0.0)).old_queues == 3.0


def test_flow_queues_mark_what_can_be_marked_and_do_not_drop_the_last_packet() -> None:
    q = SimpleNamespace(**FlowQueueCoDel().numbers())
    fields = dict.fromkeys(QueuedPacket._fields, 0.0)
    seen = QueuedPacket(**{**fields, "time": 9.0, "size": 1500.0, "waited": 0.05, "queue_backlog": 1.0})
    state = FlowQueueCoDel.State(deficit=100.0, above=8.0, dropping=1.0, drops=3.0, drop_next=8.99)
    for ect, expected in ((0.0, (1.0, 0.0, 100.0)), (1.0, (0.0, 1.0, -1400.0))):
        found = FlowQueueCoDel.on_dequeue(state, q, seen._replace(ect=ect))
        assert (found.drop, found.mark, found.deficit) == expected
        assert found.drop_next == 8.99 + 0.1 / 2.0
    last = FlowQueueCoDel.on_dequeue(state, q, seen._replace(queue_backlog=0.0))
    assert (last.drop, last.mark, last.dropping, last.above) == (0.0, 0.0, 0.0, 0.0)


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
    hop = records.plan.end_rows.first[1] + 1  # of the thin flow at the second link
    assert records.waited[hop] / records.carried[hop] <= 2.0 / 1e3
    alone = Scenario("bulk", [links[0], Link("s", "b", 1e3, 1e-3, 1000, CoDel())], flows[:1], duration=20.0)
    beside = simulate(alone, Packets(seed=1))
    # its queue is that of CoDel with a link to itself: 950 of 1000 packets/s, so within a tenth
    assert run.mean_queue.sum() == pytest.approx(beside.mean_queue.sum(), rel=0.2)
    assert run.delivered[1, -1] >= 999.0
    assert run.lost[1].sum() == 0.0
