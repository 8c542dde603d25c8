"""Tables of measurements that the package brings."""

from __future__ import annotations

import pytest

from dfcmodel.levels.measured_tables import measured_rows


@pytest.mark.parametrize("name", ["accuracies.csv", "measured.csv"])
def test_rows_are_complete_and_have_no_comments(name: str) -> None:
    rows = measured_rows(name)
    assert len(rows) >= 2
    for row in rows:
        assert all(row.values())
        assert not any(value.startswith("#") for value in row.values())
        assert row.keys() == rows[0].keys()
