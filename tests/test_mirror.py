"""A module's tests are in the file of its name, or where `coverage.csv` says."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

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
    "test_fresh_process.py": "what importing loads",
    "test_same_bits.py": "the same bits in any call, thread and process",
    "test_gallery_scripts.py": "the scripts of the documentation's gallery, each in a process",
    "test_hostile_calls.py": "arguments of every wrong kind for every public function",
    "test_machine_scripts.py": "scripts that need MPI, PETSc and SLEPc",
    "test_outside_suites.py": "models and results of suites that others wrote",
    "files/properties/test_simulated_paths.py": "paths that bounds of a collection are compared with",
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


def test_a_module_has_its_tests() -> None:
    assert [path for path in ALL if file_of(path).is_file() == (path.as_posix() in COVERAGE)] == []


@cache
def text_of(test: str) -> str:
    """Return the text of a test file."""
    return (HERE.parent / test).read_text(encoding="utf-8")


def names_of(module: Path) -> list[str]:
    """Return the name of a module and those that it defines."""
    defined = re.compile(r"^(?:(?:async )?def |class )?([A-Za-z_]\w*)(?:\(| = |:)", re.MULTILINE)
    code = (HERE.parent / module).read_text(encoding="utf-8")
    return [module.stem, *defined.findall(code)]


def test_a_line_of_the_table_names_tests_that_use_the_module() -> None:
    """A test file is in the folder of the module's tests, or mentions a name that the module defines."""
    assert set(map(Path, COVERAGE)) <= set(ALL)
    assert all(COVERAGE.values())
    for module, tests in COVERAGE.items():
        place = Path(module)
        for test in tests:
            assert "def test_" in text_of(test)
            if Path(test).parent != "tests" / place.parent:
                pattern = "|".join(map(re.escape, names_of(place)))
                assert re.search(rf"\b(?:{pattern})\b", text_of(test)), (module, test)


def test_folders_of_tests_are_those_of_the_packages() -> None:
    tests = [path for package in MIRRORED for path in (HERE / package).rglob("test_*.py")]
    folders = {path.parent.relative_to(HERE) for path in tests}
    assert folders <= {path.parent for path in ALL} | MORE


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
