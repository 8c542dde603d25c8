"""The examples in docstrings run and give what they show, and exported objects have one."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import pytest
from _pytest.mark import ParameterSet

from tests.surface import PACKAGES, PUBLIC

NOT_IMPORTED = ("__main__", "conftest", "test_validation")
FAILING: dict[str, str] = {}
"""Modules whose examples fail; the test fails when one no longer does: delete it then."""


def modules_of(package: str) -> list[str]:
    """Return the names of a package and of all its modules."""
    found = pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
    return [package, *(m.name for m in found if not m.name.endswith(NOT_IMPORTED))]


def exported(package: str) -> list[tuple[str, str]]:
    """Return (package, name) of what users import from a package, constants left out."""
    module: ModuleType = importlib.import_module(package)
    names = [name for name in module.__all__ if callable(getattr(module, name))]
    assert names, f"{package} exports nothing"
    return [(package, name) for name in names]


def all_modules() -> Iterator[ParameterSet]:
    """Yield all modules, the known failures marked."""
    for package in PACKAGES:
        for name in modules_of(package):
            reason = FAILING.get(name)
            marks = [pytest.mark.xfail(reason=reason)] if reason else []
            yield pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", list(all_modules()))
def test_examples_run(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        if name != "hopflow.kernels.compilers" or "this Numba has no" not in str(error):
            raise
        pytest.skip(f"{error}, and kernels are compiled by its own passes")
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


@pytest.mark.parametrize(
    ("package", "name"), [pair for package in PUBLIC for pair in exported(package)]
)
def test_everything_exported_has_an_example(package: str, name: str) -> None:
    """One that runs: an example of nothing but skipped lines shows nothing."""
    found = getattr(importlib.import_module(package), name)
    examples = doctest.DocTestParser().get_examples(found.__doc__ or "")
    assert [example for example in examples if doctest.SKIP not in example.options]
