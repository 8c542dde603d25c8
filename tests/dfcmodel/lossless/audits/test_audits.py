"""Audits of headroom tables, and what a table says of its switch."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import shutil

import pytest

from benchmarks import census
from dfcmodel import PauseDatasheet, headroom
from dfcmodel.lossless import (
    BufferRow,
    BufferTable,
    Watermark,
    audit_headroom,
    chip,
    chips,
    identify,
    read_table,
)
from dfcmodel.lossless.audits.orders import copies, falling_pairs, flat_rates, grain_of
from dfcmodel.lossless.audits.rate_lines import density, line_of
from dfcmodel.lossless.audits.switch_chips import census_lines, census_range, chip_lines
from dfcmodel.lossless.audits.verdicts import INSUFFICIENT
from dfcmodel.lossless.paused.published import SN4280
from dfcmodel.lossless.results import RowVerdict
from tests.option_objects import grouped
from tests.surface import invoke

# One row, against the proved headroom.


def verdict(xoff: int, **given) -> tuple[RowVerdict, int | None]:
    found = audit_headroom([BufferRow(400e9, 300.0, xoff)], **given).rows[0]
    return found.verdict, found.smallest


def need(**given) -> int:
    return headroom("400Gbps", "300m", 9216, 9216, 192, **grouped(headroom, given)).bytes


def test_the_verdicts_of_one_row_change_where_the_proved_headrooms_are() -> None:
    cable, response = 150_000, 57_920
    stored, standard = (math.ceil(wire * 9216 / 9236) for wire in (cable, cable + response))
    assert verdict(stored - 1)[0] is RowVerdict.IMPOSSIBLE
    assert verdict(stored)[0] is RowVerdict.BELOW_STANDARD
    assert verdict(standard - 1)[0] is RowVerdict.BELOW_STANDARD
    assert verdict(standard)[0] is RowVerdict.FASTER_PEER
    equal, free = need(), need(small_packets=1)
    assert verdict(equal - 1, cell=192)[0] is RowVerdict.FASTER_PEER
    assert verdict(equal, cell=192) == (RowVerdict.SOME_SIZES, 9216)
    assert verdict(free - 1, cell=192)[0] is RowVerdict.SOME_SIZES
    assert verdict(free, cell=192) == (RowVerdict.ANY_SIZES, 64)
    assert verdict(2 * free, cell=192)[0] is RowVerdict.GENEROUS
    counted = headroom("400Gbps", "300m").bytes
    assert verdict(counted - 1)[0] is RowVerdict.FASTER_PEER
    assert verdict(counted)[0] is RowVerdict.FULL_SIZE  # no cell known: small frames are not judged


@pytest.mark.parametrize("lossless_mtu", [256, 1024, 4096, 9216])
@pytest.mark.parametrize("cable", ["5m", "7km", "80km", "189km"])
def test_a_row_with_the_proved_headroom_is_sufficient(cable: str, lossless_mtu: int) -> None:
    """On long cables preambles and gaps, which are not stored, take more bytes of time than response and frames."""
    metres = float(cable.removesuffix("m").replace("k", "e3"))
    proved = headroom("400Gbps", cable, 9216, lossless_mtu).bytes
    rows = [BufferRow(400e9, metres, xoff) for xoff in (proved - 1, proved)]
    below, enough = audit_headroom(rows, lossless_mtu=lossless_mtu).rows
    assert below.verdict in INSUFFICIENT
    assert enough.verdict is RowVerdict.FULL_SIZE


def test_a_row_that_no_peer_suffices_for_needs_smaller_frames() -> None:
    """10 Gb/s over 5 m: 18,554 B for frames of 9216 B and a peer that stops at once; the standard's response is shorter than they are."""
    at_once = headroom(
        "10Gbps", "5m", 9216, 9216, datasheet=PauseDatasheet(response="0ns", response_measured=True)
    ).bytes
    verdicts = [audit_headroom([BufferRow(10e9, 5.0, xoff)]).rows[0] for xoff in (15_680, at_once - 1, at_once)]
    assert {row.verdict for row in verdicts} == {RowVerdict.FASTER_PEER}
    assert ["needs smaller frames" in row.reason for row in verdicts] == [True, True, False]


