"""The four formats of tables, and what is wrong with a file."""

from __future__ import annotations

import contextlib
import io
import json
import re

import pytest

from dfcmodel.lossless import BufferRow, audit_headroom, read_table
from dfcmodel.lossless.results import RowVerdict

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


def test_rows_of_which_a_switch_reads_another_xoff_are_named(tmp_path) -> None:
    """SONiC skips comments and reads columns by position (sonic-swss, cfgmgr/buffermgr.cpp)."""
    path = tmp_path / "pg_profile_lookup.ini"
    path.write_text("# speed cable size xoff xon\n100000 40m 1248 51200 2288\n100000 5m 1248 44032 44032\n")
    other, same = read_table(path).rows
    assert other.xoff == 51200
    assert any("by position" in remark and "xoff 2288" in remark for remark in other.remarks)
    assert same.remarks == ()
    assert "xoff 2288" in audit_headroom(path, cell=208).text()
    path.write_text("# Speed Cable Size Xoff XON\n100000 40m 1248 51200 2288\n")
    assert read_table(path).rows[0] == other
    for text in (LOOKUP, OTHER_ORDER):
        path.write_text(text)
        assert not any(row.remarks for row in read_table(path).rows)


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
    assert [(row.rate, row.xoff, row.pool_size) for row in table] == [(100e9, 51200, 999), (25e9, 22528, None)]
    assert table.skipped == (("pg_lossless_400000_40m_profile", "its xoff is computed: {{ size * 2 }}"),)


def pooled(
    xoff: str | None, ports: int, *, xon: str = "19456", size: str = "19456", down: tuple[str, ...] = ()
) -> list[tuple[RowVerdict, str]]:
    """Return the verdicts on ports of 100 Gb/s and 300 m, which need 81,088 B each, with a pool of headroom."""
    names = [f"Ethernet{4 * n}" for n in range(ports)]
    pool = {"mode": "dynamic", "type": "ingress", "size": "7719936"}
    profile = {"pool": "[BUFFER_POOL|lossless]", "xon": xon, "xoff": "165888", "size": size}
    data = {
        "PORT": {key: {"speed": "100000", "admin_status": "down" if key in down else "up"} for key in names},
        "CABLE_LENGTH": {"AZURE": dict.fromkeys(names, "300m")},
        "PORT_QOS_MAP": {key: {"pfc_enable": "3"} for key in names},
        "BUFFER_POOL": {"lossless": pool if xoff is None else {**pool, "xoff": xoff}},
        "BUFFER_PROFILE": {"used": profile},
        "BUFFER_PG": {f"{name}|3": {"profile": "used"} for name in names},
    }
    audit = audit_headroom(read_table(io.StringIO(json.dumps(data))))
    return [(each.verdict, each.reason) for each in audit.rows]


def test_classes_that_share_a_pool_have_no_more_than_it() -> None:
    """A pool of 20,480 B holds less than the 37,500 B on one cable, whatever xoff the profile names."""
    for without in (None, "0", "81088", "165888"):
        assert pooled(without, 1)[0][0] is RowVerdict.FULL_SIZE
    assert pooled("81087", 1)[0][0] is RowVerdict.FASTER_PEER
    verdict, reason = pooled("20480", 1)[0]
    assert verdict is RowVerdict.IMPOSSIBLE
    assert reason.startswith("lossless has 20,480 B in all: 0.55 of the 37,500 B on the cable")


def test_headroom_that_neither_size_nor_pool_holds_is_named() -> None:
    """A size of xon beside a pool without xoff: shared headroom is off, and classes need a size of xon + xoff."""
    profile = {"pool": "lossless", "xon": "19456", "xoff": "165888"}
    remark = "lossless has no xoff, and size does not reserve xoff: the file does not say where this headroom is"
    for size, pools, named in (
        ("19456", {"lossless": {"type": "ingress"}}, True),
        ("19456", {"lossless": {"type": "ingress", "xoff": "0"}}, True),
        ("185343", {"lossless": {"type": "ingress"}}, True),
        ("185344", {"lossless": {"type": "ingress"}}, False),
        ("19456", {"lossless": {"type": "ingress", "xoff": "165888"}}, False),
        ("19456", {}, False),  # a file without pools says nothing of them
    ):
        table = read_table(configuration(BUFFER_PROFILE={NAMED: profile | {"size": size}}, BUFFER_POOL=pools))
        assert {row.remarks for row in table} == {(remark,) if named else ()}


def divided(ratio: str | None, **changes: dict) -> list[tuple[RowVerdict, str, int | None]]:
    """Return the verdicts on four ports as those of `pooled`, where the switch divides the sum of xoff by a ratio."""
    names = [f"Ethernet{4 * n}" for n in range(4)]
    data = {
        "DEVICE_METADATA": {"localhost": {"buffer_model": "dynamic"}},
        "PORT": {key: {"speed": "100000"} for key in names},
        "CABLE_LENGTH": {"AZURE": dict.fromkeys(names, "300m")},
        "BUFFER_POOL": {"lossless": {"mode": "dynamic", "type": "ingress"}},
        "BUFFER_PROFILE": {"used": {"pool": "lossless", "xon": "19456", "xoff": "165888", "size": "19456"}},
        "BUFFER_PG": {f"{name}|3": {"profile": "used"} for name in names},
        "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {
            "AZURE": {"default_dynamic_th": "0"} | ({"over_subscribe_ratio": ratio} if ratio else {})
        },
    }
    for table, objects in changes.items():
        data[table] = data[table] | objects
    audit = audit_headroom(read_table(io.StringIO(json.dumps(data))))
    return [(each.verdict, "; ".join((each.reason, *each.remarks)), each.row.pool_size) for each in audit.rows]


def test_the_switch_divides_the_headroom_of_a_pool_by_its_ratio() -> None:
    """Four classes that need 81,088 B each have 663,552 B of xoff: a half of that is enough, a third is not."""
    for without in (None, "0"):
        assert {(verdict, size) for verdict, _, size in divided(without)} == {(RowVerdict.FULL_SIZE, None)}
    assert {(verdict, size) for verdict, _, size in divided("2")} == {(RowVerdict.FULL_SIZE, 331776)}
    verdict, reason, size = divided("3")[0]
    assert (verdict, size) == (RowVerdict.SHARED_POOL, 221184)
    assert "lossless has the sum of its classes divided by over_subscribe_ratio = 3" in reason
    sized = {"lossless": {"mode": "dynamic", "type": "ingress", "xoff": "400000"}}
    assert {size for *_, size in divided("3", BUFFER_POOL=sized)} == {400000}  # the xoff of the pool counts
    static = {"localhost": {"buffer_model": "traditional"}}
    assert {size for *_, size in divided("3", DEVICE_METADATA=static)} == {None}  # this model does not read the ratio
    own = {"used": {"pool": "lossless", "xon": "19456", "xoff": "165888", "size": "185344"}}
    assert {size for *_, size in divided("3", BUFFER_PROFILE=own)} == {None}  # each class has its own
    half = {"used": {"pool": "lossless", "xon": "19456", "xoff": "165888", "size": "102400"}}
    assert {size for *_, size in divided("4", BUFFER_PROFILE=half)} == {185344 - 102400}
    down = {"Ethernet12": {"speed": "100000", "admin_status": "down"}}
    assert {size for *_, size in divided("3", PORT=down)} == {165888}
    nameless = {"used": {"xon": "19456", "xoff": "165888", "size": "19456"}}
    assert divided("3", BUFFER_PROFILE=nameless)[0][1].startswith("the pool has 221,184 B for 4 rows")


