"""Models with a space, a start, both or neither."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from markov import ChainModel, GeneratorOperator, explore, stationary, sweep
from markov.errors import RuleError
from tests.markov.conftest import Machine, Mode


class State(NamedTuple):
    n: int


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


def test_neither_space_nor_start():
    class Nowhere(ChainModel):
        State = State

        @staticmethod
        def rules(s, q):
            yield s, 1.0

    with pytest.raises(RuleError, match=r"^Nowhere has no states .*; say which states there are"):
        stationary(Nowhere())


def test_a_start_outside_of_the_space():
    class Off(Machine):
        def start(self):
            return self.State(Mode.BUSY, "tepid", (0, 0))

    with pytest.raises(
        RuleError, match=r"^Off: start = State.*phase = 'tepid': the target is outside"
    ):
        stationary(Off())


def test_arguments_of_rules():
    class Forgotten(Machine):
        def rules(s, q):
            yield s, 1.0

    said = r"^Forgotten.rules takes \(q\).*write \(s, q\) below @staticmethod, \(self, s, q\), or \(self, s\)"
    with pytest.raises(RuleError, match=said):
        stationary(Forgotten())

    def three(s, q, e):
        yield s, 1.0

    with pytest.raises(RuleError, match=r"^three.rules takes \(s, q, e\)"):
        explore(three, start={"n": 0})
