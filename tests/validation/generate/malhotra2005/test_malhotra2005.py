"""The experiments of malhotra2005: options of ns-3, and rows of its outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from validation.generate.malhotra2005 import pause_chain, pause_tcp

# The pause tandem: options, and rows from the counts of ns-3's batches.

OFF = next(case for case in pause_chain.CASES if case.name.endswith("pause-off"))


@pytest.mark.simulators
def test_ns3_repeats_the_bundled_rows_pause_chain(repeats) -> None:
    repeats("malhotra2005/pause-off", seed=1)


def test_a_call_for_every_parameter_set() -> None:
    calls = pause_chain.calls(OFF.runs[2])
    assert len(calls) == len(OFF.runs[2]["points"]) == 4
    assert all("--seed=3" in words and "--rates=25,1" in words for words in calls)
    assert {words[4] for words in calls} == {
        "--paused-rate=2",
        "--paused-rate=50",
        "--paused-rate=0.5",
    }


def test_rows_are_means_of_batches_with_students_half_width(tmp_path: Path) -> None:
    run = {"seed": 1, "points": OFF.runs[0]["points"][:1]}
    counts = np.random.default_rng(1).integers(100, 200, (pause_chain.BATCHES + 1, 14))
    printed = "\n".join(" ".join(map(str, line)) for line in counts)
    (row,) = pause_chain.read(run, tmp_path, [printed])["measures"]
    rates = counts[1:, 11] / (run["points"][0]["seconds"] / pause_chain.BATCHES)
    low, high = stats.t.interval(0.95, 9, rates.mean(), stats.sem(rates))
    assert row["throughput"] == pytest.approx(rates.mean())
    assert row["throughput_half_width"] == pytest.approx((high - low) / 2)
    assert row["delivered"] == counts[:, 11].sum()
    with pytest.raises(RuntimeError, match="table of shape"):
        pause_chain.read(run, tmp_path, ["1 2 3"])


# TCP over two bridges: options, and rows from what ns-3 printed.


@pytest.mark.simulators
def test_ns3_repeats_the_bundled_rows_pause_tcp(repeats) -> None:
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
