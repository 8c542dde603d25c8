"""Chains in shards are solved as by a matrix, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from markov import Multilevel, stationary
from markov import stationary_sharded as solve
from markov.errors import ConvergenceError, RuleError
from tests.markov.sharding.conftest import Switch, Tandem


@pytest.mark.slow
def test_a_chain_without_a_start_and_few_cycles():
    model = Tandem()
    answer = solve(model)
    expected = stationary(model, Multilevel())
    np.testing.assert_allclose(answer.pi, expected.pi, rtol=0, atol=1e-11)
    assert "spread along" in repr(answer)
    with pytest.raises(ConvergenceError) as failed:
        solve(model, max_cycles=1)
    assert failed.value.result.cycles == 1


def test_two_states_and_one():
    assert solve(Switch()).pi.tolist() == pytest.approx([1 / 3, 2 / 3], rel=1e-12)

    class Stuck(Switch):
        def space(self):
            return {"on": range(1)}

    with pytest.raises(RuleError, match=r"Stuck: .*"):
        solve(Stuck())