@pytest.mark.parametrize("size", [65, 100, 192, 193, 257, 400, 1000, 5000])
def test_the_smallest_frames_covered_are_the_smallest(size: int) -> None:
    enough = need(small_packets=1, smallest=size)
    _, found = verdict(enough, cell=192)
    assert found <= size
    assert need(small_packets=1, smallest=found) <= enough
    assert found == 64 or need(small_packets=1, smallest=found - 1) > enough


def test_the_response_that_a_short_row_covers_is_the_longest() -> None:
    xoff = 215_000
    reason = audit_headroom([BufferRow(400e9, 300.0, xoff)]).rows[0].reason
    covered = int(reason.split("a response of ")[1].split(" ns")[0].replace(",", ""))
    fits = [
        headroom("400Gbps", "300m", datasheet=PauseDatasheet(response=f"{ns} ns", response_measured=True)).bytes <= xoff
        for ns in (covered - 1, covered + 1)
    ]
    assert fits == [True, False]
    assert "a peer may take 1,158 ns" in reason


def test_a_rate_without_a_standard_is_judged_by_its_cable_only() -> None:
    rows = [BufferRow(1.6e12, 100.0, 199_566), BufferRow(1.6e12, 100.0, 600_000)]
    assert [each.verdict for each in audit_headroom(rows).rows] == [
        RowVerdict.IMPOSSIBLE,
        RowVerdict.NOT_JUDGED,
    ]
    given = audit_headroom(rows, response="600ns", cell=254)
    assert (
        given.rows[1].needs.equal_frames
        == headroom("1.6Tbps", "100m", cell=254, datasheet=PauseDatasheet(response="600ns")).bytes
    )


def test_skipped_profiles_with_names_of_rows_hide_none() -> None:
    """Profiles of one name are all shown, and none in place of the source or of the number of rows."""
    skipped = (("rows", "no xoff"), ("table", "no xoff"), ("lossy", "no xoff"), ("lossy", "of egress"))
    shown = audit_headroom(BufferTable((BufferRow(400e9, 300.0, 600_000),), "switch.json", skipped)).summary()
    assert (shown["table"], shown["rows"]) == ("switch.json", 1)
    texts = [shown[name] for name in ("rows (skipped)", "table (skipped)", "lossy", "lossy (skipped)")]
    assert texts == ["skipped: no xoff"] * 3 + ["skipped: of egress"]


# The law of a table.


def test_a_lawful_table_gives_its_cell_and_its_constants(lawful) -> None:
    law = audit_headroom(lawful).law
    assert law.cell == 254
    assert [each.cells for each in law.rates] == [(n, n) for n in (86.0, 123.0, 681.0, 1975.0)]
    assert not law.broken
    for each in law.rates:  # a delay of the interval gives every row to the cell
        delay = sum(each.allowance) / 2
        for row in lawful:
            if row.rate == each.rate:
                name = f"{row.rate / 1e9:g}Gbps"
                found = headroom(
                    name, f"{row.cable:g}m", 9216, 9216, 254, small_packets=1, datasheet=PauseDatasheet(pipeline=delay)
                )
                assert found.bytes == row.xoff


@pytest.mark.parametrize("error", [-4000, -300, 300, 4000])
def test_a_wrong_digit_in_one_row_is_found(lawful, error: int) -> None:
    wrong = dataclasses.replace(lawful[5], xoff=lawful[5].xoff + error)
    found = audit_headroom([*lawful[:5], wrong, *lawful[6:]])
    odd = [each for each in found.rows if each.remarks]
    assert [each.row for each in odd] == [wrong]
    assert f"{error:+,} B from its table's law" in odd[0].remarks[0]
    assert "not whole cells of 254 B" in odd[0].remarks[1]


