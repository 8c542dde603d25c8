"""The compiled engine against ns-2, packet for packet, on bundled runs; memory, faults and other processors."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dfcmodel import CBR, PFC, Packets, RampMarking, takano2006, to_ns2
from dfcmodel.network.queueing.disciplines import manager_of
from dfcmodel.packets import engine as packet_engine
from dfcmodel.packets import refusals, simulation
from dfcmodel.packets.engine import begin_run, run_engine
from dfcmodel.packets.kernel import calendar_queue
from dfcmodel.packets.kernel.layout import CLOCK, Senders
from dfcmodel.packets.kernel.loop import begin_sample
from dfcmodel.packets.kernel.tcp.timers import SAMPLE_END, SAMPLE_ROW, SAMPLE_START
from dfcmodel.packets.layouts import senders
from dfcmodel.packets.recoveries.compilation import recovery_events
from hopflow.kernels import engine
from responsefn import Feedback, NewReno
from tests.dfcmodel.packets.conftest import (
    RECOVERIES,
    Own,
    plan_of,
    random_classes,
    random_scenario,
)
from tests.oracles.engines import plan_scenario
from validation import evidence
from validation.generate.packets.networks import CASES, SAMPLE, sample_hash, scenario_of
from validation.networks.packet_networks import dumbbell_scenario

RUNS = [(case.name, run) for case in CASES for run in case.runs]
QUICK = [
    (name, run)
    for name, run in RUNS
    if run["seed"] == 1 and run["size"] <= (1 if run["topology"] == "takano2006" else 32)
]
REST = [(name, run) for name, run in RUNS if (name, run) not in QUICK]


def rows_of(table: pd.DataFrame, run: dict[str, object]) -> pd.DataFrame:
    """Return the rows of a run."""
    own = [table[name] == run[name] for name in ("recovery", "size", "seed")]
    return table[np.logical_and.reduce(own)]


def test_a_run_in_parts_is_the_run_as_a_whole(monkeypatch) -> None:
    plan = plan_of(random_scenario("pause", 11), Packets(seed=1))
    whole = run_engine(plan)
    monkeypatch.setattr("dfcmodel.packets.plan.HOPS_OF_PART", 1)
    plan = plan_of(random_scenario("pause", 11), Packets(seed=1))
    assert plan.samples_of_part == 1
    parts = run_engine(plan)
    for name in ("window", "acked", "delivered", "started", "waiting", "lost", "switched", "drops"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name), err_msg=name)


def check_equal_to_ns2(case: str, run: dict[str, object]) -> None:
    """Compare final ACKs, timeouts, drops of every link, and windows and ACKs of every 10 ms."""
    scenario = scenario_of(run)
    method = Packets(convention="ns2", recovery=str(run["recovery"]), seed=int(str(run["seed"])) or None)
    plan = plan_scenario(scenario, method, duration=scenario.duration, sample=SAMPLE)
    found = run_engine(plan)
    flows = rows_of(evidence.table(case, "flows"), run).sort_values("flow")
    assert len(flows) == len(scenario.flows)
    np.testing.assert_array_equal(found.acked[-1], flows["acknowledged"])
    np.testing.assert_array_equal(found.timeouts, flows["timeouts"])
    nodes = {node: n for n, node in enumerate(scenario.nodes)}
    links = rows_of(evidence.table(case, "links"), run)
    drops = {(row["from"], row["to"]): row["drops"] for _, row in links.iterrows()}
    own = {
        (nodes[port.source], nodes[port.target]): n for port, n in zip(plan.ports, found.drops, strict=True) if n > 0
    }
    assert own == drops
    for f, expected in enumerate(flows["samples"]):
        hashed = sample_hash(found.window[:, f], found.acked[:, f])
        assert hashed == expected, scenario.flows[f].name


def test_times_from_the_start_of_a_sample_to_its_end_are_in_it_whatever_is_rounded() -> None:
    """Packets look up their sample only outside of these times; at their ends the look-up gives the same."""
    rng = np.random.default_rng(1)
    for sample, n in zip(10.0 ** rng.uniform(-9.0, 3.0, 2000), rng.integers(0, 10_000_000, 2000).tolist(), strict=True):
        clock = np.zeros(len(CLOCK))
        begin_sample(SimpleNamespace(senders=SimpleNamespace(clock=clock), records=SimpleNamespace(sample=sample)), n)
        last, scale = np.nextafter(clock[SAMPLE_END], 0.0), 1.0 / sample
        assert [clock[SAMPLE_ROW], int(clock[SAMPLE_START] * scale), int(last * scale)] == [n, n, n]
        assert clock[SAMPLE_START] - n * sample < 1e-14 * (n + 1) * sample
        assert (n + 1) * sample - clock[SAMPLE_END] < 1e-14 * (n + 1) * sample


@pytest.mark.parametrize(("case", "run"), QUICK)
def test_networks_are_equal_to_ns2_packet_for_packet(case, run) -> None:
    check_equal_to_ns2(case, run)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "run"), REST)
def test_more_seeds_and_flows_are_equal_to_ns2_packet_for_packet(case, run) -> None:
    check_equal_to_ns2(case, run)


@pytest.mark.parametrize("agent", ["tahoe", "reno", "newreno"])
@pytest.mark.parametrize(("name", "rate"), [("1", 370e6), pytest.param("4", 12.3e9, marks=pytest.mark.slow)])
def test_takano2006_is_equal_to_ns2_packet_for_packet(name: str, rate: float, agent: str) -> None:
    """The bundled runs have nothing random; windows are bundled to hundredths of a packet."""
    case = "takano2006/traces-without-dfc"
    flows, nodes, windows = (
        table[(table["link_rate"] == rate) & (table["agent"] == agent)]
        for table in (evidence.table(case, which) for which in ("flows", "nodes", "windows"))
    )
    plan = plan_scenario(
        takano2006(name, dfc=False, tcp=agent), Packets(convention="ns2", seed=1),
        duration=3.0, sample=1e-3,
    )  # fmt: skip
    found = run_engine(plan)
    delivered = flows.set_index("flow")["delivered"]
    assert [delivered["target"], delivered["background"]] == list(found.acked[-1] + 1)
    drops = (nodes["target_drops"] + nodes["background_drops"]).to_numpy()
    np.testing.assert_array_equal(found.drops[: len(drops)], drops)
    assert drops.sum() > 2000
    for f, flow in enumerate(("target", "background")):
        rows = windows[windows["flow"] == flow].sort_values("time")
        coarse = 5.01e-3 + 5e-6 * found.window[:, f]  # hundredths of Tcl's six digits
        assert (abs(found.window[:, f] - rows["window"]) <= coarse).all()


def test_memory_does_not_depend_on_the_simulated_time(one_link) -> None:
    from dfcmodel.network.flows import window_rules
    from dfcmodel.packets.layouts.arrays import lay_out
    from responsefn.rule_events import signatures_of

    sizes = []
    for duration in (1.0, 100.0):
        plan = plan_scenario(one_link, Packets(seed=1), duration=duration, sample=duration)
        layout = lay_out(plan, signatures_of(window_rules(one_link.flows)))
        sizes.append(sum(array.nbytes for array in layout.arrays.values()))
    assert sizes[0] == sizes[1]


def test_a_run_out_of_sequence_numbers_is_refused(one_link, monkeypatch) -> None:
    """A run of 2^31 packets takes minutes: here there are 50 numbers."""
    for module in (packet_engine, refusals, senders, simulation):
        monkeypatch.setattr(module, "ENDLESS", 50)
    for source in (one_link.flows[0].source, CBR(200.0)):
        flow = replace(one_link.flows[0], source=source, size=np.inf)
        scenario = replace(one_link, flows=(flow,), duration=5.0)
        with pytest.raises(OverflowError, match="flow 'flow', before t = 5 s: more than 50 packets"):
            run_engine(plan_of(scenario, Packets(seed=1)))
        whole = replace(scenario, flows=(replace(flow, size=50.0),))
        assert run_engine(plan_of(whole, Packets(seed=1))).total[0] == 50


class Row:
    """A record whose fields come before NumPy's own attributes, such as ``size``."""

    def __init__(self, record: Any) -> None:
        object.__setattr__(self, "record", record)

    def __getattr__(self, name: str) -> Any:
        """Return a field."""
        return self.record[name]

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a field."""
        self.record[name] = value


class Counted(np.ndarray):
    """An array whose indices may not be below 0."""

    def __getitem__(self, index: Any) -> Any:
        """Return a row or a value."""
        self.check(index)
        found = super().__getitem__(index)
        return Row(found) if isinstance(found, np.void) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        """Set a value."""
        self.check(index)
        super().__setitem__(index, value)

    @staticmethod
    def check(index: Any) -> None:
        """Raise IndexError for an index that would count from the end."""
        numbers = index if isinstance(index, tuple) else (index,)
        if any(isinstance(each, (int, np.integer)) and each < 0 for each in numbers):
            raise IndexError(f"{index} is below 0")


def counted(array: np.ndarray) -> np.ndarray:
    """Return an array as one that refuses indices below 0."""
    return array.view(Counted)


def plain_events(rules: tuple[Any, ...]) -> np.ndarray:
    """Return the events of rules as Python functions of a flow's record."""

    def event(rule: Any, name: str) -> Any:
        def apply(s: Any, now: float, rtt: float, acks: float, marks: float) -> None:
            state = rule.State(*[float(s.cwnd), float(s.ssthresh), *s.rule_state][: len(rule.State._fields)])
            seen = Feedback(time=now, rtt=rtt, acks=acks, marks=marks)
            state = getattr(rule, name)(state, rule.params, seen)
            s.cwnd, s.ssthresh = state[:2]

        return apply

    names = ("on_ack", "on_loss", "on_timeout", "on_loss")
    table = np.empty((len(rules), 5), dtype=object)
    for row, rule in zip(table, rules, strict=True):
        row[:4] = [event(rule, name) for name in names]
    return table


