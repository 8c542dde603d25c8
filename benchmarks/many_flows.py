"""Many flows: dumbbells and full queues of the fluid engine, and a fat tree by fluid and packets; CPU seconds."""

from __future__ import annotations

import statistics
from dataclasses import replace

import networkx as nx
import numpy as np

from benchmarks.fluid import recorded, row, seconds_of, target
from benchmarks.timing import Row, cpu_seconds
from dfcmodel import CBR, Flow, Fluid, Link, Packets, Scenario, from_networkx, simulate
from dfcmodel.lossless import fat_tree, with_hosts
from hopflow import mbps
from responsefn import NewReno
from validation.networks.packet_networks import dumbbell_scenario

DUMBBELLS = {2: 30, 8: 15, 32: 15, 128: 17}
"""Pairs of a dumbbell, and how many times cheaper than ns-2 a run should be."""
BYTES = 2 * 2 * 8
"""Of a flow, at a node in a step: arrivals and losses, written and read."""


def rows() -> list[Row]:
    """Return the times of the dumbbells, of full queues and of the fat tree."""
    return [*dumbbells(), *full_queues(), *fabric()]


def dumbbells() -> list[Row]:
    """Dumbbells of NewReno flows against ns-2.

    The runs of ns-2 are recorded together: 100 Mb/s are full in all, so that its mean per simulated
    second is near that of each. All are sampled every 10 ms. The limit: of each flow, at each of three nodes, arrivals
    and losses of a step are written once and read once.
    """
    theirs = recorded("../packets/dumbbells-ns2")[1]
    found = []
    for pairs, least in DUMBBELLS.items():
        scenario = dumbbell_scenario("newreno", pairs, 1)
        times = tuple(t / scenario.duration for t in seconds_of(scenario, rounds=5, interval=0.01))
        middle = statistics.median(times)
        cost = 1e9 * middle * Fluid().step_of(scenario) / pairs
        note = (
            f"{cost:.0f} ns per flow and step, {cost / 3:.1f} per node; {theirs / middle:,.0f} times "
            f"cheaper than ns-2's mean; {target('6 ns per node', cost <= 18.0)}, "
            f"{target(f'{least} times', theirs / middle >= least)}"
        )
        task = f"dumbbell, {pairs} NewReno flows, a simulated second"
        ours = row(task, "hopflow, 4 steps per delay", times, None, note)
        moved = BYTES * 3 * pairs / Fluid().step_of(scenario)
        known = row(task, "ns-2, mean of all", (theirs,), middle, "recorded")
        found += [replace(ours, size=pairs, moved=moved), replace(known, size=pairs)]
    return found


def fat_tree_scenario(flows: int = 1000, seed: int = 1) -> Scenario:
    """Return NewReno flows between random hosts of a fat tree of 128, each on a random shortest path."""
    graph, random = with_hosts(fat_tree(8)), np.random.default_rng(seed)
    links = from_networkx(graph, rate=mbps(10_000), delay=1e-6, buffer=100.0)
    given = []
    for n in range(flows):
        ends = [("host", int(host)) for host in random.choice(128, 2, replace=False)]
        ways = list(nx.all_shortest_paths(graph, *ends))
        way, start = ways[random.integers(len(ways))], float(random.uniform(0.0, 1e-3))
        given.append(Flow(f"{n}", tuple(way), NewReno(), 64.0, start))
    return Scenario(f"fat tree, {flows} flows", links, given, duration=2e-3, min_rto=1e-3)


def fabric() -> list[Row]:
    """1,000 flows over a 3-tier fat tree of 128 hosts: fluid and packets."""
    scenario = fat_tree_scenario()
    fluid = seconds_of(scenario, rounds=2, interval=5e-4)
    hops = sum(len(flow.path) - 1 for flow in scenario.flows)
    cost = 1e9 * min(fluid) / hops / (scenario.duration / 0.25e-6)
    run = simulate(scenario, Packets(seed=1), sample=5e-4)
    packets = cpu_seconds(lambda: simulate(scenario, Packets(seed=1), sample=5e-4), 3)
    crossed = 1e9 * min(packets) / run.carried.sum()
    note = f"{cost:.0f} ns per flow, link of its path and step"
    other = f"{crossed:.0f} ns per packet and link; with its preparation"
    return [
        row(scenario.name, "fluid, 4 steps per delay", fluid, None, note),
        row(scenario.name, "packets", packets, statistics.median(fluid), other),
    ]


def full_queues(flows: int = 64) -> list[Row]:
    """What a FIFO queue costs that is never empty: chains of one and of three, without windows.

    The cost of the sources is that of the shorter chain; each link is 3 % slower than the one before.
    """
    times = {}
    for nodes in (1, 3):
        links = tuple(Link(n, n + 1, 1e4 * 0.97**n, 1e-3, 2500) for n in range(nodes))
        sources = tuple(Flow(f"{n}", tuple(range(nodes + 1)), CBR(1.1e4 / flows)) for n in range(flows))
        scenario = Scenario("full queues", links, sources, duration=2.0)
        times[nodes] = seconds_of(scenario, interval=0.01)
    steps = scenario.duration / 0.25e-3 * flows
    cost = 1e9 * (min(times[3]) - min(times[1])) / 2 / steps
    note = f"{cost:.1f} ns per flow and step of a queue; {target('4 ns', cost <= 4.0)}"
    task = f"full FIFO queues of {flows} flows"
    return [row(task, f"{n} links", found, None, note) for n, found in times.items()]