def test_one_byte_too_many_is_no_break_of_the_law_but_no_whole_cell(lawful) -> None:
    wrong = dataclasses.replace(lawful[4], xoff=lawful[4].xoff + 1)
    found = audit_headroom([*lawful[:4], wrong, *lawful[5:]])
    assert [each.remarks for each in found.rows if each.remarks] == [("not whole cells of 254 B: 1 B over",)]


def test_rates_with_the_values_of_a_faster_one_are_shared(lawful) -> None:
    copied = [dataclasses.replace(row, rate=50e9) for row in lawful if row.rate == 100e9][:2]
    law = audit_headroom([*lawful, *copied]).law
    assert [each.shared for each in law.rates] == [(), (50e9,), (), ()]


def test_tables_by_other_rules_have_no_law() -> None:
    rows = [BufferRow(rate, cable, xoff) for (rate, cable), xoff in SN4280.items()]
    found = audit_headroom(rows)
    assert found.law is None
    assert found.cell is None
    assert {(e.row.rate, e.row.cable) for e in found.impossible} == {
        (400e9, 1500.0),
        (400e9, 2000.0),
    }
    assert found.rows[rows.index(found.impossible[0].row)].remarks == ("the value of 200G",)


# Rows against their neighbours.


def test_falling_flat_copied_and_uneven_values() -> None:
    rows = [BufferRow(r, c, x) for r, c, x in (
        (1e10, 5.0, 20_480), (1e10, 40.0, 14_336), (1e10, 300.0, 30_720),
        (1e11, 5.0, 51_200), (1e11, 40.0, 51_200), (1e11, 300.0, 51_200), (4e11, 5.0, 40_961), (4e11, 40.0, 61_440),
        (4e11, 300.0, 71_680),
    )]  # fmt: skip
    table = BufferTable(tuple(rows))
    assert falling_pairs(table) == [(rows[0], rows[1]), (rows[3], rows[6])]
    assert flat_rates(table) == [1e11]
    assert copies(table) == {}
    assert grain_of(table) == 1024
    remarks = [each.remarks for each in audit_headroom(table).rows]
    assert remarks[6] == (
        "less than 100G 5m has, 51,200 B", "not a multiple, as most values are, of 1024 B: 1 B over"
    )  # fmt: skip


# Chips.


def test_every_chip_names_its_tables_and_its_constants_are_intervals() -> None:
    for each in chips():
        assert each.sources
        assert all("commit" in source for source in each.sources)
        for rate in each.rates:
            assert rate.cells[0] <= rate.cells[1]
            assert rate.allowance[0] <= rate.allowance[1] <= 10e-6
    with pytest.raises(ValueError, match="chip = 'tomahawk': must be one of"):
        chip("tomahawk")


def test_a_cell_is_that_of_the_chip(lawful) -> None:
    with pytest.raises(ValueError, match="cell = 192: tomahawk5 has cells of 254 B: leave out one of cell and chip"):
        audit_headroom(lawful, chip="tomahawk5", cell=192)
    assert audit_headroom(lawful, chip="tomahawk5", cell=254).text() == audit_headroom(lawful, chip="tomahawk5").text()


def test_with_a_chip_rows_that_differ_from_it_are_named(lawful) -> None:
    known = chip("tomahawk5")
    found = audit_headroom(lawful, chip="tomahawk5")
    assert found.cell == known.cell == 254
    said = {each.row.rate for each in found.rows if any("from tomahawk5" in r for r in each.remarks)}
    assert not said & {100e9, 400e9, 800e9}  # the constants of that chip
    wrong = dataclasses.replace(lawful[-1], xoff=lawful[-1].xoff - 254 * 10)
    (last,) = audit_headroom([*lawful[:-1], wrong], chip="tomahawk5").rows[-1:]
    assert any("-10 cells from tomahawk5" in remark for remark in last.remarks)


