"""Seconds from ``import markov`` to the first printed answer of each script of the gallery.

Each script runs in processes of its own: once with an empty cache of compiled kernels, as on a new
machine, and then several times with a warm one. The other lines are relative to the import alone.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tqdm import tqdm

from benchmarks.timing import Row

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "docs" / "gallery" / "markov").glob("*.py"))
TASK = "first answer in a fresh process"
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
import markov
if len(sys.argv) > 1:
    import runpy
    runpy.run_path(sys.argv[1])
seconds, cpu = (b - a for a, b in zip(clock.begin, clock.first or clock.now()))
loaded = [name for name in ("numba", "xarray") if name in sys.modules]
print(json.dumps({"seconds": seconds, "cpu": cpu, "loaded": loaded}), file=sys.__stdout__)
"""


def run(script: Path | None, cache: str) -> dict:
    """Return wall-clock and CPU seconds of one process, and what it had loaded in the end."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "HOPFLOW_CACHE_DIR": cache,
    }
    command = [sys.executable, "-c", CHILD, *([] if script is None else [str(script)])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def rows(rounds: int = 3) -> list[Row]:
    """Time the import alone, then each script; in the notes, CPU seconds and the first run of all."""
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as warm:
        for script in tqdm([None, *SCRIPTS], desc=TASK, leave=False):
            with tempfile.TemporaryDirectory() as cold:
                first = run(script, cold)
            run(script, warm)
            runs = [run(script, warm) for _ in range(rounds)]
            seconds = [each["seconds"] for each in runs]
            median = statistics.median(seconds)
            cpu = statistics.median(each["cpu"] for each in runs)
            note = f"CPU {cpu:.2f} s, with nothing compiled yet {first['cpu']:.2f} s"
            if runs[0]["loaded"]:
                note += f"; loads {', '.join(runs[0]['loaded'])}"
            name = "import markov" if script is None else script.stem
            ratio = median / (found[0].seconds if found else median)
            found.append(Row(TASK, name, median, min(seconds), max(seconds), ratio, note))
    return found
