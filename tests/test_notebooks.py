"""The notebooks run from top to bottom, as they stand."""

from __future__ import annotations

from pathlib import Path

import jupytext
import nbclient
import nbformat.v4
import pytest

NOTEBOOKS = sorted(Path(__file__).parents[1].glob("notebooks/*.md"))
LONG = (
    "bridge",
    "fluid-against-packets",
    "heat-bar",
    "markov",
    "networks",
    "why-18-kib",
)  # compile much for a few cells; `make docs` runs all


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem in LONG else [])
        for path in NOTEBOOKS
    ],
)
def test_notebook_runs(path: Path) -> None:
    notebook = jupytext.read(path)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()


def test_quickstart_shows_three_models_in_under_30_lines() -> None:
    notebook = jupytext.read(next(path for path in NOTEBOOKS if path.stem == "quickstart"))
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    lines = [line for source in code for line in source.splitlines() if line.strip()]
    assert len(lines) < 30
    for package in ("dfcmodel", "markov", "responsefn"):
        assert any(f"from {package} import" in line for line in lines)


def test_a_plot_shows_in_a_notebook_once() -> None:
    """Below its cell as a picture; a result alone shows its table with its own picture."""
    made = "from responsefn import Reno, curve\ncurves = curve([Reno()], p=[1e-4, 1e-3], rtt=0.1)"
    cells = [nbformat.v4.new_code_cell(text) for text in (made, "curves.plot();", "curves")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [[sorted(output.get("data", {})) for output in cell.outputs] for cell in cells]
    assert shown == [[], [["image/png", "text/plain"]], [["text/html", "text/plain"]]]
