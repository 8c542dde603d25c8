"""Cost of the fluid engine per node, flow and step, against ns-2 and ns-3; the bare law.

Times are CPU seconds of one thread in the loop over time where nothing else is said: without compilation, the
preparation of arrays, and what makes records a result, which `scenarios` tells beside. Each note ends with the target
and whether it was reached. ns-2 runs beside us where it is installed (some minutes); otherwise, and for ns-3, its times
are those recorded with the reference data, and the note says so.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from tqdm import tqdm

from benchmarks.timing import Row, cpu_seconds, fixed_loop
from dfcmodel import Fluid, Scenario, simulate, takano2006
from dfcmodel.engine.plan import compile_scenario
from dfcmodel.engine.run import advance
from dfcmodel.step_checks import check_step
from dfcmodel.theory.ring_arrays import advance_rings
from hopflow import mbps

ROOT = Path(__file__).parents[1]
DATA = ROOT / "validation/data/takano2006"
SCENARIOS = ("1", "2", "3", "4", "5", "6")
SPEEDS = (370.0, 3_700.0, 37_000.0, 123_000.0, 10e6)
NS2_SEEDS = (1, 2, 3)
"""Of runs of ns-2, two minutes each: the first alone unless all are asked for."""
LAW_FLOWS, LAW_NODES, LAW_PERIODS = 1000, 100_000, 4

USER_RULE = """
from dfcmodel import Flow, Scenario, chain, simulate
from responsefn import WindowRule

class Gentle(WindowRule):
    recovery = "newreno"

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + 1.0 / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=0.9 * s.cwnd)

    @staticmethod
    def on_timeout(s, q, e):
        return s._replace(cwnd=1.0)

links = chain(3, rate=1e4, delay=1e-3, buffer=100)
simulate(Scenario("own rule", links, [Flow("one", (1, 2, 3), Gentle())], duration=0.1))
"""
PAPER_RULE = "from dfcmodel import simulate, takano2006; simulate(takano2006('1'), duration=0.1)"
LARGE_LAW = f"""
import time
import numpy as np
from benchmarks.memory import memory
from dfcmodel.theory.ring_arrays import advance_rings
packets = np.ones(({LAW_FLOWS}, {LAW_NODES}))
sent = np.full_like(packets, 5.0)
told = np.full_like(packets, 4.9)
advance_rings(packets, sent, told, 0.1, 1, threads=2)
for _ in range(4):
    start = time.process_time()
    advance_rings(packets, sent, told, 0.1, {LAW_PERIODS}, threads=2)
    print((time.process_time() - start) / 2 / {LAW_PERIODS})
