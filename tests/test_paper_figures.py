"""The scripts that draw figures of the papers run, one process each, and the page shows all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.surface import printed_by

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "docs" / "gallery" / "papers").glob("*.py"))


def test_the_page_shows_every_script() -> None:
    page = (ROOT / "docs" / "paper-figures.md").read_text(encoding="utf-8")
    shown = re.findall(r"literalinclude} gallery/papers/(\w+)\.py", page)
    drawn = re.findall(r'draw\("(\w+)"\)', page)
    assert sorted(shown) == sorted(drawn) == [script.stem for script in SCRIPTS]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_that_is_run_saves_its_figure_by_its_own_name(script: Path) -> None:
    end = f'\n\nif __name__ == "__main__":\n    drawn.savefig("{script.stem}.png")\n'
    assert script.read_text(encoding="utf-8").endswith(end)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_draws_lines_on_labelled_axes(script: Path, tmp_path: Path) -> None:
    code = f"""
import runpy
drawn = runpy.run_path({str(script)!r}, run_name="__main__")["drawn"]
assert drawn.axes
for ax in drawn.axes:
    assert ax.lines or ax.images or ax.collections or ax.patches, "nothing is drawn"
    assert ax.get_xlabel() or ax.get_ylabel()
"""
    environment = {"MPLBACKEND": "agg", "PYTHONPATH": str(ROOT)}
    printed_by("-W", "error", "-c", code, env=environment, cwd=tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == [f"{script.stem}.png"]
