"""``python -m benchmarks.daily_use [PART ...] [--save]``: what users meet daily, beside its targets, on an idle machine.

CPU seconds, the minimum of some rounds; of first answers those of a fresh process with kernels in the cache. A chain is solved from
its rules to the answer with its bound, each time from a new object, in a process that has loaded the kernels and has solved it before;
rows of their own have the pause chain before that, and kanban with its states searched for as at the first time. ``--save`` writes
the table of the documentation and says the load of the machine in it; with names of parts (``chains``, ``search`` and so on) it
replaces their rows only. The main job has its wall time, for which a user waits.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from scipy.sparse.linalg import spsolve
from tqdm import tqdm

from benchmarks.fluid import seconds_of_law
from benchmarks.laws import MANY, RTT, losses, plain
from benchmarks.machines import this_machine
from benchmarks.many_flows import dumbbells
from benchmarks.startup import COMMANDS, seconds_of
from benchmarks.time_and_passage import GRID
from benchmarks.timing import compare
from dfcmodel import Fluid
from hopflow.kernels import cache
from markov import (
    GTH,
    MM1K,
    Cluster,
    CoxTandem,
    JacksonTandem,
    Kanban,
    MarkovChain,
    Multilevel,
    PauseTandem,
    Polling,
    explore,
    generator,
    passage,
    read_prism,
    stationary,
    transient,
)
from responsefn import DCTCP, Mathis, NewReno, Reno
from validation.judgements.running import FINDINGS
from validation.networks.packet_networks import dumbbell_scenario

TABLE = Path(__file__).parent / "results" / "daily_use.md"
BOUNDS = Path(__file__).with_name("daily_use_bounds.toml")
"""What bounds a figure and what was tried, by what is measured or the first words of that; shown where a target is missed."""
ROUNDS = 7
RATE_ROUNDS = 30
"""More of them: a few per cent decide."""
NODES = 3
"""Of a flow in a dumbbell."""


class Figure(NamedTuple):
    """A figure beside its target: smaller is better, except where a rate of states is asked for."""

    what: str
    unit: str
    target: float
    found: float
    more_is_better: bool = False

    @property
    def reached(self) -> bool:
        """Whether it is at its target."""
        return self.found >= self.target if self.more_is_better else self.found <= self.target


def least(*runs: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Return the minimum CPU time of each of some runs that take turns, after one of each that compiles."""
    alternatives = {str(n): run for n, run in enumerate(runs)}
    rows = compare("daily use", alternatives, rounds=rounds, clock=time.process_time)
    return [row.fastest for row in rows]


KANBAN_3_BEFORE = 0.847
"""CPU s of the search for the states of kanban with 3 tickets by commit 37b91fde: the minimum of four, with 0.187 s of the present
state after it, both on an Intel Xeon with two cores at a load of 18."""
SOLVED_BEFORE = 5
"""Answers after which rules are run on arrays, as in any sweep."""


def kanban_of_other_rules(tickets: int = 2) -> Kanban:
    """Return a model whose rules are a function of its own: the states that others had are no help."""
    rules = FunctionType(Kanban.rules.__code__, Kanban.rules.__globals__)  # type: ignore[attr-defined]
    return type("Kanban", (Kanban,), {"rules": staticmethod(rules)})(tickets)  # type: ignore[no-any-return]


CHAINS: dict[str, tuple[Callable[[], Any], float]] = {
    "pause chain": (PauseTandem, 2.0),
    "tandem of two queues": (lambda: JacksonTandem(capacity=30), 2.0),
    "tandem with Coxian service": (lambda: CoxTandem(capacity=31), 2.0),
    "birth-death chain": (lambda: MM1K(capacity=1000), 2.0),
    "kanban": (lambda: Kanban(2), 4.0),
    "kanban, its states searched for again": (kanban_of_other_rules, 4.0),
    "polling": (lambda: Polling(8), 4.0),
    "cluster": (lambda: Cluster(16), 4.0),
}
"""Models, and us per state from the rules to the answer."""


def _answer(model: Callable[[], Any]) -> object:
    return stationary(model())


def _of_matrix(Q: Any, *method: Any) -> object:
    return stationary(MarkovChain(Q), *method)


def chains() -> Iterator[Figure]:
    """Yield the times per state of chains of some hundred to some thousand states."""
    unit, states = "µs per state", 0
    if "numba" not in sys.modules:
        (found,) = least(partial(_answer, PauseTandem))
        states = stationary(PauseTandem()).pi.size
        yield Figure("pause chain, Numba not loaded", unit, 2.0, 1e6 * found / states)
    stationary(PauseTandem(), Multilevel())  # loads them
    for name, (model, target) in CHAINS.items():
        for _ in range(SOLVED_BEFORE):
            states = stationary(model()).pi.size
        (found,) = least(partial(_answer, model))
        yield Figure(f"{name}, {states:,} states", unit, target, 1e6 * found / states)
    (found,) = least(lambda: explore(kanban_of_other_rules(3)).chain, rounds=3)
    what = "kanban of 3 tickets, its states searched for, beside 25 November 2026"
    yield Figure(what, "ratio", 1.0 / 3.0, found / KANBAN_3_BEFORE)


