"""Tables made by a known law, and the public tables where they are at hand."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from dfcmodel import headroom
from dfcmodel.lossless import BufferRow, BufferTable

CONSTANTS = {25e9: 86, 100e9: 123, 400e9: 681, 800e9: 1975}
"""Cells beyond the proved headroom."""
CABLES = (5.0, 40.0, 300.0)


def lawful_rows(cell: int = 254) -> list[BufferRow]:
    """Return rows that are the proved headroom for any sizes plus a constant per rate."""
    return [
        BufferRow(rate, cable, (headroom(f"{rate / 1e9:g}Gbps", f"{cable:g}m", 9216, 9216, cell, small_packets=1).cells + more) * cell)
        for rate, more in CONSTANTS.items()
        for cable in CABLES
    ]  # fmt: skip


@pytest.fixture
def lawful() -> list[BufferRow]:
    """Return twelve rows of cells of 254 B that follow a law."""
    return lawful_rows()


@pytest.fixture(scope="session")
def public_tables() -> dict[str, BufferTable]:
    """Return the public tables by path, from `python -m benchmarks.census CHECKOUT --rows FILE`."""
    folder = os.environ.get("HOPFLOW_SUITES")
    path = Path(folder or "", "sonic-tables", "rows.csv")
    if not folder or not path.exists():
        pytest.skip(
            "HOPFLOW_SUITES has no sonic-tables/rows.csv: python -m benchmarks.census CHECKOUT --rows FILE"
        )
    rows: dict[str, list[BufferRow]] = {}
    with path.open(newline="") as file:
        for n, each in enumerate(csv.DictReader(file), 2):
            row = BufferRow(
                float(each["speed"]) * 1e6,
                float(each["cable"][:-1]),
                int(each["xoff"]),
                place=f"line {n}",
            )
            rows.setdefault(each["path"], []).append(row)
    return {path: BufferTable(tuple(each), path) for path, each in rows.items()}
