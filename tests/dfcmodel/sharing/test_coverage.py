"""`python -m benchmarks coverage`: its counts on calls whose coverage is known, its paths and its files."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks import coverage
from benchmarks.coverage import AQM, FUNCTIONS, Call, Row, counts, draw, read, table, write
from dfcmodel.sharing.convergence import is_drifting, is_settled
from hopflow.intervals import half_width, prediction_half_width


def calls_of(values: np.ndarray, settled: bool | None = True) -> list[Call]:
    return [
        Call(run.mean(), float(half_width(run)), float(prediction_half_width(run)), len(run), 1.0, settled)
        for run in values
    ]


def test_students_intervals_of_normal_values_are_counted_as_right() -> None:
    rng = np.random.default_rng(1)
    calls, truth = calls_of(rng.normal(size=(2000, 5))), {1.0: rng.normal(size=4000)}
    row = counts(calls, truth, truth)
    assert row["printed"] == row["calls"] == row["settled"] == 2000
    assert row["covered"] == row["settled_true"] == row["settled_possible"]
    assert 0.93 < row["covered"] / 2000 < 0.97
    assert row["predicted"] == pytest.approx(0.95, abs=0.01)
    assert row["width"] == pytest.approx(0.94, abs=0.02)  # the mean of s of five values, over their standard deviation


def test_a_width_is_measured_over_the_smallest_that_is_printed() -> None:
    calls = [Call(0.0, 0.5, 1.0, 4, 1.0, None, resolution=0.5)] * 2
    assert counts(calls, {1.0: np.array([0.0, 1e-6])}, {})["width"] == 1.0


def test_half_as_wide_intervals_are_counted_as_wrong() -> None:
    rng = np.random.default_rng(1)
    calls = [one._replace(half_width=0.5 * one.half_width) for one in calls_of(rng.normal(size=(500, 5)), None)]
    row = counts(calls, {1.0: rng.normal(size=4000)}, {})
    assert row["covered"] / 500 < 0.85


def test_a_shift_at_four_times_the_duration_is_no_settled_mean() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=4000)
    row = counts(calls_of(rng.normal(size=(200, 5))), {1.0: truth}, {1.0: truth + 5.0})
    assert row["settled"] == 200
    assert row["settled_true"] < 60


def test_one_run_prints_no_interval() -> None:
    row = counts(calls_of(np.ones((3, 1)), None), {1.0: np.ones(4)}, {})
    assert (row["calls"], row["printed"], row["covered"]) == (3, 0, 0)
    assert math.isnan(row["predicted"])


def test_the_error_of_the_truth_widens_an_interval() -> None:
    """Two runs as truth of two: the standard error is that of a difference."""
    call = Call(0.0, 1.0, 2.0, 2, 1.0, None)
    assert coverage.contains(call, np.array([0.4, 2.4]), math.sqrt(2.0))
    assert not coverage.contains(call, np.array([0.5, 2.5]), math.sqrt(2.0))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_paths_of_all_kinds_take_turns_and_depend_on_the_seed(function: str) -> None:
    settings = [draw(88, function, number) for number in range(12)]
    assert [one.kind for one in settings[: len(FUNCTIONS[function])]] == list(FUNCTIONS[function])
    assert (AQM in FUNCTIONS[function]) == (function != "coexist")
    for one in settings:
        assert (one.rules[0] == one.rules[1]) or one.kind not in coverage.KINDS[:2]
        assert (one.loss > 0.0) == (one.kind == "random loss")
        assert (one.duration is None) == (one.kind != "short runs")
    assert draw(88, function, 3) == settings[3] != draw(89, function, 3)


def test_rows_are_written_and_read_again(tmp_path) -> None:
    row = Row(
        "coexist", 0, "equal flows", "a, b", "share", 40, 40, 38, 0.94, 0.9, 20, 19, 36, 0.5, 0.1, 0.5, 30, 88, 1.5
    )
    write(tmp_path / "rows.csv", [row])
    (again,) = read(tmp_path / "rows.csv", 88, 30)
    assert repr(again) == repr(row)
    assert not read(tmp_path / "rows.csv", 88, 31)  # another truth is measured again
    assert "| `coexist`, share | equal flows | 1 | 1 | 95.0% (95%) | 94.0% | 0.90 | 50.0% | 95.0% | 52.8% |" in table(
        [row]
    )


# What `settled` and `drifting` are judged by.


def test_a_change_between_the_halves_is_not_settled_and_a_large_one_drifts() -> None:
    rng = np.random.default_rng(2)
    values = 0.5 + 0.02 * rng.normal(size=5)
    noise = 0.02 * rng.normal(size=5)
    half = float(half_width(values))
    assert is_settled(values, values - noise, values + noise, half)
    for drift in (0.03, 0.2):
        assert not is_settled(values, values - drift, values + drift, half)
        assert is_drifting(values - drift, values + drift)


def test_runs_that_are_close_by_chance_are_not_settled() -> None:
    """Their halves differ by far more than the runs, and the interval is too narrow."""
    values = np.array([0.5, 0.501, 0.499, 0.5, 0.5005])
    halves = 0.05 * np.array([1.0, -1.0, 0.5, -0.5, 0.0])
    assert not is_settled(values, values - halves, values + halves, float(half_width(values)))
    assert not is_settled(values[:1], values[:1], values[:1], math.nan)
    assert is_settled(np.ones(5), np.ones(5), np.ones(5), 0.0)  # nothing is random
