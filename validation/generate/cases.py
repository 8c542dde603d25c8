"""One case of the evidence library: its runs, their execution in shards, its files.

A case is a list of runs (parameter sets). Every run calls a program of a simulator, once or several
times, and leaves a shard under ``build/data/<case>/``; a later call repeats only what is missing.
When all shards are there they are joined, in the order of the runs, into
``validation/data/<paper>/<case>/*.csv`` with a ``provenance.json`` beside them.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import inspect
import itertools
import json
import lzma
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from hopflow.processes import process_pool
from hopflow.progress import progress_bar
from hopflow.whole_files import replacing
from validation import manifest
from validation.generate.programs import BUILD, Program, hashes

Run = Mapping[str, Any]
Rows = list[dict[str, Any]]
Calls = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Column:
    """A CSV column: its meaning and its unit (``"1"`` for pure numbers, ``""`` for labels)."""

    unit: str
    meaning: str


@dataclass(frozen=True)
class Table:
    """One CSV file: the columns that identify a row (``index``) and those that were measured."""

    index: Mapping[str, Column]
    values: Mapping[str, Column]

    @property
    def columns(self) -> dict[str, Column]:
        """Index columns first, in file order."""
        return {**self.index, **self.values}


class Heading(NamedTuple):
    """What a case is called, in a word and in words, and the claims that it is for."""

    name: str
    title: str
    claims: tuple[str, ...]


def cross(**levels: Sequence[Any]) -> list[dict[str, Any]]:
    """Return all combinations of the levels, of which the last one varies fastest."""
    return [dict(zip(levels, chosen, strict=True)) for chosen in itertools.product(*levels.values())]


@dataclass(frozen=True)
class Case:
    """A figure, table or sweep that a packet simulator was run for.

    Attributes
    ----------
    name
        ``paper/case``, the folder below ``validation/data``.
    program
        The program that is run.
    calls
        ``run -> words`` of each call of the program; module-level, as is ``read``.
    read
        ``read(run, folder, printed) -> {table name: rows}`` from the files that the calls left in
        ``folder`` and from what each of them printed.
    simulated_seconds
        ``run -> seconds`` of simulated time.
    """

    name: str
    title: str
    claims: tuple[str, ...]
    program: Program
    parameters: Mapping[str, tuple[object, str]]
    tables: Mapping[str, Table]
    runs: Sequence[Run]
    calls: Callable[[Run], Calls]
    read: Callable[[Run, Path, Sequence[str]], dict[str, Rows]]
    simulated_seconds: Callable[[Run], float]
    notes: tuple[str, ...] = ()

    def commands(self, run: Run) -> list[str]:
        """Return the command lines of a run, relative to the repository root."""
        return [self.program.command(words) for words in self.calls(run)]

    def execute(self, run: Run, folder: Path) -> dict[str, Rows]:
        """Simulate one run in an empty scratch folder; return its rows by table."""
        printed = [self.program.run(words, folder) for words in self.calls(run)]
        return self.read(run, folder, printed)

    def shard(self, run: Run) -> Path:
        """Return where the rows of one run are kept between calls.

        Its name depends on the run, the program, and the module that reads the output, with its tables.
        """
        module = sys.modules[self.read.__module__]
        source, about = inspect.getsource(module), Path(str(module.__file__)).with_suffix(".toml")
        source += about.read_text(encoding="utf-8") if about.exists() else ""
        decides = [hashes(self.program), source, self.commands(run), dict(run)]
        key = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]
        return BUILD / self.name / f"{key}.json"


def execute_shard(case: Case, run: Run) -> None:
    """Simulate one shard and keep its rows with the CPU time that they cost."""
    target = case.shard(run)
    folder = target.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    tables = case.execute(run, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    with replacing(target) as scratch:
        scratch.write_text(json.dumps({"cpu_seconds": cpu, "tables": tables}))


def generate(case: Case, jobs: int = 2) -> None:
    """Execute the missing runs of ``case`` in ``jobs`` processes, then write its files.

    Ctrl-C keeps the runs that are done.
    """
    missing = [run for run in case.runs if not case.shard(run).exists()]
    if jobs == 1:
        for run in progress_bar(missing, desc=case.name, unit="run"):
            execute_shard(case, run)
    else:
        with process_pool(jobs, get_context("spawn")) as pool:
            futures = [pool.submit(execute_shard, case, run) for run in missing]
            done = as_completed(futures)
            for future in progress_bar(done, total=len(futures), desc=case.name, unit="run"):
                future.result()
    write(case)


def csv_text(rows: Rows, table: Table) -> bytes:
    """Return the CSV file of a table."""
    frame = pd.DataFrame(rows, columns=list(table.columns))
    return frame.to_csv(index=False, float_format="%.10g", lineterminator="\n").encode()


def write(case: Case) -> None:
    """Join the shards of ``case`` into its CSV files and write ``provenance.json``."""
    shards = [json.loads(case.shard(run).read_text()) for run in case.runs]
    folder = manifest.DATA / case.name
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for name, table in case.tables.items():
        rows = [row for shard in shards for row in shard["tables"][name]]
        path = _write_table(folder, name, csv_text(rows, table))
        files[path.name] = {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "rows": len(rows),
            "index": list(table.index),
            "columns": {key: {"unit": column.unit, "meaning": column.meaning} for key, column in table.columns.items()},
        }
    cpu = round(sum(shard["cpu_seconds"] for shard in shards), 1)
    record = {**describe(case), "cpu_seconds": cpu, "files": files}
    _write_provenance(folder / "provenance.json", record)
    for path in folder.iterdir():  # such as the CSV of a table that is now compressed
        if path.name not in files and path.name != "provenance.json":
            path.unlink()


def _write_provenance(path: Path, record: dict[str, Any]) -> None:
    """Write a record, unless only day and CPU time differ: what comes out the same stays as it is."""
    if path.is_file():
        before = json.loads(path.read_text(encoding="utf-8"))
        if record == before | {name: record[name] for name in ("date", "cpu_seconds")}:
            return
    with replacing(path) as scratch:
        scratch.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _write_table(folder: Path, name: str, text: bytes) -> Path:
    """Write a table, compressed where it is large; return its path."""
    large = len(text) > 100_000
    path = folder / f"{name}.csv{'.xz' if large else ''}"
    with replacing(path) as scratch:
        scratch.write_bytes(lzma.compress(text) if large else text)
    return path


def describe(case: Case) -> dict[str, Any]:
    """Return the provenance of a case as known before it is run, with the simulator's version and the day."""
    today = dt.datetime.now(dt.UTC).date().isoformat()
    return {**definition(case), "version": case.program.version(), "date": today}


def definition(case: Case) -> dict[str, Any]:
    """Return what of the provenance follows from the case alone, without a simulator.

    The commands of all runs are recorded by their number and by the SHA-256 of their lines.
    """
    commands = [command for run in case.runs for command in case.commands(run)]
    return {
        "case": case.name,
        "title": case.title,
        "claims": list(case.claims),
        "tool": case.program.tool,
        "programs": hashes(case.program),
        "command": commands[0],
        "commands": {"number": len(commands), "sha256": digest(commands)},
        "regenerate": f"python -m validation.generate {case.name}",
        "parameters": {key: {"value": value, "unit": unit} for key, (value, unit) in case.parameters.items()},
        "seeds": sorted({run["seed"] for run in case.runs if "seed" in run}),
        "runs": len(case.runs),
        "simulated_seconds": round(sum(map(case.simulated_seconds, case.runs)), 6),
        "notes": list(case.notes),
    }


def digest(commands: Sequence[str]) -> str:
    """Return the SHA-256 of command lines, one per line."""
    return hashlib.sha256("\n".join(commands).encode()).hexdigest()