def test_the_census_beside_a_headroom_has_the_law_of_each_chip() -> None:
    """The two tables of Tomahawk 5 hold 839,216 B at 400 Gb/s and 300 m."""
    shown = invoke(["headroom", "--rate", "400Gbps", "--cable", "300m"]).output
    assert "pipeline                         0 (not given)" in shown
    assert "tomahawk5: 839,216 B (cells of 254 B" in shown
    found = census_range(400e9, 300.0)
    assert f"{found.tables} public tables: {found.minimum:,} to {found.maximum:,} B" in shown
    assert found.tables >= 2
    assert found.minimum <= found.median <= found.maximum
    assert census_range(400e9, 301.0) is None
    assert census_lines(1.6e12, 300.0) == chip_lines(1.6e12, 300.0) == []
    larger = headroom("400Gbps", "300m", cell=254, small_packets=1.0).bytes
    assert f'of any size in cells of 254 B: {larger:,.0f} B (cell="254 B", small_packets=1)' in shown
    assert shown.index("Public tables for") < shown.index("Laws of chips") < shown.index("tomahawk5")
    alone = invoke(["headroom", "--rate", "400Gbps", "--cable", "301m", "--json"])
    assert "tomahawk5" in json.loads(alone.output)["census"][1]


# The command and the display.


def test_the_command_prints_a_line_per_row_and_its_status_says_whether_rows_are_impossible(
    tmp_path,
) -> None:
    path = tmp_path / "pg_profile_lookup.ini"
    path.write_text("# speed cable size xon xoff\n400000 2000m 1248 2288 555008\n400000 5m 1248 2288 90000\n")
    shown = invoke(["headroom", "audit", str(path)])
    assert shown.exit_code == 1
    assert "1 impossible, 1 covers full-size frames" in shown.output
    assert "0.56 of the 1,000,000 B on the cable" in shown.output
    plot = tmp_path / "table.png"
    made = invoke(["headroom", "audit", str(path), "--cell", "254", "--json", "--plot", str(plot)])
    rows = json.loads(made.output)["rows"]
    assert [row["verdict"] for row in rows] == ["impossible", RowVerdict.SOME_SIZES.value]
    assert plot.stat().st_size > 1000
    path.write_text("# speed cable size xon xoff\n400000 5m 1248 2288 90000\n")
    assert invoke(["headroom", "audit", str(path)]).exit_code == 0


def test_the_display_has_law_counts_and_rows(lawful) -> None:
    text = repr(audit_headroom(lawful))
    assert "covers any frame sizes" in text
    assert "100G: 123 cells" in text


NAMED = "pg_lossless_100000_5m_profile"


def row_of(cable: float, xoff: int = 165_568, **fields) -> BufferRow:
    return BufferRow(
        100e9, cable, xoff, place="Ethernet8|3", profile=NAMED, port="Ethernet8", priority=3, **fields
    )  # fmt: skip


def test_a_name_that_disagrees_with_its_port_is_a_verdict_unless_the_row_has_a_worse_one() -> None:
    """250,000 B are on 2 km at 100 Gb/s; 165,568 B are enough for full-size frames at 300 m."""
    short, long = audit_headroom([row_of(2000.0), row_of(300.0)]).rows
    assert short.verdict is RowVerdict.IMPOSSIBLE
    assert "the name is for 100G 5m, Ethernet8 has 100G 2000m" in short.remarks[0]
    assert long.verdict is RowVerdict.NAME_DISAGREES
    assert "covers full-size frames, cell not known" in long.reason
    assert audit_headroom([row_of(5.0)]).rows[0].verdict is RowVerdict.FULL_SIZE
    text = audit_headroom([row_of(2000.0)]).text()
    assert f"Ethernet8|3  {NAMED}  100G" in text


