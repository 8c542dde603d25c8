"""The experiments of yang2001: options of ns-2, and rows of its outputs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from validation import table
from validation.generate.yang2001 import (
    all_ratios,
    priority,
    regulated_sources,
    unstated_parameters,
)
from validation.generate.yang2001.unstated_parameters import CASES

# The ratios of TCP to UDP that the cases of Table 4 leave out.


def test_with_the_ratios_of_the_other_cases_they_are_those_of_the_paper() -> None:
    (case,) = all_ratios.CASES
    ratios = {run["tcp_flows"] for run in case.runs}
    assert ratios.isdisjoint(priority.RATIOS)
    assert ratios | set(priority.RATIOS) == set(range(81, 100))
    assert {run["seed"] for run in case.runs} <= set(priority.SEEDS)
    assert len(case.runs) == 4 * 4 * 14 * 2


# Sources that control their flows: options and durations.


@pytest.mark.simulators
def test_ns2_repeats_the_bundled_rows_priority(repeats) -> None:
    repeats("yang2001/transfer-times", size=10_000, seed=1)


@pytest.mark.slow
@pytest.mark.simulators
def test_ns2_repeats_endless_flows(repeats) -> None:
    repeats("yang2001/bandwidth-shares", seed=2)


def test_an_environment_is_the_mechanisms_of_both_sources() -> None:
    options = priority.options({"environment": "cc/be", "tcp_flows": 81, "size": 10**6, "seed": 1})
    assert (options["s1"], options["s2"]) == ("cc", "be")
    assert (options["tcp1"], options["udp2"]) == (81, 19)


def test_one_parameter_differs_from_the_default() -> None:
    runs = priority.varied({"discipline": "FCFS"}, {"RED.buffer": (200,)}, (1, 2))
    assert [run["parameter"] for run in runs] == ["default"] * 2 + ["RED.buffer"] * 2
    assert (runs[-1]["discipline"], runs[-1]["buffer"], runs[-1]["value"]) == ("RED", 200, "200")
    assert "parameter" not in priority.options(runs[-1])


def test_a_run_lasts_as_long_as_its_load_needs() -> None:
    run = {"size": 10**6, "seed": 1}
    assert priority.duration(run) == pytest.approx(8 * 13 * 10**6 / 1e6 + priority.DRAIN)
    assert priority.duration({"size": 0, "limit": 200.1, "seed": 1}) == 200.1


# Rows of Table 4 without best effort: settings of the inference.


def test_settings_and_seeds_are_those_of_the_inference() -> None:
    (case,), (other,) = regulated_sources.CASES, unstated_parameters.CASES
    known = {run["setting"]: (run["seed"], run["chosen"]) for run in other.runs}
    assert {run["environment"] for run in case.runs} == {"cc/cc", "ts/ts"}
    assert len(case.runs) == 16 * 2 * 4
    assert all(known[run["setting"]] == (run["seed"], run["chosen"]) for run in case.runs)


# Settings as options of the two scripts; rows as the table's.

(CASE,) = CASES


def test_thresholds_of_red_are_three_apart() -> None:
    words = CASE.calls(CASE.runs[0])[0]
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert float(options["red_max"]) == pytest.approx(3 * float(options["red_min"]))
    assert (options["s1"], options["tcp1"], options["udp1"]) == ("be", "90", "10")


@pytest.mark.slow  # a run of ns-2 takes two seconds
@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed: apt-get install ns2")
def test_ns2_repeats_the_bundled_rows_unstated_parameters(tmp_path: Path) -> None:
    run = CASE.runs[0]
    rows = CASE.execute(run, tmp_path)["times"]
    bundled = table(CASE.name, "times")
    for name in ("setting", "environment", "discipline"):
        bundled = bundled[bundled[name] == run[name]]
    assert [row["time"] for row in rows] == bundled["time"].tolist()
