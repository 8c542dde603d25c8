"""Budgets in counted instructions: ``python -m benchmarks.budgets [CASE ...] [--save]``, part of ``make bench-check``.

What Callgrind counts does not depend on the load of a machine, nor on the machine (code for x86-64-v3, modelled caches:
`benchmarks.instructions`). Each case is one thing that users do often, counted per unit of its work: per packet-hop, flow and
step, state and cycle, state found, rate, ACK. `budgets.toml` has what each may take; the command fails where a count
exceeds its budget by more than 2 %. ``--save`` writes the counts as the new budgets, and ``results/budgets.md``.

All cases run in one process under Valgrind, which writes its counts after each; before that they run without it, so that
kernels are compiled. Valgrind must be installed.
"""

from __future__ import annotations

import gc
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks import fabrics
from benchmarks.chain_instructions import LARGE, MEDIUM, searched
from benchmarks.fluid_instructions import dumbbell
from benchmarks.instructions import START, STOP, ask, callgrind, scenario_of
from dfcmodel import DFC, FIFO, Fluid, PathOptions, Scenario, coexist, simulate, takano2006
from dfcmodel.packets.simulation import begin_plan, plan_scenario
from markov import Kanban, MatrixFree, Multilevel, PauseTandem, explore, stationary
from responsefn import CUBIC, PFTK, Independent, Reno, Tahoe, simulate_rule

BUDGETS = Path(__file__).with_name("budgets.toml")
TABLE = Path(__file__).parent / "results" / "budgets.md"
DUMP = 0x43540000
"""Client request of callgrind.h: write what was counted since the last one, and begin again at zero."""
MARGIN = 0.02
"""By which a count may exceed its budget: the order of dictionaries and of memory moves counts by less than 1 %."""
LOSSES = np.geomspace(1e-5, 0.05, 200_000)


@dataclass(frozen=True)
class Case:
    """A task whose instructions are counted.

    Attributes
    ----------
    unit
        Of its work.
    prepare
        Returns what is counted: a function that does the work and returns how many units it was.
    """

    unit: str
    prepare: Callable[[], Callable[[], float]]


@dataclass(frozen=True)
class Budget:
    """What a unit of work of a case takes: instructions, and misses of a first-level cache of 32 KiB."""

    unit: str
    instructions: float
    misses: float


def packets(case: str) -> Case:
    """Return the packet loop of a case of `benchmarks.instructions`, without the preparation of its arrays."""

    def prepare() -> Callable[[], float]:
        scenario, method = scenario_of(case)
        end = scenario.duration / (8.0 if case.startswith("dumbbell") else 1.0)
        plan = plan_scenario(scenario, method, duration=end, sample=end / 8)
        runs = [begin_plan(plan) for _ in range(2)]
        runs[0].advance(1)  # loads the kernel

        def work() -> float:
            runs[1].advance(plan.samples)
            return float(runs[1].finish().carried.sum())

        return work

    return Case("packet-hop", prepare)


def set_up() -> float:
    """Prepare the incast of 127 at line rate, from its links to the arrays of its kernel, and return its flows."""
    sender = fabrics.SENDERS["line rate"]
    scenario = fabrics.fabric("incast", sender)
    end = scenario.duration
    begin_plan(plan_scenario(scenario, sender.method, duration=end, sample=end))
    return float(len(scenario.flows))


def fluid(scenario: Scenario, duration: float) -> Case:
    """Return a run of the fluid, whole, per flow and step."""

    def work() -> float:
        run = simulate(scenario, Fluid(), duration=duration)
        return duration / run.step * len(scenario.flows)

    return Case("flow and step", lambda: work)


def chain(solve: Callable[[], Any]) -> Case:
    """Return the solution of a chain with its bound, per state and cycle; of a direct method per state."""

    def work() -> float:
        answer = solve()
        return float(len(answer.pi) * max(1, answer.iterations))

    return Case("state and cycle", lambda: work)


def states(search: Callable[[], int]) -> Case:
    """Return a search of states, per state found."""
    return Case("state found", lambda: lambda: float(search()))


def rates(rule: Any) -> Case:
    """Return the rates of a rule at many loss rates, per rate."""
    return Case("rate", lambda: lambda: float(len(rule.rate(LOSSES, 0.1))))


def shared() -> float:
    """Run Reno and CUBIC at one bottleneck and return the packets that they sent."""
    run = coexist([Reno(), CUBIC()], rtt=0.04, bandwidth=2000.0, buffer=80, runs=1, options=PathOptions(duration=100.0))
    return float(run.sent[:, -1].sum())


def acks() -> float:
    """Simulate Reno over independent losses and return about how many ACKs it had."""
    simulate_rule(Reno(), 1e-3, 0.1, Independent(), events=2000)
    return 2000.0 / 1e-3