def test_packets_without_an_element_of_their_own_are_in_no_list(one_link) -> None:
    """They all are the last element, until the run is given up; lists led out of the array (takano2006/4L, random waits)."""
    run = begin_run(plan_of(one_link, Packets(seed=1)))
    packet, port, bucket, counters = (run.layout.arrays[name] for name in ("packet", "port", "bucket", "counters"))
    last = len(packet) - 1
    counters[calendar_queue.USED] = last - 4  # the others are never found
    with pytest.raises(MemoryError, match="more packets in the network than links and windows"):
        run.advance(run.plan.samples)
    assert counters[calendar_queue.FAULT] == 1
    listed = []
    for queue in port:
        before = len(listed)
        for head in bucket["head"][queue["at"] : queue["at"] + queue["mask"] + 1]:
            place, times = head, []
            while place >= 0:
                listed.append(int(place))
                times.append(packet["time"][place])
                place = packet["next"][place]
                assert len(listed) <= last, "a list leads in a circle"
            assert times == sorted(times)
        assert len(listed) - before == queue["count"]
    assert 1 < len(listed) == len(set(listed))
    assert last not in listed


@pytest.mark.parametrize("name", ["fifo", "red", "pause quanta", "dualpi2", "classes"])
def test_no_index_of_the_kernel_is_below_0(name: str, monkeypatch) -> None:
    """The compiled kernel does not test the signs of its indices. As plain Python it gives the same."""
    given = random_classes(3) if name == "classes" else random_scenario(name, 3)
    links = tuple(  # others would be called by their addresses
        replace(link, discipline=PFC((0, 1), 4.0, 2.0), buffer=1e3)
        if isinstance(manager_of(link.discipline), (Own, RampMarking))
        else link
        for link in given.links
    )
    flows = [replace(f, source=f.source if isinstance(f.source, CBR) else NewReno(), start=0.0) for f in given.flows]
    plan = plan_of(
        replace(given, links=links, flows=tuple(flows), duration=0.1),
        Packets(seed=1, recovery="sack" if name == "red" else None),
    )
    expected = run_engine(plan)
    plain = engine(packet_engine.KERNEL, compiled=False)

    def guarded(group: Any) -> list[Any]:
        return [counted(a) if isinstance(a, np.ndarray) else a for a in group]

    def run(network: Any, ends: Any, recorded: Any, *arguments: Any) -> int:
        recoveries = recovery_events(plan.recovery_kinds, compiled=False)
        senders = Senders(*guarded(ends))._replace(events=plain_events((NewReno(),)), recoveries=recoveries)
        done: int = plain(guarded(network), senders, guarded(recorded), *arguments)
        return done

    bound = SimpleNamespace(bind=lambda *arguments: lambda *last: run(*arguments[:-2], *last))
    monkeypatch.setattr(packet_engine, "engine", lambda _: bound)
    found = run_engine(plan)
    assert found.total.sum() > 5.0
    for field in ("window", "delivered", "waiting", "lost", "peak"):
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))


