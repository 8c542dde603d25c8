"""Rules that run on arrays and state by state, to be compared."""

from __future__ import annotations

import numpy as np
import pytest

from markov.generators.array_rules.batches import ArrayRules
from markov.generators.calls import Calls
from markov.generators.edges import edges_by_python
from markov.models.bare import FunctionModel
from markov.models.spaces import Space


@pytest.fixture
def on_arrays():
    """Return a function that compares rules over x = 0..5, y = 0..3 with plain Python, transition by transition."""

    def compare(rules, params=None, space=None, bad=()):
        given = {"x": range(6), "y": range(4)} if space is None else space
        model = FunctionModel(rules, None, params or {}, space=given)
        space = Space.of(model.State, model.space(), model.name)
        calls = Calls(model, space)
        found = ArrayRules(calls, space).transitions(np.arange(space.size))
        assert found.bad.tolist() == list(bad)  # whose transitions plain Python is to name
        good = np.setdiff1d(np.arange(space.size), found.bad)
        expected = edges_by_python(calls, space, good)
        order = np.argsort(found.sources, kind="stable")
        assert found.sources[order].tolist() == expected.sources.tolist()
        assert found.targets[order].tolist() == expected.targets.tolist()
        assert found.rates[order].tolist() == expected.rates.tolist()
        return found

    return compare
