"""The examples in the docstrings run and give what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import validation

MODULES = [
    module.name
    for module in pkgutil.walk_packages(validation.__path__, "validation.")
    if not module.name.endswith(("__main__", "test_validation"))
]


@pytest.mark.parametrize("name", ["validation", *MODULES])
def test_examples_run(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


@pytest.mark.parametrize("name", validation.__all__)
def test_everything_exported_has_an_example(name: str) -> None:
    assert ">>>" in (getattr(validation, name).__doc__ or "")
