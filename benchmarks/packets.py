"""The packet level and ns-2 on the same traffic: results, and cost per delivered packet.

Times are CPU seconds of one thread; set-up is the time to the engine's arrays. ns-2 runs once beside
us where it is installed, start-up included; its final acknowledgements are compared with ours, and a
difference is said. The limit: the record of a packet is written and read once at each hop.

``python -m benchmarks.packets`` writes ``results/packets.md``, the table of the documentation.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from tqdm import tqdm

from benchmarks import fabrics, htsim
from benchmarks.machines import this_machine
from benchmarks.timing import Row
from dfcmodel import Packets, Scenario, takano2006, to_ns2
from dfcmodel.network.flows import window_rules
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.kernel.layout import ELEMENT
from dfcmodel.packets.layouts.arrays import lay_out
from dfcmodel.packets.plans import Plan
from dfcmodel.packets.records import Records
from dfcmodel.packets.simulation import plan_scenario
from responsefn.responses.rule_events import signatures_of
from validation.packet_networks import dumbbell_scenario, parking_lot_scenario

ROUNDS = 7
TARGETS = {
    "dumbbell 2": 25, "dumbbell 8": 25, "dumbbell 32": 50, "dumbbell 128": 150,
    "parking lot 1": 40, "parking lot 4": 40, "parking lot 16": 40, "takano2006/4": 120,
}  # fmt: skip
"""How many times faster than ns-2."""
LONG, PER_PACKET = 20.0, {2: 45.0, 8: 45.0, 32: 60.0, 128: 60.0}
"""Seconds of the dumbbells whose cost per delivered packet has a target, ns by number of flows; set-up counts."""
DIFFUSIVE = 5.0
"""CPU seconds for scenario 6 with DFC."""


def scenarios() -> list[Scenario]:
    """Return the scenarios: NewReno flows over dumbbells, parking lots and a chain."""
    return [
        *(dumbbell_scenario("newreno", pairs, 1) for pairs in (2, 8, 32, 128)),
        *(parking_lot_scenario("newreno", long, 1) for long in (1, 4, 16)),
        takano2006("4", dfc=False, tcp="newreno"),
    ]


def rows() -> list[Row]:
    """Return a row for each scenario, and one for ns-2 where it is installed."""
    method = Packets(convention="ns2", seed=1)
    found = []
    for scenario in tqdm([*scenarios(), *long_dumbbells()], desc="packets", leave=False):
        found += _compare(scenario, method)
    return [*found, diffusive_row()]


def long_dumbbells() -> list[Scenario]:
    """Return the dumbbells at which the cost of a delivered packet is judged."""
    return [replace(dumbbell_scenario("newreno", pairs, 1), duration=LONG) for pairs in PER_PACKET]


def diffusive_row() -> Row:
    """Return a row for takano2006's scenario 6 with DFC: 1.5 s of 123 Gb/s, with the drops and goodput."""
    scenario, method = takano2006("6", dfc=True), Packets(seed=1)
    plan = plan_scenario(scenario, method, duration=1.5, sample=0.01)
    times = []
    for _ in range(2):
        began = time.process_time()
        records = run_engine(plan)
        times.append(_cpu(began))
    ours, hops = statistics.median(times), records.carried.sum()
    verdict = "reached" if ours <= DIFFUSIVE else "missed"
    note = (
        f"{1e9 * ours / hops:.0f} ns per packet-hop, {hops} of them; {records.drops.sum()} drops; "
        f"target {DIFFUSIVE:g} s: {verdict}"
    )
    task = f"{scenario.name} with DFC, 1.5 s"
    return Row(task, "Packets", ours, min(times), max(times), 1.0, note)


def _plan(scenario: Scenario, method: Packets) -> Plan:
    return plan_scenario(scenario, method, duration=scenario.duration, sample=0.1)


def _cpu(began: float) -> float:
    return time.process_time() - began


def _compare(scenario: Scenario, method: Packets) -> list[Row]:
    """Return our row, and ns-2's."""
    plan = _plan(scenario, method)
    records = run_engine(plan)  # compiles
    times, set_ups = [], []
    for _ in range(ROUNDS):
        began = time.process_time()
        lay_out(_plan(scenario, method), signatures_of(window_rules(scenario.flows)))
        set_ups.append(_cpu(began))
        began = time.process_time()
        run_engine(plan)
        times.append(_cpu(began))
    ours = statistics.median(times)
    nanoseconds = 1e9 * ours / records.total.sum()
    note = f"{nanoseconds:.0f} ns per packet, set-up {1e3 * statistics.median(set_ups):.1f} ms"
    if scenario.duration == LONG:
        most = PER_PACKET[len(scenario.flows)]
        note += f"; target {most:g} ns: {'reached' if nanoseconds <= most else 'missed'}"
    name = f"{scenario.name}, {scenario.duration:g} s"
    size, moved = len(scenario.flows), 2.0 * ELEMENT.itemsize * float(records.carried.sum())
    own = Row(name, "Packets", ours, min(times), max(times), 1.0, note, size, moved)
    if shutil.which("ns") is None:
        return [own]
    seconds, acknowledged = _run_ns2(to_ns2(scenario, method=method, sample=0.1))
    ratio = seconds / ours
    note = _verdict(scenario, records, acknowledged, ratio)
    return [own, Row(name, "ns-2", seconds, seconds, seconds, ratio, note, size)]


def _verdict(scenario: Scenario, records: Records, acknowledged: np.ndarray, ratio: float) -> str:
    """Return a note on whether the runs are equal and the target is reached."""
    equal = "equal" if (acknowledged == records.acked[-1]).all() else "NOT EQUAL"
    target = TARGETS[scenario.name]
    return f"{equal}; target {target} times: {'reached' if ratio >= target else 'missed'}"


def _run_ns2(program: str) -> tuple[float, np.ndarray]:
    """Return ns-2's CPU seconds and the final acknowledgements."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "run.tcl").write_text(program)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["ns", "run.tcl"], cwd=folder, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        flows = np.loadtxt(Path(folder) / "flows.txt", ndmin=2)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds, flows[:, 1]


def markdown(found: list[Row], machine: str) -> str:
    """Return the table of the documentation: CPU times, the fastest and the median, and what was compared."""
    busy = f"load average {os.getloadavg()[1]:.1f} of {os.cpu_count()} cores"
    lines = [
        "| task | alternative | fastest (s) | median (s) | ratio | |",
        "|---|---|--:|--:|--:|---|",
        *(
            f"| {row.task} | {row.name} | {row.fastest:.4g} | {row.seconds:.4g} "
            f"| {row.ratio:.3g} | {row.note} |"
            for row in found
        ),
        "",
        f"CPU times of one thread on {machine}; {busy}.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the suite and write the table."""
    place = Path(__file__).parent / "results" / "packets.md"
    machine = this_machine()
    found = [*rows(), *fabrics.rows(), *htsim.rows()]
    place.write_text(markdown(found, machine.processor), encoding="utf-8")


if __name__ == "__main__":
    main()
