"""A line of machines with synchronisation, and both searches for the states of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from markov.files import search
from markov.files.search import StateSpace

LINE = """
ctmc
const int N = 3;
formula free = N - x;
module first
  x : [0..N] init 0;
  [] free > 0 -> 2 * free : (x' = x + 1);
  [pass] x > 0 -> 0.5 * x : (x' = x - 1) + 0.25 : true;
  [lost] x = N -> 0.125 : true;
endmodule
module second
  y : [-1..N] init 0;
  up : bool init true;
  [pass] up & y < N -> 1 : (y' = y + 1);
  [pass] !up & y = -1 -> 3 : (y' = 0) & (up' = true);
  [] y > 0 -> 1 + x / 7 : (y' = y - 1);
  [] up -> 0.01 : (up' = false);
  [] !up -> 1 : (up' = true);
  [] y = 0 & !up -> 0.3 : (y' = -1);
endmodule
rewards [pass] true : 1; [lost] true : 1; endrewards
"""


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], list[StateSpace]]:
    """Explore a model by tables from the first state on, and without any."""

    def both(model: Any) -> list[StateSpace]:
        found = []
        for few in (0, 10**9):
            monkeypatch.setattr(search, "MIN_TABLE_STATES", few)
            found.append(search.explore(model.instance, 10**6))
        return found

    return both


def assert_equal(found: list[StateSpace]) -> None:
    """States, patterns and rates are the same but for the order in which rates are added."""
    a, b = found
    np.testing.assert_array_equal(a.batch.codes, b.batch.codes)
    np.testing.assert_array_equal(a.batch.states, b.batch.states)
    np.testing.assert_array_equal(a.initial, b.initial)
    np.testing.assert_array_equal(a.Q.indptr, b.Q.indptr)
    np.testing.assert_array_equal(a.Q.indices, b.Q.indices)
    np.testing.assert_allclose(a.Q.data, b.Q.data, rtol=1e-14)  # sums of a few rates
    np.testing.assert_allclose(a.loops, b.loops, rtol=1e-14)
    assert set(a.action_rates) == set(b.action_rates)
    for action, rates in a.action_rates.items():
        np.testing.assert_allclose(rates, b.action_rates[action], rtol=1e-14)
