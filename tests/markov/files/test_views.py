"""A file's states as those of a model: their names, the start, labels and rewards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from markov import stationary
from tests.markov.files.conftest import QUEUE, model_of

LIGHT = """
ctmc
module light
  class : [3..5] init 4;
  on : bool init false;
  [] on -> 1 : (on' = false) & (class' = class < 5 ? class + 1 : 3);
  [go] !on -> 2 : (on' = true);
endmodule
label "lit" = on & class = 5;
rewards [go] true : 10; on : 3; endrewards
"""


def test_variables_are_components_even_where_a_name_is_pythons(tmp_path: Path) -> None:
    chain = model_of(tmp_path, LIGHT).chain
    assert chain.states._fields == ("vclass", "on")
    assert sorted(zip(*chain.states, strict=True)) == [
        (kind, on) for kind in (3, 4, 5) for on in (False, True)
    ]
    assert chain.model.start() == (4, False)
    assert chain.number_of((4, False)) == chain.states.vclass.tolist().index(4)


def test_labels_and_rewards_are_measures(tmp_path: Path) -> None:
    answer = stationary(model_of(tmp_path, LIGHT))
    # on for 1 s, off for 1/2 s: each of three classes alike
    assert answer["lit"] == pytest.approx(2 / 9, rel=1e-14)
    assert answer["reward 1"] == pytest.approx(3 * 2 / 3 + 10 * 2 / 3, rel=1e-14)


def test_states_of_another_order_have_their_own_labels(queue: Any) -> None:
    model = queue.chain.model
    backwards = model.State(np.arange(10, -1, -1))
    assert model.labels(backwards)["full"].tolist() == [True] + [False] * 10
    np.testing.assert_allclose(model.rewards(backwards)["length"], np.arange(10.0, -1.0, -1.0))
    np.testing.assert_allclose(model.rewards(backwards)["served"], [10.0] * 10 + [0.0])


def test_constants_may_be_replaced(tmp_path: Path) -> None:
    model = model_of(tmp_path, QUEUE, arrival=7.0).chain.model
    assert model.constants == {"N": 10, "arrival": 7.0, "service": 10.0}
    assert model.replace(N=3, arrival=1.0).chain.size == 4
    assert hash(model) != hash(model_of(tmp_path, QUEUE, arrival=7.0).chain.model)