def test_a_pool_that_the_switch_computes_is_named() -> None:
    """Of the fourth class the file has no xoff, so that the sum is not known."""
    computed = {"Ethernet12|3": {"profile": "NULL"}}
    rows = divided("3", BUFFER_PG=computed)
    assert [(verdict, size) for verdict, _, size in rows] == [(RowVerdict.FULL_SIZE, None)] * 3
    assert all(
        "over_subscribe_ratio = 3: shares headroom whose size the switch computes" in reason for _, reason, _ in rows
    )


def test_the_ratio_is_a_whole_number_and_chips_are_audited_one_by_one() -> None:
    with pytest.raises(
        ValueError,
        match=r"DEFAULT_LOSSLESS_BUFFER_PARAMETER, AZURE: over_subscribe_ratio = '2\.5': must be a whole number",
    ):
        divided("2.5")
    two = {"DEFAULT_LOSSLESS_BUFFER_PARAMETER": {"OTHER": {"over_subscribe_ratio": "3"}}}
    with pytest.raises(ValueError, match="OTHER: over_subscribe_ratio = 3: another object has 2"):
        divided("2", **two)
    chips = {"asic0": {"BUFFER_PROFILE": {}}, "asic1": {"BUFFER_PROFILE": {}}}
    for beside in ({"localhost": {}}, {"BUFFER_PROFILE": {"used": {"xoff": "165888"}}}):
        with pytest.raises(ValueError, match=r"the file is of several chips \(asic0, asic1\): give the tables of one"):
            read_table(io.StringIO(json.dumps(beside | chips)))


def test_classes_of_a_pool_are_covered_together_if_it_has_the_sum_of_their_needs() -> None:
    assert [verdict for verdict, _ in pooled(str(3 * 81088), 3)] == [RowVerdict.FULL_SIZE] * 3
    rows = pooled(str(3 * 81088 - 1), 3)
    assert [verdict for verdict, _ in rows] == [RowVerdict.SHARED_POOL] * 3
    assert rows[0][1].startswith("lossless has 243,263 B for 3 rows that need 243,264 B at the same time")


def test_a_class_takes_from_its_pool_what_its_size_does_not_reserve() -> None:
    """With a size of xon + xoff it takes nothing, with 60,000 B above xon 21,088 of the 81,088 B that it needs."""
    assert [verdict for verdict, _ in pooled("1000", 3, size=str(19456 + 165888))] == [RowVerdict.FULL_SIZE] * 3
    assert [verdict for verdict, _ in pooled("1000", 3, xon="0", size="165888")] == [RowVerdict.FULL_SIZE] * 3
    part = str(19456 + 60000)
    assert [verdict for verdict, _ in pooled(str(3 * 21088), 3, size=part)] == [RowVerdict.FULL_SIZE] * 3
    rows = pooled(str(3 * 21088 - 1), 3, size=part)
    assert [verdict for verdict, _ in rows] == [RowVerdict.SHARED_POOL] * 3
    assert rows[0][1].startswith("lossless has 63,263 B for 3 rows that need 63,264 B at the same time")
    verdict, reason = pooled("21087", 1, size=part)[0]
    assert verdict is RowVerdict.FASTER_PEER
    assert reason.startswith("lossless has 21,087 B in all, its size reserves 60,000 B: ")
    minimum = pooled(str(3 * 81088 - 1), 3, xon="0", size="60000")  # of Broadcom's chips: full before headroom is used
    assert [verdict for verdict, _ in minimum] == [RowVerdict.SHARED_POOL] * 3


def test_ports_that_are_down_take_nothing_from_a_pool() -> None:
    rows = pooled(str(2 * 81088), 3, down=("Ethernet4",))
    assert [verdict for verdict, _ in rows] == [RowVerdict.FULL_SIZE] * 3
    assert [verdict for verdict, _ in pooled(str(2 * 81088 - 1), 3, down=("Ethernet4",))] == [
        RowVerdict.SHARED_POOL, RowVerdict.FULL_SIZE, RowVerdict.SHARED_POOL
    ]  # fmt: skip


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
def test_an_open_file_without_a_name_is_read_by_its_content(tmp_path, ending: str, text: str) -> None:
    path = tmp_path / f"table{ending}"
    path.write_text(text)
    assert read_table(io.StringIO(text)).rows == read_table(path).rows
    with path.open() as file:
        assert read_table(file).source == path.name


LISTING = """admin@switch:~$ mmuconfig -l
Pool{chip}: ingress_lossless_pool
----  ----------
mode  dynamic
size  6441610000
type  both
xoff  311296
----  ----------

Profile{chip}: egress_lossless_profile
---------  ---------------------
pool       ingress_lossless_pool
static_th  33030144
---------  ---------------------

Profile{chip}: pg_lossless_400000_300m_profile
----------  ---------------------
dynamic_th  0
pool        ingress_lossless_pool
size        1280
xoff        315392
xon         2560
xon_offset  1280
----------  ---------------------

Total profiles: 2
"""


@pytest.mark.parametrize("chip", ["", " for namespace asic0"])
@pytest.mark.parametrize("name", ["mmu.txt", "mmuconfig", "mmu.out"])
def test_listings_of_a_switch_are_tables(tmp_path, chip: str, name: str) -> None:
    """As in sonic-buildimage, issue 15148; sonic-utilities, scripts/mmuconfig prints them."""
    path = tmp_path / name
    path.write_text(LISTING.format(chip=chip))
    table = read_table(path)
    (row,) = table.rows
    assert (row.place, row.rate, row.cable) == ("pg_lossless_400000_300m_profile", 400e9, 300.0)
    assert (row.xoff, row.xon, row.size, row.pool, row.pool_size) == (
        315392,
        2560,
        1280,
        "ingress_lossless_pool",
        311296,
    )
    assert [name for name, _ in table.skipped] == ["egress_lossless_profile"]
    assert "ingress_lossless_pool has 311,296 B in all" in audit_headroom(table).rows[0].reason


