"""Headroom: the worst case against brute force and frames, units, bad input, published values."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from dfcmodel import PausedLink, headroom, headroom_table, search_worst
from dfcmodel.lossless import published, witness
from dfcmodel.lossless._cli import commands
from dfcmodel.lossless.worst_cases import largest_burst, largest_drain


def random_link(rng, *, small=None, top=9600):
    """Return a link of 1 to 800 Gb/s and 1 m to 80 km with any sizes, cells and delays."""
    rate = int(1e9 * 800 ** rng.random())
    lossless = int(rng.integers(64, top + 1))
    cell = 1 if rng.random() < 0.2 else int(rng.integers(64, min(lossless, 400) + 1))
    share = float(rng.choice([0.0, 1.0, rng.random()])) if small is None else small
    cable = 80_000 ** rng.random() * 5e-9
    delays = [cable, *(rng.random(4) * [3e-6, 1e-6, 1e-7, 1e-6])]
    return PausedLink(
        rate, int(rng.integers(lossless, top + 1)), lossless, cell, share, int(rng.integers(1, 9)),
        *(math.ceil(rate * delay) for delay in delays),
    )  # fmt: skip


def best_by_enumeration(link, budget, *, head=True):
    """Return the most cells by dynamic programming over all sizes: any order of any frames."""
    sizes = np.arange(64, link.lossless_mtu + 1)
    cells = -(-sizes // link.cell)
    last = int(cells.max())
    best = [0] * (budget + 1)
    for b in range(1, budget + 1):
        fits = sizes + 20 <= b
        weights = b - sizes[fits] - 20
        values = cells[fits] + [best[w] for w in weights]
        best[b] = max(best[b - 1], int(values.max()) if len(values) else 0)
    if not head:
        return best[budget] + last
    found = 0
    for size in sizes:  # the frame that crosses, from each of its cells on
        for first in range(0, int(size), link.cell):
            if (left := int(size) - first) <= budget:
                found = max(found, -(-left // link.cell) + best[budget - left] + last)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_worst_case_is_the_best_of_all_orders_of_all_sizes(seed) -> None:
    rng = np.random.default_rng(seed)
    lossless = int(rng.integers(64, 300))
    cell = 1 if seed % 3 == 0 else int(rng.integers(64, lossless + 1))
    link = PausedLink(10**10, 300, lossless, cell, 1.0, response=int(rng.integers(0, 4000)))
    assert largest_burst(link).cells == best_by_enumeration(link, link.window // 8 - 12)
    for window in (8, 1000, 5000):
        budget = (window - 1) // 8
        assert largest_drain(link, window) == best_by_enumeration(link, budget, head=False)


def test_a_share_of_small_frames_takes_the_best_numbers_of_both() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        lossless, share = int(rng.integers(200, 1500)), float(rng.random())
        link = PausedLink(
            10**10,
            1500,
            lossless,
            int(rng.integers(64, 193)),
            share,
            response=int(rng.integers(40_000)),
        )
        found = largest_burst(link)
        small = found.runs[0][0] if len(found.runs) > 1 else lossless
        budget, best = link.window // 8 - 12 - 1, 0
        for large in range(budget // (lossless + 20) + 1):
            left = budget - large * (lossless + 20)
            count = min(left // (small + 20), int(share / (1 - share) * (large + 1) + 1e-9))
            heads = 1 + (left - count * (small + 20)) // link.cell
            heads = min(heads, link.cells_of(lossless))
            cells = heads + count * link.cells_of(small) + (large + 1) * link.cells_of(lossless)
            best = max(best, cells)
        assert found.cells >= best
        assert found.cells <= max(
            best, largest_burst(PausedLink(**{**vars(link), "small_packets": 0.0})).cells
        )


def test_a_thousand_headrooms_are_filled_to_the_last_cell_and_one_less_loses() -> None:
    rng = np.random.default_rng(24)
    for _ in range(1000):
        link = random_link(rng)
        found = witness(link)
        assert found.headroom == largest_burst(link).cells
        assert found.holds, link


def test_a_witness_would_notice_a_headroom_that_is_too_large() -> None:
    link = PausedLink(10**10, 9216, 1500, cell=192, cable=1500, response=34304)
    fills = witness(link).fills
    more = type(fills)(**{**vars(fills), "capacity": fills.capacity + 1}).run()
    assert more.peak == fills.capacity
    assert more.lost == 0


@pytest.mark.parametrize("small", [0.0, 1.0])
def test_no_search_over_sizes_and_phases_finds_more(small) -> None:
    rng = np.random.default_rng(7)
    gaps = []
    for seed in range(10):
        link = random_link(rng, small=small, top=1500)
        link = PausedLink(**{**vars(link), "cable": link.cable % 20_000, "rate": 10**10})
        gaps.append(largest_burst(link).cells - search_worst(link, 400, rng=seed))
    assert min(gaps) >= 0


def test_without_resume_above_xon_a_port_runs_dry() -> None:
    link = headroom("1Gbps", "5m", 400, cell=144, small_packets=1.0)
    loop = link.high.window + 64 + 8 * 400
    assert link.xon_cells == best_by_enumeration(link.high, (loop - 1) // 8, head=False)


def test_items_add_up_and_ranges_become_pairs() -> None:
    found = headroom(
        "400Gbps", ("100m", "300m"), 9216, 4096, 144, interface=("100ns", "300ns"),
        pipeline=200e-9, gearbox="50 ns", classes=2, small_packets=(0.0, 0.5),
    )  # fmt: skip
    low, high = found.bytes
    assert [sum(item.bytes[n] for item in found.items) for n in (0, 1)] == [low, high]
    assert found.cells == (low // 144, high // 144)
    assert found.port_bytes == (2 * low, 2 * high)
    assert sum(item.share for item in found.items) == pytest.approx(1.0, rel=1e-12)
    ends = [headroom("400Gbps", c, 9216, 4096, 144, interface=i, pipeline=200e-9, gearbox="50 ns",
                     classes=2, small_packets=s).bytes
            for c, i, s in (("100m", "100ns", 0.0), ("300m", "300ns", 0.5))]  # fmt: skip
    assert ends == [low, high]
    cable = next(each for each in found.sensitivities if each.name == "cable")
    more = headroom("400Gbps", "1300m", 9216, 4096, 144, interface="300ns", pipeline=200e-9,
                    gearbox="50 ns", classes=2, small_packets=0.5)  # fmt: skip
    # 1 km more, to a frame of 4096 B and its cells in 500 kB
    assert (more.bytes - high) / 1000 == pytest.approx(cable.per_unit, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((400, "300m"), "rate = 400.*'400Gbps'"),
        (("400 packets/s", "300m"), "rate = '400 packets/s'"),
        (("400GB/s", "300m"), "rate = '400GB/s'"),
        (("400Gbps", 300), "cable = 300.*'300m'"),
        (("400Gbps", "300"), "cable = '300'.*one of m, km, ft"),
        (("400Gbps", "120km"), "cable = 120000.*100 km"),
        (("400Gbps", ("2km", "1km")), "cable.*low end"),
        (("400Gbps", "300m", 9216, 9600), "lossless_mtu = 9600"),
        (("400Gbps", "300m", 9216, 1024, 2048), "cell = 2048.*64..1024"),
        (("400Gbps", "300m", 9216, 1024, 32), "cell = 32"),
        (("3Gbps", "300m"), "response at 3 Gb/s"),
    ],
)
def test_bad_input_is_named(arguments, part) -> None:
    with pytest.raises(ValueError, match=part):
        headroom(*arguments)


@pytest.mark.parametrize(
    ("keywords", "part"),
    [
        ({"response": "100 quanta"}, "response = '100 quanta'.*905 quanta.*response_measured"),
        ({"response": "1.2 m"}, "response = '1.2 m'.*quanta"),
        ({"pipeline": -1e-6}, "pipeline = -1e-06"),
        ({"velocity": 5e-9}, "velocity = 5e-09.*2e8 is 5 ns/m"),
        ({"small_packets": 50}, "small_packets = 50"),
        ({"classes": 9}, "classes = 9"),
    ],
)
def test_bad_parameters_are_named(keywords, part) -> None:
    with pytest.raises(ValueError, match=part):
        headroom("400Gbps", "300m", **keywords)


def test_command_prints_the_parts_and_json(tmp_path) -> None:
    arguments = ["--rate", "400Gbps", "--cable", "300m", "--cell", "192"]
    shown = CliRunner().invoke(commands, arguments, catch_exceptions=False)
    assert "225,792 B (1,176 cells)" in shown.output
    plot = tmp_path / "new" / "parts.png"
    made = CliRunner().invoke(commands, [*arguments, "--json", "--plot", str(plot)])
    assert json.loads(made.output)["bytes"] == headroom("400Gbps", "300m", cell=192).bytes
    assert plot.stat().st_size > 1000


def test_table_has_a_row_per_rate_and_a_column_per_cable() -> None:
    table = headroom_table(["100Gbps", "400Gbps"], ["5m", "300m"], cell=192)
    assert table.loc["400Gbps", "300m"] == headroom("400Gbps", "300m", cell=192).bytes


def kib(parts) -> int:
    """Return a headroom rounded up to KiB, as SONiC does."""
    return math.ceil(sum(parts.values()) / 1024) * 1024


@pytest.mark.parametrize("pair", published.SONIC_PAIRS)
def test_published_pairs_come_out_to_the_byte_with_1000_and_not_with_1024(pair) -> None:
    assert kib(published.sonic_xoff(pair.rate, pair.cable, tile=pair.tile)) == pair.xoff
    exact = sum(published.sonic_xoff(pair.rate, pair.cable, tile=pair.tile).values())
    # the tool prints hundredths of a KiB; it has 143 B more than the formula, the same in all pairs
    assert pair.tool * 1024 - exact == pytest.approx(143, abs=5.2)
    if pair.cable > 100:
        old = published.sonic_xoff(pair.rate, pair.cable, tile=pair.tile, kilo=1024)
        assert kib(old) < pair.xoff


@pytest.mark.parametrize(
    ("table", "tile", "cell", "lossless", "left_out"),
    [
        (published.SN4280, False, 144.0, 9216.0, [(400e9, 1500.0), (400e9, 2000.0)]),
        (
            published.SN5610N,
            True,
            192.0,
            4096.0,
            [key for key in published.SN5610N if key[1] == 1000.0],
        ),
    ],
)
def test_published_tables_are_two_constants(table, tile, cell, lossless, left_out) -> None:
    # A constant, and the factor of cells that packets of the size named have with half of them small.
    factor = 1 + 64 / ((64 + lossless) / 2) * (cell / 64 - 1)
    delayed = {}
    for rate, cable in table:
        parts = published.sonic_xoff(rate, cable, mtu=0.0, tile=tile)
        delayed[rate, cable] = parts["cable"] + parts["response"] + parts["interface"]
    low = max(
        xoff - 1024 - factor * delayed[key] for key, xoff in table.items() if key not in left_out
    )
    high = min(xoff - factor * delayed[key] for key, xoff in table.items() if key not in left_out)
    assert low < high  # one constant explains all rows to the KiB they are rounded to
    for key in left_out:
        assert not low < table[key] - factor * delayed[key] <= low + 2048


def test_white_paper_numbers() -> None:
    parts = published.white_paper_xoff(10e9, 100.0, 9216.0, 2240.0)
    assert round(parts["cable"] / 2) == 641  # "641 bytes for every 100 meters"
    ours = headroom("10Gbps", "100m", 9216, 2240, response="60 quanta", response_measured=True,
                    velocity=1e3 / 5.13e-6)  # fmt: skip
    items = {item.name: item.bytes[1] for item in ours.items}
    differences = {name: items[name] - value for name, value in parts.items()}
    assert differences == pytest.approx(
        {
            "frame leaving the receiver": 20,
            "cable": 0,
            "response": 0,
            "frame leaving the sender": 0,
        },
        abs=0.5,
    )
    rest = sum(items.values()) - sum(parts.values()) - sum(differences.values())
    assert rest == pytest.approx(items["pause frame"] + items["preambles, gaps and phase"], abs=0.5)