def elimination() -> Iterator[Figure]:
    """Yield how much more elimination takes, at least, for chains that are solved by multigrid."""
    stationary(PauseTandem(), Multilevel())  # loads the kernels
    more = []
    for name in ("kanban", "polling", "cluster"):
        chain = MarkovChain(generator(CHAINS[name][0]()))
        ours, direct = least(
            partial(_of_matrix, chain.Q),
            partial(_of_matrix, chain.Q, GTH()),
            rounds=3,
        )
        more.append(direct - ours)
    what = "elimination where multigrid answers: the least that it takes more"
    yield Figure(what, "ms", 50.0, 1e3 * min(more), more_is_better=True)


def beside_spsolve() -> Iterator[Figure]:
    """Yield times of solutions of some 10,000 states as ratios to SciPy's `spsolve`, one banded."""
    for name, model, target in (
        ("polling", Polling(9), 0.5),
        ("banded: a queue", MM1K(capacity=10_000), 3.0),
    ):
        Q: Any = generator(model)
        rows = Q.T.tocsc()  # with the first probability as 1; the sum divides it later
        rest, right = rows[1:, 1:], -rows[1:, :1].toarray().ravel()
        ours, theirs = least(partial(_of_matrix, Q), partial(spsolve, rest, right))
        what = f"`stationary` of a matrix beside `spsolve`, {name}, {Q.shape[0]:,} states"
        yield Figure(what, "ratio", target, ours / theirs)


