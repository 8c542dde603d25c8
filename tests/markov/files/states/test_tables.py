"""Transitions as tables: which variables they are over, and when there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from markov.files.states import tables
from markov.files.states.moves import moves_of
from markov.files.states.tables import Tables, tabulated
from tests.markov.files.conftest import model_of
from tests.markov.files.states.conftest import LINE


def of(tmp_path: Path, text: str = LINE) -> Tables | None:
    bound = model_of(tmp_path, text).bound
    return tabulated(moves_of(bound), bound, ["lost", "pass"])


def test_commands_of_a_module_and_an_action_share_a_table(tmp_path: Path) -> None:
    found = of(tmp_path)
    assert found is not None
    # first: "", lost; second: ""; pass of both together
    assert sorted(found.rewarded.tolist()) == [-1, -1, 0, 1]
    assert len(found.part_tables) - 1 == len(found.first) == 5
    assert found.most == 1 + 2 * 1 + 1 + 2  # free, pass, lost; two of the second machine alone
    assert not found.faults.any()


def test_tables_that_would_be_large_stay_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MERGED", 1)
    found = of(tmp_path)
    assert found is not None
    assert len(found.first) > 5


@pytest.mark.parametrize("limit", ["LARGEST", "MAX_TRANSITIONS", "MAX_ROWS", "MAX_GROUPS"])
def test_beyond_the_limits_there_are_none(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert of(tmp_path) is not None
    monkeypatch.setattr(tables, limit, 0)
    assert of(tmp_path) is None


def test_what_fails_in_states_that_may_not_be_reached_is_left_to_the_other_search(
    tmp_path: Path,
) -> None:
    text = """ctmc
    module m x : [0..3] init 1;
    [] true -> 1 : (x' = mod(3, x)); endmodule"""
    assert of(tmp_path, text) is None


def test_variables_need_bits_of_their_own(tmp_path: Path) -> None:
    variables = "\n".join(f"x{k} : [0..2] init 0;" for k in range(35))
    reset = " & ".join(f"(x{k}'=0)" for k in range(1, 35))
    text = f"ctmc module m {variables} [] x0<2 -> 1 : (x0'=x0+1); [] x0=2 -> 1 : {reset}; endmodule"
    assert of(tmp_path, text) is None
