"""The notebooks run from top to bottom, as they stand."""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import Path

import jupytext
import nbclient
import nbformat.v4
import pytest

from tests.surface import HANG

FOLDER = Path(__file__).parents[1] / "notebooks"
QUICKSTART = FOLDER / "quickstart.md"
PAGES = Path(__file__).parents[1] / "docs"
COPIES = ("networks",)
"""Notebooks that are pages of the documentation, with links that lead there."""


def run(notebook) -> None:
    nbclient.NotebookClient(notebook, timeout=int(HANG), kernel_name="python3").execute()


def as_notebook(page: str) -> str:
    """Return a page of the documentation as a notebook of another folder."""
    page = re.sub(r"\{doc\}`([\w-]+)`", r"[\1](../docs/\1.md)", page)
    return re.sub(r"\]\((?!https?:|\.\./|#)", "](../docs/", page)


@pytest.mark.parametrize("name", COPIES)
def test_a_notebook_that_is_a_page_says_the_same(name: str) -> None:
    """Otherwise write ``as_notebook`` of the page to the notebook."""
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert (FOLDER / f"{name}.md").read_text(encoding="utf-8") == as_notebook(page)


@pytest.mark.longest
@pytest.mark.slow  # compile much for a few cells; `make docs` runs all
@pytest.mark.parametrize("path", sorted(set(FOLDER.glob("*.md")) - {QUICKSTART}), ids=attrgetter("stem"))
def test_notebook_runs(path: Path) -> None:
    run(jupytext.read(path))


def test_quickstart_shows_three_models_in_under_30_lines() -> None:
    notebook = jupytext.read(QUICKSTART)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    lines = [line for source in code for line in source.splitlines() if line.strip()]
    assert len(lines) < 30
    for package in ("dfcmodel", "markov", "responsefn"):
        assert any(f"from {package} import" in line for line in lines)


def test_quickstart_runs_and_a_plot_shows_once() -> None:
    """Below its cell as a picture; a result alone shows its table with its own picture."""
    made = "from responsefn import Reno, curve\ncurves = curve([Reno()], p=[1e-4, 1e-3], rtt=0.1)"
    texts = made, "curves", "curves.plot();", "curves.plot();"
    cells = [nbformat.v4.new_code_cell(text) for text in texts]
    notebook = jupytext.read(QUICKSTART)
    drawn = next(cell for cell in notebook.cells if cell.source.endswith("rtt=0.05).plot();"))
    notebook.cells += cells  # in the same process: one start, one import
    run(notebook)
    shown = [[sorted(output.get("data", {})) for output in cell.outputs] for cell in cells]
    picture = [["image/png", "text/plain"]]
    assert shown == [[], [["text/html", "text/plain"]], picture, picture]
    assert any("image/png" in output.data for output in drawn.outputs if "data" in output)
