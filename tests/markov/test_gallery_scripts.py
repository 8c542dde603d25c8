"""The gallery of models: every script runs, passes its own check and prints what it did.

``python tests/markov/test_gallery_scripts.py`` records anew what the scripts print.
"""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.surface import for_each

DOCS = Path(__file__).resolve().parents[2] / "docs"
FOLDER = DOCS / "gallery" / "markov"
SCRIPTS = sorted(FOLDER.glob("*.py"))
PRINTED = FOLDER / "printed.txt"
FIELDS = [
    "queueing", "reliability", "epidemics", "chemistry", "inventory", "storage", "communication", "ecology",
]  # fmt: skip
SIMULATED = "simulated"  # lines that begin so hold random numbers, whose generators may change


def run(script: Path) -> str:
    """Return what a script prints in a fresh process, where every warning is an error."""
    import markov  # of this checkout, wherever it is

    paths = [str(Path(markov.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def about(script: Path) -> str:
    return ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""


def field_of(script: Path) -> str:
    found = re.search(r"^Field: (\w+)\.$", about(script), re.MULTILINE)
    assert found, script.name
    return found[1]


@cache
def recorded() -> dict[str, list[str]]:
    """Return the lines that each script printed when they were recorded."""
    parts = re.split(r"^## (\w+)\n", PRINTED.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: text.strip("\n").split("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def stable(lines: list[str]) -> list[str]:
    return [line for line in lines if not line.startswith(SIMULATED)]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_it_passes_its_check_and_prints_what_was_recorded(script, capsys):
    runpy.run_path(str(script), run_name="__main__")
    printed = capsys.readouterr().out.strip("\n").split("\n")
    assert 2 <= len(printed) <= 5
    assert stable(printed) == stable(recorded()[script.stem])


@pytest.mark.slow
def test_it_prints_the_same_in_a_fresh_process():
    assert stable(run(SCRIPTS[0]).strip("\n").split("\n")) == stable(recorded()[SCRIPTS[0].stem])


def test_nothing_is_recorded_of_other_scripts():
    assert list(recorded()) == [script.stem for script in SCRIPTS]


def test_there_are_27_models_of_eight_fields():
    assert len(SCRIPTS) >= 27
    fields = [field_of(script) for script in SCRIPTS]
    assert set(fields) == set(FIELDS)
    assert all(fields.count(field) >= 2 for field in FIELDS)


@for_each(SCRIPTS)
def test_it_names_its_source_and_checks_something(script):
    source = about(script).partition("\nSource: ")[2]
    assert re.search(r"\b(18|19|20)\d\d\b", source), "no year"
    text = script.read_text(encoding="utf-8")
    assert "assert " in text or "np.testing.assert_allclose(" in text
    assert 25 <= len(text.splitlines()) <= 70


def test_the_page_shows_and_runs_each_in_the_section_of_its_field():
    page = (DOCS / "markov-gallery.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (\w+)\n", page, flags=re.MULTILINE)
    assert [name.lower() for name in parts[1::2]] == FIELDS
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        here = [script.stem for script in SCRIPTS if field_of(script) == name.lower()]
        shown = re.findall(r"^```\{literalinclude\} gallery/markov/(\w+)\.py$", text, re.MULTILINE)
        ran = re.findall(r'^(\w+) = run\("\1"\)$', text, re.MULTILINE)
        assert sorted(shown) == here
        assert ran == shown


if __name__ == "__main__":
    PRINTED.write_text("\n".join(f"## {script.stem}\n{run(script)}" for script in SCRIPTS), encoding="utf-8")
