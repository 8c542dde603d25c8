"""The page on the architecture names what is there, and all of it; claims and the fluid's kernel are made of short functions."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import dfcmodel
import responsefn
from dfcmodel.network.disciplines import Discipline
from responsefn import RateRule, WindowRule
from validation.code_hashes import PACKAGES

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PICTURE = (ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8")
PATHS = sorted({path for path in re.findall(r"`([\w./-]+)`", PAGE) if "/" in path})
FOLDERS = sorted(
    path.parent.relative_to(ROOT)
    for package in PACKAGES
    for path in (ROOT / package).glob("*/__init__.py")
)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_on_the_page_exists(path: str) -> None:
    """The tests of markov's methods and the like are named by their folder."""
    assert (ROOT / path).exists()


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_a_subpackage_is_in_the_table_and_in_the_picture(folder: Path) -> None:
    table = PAGE.partition("## Where is what")[2].partition("\n## ")[0]
    assert f"`{folder.as_posix()}/`" in table
    assert ".".join(folder.parts) in PICTURE


def test_functions_in_the_life_of_a_lost_packet_are_where_the_page_says() -> None:
    steps = PAGE.partition("## The life of a lost packet")[2].partition("\n## ")[0]
    named = re.findall(r"`(\w+)` in\s+`(dfcmodel/[\w/]+\.py)`", steps)
    assert len(named) >= 5
    for function, path in named:
        assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), function


def test_the_glossary_and_the_page_are_in_the_documentation() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert "\narchitecture\n" in index
    assert "\nglossary\n" in index


@pytest.mark.parametrize("folder", ["validation/claims", "dfcmodel/engine/kernel"])
def test_no_function_is_longer_than_a_page(folder: str) -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= 60  # type: ignore[operator]
    ]
    assert long == []


def test_claims_use_the_rules_and_settings_that_users_get() -> None:
    """Two rules of claims' own are experiments beside what is judged: Reno with two packets at least (malhotra2005), and the
    agent of ns-2 in the place of AIMD (S08). What is derived from a rule that users get is a rule of one's own, too."""
    rules = {
        name
        for package in (dfcmodel, responsefn)
        for name in package.__all__
        if isinstance(kind := getattr(package, name), type)
        and issubclass(kind, (WindowRule, RateRule, Discipline))
    } | {"Discipline"}
    own, private = [], []
    for path in sorted((ROOT / "validation" / "claims").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
                own += [node.name] if bases & rules else []
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
                private += [each.name for each in node.names if each.name.startswith("_")]
    assert own == ["TwoPackets", "HalvingAIMD"]
    assert private == []
