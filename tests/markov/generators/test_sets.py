"""Rules run on whole sets of states give the transitions of each of them."""

from __future__ import annotations

import numpy as np
import pytest

from markov import Cluster, JacksonTandem
from markov.generators import sets
from markov.generators.calls import Calls
from markov.generators.edges import Edges, edges_by_python
from markov.generators.sets import edges_by_sets, edges_of
from tests.markov.conftest import Machine, Queue
from tests.markov.generators.conftest import as_pairs, edges_of_states, one_component, space_of


def ready(model):
    space = space_of(model)
    return Calls(model, space), space


@pytest.mark.parametrize(
    "model", [Machine(room=9), JacksonTandem(capacity=12), Cluster(workstations=2)], ids=repr
)
def test_transitions_are_those_of_plain_python(model):
    calls, space = ready(model)
    found = edges_of(calls, space, np.arange(space.size), per_run=1)
    late = edges_by_python(calls, space, found.deferred)
    found = Edges.joined([found, late])
    expected = edges_of_states(model, range(space.size))
    assert as_pairs(found) == pytest.approx(expected, rel=1e-15)


def test_states_where_rules_go_wrong_are_left_to_python():
    def rules(s, q):
        yield s._replace(n=s.n + 1), 100.0 // (s.n % 50)
        yield s._replace(n=0), -1.0 if 180 <= s.n < 185 else 1.0

    calls, space = ready(one_component(range(200), rules))
    found = edges_of(calls, space, np.arange(200))
    wrong = [0, 50, 100, 150, *range(180, 185), 199]  # at last, one out of the space
    assert sorted(found.deferred.tolist()) == wrong
    assert set(found.sources.tolist()) == set(range(200)) - set(wrong)


def test_sets_that_fall_apart_are_given_up():
    def alike(s, q):
        yield s._replace(n=(s.n + 1) % 4000), 1.0 + s.n

    def different(s, q):
        yield s._replace(n=(s.n + 1) % 4000), {n: 1.0 + n for n in range(4000)}[s.n]

    found = edges_by_sets(*ready(one_component(range(4000), alike)))
    assert found.rates.tolist() == [1.0 + n for n in range(4000)]
    assert edges_by_sets(*ready(one_component(range(4000), different))) is None


def test_time_that_is_over_ends_it(monkeypatch):
    monkeypatch.setattr(sets, "CHUNK", 100)
    with pytest.raises(TimeoutError):
        edges_by_sets(*ready(Queue(capacity=999)), seconds=-1.0)
