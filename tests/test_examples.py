"""The examples in docstrings run and give what they show, and exported objects have one."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from functools import cache
from types import ModuleType

import pytest

from tests.surface import PACKAGES, PUBLIC, ROOT, for_each

NOT_IMPORTED = ("__main__", "conftest", "test_validation", "hopflow.kernels.build")
"""The last one runs in processes of its own, with one version of Numba; `tests.hopflow.kernels.test_engines` imports it."""


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


@cache
def all_modules() -> list[str]:
    """Return the names of all modules."""
    return [name for package in PACKAGES for name in modules_of(package)]


def text_of(name: str) -> str:
    """Return the text of a module."""
    path = ROOT / name.replace(".", "/")
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text("utf-8")


@for_each(name for name in all_modules() if ">>>" not in text_of(name))
def test_a_module_without_examples_can_be_imported(name: str) -> None:
    importlib.import_module(name)


@pytest.mark.parametrize("name", [name for name in all_modules() if ">>>" in text_of(name)])
def test_examples_run(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


@for_each(pair for package in PUBLIC for pair in exported(package))
def test_everything_exported_has_an_example(package: str, name: str) -> None:
    """One that runs: an example of nothing but skipped lines shows nothing."""
    found = getattr(importlib.import_module(package), name)
    examples = doctest.DocTestParser().get_examples(found.__doc__ or "")
    assert [example for example in examples if doctest.SKIP not in example.options]
