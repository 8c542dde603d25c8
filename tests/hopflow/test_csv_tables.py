"""Tables of comma-separated values as they are written and read."""

from __future__ import annotations

import csv

from hopflow.csv_tables import bundled_rows, write_rows


def test_a_table_is_written_below_its_comment(tmp_path):
    path = tmp_path / "table.csv"
    write_rows(path, ("name", "value"), [("a, b", 1), ("", 2.5)], "from there")
    assert path.read_bytes() == b'# from there\nname,value\n"a, b",1\n,2.5\n'
    with path.open(newline="") as file:
        next(file)
        assert list(csv.DictReader(file))[1] == {"name": "", "value": "2.5"}


def test_comments_of_a_bundled_table_are_no_rows():
    rows = bundled_rows("dfcmodel.levels", "measured.csv")
    assert {row["discipline"] for row in rows} == {"FIFO", "DFC", "PFC"}
