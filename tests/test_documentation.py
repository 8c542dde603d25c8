"""The configuration of the documentation: what the reference leaves out."""

from __future__ import annotations

import ast
import importlib
import runpy
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

CONF = Path(__file__).resolve().parents[1] / "docs" / "conf.py"


class Place(NamedTuple):
    """A state, as of chains and rules.

    Attributes
    ----------
    queued
        Packets.
    """

    queued: int

    def empty(self) -> bool:
        """Return whether there are no packets."""
        return self.queued == 0


@pytest.fixture(scope="module", autouse=True)
def environment_of_the_docs() -> Iterator[None]:
    """conf.py switches progress bars off: here for these tests only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TQDM_DISABLE", "1")
        yield


@pytest.fixture(scope="module")
def hooks() -> dict[str, Any]:
    """The hooks of conf.py by event."""
    found: dict[str, Any] = {}
    app = SimpleNamespace(connect=lambda event, hook, priority=500: found.update({event: hook, hook.__name__: hook}))
    runpy.run_path(str(CONF))["setup"](app)
    return found


@pytest.mark.parametrize(("member", "skipped"), [("queued", True), ("empty", None)])
def test_fields_of_named_tuples_are_described_once(hooks, member, skipped) -> None:
    """Python's own docstring of a field, its number, would be another entry for each of them."""
    hook = hooks["autodoc-skip-member"]
    assert hook(None, "class", member, getattr(Place, member), False, None) is skipped


def test_figures_of_the_reference_are_of_objects_that_have_a_page() -> None:
    """Their code runs when the docs are built; here names are resolved, and every placeholder is filled in."""
    figures = runpy.run_path(str(CONF))["autosummary_context"]["figures"]
    assert len(figures) > 100
    for full, texts in figures.items():
        package, name = full.rsplit(".", 1)
        assert name in importlib.import_module(package).__all__
        for node in ast.walk(ast.parse(texts["code"])):
            if isinstance(node, ast.ImportFrom):
                assert all(hasattr(importlib.import_module(str(node.module)), a.name) for a in node.names)
        assert "{" not in texts["caption"]
        assert "{name}" not in texts["code"]


def test_attributes_with_one_text_are_described_one_by_one(hooks: dict[str, Any]) -> None:
    lines = ["Text.", "", ":ivar low, high: Packets,", "    or bytes.", ":ivar units: Of both."]
    hooks["_split_names"](None, "class", "Result", Place, None, lines)
    assert lines[2:] == [
        ":ivar low: Packets,", "    or bytes.", ":ivar high: Packets,", "    or bytes.", ":ivar units: Of both.",
    ]  # fmt: skip


def test_captions_have_a_level_and_code_takes_the_focus(hooks: dict[str, Any]) -> None:
    """Without one a screen reader is told nothing; Sphinx and the theme write them so."""
    context = {
        "body": '<pre>code</pre><div class="table-wrapper docutils"></div>',
        "furo_navigation_tree": '<p class="caption" role="heading">How-to</p>',
    }
    hooks["html-page-context"](None, "index", "page.html", context, None)
    assert context["furo_navigation_tree"].startswith('<p class="caption" role="heading" aria-level="2">')
    assert context["body"] == (  # keys scroll both
        '<pre tabindex="0">code</pre><div tabindex="0" class="table-wrapper docutils"></div>'
    )