def test_a_listing_may_be_pasted_from_a_page() -> None:
    lines = LISTING.format(chip="").splitlines()
    pasted = "\n".join(("```", *(f"    {line}" for line in lines), "    ```"))
    assert read_table(io.StringIO(pasted)).rows == read_table(io.StringIO("\n".join(lines))).rows


def test_the_ratio_of_a_listing_is_that_of_its_pools() -> None:
    pattern = "Lossless traffic pattern:\n--------------------  -\nover_subscribe_ratio  2\n--------------------  -\n\n"
    text = pattern + LISTING.format(chip="").replace("xoff  311296\n", "").partition("\n")[2]
    assert "over_subscribe_ratio = 2" in read_table(io.StringIO(text)).rows[0].remarks[0]


@pytest.mark.parametrize("name", ["config_db.json.bak", "pg_profile_lookup.ini.orig", "lookup", "buffers.template"])
def test_files_with_other_endings_are_read_by_their_content(tmp_path, name: str) -> None:
    texts = {
        "c": '{"BUFFER_PROFILE": {"pg_lossless_100000_40m_profile": {"xoff": "51200"}}}',
        "b": '{%- set a = 1 %}"pg_lossless_100000_40m_profile": {"xoff": "51200"}',
    }
    path = tmp_path / name
    path.write_text(texts.get(name[0], LOOKUP))
    assert read_table(path).rates[0] == 100e9


# A configuration: a row for each lossless class of each port.

NAMED = "pg_lossless_100000_5m_profile"


def configuration(**tables) -> io.StringIO:
    """Return the file of a switch with one port of 100 Gb/s, 2 km and PFC in classes 3 and 4."""
    data = {
        "PORT": {"Ethernet8": {"speed": "100000", "lanes": "1,2,3,4"}},
        "CABLE_LENGTH": {"AZURE": {"Ethernet8": "2000m"}},
        "PORT_QOS_MAP": {"Ethernet8": {"pfc_enable": "3,4", "tc_to_pg_map": "AZURE"}},
        "BUFFER_PROFILE": {
            NAMED: {"xoff": "165568", "xon": "2288", "size": "1248", "dynamic_th": "0"},
            "ingress_lossy_profile": {"size": "0", "pool": "ingress_lossy_pool"},
            "zero": {"xoff": "0"},
        },
        "BUFFER_PG": {"Ethernet8|3-4": {"profile": NAMED}},
        "BGP_NEIGHBOR": {"10.0.0.1": {"asn": "1"}},
    }
    return io.StringIO(json.dumps(data | tables))


def test_a_row_has_the_rate_and_cable_of_its_port_and_names_its_profile() -> None:
    table = read_table(configuration())
    assert [(row.port, row.priority, row.profile, row.rate, row.cable, row.xoff) for row in table] == [
        ("Ethernet8", n, NAMED, 100e9, 2000.0, 165_568) for n in (3, 4)
    ]  # fmt: skip
    lone = {NAMED: {"xoff": "165568"}, "pg_lossless_400000_40m_profile": {"xoff": "100000"}}
    unused = read_table(configuration(BUFFER_PROFILE=lone)).rows[-1]
    assert (unused.place, unused.port, unused.rate, unused.cable) == ("pg_lossless_400000_40m_profile", "", 400e9, 40.0)  # fmt: skip


@pytest.mark.parametrize(
    ("groups", "why"),
    [
        ({}, "BUFFER_PG has no Ethernet8|4"),
        ({"Ethernet8|3": {"profile": NAMED}}, "BUFFER_PG has no Ethernet8|4"),
        ({"Ethernet8|3-4": {"profile": "NULL"}}, "its profile is NULL"),
        ({"Ethernet8|3-4": {"profile": "gone"}}, "its profile 'gone' is not in BUFFER_PROFILE"),
        ({"Ethernet8|3-4": {"profile": "[BUFFER_PROFILE|ingress_lossy_profile]"}}, "its profile ingress_lossy_profile has no xoff"),
        ({"Ethernet8|3-4": {"profile": "zero"}}, "its profile zero has xoff 0"),
    ],
)  # fmt: skip
def test_a_class_with_pfc_and_without_headroom_is_a_row(groups: dict, why: str) -> None:
    row = next(row for row in read_table(configuration(BUFFER_PG=groups)) if row.priority == 4)
    assert (row.no_headroom, row.xoff, row.cable) == (why, 0, 2000.0)


def test_groups_are_computed_by_the_switch_where_a_profile_is_dynamic_and_no_model_is_named() -> None:
    profiles = {"computed": {"dynamic_th": "0", "headroom_type": "dynamic"}}
    groups = {"Ethernet8|3-4": {"profile": "NULL"}}
    with pytest.raises(
        ValueError, match=r"Ethernet8\|3: the buffer model is dynamic: the switch computes its headroom"
    ):
        read_table(configuration(BUFFER_PG=groups, BUFFER_PROFILE=profiles, DEVICE_METADATA={}))
    named = configuration(
        BUFFER_PG=groups, BUFFER_PROFILE=profiles, DEVICE_METADATA={"localhost": {"buffer_model": "traditional"}}
    )
    assert {row.no_headroom for row in read_table(named).rows} == {"its profile is NULL"}


def test_a_list_for_swssconfig_is_named_in_a_file_too(tmp_path) -> None:
    text = '[{"BUFFER_PROFILE_TABLE:a": {"xoff": "1"}, "OP": "SET"}]'
    (tmp_path / "buffers.json").write_text(text)
    for source in (io.StringIO(text), tmp_path / "buffers.json"):
        with pytest.raises(ValueError, match="is a JSON list, as for swssconfig: must be an object"):
            read_table(source)


@pytest.mark.parametrize(
    ("fields", "rate", "remark"),
    [
        ({"autoneg": "on", "adv_speeds": "25000,50000,100000"}, 100e9, "autoneg is on: 100G is the highest of adv_speeds"),
        ({"autoneg": "1", "adv_speeds": [10000, "25000"]}, 25e9, ""),
        ({"autoneg": "on", "adv_speeds": "10000"}, 10e9, "autoneg is on: 10G is the highest of adv_speeds"),
        ({"autoneg": "on", "adv_speeds": "all"}, 25e9, "autoneg is on for all speeds: the link may have another speed than PORT"),
        ({"autoneg": "on"}, 25e9, "autoneg is on for all speeds: the link may have another speed than PORT"),
        ({"autoneg": "off", "adv_speeds": "100000"}, 25e9, ""),
        ({"adv_speeds": "100000"}, 25e9, ""),
    ],
)  # fmt: skip
def test_a_port_that_negotiates_has_the_highest_speed_that_it_advertises(
    fields: dict, rate: float, remark: str
) -> None:
    """As the effective speed of BufferMgrDynamic, sonic-swss, cfgmgr/buffermgrdyn.cpp."""
    row = read_table(configuration(PORT={"Ethernet8": {"speed": "25000"} | fields})).rows[0]
    assert (row.rate, "; ".join(row.remarks)) == (rate, remark)


