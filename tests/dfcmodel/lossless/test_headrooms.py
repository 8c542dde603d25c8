"""Headroom in parts, ranges and bad input."""

from __future__ import annotations

import pytest

from dfcmodel import headroom


def test_without_resume_above_xon_a_port_runs_dry(best_by_enumeration) -> None:
    link = headroom("1Gbps", "5m", 400, cell=144, small_packets=1.0)
    loop = link.high.window + 64 + 8 * 400
    assert link.xon_cells == best_by_enumeration(link.high, (loop - 1) // 8, head=False)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((400, "300m"), "rate = 400.*'400Gbps'"),
        (("400 packets/s", "300m"), "rate = '400 packets/s'"),
        (("400GB/s", "300m"), "rate = '400GB/s'"),
        (("400Gbps", 300), "cable = 300.*'300m'"),
        (("400Gbps", "300"), "cable = '300'.*one of m, km, ft"),
        (("400Gbps", "120km"), "cable = '120km'.*100 km"),
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