def search() -> Iterator[Figure]:
    """Yield how many states are found per second, from a file and from rules."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "grid.prism"
        path.write_text(GRID, encoding="utf-8")
        (seconds,) = least(lambda: read_prism(path, constants={"N": 500}).state_space)
    yield Figure("states found, from a PRISM file", "10^6/s", 2.0, 501**2 / seconds / 1e6, True)

    def rules(s: Any, q: Any) -> Iterator[tuple[Any, float]]:
        if s.x < 500:
            yield s._replace(x=s.x + 1), q.arrivals
        if s.x > 0 and s.y < 500:
            yield s._replace(x=s.x - 1, y=s.y + 1), 4.0
        if s.y > 0:
            yield s._replace(y=s.y - 1), 5.0

    start, params = {"x": 0, "y": 0}, {"arrivals": 3.0}
    (seconds,) = least(lambda: len(explore(rules, start=start, params=params)))
    yield Figure("states found, from rules", "10^6/s", 2.0, 501**2 / seconds / 1e6, True)


RUN = "from dfcmodel import simulate, takano2006;"
FIRST = {
    "a first small chain": (
        "from markov import PauseTandem, stationary; print(stationary(PauseTandem()))",
        0.3,
    ),
    "a first fluid run": (
        f"{RUN} print(simulate(takano2006('1'), level='fluid', duration=0.1))",
        0.5,
    ),
    "a first packet run": (
        f"{RUN} print(simulate(takano2006('1'), level='packets', duration=0.1))",
        0.8,
    ),
}


def first_answers() -> Iterator[Figure]:
    """Yield CPU seconds of fresh processes."""
    for name, (code, target) in FIRST.items():
        found = min(seconds_of(code, (), {}) for _ in range(ROUNDS))
        yield Figure(f"import and {name}", "s", target, found)
    for name, target in (("hopflow --version", 0.2), ("a completion of hopflow", 0.3)):
        code, words, environment, _ = COMMANDS[name]
        found = min(seconds_of(code, words, environment) for _ in range(ROUNDS))
        yield Figure(f"`{name}`" if name.startswith("hopflow") else name, "s", target, found)


def main_job() -> Iterator[Figure]:
    """Yield the times of `hopflow validate`: everything, with what models computed, and when nothing has changed."""
    with tempfile.TemporaryDirectory() as folder:
        for name, words, target in (
            ("hopflow validate --fresh", ("--fresh",), 120.0),
            ("hopflow validate, kernels compiled, models kept, no findings", (), 20.0),
            ("hopflow validate, nothing changed", (), 3.0),
        ):
            if "no findings" in name:
                cache.clear(f"{FINDINGS}/")
                shutil.rmtree(folder)
            began = time.perf_counter()
            command = [sys.executable, "-m", "hopflow", "validate", "--report", folder, *words]
            subprocess.run(command, check=True, capture_output=True)
            yield Figure(f"`{name}`", "s of wall time", target, time.perf_counter() - began)


def fluid() -> Iterator[Figure]:
    """Yield the cost of the fluid for dumbbells."""
    for row in dumbbells():
        if row.name.startswith("hopflow") and row.size and row.size <= 32:
            step = Fluid().step_of(dumbbell_scenario("newreno", int(row.size), 1))
            cost = 1e9 * row.fastest * step / (row.size * NODES)
            what = f"fluid, dumbbell of {row.size:.0f} flows"
            yield Figure(what, "ns per node, flow and step", 6.0, cost)
    periods = 10_000
    cost = 1e9 * min(seconds_of_law(1, 1000, periods)) / 1000
    yield Figure("the law of DFC alone, 1,000 nodes", "ns per node and period", 0.4, cost)


def rates() -> Iterator[Figure]:
    """Yield the times of a million rates by laws of one or two operations, as ratios to plain NumPy."""
    for rule in (NewReno(), Reno(), DCTCP(), Mathis()):
        p, naive = losses(rule, MANY), plain(rule)
        ours, theirs = least(
            partial(rule.rate, p, RTT),
            partial(naive, p, RTT),
            rounds=RATE_ROUNDS,
        )
        what = f"`rate` of {type(rule).__name__} beside plain NumPy, {MANY:,} rates"
        yield Figure(what, "ratio", 1.0, ours / theirs)


def time_questions() -> Iterator[Figure]:
    """Yield times of a passage and of a transient of 200,000 states, as ratios to the stationary solution."""
    chain = stationary(PauseTandem(buffers=(315, 315), high_threshold=240)).chain
    target = int(stationary(chain).pi.argmax())
    solve, reach, after = least(
        lambda: stationary(MarkovChain(chain.Q)),
        lambda: passage(MarkovChain(chain.Q), to=target, start=0 if target else 1).mean,
        lambda: transient(MarkovChain(chain.Q), [1.0], start=0),
        rounds=3,
    )
    for name, seconds in (("passage", reach), ("transient", after)):
        which = "mean passage" if name == "passage" else name
        what = f"{which} beside the stationary solution, {chain.size:,} states"
        yield Figure(what, "ratio", 2.0, seconds / solve)


PARTS = (
    chains,
    elimination,
    beside_spsolve,
    search,
    first_answers,
    fluid,
    rates,
    time_questions,
    main_job,
)


def figures(names: Collection[str] = ()) -> Iterator[Figure]:
    """Yield the figures of some parts, or of all, in the order of the table."""
    for part in tqdm([p for p in PARTS if not names or p.__name__ in names], leave=False):
        yield from part()


def bound_of(what: str) -> str:
    """Return what bounds a figure that missed its target; empty where nothing is known."""
    bounds = tomllib.loads(BOUNDS.read_text(encoding="utf-8"))
    return next((why for name, why in bounds.items() if what.startswith(name)), "")


def row_of(each: Figure) -> str:
    """Return the row of a figure."""
    said = "" if each.reached else f"missed. {bound_of(each.what)}".rstrip()
    return f"| {each.what} | {each.target:g} | {each.found:.3g} {each.unit} | {said} |"


def text_of(found: list[Figure], load: float) -> str:
    """Return the table, with the load of the machine before it was measured."""
    lines = [
        "| what | target | found | what bounds it, what was tried |",
        "|---|--:|--:|---|",
        *map(row_of, found),
    ]
    return "\n".join([*lines, "", f"Load of the machine at the beginning: {load:.1f}.", ""])


def main() -> None:
    """Measure, print the table, and write it with ``--save``."""
    load, names = os.getloadavg()[0], [word for word in sys.argv[1:] if word != "--save"]
    if unknown := set(names) - {part.__name__ for part in PARTS}:
        known = ", ".join(part.__name__ for part in PARTS)
        raise SystemExit(f"{unknown.pop()}: must be one of {known}")
    found = list(figures(names))
    text = text_of(found, load)
    print(text)
    print(this_machine())
    if "--save" in sys.argv[1:]:
        before = TABLE.read_text(encoding="utf-8") if names else ""
        TABLE.write_text(merged(before, found, load) if names else text, encoding="utf-8")


def merged(before: str, found: list[Figure], load: float) -> str:
    """Return a table in which rows of the same names are replaced, and new ones follow the row before them."""
    lines = before.splitlines()
    place = next(k for k, line in enumerate(lines) if line.startswith("|---")) + 1
    for each in found:
        old = [k for k, line in enumerate(lines) if line.startswith(f"| {each.what} |")]
        if old:
            place = old[0]
            lines[place] = row_of(each)
        else:
            lines.insert(place, row_of(each))
        place += 1
    lines.append(f"Load when {found[0].what} to {found[-1].what} were measured again: {load:.1f}.")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
