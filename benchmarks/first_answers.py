"""Seconds from ``import markov`` to the first printed answer, in fresh processes.

Two sets of scripts: four models written so that the version before rules were run as plain Python
(commit ``FORMER``, taken out of the history of the repository) understands them as well, timed in
both; then every script of the gallery, most of which that version refuses. Each script runs once
with an empty cache of compiled kernels, as on a new machine, and then several times with a warm one.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from benchmarks.timing import Row
from benchmarks.versions import unpack_commit

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "docs" / "gallery" / "markov").glob("*.py"))
TASK = "first answer in a fresh process"
FORMER = "289f40f"
LINE = """
from typing import NamedTuple
from markov import ChainModel, MarkovChain, generator, stationary

class Line(ChainModel):
    class State(NamedTuple):
        waiting: int
        working: int
    class Params(NamedTuple):
        arrivals: float = 0.9
        failures: float = 0.01
        repairs: float = 0.2
        places: int = PLACES
    def space(self):
        return {"waiting": range(self.places + 1), "working": range(4)}
    @staticmethod
    def rules(s, q):
        if s.waiting < q.places:
            yield s._replace(waiting=s.waiting + 1), q.arrivals
        if s.waiting > 0 and s.working > 0:
            yield s._replace(waiting=s.waiting - 1), 0.5 * s.working
        if s.working > 0:
            yield s._replace(working=s.working - 1), q.failures * s.working
        if s.working < 3:
            yield s._replace(working=s.working + 1), q.repairs

print(stationary(generator(Line())).status)
"""
PAUSE = """
from markov import PauseTandem, stationary

print(stationary(PauseTandem(NAMED)).status)
"""
IN_BOTH = {
    "queue with repairs, 84 states": LINE.replace("PLACES", "20"),
    "queue with repairs, 40,004 states": LINE.replace("PLACES", "10_000"),
    "PauseTandem, buffers of 40": PAUSE.replace("NAMED", "buffers=(40, 40), high_threshold=20"),
    "PauseTandem as it comes": PAUSE.replace("NAMED", ""),
}
CHILD = """
import json, sys, time

class Clock:
    def __init__(self):
        self.begin, self.first = self.now(), None
    def now(self):
        return time.perf_counter(), time.process_time()
    def write(self, text):
        self.first = self.first or self.now()
    def flush(self):
        pass

clock = sys.stdout = Clock()
import PACKAGE
if len(sys.argv) > 1:
    import runpy
    runpy.run_path(sys.argv[1])
seconds, cpu = (b - a for a, b in zip(clock.begin, clock.first or clock.now()))
loaded = [name for name in ("numba", "xarray") if name in sys.modules]
print(json.dumps({"seconds": seconds, "cpu": cpu, "loaded": loaded}), file=sys.__stdout__)
"""


@contextmanager
def former() -> Iterator[Path | None]:
    """Give a folder with the former version's packages; None where its commit is not at hand."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            unpacked = unpack_commit(FORMER, Path(folder), "hopflow", "markov", "dfcmodel", "responsefn")
        except subprocess.CalledProcessError:
            unpacked = None
        yield unpacked


def run(script: Path | None, cache: str, root: Path = ROOT, package: str = "markov") -> dict:
    """Return wall-clock and CPU seconds of one process, and what it had loaded in the end."""
    paths = [str(root), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "HOPFLOW_CACHE_DIR": cache,
    }
    command = [
        sys.executable,
        "-c",
        CHILD.replace("PACKAGE", package),
        *([] if script is None else [str(script)]),
    ]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def timed(task: str, name: str, script: Path | None, warm: str, root: Path, rounds: int) -> Row:
    """Time a script: median of the runs with a warm cache; CPU and the first run of all in the note."""
    with tempfile.TemporaryDirectory() as cold:
        first = run(script, cold, root)
    run(script, warm, root)
    runs = [run(script, warm, root) for _ in range(rounds)]
    seconds = [each["seconds"] for each in runs]
    cpu = statistics.median(each["cpu"] for each in runs)
    note = f"CPU {cpu:.2f} s, with nothing compiled yet {first['cpu']:.2f} s"
    if runs[0]["loaded"]:
        note += f"; loads {', '.join(runs[0]['loaded'])}"
    return Row(task, name, statistics.median(seconds), min(seconds), max(seconds), 1.0, note)


def against_former(rounds: int) -> list[Row]:
    """Time the models that both versions understand; ratios are to this version."""
    found: list[Row] = []
    with former() as old, tempfile.TemporaryDirectory() as folder:
        roots = {"hopflow": ROOT} | ({f"at {FORMER}": old} if old else {})
        for model, text in tqdm(IN_BOTH.items(), desc=TASK, leave=False):
            script = Path(folder) / "script.py"
            script.write_text(text, encoding="utf-8")
            rows = [
                timed(f"{TASK}: {model}", name, script, f"{folder}/{name}", root, rounds)
                for name, root in roots.items()
            ]
            found += [replace(row, ratio=row.seconds / rows[0].seconds) for row in rows]
    return found


def of_gallery(rounds: int) -> list[Row]:
    """Time the import alone, then each script of the gallery; ratios are to the import."""
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as warm:
        for script in tqdm([None, *SCRIPTS], desc=TASK, leave=False):
            name = "import markov" if script is None else script.stem
            row = timed(TASK, name, script, warm, ROOT, rounds)
            found.append(replace(row, ratio=row.seconds / (found or [row])[0].seconds))
    return found


def rows(long: bool = False) -> list[Row]:
    """Time old against new, then the gallery: each once, ``long``: three times."""
    return against_former(3) + of_gallery(3 if long else 1)
