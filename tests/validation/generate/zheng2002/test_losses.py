"""Imposed losses, receivers of TFRC, and what zheng2002 leaves open."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from validation import table
from validation.generate.zheng2002 import loss, tfrc_trace
from validation.generate.zheng2002.unstated_parameters import CASES
from validation.inference.designs import settings

# Imposed loss: options, and rows from what ns-2 printed.


@pytest.mark.simulators
@pytest.mark.parametrize("case", ["periodic-loss", "independent-loss-tcp"])
def test_ns2_repeats_the_bundled_rows_loss(repeats, case: str) -> None:
    repeats(f"zheng2002/{case}", packets_per_loss=20, seed=2)


def test_the_decrease_is_given_as_what_is_kept() -> None:
    run = {"loss": "periodic", "rule": "TCP(1/5,1/8)", "packets_per_loss": 100, "seed": 3}
    options = loss.options(run)
    assert (options["increase"], options["decrease"]) == (0.2, 0.875)
    assert options["early"] == round(2.5 * 1.0 * 10)
    assert "decrease" not in loss.options({**run, "rule": "TFRC"})


def test_a_row_counts_drops_since_the_start(tmp_path: Path) -> None:
    (tmp_path / "drops.txt").write_text("d 0.5\nd 1.5\nd 1.51\nd 2.5\n")
    printed = (
        "start 1.0 duration 10.0 sent 300 drops 3 acked 290 resent 3 cuts 2 timeouts 0 rtt 0.05 "
        "window 10.0"
    )
    run = {"loss": "periodic", "rule": "TCP(1,1/2)", "packets_per_loss": 100, "seed": 1}
    (row,) = loss.read(run, tmp_path, [printed])["rates"]
    assert (row["loss_events"], row["p"], row["rate"]) == (2, 0.01, 30.0)


# A TFRC receiver: which intervals were closed, and which packets began them.


@pytest.mark.simulators
def test_ns2_repeats_the_bundled_rows_tfrc_trace(repeats) -> None:
    repeats("zheng2002/tfrc-receiver-trace", seed=1)


def test_closed_intervals_shift_the_history() -> None:
    old = [5, 40, 30, 20, 10]
    assert tfrc_trace.shifts(old, [9, 40, 30, 20, 10]) == 0
    assert tfrc_trace.shifts(old, [2, 7, 40, 30, 20]) == 1
    assert tfrc_trace.shifts(old, [1, 3, 7, 40, 30]) == 2
    with pytest.raises(RuntimeError, match="histories do not fit"):
        tfrc_trace.shifts(old, [1, 1, 1, 1, 1])


def test_events_begin_at_lost_packets() -> None:
    lost = {3, 10, 12, 20}
    packets = {s: {"lost": float(s in lost)} for s in range(30)}
    assert tfrc_trace.event_begins([7, 10], packets) == [10, 20]
    with pytest.raises(RuntimeError, match="do not fit the lost packets"):
        tfrc_trace.event_begins([7, 11], packets)


# The full product of what zheng2002 leaves open, as options of the dumbbell.

(CASE,) = CASES


def test_every_setting_of_every_pair_is_run_once() -> None:
    commands = [command for run in CASE.runs for command in CASE.commands(run)]
    assert len(set(commands)) == len(CASE.runs) == 1044
    gentle = [
        run for run in CASE.runs if run["factors"]["experiment"] == "TCP(1/5,1/8) with TCP(1,1/2)"
    ]
    assert len(gentle) == len(settings("zheng2002"))


def test_exchanged_parameters_are_those_of_the_other() -> None:
    chosen = {
        run["factors"]["decrease"]: run["options"]["kinds"].split(",")[0]
        for run in CASE.runs
        if run["factors"]["experiment"] == "TCP(1/5,1/8) with TCP(1,1/2)"
    }
    assert chosen == {
        "1-b": "sack/0.2/0.875/8", "b": "sack/0.2/0.125/8", "exchanged": "sack/0.125/0.8/8",
    }  # fmt: skip


def test_thresholds_and_buffer_follow_the_lower_threshold() -> None:
    for run in CASE.runs:
        options = run["options"]
        assert (options["high"], options["buffer"]) == (3 * options["low"], 6 * options["low"])


@pytest.mark.slow  # a run of ns-2 takes a second
@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed: apt-get install ns2")
def test_ns2_repeats_the_bundled_rows_unstated_parameters(tmp_path: Path) -> None:
    run = CASE.runs[-1]
    (row,) = CASE.execute(run, tmp_path)["link"]
    bundled = table(CASE.name, "link").iloc[-1]
    assert row == {name: bundled[name] for name in row}
