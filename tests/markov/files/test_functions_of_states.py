"""Expressions of files against the same functions of a state in Python: labels, rewards and properties."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from markov import Kanban, passage, stationary
from tests.markov.files.conftest import model_of

MODEL = """
ctmc
const int limit = 3;
module walk
  x : [0..6] init 0;
  y : [-2..3] init 0;
  on : bool init true;
  [] x < 6 -> 1.0 : (x' = x + 1);
  [] x > 0 -> 1.5 : (x' = x - 1);
  [] y < 3 -> 0.7 : (y' = y + 1);
  [] y > -2 -> 0.9 : (y' = y - 1);
  [] true -> 0.5 : (on' = !on);
endmodule
"""
CONDITIONS = {
    "x > 2": lambda s: s.x > 2, "x = 2": lambda s: s.x == 2, "x != y": lambda s: s.x != s.y,
    "!(x >= 3)": lambda s: not s.x >= 3, "on": lambda s: s.on, "!on & x < limit": lambda s: not s.on and s.x < 3,
    "on | y = -1": lambda s: s.on is True or s.y == -1, "on => y > 0": lambda s: not s.on or s.y > 0,
    "on <=> x > 3": lambda s: s.on == (s.x > 3), "x > 1 & x < 5": lambda s: 1 < s.x < 5,
    "x + y > 3": lambda s: s.x + s.y > 3, "x - 2*y <= 1": lambda s: s.x - 2 * s.y <= 1,
    "x * y = 4": lambda s: s.x * s.y == 4, "x / 2 > 1": lambda s: s.x / 2 > 1, "mod(x, 3) = 1": lambda s: s.x % 3 == 1,
    "mod(y, 3) = 1": lambda s: s.y % 3 == 1, "floor(x / 2) = 1": lambda s: s.x // 2 == 1,
    "floor(y / 2) = -1": lambda s: s.y // 2 == -1, "ceil(x / 4) = 2": lambda s: -(-s.x // 4) == 2,
    "min(x, y, 2) = 2": lambda s: min(s.x, s.y, 2) == 2, "max(x, y) = y": lambda s: max(s.x, s.y) == s.y,
    "pow(y, 2) > x": lambda s: s.y**2 > s.x, "(on ? x : y) > 1": lambda s: (s.x if s.on else s.y) > 1,
    "x = 0 | 6 / x > 2": lambda s: s.x == 0 or 6 / s.x > 2,
    "x > 0 & mod(7, x) = 1": lambda s: s.x > 0 and 7 % s.x == 1, "true": lambda _s: True,
    "y = x & on": lambda s: (s.y, s.on) == (s.x, True),
}  # fmt: skip
NUMBERS = {
    "x": lambda s: s.x, "x * x + y": lambda s: s.x * s.x + s.y, "x / 4": lambda s: s.x / 4,
    "(on ? 2.5 : x)": lambda s: 2.5 if s.on else s.x, "max(x, y) - min(x, y)": lambda s: max(s.x, s.y) - min(s.x, s.y),
}  # fmt: skip


def model_with_labels(folder: Path, text: str) -> Any:
    """Return a model with a label for each condition, and a reward for each number."""
    text += "".join(f'label "c{n}" = {text};\n' for n, text in enumerate(CONDITIONS))
    text += "".join(f'rewards "r{n}" true : {text}; endrewards\n' for n, text in enumerate(NUMBERS))
    return model_of(folder, text)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return model_with_labels(tmp_path_factory.mktemp("functions"), MODEL)


@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions(model: Any, text: str) -> None:
    chain, number = model.chain, list(CONDITIONS).index(text)
    expected = np.array([bool(CONDITIONS[text](s)) for s in chain.table.plain()])
    for named in (f"c{number}", CONDITIONS[text]):
        assert passage(model, to=named).target.tolist() == expected.tolist()
    pi = stationary(model).pi
    assert model.property(f"S=? [ {text} ]").value == pytest.approx(pi @ expected, rel=1e-12)
    found = passage(model, to=CONDITIONS[text]).distribution([0.4]).survival[0]
    within = model.property(f"P=? [ F<=0.4 ({text}) ]").value
    assert within == pytest.approx(1.0 - found, rel=1e-9, abs=1e-12)


def test_conditions_of_many_states_which_are_evaluated_at_once(tmp_path: Path, monkeypatch) -> None:
    """1,008 states: an independent component beside those that the conditions are about."""
    monkeypatch.setattr("markov.models.functions.PLAIN_STATES", 1_000)
    many = """module beside
  z : [0..11] init 0;
  [] z < 11 -> 2.0 : (z' = z + 1);
  [] z > 0 -> 3.0 : (z' = z - 1);
endmodule
"""
    large = model_with_labels(tmp_path, MODEL + many)
    answer = stationary(large)
    states = list(large.chain.table.plain())
    assert len(states) == 1_008
    for number, (text, condition) in enumerate(CONDITIONS.items()):
        expected = np.array([bool(condition(s)) for s in states])
        for named in (f"c{number}", condition):
            assert passage(large, to=named).target.tolist() == expected.tolist(), text
        assert answer[f"c{number}"] == pytest.approx(answer.pi @ expected, rel=1e-12), text


@pytest.mark.parametrize("text", NUMBERS)
def test_rewards(model: Any, text: str) -> None:
    answer, number = stationary(model), list(NUMBERS).index(text)
    values = [float(NUMBERS[text](s)) for s in model.chain.table.plain()]
    assert answer[f"r{number}"] == pytest.approx(answer.pi @ values, rel=1e-12)
    found = model.property(f'R{{"r{number}"}}=? [ S ]').value
    assert found == pytest.approx(answer.pi @ values, rel=1e-12)


def kanban_text() -> str:
    """Return the model `Kanban` in the PRISM language: a module per cell, synchronized where parts move on."""
    again, well = (0.36, 0.42, 0.39, 0.33), (0.84, 0.98, 0.91, 0.77)
    enters = ("[enter]", "[split]", "[split]", "[join]")
    leaves = ("[split]", "[join]", "[join]", "[]")
    moves = {"[enter]": 1.0, "[split]": 0.4, "[join]": 0.5, "[]": 0.9}
    lines = ["ctmc", "const int tickets;"]
    for n, (into, out) in enumerate(zip(enters, leaves, strict=True), 1):
        m, b, d = (f"{place}{n}" for place in "mbd")
        # the first or the last cell of an action has its rate, the others 1
        rate_in, rate_out = (1.0, 1.0) if n in (2, 3) else (moves[into], moves[out])
        lines += [
            f"module cell{n}",
            *(f"  {place} : [0..tickets] init 0;" for place in (m, b, d)),
            f"  {into} {m} + {b} + {d} < tickets -> {rate_in} : ({m}' = {m} + 1);",
            f"  [] {m} > 0 -> {again[n - 1]} : ({m}' = {m} - 1) & ({b}' = {b} + 1);",
            f"  [] {m} > 0 -> {well[n - 1]} : ({m}' = {m} - 1) & ({d}' = {d} + 1);",
            f"  [] {b} > 0 -> 0.3 : ({b}' = {b} - 1) & ({m}' = {m} + 1);",
            f"  {out} {d} > 0 -> {rate_out} : ({d}' = {d} - 1);",
            "endmodule",
        ]
    return "\n".join([*lines, 'rewards "throughput" [enter] true : 1; endrewards', ""])


@pytest.mark.parametrize("tickets", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_kanban_as_a_file_has_the_throughput_and_the_bound_of_python(tickets: int, tmp_path: Path) -> None:
    """The bound of the reward is stated, not that of the whole distribution: 1e-9 with 3 tickets."""
    found = model_of(tmp_path, kanban_text(), tickets=tickets).property('R{"throughput"}=? [ S ]')
    bound = stationary(Kanban(tickets=tickets)).bound("throughput")
    assert abs(found.value - bound.value) <= found.error_bound + bound.error
    assert found.error_bound < 1e-13
    assert found.error_bound <= 4.0 * bound.error


TOGETHER = """
ctmc
module both
  x : [0..5] init 0;
  y : [0..5] init 0;
  [] x < 5 -> 1.0 : (x' = x + 1) & (y' = y + 1);
  [] x > 0 -> 2.0 : (x' = x - 1) & (y' = y - 1);
endmodule
label "low" = x < 2;
"""


@pytest.mark.parametrize("state", [(3, 1), (9, 9), (1, 7), (0, -1)])
def test_states_that_are_not_reached_have_no_labels(tmp_path: Path, state: tuple[int, int]) -> None:
    """States have indices by their numbers: (3, 1) had the labels of the state that comes after it."""
    model = model_of(tmp_path, TOGETHER).chain.model
    assert model.labels((1, 1)) == {"low": True}
    with pytest.raises(ValueError, match=f"s = {re.escape(repr(state))}: must be states of the chain"):
        model.labels(state)