def test_a_port_without_a_state_beside_others_is_down_in_sonic() -> None:
    ports = {"Ethernet8": {"speed": "100000"}, "Ethernet12": {"speed": "100000", "admin_status": "up"}}
    cables = {"AZURE": dict.fromkeys(ports, "5m")}
    rows = read_table(configuration(PORT=ports, CABLE_LENGTH=cables, BUFFER_PG={"Ethernet12|3": {"profile": NAMED}}))
    assert {row.no_headroom for row in rows} == {
        "", "BUFFER_PG has no Ethernet8|3; PORT has no admin_status, which SONiC takes as down",
        "BUFFER_PG has no Ethernet8|4; PORT has no admin_status, which SONiC takes as down",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"PORT": {"Ethernet8": {"speed": "100000", "admin_status": "DOWN"}}}, "PORT, Ethernet8: admin_status = 'DOWN': must be one of 'up', 'down'"),
        ({"PORT": {"Ethernet8": {"speed": "100000", "autoneg": "true"}}}, "PORT, Ethernet8: autoneg = 'true': must be one of 'on'"),
        ({"PORT": {"Ethernet8": {"autoneg": "on", "adv_speeds": "100G"}}}, "PORT, Ethernet8: adv_speeds = '100G': must be a whole number"),
        ({"DEVICE_METADATA": {"localhost": {"buffer_model": "Dynamic"}}}, "DEVICE_METADATA, localhost: buffer_model = 'Dynamic': must be one of 'traditional'"),
        ({"BUFFER_PROFILE": {NAMED: {"headroom_type": "Dynamic"}}}, f"BUFFER_PROFILE, {NAMED}: headroom_type = 'Dynamic': must be one of 'static'"),
        ({"PORT_QOS_MAP": {"global": {"pfc_enable": "3,4"}}}, "PORT_QOS_MAP, global: pfc_enable = '3,4': is of a port"),
    ],
)  # fmt: skip
def test_values_that_sonic_does_not_have_are_refused(tables: dict, message: str) -> None:
    """They were taken as missing: a port of state "DOWN" was up, a model "Dynamic" was the traditional one."""
    with pytest.raises(ValueError, match=re.escape(message)):
        read_table(configuration(**tables))


def test_a_class_without_pfc_or_of_a_port_that_is_down_or_computed_by_the_switch_is_none() -> None:
    lossy = {"Ethernet8|0": {"profile": "ingress_lossy_profile"}, "Ethernet8|3-4": {"profile": NAMED}}  # fmt: skip
    assert {row.priority for row in read_table(configuration(BUFFER_PG=lossy))} == {3, 4}
    down = configuration(BUFFER_PG={}, PORT={"Ethernet8": {"speed": "100000", "admin_status": "down"}})  # fmt: skip
    skipped = dict(read_table(down).skipped)
    assert skipped["Ethernet8|3"] == "BUFFER_PG has no Ethernet8|3; admin_status is down"
    ports = {"Ethernet8": {"speed": "100000"}, "Ethernet12": {"speed": "100000"}}
    cables = {"Ethernet8": "5m", "Ethernet12": "0m"}  # sonic-swss, pull request 1830
    groups = {"Ethernet8,Ethernet12|3-4": {"profile": NAMED}}
    unused = read_table(configuration(PORT=ports, CABLE_LENGTH={"AZURE": cables}, BUFFER_PG=groups))
    assert {row.port for row in unused} == {"Ethernet8"}
    assert dict(unused.skipped)["Ethernet12|3"].startswith("its CABLE_LENGTH is 0m")
    null = {"Ethernet8|3-4": {"profile": "NULL"}}
    dynamic = configuration(BUFFER_PG=null, DEVICE_METADATA={"localhost": {"buffer_model": "dynamic"}})  # fmt: skip
    assert "the switch computes its headroom" in dict(read_table(dynamic).skipped)["Ethernet8|4"]
    off = read_table(configuration(PORT_QOS_MAP={"Ethernet8": {"pfc_enable": "3"}}))
    assert [row.remarks for row in off] == [(), ("PFC is not enabled for this class",)]


def test_profiles_and_rows_for_0m_are_of_ports_that_are_not_used() -> None:
    """Of sonic-swss, pull request 3548: the log of a profile for 0m. It was judged as that of a cable without length."""
    name, numbers = "pg_lossless_200000_0m_profile", {"xoff": "71680", "xon": "19456", "size": "19456"}
    log = {f"BUFFER_PROFILE_TABLE:{name}": numbers, "BUFFER_PG_TABLE:Ethernet0:3-4": {"profile": name}}
    used = {f"BUFFER_PROFILE_TABLE:{NAMED}": numbers, "BUFFER_PG_TABLE:Ethernet8:3": {"profile": NAMED}}
    table = read_table(io.StringIO(json.dumps(log | used)))
    assert [row.place for row in table] == ["Ethernet8|3"]
    reason = "it is for a length of 0m, by which SONiC marks a port that is not used"
    assert table.skipped == (("Ethernet0|3", reason), ("Ethernet0|4", reason))
    assert dict(read_table(configuration(BUFFER_PROFILE={NAMED: numbers, name: numbers})).skipped)[name] == reason
    template = f'"{name}": {{"xoff": "9"}}, "{NAMED}": {{"xoff": "71680"}}'
    assert read_table(io.StringIO(template), kind="template").skipped == ((name, reason),)
    lookup = read_table(io.StringIO("200000 0m 0 0 71680\n200000 5m 0 0 71680\n"), kind="lookup")
    assert [row.cable for row in lookup] == [5.0]
    assert lookup.skipped == (("line 1", reason),)
    with pytest.raises(ValueError, match=r"at least one row with an xoff \(line 1: it is for a length of 0m"):
        read_table(io.StringIO("200000 0m 0 0 71680\n"), kind="lookup")


def test_priorities_are_mapped_to_groups_by_the_map_of_the_port() -> None:
    maps = {
        "PORT_QOS_MAP": {"Ethernet8": {"pfc_enable": "1-2", "pfc_to_pg_map": "AZURE"}},
        "MAP_PFC_PRIORITY_TO_PRIORITY_GROUP": {"AZURE": {"1": "3", "2": "5"}},
    }
    rows = read_table(configuration(**maps)).rows
    assert [(row.priority, row.no_headroom) for row in rows] == [
        (3, ""), (4, ""), (5, "BUFFER_PG has no Ethernet8|5")
    ]  # fmt: skip
    assert rows[1].remarks == ("PFC is not enabled for this class",)


