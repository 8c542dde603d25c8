"""CPU time of whole questions, beside another commit's: what `benchmarks.chain_questions` and `benchmarks.whole_runs` share.

Both versions are unpacked by ``git archive`` (this one with its changed files) and take turns. Each turn is a process of its own that imports
what the questions need, asks one of them once (*first call*) and again (*later calls*, the minimum). Kernels were compiled in a process before.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import geometric_mean
from typing import Any, NamedTuple

import typer

from hopflow.progress import progress_bar

ROOT = Path(__file__).parents[1]
LATER_SECONDS = 4.0
"""Later calls of a question are repeated until so much CPU time has passed, at most five times."""
MAX_LATER_CALLS = 5


class Question(NamedTuple):
    """A question: its size, the function that is timed, and what is read or computed in a folder before the clock starts."""

    size: float
    ask: Callable[[Any], Any]
    prepare: Callable[[Path], Any] = lambda _: None


class Times(NamedTuple):
    """CPU seconds of the first call of a process, and the minimum of later ones."""

    first: float
    later: float


Rows = dict[str, tuple[Times, Times]]
"""Times of the other commit and of this one, by question."""


def ask(question: Question) -> Times:
    """Ask a question in this process."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = question.prepare(Path(folder))
        seconds: list[float] = []
        while not seconds or (len(seconds) <= MAX_LATER_CALLS and sum(seconds[1:]) < LATER_SECONDS):
            start = time.process_time()
            answer = question.ask(prepared)
            seconds.append(time.process_time() - start)
            del answer
    return Times(seconds[0], min(seconds[1:]))


@contextmanager
def both_versions(base: str, *files: str) -> Iterator[tuple[Path, Path]]:
    """Unpack another commit, with ``files`` of the working tree, and the working tree itself; yield both folders."""
    from benchmarks.versions import unpack_commit  # which the other commit, where this file runs too, may lack

    stashed = subprocess.run(["git", "stash", "create"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as scratch:
        trees = Path(scratch) / "base", Path(scratch) / "new"
        for tree, commit in zip(trees, (base, stashed.strip() or "HEAD"), strict=True):
            tree.mkdir()
            unpack_commit(commit, tree)
            for file in files:
                (tree / file).write_bytes((ROOT / file).read_bytes())
        yield trees


def ask_in(tree: Path, module: str, name: str) -> Times:
    """Ask a question of a module of benchmarks in a process of its own that runs the version of a folder."""
    command = [sys.executable, "-m", module, "--ask", name]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    process = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if process.returncode:
        raise RuntimeError(f"{name}: {process.stderr.strip().splitlines()[-1]}")
    return Times(*map(float, process.stdout.split()[-2:]))


def compare(module: str, names: Sequence[str], base: str, rounds: int) -> Rows:
    """Return the times of questions of a module of benchmarks in both versions, the minima of ``rounds`` turns."""
    rows: Rows = {}
    files = f"{module.replace('.', '/')}.py", "benchmarks/whole_questions.py"
    with both_versions(base, *files) as trees:
        for name in progress_bar(names, desc="questions", unit="question"):
            for tree in trees:
                ask_in(tree, module, name)  # compiles
            turns = [[ask_in(tree, module, name) for tree in trees] for _ in range(rounds)]
            old, new = [Times(*map(min, zip(*times, strict=True))) for times in zip(*turns, strict=True)]
            rows[name] = (old, new)
    return rows


def chosen(questions: Mapping[str, Question], names: Sequence[str] | None, largest: float) -> list[str]:
    """Return the questions of some names, or all of them, up to a size; typer's BadParameter for an unknown name."""
    if unknown := set(names or ()) - set(questions):
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: must be of {', '.join(questions)}")
    return [name for name in names or questions if questions[name].size <= largest]


def table(questions: Mapping[str, Question], rows: Rows, size: str) -> str:
    """Return questions with their times and ratios, and geometric means by decade of size, as Markdown; ``size`` is a head."""
    lines = [
        f"| Question | {size} | First call, s | Ratio | Later calls, s | Ratio |",
        "| :-- | --: | --: | --: | --: | --: |",
    ]
    ratios: dict[int, list[tuple[float, float]]] = {}
    for name, (base, new) in rows.items():
        first, later = new.first / base.first, new.later / base.later
        number = questions[name].size
        ratios.setdefault(math.floor(math.log10(number)), []).append((first, later))
        lines.append(f"| {name} | {number:,.6g} | {new.first:.3g} | {first:.2f} | {new.later:.3g} | {later:.2f} |")
    groups = {f"decade of {10.0**n:,.6g}": pairs for n, pairs in sorted(ratios.items())}
    groups["all"] = [pair for pairs in ratios.values() for pair in pairs]
    for label, pairs in groups.items():
        first, later = (geometric_mean(values) for values in zip(*pairs, strict=True))
        lines.append(f"| *{label}, geometric mean of {len(pairs)}* | | | {first:.2f} | | {later:.2f} |")
    return "\n".join(lines) + "\n"
