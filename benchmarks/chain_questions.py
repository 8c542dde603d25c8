"""``python -m benchmarks.chain_questions BASE [NAME ...]``: CPU time of whole questions about chains, beside another commit's.

A question goes from rules, a file or a matrix to an answer with its error bound, from 11 to 1e8 states. How both versions are measured
stands in `benchmarks.whole_questions`. The table has ratios to BASE: by question, by decade of size, and their geometric means.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import typer

import markov
from benchmarks.whole_questions import Question, ask, chosen, compare, table
from markov import (
    ChainModel,
    Cluster,
    CoxTandem,
    DiscreteChain,
    Kanban,
    MarkovChain,
    MatrixFree,
    PauseChain,
    PauseTandem,
    Polling,
    explore,
    passage,
    read_jani,
    read_prism,
    stationary,
    transient,
)

RESULTS = Path(__file__).parent / "results" / "chain_questions.csv"


class Server(ChainModel):
    """A queue whose server breaks down."""

    class State(NamedTuple):
        n: int
        up: int

    class Params(NamedTuple):
        capacity: int = 29
        arrival_rate: float = 0.8
        breakdown: float = 0.01

    def space(self) -> dict[str, Any]:
        """Return the values of both components."""
        return {"n": range(self.params.capacity + 1), "up": range(2)}

    @staticmethod
    def rules(s: Any, q: Any) -> Any:
        """Yield arrivals, departures, breakdowns and repairs."""
        if s.n < q.capacity:
            yield s._replace(n=s.n + 1), q.arrival_rate
        if s.n > 0 and s.up:
            yield s._replace(n=s.n - 1), 1.0
        yield (s._replace(up=0), q.breakdown) if s.up else (s._replace(up=1), 0.2)

    def rewards(self, s: Any) -> dict[str, Any]:
        """Return the number of jobs."""
        return {"jobs": s.n}


class Stages(ChainModel):
    """Two stages whose service rate is rounded: no rule for arrays of states."""

    class State(NamedTuple):
        x: int
        y: int

    class Params(NamedTuple):
        capacity: int = 59

    def start(self) -> Any:
        """Return the empty system."""
        return self.State(0, 0)

    @staticmethod
    def rules(s: Any, q: Any) -> Any:
        """Yield arrivals and services."""
        if s.x < q.capacity:
            yield s._replace(x=s.x + 1), 1.0
        if s.x > 0 and s.y < q.capacity:
            yield s._replace(x=s.x - 1, y=s.y + 1), round(1.1 + s.x / (1 + s.x), 3)
        if s.y > 0:
            yield s._replace(y=s.y - 1), 1.5


def queue_rules(s: tuple[int, int], q: Any) -> Any:
    """Yield the transitions of two queues in series."""
    x, y = s
    if x < q.capacity:
        yield (x + 1, y), 1.0
    if x > 0 and y < q.capacity:
        yield (x - 1, y + 1), 1.4
    if y > 0:
        yield (x, y - 1), 1.7


class Retrials(ChainModel):
    """M/M/c/K with an orbit of customers who come back."""

    class State(NamedTuple):
        busy: int
        orbit: int

    class Params(NamedTuple):
        servers: int = 4
        orbit: int = 1999

    def space(self) -> dict[str, Any]:
        """Return the values of both components."""
        return {"busy": range(self.params.servers + 1), "orbit": range(self.params.orbit + 1)}

    @staticmethod
    def rules(s: Any, q: Any) -> Any:
        """Yield arrivals, services and retrials."""
        if s.busy < q.servers:
            yield s._replace(busy=s.busy + 1), 3.0
        elif s.orbit < q.orbit:
            yield s._replace(orbit=s.orbit + 1), 3.0
        if s.busy > 0:
            yield s._replace(busy=s.busy - 1), 1.0 * s.busy
        if s.orbit > 0 and s.busy < q.servers:
            yield s._replace(busy=s.busy + 1, orbit=s.orbit - 1), 0.5 * s.orbit


def pause(first: int, second: int, levels: int = 3) -> PauseTandem:
    """Return a pause tandem with buffers of so many packets."""
    rates = tuple(25.0 - 24.0 * n / max(1, levels - 1) for n in range(levels))
    return PauseTandem(buffers=(first, second), high_threshold=3 * second // 4, arrival_rates=rates)


def queues_in_series(stations: int, capacity: int) -> str:
    """Return queues in series in PRISM's language."""
    modules = "\n".join(
        f"module station{n}\n x{n} : [0..{capacity}] init 0;\n"
        f" [go{n}] x{n} < {capacity} -> 1 : (x{n}'=x{n}+1);\n"
        f" [go{n + 1}] x{n} > 0 -> {2 + 0.1 * n} : (x{n}'=x{n}-1);\nendmodule"
        for n in range(stations)
    )
    return f'ctmc\n{modules}\nrewards "jobs"\n true : x0;\nendrewards\n'


