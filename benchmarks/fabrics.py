"""Leaf-spine fabrics of 64 to 1,024 hosts under PFC at packet level: CPU time per packet-hop, set-up, memory.

8 leaves of 16 hosts and 16 spines, links of 100 Gb/s and 1 us, packets of 4096 bytes. Incast: 127 hosts send 2 MB
each to one; permutation: each sends 20 MB to another, over the spine of its number, and links that several flows share
pause them. Senders have the rate of the link, with and without an ACK per packet (go-back-N), DCQCN with marks, or NewReno with a window
of 256 packets. The large
fabric has 32 leaves of 32 hosts and 32 spines; there a host sends 2 MB. All-to-all: each of 64 hosts on 4 leaves sends
254 KB to each other one; flows to one leaf take the spines in turn. Hosts are network interfaces under PFC.

Times are those of a whole run; a packet-hop is what the compiled loop takes, without the set-up that is stated beside it.
The last rows are an all-to-all of 512 hosts with one packet per pair, without and with ACKs, from the links to the
trajectory, each in a process of its own.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import time
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from benchmarks.memory import memory
from benchmarks.timing import Row
from dfcmodel import (
    PFC,
    FlowOptions,
    Flows,
    Links,
    Packets,
    RampMarking,
    Scenario,
    all_to_all,
    flows_from,
    links_from,
    simulate,
)
from dfcmodel.packets.simulation import begin_plan, plan_scenario
from hopflow import gbps, us
from responsefn import DCQCN, FixedRate, NewReno

BYTES = 4096
RATE = float(gbps(100, packet_size=BYTES))
PACKETS = {"incast": 489, "permutation": 4883, "all-to-all": 62}
ENDS = {"incast": 21e-3, "permutation": 2.5e-3, "all-to-all": 2e-3}
LARGE_FLOW = 489
LARGE_TARGET = 50.0
TARGETS = {"line rate": 40.0, "line rate with ACKs": 60.0, "DCQCN": 60.0, "NewReno": 80.0}
"""CPU ns per packet-hop; packets and ACKs count."""


class Sender(NamedTuple):
    """A source, how it repairs losses, and the manager that marks its packets."""

    source: Any
    recovery: str | None = None
    manager: RampMarking | None = None

    @property
    def method(self) -> Packets:
        """The packet level with this repair."""
        return Packets(seed=1, recovery=self.recovery)


SENDERS = {
    "line rate": Sender(FixedRate(), "none"),
    "line rate with ACKs": Sender(FixedRate(), "go-back-n"),
    "DCQCN": Sender(DCQCN(), "go-back-n", RampMarking()),
    "NewReno": Sender(NewReno()),
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
SHAPES = {"incast": SMALL, "permutation": SMALL, "all-to-all": Shape(4, 16, 16)}
COLLECTIVE = Shape(32, 16, 16)
COLLECTIVE_SENDERS = {"line rate": "", "line rate with ACKs": ", with ACKs"}
"""Senders of the all-to-all of 512 hosts, and what its task adds for each."""
COLLECTIVE_TARGETS = 1.5, 350.0
"""CPU seconds and MB of the process, for an all-to-all of 512 hosts with one packet per pair."""


def fabric(traffic: str, sender: Sender, shape: Shape = SMALL) -> Scenario:
    """Return a fabric with its flows. Hosts are network interfaces, which PFC pauses."""
    links = network(shape, sender.manager)
    size = LARGE_FLOW if shape == LARGE else PACKETS[traffic]
    flows = _flows(traffic, sender.source, size, shape, links)
    return Scenario(traffic, links, flows, ENDS[traffic], min_rto=0.01, packet_size=BYTES)


def network(shape: Shape, manager: RampMarking | None = None) -> Links:
    """Return the links of a fabric, with a manager that marks."""
    one: dict[str, Any] = {"rate": RATE, "delay": us(1), "buffer": 1e5}
    one["discipline"] = PFC((0,), xoff=20.0, xon=10.0, manager=manager)
    hosts, leaves, spines = _names(shape)
    cables = [(host, leaves[h // shape.per_leaf]) for h, host in enumerate(hosts)]
    cables += itertools.product(leaves, spines)
    sources = [*itertools.chain.from_iterable(cables)]  # of both directions of each cable
    targets = sources.copy()
    targets[::2], targets[1::2] = sources[1::2], sources[::2]
    return links_from(sources, targets, **one)


def pairs(traffic: str, shape: Shape) -> list[tuple[int, int]]:
    """Return the hosts at the ends of each flow."""
    if traffic == "incast":
        return [(h, 0) for h in range(1, shape.hosts)]
    if traffic == "all-to-all":
        return [(a, b) for a in range(shape.hosts) for b in range(shape.hosts) if a != b]
    to = np.random.default_rng(1).permutation(shape.hosts)
    return [(a, int(b)) for a, b in enumerate(to) if a != b]


def _flows(traffic: str, source: Any, size: int, shape: Shape, links: Links) -> Flows:
    """Return the flows of a fabric; those of an all-to-all take spines in turn, others that of their source's number."""
    options: dict[str, Any] = {"source": source, "links": links, "options": FlowOptions(max_window=256.0)}
    hosts, leaves, spines = _names(shape)
    if traffic == "all-to-all":
        return all_to_all(hosts, sizes=size, routes="even", **options)
    paths = []
    for a, b in pairs(traffic, shape):
        here, there = leaves[a // shape.per_leaf], leaves[b // shape.per_leaf]
        middle = (here,) if here == there else (here, spines[a % shape.spines], there)
        paths.append((hosts[a], *middle, hosts[b]))
    ends = (map(itemgetter(n), paths) for n in (0, -1))
    return flows_from(*ends, size, routes=paths, **options)


@cache
def _names(shape: Shape) -> tuple[list[str], list[str], list[str]]:
    """Return the names of the hosts, of the leaves and of the spines; they are input and made once."""
    return (
        [f"h{h}" for h in range(shape.hosts)],
        [f"leaf{leaf}" for leaf in range(shape.leaves)],
        [f"spine{spine}" for spine in range(shape.spines)],
    )


def rows() -> list[Row]:
    """Return a row for each traffic and kind of sender."""
    cases = [(traffic, name, SHAPES[traffic]) for traffic in PACKETS for name in SENDERS]
    cases += [("permutation", "line rate", LARGE)]
    found = [_measure(*case) for case in tqdm(cases, desc="fabrics", leave=False)]
    return [*found, *map(_collective, COLLECTIVE_SENDERS)]


def collective(name: str) -> dict[str, float]:
    """Run an all-to-all of 512 hosts with one packet per pair by a sender; return CPU seconds, peak memory in MB and flows.

    CPU seconds are those from the links to the status of the run, once all kernels are loaded.
    """
    end, sender = 1e-3, SENDERS[name]
    method = sender.method
    simulate(fabric("incast", sender, Shape(1, 1, 2)), method, duration=end, sample=end)
    before, began = memory("VmHWM"), time.process_time()
    links = network(COLLECTIVE)
    flows = _flows("all-to-all", sender.source, 1, COLLECTIVE, links)
    scenario = Scenario("all-to-all", links, flows, end, min_rto=0.01, packet_size=BYTES)
    run = simulate(scenario, method, sample=end)
    if not run.status.ok or not np.isfinite(run.finished).all():
        raise RuntimeError(f"all-to-all of {COLLECTIVE.hosts} hosts: {run.status.label}")
    seconds = time.process_time() - began
    return {
        "seconds": seconds,
        "peak": 1e-6 * memory("VmHWM"),
        "before": 1e-6 * before,
        "flows": len(flows),
    }


def _collective(name: str) -> Row:
    """Return CPU seconds and memory of the all-to-all of 512 hosts by a sender, each time in a process of its own."""
    code = f"import json; from benchmarks.fabrics import collective; print(json.dumps(collective({name!r})))"
    found = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    times, peak = [run["seconds"] for run in found], max(run["peak"] for run in found)
    most, memory = COLLECTIVE_TARGETS
    verdict = "reached" if min(times) <= most and peak <= memory else "missed"
    note = (
        f"{1e6 * min(times) / found[0]['flows']:.1f} us per flow; peak of the process {peak:.0f} MB, "
        f"{found[0]['before']:.0f} before; targets {most:g} s and {memory:g} MB: {verdict}"
    )
    task = f"all-to-all of {COLLECTIVE.hosts} hosts under PFC, one packet for each of {found[0]['flows']:,.0f} flows"
    task += COLLECTIVE_SENDERS[name]
    return Row(task, "Packets", statistics.median(times), min(times), max(times), 1.0, note)


def _measure(traffic: str, name: str, shape: Shape) -> Row:
    """Return CPU seconds of a run, set-up included, with the cost of a packet-hop in the loop."""
    scenario, method = fabric(traffic, SENDERS[name], shape), SENDERS[name].method
    options = {"duration": scenario.duration, "sample": scenario.duration / 20}
    begin_plan(plan_scenario(scenario, method, **options)).advance(1)  # compiles
    times, loops, set_ups = [], [], []
    for _ in range(ROUNDS):
        began = time.process_time()
        run = begin_plan(plan_scenario(scenario, method, **options))
        ready = time.process_time()
        run.advance(run.plan.samples)
        done = time.process_time()
        memory = sum(getattr(array, "nbytes", 0) for array in run.arrays.values())
        records = run.finish()
        times.append(time.process_time() - began)
        loops.append(done - ready)
        set_ups.append(ready - began)
    hops, ours = records.carried.sum(), statistics.median(times)
    cost = 1e9 * statistics.median(loops) / hops
    target = LARGE_TARGET if shape == LARGE else TARGETS[name]
    note = (
        f"{cost:.0f} ns per packet-hop, target {target:.0f}: {'reached' if cost <= target else 'missed'}; "
        f"{hops} of them, {len(records.switched)} pauses and ends, {records.drops.sum()} drops; "
        f"set-up {1e3 * statistics.median(set_ups):.1f} ms, {memory / 1e6:.1f} MB"
    )
    task = f"{traffic} of {shape.hosts:,} hosts under PFC, {name}"
    return Row(task, "Packets", ours, min(times), max(times), 1.0, note)
