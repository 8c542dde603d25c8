"""Random networks in ns-2 and here: every ACK and every drop."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from dfcmodel import CBR, Flow, Link, Packets, Scenario, to_ns2, trace_packets
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.reference import run_reference
from dfcmodel.packets.simulation import plan_scenario
from responsefn import NewReno, Reno
from validation.generate.packets.random_networks import random_network

SAMPLE = 0.01


def check_equal_to_ns2(folder: Path, seed: int) -> None:
    """Compare the ACKs of each flow every 10 ms, and the drops of all links."""
    scenario, method = random_network(seed)
    (folder / "run.tcl").write_text(to_ns2(scenario, method=method, sample=SAMPLE))
    subprocess.run(["ns", "run.tcl"], cwd=folder, check=True, capture_output=True)
    samples, links = (np.loadtxt(folder / f"{name}.txt", ndmin=2) for name in ("samples", "links"))
    found = run_engine(plan_scenario(scenario, method, duration=scenario.duration, sample=SAMPLE))
    listening = [f for f, flow in enumerate(scenario.flows) if not isinstance(flow.source, CBR)]
    if listening:
        np.testing.assert_array_equal(samples[:, 2::2], found.acked[:, listening])
    assert links[:, 2].sum() == found.drops.sum()


@pytest.mark.simulators
@pytest.mark.parametrize("seed", range(40))
def test_random_networks_are_equal_to_ns2(tmp_path, seed: int) -> None:
    check_equal_to_ns2(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.simulators
@pytest.mark.parametrize("seed", range(40, 500))
def test_more_random_networks_are_equal_to_ns2(tmp_path, seed: int) -> None:
    check_equal_to_ns2(tmp_path, seed)


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
