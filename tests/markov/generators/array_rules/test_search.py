"""States that a start leads to, found on arrays."""

from __future__ import annotations

import numpy as np
import pytest

from markov import Kanban
from markov.errors import TooLargeError
from markov.generators.array_rules import search
from markov.generators.array_rules.batches import ArrayRules
from markov.generators.array_rules.operations import NotOnArraysError
from markov.generators.array_rules.search import edges_of_space, reached
from markov.generators.building import build_chain
from markov.generators.ways import Ways
from tests.markov.conftest import Queue


def ready(model):
    ways = Ways(model, True, 10**9)
    return ArrayRules(ways.calls, ways.space)


@pytest.mark.parametrize("chunk", [7, 10**6])
def test_states_are_those_of_plain_python(monkeypatch, chunk):
    monkeypatch.setattr(search, "CHUNK", chunk)
    monkeypatch.setattr(search, "ROUND_STATES", 1)
    rules = ready(Kanban())
    expected = build_chain(Kanban(), by="python")
    found = reached(rules, 0, 10**6, "Kanban")
    assert found.numbers.tolist() == rules.space.numbers(expected.codes).tolist()
    assert set(found.edges.sources.tolist()) == set(found.numbers.tolist())
    every = edges_of_space(rules)
    inside = np.isin(every.sources, found.numbers)
    pairs = zip(found.edges.sources, found.edges.targets, found.edges.rates, strict=True)
    assert sorted(pairs) == sorted(zip(*(part[inside] for part in every[:3]), strict=True))


def test_many_rounds_are_given_up():
    assert reached(ready(Queue(capacity=20_000)), 0, 10**6, "Queue") is None


def test_refusals(monkeypatch):
    monkeypatch.setattr(search, "ROUND_STATES", 1)
    with pytest.raises(TooLargeError, match=r"more than 50 reachable states \(most=50\)"):
        reached(ready(Kanban()), 0, 50, "Kanban")
    monkeypatch.setattr(search, "TABLE_STATES", 10)
    with pytest.raises(NotOnArraysError):
        reached(ready(Kanban()), 0, 50, "Kanban")
