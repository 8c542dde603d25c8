"""The tables printed in the papers and RFCs: every cell read twice, and what they imply together.

A parser of the papers' texts made the files; second_reading.toml is the second one, by eye, without the files.
The texts are not part of the repository: with HOPFLOW_PAPERS naming a folder that has them, the parser
is run again and compared too.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import validation
from tests.surface import for_each

PUBLISHED = Path(validation.__file__).parent / "published"
PAPERS = os.environ.get("HOPFLOW_PAPERS")
CLASSES = ["TCP1", "TCP2", "TCP3", "TCP4", "UDP3", "UDP4"]
ENVIRONMENTS = ["cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"]
DISCIPLINES = ["FCFS", "DRR", "RED", "SFQ"]
SHAPES = {
    "yang2001_table1": (65, ["flow", "size_printed"]),
    "yang2001_table4": (240, ["environment", "discipline", "traffic_source", "flow_class"]),
    "yang2001_table6": (240, ["environment", "discipline", "traffic_source", "flow_class"]),
    "takano2006_table1": (6, ["scenario"]),
    "takano2006_table2": (2, ["scenario"]),
    "takano2006_table3": (3, ["scenario"]),
    "takano2006_table4": (2, ["scenario"]),
    "rfc3649_appendixB": (72, ["w"]),
    "rfc9438_avg_window": (14, ["rtt_s", "p"]),
    "rfc9438_required_p": (5, ["throughput_mbps"]),
    "tfrc_f_of_p": (16, ["p"]),
}


def published(name: str) -> pd.DataFrame:
    return pd.read_csv(PUBLISHED / f"{name}.csv", dtype={"scenario": str})


@pytest.fixture
def means() -> pd.DataFrame:
    """Table 4 of yang2001: rows (environment, discipline, traffic source), columns flow classes."""
    index = ["environment", "discipline", "traffic_source"]
    table = published("yang2001_table4")
    return table.set_index([*index, "flow_class"])["mean_transfer_time_s"].unstack()  # noqa: PD010


@for_each(SHAPES)
def test_tables_are_complete_and_say_where_they_are_from(name: str) -> None:
    table = published(name)
    rows, index = SHAPES[name]
    assert len(table) == rows
    assert not table.duplicated(index).any()
    assert not table.isna().any().any()
    assert (table["source"].str.len() > 10).all()
    assert (table["how_known"].str.len() >= 4).all()
    numbers = table.select_dtypes("number")
    assert (numbers > 0).all().all()


# ------------------------------------------------ every cell, twice

AGAIN = tomllib.loads(Path(__file__).with_name("second_reading.toml").read_text(encoding="utf-8"))
SIZES = ["10 KB", "100 KB", "1 MB", "10 MB", "100 MB"]
RULES = ["Reno", "Fusion", "ARENO", "CTCP", "HSTCP", "BIC", "CUBIC"]
CROSSED = list(product(ENVIRONMENTS, DISCIPLINES, [1, 2], CLASSES))
# What identifies each cell of the second reading, in its order, and the column that has it.
CELLS: dict[str, tuple[list[str], Sequence[tuple[object, ...]], list[str]]] = {
    "yang2001_table1": (
        ["flow", "size_printed"],
        [(row.split()[0], s) for row in AGAIN["yang2001_table1"].splitlines() for s in SIZES],
        ["transfer_time_s"],
    ),
    "yang2001_table4": (SHAPES["yang2001_table4"][1], CROSSED, ["mean_transfer_time_s"]),
    "yang2001_table6": (SHAPES["yang2001_table6"][1], CROSSED, ["standard_deviation_s"]),
    "kaneko2007_pairs": (
        ["rule", "against"],
        list(product(RULES, RULES)),
        ["throughput_mbit_per_s"],
    ),
    "kaneko2007_three_flows": (
        ["slide", "panel", "flow"],
        list(product([1, 2], [1, 2, 3], [1, 2, 3])),
        ["throughput_mbit_per_s"],
    ),
    "takano2006_table1": (
        ["scenario"],
        [(name,) for name in "123456"],
        [
            "link_rate_bit_per_s", "link_delay_s", "buffer_packets", "diffusion_coefficient", "max_window_packets",
        ],
    ),
    "takano2006_table2": (
        ["scenario"],
        [("4S",), ("4L",)],
        ["nodes", "max_window_packets", "other_parameters"],
    ),
    "takano2006_table3": (
        ["scenario"],
        [("4R",), ("4N",), ("4V",)],
        ["tcp", "buffer_packets", "other_parameters"],
    ),
    "takano2006_table4": (
        ["scenario"],
        [("4V",), ("4V'",)],
        ["tcp", "buffer_packets", "other_parameters"],
    ),
}  # fmt: skip
TO_SI = {"link_rate_bit_per_s": 1e6, "link_delay_s": 1e-3}  # printed in Mb/s and ms


def cells(text: str) -> list[list[str]]:
    """Cells of each row of a reading, without the name in front."""
    rows = [line.strip().split("  ") for line in text.strip().split("\n")]
    if len(rows[0]) == 1:
        rows = [row[0].split() for row in rows]
    named = not re.fullmatch(r"[\d.]+", rows[0][0])
    return [row[named:] for row in rows]


@for_each(CELLS)
def test_every_cell_is_as_read_again(name: str) -> None:
    index, keys, columns = CELLS[name]
    table = published(name)
    rows = dict(
        zip(table[index].itertuples(index=False, name=None), table[columns].itertuples(index=False), strict=True)
    )
    assert set(rows) == set(keys)
    assert len(rows) == len(table)
    flat = [cell for row in cells(AGAIN[name]) for cell in row]
    assert len(flat) == len(keys) * len(columns)
    for (key, column), cell in zip(product(keys, columns), flat, strict=True):
        printed = rows[key][columns.index(column)]
        if re.fullmatch(r"[\d.]+", cell):
            assert float(printed) == pytest.approx(float(cell) * TO_SI.get(column, 1), rel=1e-12), (key, column)
        else:
            assert printed == cell, (key, column)


def parse(name: str, folder: Path) -> list[list[str]]:
    """Read the cells of a table from the text of its paper."""
    paper, _, table = name.partition("_")
    (file,) = folder.glob(f"{paper}_*.txt")
    text = file.read_text(encoding="utf-8")
    if table == "three_flows":
        found = re.findall(r"Flow-\d : ([\d.]+)Mbps", text)
        return [found[k : k + 3] for k in range(0, len(found), 3)]
    heading = "Friendliness between TCP variants" if table == "pairs" else f"Table {table[-1]}"
    start = re.search(rf"^\W*{heading}\b(?! shows)", text, re.MULTILINE)
    assert start
    width, height = len(cells(AGAIN[name])[0]), len(cells(AGAIN[name]))
    number = re.compile(r"[\d.,]+")
    rows = []
    for line in text[start.end() :].split("\n"):
        parts = line.strip().split("\t")
        if len(parts) > width and (number.fullmatch(parts[-1]) or parts[0].startswith("scenario")):
            rows.append([part.replace(",", "") for part in parts[-width:]])
        if len(rows) == height:
            break
    return rows


@pytest.mark.skipif(PAPERS is None, reason="HOPFLOW_PAPERS does not name the papers' texts")
@pytest.mark.parametrize("name", CELLS)
def test_every_cell_is_as_parsed(name: str) -> None:
    assert parse(name, Path(PAPERS or "")) == cells(AGAIN[name])


# ------------------------------------------------ yang2001


def test_table_1_has_the_flows_of_the_text() -> None:
    """Four TCP and three UDP flows from S1 to D1, three and three from S2 to D2 (Sect. 2)."""
    table = published("yang2001_table1")
    counts = table.groupby(["source_node", "destination_node", "protocol"])["flow"].nunique()
    assert counts.to_dict() == {
        ("S1", "D1", "TCP"): 4, ("S1", "D1", "UDP"): 3, ("S2", "D2", "TCP"): 3, ("S2", "D2", "UDP"): 3,
    }  # fmt: skip
    printed = {"10 KB": 1e4, "100 KB": 1e5, "1 MB": 1e6, "10 MB": 1e7, "100 MB": 1e8}
    assert (table["size_printed"].map(printed) == table["size_bytes"]).all()


def test_table_1_every_udp_flow_ends_before_every_tcp_flow() -> None:
    for _, group in published("yang2001_table1").groupby("size_bytes"):
        last = group.groupby("protocol")["transfer_time_s"].agg(["min", "max"])
        assert last.loc["UDP", "max"] < last.loc["TCP", "min"]


def test_table_1_fixes_the_bottleneck_at_1_mb_per_s() -> None:
    """What has to pass until the last flow ends, over that time: below 1 Mb/s, and close to it."""
    table = published("yang2001_table1")
    udp = table[table["protocol"] == "UDP"]
    for flows, size, low in ((table, 1e8, 0.99), (udp, 1e8, 0.999), (udp, 1e7, 0.997)):
        chosen = flows[flows["size_bytes"] == size]
        rate = 8 * chosen["size_bytes"].sum() / chosen["transfer_time_s"].max()
        assert low * 1e6 < rate < 1e6
    # With 40 bytes of header on top of 1000 the load would not fit: sizes include the header.
    chosen = table[table["size_bytes"] == 1e8]
    wire = chosen["size_bytes"] * np.where(chosen["protocol"] == "TCP", 1.04, 1.0)
    assert 8 * wire.sum() / chosen["transfer_time_s"].max() > 1.01e6


@pytest.mark.parametrize("name", ["yang2001_table4", "yang2001_table6"])
def test_tables_4_and_6_cross_environments_disciplines_sources_and_classes(name: str) -> None:
    table = published(name)
    assert list(dict.fromkeys(table["environment"])) == ENVIRONMENTS
    assert list(dict.fromkeys(table["discipline"])) == DISCIPLINES
    assert list(dict.fromkeys(table["flow_class"])) == CLASSES
    assert (table["protocol"] + table["priority"].astype(str) == table["flow_class"]).all()
    mechanism = [
        environment.split("/")[source - 1]
        for environment, source in zip(table["environment"], table["traffic_source"], strict=True)
    ]
    assert table["mechanism"].tolist() == mechanism


def test_table_6_spreads_stay_below_the_means_of_table_4() -> None:
    index = SHAPES["yang2001_table4"][1]
    joined = published("yang2001_table4").merge(published("yang2001_table6"), on=index)
    assert len(joined) == 240
    assert (joined["standard_deviation_s"] < joined["mean_transfer_time_s"]).all()


def test_table_4_orders_regulated_flows_by_priority(means: pd.DataFrame) -> None:
    for environment, _, source in means.index:
        if environment.split("/")[source - 1] == "be":
            continue
        rows = means.xs((environment, source), level=("environment", "traffic_source"))
        assert (rows[CLASSES[:4]].diff(axis=1).iloc[:, 1:] > 0).all().all()
        assert (rows["UDP3"] < rows["UDP4"]).all()


def test_table_4_best_effort_ratio_of_tcp_to_udp(means: pd.DataFrame) -> None:
    """Source 1 of be/be: FCFS 6.8, DRR 11.9, RED 5.7, SFQ 4.1 (claim Y06)."""
    rows = means.xs(("be/be", 1), level=("environment", "traffic_source"))
    ratio = rows[CLASSES[:4]].mean(axis=1) / rows[CLASSES[4:]].mean(axis=1)
    assert ratio.round(1).to_dict() == {"FCFS": 6.8, "DRR": 11.9, "RED": 5.7, "SFQ": 4.1}


def test_table_4_contradicts_sentences_of_its_text(means: pd.DataFrame) -> None:
    """Y07: cc does not beat ts in each case; Y08: TCP3 beats UDP3 in ts/ts but for RED."""
    cc, ts = means.loc["cc/cc"], means.loc["ts/ts"]
    worse = cc > ts
    assert set(worse.columns[worse.any()]) >= {"TCP3", "TCP4", "UDP4"}
    assert not worse["TCP1"].any()
    slower = ts["UDP3"] > ts["TCP3"]
    assert slower.groupby("discipline").all().to_dict() == {
        "DRR": True, "FCFS": True, "RED": False, "SFQ": True,
    }  # fmt: skip


# ------------------------------------------------ takano2006


def test_windows_of_takano2006_exceed_the_bandwidth_delay_product() -> None:
    """Sect. 4: "sufficiently larger"; 1500-byte packets, there and back over all links."""
    rates = published("takano2006_table1").set_index("scenario")
    cases = [(row, 30, row["max_window_packets"]) for _, row in rates.iterrows()]
    sizes = published("takano2006_table2")
    cases += [(rates.loc["4"], row["nodes"], row["max_window_packets"]) for _, row in sizes.iterrows()]
    for row, nodes, window in cases:
        round_trip = 2 * (nodes - 1) * row["link_delay_s"]
        assert window > row["link_rate_bit_per_s"] * round_trip / (8 * 1500)


# ------------------------------------------------ RFCs


def test_highspeed_table_follows_its_formulas() -> None:
    """RFC 3649: the table leaves its rounded constants by up to 0.3 % at large windows."""
    table = published("rfc3649_appendixB")
    assert table["a_w"].tolist() == list(range(1, 73))
    w = np.arange(38.0, 90_000.0)
    b = 0.5 - 0.4 * np.log(w / 38) / np.log(83_000 / 38)
    a = w**2 * (0.078 / w**1.2) * 2 * b / (2 - b)
    first = [w[np.argmax(a >= n)] for n in range(2, 73)]
    np.testing.assert_allclose(table["w"][1:], first, rtol=3e-3)
    # Rounded to two digits; the integers are cut in part.
    np.testing.assert_allclose(table["b_w"], np.interp(table["w"], w, b), atol=0.0051)
    assert (np.abs(table["b_w"] - table["b_times_256"] / 256) <= 0.005 + 1 / 256).all()


def test_average_windows_of_rfc_9438_follow_their_formulas() -> None:
    table = published("rfc9438_avg_window")
    p, rtt = table["p"], table["rtt_s"]
    aimd = 1.2 / np.sqrt(p)
    other = {f"cubic_C{c:g}": (c * 3.7 / 1.2 * (rtt / p) ** 3) ** 0.25 for c in (0.04, 0.4, 4)}
    for column, window in {"aimd": aimd, "hstcp": 0.12 / p**0.835, **other}.items():
        np.testing.assert_allclose(table[column], np.maximum(window, aimd), atol=0.51)


def test_required_loss_rates_of_rfc_9438_follow_their_formulas() -> None:
    """Windows of 1500-byte packets at an RTT of 0.1 s; one or two digits are printed."""
    table = published("rfc9438_required_p")
    window = table["throughput_mbps"] * 1e6 * 0.1 / (8 * 1500)
    np.testing.assert_allclose(table["avg_w"], window, atol=0.05)
    aimd = (1.2 / window) ** 2
    other = {
        "hstcp_p": (0.12 / window) ** (1 / 0.835),
        "cubic_p": 0.1 * (0.4 * 3.7 / 1.2) ** (1 / 3) / window ** (4 / 3),
    }
    for column, p in {"aimd_p": aimd, **other}.items():
        np.testing.assert_allclose(table[column], np.maximum(p, aimd), rtol=0.06)


def test_tfrc_table_follows_its_formula() -> None:
    table = published("tfrc_f_of_p")
    p = table["p"]
    f = np.sqrt(2 * p / 3) + 12 * np.sqrt(3 * p / 8) * (p + 32 * p**3)
    assert (np.floor(1e6 * f) == table["f_times_1e6"]).all()


# The tables of kaneko2007's slides as transcribed: shape, sums and known cells.

ROW_SUMS = (205.40, 233.63, 213.75, 245.50, 376.33, 464.39, 432.20)
COLUMN_SUMS = (420.48, 385.12, 396.71, 380.41, 231.16, 166.41, 190.91)
FLOW_SUMS = {
    (1, 1): 101.22, (1, 2): 96.30, (1, 3): 99.08, (2, 1): 100.43, (2, 2): 99.40, (2, 3): 100.16,
}  # fmt: skip


def column(name: str, keys: list[str]) -> pd.Series:
    """Return the throughputs of a table of the slides, in Mb/s."""
    return published(name).set_index(keys)["throughput_mbit_per_s"]


def test_pairs_are_seven_by_seven_with_the_sums_and_cells_that_were_read_twice() -> None:
    """Two flows of the table together stay below the 100 Mb/s of the other slides, barely."""
    pairs = column("kaneko2007_pairs", ["rule", "against"]).unstack()  # noqa: PD010
    assert set(pairs.index) == set(pairs.columns) == set(RULES)
    one_way = pairs.loc[RULES, RULES].to_numpy()
    assert one_way.sum(axis=1) == pytest.approx(ROW_SUMS, abs=1e-9)
    assert one_way.sum(axis=0) == pytest.approx(COLUMN_SUMS, abs=1e-9)
    for (rule, against), printed in {
        ("Reno", "Reno"): 44.89, ("Reno", "HSTCP"): 10.32, ("Fusion", "Reno"): 50.02,
        ("ARENO", "CTCP"): 37.96, ("BIC", "Reno"): 81.23, ("CUBIC", "CUBIC"): 44.25,
    }.items():  # fmt: skip
        assert pairs.loc[rule, against] == printed
    both = one_way + one_way.T
    assert 80 < both.min() < both.max() < 100


def test_three_flows_have_their_sums_and_the_first_has_most() -> None:
    flows = column("kaneko2007_three_flows", ["slide", "panel", "flow"]).unstack()  # noqa: PD010
    assert flows.columns.tolist() == [1, 2, 3]
    assert flows.sum(axis=1).to_dict() == pytest.approx(FLOW_SUMS, abs=1e-9)
    assert (flows.idxmax(axis=1) == 1).all()


def test_every_row_of_the_slides_has_its_source() -> None:
    for name in ("kaneko2007_pairs", "kaneko2007_three_flows"):
        frame = published(name)
        assert frame["source"].str.contains("slide").all()
        assert frame["how_known"].str.contains("read twice").all()
