"""``python -m benchmarks.native_rules``: CPU time of rules in C beside the same rules in Python.

The ports are those of the tests, ``tests/dfcmodel/packets/native``, compiled by ``cc``: they give equal runs. Each pair runs
in turns on networks drawn as in these tests, for so long that a run of the rule in Python takes `SECONDS` of CPU. Only the
packet loop is timed. The table of the ratios is written to ``results/native_rules.md``.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from dfcmodel import NativeRule, cc_header
from dfcmodel.packets.plan import PacketPlan
from dfcmodel.packets.simulation import begin_plan, plan_scenario
from hopflow.progress import progress_bar
from responsefn import BBR, CUBIC, NewReno
from tests.dfcmodel.packets.native.conftest import C_OPTIONS
from tests.dfcmodel.packets.native.conftest import FOLDER as SOURCES
from tests.dfcmodel.packets.native.test_native_ports import network

RESULTS = Path(__file__).parent / "results"
PORTS = {"newreno": NewReno(), "cubic": CUBIC(), "bbr": BBR()}
FIRST_SEED = 100
SECONDS = 2.0
LONGEST = 1e5
"""Longest duration of a run, s."""
ROUNDS = 3


def plan(seed: int, drawn_for: Any, rule: Any, duration: float) -> PacketPlan:
    """Return the plan of a drawn network on which both flows have the same rule; the result has eight samples."""
    drawn = network(seed, drawn_for)
    scenario = drawn.scenario(rule, rule)
    return plan_scenario(
        replace(scenario, duration=duration),
        drawn.method,
        duration=duration,
        sample=duration / 8,
        packet_jitter=drawn.jitter,
    )


def cpu_seconds(planned: PacketPlan) -> tuple[float, float]:
    """Return the CPU time of the packet loop of a run, and the packets that it delivers."""
    run = begin_plan(planned)
    begin = time.process_time()
    run.advance(planned.samples)
    seconds = time.process_time() - begin
    return seconds, float(run.finish().total.sum())


def main(
    networks: Annotated[int, typer.Option(help="Drawn networks per rule.", min=1)] = 10,
    seconds: Annotated[float, typer.Option(help="CPU time of a run of the rule in Python.", min=0.01)] = SECONDS,
) -> None:
    """Measure the CPU time of ports to C beside their rules in Python."""
    lines = [
        "| rule | ratio, median | smallest | largest | ns per packet in Python, median | networks |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, rule in PORTS.items():
            library = Path(folder) / f"{name}.so"
            linked = "-fPIC", "-shared", "-I", cc_header(), SOURCES / f"{name}.c", "-o", library, "-lm"
            subprocess.run(list(map(str, ("cc", *C_OPTIONS, *linked))), check=True)
            native, ratios, costs = NativeRule(library), [], []
            for seed in progress_bar(range(FIRST_SEED, FIRST_SEED + networks), desc=name, unit="network"):
                trial = 50.0
                cpu_seconds(plan(seed, rule, rule, 1.0))  # loads the kernels
                longer = seconds / cpu_seconds(plan(seed, rule, rule, trial))[0]
                duration = min(trial * max(1.0, longer), LONGEST)
                pair = [plan(seed, rule, one, duration) for one in (rule, native)]
                turns = [[cpu_seconds(one) for one in pair] for _ in range(ROUNDS)]
                python, library_time = (min(turn[k][0] for turn in turns) for k in (0, 1))
                ratios.append(library_time / python)
                costs.append(1e9 * python / turns[0][0][1])
            figures = statistics.median(ratios), min(ratios), max(ratios)
            lines.append(
                f"| {name} | "
                + " | ".join(f"{x:.2f}" for x in figures)
                + f" | {statistics.median(costs):.0f} | {networks} |"
            )
    text = "\n".join(
        [
            "# Rules in C beside the same rules in Python",
            "",
            f"CPU time of runs of {seconds:g} s, the minimum of {ROUNDS} in turns.",
            "",
            *lines,
            "",
        ]
    )
    (RESULTS / "native_rules.md").write_text(text, encoding="utf-8")
    typer.echo(text)


if __name__ == "__main__":
    typer.run(main)
