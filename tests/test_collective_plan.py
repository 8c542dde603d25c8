"""The table of the collective test plan has all cells, none beyond its bounds, and its scenarios are those of the plan."""

from __future__ import annotations

import csv

import numpy as np

from benchmarks.collective_plan import CASES, MATRIX, RESULTS, Cell, scenario_of


def test_every_cell_is_between_its_bounds() -> None:
    with (RESULTS / "collective_plan.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert (len(CASES), len(MATRIX), len(rows)) == (11, 36, 396)
    assert len({tuple(row[name] for name in ("case", "mtu", "message", "pairs", "balance")) for row in rows}) == 396
    time, lower, upper = (np.array([float(row[name]) for row in rows]) for name in ("time", "lower", "upper"))
    assert (time >= lower * (1.0 - 1e-5)).all()  # written with six digits
    bounded = np.isfinite(upper)
    assert bounded.any()
    assert (time[bounded] <= upper[bounded] * (1.0 + 1e-5)).all()
    assert all(row["lost"] == "0" for row in rows)


def test_messages_are_divided_among_queue_pairs() -> None:
    one, four = (
        scenario_of(Cell(CASES[1], next(each for each in MATRIX if each[:3] == (4096, 2**20, pairs))))
        for pairs in (1, 4)
    )
    assert len(four.flows) == 4 * len(one.flows)
    assert four.table.numbers("size").sum() == one.table.numbers("size").sum()
    assert len(four.flows[-1].after) == 4 * len(one.flows[-1].after)