def test_dumps_by_redis_are_read_as_the_configuration() -> None:
    """`redis-dump`, as in ``show techsupport``, has type, time to live and value of each key."""
    data = json.loads(configuration().read())
    wrapped = {
        f"{table}|{name}": {"expireat": 1.5e9, "ttl": -0.001, "type": "hash", "value": fields}
        for table, objects in data.items()
        for name, fields in objects.items()
    }
    assert read_table(io.StringIO(json.dumps(wrapped))).rows == read_table(configuration()).rows


def test_priorities_without_a_group_in_the_map_of_the_port_are_named() -> None:
    port = {"Ethernet8": {"pfc_enable": "3,4", "pfc_to_pg_map": "[PFC_PRIORITY_TO_PRIORITY_GROUP_MAP|AZURE]"}}
    absent = read_table(configuration(PORT_QOS_MAP=port)).rows
    what = "pfc_to_pg_map AZURE has no objects of this name in the file: its group is taken to be"
    assert [row.remarks for row in absent] == [(f"{what} {n}",) for n in (3, 4)]
    part = {"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": {"AZURE": {"3": "3"}}}
    rows = read_table(configuration(PORT_QOS_MAP=port, **part)).rows
    assert [row.remarks for row in rows] == [(), ("pfc_to_pg_map AZURE has no priority 4: its group is taken to be 4",)]


def test_a_pool_that_is_not_in_the_file_and_the_traffic_of_the_switch_are_named() -> None:
    profile = {NAMED: {"xoff": "165568", "pool": "ingress_losless_pool"}}
    pools = {"ingress_lossless_pool": {"type": "ingress", "xoff": "100"}}
    traffic = {"AZURE": {"mtu": "1024", "small_packet_percentage": "100"}}
    table = read_table(configuration(BUFFER_PROFILE=profile, BUFFER_POOL=pools, LOSSLESS_TRAFFIC_PATTERN=traffic))
    assert [row.remarks for row in table] == [("its pool 'ingress_losless_pool' is not in BUFFER_POOL",)] * 2
    assert dict(table.skipped)["LOSSLESS_TRAFFIC_PATTERN, AZURE"].startswith(
        "mtu = 1024, small_packet_percentage = 100: not used"
    )


def test_a_template_has_pools_by_any_of_their_names() -> None:
    text = """{# swssconfig #}
"BUFFER_POOL_TABLE:lossless": { "size": "9", "type": "ingress", "xoff": "999" },
"BUFFER_PROFILE_TABLE:pg_lossless_100000_40m_profile": { "pool": "[BUFFER_POOL_TABLE:lossless]", "xoff": "51200" }"""
    assert [row.pool_size for row in read_table(io.StringIO(text))] == [999]
    other = '"lossless": { "type": "ingress", "xoff": "1000" }'
    with pytest.raises(ValueError, match="lossless: xoff = 1000: the pool is also given with 999"):
        read_table(io.StringIO(f"{text}, {other}"))


@pytest.mark.parametrize(
    ("name", "rate", "cable"),
    [
        ("pg_lossless_100000_300m_th-2_profile", 100e9, 300.0),
        ("pg_lossless_100G_40m_profile", 100e9, 40.0),
        ("pg_lossless_2.5G_0.5m_profile", 2.5e9, 0.5),
        ("pg_lossless_400000_2km_mtu1500_th7_gearbox-x.1_8lane_profile", 400e9, 2000.0),
        ("BUFFER_PROFILE_TABLE:pg_lossless_10000_5m_profile", 10e9, 5.0),
        ("[BUFFER_PROFILE|pg_lossless_10000_5m-b_profile]", 10e9, 5.0),
    ],
)
def test_names_of_profiles(name: str, rate: float, cable: float) -> None:
    (row,) = read_table(io.StringIO(json.dumps({"BUFFER_PROFILE": {name: {"xoff": 5}}})))
    assert (row.rate, row.cable, row.profile) == (rate, cable, name)


def test_rate_and_cable_fill_what_rows_lack() -> None:
    profiles = {NAMED: {"xoff": "1"}, "lone": {"xoff": "7"}, "same": {"xoff": "7"}}
    text = json.dumps({"BUFFER_PROFILE": profiles})
    rows = read_table(io.StringIO(text), rate="400Gbps", cable="30m").rows
    assert [(row.rate, row.cable) for row in rows] == [(100e9, 5.0), (400e9, 30.0), (400e9, 30.0)]
    port = read_table(configuration(CABLE_LENGTH={"AZURE": {"Ethernet0": "5m"}}), cable="30m")
    assert {row.cable for row in port} == {30.0}
    fragment = read_table(configuration(CABLE_LENGTH={}))
    assert {(row.cable, *row.remarks) for row in fragment} == {
        (5.0, "no table CABLE_LENGTH: 5m as in the profile's name")
    }
    (row,) = read_table(io.StringIO("speed,xoff\n100000,9\n"), cable="7m")
    assert row.cable == 7.0


def test_byte_order_marks_and_line_ends_of_other_systems(tmp_path) -> None:
    text = "speed,cable,xoff,profile\r\n100000,40m,51200,p\r\n"
    for encoding in ("utf-8-sig", "utf-16"):
        path = tmp_path / f"{encoding}.csv"
        path.write_bytes(text.encode(encoding))
        assert [(row.xoff, row.profile) for row in read_table(path)] == [(51200, "p")]
    assert len(read_table(io.StringIO("\ufeff" + text)).rows) == 1


def test_rows_that_are_given_twice_are_both_kept_and_named() -> None:
    lines = "100000,40m,5\n100000,40m,6\n"
    rows = read_table(io.StringIO("speed,cable,xoff\n" + lines)).rows
    assert [row.remarks for row in rows] == [
        (), ("given twice: line 2 has 5 B for the same speed and cable",)
    ]  # fmt: skip


# Templates: what is a constant.


