"""Headroom in parts, ranges and bad input."""

from __future__ import annotations

import pytest

from dfcmodel import headroom


def test_without_resume_above_xon_a_port_runs_dry(best_by_enumeration) -> None:
    link = headroom("1Gbps", "5m", 400, cell=144, small_packets=1.0)
    loop = link.high.window + 64 + 8 * 400
    assert link.xon_cells == best_by_enumeration(link.high, (loop - 1) // 8, head=False)


def test_merged_pauses_and_a_queued_resume_change_the_window_by_whole_frames() -> None:
    plain, merged, queued = (
        headroom("100Gbps", "100m", classes=8, **given)
        for given in ({}, {"merged": True}, {"resume_queued": True})
    )
    assert plain.high.window - merged.high.window == 7 * 84 * 8
    assert queued.high.window - plain.high.window == 84 * 8
    assert {item.name: item.bytes[1] for item in queued.items}["own resume frame"] == 84.0
    for found in (plain, merged, queued):
        assert found.witness().holds
        assert sum(item.bytes[1] for item in found.items) == found.bytes


def test_delays_that_are_not_given_are_said_to_count_nothing() -> None:
    rows = headroom("400Gbps", "300m").summary()
    assert rows["pipeline"] == rows["interface"] == rows["gearbox"] == "0 (not given)"
    given = headroom("400Gbps", "300m", cell=192, pipeline="0ns", small_packets=1).summary()
    assert not {"pipeline", "cells", "small frames"} & set(given)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((400, "300m"), "rate = 400.*'400Gbps'"),
        (("400 packets/s", "300m"), "rate = '400 packets/s'"),
        (("400GB/s", "300m"), "rate = '400GB/s'"),
        (("400Gbps", 300e3), "cable = 300000"),
        (("400Gbps", "300"), "cable = '300'.*a unit of m, km or ft"),
        (("400Gbps", "210km"), "cable = '210km'.*200 km"),
        (("1.6Tbps", "3m"), "response at 1600 Gb/s.*'579.2 ns' is the time of 800 Gb/s"),
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
        ({"exceeded": 1e-9}, "exceeded = 1e-09: needs small_packets between 0 and 1"),
        ({"smallest": 10_000}, "smallest = 10000"),
        ({"merged": 2}, "merged = 2"),
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