def test_pfc_without_headroom_is_impossible_even_on_a_cable_without_length() -> None:
    lost = row_of(0.0, 0, no_headroom="BUFFER_PG has no Ethernet8|3")
    found = audit_headroom([lost, row_of(5.0)])
    assert [each.row for each in found.impossible] == [lost]
    assert found.rows[0].reason == "PFC without headroom: BUFFER_PG has no Ethernet8|3"
    assert found.rows[0].write == need_of(0.0)
    assert identify([lost, row_of(5.0), row_of(40.0, 190_000)]).lines[0].points.shape == (2, 2)


def need_of(cable: float) -> int:
    return headroom("100Gbps", f"{cable}m", small_packets=1).bytes


EIGHT = """speed,cable,xoff
400000,5m,425958
400000,30m,425958
400000,300m,839216
400000,500m,1136396
100000,500m,1136396
800000,5m,724662
800000,40m,1621536
800000,300m,1621536
"""
"""The rows of sonic-buildimage#25862, all multiples of Tomahawk 5's cell of 254 B."""


def test_the_cell_copies_and_waste_of_a_table_whose_values_are_multiples_of_it() -> None:
    found = audit_headroom(read_table(io.StringIO(EIGHT)))
    assert (found.law, found.cell, found.cell_source) == (None, 254, "divisor")
    assert "cell: 254 B, proposed: every xoff is a multiple" in found.text()
    times = [each.row.xoff / each.needs.any_sizes for each in found.rows]
    assert (round(min(times), 2), round(max(times), 2)) == (1.17, 4.86)
    need = headroom("800Gbps", "40m", cell=254, small_packets=1).bytes
    assert found.rows[6].wasted == 1_621_536 - need == 1_287_780
    assert "1,287,780 B wasted per port and class" in found.text()
    copied = {n: each.remarks for n, each in enumerate(found.rows) if each.remarks}
    assert copied == {
        0: ("a copy: also the value of 30m",), 1: ("a copy: also the value of 5m",), 3: ("the value of 100G",),
        6: ("a copy: also the value of 300m",), 7: ("a copy: also the value of 40m",),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "cell"),
    [
        ((254 * 100, 254 * 201, 254 * 303), 254),
        ((508 * 100, 508 * 201, 508 * 303), 254),  # two cells of a chip
        ((192 * 100, 192 * 201, 192 * 303), 192),
        ((254 * 100, 254 * 201), None),  # too few values
        ((254 * 100, 254 * 201, 254 * 303 + 1), None),
        ((1024 * 100, 1024 * 201, 1024 * 303), None),  # a unit
        ((1000 * 100, 1000 * 201, 1000 * 303), None),
    ],
)
def test_a_cell_is_proposed_where_all_values_allow_it(values: tuple[int, ...], cell: int | None) -> None:
    rows = [BufferRow(100e9, cable, x) for cable, x in zip((5.0, 40.0, 60.0), values, strict=False)]
    assert audit_headroom(rows).cell == cell
    assert audit_headroom(rows, cell=96).cell == 96


def test_waste_is_summed_by_port_and_for_the_switch() -> None:
    rows = [dataclasses.replace(row_of(5.0, 254 * 3000), priority=n, place=f"Ethernet8|{n}") for n in (3, 4)]  # fmt: skip
    other = dataclasses.replace(rows[0], port="Ethernet0", place="Ethernet0|3")
    found = audit_headroom([*rows, other], cell=254)
    wasted = 254 * 3000 - headroom("100Gbps", "5m", cell=254, small_packets=1).bytes
    assert found.wasted == {"Ethernet8": 2 * wasted, "Ethernet0": wasted}
    assert f"wasted per port: {2 * wasted:,} B at Ethernet8" in found.text()
    assert f"wasted by the switch: {3 * wasted:,} B" in found.text()
    assert found.to_dict()["wasted"]["switch"] == 3 * wasted
    assert audit_headroom(rows).wasted == {}  # without a cell


