"""Benchmarks use names that exist; what they measure is looked at where they run."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("__"))


@pytest.mark.parametrize("name", MODULES)
def test_a_benchmark_can_be_imported(name: str) -> None:
    """Those in benchmarks/peers need the peers."""
    assert importlib.import_module(f"benchmarks.{name}").__doc__
