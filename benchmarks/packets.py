"""The packet level and ns-2 on the same traffic: results, and cost per delivered packet.

Times are CPU seconds of one thread from the scenario to its records; set-up is the time to the engine's arrays, which
they include. ns-2 runs beside us where it is installed, start-up included, three times where that takes less than a
second; its final acknowledgements are compared with ours, and a difference is said. The limit: the record of a
packet is written and read once at each hop.

``python -m benchmarks.packets``, or ``python -m benchmarks packets fabrics htsim --save``, writes
``results/packets.md``, the table of the documentation.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from tqdm import tqdm

from benchmarks import fabrics, htsim
from benchmarks.machines import Machine, this_machine
from benchmarks.timing import Row
from dfcmodel import Flow, Link, Packets, Scenario, WeightedFair, takano2006, to_ns2
from dfcmodel.network.flows import window_rules
from dfcmodel.packets.engine import Records, run_engine
from dfcmodel.packets.kernel.layout import PACKET
from dfcmodel.packets.layouts.arrays import lay_out
from dfcmodel.packets.plan import PacketPlan
from dfcmodel.packets.simulation import plan_scenario
from responsefn import NewReno
from responsefn.rule_events import signatures_of
from validation.networks.packet_networks import dumbbell_scenario, parking_lot_scenario

ROUNDS, LEAST = 7, 0.5
"""Fewest repetitions, and CPU seconds that they take at least: a processor is not at its speed in the first hundredths."""
NS2_ROUNDS, NS2_SHORT = 3, 1.0
"""Repetitions of runs of ns-2 that take less, CPU s."""
TABLE = Path(__file__).parent / "results" / "packets.md"
SUITES = ("packets", "fabrics", "htsim")
"""Whose rows are in the table."""
TARGETS = {
    "dumbbell 2": 25, "dumbbell 8": 25, "dumbbell 32": 50, "dumbbell 128": 150,
    "parking lot 1": 40, "parking lot 4": 40, "parking lot 16": 40, "takano2006/4 with NewReno": 120,
}  # fmt: skip
"""How many times faster than ns-2."""
LONG, PER_PACKET = 20.0, {2: 45.0, 8: 45.0, 32: 60.0, 128: 60.0}
"""Seconds of the dumbbells whose cost per delivered packet has a target, ns by number of flows; set-up counts."""
DIFFUSIVE = 5.0
"""CPU seconds for scenario 6 with DFC."""
RANKED, MAX_RANKED_RATIO = (40, 400, 1000, 2000, 4000), 2.0
"""Packets that wait at a ranked queue, and how many times the cost of one with 40 may be that of one with 4,000."""


def scenarios() -> list[Scenario]:
    """Return the scenarios: NewReno flows over dumbbells, parking lots and a chain."""
    return [
        *(dumbbell_scenario("newreno", pairs, 1) for pairs in (2, 8, 32, 128)),
        *(parking_lot_scenario("newreno", long, 1) for long in (1, 4, 16)),
        replace(takano2006("4", dfc=False, tcp="newreno"), name="takano2006/4 with NewReno"),
    ]


def rows() -> list[Row]:
    """Return a row for each scenario, and one for ns-2 where it is installed."""
    method = Packets(convention="ns2", seed=1)
    found = []
    for scenario in tqdm([*scenarios(), *long_dumbbells()], desc="packets", leave=False):
        found += _compare(scenario, method)
    return [*found, diffusive_row(), *ranked_rows()]


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


def ranked_scenario(waiting: int) -> Scenario:
    """Return eight flows of constant windows, whose packets wait at a link under `WeightedFair`."""
    program = WeightedFair(1.0, 2.0, 3.0, 4.0)
    links = [
        Link("hosts", "switch", 1e7, 1e-6, 10_000),
        Link("switch", "rack", 1e5, 1e-6, waiting + 8, program),
    ]
    path, window = ("hosts", "switch", "rack"), waiting / 8.0
    flows = [Flow(str(n), path, NewReno(), window, priority=n % 4) for n in range(8)]
    return Scenario(f"WeightedFair, {waiting:,} packets wait", links, flows, duration=2.0)


def ranked_rows() -> list[Row]:
    """Return a row for each length of a ranked queue; ratios are those of the cost per packet to the shortest queue."""
    plans = [plan_scenario(ranked_scenario(n), Packets(seed=1), duration=2.0, sample=0.1) for n in RANKED]
    packets = [float(run_engine(plan).total.sum()) for plan in plans]
    times: list[list[float]] = [[] for _ in plans]
    for _ in range(ROUNDS):  # in turn, so that the load of the machine is the same for all
        for plan, seconds in zip(plans, times, strict=True):
            began = time.process_time()
            run_engine(plan)
            seconds.append(_cpu(began))
    costs = [min(seconds) / count for seconds, count in zip(times, packets, strict=True)]
    notes = [f"{1e9 * cost:.0f} ns per packet" for cost in costs]
    verdict = "reached" if costs[-1] <= MAX_RANKED_RATIO * costs[0] else "missed"
    notes[-1] += f"; target {MAX_RANKED_RATIO:g} times that with {RANKED[0]}: {verdict}"
    return [
        Row(plan.scenario.name, "Packets", statistics.median(row), min(row), max(row), cost / costs[0], note)
        for plan, row, cost, note in zip(plans, times, costs, notes, strict=True)
    ]


def _plan(scenario: Scenario, method: Packets) -> PacketPlan:
    return plan_scenario(scenario, method, duration=scenario.duration, sample=0.1)


def _cpu(began: float) -> float:
    return time.process_time() - began


def _compare(scenario: Scenario, method: Packets) -> list[Row]:
    """Return our row, and ns-2's."""
    records = run_engine(_plan(scenario, method))  # compiles
    times: list[float] = []
    set_ups: list[float] = []
    while len(times) < ROUNDS or sum(times) < LEAST:
        began = time.process_time()
        lay_out(_plan(scenario, method), signatures_of(window_rules(scenario.flows)))
        set_ups.append(_cpu(began))
        began = time.process_time()
        run_engine(_plan(scenario, method))
        times.append(_cpu(began))
    ours = statistics.median(times)
    nanoseconds = 1e9 * ours / records.total.sum()
    note = f"{nanoseconds:.0f} ns per packet, set-up {1e3 * statistics.median(set_ups):.1f} ms"
    if scenario.duration == LONG:
        most = PER_PACKET[len(scenario.flows)]
        note += f"; target {most:g} ns: {'reached' if nanoseconds <= most else 'missed'}"
    name = f"{scenario.name}, {scenario.duration:g} s"
    size, moved = len(scenario.flows), 2.0 * PACKET.itemsize * float(records.carried.sum())
    own = Row(name, "Packets", ours, min(times), max(times), 1.0, note, size, moved)
    if shutil.which("ns") is None:
        return [own]
    program = to_ns2(scenario, method=method, sample=0.1)
    seconds, acknowledged = _run_ns2(program)
    theirs = [seconds]
    while seconds < NS2_SHORT and len(theirs) < NS2_ROUNDS:
        theirs.append(_run_ns2(program)[0])
    seconds = statistics.median(theirs)
    ratio = seconds / ours
    note = _verdict(scenario, records, acknowledged, ratio)
    return [own, Row(name, "ns-2", seconds, min(theirs), max(theirs), ratio, note, size)]


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
            f"| {row.task} | {row.name} | {row.fastest:.4g} | {row.seconds:.4g} | {row.ratio:.3g} | {row.note} |"
            for row in found
        ),
        "",
        f"CPU times of one thread on {machine}; {busy}.",
    ]
    return "\n".join(lines) + "\n"


def write_table(found: Mapping[str, list[Row]], machine: Machine, place: Path = TABLE) -> bool:
    """Write the table of the documentation; return False, with nothing written, unless all its suites have run."""
    if not set(SUITES) <= set(found):
        return False
    rows_of_all = [row for suite in SUITES for row in found[suite]]
    place.write_text(markdown(rows_of_all, machine.processor), encoding="utf-8")
    return True


def main() -> None:
    """Run the suites and write the table."""
    found = {"packets": rows(), "fabrics": fabrics.rows(), "htsim": htsim.rows()}
    write_table(found, this_machine())


if __name__ == "__main__":
    main()
