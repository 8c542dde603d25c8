"""Leaf-spine fabrics of 128 and 1,024 hosts under PFC at packet level: CPU time per packet-hop, set-up, memory.

8 leaves of 16 hosts and 16 spines, links of 100 Gb/s and 1 us, packets of 4096 bytes. Incast: 127 hosts send 2 MB
each to one; permutation: each sends 20 MB to another, over the spine of its number, and links that several flows share
pause them. Senders are of constant rate, that of the link, or NewReno with a window of 256 packets and ACKs. The large
fabric has 32 leaves of 32 hosts and 32 spines; there a host sends 2 MB.

Times are those of a whole run; a packet-hop is what the compiled loop takes, without the set-up that is stated beside it.
"""

from __future__ import annotations

import statistics
import time
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from benchmarks.timing import Row
from dfcmodel import CBR, FIFO, PFC, Flow, Link, Packets, Scenario
from dfcmodel.packets.engine import begin_run, run_engine
from dfcmodel.packets.simulation import plan_scenario
from hopflow import gbps, us
from responsefn import NewReno

__all__ = ["BYTES", "LARGE", "PACKETS", "SMALL", "SOURCES", "Shape", "fabric", "pairs", "rows"]

BYTES = 4096
RATE = float(gbps(100, packet_size=BYTES))
PACKETS = {"incast": 489, "permutation": 4883}
ENDS = {"incast": 21e-3, "permutation": 2.5e-3}
LARGE_FLOW = 489
LARGE_TARGET = 50.0
TARGETS = {"line rate": 40.0, "half of it": 40.0, "NewReno": 80.0}
"""CPU ns per packet-hop; packets and ACKs count."""
SOURCES: dict[str, Any] = {
    "line rate": CBR(RATE),
    "half of it": CBR(RATE / 2),
    "NewReno": NewReno(),
}
ROUNDS = 7


class Shape(NamedTuple):
    """Numbers of leaves, spines and hosts per leaf."""

    leaves: int
    spines: int
    per_leaf: int

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return self.leaves * self.per_leaf


SMALL, LARGE = Shape(8, 16, 16), Shape(32, 32, 32)


def fabric(traffic: str, source: Any, shape: Shape = SMALL) -> Scenario:
    """Return a fabric with its flows. Hosts' links are plain queues that PFC pauses."""
    one: dict[str, Any] = {"rate": RATE, "delay": us(1)}
    rule = PFC((0,), xoff=20.0, xon=10.0, headroom=700.0)  # ACKs count as packets of the buffer
    switch: dict[str, Any] = {**one, "buffer": 1e5, "discipline": rule}
    links = []
    for h in range(shape.hosts):
        leaf = f"leaf{h // shape.per_leaf}"
        links += [Link(f"h{h}", leaf, buffer=1e9, discipline=FIFO(), **one)]
        links += [Link(leaf, f"h{h}", **switch)]
    for leaf in range(shape.leaves):
        for spine in range(shape.spines):
            links += [Link(f"leaf{leaf}", f"spine{spine}", **switch)]
            links += [Link(f"spine{spine}", f"leaf{leaf}", **switch)]
    size = PACKETS[traffic] if shape == SMALL else LARGE_FLOW
    flows = [_flow(a, b, source, size, shape) for a, b in pairs(traffic, shape)]
    return Scenario(traffic, links, flows, ENDS[traffic], min_rto=0.01, packet_size=BYTES)


def pairs(traffic: str, shape: Shape) -> list[tuple[int, int]]:
    """Return the hosts at the ends of each flow."""
    if traffic == "incast":
        return [(h, 0) for h in range(1, shape.hosts)]
    to = np.random.default_rng(1).permutation(shape.hosts)
    return [(a, int(b)) for a, b in enumerate(to) if a != b]


def _flow(a: int, b: int, source: Any, size: int, shape: Shape) -> Flow:
    here, there = a // shape.per_leaf, b // shape.per_leaf
    middle = () if here == there else (f"spine{a % shape.spines}", f"leaf{there}")
    path = (f"h{a}", f"leaf{here}", *middle, f"h{b}")
    return Flow(f"{a}->{b}", path, source, 256.0, size=float(size), host="direct")


def rows() -> list[Row]:
    """Return a row for each traffic and kind of sender."""
    cases = [(traffic, name, SMALL) for traffic in PACKETS for name in SOURCES]
    cases += [("permutation", "line rate", LARGE)]
    return [_measure(*case) for case in tqdm(cases, desc="fabrics", leave=False)]


def _measure(traffic: str, name: str, shape: Shape) -> Row:
    """Return CPU seconds of a run, set-up included, with the cost of a packet-hop in the loop."""
    scenario, method = fabric(traffic, SOURCES[name], shape), Packets(seed=1)
    options = {"duration": scenario.duration, "sample": scenario.duration / 20}
    records = run_engine(plan_scenario(scenario, method, **options))  # compiles
    times, loops, set_ups = [], [], []
    for _ in range(ROUNDS):
        began = time.process_time()
        run = begin_run(plan_scenario(scenario, method, **options))
        ready = time.process_time()
        run.advance(run.plan.samples)
        done = time.process_time()
        run.records.take_in(run.layout.arrays)
        times.append(time.process_time() - began)
        loops.append(done - ready)
        set_ups.append(ready - began)
    hops, ours = records.carried.sum(), statistics.median(times)
    cost = 1e9 * statistics.median(loops) / hops
    target = TARGETS[name] if shape == SMALL else LARGE_TARGET
    memory = sum(array.nbytes for array in run.layout.arrays.values())
    note = (
        f"{cost:.0f} ns per packet-hop, target {target:.0f}: {'reached' if cost <= target else 'missed'}; "
        f"{hops} of them, {len(records.switched)} pauses and ends, {records.drops.sum()} drops; "
        f"set-up {1e3 * statistics.median(set_ups):.1f} ms, {memory / 1e6:.1f} MB"
    )
    task = f"{traffic} of {shape.hosts:,} hosts under PFC, {name}"
    return Row(task, "Packets", ours, min(times), max(times), 1.0, note)
