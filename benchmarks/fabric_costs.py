"""``python -m benchmarks fabric_costs``: CPU time of fabrics beside its prediction, and of DCQCN beside a fixed rate.

The constants of `dfcmodel.levels.choices` were fitted to fabrics of leaves and spines. The fabrics here were set aside: other
topologies, sizes, senders and numbers of packets. A prediction is for a machine that does nothing else: on one whose caches other
processes use a fabric takes two to three times as long.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.timing import Row, cpu_seconds
from dfcmodel import (
    PFC,
    Cable,
    Fabric,
    Packets,
    Scenario,
    StepMarking,
    all_reduce,
    all_to_all,
    incast,
    permutation,
    simulate,
)
from dfcmodel.levels.choices import predict_seconds
from dfcmodel.lossless import dragonfly, fat_tree, leaf_spine, rail_optimized
from responsefn import CUBIC, DCQCN, TIMELY, FixedRate, NewReno

PACKETS_PER_SECOND = 400e9 / 8 / 4096
MARKS = StepMarking(30.0, at="departure")
LINE_RATE = FixedRate()
ROUNDS = 3
PAIRS = 64, 128
"""Hosts of the all-to-all in which DCQCN takes turns with a fixed rate."""
TARGET = 2.0
"""CPU time of DCQCN, where nothing is marked, over that of a fixed rate."""


@dataclass(frozen=True)
class Case:
    """A fabric, its demand and how losses would be repaired; ``time`` is its duration in packet times."""

    graph: Callable[[], Any]
    flows: Callable[..., Any]
    time: float
    source: Any = LINE_RATE
    recovery: str | None = "go-back-n"
    manager: Any = None
    counts: str = "switch"
    length: str = "10m"

    @property
    def method(self) -> Packets:
        """The packet level with this repair."""
        return Packets(seed=1, recovery=self.recovery, max_cpu_time=600.0)

    def scenario(self) -> Scenario:
        """Return the fabric with its flows."""
        cable = Cable("400Gbps", self.length)
        rule = PFC(xoff=40, xon=20, counts=self.counts, manager=self.manager)
        fabric = Fabric(self.graph(), cable, cable, "32MB", 4096, rule)
        flows = self.flows(fabric.hosts, source=self.source, links=fabric.links)
        return fabric.scenario("costs", flows, duration=1e-4 + self.time / PACKETS_PER_SECOND)


def pairs(size: int) -> Callable[..., Any]:
    """Return an all-to-all of ``size`` packets per pair."""
    return lambda hosts, **given: all_to_all(hosts, sizes=size, **given)


def pairs_of_rails(size: int, gpus: int) -> Callable[..., Any]:
    """Return an all-to-all of ``size`` packets per pair on each rail of servers with so many GPUs."""
    return lambda hosts, **given: sum(
        (all_to_all(hosts[k::gpus], sizes=size, **given) for k in range(1, gpus)),
        all_to_all(hosts[::gpus], sizes=size, **given),
    )


def partners(size: int) -> Callable[..., Any]:
    """Return a permutation of ``size`` packets per host."""
    return lambda hosts, **given: permutation(hosts, 1, sizes=size, **given)


def reduction(size: int, algorithm: str) -> Callable[..., Any]:
    """Return an all-reduce of an array of ``size`` packets per host."""
    return lambda hosts, **given: all_reduce(hosts, size, algorithm, **given)


CASES = {
    "fat tree of 54, all-to-all": Case(lambda: fat_tree(6), pairs(60), 1e4),
    "fat tree of 128, all-to-all of 20, DCQCN": Case(lambda: fat_tree(8), pairs(20), 1e4, DCQCN()),
    "fat tree of 54, all-to-all, marks": Case(lambda: fat_tree(6), pairs(40), 7e3, DCQCN(), manager=MARKS),
    "fat tree of 54, all-to-all, TIMELY": Case(lambda: fat_tree(6), pairs(60), 1e4, TIMELY()),
    "fat tree of 128, permutation": Case(lambda: fat_tree(8), partners(8000), 96e3),
    "fat tree of 128, incast": Case(
        lambda: fat_tree(8), lambda hosts, **given: incast(hosts[1:], hosts[0], sizes=2000, **given), 6e5
    ),
    "rails of 64, all-to-all without ACKs": Case(
        lambda: rail_optimized(16, 4, 8), pairs_of_rails(800, 4), 4e4, recovery="none"
    ),
    "dragonfly of 60, permutation": Case(
        lambda: dragonfly(4, 1, hosts=3), partners(4000), 5e4, counts="output", length="50m"
    ),
    "96 hosts, halving and doubling": Case(lambda: leaf_spine(8, 8, hosts=8), reduction(25600, "halving-doubling"), 4e5),
    "200 hosts, all-to-all of 4": Case(lambda: leaf_spine(10, 10, hosts=20), pairs(4), 3e3),
    "256 hosts, ring without ACKs": Case(
        lambda: leaf_spine(16, 16, hosts=16), reduction(25600, "ring"), 2e5, recovery="none", length="300m"
    ),
    "fat tree of 54, all-to-all, NewReno": Case(lambda: fat_tree(6), pairs(30), 5e3, NewReno(), None),
    "fat tree of 128, permutation, CUBIC": Case(lambda: fat_tree(8), partners(1000), 1.2e4, CUBIC(), None),
}  # fmt: skip


def measure(case: Case) -> tuple[tuple[float, ...], float]:
    """Return the CPU seconds of runs of a case, and their prediction."""
    scenario = case.scenario()
    predicted = predict_seconds(scenario, case.method, scenario.duration)
    sample = scenario.duration / 10
    return cpu_seconds(lambda: simulate(scenario, case.method, sample=sample), ROUNDS), predicted


def rows() -> list[Row]:
    """Return a row for each fabric that was set aside, for their spread, and for DCQCN beside a fixed rate."""
    table, ratios = [], []
    for name, case in CASES.items():
        times, predicted = measure(case)
        ratios.append(predicted / statistics.median(times))
        note = f"predicted {predicted:.3g} s: {ratios[-1]:.2f} times"
        table.append(_row(name, "Packets", times, 1.0, note))
    spread = f"predictions are {min(ratios):.2f} to {max(ratios):.2f} times the CPU time, {statistics.median(ratios):.2f} in the median"
    table.append(Row(spread, "", math.nan, math.nan, math.nan, math.nan))
    for hosts in PAIRS:
        table += compare_senders(hosts)
    return table


def compare_senders(hosts: int) -> list[Row]:
    """Return rows of an all-to-all with a fixed rate and with DCQCN, which took turns; nothing is marked."""
    sources = {"FixedRate": FixedRate(), "DCQCN": DCQCN()}
    graph = leaf_spine(hosts // 16, 16, hosts=16)
    cases = {name: Case(lambda: graph, pairs(256), 3.0 * 256 * hosts, source) for name, source in sources.items()}
    scenarios = {name: case.scenario() for name, case in cases.items()}
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(ROUNDS + 1):
        for name, case in cases.items():
            began = time.process_time()
            simulate(scenarios[name], case.method, sample=scenarios[name].duration)
            times[name].append(time.process_time() - began)
    base = statistics.median(times["FixedRate"][1:])
    task = f"all-to-all of {hosts} hosts, 256 packets per pair"
    note = f"target {TARGET:g} times"
    return [_row(task, name, spent[1:], statistics.median(spent[1:]) / base, note) for name, spent in times.items()]


def _row(task: str, name: str, times: tuple[float, ...] | list[float], ratio: float, note: str) -> Row:
    return Row(task, name, statistics.median(times), min(times), max(times), ratio, note)
