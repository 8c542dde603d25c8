"""Chains of rules on arrays: against plain Python, and with states that another model has found."""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np
import pytest

from markov import (
    MM1K,
    ChainModel,
    Cluster,
    CoxTandem,
    JacksonTandem,
    Kanban,
    MarkovChain,
    PauseTandem,
    Polling,
)
from markov.computing.arrays import NotOnArraysError
from markov.computing.matrices import from_edges
from markov.errors import RuleError, RuleWarning
from markov.generators import array_chains
from markov.generators.array_chains import (
    ArrayRules,
    EdgePattern,
    chain_on_arrays,
    edges_of_space,
    pattern_of,
    search_states,
)
from markov.generators.building import ChainBuilder, build_chain
from markov.generators.plain import Calls, Edges, edges_by_python
from markov.models.spaces import Space
from tests.markov.conftest import Queue
from tests.markov.generators.conftest import one_component

# Chains found on arrays are those of plain Python, of a whole space and of the part that a start leads to.

MODELS = (
    PauseTandem(), PauseTandem(pause_at_threshold="both", recovery="up", low_threshold=9), Kanban(), Cluster(),
    CoxTandem(capacity=9), Polling(), JacksonTandem(), MM1K(capacity=400),
)  # fmt: skip


@pytest.mark.parametrize("whole", [0, 10**6])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_every_bit_is_that_of_plain_python(monkeypatch, model, whole):
    monkeypatch.setattr(array_chains, "COMPLETE_SPACE_STATES", whole)
    found, expected = build_chain(model, by="arrays"), build_chain(model, by="python")
    assert found.how == "the rules on arrays of states"
    np.testing.assert_array_equal(found.codes, expected.codes)
    for name in ("data", "indices", "indptr"):
        mine, theirs = getattr(found.Q, name), getattr(expected.Q, name)
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype


def test_rules_without_a_translation_have_no_chain():
    def rules(s, q):
        yield s._replace(n=0), 1.0 + (s.n is q)

    ways = ChainBuilder(one_component(range(500), rules), True, 10**6)
    assert chain_on_arrays(ways.calls, ways.space, None, 10**6, room=True) is None


def test_without_room_for_the_space_there_is_no_chain():
    ways = ChainBuilder(MM1K(), True, 10**6)
    assert chain_on_arrays(ways.calls, ways.space, None, 10**6, room=True) is not None
    assert chain_on_arrays(ways.calls, ways.space, None, 10**6, room=False) is None


# Chains with the same transitions share their pattern, which is compared each time.

SPACE = Space.of_single(range(6))
NONE = np.zeros(0, dtype=np.int64)


def edges(*rows):
    sources, targets, rates = map(np.array, zip(*rows, strict=True))
    return Edges(sources, targets, rates.astype(float), NONE)


def test_rates_are_put_where_they_belong():
    given = edges((0, 1, 1.0), (1, 0, 0.1), (1, 0, 0.7), (1, 1, 5.0), (0, 3, 2.0), (3, 0, 1e-3), (4, 5, 1.0))
    pattern = EdgePattern(given, SPACE, None, 0)
    assert pattern.codes.tolist() == [[0, 1, 3]]
    kept = [0, 1, 2, 4, 5]
    place = np.array([0, 1, -1, 2])
    expected = from_edges(place[given.sources[kept]], place[given.targets[kept]], given.rates[kept], 3)
    found = pattern.generator(given.rates)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    again = pattern.generator(2.0 * given.rates)
    assert again.data.tolist() == (2.0 * found.data).tolist()
    assert again.indices is found.indices


def test_other_transitions_do_not_fit():
    pattern = EdgePattern(edges((0, 1, 1.0), (1, 0, 1.0)), SPACE, None, 0)
    assert pattern.matches(edges((0, 1, 3.0), (1, 0, 1.0)))
    assert not pattern.matches(edges((1, 0, 1.0), (0, 1, 3.0)))
    assert not pattern.matches(edges((0, 1, 3.0), (1, 0, 1.0))._replace(deferred=np.array([4])))


def test_a_state_that_counts_and_is_left_to_python():
    given = edges((0, 1, 1.0))
    assert EdgePattern(given._replace(deferred=np.array([1])), SPACE, None, 0).enters_deferred
    assert not EdgePattern(given._replace(deferred=np.array([4])), SPACE, None, 0).enters_deferred
    assert EdgePattern(given._replace(deferred=np.array([4])), SPACE, None, None).enters_deferred


