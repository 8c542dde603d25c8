"""The examples in the docstrings run and give what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from dfcmodel import lossless

MODULES = [module.name for module in pkgutil.iter_modules(lossless.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"dfcmodel.lossless.{name}"))
    assert found.failed == 0


@pytest.mark.parametrize("name", lossless.__all__)
def test_everything_exported_is_documented(name: str) -> None:
    assert len(getattr(lossless, name).__doc__ or "") > 60