@pytest.mark.parametrize(
    ("text", "xoff"),
    [
        ("{% set a = '9' %}@", 9),
        ("{%- set a = 9 -%}{% macro m() %}@{% endmacro %}", 9),
        ("{% macro m() %}{% set a = 9 %}@{% endmacro %}", 9),
        ("{% if big %}{% set a='1' %}{% else %}{% set a='9' %}{% endif %}@", None),
        ("{% if big %}{% set a = 9 %}{% endif %}@", None),
        ("{% for n in [1] %}{% set a = 9 %}{% endfor %}@", None),
        ("{% set a = 1 %}{% set a = 9 %}@", None),
        ("{% set a = 1 %}{% set a, b = 2, 3 %}@", None),
        ("{% set a %}9{% endset %}@", None),
        ("{% set a = 9 * 2 %}@", None),
        ("{% set a = 9 %}{% for a in b %}{% endfor %}@", None),
        ("{% set a = 9 %}{% macro m(a) %}@{% endmacro %}", None),
        ("{% macro m() %}{% set a = 9 %}{% endmacro %}@", None),
        ("@{% set a = 9 %}", None),
        ("{% set a = 9 %}{% if False %}@{% endif %}", None),
        ("{% set a = 9 %}{% for n in b %}@{% endfor %}", None),
    ],
)
def test_constants_of_a_template(text: str, xoff: int | None) -> None:
    profile = '"pg_lossless_100000_40m_profile": {"xoff": "{{ a }}"}'
    other = '"pg_lossless_25000_5m_profile": {"xoff": "22528"},'
    table = read_table(io.StringIO(other + text.replace("@", profile)), kind="template")
    values = {row.profile: row.xoff for row in table}
    assert values.get("pg_lossless_100000_40m_profile") == xoff
    assert (xoff is None) == ("pg_lossless_100000_40m_profile" in dict(table.skipped))


def test_statements_within_profiles_and_included_files_are_named() -> None:
    text = """{% include 'other.j2' %}
    "BUFFER_PROFILE_TABLE:pg_lossless_100G_5m_profile": {"xoff": "22528"},
    "pg_lossless_{{ speed }}_5m_profile": {"xoff": "1"},
    "pg_lossless_200G_5m_profile": {"xoff": "{% if x %}1{% else %}2{% endif %}"}"""
    table = read_table(io.StringIO(text), kind="template")
    assert [row.xoff for row in table] == [22528]
    assert [name for name, _ in table.skipped] == [
        "{% include 'other.j2' %}", "pg_lossless_{{ speed }}_5m_profile", "pg_lossless_200G_5m_profile"
    ]  # fmt: skip


# Expressions are no worse than linear, and numbers of any length end.

REPEATED = (
    *("{#", "{%", "{{", "}}", "%}", '"', '""', '"a":{', '"xoff":"', "{% if a %}", "{% set a =", "{{ a }}"),
    *("'", " ", "\\", "_", "-", "1", "1.", "a", "[", "|", ":", ",", "#", "\n", "\0", "pg_lossless_"),
)  # fmt: skip


