"""States found by rules: the same chain as by numbers, and chains whose states have no numbers of 62 bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from markov import stationary
from markov.errors import FileError, TooLargeError
from markov.files.states.rule_search import explored_by_rules
from tests.markov.files.conftest import QUEUE, model_of
from tests.markov.files.states.conftest import LINE
from tests.markov.files.states.test_searches import PAIR

ARMS = 21


@pytest.mark.parametrize("text", [LINE, PAIR, QUEUE])
def test_the_chain_is_that_of_the_search_by_numbers(text: str, tmp_path: Path) -> None:
    model = model_of(tmp_path, text, **({"arrival": 7.0} if text == QUEUE else {}))
    by_numbers, by_rules = model.explored, explored_by_rules(model.bound, 10**6)
    np.testing.assert_array_equal(by_rules.columns.codes, by_numbers.columns.codes)
    np.testing.assert_array_equal(by_rules.initial, by_numbers.initial)
    np.testing.assert_array_equal(by_rules.Q.indices, by_numbers.Q.indices)
    np.testing.assert_allclose(by_rules.Q.data, by_numbers.Q.data, rtol=1e-15)
    np.testing.assert_allclose(by_rules.loops, by_numbers.loops, rtol=1e-15)
    for action, rates in by_numbers.action_rates.items():
        np.testing.assert_allclose(by_rules.action_rates[action], rates, rtol=1e-15)


def test_a_token_in_a_ring_of_large_variables(tmp_path: Path) -> None:
    """Twenty-one variables of 1,001 values: 1e63 combinations, 21 states."""
    variables = "\n".join(f"x{k} : [0..1000] init {int(k == 0)};" for k in range(ARMS))
    steps = "\n".join(
        f"[] x{k} = 1 -> {k + 1} : (x{k}' = 0) & (x{(k + 1) % ARMS}' = 1);" for k in range(ARMS)
    )
    model = model_of(tmp_path, f"ctmc module m {variables} {steps} endmodule")
    answer = stationary(model)
    assert answer.chain.size == ARMS
    waits = 1.0 / np.arange(1, ARMS + 1)
    found = [answer.probability(lambda s, k=k: s[k] == 1) for k in range(ARMS)]
    np.testing.assert_allclose(found, waits / waits.sum(), rtol=1e-14)


STAR = "\n".join(
    f"[] idle -> 1 : (x{k}' = 1); [] x{k} > 0 & x{k} < 300 -> 1 : (x{k}' = x{k} + 1); [] x{k} > 0 -> 1.5 : (x{k}' = x{k} - 1);"
    for k in range(ARMS)
)


def star(folder: Path, ends: str = "[0..1000]") -> str:
    """One of twenty-one queues is not empty, up to 300: 6,301 states, which take 173 bits as numbers."""
    variables = "\n".join(f"x{k} : {ends};" for k in range(ARMS))
    idle = " & ".join(f"x{k} = 0" for k in range(ARMS))
    labels = 'label "first" = x0 > 0; rewards "x" true : x1; endrewards'
    return f"ctmc\nformula idle = {idle};\nmodule m\n{variables}\n{STAR}\nendmodule\n{labels}\n"


@pytest.mark.parametrize("ends", ["[0..1000]", "int"])
def test_states_without_numbers_of_62_bits(ends: str, tmp_path: Path) -> None:
    """A queue is at n with 1.5^-n of the probability that all are empty, which is 1 / (1 + 21 * 2)."""
    model = model_of(tmp_path, star(tmp_path, ends))
    answer = stationary(model)
    assert answer.chain.size == ARMS * 300 + 1
    assert not model.explored.bound.is_numbered
    assert answer["first"] == pytest.approx(2.0 / 43.0, rel=1e-12)
    assert answer["x"] == pytest.approx(6.0 / 43.0, rel=1e-12)
    assert model.property("S=? [ x0 > 0 ]").value == pytest.approx(2.0 / 43.0, rel=1e-12)
    assert model.property("S=? [ P>0.9 [ F<=9 x7 = 0 ] ]").value > 0.9


def test_limits_hold_for_states_without_numbers(tmp_path: Path) -> None:
    with pytest.raises(TooLargeError, match="more than 3000 reachable states"):
        explored_by_rules(model_of(tmp_path, star(tmp_path)).bound, 3_000)
    with pytest.raises(FileError, match="leaves its range"):
        model_of(tmp_path, star(tmp_path, "[0..200]")).chain  # noqa: B018


def test_open_integers_that_a_conservation_law_bounds(tmp_path: Path) -> None:
    """An enzyme binds a substrate and releases it: enzyme + pair = 2, substrate + pair = 40."""
    text = """ctmc
module reactions
  enzyme : int init 2; substrate : int init 40; pair : int init 0;
  [] enzyme * substrate > 0 -> 0.1 * enzyme * substrate : (enzyme' = enzyme - 1) & (substrate' = substrate - 1) & (pair' = pair + 1);
  [] pair > 0 -> pair : (enzyme' = enzyme + 1) & (substrate' = substrate + 1) & (pair' = pair - 1);
endmodule
"""
    model = model_of(tmp_path, text)
    assert model.chain.size == 3
    assert [(r.low, r.high) for r in model.explored.bound.ranges] == [(0, 2), (38, 40), (0, 2)]


def test_a_negative_rate_of_whole_numbers_is_refused(tmp_path: Path) -> None:
    text = "ctmc module m x : [0..5]; [] x < 5 -> 5 - 2 * x : (x' = x + 1); [] x > 0 -> 1 : (x' = x - 1); endmodule"
    with pytest.raises(FileError, match=r"rate -1 in state \(3,\): must be finite, >= 0"):
        explored_by_rules(model_of(tmp_path, text).bound, 100)
