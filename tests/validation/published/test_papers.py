"""The tables printed in the papers and RFCs: every cell read twice, and what they imply together.

A parser of the papers' texts made the files; AGAIN is the second reading, by eye, without the files.
The texts are not part of the repository: with HOPFLOW_PAPERS naming a folder that has them, the parser
is run again and compared too.
"""

from __future__ import annotations

import os
import re
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

AGAIN = {
    "yang2001_table1": """
        TCP1 2.6 13.5 122.9 1080.1 10462.1
        TCP2 2.7 14.7 121.7 1066.7 10475.8
        TCP3 2.7 16.4 207.5 1089.9 7488.9
        TCP4 2.7 14.8 121.8 1073.1 10436.5
        UDP1 0.8 5.0 48.5 474.7 4769.6
        UDP2 1.4 6.0 48.0 480.8 4794.8
        UDP3 0.7 5.3 48.1 481.0 4802.3
        TCP5 2.6 14.5 122.8 1079.1 10482.2
        TCP6 2.7 14.6 124.8 1080.7 9851.1
        TCP7 2.8 15.5 129.9 710.3 7544.9
        UDP4 0.8 4.2 46.5 479.2 4797.0
        UDP5 0.6 3.2 47.8 480.5 4782.4
        UDP6 0.9 5.1 49.2 471.6 4788.6""",
    "yang2001_table4": """
        290.39 612.04 1084.67 1581.06 802.65 1390.16 303.58 688.02 1228.05 1661.27 961.70 1450.27
        250.98 735.68 1626.65 2459.73 1197.29 2037.99 264.20 790.87 1623.42 2423.65 1191.06 2033.07
        258.35 653.51 1244.00 1678.98 1025.00 1484.29 260.94 596.36 1068.91 1541.42 856.28 1326.45
        276.19 588.35 1201.76 1697.74 1050.77 1602.53 285.77 680.83 1236.64 1724.79 1103.02 1613.02
        450.42 1114.75 1447.57 1910.88 1533.65 1719.07 450.72 1114.60 1452.96 1910.29 1515.99 1723.58
        451.61 1115.23 1438.84 1889.38 1527.89 1726.63 451.81 1118.65 1442.59 1893.43 1535.82 1731.57
        454.44 1147.63 1479.98 1928.71 1421.80 1653.31 459.33 1140.56 1481.73 1927.36 1425.11 1653.11
        451.09 1114.12 1438.51 1902.18 1529.15 1748.05 451.29 1117.36 1449.24 1880.19 1556.94 1756.44
        582.19 1232.33 1585.42 1937.91 1402.76 1758.36 754.87 722.30 767.47 752.26 80.17 84.51
        579.35 1979.88 2679.95 3318.67 2305.03 3047.99 993.82 1003.11 1003.19 1079.70 88.41 89.87
        579.52 1158.97 1551.12 1932.87 1387.72 1748.04 625.81 634.59 642.28 641.01 81.02 84.95
        483.67 1187.39 1613.88 1994.12 1486.93 1941.99 718.41 709.83 722.19 704.19 148.70 148.03
        1214.91 1787.47 2265.74 2840.17 1741.27 2058.57 593.68 588.24 586.53 590.25 79.95 83.20
        1048.57 1637.40 2145.01 2687.73 1743.89 2078.98 761.24 774.40 743.56 800.43 90.62 92.28
        1178.34 1750.06 2237.68 2760.54 1704.01 2015.05 528.78 533.03 526.32 532.72 80.41 84.41
        1180.96 1768.99 2272.46 2880.33 1745.17 2045.72 559.36 560.88 556.00 537.61 152.49 151.82
        1004.34 1030.48 1000.94 1029.12 145.64 151.82 1111.01 1118.17 1126.82 1141.71 139.29 146.16
        1907.32 1997.61 1924.30 2023.77 157.10 173.75 1626.96 1707.24 1614.93 1706.87 164.29 164.99
        930.06 947.05 890.14 975.90 159.14 166.73 961.78 957.40 984.74 996.37 158.44 166.88
        1068.02 1060.22 1056.63 1049.85 240.06 277.87 1086.83 1056.28 1057.76 1052.27 257.96 256.47""",
    "yang2001_table6": """
        22.517 72.429 199.938 241.349 148.040 260.736 19.667 89.446 196.809 218.273 202.538 248.081
        17.258 112.100 313.526 381.021 263.624 402.590 16.700 202.259 331.519 370.441 285.425 372.951
        16.538 86.521 239.346 262.605 263.354 270.553 13.773 123.985 226.898 235.124 207.280 254.656
        15.343 93.327 307.992 316.727 314.763 328.746 16.436 176.114 229.475 273.345 248.735 280.365
        27.919 39.522 30.074 18.342 37.844 43.350 27.919 39.191 29.401 16.292 54.336 39.405
        27.999 39.377 29.616 28.104 54.286 41.867 27.999 39.877 29.087 20.891 50.322 34.866
        25.765 38.634 34.566 26.690 57.413 36.154 33.895 37.015 26.838 29.518 59.306 38.962
        27.955 39.456 29.285 38.297 53.982 38.232 27.955 39.889 30.439 29.491 26.245 12.653
        57.343 161.123 184.227 170.965 171.031 156.047 104.166 79.531 119.173 100.266 43.787 41.791
        82.326 189.004 254.046 341.464 227.877 263.819 137.282 132.209 146.395 140.546 27.010 25.289
        79.373 181.252 178.283 177.972 189.809 184.889 64.801 56.536 55.394 69.448 43.992 41.861
        36.247 180.497 152.119 153.947 147.039 121.845 58.455 49.443 45.035 41.996 14.786 14.630
        33.812 28.092 38.032 51.455 16.024 17.573 36.756 33.581 29.353 31.377 43.644 40.908
        61.972 53.980 34.040 50.787 101.308 62.246 135.728 136.586 139.961 119.835 26.628 24.589
        45.988 21.583 36.292 45.825 18.054 20.184 25.924 17.051 27.381 32.826 43.979 41.851
        21.151 20.548 16.173 33.261 42.455 23.705 36.456 31.500 31.187 34.650 14.002 13.858
        91.992 95.689 88.126 109.32 85.349 81.708 89.560 98.907 82.092 90.487 81.233 77.753
        286.383 250.773 262.411 262.335 62.128 49.027 229.266 279.655 232.57 258.491 57.219 55.615
        72.812 90.609 75.115 73.894 87.951 83.680 75.985 78.553 72.776 64.789 87.444 83.869
        86.711 61.566 87.851 86.688 37.404 33.572 110.706 103.583 98.643 93.170 41.795 43.027""",
    "kaneko2007_pairs": """
        44.89 40.24 42.35 38.58 10.32 10.44 18.58
        50.02 43.61 45.96 42.95 21.05 11.39 18.65
        40.52 44.01 43.24 37.96 16.47 12.19 19.36
        53.89 46.53 50.53 44.91 20.82 13.79 15.03
        78.22 61.41 68.15 65.81 43.21 29.88 29.65
        81.23 78.99 78.04 76.21 59.72 44.81 45.39
        71.71 70.33 68.44 73.99 59.57 43.91 44.25""",
    "kaneko2007_three_flows": """
        36.62 31.15 33.45
        51.07 28.69 16.54
        40.78 30.96 27.34
        35.56 33.32 31.55
        45.81 27.09 26.50
        38.37 32.86 28.93""",
    "takano2006_table1": """
        370 0.1 1800 0.1 5000
        1230 0.1 1800 0.1 5000
        3700 0.1 1800 0.1 5000
        12300 0.1 1800 0.1 10000
        37000 0.1 1800 0.1 20000
        123000 0.1 1800 0.1 100000""",
    "takano2006_table2": """
        4S  16  10000  same as scenario 4
        4L  60  20000  same as scenario 4""",
    "takano2006_table3": """
        4R  Reno  same as scenario 4  same as scenario 4
        4N  Newreno  same as scenario 4  same as scenario 4
        4V  Vegas  same as scenario 4  same as scenario 4""",
    "takano2006_table4": """
        4V  Vegas  same as scenario 4  same as scenario 4
        4V'  Vegas  400  same as scenario 4""",
}
SIZES = ["10 KB", "100 KB", "1 MB", "10 MB", "100 MB"]
RULES = ["Reno", "Fusion", "ARENO", "CTCP", "HSTCP", "BIC", "CUBIC"]
CROSSED = list(product(ENVIRONMENTS, DISCIPLINES, [1, 2], CLASSES))
# What identifies each cell of the second reading, in its order, and the column that has it.
CELLS: dict[str, tuple[list[str], Sequence[tuple[object, ...]], list[str]]] = {
    "yang2001_table1": (
        ["flow", "size_printed"],
        [(row.split()[0], s) for row in AGAIN["yang2001_table1"].split("\n")[1:] for s in SIZES],
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
    table = published(name).set_index(index)
    assert set(table.index.to_flat_index()) == {key if len(index) > 1 else key[0] for key in keys}
    flat = [cell for row in cells(AGAIN[name]) for cell in row]
    assert len(flat) == len(keys) * len(columns)
    for number, cell in enumerate(flat):
        key, column = keys[number // len(columns)], columns[number % len(columns)]
        found = table.loc[key if len(index) > 1 else key[0], column]
        if re.fullmatch(r"[\d.]+", cell):
            wanted = float(cell) * TO_SI.get(column, 1)
            assert float(found) == pytest.approx(wanted, rel=1e-12), (key, column)
        else:
            assert found == cell, (key, column)


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
    cases += [
        (rates.loc["4"], row["nodes"], row["max_window_packets"]) for _, row in sizes.iterrows()
    ]
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
