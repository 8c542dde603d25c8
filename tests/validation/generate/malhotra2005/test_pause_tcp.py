"""TCP over two bridges: options, and rows from what ns-3 printed."""

from __future__ import annotations

import pytest

from validation.generate.malhotra2005 import pause_tcp


@pytest.mark.simulators
def test_ns3_repeats_the_bundled_rows(repeats) -> None:
    repeats("malhotra2005/tcp-flows", seed=20)


def test_pause_on_and_off_have_the_same_options_but_the_thresholds() -> None:
    case = next(case for case in pause_tcp.CASES if case.name.endswith("tcp-flows"))
    on, off = pause_tcp.calls(case.runs[0])[:2]
    assert set(on) ^ set(off) == {"--high=15", "--low=15", "--high=20", "--low=20"}


def test_longer_epochs_are_measured_longer() -> None:
    durations = [pause_tcp.duration(rtt) for rtt in pause_tcp.RTTS]
    assert durations == sorted(durations)
    assert pause_tcp.simulated_seconds({"points": [{"rtt": 5.0}]}) == 4000.0 + 200.0


def test_a_failed_connection_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="1 connections failed"):
        pause_tcp._values({"rtt": 1.0}, {"failed": 1.0})


def test_many_seeds_repeat_the_points_of_one_rtt() -> None:
    many = pause_tcp.CASES[-1]
    assert {point["rtt"] for run in many.runs for point in run["points"]} == {20.0}
    assert len(many.runs) == 1100