CASES: dict[str, Case] = {
    "dumbbell of 2 NewReno flows": packets("dumbbell 2"),
    "dumbbell of 32 NewReno flows": packets("dumbbell 32"),
    "incast of 127 NewReno flows": packets("incast, NewReno"),
    "incast of 127 at line rate with ACKs": packets("incast, line rate with ACKs"),
    "set-up of an incast of 127": Case("flow", lambda: set_up),
    "fluid, dumbbell of 8": fluid(dumbbell(FIFO()), 0.6),
    "fluid, DFC chain": fluid(takano2006("1"), 0.6),
    "fluid, dumbbell of 8 with DFC": fluid(dumbbell(DFC()), 0.6),
    "pause chain of 484 states": chain(lambda: stationary(PauseTandem())),
    "kanban of 4,600 states": chain(lambda: stationary(Kanban(tickets=2))),
    "multigrid": chain(lambda: stationary(MEDIUM, Multilevel())),
    "grid without a matrix": chain(lambda: stationary(LARGE, MatrixFree())),
    "states of a PRISM file": states(lambda: len(np.asarray(searched().pi))),
    "states of rules in Python": states(lambda: explore(Kanban(tickets=2), compiled=True).chain.size),
    "Reno by simulation": Case("ACK", lambda: acks),
    "Reno and CUBIC coexist": Case("packet sent", lambda: shared),
    "rates of Tahoe": rates(Tahoe()),
    "rates of CUBIC": rates(CUBIC()),
    "rates of PFTK": rates(PFTK()),
}
"""What is counted, by name."""


def run_all(cases: list[str]) -> None:
    """Do the work of each case twice, the second time counted, and print its units."""
    for name in cases:
        CASES[name].prepare()()
        work = CASES[name].prepare()
        gc.collect()
        gc.freeze()  # collections would go through whatever other cases have left
        ask(START)
        units = work()
        ask(STOP)
        ask(DUMP)
        print(units, flush=True)


def count(cases: list[str]) -> dict[str, Budget]:
    """Count cases under Valgrind; FileNotFoundError where it is missing."""
    words, totals = callgrind("benchmarks.budgets", ["--run", *cases], dumps=len(cases))
    units = map(float, words[-len(cases) :])
    return {
        name: Budget(CASES[name].unit, each["Ir"] / unit, (each["D1mr"] + each["D1mw"]) / unit)
        for name, unit, each in zip(cases, units, totals, strict=True)
    }


def budgets() -> dict[str, Budget]:
    """Return the budgets of all cases that have one."""
    text = BUDGETS.read_text(encoding="utf-8") if BUDGETS.exists() else ""
    return {name: Budget(**each) for name, each in tomllib.loads(text).items()}


def over(found: dict[str, Budget], allowed: dict[str, Budget]) -> list[str]:
    """Return a line for each count that exceeds its budget, and for each case without one.

    >>> over({"a": Budget("rate", 10.3, 0.0)}, {"a": Budget("rate", 10.0, 0.0)})
    ['a: 10.3 instructions per rate, 3.0 % more than its budget of 10']
    """
    lines = []
    for name, each in found.items():
        if name not in allowed:
            lines.append(f"{name}: has no budget; write it with --save")
            continue
        most = allowed[name].instructions
        if each.instructions > (1.0 + MARGIN) * most:
            more = 100.0 * (each.instructions / most - 1.0)
            lines.append(
                f"{name}: {each.instructions:.4g} instructions per {each.unit}, {more:.1f} % more than its budget of {most:.4g}"
            )
    return lines


def save(found: dict[str, Budget]) -> None:
    """Write counts as budgets; those of other cases stay."""
    both = budgets() | found
    known = {name: both[name] for name in CASES if name in both}
    head = "# Instructions, and misses of a cache of 32 KiB, per unit of work: python -m benchmarks.budgets --save\n"
    text = "".join(
        f'\n["{name}"]\nunit = "{each.unit}"\ninstructions = {each.instructions:.5g}\nmisses = {each.misses:.3g}\n'
        for name, each in known.items()
    )
    BUDGETS.write_text(head + text, encoding="utf-8")
    rows = "".join(
        f"| {name} | {each.unit} | {each.instructions:.4g} | {each.misses:.3g} |\n" for name, each in known.items()
    )
    TABLE.write_text(
        f"| case | unit | instructions | misses of 32 KiB |\n|---|---|--:|--:|\n{rows}",
        encoding="utf-8",
    )


def main(
    cases: Annotated[list[str] | None, typer.Argument(help="Of budgets.toml; none: all.")] = None,
    run: Annotated[bool, typer.Option(help="Run them in this process.", hidden=True)] = False,
    keep: Annotated[bool, typer.Option("--save", help="Write the counts as budgets.")] = False,
) -> None:
    """Count the instructions of each case and compare them with its budget."""
    chosen = cases or list(CASES)
    if unknown := [name for name in chosen if name not in CASES]:
        raise typer.BadParameter(f"{unknown[0]!r}: must be one of {', '.join(CASES)}")
    if run:
        run_all(chosen)
        return
    found = count(chosen)
    for name, each in found.items():
        typer.echo(f"{name}: {each.instructions:.4g} instructions per {each.unit}, {each.misses:.3g} misses")
    if keep:
        save(found)
        return
    wrong = over(found, budgets())
    for line in wrong:
        typer.echo(line)
    raise typer.Exit(1 if wrong else 0)


if __name__ == "__main__":
    typer.run(main)