@pytest.mark.parametrize("repeated", REPEATED)
def test_a_hundred_thousand_repeated_characters_are_read_or_refused(repeated: str) -> None:
    many = repeated * (100_000 // len(repeated))
    profile = {"xoff": "1"}
    texts = [
        ("template", many),
        ("template", "{% set a =" + many),
        ("template", '"pg_lossless_100G_5m_profile": {"xoff": "' + many + '"}'),
        ("config", json.dumps({"BUFFER_PROFILE": {f"pg_lossless_100G_5m_{many}_profile": profile}})),
        ("config", json.dumps({"BUFFER_PROFILE": {"a": profile}, "BUFFER_PG": {many: {"profile": "a"}}})),
        ("config", json.dumps({"BUFFER_PROFILE": {"a": profile}, "PORT_QOS_MAP": {"E": {"pfc_enable": many}}})),
        ("config", json.dumps({"BUFFER_PROFILE": {"a": profile}, "CABLE_LENGTH": {"A": {"E": many}}})),
        ("config", json.dumps({"BUFFER_PROFILE": {"a": {"xoff": many}}})),
        ("csv", many),
        ("csv", "speed,cable,xoff\n1," + many),
        ("lookup", many),
    ]  # fmt: skip
    for kind, text in texts:
        with contextlib.suppress(ValueError):
            read_table(io.StringIO(text), kind=kind)


# Profiles of the inputs of SONiC's own migration tests (sonic-utilities, commit 691b1bbc, tests/db_migrator_input), in the forms
# of a configuration, of a dump of it, and of a dump of the database of applications.

PUBLIC = {
    "non-default-xoff-input": {(10, 5): 34816, (25, 5): 38912, (40, 5): 41984, (50, 5): 45056, (50, 40): 50176, (100, 5): 56320},
    "acs-msn4700-t0-version_3_0_0": {
        (10, 5): 32768, (25, 5): 32768, (40, 5): 33792, (50, 5): 33792, (100, 5): 33792, (100, 40): 44032, (200, 5): 35840,
        (400, 5): 38912, (400, 40): 77824,
    },
    "mellanox-sn2700-c28d8-single-pool-t0-version_3_0_0": {
        (10, 5): 22528, (25, 5): 22528, (40, 5): 22528, (50, 5): 22528, (50, 40): 25600, (100, 5): 23552, (100, 40): 29696,
    },
    "acs-msn3800-t1-version_1_0_6": {
        (10, 40): 35840, (10, 300): 44032, (25, 40): 40960, (25, 300): 59392, (40, 40): 46080, (40, 300): 75776, (50, 5): 45056,
        (50, 40): 50176, (50, 300): 87040, (100, 5): 56320, (100, 40): 66560, (100, 300): 140288,
    },
    "acs-msn3700-t1-version_1_0_3": {
        (10, 40): 20480, (10, 300): 34816, (25, 40): 23552, (25, 300): 60416, (40, 40): 26624, (40, 300): 86016, (50, 40): 28672,
        (50, 300): 103424, (100, 40): 40960, (100, 300): 188416, (200, 40): 63488, (200, 300): 358400,
    },
}  # fmt: skip
QUANTA = {10: 67, 25: 80, 40: 118, 50: 147, 100: 394, 200: 453, 400: 905}
"""Pause quanta of 512 bits until a peer starts no frame (IEEE 802.3, 31B.3.7)."""


@pytest.mark.parametrize("form", ["tables", "CONFIG_DB", "APPL_DB"])
@pytest.mark.parametrize("name", PUBLIC)
def test_public_configurations_are_judged_by_cable_and_response(name: str, form: str) -> None:
    data: dict = {"BUFFER_PROFILE": {}, "BUFFER_PG": {}, "PORT": {}, "CABLE_LENGTH": {"AZURE": {}}}
    for n, ((speed, cable), xoff) in enumerate(PUBLIC[name].items()):
        profile = f"pg_lossless_{speed}000_{cable}m_profile"
        data["BUFFER_PROFILE"][profile] = {"xoff": str(xoff), "xon": "18432", "dynamic_th": "0"}
        reference = {"APPL_DB": "[BUFFER_PROFILE_TABLE:{}]", "CONFIG_DB": "[BUFFER_PROFILE|{}]"}
        data["BUFFER_PG"][f"E{n}|3-4"] = {"profile": reference.get(form, "{}").format(profile)}
        data["PORT"][f"E{n}"] = {"speed": f"{speed}000"}
        data["CABLE_LENGTH"]["AZURE"][f"E{n}"] = f"{cable}m"
    if form == "CONFIG_DB":
        data = {f"{table}|{key}": each for table in data for key, each in data[table].items()}
    elif form == "APPL_DB":  # which has no lengths
        del data["CABLE_LENGTH"]
        data = {f"{table}_TABLE:{key.replace('|', ':')}": each for table in data for key, each in data[table].items()}  # fmt: skip
    rows = audit_headroom(read_table(io.StringIO(json.dumps(data)))).rows
    assert len(rows) == 2 * len(PUBLIC[name])
    below = 0
    for each in rows:
        speed, cable = round(each.row.rate / 1e9), round(each.row.cable)
        assert each.row.xoff == PUBLIC[name][speed, cable]
        wire = 2 * cable * 5e-9 * speed * 1e9 / 8
        stored, standard = (time * 9216 / 9236 for time in (wire, wire + QUANTA[speed] * 512 / 8))  # full-size frames
        assert (each.verdict is RowVerdict.IMPOSSIBLE) == (each.row.xoff < stored)
        assert (each.verdict is RowVerdict.BELOW_STANDARD) == (stored <= each.row.xoff < standard)
        below += each.verdict is RowVerdict.BELOW_STANDARD
    assert below == {"acs-msn4700-t0-version_3_0_0": 1, "mellanox-sn2700-c28d8-single-pool-t0-version_3_0_0": 2}.get(name, 0) * 2  # fmt: skip


# Lookup files of switches (sonic-net/sonic-buildimage, device/*/*/*/pg_profile_lookup.ini, Apache-2.0): speed in Gb/s, cable in m
# and xoff of their rows, columns and heads as they stand there.

HEADS = {
    "seven": "# PG lossless profiles.\n# speed cable size    xon  xoff threshold xon_offset\n",
    "six": "##\n## Licensed under the Apache License, Version 2.0\n##\n# PG lossless profiles.\n# speed cable size    xon  xoff threshold\n",
}
DEVICES: dict[str, tuple[str, str, dict[tuple[int, int], int]]] = {
    "DellEMC-S5212f-P-25G": ("seven", "{0:>7}  {1}m {3:>5} 2288 {2:>6} -3 2288", {
        (10, 5): 35776, (25, 5): 53248, (100, 5): 165568, (10, 40): 37024, (100, 40): 177632, (25, 300): 79040, (100, 300): 268736,
    }),
    "Arista-7060X6-16PE-384C-B-O128S2": ("seven", "{0}  {1}m {3} 0 {2}  0  3556", {(400, 5): 393192, (400, 40): 445770}),
    "mavericks": ("six", "  {0}  {1}m   {3}  18432 {2}  0", {
        (10, 5): 16384, (50, 5): 16384, (100, 5): 18432, (25, 40): 21504, (40, 300): 75776, (50, 300): 75776, (100, 300): 165888,
    }),
    "Mellanox-SN2700-D48C8": ("six", "{0:>7} {1:>5}m {3}  19456 {2:>6}          0", {
        (10, 5): 22528, (100, 40): 29696, (100, 300): 78848, (10, 2000): 29696, (25, 2000): 58368, (40, 2000): 87040, (50, 2000): 105472, (100, 2000): 199680,
    }),
    "NH-5010-F-O64": ("seven", " {0}  {1}m   {3}    2560 {2} -5      1454025", {(400, 120000): 79900672}),
}  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
def test_lookup_files_of_switches(device: str) -> None:
    """Verdicts are those of closed forms: what is on the wire at 5 ns/m, and the standard's response time."""
    head, line, values = DEVICES[device]
    lines = [line.format(1000 * speed, cable, xoff, 1248) for (speed, cable), xoff in values.items()]
    table = read_table(io.StringIO(HEADS[head] + "\n".join(lines) + "\n"))
    assert {(row.rate, row.cable): row.xoff for row in table} == {
        (1e9 * speed, float(cable)): xoff for (speed, cable), xoff in values.items()
    }
    impossible = []
    for each in audit_headroom(table).rows:
        speed, cable = round(each.row.rate / 1e9), round(each.row.cable)
        wire = 2 * cable * 5e-9 * speed * 1e9 / 8
        assert (each.verdict is RowVerdict.IMPOSSIBLE) == (each.row.xoff < wire)
        standard = wire + QUANTA[speed] * 512 / 8
        assert (each.verdict is RowVerdict.BELOW_STANDARD) == (wire <= each.row.xoff < standard)
        impossible += [speed] * (each.row.xoff < wire)
    # of 2 km: 62.5, 100, 125 and 250 kB are on the wire
    assert impossible == ([25, 40, 50, 100] if "SN2700" in device else [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # a symbolic link that a checkout without links has as a file of its target's path
        ("BALANCED/pg_profile_lookup.ini", "has the path 'BALANCED/pg_profile_lookup.ini' alone, as a downloaded symbolic link"),
        # speeds in Gb/s
        ("100 5m 19456 19456 44032 0\n", r"must have at least one row with an xoff \(line 1: speed 100 is in Mb/s: judged are 1000 to 10000000; 100G is 100000\)"),
        # device/arista/x86_64-arista_7060x6_32pe: a head, and no rows
        ("# PG lossless profiles.\n# speed cable size    xon  xoff threshold xon_offset\n", "must have at least one row with an xoff"),
    ],
)  # fmt: skip
def test_lookup_files_without_rows_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_table(io.StringIO(text), kind="lookup")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # device/*/buffers.json.j2 of most switches: tables are in another file
        ("{%- set default_topo = 't0' %}\n{%- include 'buffers_config.j2' %}\n", "include 'buffers_config.j2' %}: a file of its own: not read"),
        ("{% import 'objects.j2' as defs with context %}\n", "{% import 'objects.j2' as defs with context %}: a file of its own: not read"),
        ("{% from 'objects.j2' import pools %}\n", "{% from 'objects.j2' import pools %}: a file of its own: not read"),
        ("{% extends 'base.j2' %}\n", "{% extends 'base.j2' %}: a file of its own: not read"),
        # nexthop/x86_64-nexthop_4210-r0021/NH-4210-F-O256/BALANCED/buffers_defaults_t1.j2: profiles of lossy classes alone
        ("{%- include 'buffer_ports.j2' %}\n\"BUFFER_POOL\": {\"ingress_lossless_pool\": {\"type\": \"ingress\", \"xoff\": \"81553920\"}}, \"BUFFER_PROFILE\": {\"ingress_lossy_profile\": {\"size\": \"0\"}}", "BUFFER_PROFILE: no profile of a lossless class: SONiC takes these from pg_profile_lookup.ini"),
        # aurora-710/buffers_defaults_t0.j2: a profile for all ports
        ('"BUFFER_PROFILE": {"ingress_lossless_profile": {"pool":"ingress_lossless_pool", "size":"4096", "dynamic_th":"0", "xon":"18432", "xoff":"18432"}}', "ingress_lossless_profile: its name has no speed and cable and no port uses it; give rate and cable"),
    ],
)  # fmt: skip
def test_templates_of_switches_without_rows_say_why(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_table(io.StringIO(text), kind="template")


# Rows whose speed is not judged, and rows that are not as in the form.

SLOW = """# speed cable size xon xoff threshold
{} 5m 49152 19456 29696 0
1000 5m 49152 19456 29696 0
10000 300m 49152 19456 29696 0
"""


@pytest.mark.parametrize("speed", ["100", "10", "0", "99999999"])
@pytest.mark.parametrize("kind", ["lookup", "csv", "template", "config"])
def test_rows_whose_speed_is_not_judged_are_listed(kind: str, speed: str) -> None:
    """Ports of 10 and 100 Mb/s have no priority flow control; the other rows are judged."""
    text = SLOW.format(speed)
    lines = [line.split() for line in text.splitlines()[1:]]
    profiles = {f"pg_lossless_{row[0]}_{row[1]}_profile": {"xoff": row[4]} for row in lines}
    if kind == "csv":
        text = "speed,cable,xoff\n" + "".join(f"{row[0]},{row[1]},{row[4]}\n" for row in lines)
    elif kind == "template":
        text = json.dumps({"BUFFER_PROFILE": profiles})
    elif kind == "config":
        text = json.dumps({
            "BUFFER_PROFILE": profiles,
            "PORT": {f"Ethernet{n}": {"speed": row[0]} for n, row in enumerate(lines)},
            "CABLE_LENGTH": {"AZURE": {f"Ethernet{n}": row[1] for n, row in enumerate(lines)}},
            "BUFFER_PG": {f"Ethernet{n}|3-4": {"profile": name} for n, name in enumerate(profiles)},
        })  # fmt: skip
    table = read_table(io.StringIO(text), kind=kind)
    places = {"lookup": ["line 2"], "csv": ["line 2"], "config": ["Ethernet0|3", "Ethernet0|4"]}.get(
        kind, list(profiles)[:1]
    )
    assert [name for name, _ in table.skipped] == places
    assert {why for _, why in table.skipped} == {
        f"speed {speed} is in Mb/s: judged are 1000 to 10000000; 100G is 100000"
    }
    assert table.rates == [1e9, 1e10]
    assert len(audit_headroom(table).rows) == 2 * len(places)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("100000 5m 19456 19456 1 MiB", "line 3: threshold = 'MiB': must be a number"),
        ("100000 5m 19456 19456 44 032 0", "line 3: threshold = '032': must be a number"),
        ("100000 5m 19456 19456 44 132 0", "line 3: xoff = 44: must be 0 or at least 64 bytes; a number with a blank"),
        ("100000 5m 19456 19456 440 132 0", "line 3: threshold = 132 in 7 columns, other rows have more or fewer: must be -8 to 8"),
        ("100000 5m 194 56 19456 44032 0", "line 3: xon = 56: must be 0 or at least 64 bytes"),
        ("100000 5m 1945 600 19456 44032 0", "line 3: threshold = 44032 in 7 columns"),
        ("100000 5m 19456 19456 44032B 0", "line 3: xoff = '44032B': must be a whole number"),
        ("100000 5m 19456 19456 44032 zz", "line 3: threshold = 'zz': must be a number"),
        ("100000 5m 19456 19456 44032 nan", "line 3: threshold = 'nan': must be a number"),
        ("100000 5m 19456 19456 44032 0 0x8", "line 3: xon_offset = '0x8': must be a number"),
        ("100000 5m 19456 19456 44032 0 2,288", "line 3: xon_offset = '2,288': must be a number"),
        ("99999999999999999999 5m 19456 19456 44032 0", "line 3: speed = '99999999999999999999': must be less than 1e15"),
        ("100000 5m 19456 19456 44032 0 2288 7", "line 3: 8 columns, must be speed cable size xon xoff threshold xon_offset"),
    ],
)  # fmt: skip
def test_numbers_of_lookup_files_have_neither_blanks_nor_units(row: str, message: str) -> None:
    text = f"# speed cable size xon xoff threshold xon_offset\n400000 300m 19456 19456 225280 0\n{row}\n"
    with pytest.raises(ValueError, match=message):
        read_table(io.StringIO(text), kind="lookup")