def switches(count: int) -> str:
    """Return independent switches with a common reset in PRISM's language: 2**count states."""
    modules = "\n".join(
        f"module switch{n}\n b{n} : bool init false;\n [] !b{n} -> {0.1 * (n + 1):.1f} : (b{n}'=true);\n"
        f" [] b{n} -> 1 : (b{n}'=false);\n [reset] true -> {0.01 if n == 0 else 1} : (b{n}'=false);\nendmodule"
        for n in range(count)
    )
    return f"ctmc\n{modules}\n"


def wide_queues(stations: int, capacity: int, idle: int) -> str:
    """Return queues with variables of a wide range that hardly move: a product space beyond 2^28."""
    wide = "\n".join(
        f"module wide{n}\n w{n} : [0..1000000] init 0;\n [] w{n} = 0 -> 0.3 : (w{n}'=1000000);\n"
        f" [] w{n} > 0 -> 0.7 : (w{n}'=0);\nendmodule"
        for n in range(idle)
    )
    return queues_in_series(stations, capacity).replace("rewards", f"{wide}\nrewards", 1)


JANI = {
    "jani-version": 1, "name": "machines", "type": "ctmc", "variables": [],
    "actions": [], "properties": [],
}  # fmt: skip


def jani_of_machines(count: int, most: int) -> dict[str, Any]:
    """Return groups of machines that fail and are repaired, in JANI."""

    def group(n: int) -> dict[str, Any]:
        up = f"up{n}"
        failures = {"op": "*", "left": 0.05 * (n + 1), "right": up}
        return {
            "name": f"group{n}", "locations": [{"name": "here"}], "initial-locations": ["here"],
            "variables": [{
                "name": up, "initial-value": most,
                "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": most},
            }],
            "edges": [
                {"location": "here", "rate": {"exp": failures}, "guard": {"exp": {"op": "<", "left": 0, "right": up}},
                 "destinations": [{"location": "here", "assignments": [
                     {"ref": up, "value": {"op": "-", "left": up, "right": 1}}]}]},
                {"location": "here", "rate": {"exp": 1.0}, "guard": {"exp": {"op": "<", "left": up, "right": most}},
                 "destinations": [{"location": "here", "assignments": [
                     {"ref": up, "value": {"op": "+", "left": up, "right": 1}}]}]},
            ],
        }  # fmt: skip

    groups = [group(n) for n in range(count)]
    return {**JANI, "automata": groups, "system": {"elements": [{"automaton": one["name"]} for one in groups]}}


def random_matrix(states: int) -> Any:
    """Return the generator of a random sparse chain, four transitions per state and a ring."""
    rng = np.random.default_rng(states)
    rows = np.repeat(np.arange(states), 5)
    columns = rng.integers(0, states, (states, 5))
    columns[:, 0] = (np.arange(states) + 1) % states
    rates = sp.csr_matrix((rng.random(5 * states), (rows, columns.ravel())), (states, states))
    rates.setdiag(0.0)
    return (rates - sp.diags(np.asarray(rates.sum(axis=1)).ravel())).tocsr()


def text_file(name: str, text: str) -> Callable[[Path], Path]:
    """Return a function that writes a text into a folder."""

    def write(folder: Path) -> Path:
        (folder / name).write_text(text, encoding="utf-8")
        return folder / name

    return write


def bound_of(model: Any, *method: Any) -> Any:
    """Solve a chain and return the bound of its distribution."""
    return stationary(model, *method).error_bound


def grid(first: int, second: int, levels: int) -> Callable[[Any], Any]:
    """Return the question for the bound of a pause tandem without a matrix."""
    return lambda _: bound_of(pause(first, second, levels), MatrixFree())


