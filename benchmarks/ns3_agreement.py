"""``python -m benchmarks.ns3_agreement``: the packet level beside programs that `to_ns3` writes, as distributions.

It writes ``results/ns3_agreement.md``, a table of the documentation, and needs ns-3 (`make data-tools`) and g++. Both
start each flow at a random time in the first second; every number follows from the seeds.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from tqdm import tqdm

from dfcmodel import (
    PIE,
    RED,
    ByteBuffer,
    CoDel,
    Flow,
    Link,
    Packets,
    Scenario,
    StepMarking,
    dumbbell,
    simulate,
    to_ns3,
)
from hopflow import mbps
from responsefn import CUBIC, DCTCP, HSTCP, BBRv1, NewReno, Vegas
from responsefn.linux import LinuxScalable
from validation.generate.programs import ns3_folder

RESULT = Path(__file__).parent / "results" / "ns3_agreement.md"
MODULES = ("core", "network", "internet", "point-to-point", "traffic-control")
SEEDS, SECONDS = 6, 30.0


def scenarios() -> dict[str, tuple[Scenario, Any]]:
    """Return the scenarios of the table and their loss recovery."""
    found: dict[str, tuple[Scenario, Any]] = {
        f"{n} NewReno flows": (_flows([NewReno()], n), "newreno") for n in (2, 8, 32)
    }
    found |= {f"{n} NewReno flows, SACK": (_flows([NewReno()], n), "sack") for n in (2, 8, 32)}
    for rule in (CUBIC(), HSTCP(table=1), LinuxScalable(kernel="2.6.22"), Vegas()):
        found[f"{type(rule).__name__} beside NewReno, SACK"] = _flows([rule, NewReno()], 2), "sack"
    found["BBRv1 beside NewReno, SACK"] = _flows([BBRv1(), NewReno()], 2), {"1": "sack"}
    found["delayed ACKs, SACK"] = _flows([NewReno()], 2, delayed_acks=True), "sack"
    for manager in (RED(10.0, 30.0), RED(10.0, 30.0, ecn=True)):
        name = "RED with ECN" if manager.ecn else "RED"
        found[f"{name}, 4 flows, SACK"] = _flows([NewReno()], 4, manager), "sack"
    for manager in (CoDel(), PIE()):
        for n in (2, 8, 32):
            name = f"{type(manager).__name__}, {n} flows, SACK"
            found[name] = _flows([NewReno()], n, manager), "sack"
    for buffer in (50.0, ByteBuffer(75_000)):
        name = "packets" if buffer == 50.0 else "bytes"
        found[f"both ways, 2 and 2 flows, buffers in {name}, SACK"] = _both_ways(buffer), "sack"
    found["DCTCP, marks above 20, SACK"] = _flows([DCTCP()], 2, StepMarking(20.0)), "sack"
    return found


def _flows(rules: list[Any], n: int, manager: Any = None, **flow: Any) -> Scenario:
    """Return flows over 10 Mb/s and a round trip of 60 ms; the buffer is one product, two of them if managed."""
    buffer = 50 if manager is None else 100
    links = dumbbell(n, rate=mbps(10), delay=20e-3, buffer=buffer, access_rate=mbps(100), access_delay=5e-3)
    if manager is not None:
        links = tuple(replace(link, discipline=manager) if link.name == "left->right" else link for link in links)
    flows = tuple(
        Flow(
            f"{f}", (f"s{f + 1}", "left", "right", f"d{f + 1}"), rules[f % len(rules)], 500.0, **flow
        )
        for f in range(n)
    )  # fmt: skip
    return Scenario("", links, flows, duration=SECONDS)


def _both_ways(buffer: float | ByteBuffer) -> Scenario:
    """Return two flows each way over one link, whose ACKs wait among the other ones' packets."""
    ends = [(a, "left", "right", b) for a, b in (("s1", "d1"), ("s2", "d2"))]
    links = []
    for path in ends:
        links += [Link(a, b, mbps(100), 5e-3, 100) for a, b in (path[:2], path[1::-1])]
        links += [Link(a, b, mbps(100), 5e-3, 100) for a, b in (path[2:], path[:1:-1])]
    links += [Link(*pair, mbps(10), 20e-3, buffer) for pair in (("left", "right"), ("right", "left"))]
    paths = [*ends, *(path[::-1] for path in ends)]
    flows = [Flow(f"{n}", path, NewReno(), 500.0) for n, path in enumerate(paths)]
    return Scenario("", links, flows, duration=SECONDS)


def build(program: str, folder: Path) -> None:
    """Compile a program in a folder."""
    ns3 = ns3_folder()
    (folder / "run.cc").write_text(program)
    libraries = ns3 / "lib64"
    command = ["g++", "-std=c++20", "-O1", "-isystem", str(ns3 / "include"), "run.cc", "-o", "run"]
    command += [f"-L{libraries}", f"-Wl,-rpath,{libraries}", *(f"-lns3.44-{m}" for m in MODULES)]
    subprocess.run(command, cwd=folder, check=True)


def both(scenario: Scenario, recovery: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return delivered packets of both (simulator, seed, flow), and drops (simulator, seed)."""
    method = Packets(recovery=recovery)
    delivered, drops = [[], []], [[], []]  # type: ignore[var-annotated]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(to_ns3(scenario, method=method, sample=1.0), folder)
        for seed in range(1, SEEDS + 1):
            subprocess.run(["./run", f"--seed={seed}", "--jitter=1"], cwd=folder, check=True)
            run = simulate(scenario, replace(method, seed=seed), sample=1.0, jitter=1.0)
            delivered[0].append(run.delivered[:, -1])
            delivered[1].append(np.loadtxt(folder / "flows.txt", ndmin=2)[:, 1])
            drops[0].append(run.lost.sum())
            drops[1].append(np.loadtxt(folder / "links.txt", ndmin=2)[:, 2].sum())
    return np.array(delivered), np.array(drops)


def line(name: str, delivered: np.ndarray, drops: np.ndarray) -> str:
    """Return a row of the table: packets per second, the share of the first flow, drops; ± standard errors."""
    total = delivered.sum(axis=2)
    cells = [
        *(_cell(each / SECONDS, 1) for each in total),
        *(_cell(each, 3) for each in delivered[:, :, 0] / total),
        *(_cell(each, 0) for each in drops),
    ]
    return f"| {name} | {' | '.join(cells)} |"


def _cell(values: Iterable[float], digits: int) -> str:
    given = np.asarray(values)
    error = given.std(ddof=1) / np.sqrt(len(given))
    return f"{given.mean():.{digits}f} ± {error:.{digits}f}"


def main(only: Annotated[str, typer.Option(help="names that contain this")] = "") -> None:
    """Run both on all scenarios, and write the table unless only some of them run."""
    lines = [
        "| flows over 10 Mb/s, 60 ms | packets/s | ns-3 | share of the first | ns-3 | drops | ns-3 |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    chosen = {name: case for name, case in scenarios().items() if only in name}
    for name, case in tqdm(chosen.items(), desc="ns-3"):
        lines.append(line(name, *both(*case)))
        tqdm.write(lines[-1])
    if not only:
        RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