@pytest.mark.parametrize("seed", range(6))
def test_a_run_that_is_stopped_and_copied_goes_on_as_it_would(seed: int) -> None:
    """With the same random numbers: sample by sample, and from a copy of all arrays."""
    kind = ("pause", "pause quanta", "fifo", "red", "fair codel", "dualpi2")[seed]
    plan = plan_of(random_scenario(kind, seed), Packets(seed=seed + 1))
    run = begin_run(plan)
    assert run.advance(plan.samples)
    pieces = begin_run(plan)
    half = plan.samples // 2
    for until in range(1, half + 1):
        assert pieces.advance(until)
    layout = replace(pieces.layout, arrays={name: each.copy() for name, each in pieces.layout.arrays.items()})
    copy = replace(pieces, layout=layout, keeps=False)
    assert copy.advance(plan.samples)
    for name in ("snd_nxt", "sent", "arrived", "timeouts", "cwnd"):
        np.testing.assert_array_equal(copy.layout.arrays["flow"][name], run.layout.arrays["flow"][name])
    np.testing.assert_array_equal(copy.layout.arrays["waited"], run.layout.arrays["waited"])


RUN = """
import hashlib
import numpy as np
from dfcmodel import Packets
from tests.oracles.engines import run_engine
from tests.dfcmodel.packets.conftest import plan_of, random_diffusive, random_scenario
from validation.networks.packet_networks import parking_lot_scenario

found = hashlib.sha256()
for scenario, method in (
    (parking_lot_scenario("newreno", 4, 1), Packets(convention="ns2", seed=1)),
    (random_scenario("pause red", 3), Packets(seed=1, recovery="sack")),
    (random_diffusive(3), Packets(seed=2)),
):
    run = run_engine(plan_of(scenario, method, jitter=0.0 if method.is_ns2 else 1e-4))
    for name in ("window", "round_trip", "delivered", "waiting", "lost", "waited", "transit"):
        found.update(np.ascontiguousarray(getattr(run, name)).tobytes())
print(found.hexdigest())
"""


