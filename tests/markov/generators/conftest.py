"""Models that tests of several generators share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from markov import ChainModel
from markov.generators.array_chains import ArrayRules
from markov.generators.plain import Calls, Edges, edges_by_python
from markov.models.bare import FunctionModel
from markov.models.spaces import Space
from tests.markov.conftest import Queue


class Bad(Queue):
    """Goes wrong in one state, in a way that can be chosen."""

    class Params(NamedTuple):
        step: float = 1.0
        rate: float = 1.0
        capacity: int = 3
        lowest: int = 0

    @staticmethod
    def rules(s, q):
        if s.n == 2:
            yield s._replace(n=s.n + q.step), q.rate
        yield s._replace(n=0), 1.0
        yield s._replace(n=(s.n + 1) % 4), 0.5
        yield s._replace(n=(s.n + 1) % 4), 0.25  # rates to one target add up


def one_component(space: Any, rules: Any, params: Any = None) -> ChainModel:
    """Return a model of one component, n."""
    return FunctionModel(rules, None, params or {}, space={"n": space})


def space_of(model: ChainModel) -> Space:
    return Space.of(model.State, model.space(), model.name)


def edges_of_states(model: ChainModel, numbers: Any) -> dict[tuple[int, int], float]:
    """Return the rates between different states by calling the rules, state by state."""
    space = space_of(model)
    found: dict[tuple[int, int], float] = {}
    for number in numbers:
        state = model.State(*space.state(space.codes_of_numbers(np.array([number]))[:, 0]))
        for target, rate in model.rules(state, model.symbols()):
            pair = int(number), int(space.numbers(space.codes([target]))[0])
            if rate > 0.0:
                found[pair] = found.get(pair, 0.0) + rate
    return found


def as_pairs(edges: Edges) -> dict[tuple[int, int], float]:
    """Return the rates of transitions by source and target, added up."""
    found: dict[tuple[int, int], float] = {}
    for x, y, rate in zip(edges.sources, edges.targets, edges.rates, strict=True):
        pair = int(x), int(y)
        found[pair] = found.get(pair, 0.0) + float(rate)
    return found


@pytest.fixture
def on_arrays():
    """Return a function that compares rules over x = 0..5, y = 0..3 with plain Python, transition by transition."""

    def compare(rules, params=None, space=None, bad=()):
        given = {"x": range(6), "y": range(4)} if space is None else space
        model = FunctionModel(rules, None, params or {}, space=given)
        space = Space.of(model.State, model.space(), model.name)
        calls = Calls(model, space)
        found = ArrayRules(calls, space).edges(np.arange(space.size))
        assert found.deferred.tolist() == list(bad)  # whose transitions plain Python is to name
        good = np.setdiff1d(np.arange(space.size), found.deferred)
        expected = edges_by_python(calls, space, good)
        order = np.argsort(found.sources, kind="stable")
        assert found.sources[order].tolist() == expected.sources.tolist()
        assert found.targets[order].tolist() == expected.targets.tolist()
        assert found.rates[order].tolist() == expected.rates.tolist()
        return found

    return compare