print(memory("VmHWM") / 1e9)
"""


def rows(long: bool = False) -> list[Row]:
    """Return the table of the fluid engine; ``long``: beside three runs of ns-2 instead of one."""
    return [
        *scenarios(), *speeds(), *beside_ns2(NS2_SEEDS if long else NS2_SEEDS[:1]), *beside_ns3(),
        *bare_law(), *starts(),
    ]  # fmt: skip


def seconds_of(
    scenario: Scenario, steps_per_delay: int = 4, rounds: int = 5, interval: float = 1e-3
) -> tuple[float, ...]:
    """Return CPU seconds of the loop over time in runs of a scenario; the first run is left out.

    ``interval`` is that of the records, s.
    """
    found = []
    for _ in range(rounds + 1):
        plan = compile_scenario(scenario, Fluid(steps_per_delay=steps_per_delay), np.random.default_rng(0))
        every = round(interval / plan.step)
        steps = round(scenario.duration / plan.step) // every * every
        found.append(advance(plan, steps, every, clock=time.process_time).seconds)
    return tuple(found[1:])


def per_step(scenario: Scenario, seconds: float, steps_per_delay: int = 4) -> float:
    """Return ns per node, flow and step; a flow counts at all nodes that send."""
    h = Fluid(steps_per_delay=steps_per_delay).step_of(scenario)
    steps = scenario.duration / h * len(scenario.senders) * len(scenario.flows)
    return 1e9 * seconds / steps


def target(text: str, reached: object) -> str:
    """Return the end of a note: the target, and whether it was reached."""
    return f"target {text}: {'yes' if reached else 'NO'}"


def row(task: str, name: str, times: tuple[float, ...], first: float | None, note: str) -> Row:
    """Return a row of the table; the ratio is to ``first``."""
    middle = statistics.median(times)
    return Row(task, name, middle, min(times), max(times), middle / (first or middle), note)


def scenarios() -> list[Row]:
    """The six scenarios at four steps per delay, with and without DFC.

    Targets are those of the loop over time, in the fastest run: other work on the processor only adds to it. The whole
    call of `simulate`, the other runs and a turn of a fixed loop, before and after, are told beside.
    """
    found = []
    for name in SCENARIOS:
        for label, kwargs, least in (
            ("DFC, Tahoe", {}, 2.8),
            ("FIFO, Tahoe", {"dfc": False}, 2.0),
            ("FIFO, NewReno", {"dfc": False, "tcp": "newreno"}, 2.0),
        ):
            scenario = takano2006(name, **kwargs)
            before = fixed_loop()
            times = seconds_of(scenario, rounds=9)
            turns = f"{1e9 * before:.0f} and {1e9 * fixed_loop():.0f} ns"
            calls = cpu_seconds(lambda scenario=scenario: simulate(scenario, level="fluid"), 5)
            cost, most, call = (per_step(scenario, t) for t in (min(times), max(times), min(calls)))
            note = (
                f"{1e3 * min(times) / scenario.duration:.1f} ms per simulated second, {cost:.2f} ns per "
                f"node, flow and step (at most {most:.2f}), the whole call {call:.2f}; a turn of a fixed loop "
                f"before and after {turns}; {target('20 ms', min(times) <= 0.02)}, "
                f"{target(f'{least:g} ns', cost <= least)}"
            )
            found.append(row(f"scenario {name}, 4 steps per delay", label, times, None, note))
    return found


def speeds() -> list[Row]:
    """The same chain at 370 Mb/s to 10 Tb/s with a fixed step, and the effect of halving it."""
    base = takano2006("1", tcp="newreno")
    chains = {}
    for speed in SPEEDS:
        window = max(5_000.0, min(2.0**23, 4 * mbps(speed) * base.base_rtt(base.flows[0])))
        chains[speed] = replace(
            base,
            links=[replace(link, rate=mbps(speed)) for link in base.links],
            flows=[replace(flow, max_window=window) for flow in base.flows],
            duration=1.0,
        )
    times: dict[float, list[float]] = {speed: [] for speed in chains}
    for _ in range(5):  # in turn, so that what else runs meets all alike
        for speed, scenario in chains.items():
            times[speed] += seconds_of(scenario, rounds=1)
    first = statistics.median(times[SPEEDS[0]])
    found = []
    for speed, scenario in chains.items():
        check = check_step(scenario)
        ratio = statistics.median(times[speed]) / first
        note = (
            f"half the step changes the efficiency by {check.efficiency_error.max():.1e}, the peak "
            f"queue by {check.peak_queue_error / check.fine.peak_queue.max():.1e} of itself; "
            f"{target('time within 25 % of the first', abs(ratio - 1.0) <= 0.25)}"
        )
        name = f"{speed:g} Mb/s"
        found.append(row("DFC, 1 s, at a fixed step", name, tuple(times[speed]), first, note))
    return found


def recorded(case: str) -> tuple[float, float]:
    """Return a simulator's CPU seconds per run and per simulated second, as recorded."""
    facts = json.loads((DATA / case / "provenance.json").read_text(encoding="utf-8"))
    seconds = float(facts["cpu_seconds"])
    return seconds / int(facts["runs"]), seconds / float(facts["simulated_seconds"])


def beside_ns2(seeds: tuple[int, ...]) -> list[Row]:
    """ns-2 without DFC; ours at 4 and 64 steps per delay. Scenario 5 with runs of ns-2 of today."""
    found = []
    for name in SCENARIOS:
        task = f"scenario {name}, FIFO, Tahoe"
        before = recorded(f"scenario-{name}-without-dfc")[0]
        runs: tuple[float, ...] = (before,)
        note = "recorded, mean per run"
        if name == "5" and shutil.which("ns"):
            runs = _ns2_today("scenario-5-without-dfc", seeds)
            note = f"median of runs now, seeds {', '.join(map(str, seeds))}"
        elif name == "5":
            note += "; ns is not installed here"
        theirs = statistics.median(runs)
        found.append(row(task, "ns-2", runs, theirs, note))
        for m, least in ((4, 5_000), (64, 500)):
            times = seconds_of(takano2006(name, dfc=False), m, 3)
            ratio = theirs / statistics.median(times)
            note = f"{ratio:,.0f} times cheaper"
            if name == "5":
                note += f" ({before / statistics.median(times):,.0f} than as recorded)"
                note += f"; {target(f'{least:,} times', ratio >= least)}"
            found.append(row(task, f"hopflow, {m} steps per delay", times, theirs, note))
    return found


