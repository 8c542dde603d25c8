"""Long horizons, chains that stay, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from markov import MM1K, BirthDeath, Courtois, MarkovChain, stationary, transient


@pytest.mark.parametrize("model", [MM1K(capacity=30), Courtois(), BirthDeath()])
def test_a_long_horizon_ends_in_the_stationary_distribution(model: Any) -> None:
    limit = stationary(model)
    found = transient(model, [1e9], start=_state(limit.chain, 0))
    distance = 0.5 * np.abs(found.pi[0] - limit.pi).sum()
    assert distance <= found.error_bound[0] + limit.error_bound
    assert found.error_bound[0] <= 1e-8
    assert found.steps < 1e7


def _state(chain: MarkovChain, x: int) -> Any:
    states = chain.states
    return states[x] if isinstance(states, range) else type(states)(*(int(a[x]) for a in states))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"times": [2.0, 1.0]}, "times = .*ascending"),
        ({"times": [-1.0]}, "times = -1"),
        ({"times": [1.0], "start": 9}, "start: 9 is no state"),
        ({"times": [1.0], "start": np.array([0.5, 0.4])}, "sum to one"),
        ({"times": [1.0], "start": None}, "start: the chain has none"),
        ({"times": [1.0], "tolerance": 0.0}, "tolerance = 0"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    given = {"start": 0, **arguments}
    with pytest.raises(ValueError, match=message):
        transient(np.array([[-1.0, 1.0], [1.0, -1.0]]), **given)


def test_a_chain_without_transitions_stays() -> None:
    found = transient(np.zeros((2, 2)), [0.0, 5.0], start=1)
    assert found.pi.tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert found.occupancy.tolist() == [[0.0, 0.0], [0.0, 5.0]]
