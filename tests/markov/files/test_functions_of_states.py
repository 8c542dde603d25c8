"""Expressions of files against the same functions of a state in Python: labels, rewards and properties."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from markov import passage, stationary
from markov.models import evaluation
from markov.selections import selected
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
    "x > 2": lambda s: s.x > 2,
    "x = 2": lambda s: s.x == 2,
    "x != y": lambda s: s.x != s.y,
    "!(x >= 3)": lambda s: not s.x >= 3,
    "on": lambda s: s.on,
    "!on & x < limit": lambda s: not s.on and s.x < 3,
    "on | y = -1": lambda s: s.on is True or s.y == -1,
    "on => y > 0": lambda s: not s.on or s.y > 0,
    "on <=> x > 3": lambda s: s.on == (s.x > 3),
    "x > 1 & x < 5": lambda s: 1 < s.x < 5,
    "x + y > 3": lambda s: s.x + s.y > 3,
    "x - 2*y <= 1": lambda s: s.x - 2 * s.y <= 1,
    "x * y = 4": lambda s: s.x * s.y == 4,
    "x / 2 > 1": lambda s: s.x / 2 > 1,
    "mod(x, 3) = 1": lambda s: s.x % 3 == 1,
    "mod(y, 3) = 1": lambda s: s.y % 3 == 1,
    "floor(x / 2) = 1": lambda s: s.x // 2 == 1,
    "floor(y / 2) = -1": lambda s: s.y // 2 == -1,
    "ceil(x / 4) = 2": lambda s: -(-s.x // 4) == 2,
    "min(x, y, 2) = 2": lambda s: min(s.x, s.y, 2) == 2,
    "max(x, y) = y": lambda s: max(s.x, s.y) == s.y,
    "pow(y, 2) > x": lambda s: s.y**2 > s.x,
    "(on ? x : y) > 1": lambda s: (s.x if s.on else s.y) > 1,
    "x = 0 | 6 / x > 2": lambda s: s.x == 0 or 6 / s.x > 2,
    "x > 0 & mod(7, x) = 1": lambda s: s.x > 0 and 7 % s.x == 1,
    "true": lambda _s: True,
    "y = x & on": lambda s: (s.y, s.on) == (s.x, True),
}
NUMBERS = {
    "x": lambda s: s.x,
    "x * x + y": lambda s: s.x * s.x + s.y,
    "x / 4": lambda s: s.x / 4,
    "(on ? 2.5 : x)": lambda s: 2.5 if s.on else s.x,
    "max(x, y) - min(x, y)": lambda s: max(s.x, s.y) - min(s.x, s.y),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    text = MODEL
    text += "".join(f'label "c{n}" = {text};\n' for n, text in enumerate(CONDITIONS))
    text += "".join(f'rewards "r{n}" true : {text}; endrewards\n' for n, text in enumerate(NUMBERS))
    folder: Path = tmp_path_factory.mktemp("functions")
    return model_of(folder, text)


@pytest.mark.parametrize("limit", [evaluation.PLAIN_STATES, 0], ids=["by state", "at once"])
@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions(model: Any, text: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "PLAIN_STATES", limit)
    chain, number = model.chain, list(CONDITIONS).index(text)
    expected = np.array([bool(CONDITIONS[text](s)) for s in chain.table.plain()])
    assert selected(chain, f"c{number}", "to").tolist() == expected.tolist()
    assert selected(chain, CONDITIONS[text], "to").tolist() == expected.tolist()
    pi = stationary(model).pi
    assert model.property(f"S=? [ {text} ]").value == pytest.approx(pi @ expected, rel=1e-12)
    found = passage(model, to=CONDITIONS[text]).distribution([0.4]).survival[0]
    within = model.property(f"P=? [ F<=0.4 ({text}) ]").value
    assert within == pytest.approx(1.0 - found, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("text", NUMBERS)
def test_rewards(model: Any, text: str) -> None:
    answer, number = stationary(model), list(NUMBERS).index(text)
    values = [float(NUMBERS[text](s)) for s in model.chain.table.plain()]
    assert answer[f"r{number}"] == pytest.approx(answer.pi @ values, rel=1e-12)
    found = model.property(f'R{{"r{number}"}}=? [ S ]').value
    assert found == pytest.approx(answer.pi @ values, rel=1e-12)
