"""Tables of default constants with their sources: what the tests of several packages share.

A row has a name, a value and a source. A name is ``Class.parameter``, ``module:CONSTANT``, or
``place::quantity`` for a number that stands inside a function and is derived from what that returns.
"""

from __future__ import annotations

import csv
import importlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

__all__ = ["check_row", "check_sources", "names", "rows"]


def rows(table: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def names(table: Path) -> set[str]:
    """Return the names of a table, each of which stands there once."""
    listed = [row["name"] for row in rows(table)]
    assert len(set(listed)) == len(listed)
    return set(listed)


def check_sources(table: Path) -> None:
    """Assert that each row has a source, or refers to another row of the table that has one."""
    listed = names(table)
    for row in rows(table):
        source = row["source"]
        assert len(source) >= 8, row
        if source.startswith("as "):
            other = source.removeprefix("as ").partition(": ")[0]
            assert other in listed - {row["name"]}, row


def check_row(
    row: Mapping[str, str],
    defaults: Mapping[str, Any],
    derived: Mapping[str, Callable[[], float]] | None = None,
    **evaluated: Any,
) -> None:
    """Assert that the code has the value of a row.

    Parameters
    ----------
    row
        Of `rows`.
    defaults
        Values of parameters by name.
    derived
        For each ``place::quantity``, a function that derives it from the code.
    evaluated
        Names that values may contain beside ``log`` and ``inf``.
    """
    name = row["name"]
    if "::" in name:
        value = (derived or {})[name]()
    elif ":" in name:
        module, constant = name.split(":")
        value = getattr(importlib.import_module(module), constant)
    else:
        value = defaults[name]
    expected = eval(row["value"], {"__builtins__": {}, "log": math.log, "inf": math.inf, **evaluated})
    if isinstance(expected, float):
        assert value == pytest.approx(expected, rel=1e-15)  # quotients of integers: rounded once
    else:
        assert value == expected