def test_what_classes_take_from_a_pool_is_not_wasted() -> None:
    """sonic-buildimage#29565: 256 ports of 400G whose xoff is 1,887,900 B share a pool of 120,825,600 B."""
    row = BufferRow(400e9, 500.0, 1_887_900, 0, 4620, port="Ethernet0", pool="lossless", pool_size=120_825_600)
    need = headroom("400Gbps", "500m", cell=420, small_packets=1).bytes
    own = dataclasses.replace(row, pool_size=None)
    assert [audit_headroom([each], cell=420).wasted for each in (row, own)] == [
        {"Ethernet0": 0}, {"Ethernet0": 1_887_900 - need},
    ]  # fmt: skip
    assert "B wasted" not in audit_headroom([row], cell=420).text()
    for size, wasted in ((19456, 0), (19456 + need + 420, 420), (19456 + 1_887_900, 1_887_900 - need)):
        sized = dataclasses.replace(own, xon=19456, size=size)  # the pool is unknown; size says what is reserved
        assert audit_headroom([sized], cell=420).rows[0].wasted == wasted


def test_the_picture_has_every_row_and_its_line_has_a_name() -> None:
    axes = audit_headroom([BufferRow(100e9, 300.0, 0), BufferRow(100e9, 250.0, 70_000)]).plot()
    (low, high), points = axes.get_ylim(), []
    for line in axes.lines[:-1]:
        points += list(zip(*line.get_data(), strict=True))
    assert len(points) == 2
    assert all(low <= y <= high for _, y in points)
    assert min(y for _, y in points) == low
    assert [line.get_label() for line in axes.lines][-1] == "bytes on the cable"
    assert high >= 10 * low
    minor = axes.xaxis.get_minor_formatter()
    assert minor.format_ticks(axes.xaxis.get_minorticklocs()[:1]) == [""]


STATUS = {
    (30_000, "300m"): (1, 1),  # 75,000 B are on the cable
    (80_000, "300m"): (0, 1),  # and 81,088 with the response of the standard
    (85_000, "300m"): (0, 1),  # and one frame in each direction
    (165_568, "300m"): (0, 1),  # enough, but named for 5 m
    (165_568, "5m"): (0, 0),
}


@pytest.mark.parametrize(("xoff", "cable"), STATUS)
def test_the_status_of_the_command_without_and_with_strict(tmp_path, xoff: int, cable: str) -> None:
    path = tmp_path / "config_db.json"
    path.write_text(json.dumps({
        "PORT": {"Ethernet8": {"speed": "100000"}}, "CABLE_LENGTH": {"AZURE": {"Ethernet8": cable}},
        "BUFFER_PROFILE": {NAMED: {"xoff": str(xoff)}}, "BUFFER_PG": {"Ethernet8|3-4": {"profile": NAMED}},
    }))  # fmt: skip
    codes = [invoke(["headroom", "audit", str(path), *more]).exit_code for more in ([], ["--strict"])]
    assert tuple(codes) == STATUS[xoff, cable]


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="table = 3"):
        audit_headroom(3)
    with pytest.raises(ValueError, match="lossless_mtu"):
        audit_headroom([BufferRow(1e11, 5.0, 1)], mtu=1500, lossless_mtu=9000)
    with pytest.raises(ValueError, match="cell = 'x'"):
        audit_headroom([BufferRow(1e11, 5.0, 1)], cell="x")


# The public tables.


def test_a_public_row_is_impossible_if_it_holds_less_than_the_cable(public_tables) -> None:
    rows = [row for table in public_tables.values() for row in audit_headroom(table).rows]
    near = [each for each in rows if each.row.cable < 100e3]
    assert (len(rows), len(near)) == (1462, 1446)
    for each in rows:
        wire = 2 * each.row.cable * 5e-9 * each.row.rate / 8
        assert (each.verdict is RowVerdict.IMPOSSIBLE) == (each.row.xoff < wire * (1 - 1e-12))
    assert sum(each.verdict is RowVerdict.IMPOSSIBLE for each in near) == 20


