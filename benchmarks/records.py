"""Results of benchmarks by machine, and ratios that must not fall below their floors."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.machines import Machine
from benchmarks.timing import Row

RESULTS = Path(__file__).parent / "results"
FLOORS = Path(__file__).parent / "floors.toml"


def save(machine: Machine, suites: Mapping[str, Iterable[Row]], folder: Path = RESULTS) -> Path:
    """Write the rows of some suites to the machine's file, where those of others are kept; return its path."""
    path = folder / f"{machine.slug}.json"
    held = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    held["suites"] = held.get("suites", {}) | {
        suite: {"machine": machine.to_dict(), "rows": [asdict(row) for row in rows]} for suite, rows in suites.items()
    }
    path.write_text(json.dumps(held, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return path


def below_floors(suites: Mapping[str, Iterable[Row]], path: Path = FLOORS) -> list[str]:
    """Return a line for each ratio below its floor, or not measured although its suite ran."""
    floors = tomllib.loads(path.read_text(encoding="utf-8"))
    found = []
    for suite, rows in suites.items():
        ratios = {(row.task, row.name): row.ratio for row in rows}
        for task, names in floors.get(suite, {}).items():
            for name, floor in names.items():
                ratio = ratios.get((task, name))
                if ratio is None:
                    found.append(f"{suite}, {task}: {name} was not measured")
                elif not ratio >= floor:
                    found.append(f"{suite}, {task}: {name} has {ratio:.2f}, must have {floor:g}")
    return found


Cells = list[dict[str, Any]]


def measure_cell(
    module: str,
    only: str,
    name: str,
    merged: Callable[[Cells, Cells], Cells],
    table: Callable[[Cells], str],
) -> None:
    """Measure one cell in a process of its own, print its row and keep it beside those held before.

    Parameters
    ----------
    module, only
        The program, ``python -m MODULE --only ONLY``, whose last line of output is the cell in JSON.
    name
        Of the two files, ``results/NAME.json`` and ``NAME.md``.
    merged, table
        All cells in their order, from those held and those found; and the same as Markdown.
    """
    command = [sys.executable, "-m", module, "--only", only]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = [json.loads(done.stdout.splitlines()[-1])]
    sys.stdout.write(table(found).splitlines()[-1] + "\n")
    sys.stdout.flush()
    keep(found, name, merged, table)


def keep(
    found: Cells,
    name: str,
    merged: Callable[[Cells, Cells], Cells],
    table: Callable[[Cells], str],
) -> None:
    """Keep some cells beside those held before; see `measure_cell`."""
    path = RESULTS / f"{name}.json"
    held = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    cells = merged(held, found)
    path.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(table(cells), encoding="utf-8")
