"""A module's tests are in the file of its name, or where `coverage.csv` says."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MIRRORED = ("dfcmodel", "hopflow", "markov", "responsefn", "validation")
"""Packages whose every module has tests of its own."""
EXEMPT = {
    "validation/conftest.py": "names marks for pytest",
    "validation/test_validation.py": "is itself run by pytest",
    "markov/files/syntax.py": "only declares the trees that the parsers' tests compare",
}
"""Modules without tests of their own, and why."""
TESTED_TOGETHER = (
    "dfcmodel/engine/kernel",
    "dfcmodel/packets/kernel",
    "dfcmodel/packets/fabric/kernel",
    "markov/time/exponentials/kernel",
    "responsefn/responses/kernel",
    "responsefn/responses/closed_forms/law_kernels",
    "responsefn/responses/rule_kernels",
)
"""Folders and modules whose functions run only as one compiled loop."""
MORE = {
    Path("validation/data"),
    Path("validation/published"),
    Path("dfcmodel/engine/kernel"),
    Path("dfcmodel/packets/kernel"),
}
"""Folders of tests that are no packages, or not yet mirrored: bundled data, published tables."""
JOURNEYS = {
    "test_default_constants.py": "default parameters of models, against the papers they are from",
    "files/test_functions_of_states.py": "expressions of files against functions of a state in Python",
    "infinite/test_files.py": "files without bounds, against rules in Python and far larger finite files",
    "test_functions_of_states.py": "functions of a state in every form, of eight kinds of states, in every place",
    "test_fresh_process.py": "what importing loads, and what runs without optional packages",
    "test_gallery_scripts.py": "the scripts of the documentation's gallery, each in a process",
    "test_hostile_calls.py": "arguments of every wrong kind for every public function",
    "test_machine_scripts.py": "scripts that need MPI, PETSc and SLEPc",
    "test_outside_suites.py": "models and results of suites that others wrote",
    "test_random_chains.py": "bounds and methods on random chains, against 50 digits",
    "test_ways_to_write.py": "one queue in every way that people write rules, in every way to a chain",
}
"""Test files of ``markov`` that belong to no single module, and why."""


def modules(package: str) -> list[Path]:
    """Return the modules of a package that need tests of their own, relative to the checkout."""
    found = [
        path.relative_to(HERE.parent)
        for path in sorted((HERE.parent / package).rglob("*.py"))
        if not path.name.startswith("__")
    ]
    assert found, f"no module in {package}"
    skipped = (*EXEMPT, *TESTED_TOGETHER)
    return [path for path in found if not path.as_posix().startswith(skipped)]


ALL = [path for package in MIRRORED for path in modules(package)]


with (HERE / "coverage.csv").open(encoding="utf-8", newline="") as table:
    COVERAGE = {row["module"]: row["tests"].split() for row in csv.DictReader(table)}
"""Test files of modules that have none of their name, separated by spaces."""


def file_of(module: Path) -> Path:
    """Return the test file of a module's name: of the command line, ``_cli.py``, it is test_cli.py."""
    return HERE / module.parent / f"test_{module.name.lstrip('_')}"


@pytest.mark.parametrize("module", ALL, ids=str)
def test_a_module_has_its_tests(module: Path) -> None:
    assert file_of(module).is_file() != (module.as_posix() in COVERAGE)


@pytest.mark.parametrize("module", COVERAGE)
def test_a_line_of_the_table_names_tests_that_use_the_module(module: str) -> None:
    """A test file is in the folder of the module's tests, or mentions a name that the module defines."""
    place = Path(module)
    assert place in ALL
    code = (HERE.parent / place).read_text(encoding="utf-8")
    names = re.findall(
        r"^(?:(?:async )?def |class )?([A-Za-z_]\w*)(?:\(| = |:)", code, re.MULTILINE
    )
    parts = [*place.with_suffix("").parts[-1:], *names]
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, parts))})\b")
    assert COVERAGE[module]
    for test in map(Path, COVERAGE[module]):
        text = (HERE.parent / test).read_text(encoding="utf-8")
        assert "def test_" in text
        assert test.parent == "tests" / place.parent or pattern.search(text), test


@pytest.mark.parametrize("package", MIRRORED)
def test_folders_of_tests_are_those_of_the_package(package: str) -> None:
    folders = {path.parent.relative_to(HERE) for path in (HERE / package).rglob("test_*.py")}
    assert folders <= {path.parent for path in modules(package)} | MORE


def test_other_tests_of_markov_are_journeys_that_are_listed() -> None:
    tests = {path.relative_to(HERE / "markov") for path in (HERE / "markov").rglob("test_*.py")}
    named = {
        path.parent.relative_to("markov") / f"test_{path.name.lstrip('_')}"
        for path in modules("markov")
    }
    of_several = {
        Path(test).relative_to("tests/markov")
        for found in COVERAGE.values()
        for test in found
        if test.startswith("tests/markov/")
    }
    assert {path.as_posix() for path in tests - named - of_several} == set(JOURNEYS)
