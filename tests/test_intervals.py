"""Every result that holds an interval stands in the table of the page on intervals, and every row of it exists."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import runpy
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks import interval_coverage
from hopflow.results import Result
from tests.surface import PACKAGES

DOCS = Path(__file__).resolve().parents[1] / "docs"
GENERATED = runpy.run_path(str(DOCS / "generated.py"))
ROWS = GENERATED["interval_rows"]()
NAMES = re.compile(r"half_width|interval|confidence|error_bars?|standard_error")
"""Attributes that hold an interval."""
WORDS = re.compile(r"±|\+-|[Cc]onfidence|half.widths?|\b9\d % (interval|confidence)|Student's")
"""Words of docstrings that promise one."""


def imported_results() -> Iterator[type[Result]]:
    """Yield all classes of results of the packages."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        for each in pkgutil.walk_packages(module.__path__, f"{package}."):
            if not each.name.endswith("__main__"):
                importlib.import_module(each.name)
    waiting: list[type[Result]] = [Result]
    seen: set[type[Result]] = set()
    while waiting:
        kind = waiting.pop()
        if kind in seen:
            continue
        seen.add(kind)
        waiting += kind.__subclasses__()
        if kind.__module__.partition(".")[0] in PACKAGES:
            yield kind


def members_with_intervals(kind: type) -> set[str]:
    """Return the public attributes of a class whose name says that they hold an interval, or whose docstring does; "": that of the class."""
    names = {name for name in dir(kind) if not name.startswith("_")}
    names |= {field.name for field in fields(kind)} if is_dataclass(kind) else set()
    by_name = {name for name in names if NAMES.search(name)}
    by_text = {
        name
        for name, member in vars(kind).items()
        if not name.startswith("_") and WORDS.search(inspect.getdoc(member) or "")
    }
    return by_name | by_text | ({""} if WORDS.search(vars(kind).get("__doc__") or "") else set())


def target_of(row: dict[str, Any]) -> Any:
    """Return the object of a row of the table."""
    module, _, name = row["of"].partition(":")
    return getattr(importlib.import_module(module), name)


def missing_rows(kinds: list[type], rows: list[dict[str, Any]]) -> list[str]:
    """Return the intervals of classes that no row has."""
    listed: dict[type, set[str]] = {}
    for row in rows:
        listed.setdefault(target_of(row), set()).update(row["attributes"])
    missing = []
    for kind in kinds:
        members = members_with_intervals(kind)
        if members and kind not in listed:
            missing.append(f"{kind.__name__}: {', '.join(sorted(members)) or 'its docstring'}")
        unlisted = {name for name in members if NAMES.search(name)} - listed.get(kind, members)
        missing += [f"{kind.__name__}.{name}" for name in sorted(unlisted)]
    return missing


@pytest.mark.slow
def test_every_result_with_an_interval_has_a_row() -> None:
    kinds = [kind for kind in imported_results() if kind is not Result]
    assert len(kinds) > 50
    assert missing_rows(kinds, ROWS) == []


def test_a_result_without_a_row_is_found() -> None:
    @dataclass(frozen=True)
    class Bare(Result):
        """Two numbers."""

        speed_half_width: float

    @dataclass(frozen=True)
    class Told(Result):
        """A mean with Student's 95 % interval."""

        speed: float

    assert missing_rows([Bare, Told], ROWS) == ["Bare: speed_half_width", "Told: its docstring"]
    listed = [{"of": "dfcmodel.results:Ensemble", "attributes": []}]
    ensemble = target_of(listed[0])
    assert missing_rows([ensemble], listed) == ["Ensemble.intervals"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['of']}: {row['quantity']}")
def test_a_row_is_of_what_exists(row: dict[str, Any]) -> None:
    target = target_of(row)
    names = set(dir(target)) | ({field.name for field in fields(target)} if is_dataclass(target) else set())
    assert set(row["attributes"]) <= names
    assert row["quantity"]
    assert row["method"]
    assert row["covers"]
    assert ("stated" in row) != ("measured" in row)


def test_measured_coverages_are_those_of_rows() -> None:
    named = {name for row in ROWS for name in row.get("measured", ())}
    measured = interval_coverage.read_results()
    assert {row["quantity"] for row in measured} <= named
    assert all(0.0 <= float(row["mean"]) <= 1.0 for row in measured if row["mean"] != "nan")


def test_recorded_coverages_are_90_to_99_percent_over_all_settings() -> None:
    """Of the quantities whose intervals are measured with random calls, over all calls of a quantity."""
    by_quantity: dict[str, list[tuple[int, float]]] = {}
    for row in interval_coverage.read_results():
        if row["mean"] != "nan":
            calls = round(float(row["calls"]) * float(row["printed"]))
            by_quantity.setdefault(row["quantity"], []).append((calls, float(row["mean"])))
    assert by_quantity
    for quantity, rows in by_quantity.items():
        calls = sum(count for count, _ in rows)
        part = sum(count * mean for count, mean in rows) / calls
        assert part >= 0.90, (quantity, part)