def test_rows_that_break_the_law_of_their_own_table_are_found(public_tables) -> None:
    odd = {}
    for path, table in public_tables.items():
        for name in ("S5448f", "Z9264f"):
            if name in path:
                audit = audit_headroom(table)
                cell = {"S5448f": 318, "Z9264f": 208}[name]
                assert audit.cell in (cell, None)
                odd[name] = [
                    (f"{e.row.rate / 1e9:g}G {e.row.cable:g}m", e.row.xoff)
                    for e in audit.rows
                    if any(remark.startswith("not ") for remark in e.remarks)
                ]
    assert odd["S5448f"] == [("40G 40m", 125_929), ("50G 40m", 125_929), ("100G 300m", 300_962)]
    assert odd["Z9264f"] == [("40G 5m", 64_728)]


@pytest.mark.slow
def test_the_census_is_made_again_from_the_bundled_rows(tmp_path, monkeypatch) -> None:
    written = {path.name: path.read_bytes() for path in (census.RESULTS / "census.md", census.RESULTS / "census.json")}  # fmt: skip
    for path in (*census.CHIPS.glob("*.toml"), census.CHIPS.parent / "census.csv"):
        written[path.name] = path.read_bytes()
    shutil.copytree(census.CHIPS, tmp_path / "chips")
    monkeypatch.setattr(census, "CHIPS", tmp_path / "chips")
    monkeypatch.setattr(census, "RESULTS", tmp_path)
    census.main()
    again = {path.name: path.read_bytes() for path in tmp_path.rglob("*.*")}
    assert again == written


