"""HighSpeed TCP against RFC 3649's table."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from responsefn.rules.highspeed_tcp import (
    DECREASES,
    WINDOWS,
    highspeed_decrease,
    highspeed_increase,
)

PUBLISHED = Path(__file__).parents[3] / "validation" / "published"


def rows(name):
    with (PUBLISHED / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_rfc3649_table():
    table = rows("rfc3649_appendixB.csv")
    assert tuple(int(row["w"]) for row in table) == WINDOWS
    assert tuple(int(row["b_times_256"]) for row in table) == DECREASES
    for row in table:
        w = float(row["w"])
        assert highspeed_increase(w) == pytest.approx(int(row["a_w"]), abs=0.05)  # whole numbers
        assert abs(highspeed_decrease(w) - float(row["b_w"])) <= 0.005, row
        assert int(256 * highspeed_decrease(w)) == int(row["b_times_256"]), row  # cut, not rounded
