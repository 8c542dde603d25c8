"""A leaf-spine fabric of 128 hosts under PFC at packet level: CPU time per packet-hop.

8 leaves of 16 hosts and 16 spines, links of 100 Gb/s and 1 us, packets of 4096 bytes. Incast: 127 hosts send 2 MB
each to one; permutation: each sends 20 MB to another, over the spine of its number, and links that several flows share
pause them. Senders are of constant rate, that of the link, or NewReno with a window of 256 packets and ACKs.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
from tqdm import tqdm

from benchmarks.timing import Row
from dfcmodel import CBR, FIFO, PFC, Flow, Link, Packets, Scenario
from dfcmodel.network.flows import window_rules
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.layouts.arrays import lay_out
from dfcmodel.packets.simulation import plan_scenario
from hopflow import gbps, us
from responsefn import NewReno
from responsefn.responses.rule_events import signatures_of

__all__ = ["fabric", "rows"]

LEAVES, SPINES, PER_LEAF, BYTES = 8, 16, 16, 4096
RATE = float(gbps(100, packet_size=BYTES))
PACKETS = {"incast": 489, "permutation": 4883}
ENDS = {"incast": 21e-3, "permutation": 2.5e-3}
TARGETS = {"line rate": 40.0, "half of it": 40.0, "NewReno": 80.0}
"""CPU ns per packet-hop; packets and ACKs count."""
SOURCES: dict[str, Any] = {
    "line rate": CBR(RATE),
    "half of it": CBR(RATE / 2),
    "NewReno": NewReno(),
}
ROUNDS = 7


def fabric(traffic: str, source: Any) -> Scenario:
    """Return the fabric with its flows. Hosts' links are plain queues that PFC pauses."""
    one: dict[str, Any] = {"rate": RATE, "delay": us(1)}
    rule = PFC((0,), xoff=20.0, xon=10.0, headroom=700.0)  # ACKs count as packets of the buffer
    switch: dict[str, Any] = {**one, "buffer": 1e5, "discipline": rule}
    links = []
    for h in range(LEAVES * PER_LEAF):
        leaf = f"leaf{h // PER_LEAF}"
        links += [Link(f"h{h}", leaf, buffer=1e9, discipline=FIFO(), **one)]
        links += [Link(leaf, f"h{h}", **switch)]
    for leaf in range(LEAVES):
        for spine in range(SPINES):
            links += [Link(f"leaf{leaf}", f"spine{spine}", **switch)]
            links += [Link(f"spine{spine}", f"leaf{leaf}", **switch)]
    flows = [_flow(a, b, source, PACKETS[traffic]) for a, b in _pairs(traffic)]
    return Scenario(traffic, links, flows, ENDS[traffic], min_rto=0.01, packet_size=BYTES)


def _pairs(traffic: str) -> list[tuple[int, int]]:
    hosts = LEAVES * PER_LEAF
    if traffic == "incast":
        return [(h, 0) for h in range(1, hosts)]
    to = np.random.default_rng(1).permutation(hosts)
    return [(a, int(b)) for a, b in enumerate(to) if a != b]


def _flow(a: int, b: int, source: Any, size: int) -> Flow:
    here, there = a // PER_LEAF, b // PER_LEAF
    middle = () if here == there else (f"spine{a % SPINES}", f"leaf{there}")
    path = (f"h{a}", f"leaf{here}", *middle, f"h{b}")
    return Flow(f"{a}->{b}", path, source, 256.0, size=float(size), host="direct")


def rows() -> list[Row]:
    """Return a row for each traffic and kind of sender."""
    cases = [(traffic, name) for traffic in PACKETS for name in SOURCES]
    return [_measure(*case) for case in tqdm(cases, desc="fabrics", leave=False)]


def _measure(traffic: str, name: str) -> Row:
    """Return CPU seconds of a run, set-up included, with the cost of a packet-hop."""
    scenario, method = fabric(traffic, SOURCES[name]), Packets(seed=1)
    options = {"duration": scenario.duration, "sample": scenario.duration / 20}
    signatures = signatures_of(window_rules(scenario.flows))
    records = run_engine(plan_scenario(scenario, method, **options))  # compiles
    times, set_ups = [], []
    for _ in range(ROUNDS):
        began = time.process_time()
        plan = plan_scenario(scenario, method, **options)
        lay_out(plan, signatures)
        set_ups.append(time.process_time() - began)
        began = time.process_time()
        run_engine(plan)
        times.append(time.process_time() - began)
    hops, ours = records.carried.sum(), statistics.median(times)
    cost = 1e9 * ours / hops
    verdict = "reached" if cost <= TARGETS[name] else "missed"
    note = (
        f"{cost:.0f} ns per packet-hop, target {TARGETS[name]:.0f}: {verdict}; {hops} of them, "
        f"{len(records.switched)} pauses and ends, {records.drops.sum()} drops; "
        f"set-up {1e3 * statistics.median(set_ups):.1f} ms"
    )
    task = f"{traffic} of 128 hosts under PFC, {name}"
    return Row(task, "Packets", ours, min(times), max(times), 1.0, note)