@pytest.mark.slow
def test_a_seed_gives_the_same_bits_on_another_processor(tmp_path) -> None:
    """Machine code for any processor of the kind, without fused or wide instructions, and for this one."""
    generic = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    answers = [
        subprocess.run(
            [sys.executable, "-c", RUN],
            env={**os.environ, **other},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for other in ({}, {**generic, "HOPFLOW_CACHE_DIR": str(tmp_path)})
    ]
    assert answers[0] == answers[1]
    assert len(answers[0]) == 65


@pytest.mark.slow
@pytest.mark.simulators
@pytest.mark.parametrize("recovery", RECOVERIES)
def test_dumbbells_of_128_flows_are_equal_for_the_seeds_that_are_not_bundled(tmp_path, run_ns2, recovery: str) -> None:
    """All ACKs every 10 ms, and all drops; seeds 1 and 2 are bundled."""
    for seed in range(3, 9):
        scenario = dumbbell_scenario(recovery, 128, seed)
        method = Packets(convention="ns2", recovery=recovery, seed=seed)
        samples, links = run_ns2(tmp_path, to_ns2(scenario, method=method, sample=0.01))
        plan = plan_scenario(scenario, method, duration=scenario.duration, sample=0.01)
        found = run_engine(plan)
        np.testing.assert_array_equal(samples[:, 2::2], found.acked)
        assert links[:, 2].sum() == found.drops.sum() > 1000
