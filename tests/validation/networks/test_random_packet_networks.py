"""Random networks in ns-2 and here: every ACK and every drop."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dfcmodel import CBR, FIFO, Flow, Link, Packets, Scenario, to_ns2, trace_packets
from responsefn import NewReno, Reno
from tests.oracles.engines import plan_scenario, run_engine, run_reference
from validation.networks.packet_networks import BITS, SAMPLE
from validation.networks.random_packet_networks import TOPOLOGIES, random_network

FRESH = 40
"""New networks in a call of `make test-simulators`."""


def check_equal_to_ns2(folder: Path, run_ns2: Callable[..., Any], seed: int) -> None:
    """Compare the ACKs of each flow every 10 ms, and the drops of each link."""
    scenario, method = random_network(seed)
    samples, links = run_ns2(folder, to_ns2(scenario, method=method, sample=SAMPLE))
    plan = plan_scenario(scenario, method, duration=scenario.duration, sample=SAMPLE)
    found = run_engine(plan)
    windowed = [f for f, flow in enumerate(scenario.flows) if not isinstance(flow.source, CBR)]
    again = f"seed {seed}: make test-simulators FIRST_SEED={seed}"
    np.testing.assert_array_equal(samples[:, 2::2], found.acked[:, windowed], err_msg=again)
    nodes = {node: n for n, node in enumerate(scenario.nodes)}
    ends = [(nodes[port.source], nodes[port.target]) for port in plan.ports]
    theirs = {(int(a), int(b)): int(drops) for a, b, drops in links}
    assert dict(zip(ends, found.drops.tolist(), strict=True)) == theirs, again


@pytest.mark.simulators
@pytest.mark.parametrize("seed", range(40))
def test_random_networks_are_equal_to_ns2(tmp_path, run_ns2, seed: int) -> None:
    check_equal_to_ns2(tmp_path, run_ns2, seed)


@pytest.mark.slow
@pytest.mark.simulators
@pytest.mark.parametrize("seed", range(40, 500))
def test_more_random_networks_are_equal_to_ns2(tmp_path, run_ns2, seed: int) -> None:
    check_equal_to_ns2(tmp_path, run_ns2, seed)


@pytest.mark.simulators
@pytest.mark.parametrize("number", range(FRESH))
def test_fresh_networks_are_equal_to_ns2(tmp_path, run_ns2, number: int) -> None:
    """Of seeds from the environment variable on, which `make test-simulators` sets to those of the day."""
    first = os.environ.get("HOPFLOW_FIRST_SEED")
    if first is None:
        pytest.skip("HOPFLOW_FIRST_SEED is not set: `make test-simulators` does it")
    check_equal_to_ns2(tmp_path, run_ns2, int(first) + number)


@pytest.mark.parametrize("seed", range(8))
def test_networks_have_the_ranges_that_the_record_states(seed: int) -> None:
    scenario, method = random_network(seed)
    assert scenario.name == f"{TOPOLOGIES[seed % 4]} {seed}"
    assert method.seed == seed + 1
    for link in scenario.links:
        assert 1e6 <= link.rate * BITS <= 1e8
        assert 5e-5 <= link.delay <= 5e-2
        assert 2 <= link.buffer <= (199 if scenario.name.startswith("dumbbell") else 39)
        assert type(link.discipline) is FIFO
    assert round(scenario.duration / SAMPLE, 9).is_integer(), "the last sample is at the end"


def test_a_seed_draws_the_same_network_on_every_machine() -> None:
    """Digits from `decimal`, not from the processor's exponential function."""
    scenario, _ = random_network(1)
    found = [(link.rate * BITS, link.delay) for link in scenario.links[:2]]
    assert found == [(63842156.785095714, 0.0076658), (29190286.590019073, 0.0160012)]


