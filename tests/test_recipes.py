"""The recipes of CONTRIBUTING.md: each fits a screen, and its code runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.surface import printed_by

TEXT = Path(__file__).parents[1].joinpath("CONTRIBUTING.md").read_text(encoding="utf-8")
SECTION = re.search(r"^## Recipes\n(.*?)^## ", TEXT, re.MULTILINE | re.DOTALL)
assert SECTION is not None
RECIPES = dict(re.findall(r"^### (.+?)\n(.*?)(?=^### |\Z)", SECTION[1], re.MULTILINE | re.DOTALL))
SCREEN = 60
"""Lines of a screen."""


def test_there_is_a_recipe_for_each_thing_that_is_added():
    assert list(RECIPES) == ["A rule", "A discipline", "A recovery", "A chain", "A claim"]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_fits_a_screen_and_runs(name, tmp_path):
    assert len(RECIPES[name].strip().splitlines()) <= SCREEN
    blocks = re.findall(r"^```python\n(.*?)^```", RECIPES[name], re.MULTILINE | re.DOTALL)
    assert blocks
    file = tmp_path / "recipe.py"
    file.write_text("\n".join(blocks), encoding="utf-8")
    printed_by(file)