def test_the_bundle_is_written_as_it_is_read(tmp_path) -> None:
    census.write_bundle(census.read_bundle(), tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (census.DATA / path.name).read_bytes()


# What tables and watermarks identify, against tables made with known delays and sizes.


def made(cell: int, smallest: int, pipeline: float, lossless: int = 4096) -> list[BufferRow]:
    """Return rows of 100 and 400 Gb/s at five cables, by the proved headroom."""
    return [
        BufferRow(
            rate * 1e9,
            cable,
            headroom(
                f"{rate}Gbps",
                f"{cable}m",
                9216,
                lossless,
                cell,
                small_packets=1,
                datasheet=PauseDatasheet(pipeline=pipeline, smallest=smallest),
            ).bytes,
        )
        for rate in (100, 400)
        for cable in (5, 40, 100, 300, 2000)
    ]


@pytest.mark.parametrize(
    ("cell", "smallest", "pipeline"),
    [(254, 64, 0.5e-6), (192, 300, 0.2e-6), (208, 1000, 1e-6), (318, 100, 0.0), (144, 193, 0.3e-6)],
)
def test_delay_and_smallest_frame_are_in_the_intervals(cell: int, smallest: int, pipeline: float) -> None:
    found = identify(made(cell, smallest, pipeline), cell=cell, lossless_mtu=4096)
    low, high = found.smallest
    assert low <= smallest <= high or density_equal(low, smallest, cell)
    for ends in found.pipelines.values():
        assert ends[0] <= pipeline <= ends[1]
        assert ends[1] - ends[0] < 0.5e-6
    assert found.coverage[0] == found.coverage[1] == 10


def density_equal(a: float, b: float, cell: int) -> bool:
    """Return whether frames of two sizes need the same cells per byte of wire at most."""
    import numpy as np

    one, two = density(np.array([int(a), int(b)]), cell)
    return abs(one - two) < 2e-3


def test_predictions_hold_for_rates_and_cables_that_are_not_in_the_table() -> None:
    rows = made(254, 64, 0.5e-6, lossless=9216)
    found = identify(rows)
    assert found.cell == 254
    for rate, cable, inside in (
        ("400Gbps", "1km", True),
        ("100Gbps", "70m", True),
        ("200Gbps", "300m", False),
    ):
        low, high = found.predict(rate, cable)
        need = headroom(rate, cable, 9216, 9216, 254, small_packets=1, datasheet=PauseDatasheet(pipeline=0.5e-6)).bytes
        assert low <= need <= high
        assert not inside or high - low <= 4 * 254
    assert found.cell_for_any_sizes[0] <= 254 <= found.cell_for_any_sizes[1]


NOKIA_X3B = {
    40: {50: 53248, 300: 69632, 1000: 114688, 2000: 184320, 80_000: 5369856, 120_000: 8028160},
    100: {50: 69632, 300: 110592, 1000: 225280, 2000: 393216, 80_000: 13357056, 120_000: 20004864},
    400: {50: 147456, 300: 315392, 1000: 778240, 2000: 1445888, 80_000: 53305344, 120_000: 79900672},
}
"""pg_profile_lookup.ini of the Nokia-IXR7250-X3B, sonic-buildimage d9947ddd87: multiples of 4096 B, by Gb/s and m."""


def test_predictions_hold_for_the_rows_that_they_are_made_from() -> None:
    """Values are rounded, to 4096 B here: all are within that of a line, and so are predictions."""
    rows = [
        BufferRow(rate * 1e9, float(m), xoff) for rate, by_cable in NOKIA_X3B.items() for m, xoff in by_cable.items()
    ]
    found = identify(rows)
    assert found.margin == (4096.0, 4096.0)
    assert [line.off for line in found.lines] == [()] * 3
    assert found.coverage == (18, 18)
    for row in rows:
        low, high = found.predict(f"{row.rate / 1e9:g}Gbps", f"{row.cable:g}m")
        assert low <= row.xoff <= high
        rest = identify([other for other in rows if other != row])
        low, high = rest.predict(f"{row.rate / 1e9:g}Gbps", f"{row.cable:g}m")
        assert low <= row.xoff <= high


def test_the_worst_case_is_no_lower_than_the_lines_through_watermarks() -> None:
    cables = (5.0, 100.0, 300.0)
    link = [
        headroom("400Gbps", f"{m:g}m", 9216, 4096, 192, datasheet=PauseDatasheet(pipeline=0.5e-6)).bytes for m in cables
    ]
    seen = [Watermark(4e11, m, need - 5000) for m, need in zip(cables, link, strict=True)]
    found = identify(seen, missed=12_000, mtu=9216, lossless_mtu=4096)
    for m, need in zip(cables, link, strict=True):
        low, high = found.predict("400Gbps", f"{m:g}m")
        assert need - 5000 - 1 <= low <= need <= high


def test_rows_off_the_line_are_left_out_and_named() -> None:
    rows = made(254, 64, 0.0)
    wrong = [dataclasses.replace(row, xoff=row.xoff + 40_000) if row.rate == 4e11 and row.cable == 100 else row for row in rows]  # fmt: skip
    found = identify(wrong, cell=254)
    assert [line.off for line in found.lines] == [(), (100.0,)] or not found.bent
    bent = [BufferRow(1e11, c, x) for c, x in ((5.0, 10_240), (40.0, 90_112), (300.0, 91_136))]
    assert identify(bent).bent == (1e11,)
    with pytest.raises(ValueError, match="no line to predict from"):
        identify(bent).predict("100Gbps", "5m")


def test_watermarks_need_what_was_missed() -> None:
    rows = made(254, 64, 0.5e-6)
    seen = [Watermark(row.rate, row.cable, row.xoff - 3 * 254) for row in rows]
    with pytest.raises(ValueError, match="missed = None: must be given"):
        identify(seen)
    found = identify(seen, cell=254, missed=4 * 254, lossless_mtu=4096)
    for ends in found.pipelines.values():
        assert ends[0] <= 0.5e-6 <= ends[1]


def test_one_cable_gives_no_line_and_a_table_of_nothing_is_refused() -> None:
    assert line_of(1e11, [(5.0, 1000.0)], (1.0, 1.0)) is None
    assert identify([BufferRow(1e11, 5.0, 1000)]).lines == ()
    with pytest.raises(TypeError, match="given = 5"):
        identify(5)
    text = repr(identify(made(254, 64, 0.0)))
    assert "rows predicted by the others" in text
