"""Headrooms of all ports and cables as a table."""

from __future__ import annotations

import pytest

from dfcmodel import headroom, headroom_table


def test_table_has_a_row_per_rate_and_a_column_per_cable() -> None:
    cables = ["5m", ("100m", "300m")]
    table = headroom_table((each for each in ["100Gbps", "400Gbps"]), cables, cell=192)
    assert list(table.index) == ["100Gbps", "400Gbps"]
    assert table.loc["400Gbps", "5m"] == headroom("400Gbps", "5m", cell=192).bytes
    pair = headroom("400Gbps", ("100m", "300m"), cell=192).bytes
    assert table.loc["400Gbps", "100m..300m"] == pair


@pytest.mark.parametrize(
    ("rates", "cables", "kind", "message"),
    [
        ([], ["5m"], ValueError, "rates = .*at least one"),
        (["100Gbps"], iter([]), ValueError, "cables = .*at least one"),
        ("100Gbps", ["5m"], TypeError, "rates = '100Gbps': must be a list"),
        (["100Gbps"], ["5"], ValueError, "cable = '5'.*one of m, km, ft"),
    ],
)
def test_a_wrong_table_is_refused(rates, cables, kind, message) -> None:
    with pytest.raises(kind, match=message):
        headroom_table(rates, cables)
