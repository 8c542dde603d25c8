"""The gallery of fabrics runs and is shown, and the table of fabrics holds what a fabric must."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.fabric_table import CELLS, Cell, run_cell
from dfcmodel import Packets, completion_bounds
from tests.surface import printed_by

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
    environment = {"MPLBACKEND": "agg", "PYTHONPATH": str(ROOT)}
    printed_by("-W", "error", "-c", code, env=environment, cwd=ROOT)


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


def test_what_the_page_on_a_roce_fabric_says() -> None:
    """Its statements about the three runs hold in the runs of its own cells."""
    page = (ROOT / "docs" / "roce-fabric.md").read_text(encoding="utf-8")
    cells = re.findall(r"```{code-cell} ipython3\n(.*?)```", page, re.DOTALL)
    assert sum("simulate(" in cell for cell in cells) == 3
    found: dict[str, Any] = {}
    exec("\n".join(cell for cell in cells if "figure(" not in cell), found)  # noqa: S102
    runs, jobs = found["runs"], found["jobs"]
    time = {name: job.time for name, job in jobs.items()}
    pfc, dcqcn, hpcc = runs.values()
    assert all(job.unfinished == 0 and job.bound < job.time for job in jobs.values())
    assert all(run.lost.sum() == 0.0 and run.scenario.host_is("nic").all() for run in runs.values())
    assert f"{time['PFC'] / jobs['PFC'].bound:.1f} times the lower bound" in page
    assert f"{len(pfc.paused)} pauses" in page
    assert len(dcqcn.paused) < 0.1 * len(pfc.paused)
    assert f"{dcqcn.peak_queue.max():.0f} instead of {pfc.peak_queue.max():.0f} packets" in page
    assert f"{time['PFC, ECN, DCQCN'] / time['PFC']:.1f} times as long" in page
    assert f"{100 * (time['INT, HPCC'] / time['PFC'] - 1):.0f} % longer" in page
    assert len(hpcc.paused) == 0
    assert f"at most {hpcc.peak_queue.max():.0f} packets" in page
    faster = found["DCQCN"](timer="10us")
    run = found["simulate"](found["job_of"](found["with_ecn"], faster), Packets(seed=1))
    assert f"{1e3 * run.finished.max():.2f} ms" in page
    assert 0.5 * len(pfc.paused) < len(run.paused) < len(pfc.paused)
