"""What it takes to begin: CPU seconds of imports and of small commands, MiB of the installation; limits in ``floors.toml``.

A ratio is that of a limit to what was measured: `python -m benchmarks startup --check` fails below 1. Each time is the least of some
processes, with compiled bytecode. The size is that of all files of the distributions that `requirements-light.txt` asks for, directly or
not, in this environment, and of hopflow's own packages.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from tqdm import tqdm

from benchmarks.timing import Row
from hopflow.public_names import PACKAGES

ROOT = Path(__file__).resolve().parents[1]
LIGHT = ROOT / "requirements-light.txt"
ROUNDS = 5
COMPLETION = {"_HOPFLOW_COMPLETE": "complete_bash", "COMP_WORDS": "hopflow s", "COMP_CWORD": "1"}
SHELL = "import sys; sys.argv[0] = 'hopflow'; from hopflow.shell import main; main()"
COMMANDS: dict[str, tuple[str, tuple[str, ...], dict[str, str], float]] = {
    **{f"import {name}": (f"import {name}", (), {}, 0.3) for name in ("hopflow", *PACKAGES)},
    "from dfcmodel import simulate": ("from dfcmodel import simulate", (), {}, 1.0),
    "from markov import stationary": ("from markov import stationary", (), {}, 1.0),
    "hopflow --version": (SHELL, ("--version",), {}, 0.25),
    "a completion of hopflow": (SHELL, (), COMPLETION, 0.3),
}
"""Code, arguments, environment and the limit in s of each."""
MOST_LIGHT = 530.0
"""MiB of the light installation, as `du -m` counts."""


def rows() -> list[Row]:
    """Return a row for each command, and for the light installation, each with a row of its limit."""
    found = []
    for task, (code, words, environment, limit) in tqdm(COMMANDS.items(), leave=False):
        times = [seconds_of(code, words, environment) for _ in range(ROUNDS + 1)][1:]
        ours = min(times)
        found.append(Row(task, "hopflow", statistics.median(times), ours, max(times), 1.0))
        found.append(Row(task, "limit", limit, limit, limit, limit / ours))
    size = size_of(LIGHT.read_text(encoding="utf-8")) / 2**20
    task, note = "light installation", "MiB in place of seconds"
    found.append(Row(task, "hopflow", size, size, size, 1.0, note))
    found.append(Row(task, "limit", MOST_LIGHT, MOST_LIGHT, MOST_LIGHT, MOST_LIGHT / size, note))
    return found


def seconds_of(code: str, words: tuple[str, ...], environment: dict[str, str]) -> float:
    """Return the CPU seconds of a process, of which the start of Python is a part.

    Modules that are compiled stay so for the next process, whatever the environment says, as for users.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", code, *words], cwd=ROOT, check=True, capture_output=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment},
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def size_of(requirements: str) -> int:
    """Return the bytes of the distributions that a requirements file asks for, of those that they need, and of hopflow."""
    todo = [line for line in requirements.splitlines() if line.strip() and not line.startswith("#")]
    known: set[str] = set()
    total = sum(
        path.stat().st_size for name in ("hopflow", *PACKAGES) for path in (ROOT / name).rglob("*") if path.is_file()
    )
    while todo:
        name = re.split(r"[^A-Za-z0-9._-]", todo.pop(), maxsplit=1)[0]
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in known:
            continue
        known.add(key)
        own = importlib.metadata.distribution(name)
        total += sum(
            path.stat().st_size for file in own.files or () if (path := Path(str(own.locate_file(file)))).is_file()
        )
        todo += [each for each in own.requires or () if _is_needed(each)]
    return total


def _is_needed(requirement: str) -> bool:
    """Return whether a requirement holds on this machine without extras; one that is not installed does not."""
    name, _, marker = requirement.partition(";")
    if "extra" in marker:
        return False
    try:
        importlib.metadata.distribution(re.split(r"[^A-Za-z0-9._-]", name, maxsplit=1)[0])
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
