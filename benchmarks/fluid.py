"""The fluid engine: cost per node, flow and step, at all speeds, beside ns-2, and the bare law.

ns-2's times are those recorded with the reference data; where ``ns`` is installed one run stands
beside ours. Every task states the CPU time of one thread.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.timing import Row
from dfcmodel import Scenario, engine, takano2006
from dfcmodel.plans import compile_scenario
from dfcmodel.rings import advance_rings
from dfcmodel.steps import check_step
from hopflow import mbps

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "validation/generate/ns2/chain.tcl"
DATA = ROOT / "validation/data/takano2006"
SCENARIOS = ("1", "2", "3", "4", "5", "6")
LAW_FLOWS, LAW_NODES, LAW_PERIODS = 1000, 100_000, 4


def rows() -> list[Row]:
    """Return the table of the fluid engine."""
    return [*scenarios(), *speeds(), *beside_ns2(), *bare_law()]


def seconds_of(scenario: Scenario, steps_per_delay: int = 4, rounds: int = 5) -> tuple[float, ...]:
    """Return CPU seconds of runs of a scenario, without compilation and preparation of arrays."""
    found = []
    for _ in range(rounds + 1):
        plan = compile_scenario(scenario, steps_per_delay, np.random.default_rng(0))
        every = round(1e-3 / plan.step)
        steps = round(scenario.duration / plan.step) // every * every
        start = time.process_time()
        engine.advance(plan, steps, every)
        found.append(time.process_time() - start)
    return tuple(found[1:])


def per_step(scenario: Scenario, seconds: float, steps_per_delay: int = 4) -> float:
    """Return ns per node, flow and step; a flow counts at all nodes that send, as in the issue."""
    h = min(link.delay for link in scenario.links) / steps_per_delay
    steps = scenario.duration / h * len(scenario.senders) * len(scenario.flows)
    return 1e9 * seconds / steps


def row(task: str, name: str, times: tuple[float, ...], first: float | None, note: str) -> Row:
    """Return a row of the table; the ratio is to ``first``."""
    middle = statistics.median(times)
    return Row(task, name, middle, min(times), max(times), middle / (first or middle), note)


def scenarios() -> list[Row]:
    """The six scenarios at four steps per delay, with and without DFC."""
    found = []
    for name in SCENARIOS:
        for label, kwargs in (
            ("DFC, Tahoe", {}),
            ("FIFO, Tahoe", {"dfc": False}),
            ("FIFO, NewReno", {"dfc": False, "tcp": "newreno"}),
        ):
            scenario = takano2006(name, **kwargs)
            times = seconds_of(scenario)
            cost = per_step(scenario, statistics.median(times))
            note = f"{cost:.2f} ns per node, flow and step; {scenario.duration:g} s simulated"
            found.append(row(f"scenario {name}", label, times, None, note))
    return found


def speeds() -> list[Row]:
    """The same chain from 370 Mb/s to 10 Tb/s at a fixed step, and what half the step changes."""
    found, first = [], None
    for speed in (370.0, 3_700.0, 37_000.0, 123_000.0, 10e6):
        base = takano2006("1", tcp="newreno")
        window = max(5_000.0, min(2.0**23, 4 * mbps(speed) * base.base_rtt(base.flows[0])))
        scenario = replace(
            base,
            links=[replace(link, rate=mbps(speed)) for link in base.links],
            flows=[replace(flow, max_window=window) for flow in base.flows],
            duration=1.0,
        )
        times = seconds_of(scenario)
        first = first or statistics.median(times)
        check = check_step(scenario)
        note = (
            f"half the step: efficiency {check.efficiency_error.max():.1e}, "
            f"peak queue {check.peak_queue_error / check.fine.peak_queue.max():.1e} of itself"
        )
        found.append(row("DFC at a fixed step", f"{speed:g} Mb/s", times, first, note))
    return found


def recorded(name: str) -> float:
    """Return ns-2's mean CPU seconds per run of a scenario without DFC, as recorded."""
    text = (DATA / f"scenario-{name}-without-dfc/provenance.json").read_text(encoding="utf-8")
    facts = json.loads(text)
    return float(facts["cpu_seconds"]) / int(facts["runs"])


def beside_ns2() -> list[Row]:
    """ns-2 without DFC, recorded and, where it is installed, here; ours at 4 and 64 steps."""
    found = []
    for name in SCENARIOS:
        theirs = recorded(name)
        task = f"scenario {name}, FIFO, Tahoe"
        found.append(row(task, "ns-2, recorded CPU time", (theirs,), theirs, "mean per run"))
        for m in (4, 64):
            times = seconds_of(takano2006(name, dfc=False), m, 3)
            note = f"{theirs / statistics.median(times):,.0f} times cheaper"
            found.append(row(task, f"hopflow, {m} steps per delay", times, theirs, note))
    if shutil.which("ns"):
        mine = seconds_of(takano2006("4", dfc=False))
        times = (_ns2("bandwidth 12.3e9 window 10000 agent Agent/TCP"),)
        note = f"{times[0] / statistics.median(mine):,.0f} times hopflow's"
        found.append(row("scenario 4, FIFO, Tahoe, here", "ns-2", times, times[0], note))
        found.append(row("scenario 4, FIFO, Tahoe, here", "hopflow", mine, times[0], ""))
    return found


def _ns2(arguments: str) -> float:
    """Return the CPU seconds of a run of ns-2."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["ns", str(SCRIPT), *arguments.split(), "duration", "3.0"],
            cwd=folder, check=True, capture_output=True,
        )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def bare_law() -> list[Row]:
    """The law alone: in the cache, from memory, and 1e5 nodes times 1e3 flows on two threads."""

    def rings(flows: int, nodes: int, periods: int, threads: int = 1) -> Callable[[], object]:
        packets = np.ones((flows, nodes))
        sent = np.full_like(packets, 5.0)
        told = sent - 0.1 * packets
        return lambda: advance_rings(packets, sent, told, 0.1, periods, threads=threads)

    found = []
    for name, (flows, nodes, periods, threads) in {
        "in the cache, 1000 nodes": (1, 1000, 10_000, 1),
        "from memory, 1e7 nodes, one period": (1, 10**7, 1, 1),
        "from memory, 100 rows of 1e5, 8 periods": (100, 10**5, 8, 1),
        "1e5 nodes, 1e3 flows, 2 threads": (LAW_FLOWS, LAW_NODES, LAW_PERIODS, 2),
    }.items():
        run = rings(flows, nodes, periods, threads)
        times = []
        for _ in range(4):
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) / periods)
        cost = 1e9 * statistics.median(times[1:]) / (flows * nodes)
        memory = 3 * 8 * flows * nodes / 1e9
        note = f"{cost:.2f} ns per node and period, {memory:.2g} GB"
        found.append(row("bare DFC law, a period", name, tuple(times[1:]), None, note))
    return found