def test_chains_are_those_of_plain_python_when_the_pattern_is_known():
    for rate in (2.0, 2.5, 0.0, 3.0):  # without a rate while paused there are fewer transitions
        model = PauseTandem(paused_rate=rate)
        found, expected = build_chain(model, by="arrays"), build_chain(model, by="python")
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(found.Q, name), getattr(expected.Q, name))
        np.testing.assert_array_equal(found.codes, expected.codes)


def test_a_known_pattern_is_compared_with_plain_python(monkeypatch):
    def rules(s, q):
        yield s._replace(n=(s.n + 1) % 500), q.rate
        yield s._replace(n=0), q.rate

    build_chain(one_component(range(500), rules, {"rate": 1.0}), by="arrays")
    right = EdgePattern.generator
    monkeypatch.setattr(EdgePattern, "generator", lambda self, rates: right(self, 1.01 * rates))
    with (
        pytest.warns(RuleWarning, match="plain Python gives"),
        pytest.raises(RuleError, match="cannot be run by arrays"),
    ):
        build_chain(one_component(range(500), rules, {"rate": 2.0}), by="arrays")


def test_few_patterns_are_kept(monkeypatch):
    monkeypatch.setattr(array_chains, "MAX_PATTERNS", 2)
    given = [edges((0, 1, rate)) for rate in (1.0, 2.0)]
    found = [pattern_of(("test", key), given[0], SPACE, None, 0) for key in range(5)]
    assert len(array_chains._patterns) <= 2
    assert pattern_of(("test", 4), given[1], SPACE, None, 0) is found[4]
    assert pattern_of(("test", 0), given[1], SPACE, None, 0) is not found[0]


def test_cached_patterns_have_a_limited_number_of_transitions(monkeypatch):
    monkeypatch.setattr(array_chains, "_patterns", type(array_chains._patterns)())
    monkeypatch.setattr(array_chains, "MAX_PATTERN_TRANSITIONS", 2)
    monkeypatch.setattr(array_chains, "MAX_CACHED_TRANSITIONS", 3)
    one, two, three = (edges(*[(0, n, 1.0) for n in range(1, count + 1)]) for count in (1, 2, 3))
    for key, transitions in (("one", one), ("two", two)):
        pattern_of(key, transitions, SPACE, None, 0)
    assert list(array_chains._patterns) == ["one", "two"]
    pattern_of("three", three, SPACE, None, 0)
    assert list(array_chains._patterns) == ["one", "two"]
    pattern_of("another two", two, SPACE, None, 0)
    assert list(array_chains._patterns) == ["another two"]


# States that a start leads to, found on arrays.


def ready_of_search(model):
    ways = ChainBuilder(model, True, 10**9)
    return ArrayRules(ways.calls, ways.space)


@pytest.mark.parametrize("chunk", [7, 10**6])
def test_states_are_those_of_plain_python(monkeypatch, chunk):
    monkeypatch.setattr(array_chains, "CHUNK", chunk)
    monkeypatch.setattr(array_chains, "STATES_PER_ROUND", 1)
    rules = ready_of_search(Kanban())
    expected = build_chain(Kanban(), by="python")
    found = search_states(rules, 0, 10**6, "Kanban")
    assert found.numbers.tolist() == rules.space.numbers(expected.codes).tolist()
    assert set(found.edges.sources.tolist()) == set(found.numbers.tolist())
    every = edges_of_space(rules)
    inside = np.isin(every.sources, found.numbers)
    pairs = zip(found.edges.sources, found.edges.targets, found.edges.rates, strict=True)
    assert sorted(pairs) == sorted(zip(*(part[inside] for part in every[:3]), strict=True))


def test_many_rounds_are_given_up():
    assert search_states(ready_of_search(Queue(capacity=20_000)), 0, 10**6, "Queue") is None


# Transitions of many states, and states whose transitions plain Python is to name.


class Mode(enum.Enum):
    UP = 1
    DOWN = 2


class Stations(ChainModel):
    """Vectors, an Enum, strings, and parameters with a method."""

    class State(NamedTuple):
        queue: tuple[int, int]
        mode: Mode
        color: str

    class Params(NamedTuple):
        room: int = 3

    def space(self):
        queue = (range(self.room + 1), range(self.room + 1))
        return {"queue": queue, "mode": list(Mode), "color": ["red", "blue"]}

    def rate(self, n):
        return 1.0 + n

    def rules(self, s, q):
        for n in range(2):
            if s.queue[n] < q.room:
                queue = tuple(v + (k == n) for k, v in enumerate(s.queue))
                yield s._replace(queue=queue), self.rate(s.queue[n])
        if s.mode is Mode.UP and sum(s.queue) > 2:
            yield s._replace(mode=Mode.DOWN), 2.0
        if s.mode == Mode.DOWN and s.color == "red":
            yield s._replace(mode=Mode.UP, color="blue", queue=(0, 0)), 3.0
        yield s._replace(color="red"), 0.5


