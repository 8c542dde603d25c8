"""The compiled search finds what the search by many states at once does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from markov.errors import FileError
from markov.files.states import table_search
from tests.markov.files.conftest import model_of
from tests.markov.files.states.conftest import LINE, assert_equal


@pytest.mark.parametrize("direct", [0, 1 << 26], ids=["hashed", "direct"])
def test_both_searches_find_the_same(
    direct: int, tmp_path: Path, searches: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_search, "DIRECT", direct)
    monkeypatch.setattr(table_search, "FIRST", 4)  # all arrays are enlarged on the way
    monkeypatch.setattr(table_search, "EDGES", 1)
    found = searches(model_of(tmp_path, LINE, N=9))
    assert found[0].Q.shape == (220, 220)  # all
    assert found[0].action_rates["pass"].max() > 1.0
    assert_equal(found)


def test_long_rows_are_sorted_together(
    tmp_path: Path, searches: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_search, "LONGEST_ROW", 1)
    assert_equal(searches(model_of(tmp_path, LINE)))


def test_several_initial_states_and_states_without_a_way_out(tmp_path: Path, searches: Any) -> None:
    text = """ctmc
    module m x : [0..40] ; y : [0..40];
    [] x > 0 -> x : (x' = x - 1); [] x > y -> 2 : (y' = y + 1); endmodule
    init x = 17 & y <= 2 | x = 19 & y = 5 endinit"""
    found = searches(model_of(tmp_path, text))
    assert len(found[0].initial) == 4
    assert (np.diff(found[0].Q.indptr) == 0).any()
    assert_equal(found)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "[] x < 30 -> 1 : (x' = x + 1)",
            r"line 4: a variable leaves its range from state \(x=20\)",
        ),
        ("[] x < 20 -> 9.5 - x : (x' = x + 1)", r"rate -0\.5 in state \(x=10\)"),
    ],
)
def test_faults_of_reachable_states_are_refused_as_ever(
    command: str, said: str, tmp_path: Path, searches: Any
) -> None:
    text = f"ctmc\nmodule m\nx : [0..20] init 0;\n{command};\nendmodule"
    with pytest.raises(FileError, match=said):
        searches(model_of(tmp_path, text))


def test_faults_of_states_that_are_never_reached_do_not_count(
    tmp_path: Path, searches: Any
) -> None:
    text = """ctmc
    module m x : [0..20] init 0;
    [] x != 10 -> 10 - x : (x' = x + 1); [] x = 5 -> 1 : (x' = 0); endmodule"""
    found = searches(model_of(tmp_path, text))
    assert found[0].Q.shape == (11, 11)
    assert_equal(found)


def test_a_rate_of_zero_excuses_a_way_out_of_the_range(tmp_path: Path, searches: Any) -> None:
    text = """ctmc
    module m x : [0..3] init 0;
    [] true -> 3 - x : (x' = x + 1); [] x = 3 -> 1 : (x' = 0); endmodule"""
    assert_equal(searches(model_of(tmp_path, text)))


def test_common_steps_and_windows(tmp_path: Path, searches: Any) -> None:
    """Steps of three between odd ends, and a variable without bounds that leaves its first window."""
    text = """ctmc
    module m x : [-4..40] init 2; far : int init 7;
    [] x < 38 -> 1 + x / 100 : (x' = x + 3); [] x > -1 -> 2 : (x' = x - 3); [] x = 5 -> 1 : (x' = 20);
    [] x = 2 & far < 9000 -> 1 : (far' = far + 3000); [] far > 7 -> 1 : (far' = far - 3000); endmodule"""
    model = model_of(tmp_path, text)
    assert [r.step for r in model.bound.ranges] == [3, 3000]
    found = searches(model)
    assert found[0].columns.codes.min(axis=1).tolist() == [-1, 7]
    assert found[0].columns.codes.max(axis=1).tolist() == [38, 9007]
    assert found[0].Q.shape == (14 * 4, 14 * 4)
    assert_equal(found)