QUESTIONS: dict[str, Question] = {
    "M/M/1/10": Question(11, lambda _: bound_of(markov.MM1K(capacity=10))),
    "dense matrix": Question(40, lambda Q: bound_of(MarkovChain(Q)), lambda _: random_matrix(40).toarray()),
    "own class, mean with its bound": Question(60, lambda _: stationary(Server()).bound("jobs")),
    "PRISM file of switches": Question(64, lambda path: bound_of(read_prism(path)), text_file("switches.sm", switches(6))),
    "passage of a broken server": Question(
        400, lambda _: passage(Server(capacity=199), to=lambda s: s.n == 150, start=(0, 1)).mean
    ),
    "pause chain, 484 states": Question(484, lambda _: bound_of(PauseTandem())),
    "kanban, 160 states": Question(160, lambda _: bound_of(Kanban(tickets=1))),
    "transient of a pause chain": Question(
        484, lambda _: transient(PauseTandem(), [0.1, 1.0, 10.0], start=(0, 0, 1, 1)).error_bound
    ),
    "PRISM queues in series, 625 states": Question(
        625, lambda path: bound_of(read_prism(path)), text_file("queues.sm", queues_in_series(4, 4))
    ),
    "discrete chain": Question(
        900, lambda P: DiscreteChain(P).stationary().error_bound,
        lambda _: sp.identity(900) + 0.1 * random_matrix(900),
    ),
    "pause chain, 6,724 states": Question(6_724, lambda _: bound_of(pause(40, 40, 2))),
    "kanban, 4,600 states": Question(4_600, lambda _: bound_of(Kanban(tickets=2))),
    "polling, 7 stations": Question(1_344, lambda _: bound_of(Polling(stations=7))),
    "rounded rates, 3,600 states": Question(3_600, lambda _: bound_of(Stages())),
    "JANI machines, 6,561 states": Question(
        6_561, lambda path: bound_of(read_jani(path)),
        text_file("machines.jani", json.dumps(jani_of_machines(4, 8))),
    ),
    "retrial queue": Question(10_000, lambda _: bound_of(Retrials())),
    "pause chain, 2e4 states": Question(2e4, lambda _: bound_of(pause(50, 100, 2))),
    "wide PRISM file": Question(
        4e4, lambda path: bound_of(read_prism(path)), text_file("wide.sm", wide_queues(4, 9, 2))
    ),
    "random sparse matrix": Question(5e4, lambda Q: bound_of(MarkovChain(Q)), lambda _: random_matrix(50_000)),
    "kanban, 58,400 states": Question(58_400, lambda _: bound_of(Kanban(tickets=3))),
    "passage in a large queue": Question(
        4e4, lambda _: passage(Server(capacity=19_999), to=lambda s: s.n == 60, start=(0, 1)).mean
    ),
    "pause chain, 1e5 states": Question(1e5, lambda _: bound_of(pause(110, 220, 2))),
    "Cox tandem": Question(180_901, lambda _: bound_of(CoxTandem(capacity=300))),
    "polling, 12 stations": Question(73_728, lambda _: bound_of(Polling(stations=12))),
    "cluster of 60": Question(74_420, lambda _: bound_of(Cluster(workstations=60))),
    "explored rules, 250,000 states": Question(
        250_000, lambda _: bound_of(explore(queue_rules, start=(0, 0), params={"capacity": 499}).chain)
    ),
    "PRISM queues in series, 1e6 states": Question(
        1e6, lambda path: bound_of(read_prism(path)), text_file("queues.sm", queues_in_series(6, 9))
    ),
    "pause chain, 1e6 states": Question(1e6, lambda _: bound_of(pause(400, 800, 2))),
    "three hops": Question(
        5e5, lambda _: bound_of(PauseChain(hops=3, buffers=(25,) * 4, high_threshold=18)),
    ),
    "pause chain, 1e7 states": Question(1e7, grid(1200, 2400, 2)),
    "pause chain, 1e8 states": Question(1e8, grid(4000, 8000, 2)),
}  # fmt: skip


def main(
    base: Annotated[str, typer.Argument(help="Commit whose times are the unit.")] = "HEAD",
    names: Annotated[list[str] | None, typer.Argument(help="Questions; all by default.")] = None,
    rounds: Annotated[int, typer.Option(help="Turns of both versions that count.", min=1)] = 3,
    max_states: Annotated[float, typer.Option(help="Largest chain.")] = math.inf,
    name: Annotated[str | None, typer.Option("--ask", hidden=True)] = None,
) -> None:
    """Measure the CPU time of whole questions about chains beside that of another commit."""
    if name is not None:
        typer.echo(" ".join(f"{seconds:.6g}" for seconds in ask(QUESTIONS[name])))
        return
    rows = compare("benchmarks.chain_questions", chosen(QUESTIONS, names, max_states), base, rounds)
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["question", "states", "base_first", "base_later", "first", "later"])
        for question, (old, new) in rows.items():
            writer.writerow([question, QUESTIONS[question].size, *(f"{seconds:.6g}" for seconds in (*old, *new))])
    typer.echo(table(QUESTIONS, rows, "States"))


if __name__ == "__main__":
    typer.run(main)