def _ns2_today(case: str, seeds: tuple[int, ...]) -> tuple[float, ...]:
    """Return the CPU seconds of ns-2 for seeds of a case's ensemble."""
    from validation.generate.takano2006 import fifo_chain

    times = []
    for seed in tqdm(seeds, desc=f"ns-2, {case}", leave=False):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with tempfile.TemporaryDirectory() as folder:
            (words,) = fifo_chain.calls({"case": case, "seed": seed})
            fifo_chain.PROGRAM.run(words, Path(folder))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return tuple(times)


def beside_ns3() -> list[Row]:
    """ns-3 with DFC, as recorded; ours at 4 steps per delay. Seconds per simulated second."""
    found = []
    for name in SCENARIOS:
        task = f"scenario {name}, DFC, a simulated second"
        theirs = recorded(f"scenario-{name}-with-dfc{'-shaped' if name == '1' else ''}")[1]
        found.append(row(task, "ns-3", (theirs,), theirs, "recorded, mean of hosts and senders"))
        scenario = takano2006(name)
        times = tuple(t / scenario.duration for t in seconds_of(scenario))
        note = f"{theirs / statistics.median(times):,.0f} times cheaper"
        found.append(row(task, "hopflow, 4 steps per delay", times, theirs, note))
    return found


def bare_law() -> list[Row]:
    """The law alone: in the cache, from memory, and 1e5 nodes times 1e3 flows on two threads.

    CPU time of one thread also there, so that it does not matter what else runs.
    """
    found = []
    task = "bare DFC law, a period"
    for name, (flows, nodes, periods, least) in {
        "in the cache, 1000 nodes": (1, 1000, 10_000, 0.4),
        "from memory, 1e7 nodes, one period": (1, 10**7, 1, 1.0),
        "from memory, 1e7 nodes, 16 periods": (1, 10**7, 16, 1.0),
    }.items():
        times = seconds_of_law(flows, nodes, periods)
        cost = 1e9 * statistics.median(times) / (flows * nodes)
        note = f"{cost:.2f} ns per node and period; {target(f'{least:g} ns', cost <= least)}"
        found.append(row(task, name, times, None, note))
    done = subprocess.run([sys.executable, "-c", LARGE_LAW], cwd=ROOT, capture_output=True, text=True, check=True)
    *steps, memory = map(float, done.stdout.split())
    middle = statistics.median(steps)
    note = (
        f"{1e9 * middle / (LAW_FLOWS * LAW_NODES):.2f} ns, {memory:.2f} GB in all; "
        f"{target('0.15 s', middle <= 0.15)}, {target('2.6 GB', memory <= 2.6)}"
    )
    found.append(row(task, "1e5 nodes, 1e3 flows, 2 threads", tuple(steps), None, note))
    return found


def seconds_of_law(flows: int, nodes: int, periods: int) -> tuple[float, ...]:
    """Return CPU seconds per period of the law alone, of some runs after the first one."""
    packets = np.ones((flows, nodes))
    sent = np.full_like(packets, 5.0)
    told = sent - 0.1 * packets
    taken = cpu_seconds(lambda: advance_rings(packets, sent, told, 0.1, periods), 5)
    return tuple(each / periods for each in taken)


def starts() -> list[Row]:
    """From the start of a second process to its first result, CPU seconds of all its threads."""
    found = []
    here = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("takano2006('1')", PAPER_RULE), ("a rule of one's own", USER_RULE)):
            script = Path(folder) / f"start{len(found)}.py"
            script.write_text(text, encoding="utf-8")
            times = []
            for _ in range(4):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run([sys.executable, str(script)], check=True, env=here)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            note = target("2 s", statistics.median(times[1:]) < 2.0)
            found.append(row("start of a second process", name, tuple(times[1:]), None, note))
    return found
