"""Sets of states and distributions over them, in every way that they are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from markov import MM1K, MarkovChain, PauseTandem, explore, passage, stationary
from tests.markov.conftest import Machine, Mode
from tests.surface import for_each

QUEUE = MarkovChain(MM1K(capacity=4))
NAMED = MarkovChain([[-1.0, 1.0], [1.0, -1.0]], states=["up", "down"])


def selected(chain: Any, states: Any) -> np.ndarray:
    """Return the set as a passage has it, from the first state."""
    return passage(chain, to=states, start=np.eye(1, chain.size)[0]).target


def distribution(chain: Any, start: Any) -> np.ndarray:
    """Return the distribution from which a passage begins."""
    return passage(chain, to=np.eye(1, chain.size)[0] > 0.0, start=start).start


@for_each(
    [
        ((3,), [3]),
        ([(0,), (4,)], [0, 4]),
        (lambda s: s.n > 2, [3, 4]),
        (np.array([True, False, False, True, False]), [0, 3]),
        ([True, False, False, True, False], [0, 3]),
        (((1,), (4,)), [1, 4]),
        (frozenset({(2,)}), [2]),
        (lambda s: s.n % 2, [1, 3]),
        (lambda s: s.n in (0, 3), [0, 3]),
        (lambda s: s == (2,), [2]),
    ]
)
def test_a_set_of_states_is_found_as_it_is_written(states: Any, members: list[int]) -> None:
    assert np.flatnonzero(selected(QUEUE, states)).tolist() == members


def test_truth_values_as_numbers_are_no_states() -> None:
    """One 0 or 1 per state was read as the states 0 and 1; a set of states and fewer states are as before."""
    count = MarkovChain([[-1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
    with pytest.raises(ValueError, match=r"^to = \[0, 0, 1\]: one 0 or 1 per state: truth values must be bool"):
        selected(count, np.array([0, 0, 1]))
    for states in ([0, 1], {0, 1}, np.array([1, 0]), (0, 1), [1, 1, 0, 0]):
        assert selected(count, states).tolist() == [True, True, False]
    assert selected(count, np.array([0, 1, 2])).all()
    pair = MarkovChain([[-1.0, 1.0], [1.0, -1.0]])
    assert selected(pair, {0, 1}).all()
    with pytest.raises(ValueError, match=r"^to = \[0, 1\]: one 0 or 1 per state"):
        selected(pair, [0, 1])


def test_labels_and_names_of_states() -> None:
    chain = MarkovChain(Machine())
    busy = [mode is Mode.BUSY for mode in chain.states.mode]
    assert selected(chain, "busy").tolist() == busy
    assert selected(NAMED, "down").tolist() == [False, True]
    assert selected(NAMED, ["up", "down"]).all()


def switch(s: str) -> Any:
    yield ("down" if s == "idle" else "idle"), 1.0


def test_a_string_is_a_state_or_a_label() -> None:
    chain = explore(switch, start="idle", labels=lambda s: {"off": s != "idle", "idle": True}).chain
    for text in ("down", "off", ["down"]):
        assert selected(chain, text).tolist() == [s == "down" for s in chain.table.plain()]
    with pytest.raises(ValueError, match=r"'idle': is a label and a state; write to=\['idle'\]"):
        selected(chain, "idle")
    with pytest.raises(ValueError, match=r"^to = 'on': must be one of 'off', 'idle', 'down'"):
        selected(chain, "on")


def test_a_start_may_be_selected() -> None:
    assert distribution(QUEUE, lambda s: s.n == 3).tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]
    chain = explore(switch, start="idle", labels=lambda s: {"off": s != "idle", "any": True}).chain
    assert distribution(chain, "off").tolist() == distribution(chain, "down").tolist()
    with pytest.raises(ValueError, match=r"^start = 'any': selects 2 states: must be one"):
        distribution(chain, "any")
    with pytest.raises(ValueError, match=r"^start = <lambda>: selects 2 states: must be one"):
        distribution(QUEUE, lambda s: s.n > 2)


def test_a_start_is_a_state_probabilities_or_the_models_own() -> None:
    assert distribution(QUEUE, (1,)).tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert distribution(NAMED, np.array([1, 0])).tolist() == [1.0, 0.0]
    found = explore(lambda n: [((n + 1) % 3, 1.0)], start=2).chain
    assert distribution(found, None)[found.number_of(2)] == 1.0


def test_a_chain_is_taken_from_whatever_has_one() -> None:
    def taken(given: Any, to: Any, start: Any) -> MarkovChain:
        return passage(given, to=to, start=start).chain

    assert taken(QUEUE, (0,), (4,)) is QUEUE
    assert taken(MM1K(capacity=4), (0,), (4,)).size == 5
    assert taken([[-1.0, 1.0], [1.0, -1.0]], 0, 1).size == 2
    found = explore(lambda n: [((n + 1) % 3, 1.0)], start=2)
    assert taken(found, 0, None) is found.chain


def test_a_measure_that_is_no_set_of_states_is_refused_by_name() -> None:
    """Mean queues of two stages, and a throughput: their names are none of labels."""
    tandem = MarkovChain(PauseTandem())
    for name in ("mean_queue", "throughput", "loss_probability"):
        with pytest.raises(ValueError, match=f"^to = '{name}': must be one of 'pause_fraction'$"):
            selected(tandem, name)
    assert selected(tandem, "pause_fraction").any()


def test_truth_values_are_states_where_a_chain_has_them() -> None:
    rates = [[-1.0, 1.0], [3.0, -3.0]]
    assert stationary(MarkovChain(rates, states=[False, True])).probability(True) == pytest.approx(0.25)
    switch = explore(lambda on: [(not on, 3.0 if on else 1.0)], start=False)
    assert stationary(switch).probability(True) == pytest.approx(0.25)
    assert passage(switch, to=True).mean == pytest.approx(1.0)
