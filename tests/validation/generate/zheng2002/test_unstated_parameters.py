"""The full product of what zheng2002 leaves open, as options of the dumbbell."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from validation import table
from validation.generate.zheng2002.unstated_parameters import CASES
from validation.inference.designs import settings

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
def test_ns2_repeats_the_bundled_rows(tmp_path: Path) -> None:
    run = CASE.runs[-1]
    (row,) = CASE.execute(run, tmp_path)["link"]
    bundled = table(CASE.name, "link").iloc[-1]
    assert row == {name: bundled[name] for name in row}
