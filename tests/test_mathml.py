"""Formulas of the documentation become MathML completely; what does not is refused. `make docs` builds the pages."""

from __future__ import annotations

import doctest
import importlib.util
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from responsefn import catalogue

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("mathml", ROOT / "docs" / "mathml.py")
mathml = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mathml)

PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "CHANGELOG.md"]
READER = MarkdownIt().use(dollarmath_plugin)  # as MyST reads them


def formulas(path: Path) -> list[tuple[str, str]]:
    """Return (type, LaTeX) of the formulas of a page."""
    tokens = READER.parse(path.read_text(encoding="utf-8"))
    inside = [each for token in tokens for each in (token, *(token.children or []))]
    return [(each.type, each.content) for each in inside if each.type.startswith("math")]


def test_every_formula_of_the_pages_becomes_mathml() -> None:
    found = [each for path in PAGES for each in formulas(path)]
    assert {kind for kind, _ in found} == {"math_inline", "math_block"}
    assert len(found) > 600
    for kind, tex in found:
        display = kind.removeprefix("math_")
        written = ET.fromstring(mathml.formula(tex.strip(), display))
        assert written.tag == "{http://www.w3.org/1998/Math/MathML}math"
        assert written.get("display") == display
        assert "".join(written.itertext()).strip()


@pytest.mark.parametrize("kind", ["law", pytest.param("all", marks=pytest.mark.slow)])
def test_the_catalogue_s_formulas_become_mathml(kind: str) -> None:
    table = catalogue(kind)
    written = mathml.in_output(table._repr_html_())
    assert written.count("<math") == len(table.entries) > 1
    assert "\\(" not in written


@pytest.mark.parametrize(
    "tex",
    [r"\unheard{n}", r"\frac{1}", "x^", "a_b_c", r"\left(a", r"a \\ b", "a & b", ""],
)
def test_what_cannot_be_converted_is_refused(tex: str) -> None:
    with pytest.raises(ValueError, match="as MathML: "):
        mathml.formula(tex)


def test_several_lines_are_aligned() -> None:
    written = mathml.formula(r"\begin{align*} a &= b \\ c &= d \end{align*}", "block")
    assert written.count("<mtr>") == 2


def test_examples_of_the_extension() -> None:
    assert doctest.testmod(mathml).attempted == 3
    assert doctest.testmod(mathml).failed == 0