@pytest.mark.parametrize(
    ("profile", "reason"),
    [
        ('"{0}": {{"pool": "p", "xof": "44032"}}', "no xoff among its fields: pool, xof"),
        ('"{0}": {{"pool": "p", "XOFF": "44032"}}', "no xoff among its fields: pool, XOFF"),
        ('"{0}": {{}}', "no xoff among its fields: none"),
        ("'{0}': {{'xoff': '44032'}}", "it is not JSON"),
        ("{0}: {{xoff: 44032}}", "it is not JSON"),
        ('"{0}": [{{"xoff": "44032"}}]', "its value is no object"),
        ('"{0}": {{"xoff"= "44032"}}', "it is not JSON"),
        ('"{0}": {{"xoff": "xoff": "44032"}}', "it is not JSON"),
        ('"{0}": {{"xo"xoff"ff": "44032"}}', "it is not JSON"),
        ('"{0}": {{"xoff": "44032", "more": {{"y": 1}}}}', "it is not JSON"),
        ('"{0}": "{0}_2": {{"xoff": "44032"}}', "its value is no object"),
        ('"pg_loss"{0}"less": {{"xoff": "44032"}}', "it is neither the key of an object nor a reference"),
        ('"{0}": {{% if x %}}{{"xoff": "44032"}}{{% endif %}}', "it is not JSON"),
    ],
)  # fmt: skip
def test_each_lossless_profile_of_a_template_is_a_row_or_listed(profile: str, reason: str) -> None:
    name = "pg_lossless_100000_5m_profile"
    text = '{"BUFFER_PROFILE": {"pg_lossless_400000_300m_profile": {"xoff": "225280"}, ' + profile.format(name) + "}}"
    table = read_table(io.StringIO(text), kind="template")
    assert table.at(400e9, 300.0).xoff == 225280
    assert reason in dict(table.skipped)[name]


@pytest.mark.parametrize("cut", [2, 1, 5, 20, 36])
def test_a_template_that_is_cut_is_refused(cut: int) -> None:
    text = '{"BUFFER_PROFILE": {"pg_lossless_400000_300m_profile": {"xoff": "225280"}, "pg_lossless_100000_5m_profile": {"xoff": "44032"}}}'
    assert len(read_table(io.StringIO(text), kind="template").rows) == 2
    with pytest.raises(
        ValueError, match=r"an object(?: of pg_lossless_100000_5m_profile)? does not end: the file is cut"
    ):
        read_table(io.StringIO(text[:-cut]), kind="template")
