"""Every module of `validation` has the test file of its name."""

from __future__ import annotations

from pathlib import Path

import pytest

import validation

PACKAGE = Path(validation.__file__).parent
HERE = Path(__file__).parent
MODULES = sorted(
    path.relative_to(PACKAGE)
    for path in PACKAGE.rglob("*.py")
    if not path.name.startswith("__") and path.name != "test_validation.py"
)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_has_its_tests(module: Path) -> None:
    assert (HERE / module.parent / f"test_{module.name}").is_file()


def test_folders_of_tests_are_those_of_the_package() -> None:
    """And two more: the bundled data themselves, and the published tables."""
    folders = {path.parent.relative_to(HERE) for path in HERE.rglob("test_*.py")}
    known = {path.parent for path in MODULES} | {Path("data"), Path("published")}
    assert folders == known