def ready_of_batches(model):
    space = Space.of(model.State, model.space(), model.name)
    return Calls(model, space), space


def test_vectors_and_values_that_are_no_numbers():
    calls, space = ready_of_batches(Stations())
    found = ArrayRules(calls, space).edges(np.arange(space.size))
    expected = edges_by_python(calls, space, np.arange(space.size))
    assert not len(found.deferred)
    rows = sorted(zip(found.sources, found.targets, found.rates, strict=True))
    assert rows == sorted(zip(expected.sources, expected.targets, expected.rates, strict=True))


def test_bad_states_have_no_transitions(on_arrays):
    def rules(s, q):
        yield s._replace(y=0), 1.0
        yield s._replace(x=s.x + 1), (1.0 if s.x != 2 else -1.0) if s.y else 0.0

    def half(s, q):
        yield s._replace(x=s.x / 2), 1.0
        yield s._replace(y=0.5), 0.0

    on_arrays(half, space={"x": range(1), "y": range(3)}, bad=range(3))
    on_arrays(rules, bad=[4 * x + y for x in (2, 5) for y in (1, 2, 3)])


def test_states_with_methods_of_their_own_are_refused():
    class Own(Stations):
        class State(Stations.State):
            def _replace(self, **changes):
                return self

    with pytest.raises(NotOnArraysError, match="of their own"):
        ArrayRules(*ready_of_batches(Own()))


# States that an earlier chain of the same rules had: taken again only where the transitions say that they are reached.


class Cells(ChainModel):
    """Parts that move through six cells of a product space of 7^6 states, of which few can be reached."""

    class State(NamedTuple):
        a: int
        b: int
        c: int
        d: int
        e: int
        f: int

    class Params(NamedTuple):
        parts: int = 6
        rate: float = 1.0
        skip: float = 0.0

    def space(self):
        return dict.fromkeys("abcdef", range(7))

    def start(self):
        return self.State(int(self.parts), 0, 0, 0, 0, 0)

    @staticmethod
    def rules(s, q):
        if s.a > 0 and s.b < 3:
            yield s._replace(a=s.a - 1, b=s.b + 1), q.rate
        if s.b > 0 and s.c < 3:
            yield s._replace(b=s.b - 1, c=s.c + 1), 2.0 * q.rate
        if s.c > 0:
            yield s._replace(c=s.c - 1, d=s.d + 1), 1.5
        if s.d > 0:
            yield s._replace(d=s.d - 1, a=s.a + 1), 1.0
        if s.d > 0:
            yield s._replace(d=s.d - 1, e=s.e + 1), q.skip
        if s.e > 0:
            yield s._replace(e=s.e - 1, a=s.a + 1), 0.5


class Narrow(Cells):
    """The same rules without the first of them in most states: the start leads to fewer states."""

    @staticmethod
    def rules(s, q):
        if s.a > 0 and s.b < q.skip:
            yield s._replace(a=s.a - 1, b=s.b + 1), q.rate
        if s.b > 0:
            yield s._replace(b=s.b - 1, a=s.a + 1), 2.0


def assert_as_plain(model):
    found = MarkovChain.of_built(model, build_chain(model, by="arrays"))
    plain = MarkovChain.of_built(model, build_chain(model, by="python"))
    np.testing.assert_array_equal(found.components["e"], plain.components["e"])
    np.testing.assert_array_equal(found.components["a"], plain.components["a"])
    for part in ("indptr", "indices"):
        np.testing.assert_array_equal(getattr(found.Q, part), getattr(plain.Q, part))
    np.testing.assert_allclose(found.Q.data, plain.Q.data, rtol=1e-15)
    return found.size


def test_other_rates_may_lead_to_other_states():
    """A rate that becomes positive adds states, one that becomes zero takes some away."""
    sizes = [assert_as_plain(Cells(rate=5.0, skip=skip)) for skip in (0.0, 1.0, 0.0, 1.0)]
    assert sizes[0] < sizes[1]
    assert sizes[:2] == sizes[2:]


def test_states_that_are_no_longer_reached_do_not_count():
    """All targets are among the states that were known, and yet some of these are not reached."""
    sizes = [assert_as_plain(Narrow(skip=skip)) for skip in (4.0, 2.0, 4.0)]
    assert sizes == [5, 3, 5]
