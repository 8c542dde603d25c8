"""Pauses, credits or losses, line rate, DCQCN or HPCC, hashed or sprayed: an incast of 32 and a permutation of 64, with CPU times.

8 leaves of 8 hosts and 8 spines, links of 100 Gb/s and 1 us, packets of 4096 bytes, 2 MB per flow. A port has 400 kB. Fabrics with
pauses count each ingress of the switch, pause above 100 kB and have the headroom of IEEE 802.3; those with credits have as many per link as it
needs for its full rate. Hashed flows repair losses by going back, after a timeout of 1 ms at the least, or selectively; sprayed ones selectively, after 64 later packets. Each row is one run; its time is the CPU time from the links to the records, kernels loaded. The last row is the whole table.

Two rows compare an all-to-all of 64 hosts, 254 KB per pair, with HPCC's telemetry and at line rate without it, in buffers that lose nothing; they take turns.

Three large runs follow, each in a process of its own: a ring all-reduce of 512 hosts with 1 GB, an all-to-all of 512 hosts with 64 KB
per pair, and a permutation of the 1,024 hosts of a fat tree with 2 MB each, all under PFC, without ACKs.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

import dfcmodel as dfc
from benchmarks.memory import memory
from benchmarks.timing import Row, cpu_seconds
from dfcmodel.lossless import fat_tree, leaf_spine
from hopflow import mbps
from responsefn import DCQCN, HPCC, FixedRate

FABRIC = dfc.Fabric(leaf_spine(8, 8, hosts=8), dfc.Cable("100Gbps", "200m"), buffer="400 kB", packet_size=4096)
PACKETS = 489
END = 0.05
ROUNDS = 5
TARGET = 2.0
"""CPU seconds of the whole table."""
MARKS = dfc.RampMarking(25.0, 100.0, 0.1)
ROCE = DCQCN(additive=mbps(40, 4096), hyper=mbps(400, 4096), counter=10e6 / 4096)
"""R_AI, R_HAI and the byte counter of Zhu et al. 2015, in packets of 4096 bytes."""
LOSSY, SELECTIVE = "lossy", "lossy and selective"
"""Fabrics that drop, whose senders go back or send again what is lost alone."""
ROUTES = {"hashed": "ecmp", "sprayed": "spray"}
TELEMETRY_TARGET, SHORT_PACKETS = 1.6, 62
"""Times the time without telemetry; packets per pair."""
BASE_RTT = 1e-5
"""Of HPCC: eight links of 1 us, and the transmissions of a packet and its ACK."""


class Large(NamedTuple):
    """A large run: what it is, its graph, how its flows are made, and CPU seconds that are to be enough."""

    task: str
    graph: Callable[[], Any]
    flows: Callable[..., dfc.Flows]
    target: float


LARGE = {
    "ring": Large(
        "ring all-reduce of 512 hosts with 1 GB",
        lambda: leaf_spine(32, 16, hosts=16),
        lambda hosts, **given: dfc.all_reduce(hosts, 244_141, **given),
        30.0,
    ),
    "all-to-all": Large(
        "all-to-all of 512 hosts with 64 KB per pair",
        lambda: leaf_spine(32, 16, hosts=16),
        lambda hosts, **given: dfc.all_to_all(hosts, sizes=16, **given),
        10.0,
    ),
    "permutation": Large(
        "permutation of 1,024 hosts on a fat tree, 2 MB each",
        lambda: fat_tree(16),
        lambda hosts, **given: dfc.permutation(hosts, 1, sizes=PACKETS, **{**given, "routes": "ecmp"}),
        1.0,
    ),
}


class Cell(NamedTuple):
    """A cell of the table."""

    traffic: str
    control: str
    rate: str
    routes: str

    def __str__(self) -> str:
        return f"{self.traffic}, {self.control}, {self.rate}, {self.routes}"


CELLS = tuple(
    Cell(traffic, control, rate, routes)
    for traffic in ("incast of 32", "permutation of 64")
    for control in ("pauses", "credits", LOSSY, SELECTIVE)
    for rate in ("line rate", "DCQCN", "HPCC")
    for routes in ROUTES
    if control == LOSSY  # telemetry is written by a switch program, which the others cannot have
    or (rate == "line rate" and (control != SELECTIVE or routes == "hashed"))
    or (rate == "DCQCN" and control != SELECTIVE)
)


def fabric_of(cell: Cell) -> dfc.Fabric:
    """Return the fabric of a cell."""
    marks = MARKS if cell.rate == "DCQCN" else None
    rule: Any = marks or dfc.FIFO()
    if cell.control == "pauses":
        rule = dfc.PFC(xoff=25.0, xon=20.0, counts="switch", manager=marks)
    elif cell.control == "credits":
        rule = dfc.Credits(manager=marks)
    elif cell.rate == "HPCC":
        rule = dfc.INT()
    return replace(FABRIC, discipline=rule)


def flows_of(cell: Cell, fabric: dfc.Fabric) -> dfc.Flows:
    """Return the flows of a cell."""
    source = {"line rate": FixedRate(), "DCQCN": ROCE, "HPCC": HPCC(base_rtt=BASE_RTT)}[cell.rate]
    given = {
        "sizes": PACKETS,
        "source": source,
        "links": fabric.links,
        "routes": ROUTES[cell.routes],
        "options": dfc.FlowOptions(host="nic"),
    }
    if cell.traffic == "incast of 32":
        return dfc.incast(fabric.hosts[8:40], fabric.hosts[0], **given)
    return dfc.permutation(fabric.hosts, 1, **given)


def run_cell(cell: Cell) -> Any:
    """Run a cell, from the links to the records."""
    fabric = fabric_of(cell)
    scenario = fabric.scenario(str(cell), flows_of(cell, fabric), END, min_rto=1e-3)
    recovery: Any = "selective" if cell.control == SELECTIVE else "go-back-n"
    if cell.routes == "sprayed":
        recovery = dfc.SelectiveRepair(reordering=64)
    return dfc.simulate(scenario, dfc.Packets(seed=1, recovery=recovery), sample=END)


def run_all_to_all(telemetry: bool) -> Any:
    """Run an all-to-all of 64 hosts with HPCC, whose packets carry telemetry, or at line rate without it; both have ACKs."""
    fabric = replace(FABRIC, buffer="64 MB", discipline=dfc.INT() if telemetry else dfc.FIFO())
    source = HPCC(base_rtt=BASE_RTT) if telemetry else FixedRate()
    flows = dfc.all_to_all(
        fabric.hosts,
        sizes=SHORT_PACKETS,
        source=source,
        links=fabric.links,
        routes="even",
        options=dfc.FlowOptions(host="nic"),
    )
    scenario = fabric.scenario("all-to-all of 64", flows, END, min_rto=1e-2)
    return dfc.simulate(scenario, dfc.Packets(seed=1, recovery="go-back-n"), sample=END)


def _telemetry_rows() -> list[Row]:
    """Return rows of the all-to-all without telemetry and with it, which took turns; the first round compiles."""
    names = {False: "without telemetry", True: "HPCC's telemetry"}
    times: dict[bool, list[float]] = {telemetry: [] for telemetry in names}
    runs = {telemetry: run_all_to_all(telemetry) for telemetry in names}
    for _ in range(ROUNDS):
        for telemetry, own in times.items():
            began = time.process_time()
            run_all_to_all(telemetry)
            own.append(time.process_time() - began)
    middle = {telemetry: statistics.median(own) for telemetry, own in times.items()}
    found = []
    for telemetry, name in names.items():
        ratio, job = middle[telemetry] / middle[False], dfc.job_completion(runs[telemetry])
        note = f"complete after {1e3 * job.time:.2f} ms; {runs[telemetry].lost_by_flow.sum():.0f} lost"
        if telemetry:
            reached = "reached" if ratio <= TELEMETRY_TARGET else "missed"
            note += f"; target {TELEMETRY_TARGET:g} times the time without it: {reached}"
        own = times[telemetry]
        task = f"all-to-all of 64 hosts, {name}"
        found.append(Row(task, "Packets", middle[telemetry], min(own), max(own), ratio, note))
    return found


def rows() -> list[Row]:
    """Return a row for each cell, one for all of them, those with and without telemetry, and those of the large runs."""
    found, sums = [], np.zeros(ROUNDS)
    for cell in tqdm(CELLS, desc="fabric table", leave=False):
        run = run_cell(cell)  # compiles
        times = cpu_seconds(lambda cell=cell: run_cell(cell), ROUNDS)
        sums += np.sort(times)
        job = dfc.job_completion(run)
        note = (
            f"complete after {1e3 * job.time:.2f} ms, bound {1e3 * job.bound:.2f} ms; {run.lost_by_flow.sum():.0f} lost, "
            f"{len(run.paused)} pauses, {job.unfinished} not complete"
        )
        found.append(Row(str(cell), "Packets", statistics.median(times), min(times), max(times), 1.0, note))
    middle, least, most = float(sums[ROUNDS // 2]), float(sums[0]), float(sums[-1])
    note = f"target {TARGET:g} s: {'reached' if middle <= TARGET else 'missed'}"
    return [
        *found,
        Row(f"all {len(CELLS)} cells", "Packets", middle, least, most, 1.0, note),
        *_telemetry_rows(),
        *map(_large_row, LARGE),
    ]


def large(name: str) -> dict[str, float]:
    """Run a large one; return CPU seconds from the links to the job's time, peak memory in MB, time and bound in s."""
    rule = dfc.PFC(xoff=20.0, xon=10.0, counts="switch")
    method = dfc.Packets(seed=1, recovery="none", max_cpu_time=600.0)

    def run(graph: Any, flows: Callable[..., dfc.Flows]) -> Any:
        fabric = dfc.Fabric(graph, FABRIC.access, None, "1 MB", 4096.0, rule)
        given = {"source": FixedRate(), "links": fabric.links, "routes": "even"}
        scenario = fabric.scenario(name, flows(fabric.hosts, **given), 1.0)
        return dfc.job_completion(dfc.simulate(scenario, method, sample=1.0))

    run(leaf_spine(1, 1, hosts=4), lambda hosts, **given: dfc.all_reduce(hosts, 16, **given))  # loads the kernels
    began = time.process_time()
    job = run(LARGE[name].graph(), LARGE[name].flows)
    seconds = time.process_time() - began
    peak = 1e-6 * memory("VmHWM")
    return {"seconds": seconds, "peak": peak, "time": job.time, "bound": job.bound}


def _large_row(name: str) -> Row:
    code = f"import json; from benchmarks.fabric_table import large; print(json.dumps(large({name!r})))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    found, target = json.loads(done.stdout.splitlines()[-1]), LARGE[name].target
    seconds = found["seconds"]
    note = (
        f"complete after {1e3 * found['time']:.2f} ms, bound {1e3 * found['bound']:.2f} ms; peak of the process "
        f"{found['peak']:.0f} MB; target {target:g} s: {'reached' if seconds <= target else 'missed'}"
    )
    return Row(LARGE[name].task, "Packets", seconds, seconds, seconds, 1.0, note)
