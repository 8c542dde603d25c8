"""``python -m benchmarks.whole_runs BASE [NAME ...] [--save]``: CPU time of whole runs of networks, beside another commit's.

Twenty-two runs, from a scenario to its arrays or its comparison, that take 4 ms to 10 s. How both versions are measured stands in
`benchmarks.whole_questions`. The table has ratios to BASE: by run, by decade of seconds, and their geometric means. ``--save`` writes the
seconds of this version to ``whole_runs.toml``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import dfcmodel as dfc
from benchmarks import fabrics
from benchmarks.fluid_instructions import crossing, dumbbell
from benchmarks.packets import ranked_scenario
from benchmarks.whole_questions import Question, Rows, ask, chosen, compare, table
from responsefn import BBR, CUBIC, DCQCN, NewReno, Reno
from validation.networks.lossless_networks import draw_lossless_network
from validation.networks.packet_networks import dumbbell_scenario, parking_lot_scenario
from validation.networks.random_packet_networks import random_network

SECONDS = Path(__file__).with_name("whole_runs.toml")


def run(seconds: float, scenario: Any, method: Any = None, **options: Any) -> Question:
    """Return the question for the whole run of a scenario, which is built within it; ``seconds`` is about what it takes."""
    return Question(seconds, lambda _: dfc.simulate(scenario(), method, **options).delivered[:, -1])


def fabric(seconds: float, traffic: str, sender: str) -> Question:
    """Return the question for a run of a fabric of `benchmarks.fabrics`."""
    kind = fabrics.SENDERS[sender]
    shape = fabrics.SHAPES[traffic]
    return run(seconds, lambda: fabrics.fabric(traffic, kind, shape), kind.method)


def ring(hosts: int) -> dfc.Scenario:
    """Return a ring all-reduce of a fabric's hosts with DCQCN."""
    links = fabrics.network(fabrics.Shape(hosts // 16, 8, 16), dfc.RampMarking())
    names = [f"h{n}" for n in range(hosts)]
    flows = dfc.all_reduce(names, 4096, source=DCQCN(), links=links)
    return dfc.Scenario("ring", links, flows, 4e-3, min_rto=0.01, packet_size=fabrics.BYTES)


def parking_lot(discipline: Any) -> dfc.Scenario:
    """Return a parking lot whose links have a discipline."""
    scenario = parking_lot_scenario("newreno", 4, 1)
    return replace(scenario, links=[replace(link, discipline=discipline) for link in scenario.links])


PATH = {"bandwidth": "24Mbps", "rtt": "40ms", "buffer": 80}
QUESTIONS: dict[str, Question] = {
    "one flow, packets": run(
        4e-3, lambda: dfc.Scenario("link", [dfc.Link("a", "b", 1000.0, 0.01, 20.0)], [dfc.Flow("f", ("a", "b"), NewReno())], 1.0),
        dfc.Packets(),
    ),
    "chain with DFC, fluid": run(5e-3, lambda: dfc.takano2006("1"), dfc.Fluid(), duration=0.05),
    "chain with DFC, level chosen": run(8e-3, lambda: dfc.takano2006("1"), duration=0.05),
    "crossing flows, fluid": run(4e-3, lambda: crossing(dfc.FIFO()), dfc.Fluid()),
    "random network as in ns-2": Question(2e-2, lambda _: dfc.simulate(*random_network(3)).delivered[:, -1]),
    "dumbbell of 8 under DFC, fluid": run(6e-3, lambda: dumbbell(dfc.DFC()), dfc.Fluid(), duration=0.6),
    "lossless network": run(2e-2, lambda: draw_lossless_network(91, 0), dfc.Packets()),
    "dumbbell of 2, packets": run(7e-3, lambda: dumbbell_scenario("newreno", 2, 1), dfc.Packets(seed=1)),
    "dumbbell of 32, packets": run(2e-2, lambda: dumbbell_scenario("newreno", 32, 1), dfc.Packets(seed=1)),
    "dumbbell of 32, fluid": run(2e-2, lambda: dumbbell_scenario("newreno", 32, 1), dfc.Fluid()),
    "parking lot, CoDel": run(
        2e-2, lambda: parking_lot(dfc.CoDel()), dfc.Packets(seed=1)
    ),
    "ranked queue of 1,000": run(8e-2, lambda: ranked_scenario(1000), dfc.Packets(seed=1)),
    "incast, NewReno": fabric(4e-2, "incast", "NewReno"),
    "incast, line rate with ACKs": fabric(1e-2, "incast", "line rate with ACKs"),
    "all-to-all, DCQCN": fabric(0.1, "all-to-all", "DCQCN"),
    "ring all-reduce of 64 hosts": run(7e-2, lambda: ring(64), dfc.Packets(seed=1)),
    "two rules share a path": Question(0.2, lambda _: dfc.coexist([Reno(), CUBIC()], **PATH).share),
    "two rules compared": Question(0.8, lambda _: dfc.compare([CUBIC(), Reno()], **PATH)),
    "three rules, one long run": Question(
        1.0, lambda _: dfc.coexist([BBR(), CUBIC(), NewReno()], **PATH, options=dfc.PathOptions(duration=600.0)).share
    ),
    "four rules, all pairs": Question(
        5.0, lambda _: dfc.coexist_sweep([BBR(), CUBIC(), NewReno(), Reno()], bandwidth=["12Mbps", "24Mbps", "48Mbps"], rtt="40ms", buffer=80)
    ),
    "ensemble of the chain": Question(
        8.0, lambda _: dfc.ensemble(dfc.takano2006("4", dfc=False), 16, level="packets").goodput
    ),
    "chain of 123 Gb/s under DFC": run(6.0, lambda: dfc.takano2006("6"), dfc.Packets(seed=1), duration=1.5),
}  # fmt: skip
"""What is run, by name."""


def save(rows: Rows) -> None:
    """Write the seconds of this version; those of other runs stay out."""
    head = "# CPU seconds of whole runs, first and later calls of a process: python -m benchmarks.whole_runs --save\n"
    lines = [f'\n["{name}"]\nfirst = {new.first:.3g}\nlater = {new.later:.3g}\n' for name, (_, new) in rows.items()]
    SECONDS.write_text(head + "".join(lines), encoding="utf-8")


def main(
    base: Annotated[str, typer.Argument(help="Commit whose times are the unit.")] = "HEAD",
    names: Annotated[list[str] | None, typer.Argument(help="Runs; all by default.")] = None,
    rounds: Annotated[int, typer.Option(help="Turns of both versions that count.", min=1)] = 3,
    max_seconds: Annotated[float, typer.Option(help="Longest run.")] = math.inf,
    keep: Annotated[bool, typer.Option("--save", help="Write the seconds of this version.")] = False,
    name: Annotated[str | None, typer.Option("--ask", hidden=True)] = None,
) -> None:
    """Measure the CPU time of whole runs of networks beside that of another commit."""
    if name is not None:
        typer.echo(" ".join(f"{seconds:.6g}" for seconds in ask(QUESTIONS[name])))
        return
    rows = compare("benchmarks.whole_runs", chosen(QUESTIONS, names, max_seconds), base, rounds)
    typer.echo(table(QUESTIONS, rows, "About, s"))
    if keep:
        save(rows)


if __name__ == "__main__":
    typer.run(main)
