"""Tables made by a known law, and the public tables."""

from __future__ import annotations

import pytest

from benchmarks.census import read_bundle
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
    """Return the bundled public tables by path."""
    return {blob.path: blob.table for blob in read_bundle().blobs}
