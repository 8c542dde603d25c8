"""The view of an audit against its code, and the texts of tables that it reads or refuses."""

from __future__ import annotations

import pytest

from tests.validation.explore.test_views import drawn
from validation.explore.table_audit import MAX_ROWS, VIEW

PROFILES = '{"BUFFER_PROFILE": {"pg_lossless_100000_300m_profile": {"xoff": "98304"}}}'
CSV = "speed,cable,xoff\n400000,300m,225280\n100000,40m,51200\n"


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"cell": "144 B", "lossless": "4096 B"},
        {"chip": "tomahawk5"},
        {"table": CSV, "response": "400ns, measured"},
        {"table": PROFILES, "cell": "208 B"},
        {"table": "# speed cable xoff\n123000 5m 30000"},
    ],
    ids=repr,
)
def test_the_code_gives_the_rows(choices: dict[str, str]) -> None:
    found, names = drawn(VIEW, **choices)
    audit = names["audit"]
    assert found.table is not None
    assert [row[4:] for row in found.table.rows] == [row.columns[4:] for row in audit.rows]
    assert [row[2] for row in found.table.rows] == [f"{row.row.xoff:,}" for row in audit.rows]
    assert found.finding.startswith(f"{len(audit.rows)} rows: ")
    judged = [row for row in audit.rows if row.needs.any_sizes is not None]
    lines = found.charts[0].lines if judged else ()
    assert sorted(1e3 * y for line in lines[:1] for y in line.y) == pytest.approx(
        sorted(float(row.row.xoff) for row in judged)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"table: must have at least one row with an xoff"),
        ("400000 300m much 1 1", r"table: line 1: size = 'much'|table: line 1: "),
        ("speed,cable\n1,2m", r"table: columns \['xoff'\] are missing"),
        ("{", r"table: is no JSON"),
        ("1000 5m 1 1 30000\n" * (MAX_ROWS + 1), f"Table = {MAX_ROWS + 1} rows: must be at most"),
    ],
)
def test_a_text_that_is_no_table_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        VIEW.values(table=text)
