"""Commands as rules of single states: the same expressions, transitions and rewards as over columns of states."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from markov import read_prism
from markov.errors import FileError
from markov.files.parsing.property_parsing import parse_property
from markov.files.states.state_rules import FileRules, StateExpressions
from tests.markov.files.conftest import model_of
from tests.markov.files.states.conftest import LINE

NUMBERS = (
    "x + y * 2 - 3", "-(x - y)", "x / y", "y / x", "0.5 * x ^ 2", "pow(2, x)", "pow(0.5, y)", "pow(y, 3)", "pow(x, 0.5)",
    "mod(x, 3)", "floor(x / 2)", "ceil(x / 2)", "round(x / 2)", "round(x)", "log(x + 1, 2)", "log(x, 2)", "min(x, y, 1.5)",
    "max(x, y)", "on ? x : 2.5", "x = 1 ? 7 : x = 2 ? 8 : 9", "twice + 1", "1 / 3 * x", "pow(y - 2, 2.0)", "pow(1.0 * y, -1)",
)  # fmt: skip
TRUTHS = (
    "x > y", "x >= 2 & !on", "x = y | on", "on => x < 2", "on <=> x != 1", "on = (x > 0)", "true", "x > 0 & 6 / x > 2",
    '"high"', "!(x <= y)",
)  # fmt: skip
STATES = """ctmc
formula twice = 2 * x;
module m
  x : [0..4]; y : [-1..3] init 0; on : bool;
  [] x < 4 -> 1 : (x' = x + 1); [] y < 3 -> 1 : (y' = y + 1); [] y > -1 -> 1 : (y' = y - 1); [] true -> 1 : (on' = !on);
endmodule
label "high" = x > 2;
"""


@pytest.mark.parametrize("text", [*NUMBERS, *TRUTHS])
def test_an_expression_has_the_value_of_columns_in_each_state(text: str, tmp_path: Path) -> None:
    model = model_of(tmp_path, STATES)
    explored = model.explored
    tree = parse_property(text)
    with np.errstate(all="ignore"):
        column = explored.bound.scope.value(tree).run(explored.columns)
    wanted = np.broadcast_to(np.asarray(column), explored.columns.count).tolist()
    function = StateExpressions(explored.bound).function(tree)
    kinds = [int, int, bool]
    for values, expected in zip(explored.columns.codes.T.tolist(), wanted, strict=True):
        state = tuple(kind(v) for kind, v in zip(kinds, values, strict=True))
        own = function(state)
        same = own == expected or (math.isnan(own) and math.isnan(expected))
        assert same or own == pytest.approx(expected, rel=1e-15), (text, state)


@pytest.mark.parametrize("text", ["pow(x, y)", "mod(x, y)", "floor(x / y)"])
def test_an_expression_without_a_value_names_the_line(text: str, tmp_path: Path) -> None:
    """With y = -1, and y = 0."""
    function = StateExpressions(model_of(tmp_path, STATES).bound).function(parse_property(text))
    with pytest.raises((FileError, ValueError), match=r"pow|mod|floor"):
        _ = [function((1, y, False)) for y in (-1, 0)]


def test_rewards_and_labels_are_those_of_the_file(tmp_path: Path) -> None:
    text = LINE.replace(
        "rewards [pass]", 'label "full" = x = N;\nrewards "all" x > 0 : 2 * y; [pass]'
    )
    model = model_of(tmp_path, text)
    rules, chain = FileRules(model.program, {}), model.chain
    states = [rules.State(*values) for values in zip(*chain.states, strict=True)]
    labels, rewards = chain.model.labels(chain.states), chain.model.rewards(chain.states)
    for k, state in enumerate(states):
        assert rules.labels(state) == {"full": labels["full"][k]}
        assert rules.rewards(state)["all"] == pytest.approx(rewards["all"][k], rel=1e-15)


def test_rules_are_copied_pickled_and_given_other_constants(tmp_path: Path) -> None:
    model = model_of(tmp_path, LINE)
    rules = FileRules(model.program, {})
    assert pickle.loads(pickle.dumps(rules)) == rules
    assert hash(rules) == hash(FileRules(model.program, {}))
    more = rules.replace(N=5)
    assert more != rules
    assert more.constants == {"N": 5}
    assert repr(more) == f"FileModel({model.name!r}, N=5)"
    assert type(rules.start()) is rules.State


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("x > 0 -> 1", "x > 0 -> 1 - x", r"rate -1.*state \(2,\)|negative"),
        ("x > 0 -> 1", "true -> 1", "'x' leaves its range from state"),
    ],
)
def test_faults_of_reached_states_are_named(old: str, new: str, said: str, tmp_path: Path) -> None:
    text = "ctmc module m x : [0..5]; [] x < 5 -> 2 : (x' = x + 1); [] x > 0 -> 1 : (x' = x - 1); endmodule"
    rules = FileRules(model_of(tmp_path, text.replace(old, new)).program, {})
    with pytest.raises(ValueError, match=said):
        _ = [dict(_of(rules, rules.State(x))) for x in range(6)]


def _of(rules: Any, state: Any) -> Any:
    for target, rate in rules.transitions(state):
        if rate < 0:
            raise ValueError("negative")
        yield target, rate


def test_initial_states_by_a_condition_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.sm"
    path.write_text(STATES.replace("y : [-1..3] init 0", "y : [-1..3]") + "init x = 0 endinit\n")
    with pytest.raises(FileError, match="init"):
        FileRules(read_prism(path).program, {})
