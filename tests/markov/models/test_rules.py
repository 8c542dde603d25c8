"""How models are written: with a space, a start, both or neither, as classes or plain functions; their labels and rewards."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from markov import ChainModel, GeneratorOperator, explore, stationary, sweep
from markov.errors import RuleError
from tests.markov.conftest import repairs


def test_a_model_without_a_space_has_the_states_that_its_start_leads_to():
    class Growing(ChainModel):
        class State(NamedTuple):
            n: int

        class Params(NamedTuple):
            most: int = 6

        def start(self):
            return self.State(2)

        def rewards(self, s):
            return {"mean": s.n}

        def rules(self, s):
            if s.n < self.most:
                yield s._replace(n=s.n + 1), 1.0
            if s.n > 1:
                yield s._replace(n=s.n - 1), 2.0

    answer = stationary(Growing())
    assert answer.states.n.tolist() == [1, 2, 3, 4, 5, 6]
    exact = 0.5 ** np.arange(6)
    np.testing.assert_allclose(answer.pi, exact / exact.sum(), rtol=1e-14)
    data = sweep(Growing(), most=[3, 6])
    assert data["mean"].values[1] == answer["mean"]
    with pytest.raises(RuleError, match=r"must be a ChainModel with a space"):
        GeneratorOperator(Growing())


# Plain functions as models: any start, any parameters, states without names.


PARAMS = {"machines": 3, "failure": 0.1, "repair": 1.0}


@pytest.mark.parametrize(
    "params", [PARAMS, SimpleNamespace(**PARAMS), NamedTuple("P", [(k, float) for k in PARAMS])(**PARAMS)]
)  # fmt: skip
@pytest.mark.parametrize("start", [{"working": 3}, NamedTuple("S", [("working", int)])(3)])
def test_a_function_is_enough(params, start):
    found = explore(repairs, start=start, params=params)
    assert found.states.working.tolist() == [0, 1, 2, 3]
    answer = stationary(found)
    weights = [math.prod(1.0 / (0.1 * k) for k in range(1, n + 1)) for n in range(4)]
    np.testing.assert_allclose(answer.pi, np.array(weights) / sum(weights), rtol=1e-14)
    assert answer.probability((3,)) == answer.pi[3]


def test_states_without_names():
    def walk(n, q):
        yield (n + 1) % 5, 1.0

    assert explore(walk, start=0).states.tolist() == [0, 1, 2, 3, 4]

    def light(s, q):
        yield {"green": "yellow", "yellow": "red", "red": "green"}[s], 1.0

    found = explore(light, start="red")
    assert found.states.tolist() == ["red", "green", "yellow"]  # in the order of discovery
    assert stationary(found).probability("green") == pytest.approx(1 / 3)

    def pairs(s):
        x, y = s
        yield (y, x), 1.0
        yield ((x + 1) % 2, y), 2.0

    found = explore(pairs, start=(0, 1))
    assert np.array(found.states).tolist() == [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert list(found.chain.components) == ["state[0]", "state[1]"]


def test_mappings_are_read_in_both_ways():
    def rules(s, q):
        if s["n"] < q["most"]:
            yield {**s, "n": s.n + 1}, q.rate
        if s.n > 0:
            yield {"n": 0, "m": 1 - s["m"]}, q["rate"]

    found = explore(
        rules,
        start={"n": 0, "m": 0},
        params={"rate": 2.0, "most": 3},
        labels=lambda s: {"low": s.n < 2 and s.m == 0},
        rewards=lambda s, q: {"flow": q.rate * s.n},
    )
    assert len(found.states.n) == 8
    answer = stationary(found)
    assert answer["low"] == pytest.approx(answer.pi[(found.states.n < 2) & (found.states.m == 0)].sum())
    assert answer["flow"] == pytest.approx(2.0 * answer.pi @ found.states.n)


def test_a_chain_without_measures_says_how_it_gets_some() -> None:
    bare = explore(repairs, start={"working": 3}, params=PARAMS)
    named = explore(
        repairs,
        start={"working": 3},
        params=PARAMS,
        labels=lambda s: {"all": s.working == 3},
    )
    assert "explore(..., labels=" in str(stationary(bare).summary()["measures"])
    assert "measures" not in stationary(named).summary()
    assert sweep(bare, repair=[1.0, 2.0]).attrs["measures"].startswith("none; name them")
    assert "measures" not in sweep(named, repair=[1.0, 2.0]).attrs


# Labels and rewards, for all states at once or for one.


@pytest.mark.parametrize("size", [5, 3000])
def test_labels_and_rewards_may_be_written_for_one_state(size):
    class Watched(ChainModel):
        class State(NamedTuple):
            n: int
            m: int

        class Params(NamedTuple):
            most: int = 5

        def space(self):
            return {"n": range(self.most), "m": range(2)}

        def labels(self, s, q):
            return {"ends": s.n == 0 or s.n == q.most - 1, "always": True}

        @staticmethod
        def rewards(s, q):
            # over all states at once, np.max would be one number, and wrong
            return {"more": np.max([s.n, 3 * s.m]), "text": len(str(s.n))}

        @staticmethod
        def rules(s, q):
            yield s._replace(n=(s.n + 1) % q.most), 1.0
            yield s._replace(m=1 - s.m), 1.0

    answer = stationary(Watched(most=size))
    s, pi = answer.states, np.full(2 * size, 0.5 / size)
    np.testing.assert_allclose(answer.pi, pi, rtol=1e-9)
    assert answer["ends"] == pytest.approx(2 / size, rel=1e-9)
    assert answer["always"] == pytest.approx(1.0)
    assert answer["more"] == pytest.approx(pi @ np.maximum(s.n, 3 * s.m), rel=1e-9)
    assert answer["text"] == pytest.approx(pi @ [len(str(n)) for n in s.n], rel=1e-9)