@pytest.mark.parametrize("seed", range(0, 24, 3))
def test_both_engines_agree_on_random_networks(seed: int) -> None:
    scenario, method = random_network(seed)
    plan = plan_scenario(scenario, method, duration=min(3.0, scenario.duration), sample=SAMPLE)
    compiled, plain = run_engine(plan), run_reference(plan)
    np.testing.assert_array_equal(compiled.acked, plain.acked)
    np.testing.assert_array_equal(compiled.drops, plain.drops)


def test_a_transmission_that_ends_as_a_packet_arrives_ends_first_where_it_began_first() -> None:
    """Packet 31 leaves the queue at 0.798974 s as packet 33 of f4 arrives: ns-2.35 keeps 33 and drops 34.

    The transmission of 8.6 ms began before that of the packet on the access link of 1.7 + 1.1 ms.
    """
    ends = {
        3: (1385.2856003518507, 0.0003546, 0.0002762),
        4: (588.7168306706419, 0.0011266, 0.0014919),
        5: (1183.584871711949, 0.0011217, 0.0001914),
    }
    links = [Link("l", "r", 116.73570177199345, 0.0317121, 3)]
    for k, (rate, near, far) in ends.items():
        links += [Link(f"s{k}", "l", rate, near, 10000), Link("r", f"d{k}", rate, far, 10000)]

    def path(k: int) -> tuple[str, ...]:
        return (f"s{k}", "l", "r", f"d{k}")

    flows = [
        Flow("f3", path(3), Reno(), 20.0, 0.142361, 1952),
        Flow("f4", path(4), NewReno(), 64.0, 0.00201, delayed_acks=True),
        Flow("f5", path(5), NewReno(), 5.0, 0.726016, 396),
    ]
    scenario = Scenario("A", links, flows, duration=0.9, min_rto=1.0)
    recovery = {"f3": "reno", "f4": "sack", "f5": "sack"}
    method = Packets(convention="ns2", recovery=recovery, seed=5)
    table = trace_packets(scenario, ["l->r"], method).to_pandas()
    drops = table[table.dropped & (table.flow == "f4") & (table.number.isin([33, 34]))]
    assert [(round(row.arrived, 6), row.number) for row in drops.itertuples()] == [(0.800672, 34)]


def test_a_delayed_ack_that_is_due_as_a_packet_arrives_is_sent_first() -> None:
    """Packet 9 of f3 arrives at 3.144771 s, exactly 100 ms after packet 8: ns-2.35 acknowledges 8 before it arrives.

    The timer was scheduled at the arrival of packet 8, the arrival when packet 9 left the queue. Packet 10 then
    completes a pair with 9, and packet 17 leaves the last queue at 3.245193 s as in ns-2's trace; otherwise 40 ms later.
    """
    scenario, method = random_network(249)
    scenario = replace(scenario, duration=3.4)
    table = trace_packets(scenario, ["3->d2"], method).to_pandas()
    sent = table[(table.flow == "f3") & table.number.isin([9, 10, 17])].sent
    assert [round(time, 6) for time in sent] == [3.098867, 3.099715, 3.245193]
    plan = plan_scenario(scenario, method, duration=scenario.duration, sample=SAMPLE)
    compiled, plain = run_engine(plan), run_reference(plan)
    np.testing.assert_array_equal(compiled.acked, plain.acked)
    assert compiled.acked[321, 3] == 10, "at 3.22 s, as in ns-2"


def test_phases_are_drawn_by_tcp_agents_alone() -> None:
    """A CBR flow before them moves no clock: they are those without it."""
    links = [Link(1, 2, 1000.0, 0.01, 20)]
    tcp = [Flow(str(f), (1, 2), Reno()) for f in range(3)]
    method = Packets(convention="ns2", seed=5)
    alone, mixed = (
        plan_scenario(
            Scenario("x", links, flows, duration=1.0), method, duration=1.0, sample=0.1
        ).phases
        for flows in (tcp, [Flow("cbr", (1, 2), CBR(100.0)), *tcp])
    )
    np.testing.assert_array_equal(mixed[1:], alone)
