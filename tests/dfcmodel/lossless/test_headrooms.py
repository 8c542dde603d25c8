"""Headroom in parts, ranges, tables and bad input."""

from __future__ import annotations

import pytest

from dfcmodel import headroom, headroom_table


def test_without_resume_above_xon_a_port_runs_dry(best_by_enumeration) -> None:
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


def test_table_has_a_row_per_rate_and_a_column_per_cable() -> None:
    table = headroom_table(["100Gbps", "400Gbps"], ["5m", "300m"], cell=192)
    assert table.loc["400Gbps", "300m"] == headroom("400Gbps", "300m", cell=192).bytes
