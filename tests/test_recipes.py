"""The recipes of CONTRIBUTING.md: the page is short, its files exist, and its code runs."""

from __future__ import annotations

import re
from pathlib import Path

from tests.surface import printed_by

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^### (.+?)\n(.*?)(?=^##)", TEXT, re.MULTILINE | re.DOTALL))


def test_there_is_a_recipe_for_each_frequent_change() -> None:
    names = [
        "A rule",
        "A number of an RFC",
        "An option of a command",
        "A column of a result's table",
        "A field that a reader uses",
        "A function or an operator of model files",
        "A construct of the PRISM language, or a key of JANI",
        "An element or an attribute of SBML",
        "A field of a file of listed states",
        "A method of `stationary`",
        "An iterative method of `stationary`",
        "A stopping rule or a setting of multigrid",
        "A method for distributions over time",
        "A construct of Python in rules",
        "A reward or a measure",
        "A chain of the gallery, or a row of a summary",
        "A parameter or a feature of the packet level",
        "A field of `Link`, which is a key of scenario files",
        "A discipline of the library: a queue manager, a scheduler, a switch program",
        "What a link does to packets: drops, delays, copies, marks, counts",
        "A number in an error bound",
        "A claim",
    ]
    assert list(RECIPES) == names


def test_paths_on_the_page_exist() -> None:
    paths = {
        path
        for path in re.findall(r"[`(]([\w./-]+/[\w./-]*)[`)#]", TEXT)
        if not path.startswith((".venv/", "docs/_build"))
    }
    assert len(paths) > 40
    missing = {
        path
        for path in paths
        if not any(
            (base / path).exists() for base in (ROOT, ROOT / "dfcmodel/packets/kernel", ROOT / "responsefn/rules")
        )
    }
    assert missing == set()


def test_the_code_of_a_recipe_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", RECIPES["A rule"], re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    file = tmp_path / "recipe.py"
    file.write_text(blocks[0], encoding="utf-8")
    printed_by("-m", "doctest", file)
