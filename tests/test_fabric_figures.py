"""The gallery of fabrics runs and is shown, and the table of fabrics holds what a fabric must."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.fabric_table import CELLS, Cell, run_cell
from dfcmodel import completion_bounds

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "docs" / "gallery" / "fabrics").glob("*.py"))


def test_the_page_shows_every_script() -> None:
    page = (ROOT / "docs" / "fabrics.md").read_text(encoding="utf-8")
    shown = re.findall(r"literalinclude} gallery/fabrics/(\w+)\.py", page)
    assert sorted(shown) == [script.stem for script in SCRIPTS]


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_compares_fabrics(script: Path) -> None:
    """Even routes reach 0.98 of the links' rate; each fabric is complete, and none beyond the bound of its routes."""
    code = f"""
import runpy
found = runpy.run_path({str(script)!r})
jobs = found["jobs"]
assert len(jobs) >= 5
assert all(job.unfinished == 0 and job.time >= job.bound * (1 - 1e-12) for job in jobs.values())
assert found["lost"]["pauses, line rate, hashed"] == 0
assert 0.95 * 12.5e9 < jobs["pauses, line rate, even"].bus_bandwidth < 12.5e9
assert all(ax.lines or ax.patches for ax in found["drawn"].axes)
"""
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, cwd=ROOT, check=True
    )


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_cells_of_the_table_end_and_lose_only_where_they_may(cell: Cell) -> None:
    run = run_cell(cell)
    assert np.isfinite(run.finished).all()
    assert run.finished.max() >= completion_bounds(run.scenario).job * (1 - 1e-12)
    if cell.control in ("pauses", "credits"):
        assert run.lost_by_flow.sum() == 0
        assert run.status.ok
    else:
        assert len(run.paused) == 0
