"""Scenarios as TOML text, by way of the public functions for files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from dfcmodel import Scenario, load_scenario, save_scenario
from responsefn import WindowRule

__all__ = ["read_scenario", "write_scenario"]


def write_scenario(scenario: Scenario) -> str:
    """Return what `dfcmodel.save_scenario` writes."""
    with tempfile.TemporaryDirectory() as folder:
        return save_scenario(scenario, Path(folder, "scenario.toml")).read_text(encoding="utf-8")


def read_scenario(text: str, rules: Iterable[type[WindowRule]] = ()) -> Scenario:
    """Return what `dfcmodel.load_scenario` makes of a text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scenario.toml")
        path.write_text(text, encoding="utf-8")
        return load_scenario(path, rules)
