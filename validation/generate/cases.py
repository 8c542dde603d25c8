"""One case of the evidence library: its runs, their execution in shards, its files.

A case is a list of runs (parameter sets). Every run is one call of a simulator and leaves a shard
under ``build/data/<case>/``; a later call repeats only what is missing. When all shards are there
they are joined, in the order of the runs, into ``validation/data/<paper>/<case>/*.csv`` with a
``provenance.json`` beside them.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import resource
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "validation" / "data"
BUILD = ROOT / "build" / "data"

Run = Mapping[str, Any]
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Column:
    """What one CSV column holds: its unit (``"1"`` for pure numbers, ``""`` for labels)."""

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


@dataclass(frozen=True)
class Case:
    """A figure, table or sweep that a packet simulator was run for.

    Attributes
    ----------
    name
        ``paper/case``, the folder below ``validation/data``.
    execute
        ``execute(run, folder) -> {table name: rows}``: calls the simulator once, in an empty
        scratch ``folder``. Must be a module-level function.
    command
        ``command(run) -> str``: the command line that ``execute`` runs, relative to the
        repository root, for the record.
    sources
        The files, relative to the repository root, that decide the output; a change of any of
        them makes the shards stale.
    simulated_seconds
        ``run -> seconds`` of simulated time.
    """

    name: str
    title: str
    claims: tuple[str, ...]
    tool: str
    version: Callable[[], str]
    parameters: Mapping[str, tuple[object, str]]
    tables: Mapping[str, Table]
    runs: Sequence[Run]
    execute: Callable[[Run, Path], dict[str, Rows]]
    command: Callable[[Run], str]
    sources: tuple[str, ...]
    simulated_seconds: Callable[[Run], float]
    notes: tuple[str, ...] = field(default=())

    def digest(self) -> str:
        """Hash of the sources: names the shards' folder."""
        text = b"".join((ROOT / source).read_bytes() for source in self.sources)
        return hashlib.sha256(text).hexdigest()[:12]

    def shard(self, run: Run) -> Path:
        """Where the output of one run is kept between calls."""
        key = hashlib.sha256(json.dumps(dict(run), sort_keys=True).encode()).hexdigest()[:16]
        return BUILD / self.name / self.digest() / f"{key}.json"


def execute_shard(case: Case, run: Run) -> None:
    """Run the simulator for one shard and keep its rows with the CPU time that they cost."""
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
    scratch = target.with_suffix(".tmp")
    scratch.write_text(json.dumps({"cpu_seconds": cpu, "tables": tables}))
    scratch.rename(target)


def generate(case: Case, jobs: int = 2) -> None:
    """Run what is missing of ``case``, in ``jobs`` processes, then write its files."""
    missing = [run for run in case.runs if not case.shard(run).exists()]
    if jobs == 1:
        for run in tqdm(missing, desc=case.name, unit="run"):
            execute_shard(case, run)
    else:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            futures = [pool.submit(execute_shard, case, run) for run in missing]
            done = as_completed(futures)
            for future in tqdm(done, total=len(futures), desc=case.name, unit="run"):
                future.result()
    write(case)


def write(case: Case) -> None:
    """Join the shards of ``case`` into its CSV files and write ``provenance.json``."""
    shards = [json.loads(case.shard(run).read_text()) for run in case.runs]
    folder = DATA / case.name
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for name, table in case.tables.items():
        rows = [row for shard in shards for row in shard["tables"][name]]
        frame = pd.DataFrame(rows)[list(table.columns)]
        text = frame.to_csv(index=False, float_format="%.10g", lineterminator="\n").encode()
        path = folder / f"{name}.csv"
        if len(text) > 100_000:
            path = folder / f"{name}.csv.xz"
            frame.to_csv(
                path, index=False, float_format="%.10g", lineterminator="\n", compression="xz"
            )
        else:
            path.write_bytes(text)
        files[path.name] = {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "rows": len(frame),
            "index": list(table.index),
            "columns": {
                key: {"unit": column.unit, "meaning": column.meaning}
                for key, column in table.columns.items()
            },
        }
    provenance = {
        "case": case.name,
        "title": case.title,
        "claims": list(case.claims),
        "tool": case.tool,
        "version": case.version(),
        "command": case.command(case.runs[0]),
        "regenerate": f"python -m validation.generate {case.name}",
        "parameters": {
            key: {"value": value, "unit": unit} for key, (value, unit) in case.parameters.items()
        },
        "seeds": sorted({run["seed"] for run in case.runs if "seed" in run}),
        "runs": len(case.runs),
        "simulated_seconds": round(sum(map(case.simulated_seconds, case.runs)), 6),
        "cpu_seconds": round(sum(shard["cpu_seconds"] for shard in shards), 1),
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "sources": {
            source: hashlib.sha256((ROOT / source).read_bytes()).hexdigest()
            for source in case.sources
        },
        "notes": list(case.notes),
        "files": files,
    }
    (folder / "provenance.json").write_text(json.dumps(provenance, indent=1) + "\n")
    for path in folder.iterdir():  # such as the CSV of a table that is now compressed
        if path.name not in files and path.name != "provenance.json":
            path.unlink()


def call(command: str, cwd: Path) -> str:
    """Run a simulator; its standard output. A failure carries what it printed."""
    done = subprocess.run(
        shlex.split(command), cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        msg = (
            f"{command}\nexit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
        raise RuntimeError(msg)
    return done.stdout
