"""The four formats of tables, and what is wrong with a file."""

from __future__ import annotations

import io
import json

import pytest

from dfcmodel.lossless import BufferRow, read_table

LOOKUP = """# PG lossless profiles.
# speed cable size xon xoff threshold xon_offset
 400000 300m 19456 9216 225280 0 2496
 100000 5m   19456 9216 44032 0

"""
OTHER_ORDER = "# speed cable xoff xon\n100000 40m 51200 19456\n"


def test_a_lookup_file_has_its_columns_from_the_heading(tmp_path) -> None:
    path = tmp_path / "pg_profile_lookup.ini"
    path.write_text(LOOKUP)
    table = read_table(path)
    assert table.rows[0] == BufferRow(400e9, 300.0, 225280, 9216, 19456, "line 3")
    assert table.at(100e9, 5.0).xoff == 44032
    path.write_text(OTHER_ORDER)
    assert (read_table(path).rows[0].xoff, read_table(path).rows[0].xon) == (51200, 19456)
    path.write_text("100000 40m 1248 2288 51200\n")  # no heading
    assert read_table(path).rows[0].xoff == 51200


def test_profiles_take_rate_and_cable_from_name_ports_or_caller(tmp_path) -> None:
    path = tmp_path / "config_db.json"
    profiles = {
        "pg_lossless_100000_40m_profile": {"xoff": "51200", "xon": "19456", "size": "19456"},
        "used_by_ports": {"xoff": "80000"},
        "alone": {"xoff": "70000"},
        "egress_lossy": {"size": "0"},
    }
    data = {
        "BUFFER_PROFILE": profiles,
        "BUFFER_PG": {
            "Ethernet0|3-4": {"profile": "used_by_ports"},
            "Ethernet4|3-4": {"profile": "[BUFFER_PROFILE|used_by_ports]"},
        },
        "PORT": {"Ethernet0": {"speed": "400000"}, "Ethernet4": {"speed": "100000"}},
        "CABLE_LENGTH": {"AZURE": {"Ethernet0": "300m", "Ethernet4": "5m"}},
    }
    path.write_text(json.dumps(data))
    table = read_table(path)
    assert {(row.rate, row.cable, row.xoff) for row in table} == {
        (100e9, 40.0, 51200), (400e9, 300.0, 80000), (100e9, 5.0, 80000)
    }  # fmt: skip
    assert [name for name, _ in table.skipped] == ["alone", "egress_lossy"]
    given = read_table(path, rate="200Gbps", cable="2km")
    assert given.at(200e9, 2000.0).xoff == 70000


def test_a_template_gives_constants_and_names_what_is_computed(tmp_path) -> None:
    path = tmp_path / "buffers.json.j2"
    path.write_text("""{# "old": {"xoff": "1"} #}
{%- set headroom = '51200' %}
"BUFFER_POOL": { "ingress_lossless_pool": { "size": "12766208", "type": "ingress", "xoff": "999" } },
"BUFFER_PROFILE": {
    "pg_lossless_100000_40m_profile": { "pool": "ingress_lossless_pool", "xon": "18432", "xoff": "{{ headroom }}" },
    "pg_lossless_400000_40m_profile": { "xoff": "{{ size * 2 }}" },
    "pg_lossless_25000_5m_profile": { "xoff": "22528", "size": "40960" }
}""")
    table = read_table(path)
    assert [(row.rate, row.xoff) for row in table] == [(100e9, 51200), (25e9, 22528)]
    assert table.skipped == (
        ("pg_lossless_400000_40m_profile", "its xoff is computed: {{ size * 2 }}"),
    )


def test_csv_with_and_without_optional_columns(tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("speed,cable,xoff,xon\n100000,40m,51200,\n400000,2km,555008,19456\n")
    assert [(row.cable, row.xon) for row in read_table(path)] == [(40.0, None), (2000.0, 19456)]


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (".ini", LOOKUP),
        (".ini", "100000 40m 1248 2288 51200"),
        (".csv", "speed,cable,xoff\n100000,40m,51200\n"),
        (".json", '\n{"BUFFER_PROFILE": {"pg_lossless_100000_40m_profile": {"xoff": "51200"}}}'),
        (".j2", '{%- set a = 1 %}"pg_lossless_25000_5m_profile": { "xoff": "22528" }'),
    ],
)
def test_an_open_file_without_a_name_is_read_by_its_content(
    tmp_path, ending: str, text: str
) -> None:
    path = tmp_path / f"table{ending}"
    path.write_text(text)
    assert read_table(io.StringIO(text)).rows == read_table(path).rows
    with path.open() as file:
        assert read_table(file).source == path.name
