"""Transitions of some states, and of sets of them, by the rules as they stand."""

from __future__ import annotations

import gc
import math

import numpy as np
import pytest

from markov import Cluster, CoxTandem, JacksonTandem, PauseTandem, generator
from markov.errors import RuleError, TooLargeError
from markov.generators import blocks, sets
from markov.generators.assembly import from_edges
from markov.generators.blocks import copied
from markov.generators.calls import Calls
from markov.generators.edges import Edges, edges_by_python
from markov.generators.enumeration import Enumeration
from markov.generators.regions import edges_by_regions, find_regions
from markov.generators.sets import edges_by_sets, edges_of
from tests.markov.conftest import Coin, Machine, Queue
from tests.markov.generators.conftest import Bad, as_pairs, edges_of_states, one_component, space_of

# Transitions of some states by the rules as they stand.


@pytest.mark.parametrize(
    "model", [PauseTandem(buffers=(3, 4), high_threshold=3), Machine()], ids=repr
)
def test_transitions_are_those_that_the_rules_yield(model):
    space = space_of(model)
    some = np.array([0, 7, space.size - 1])
    found = edges_by_python(Calls(model, space), space, some)
    assert as_pairs(found) == pytest.approx(edges_of_states(model, some))
    assert not len(found.deferred)


def test_states_without_transitions_have_none():
    space = space_of(Bad())
    assert [len(part) for part in edges_by_python(Calls(Bad(), space), space, np.array([], int))] == [
        0, 0, 0, 0,
    ]  # fmt: skip


@pytest.mark.parametrize("rate", [-1.0, math.nan])
def test_what_is_no_rate_is_refused_with_its_state(rate):
    space = space_of(Bad())
    with pytest.raises(RuleError, match=r"^Bad: State\(n=2\) -> .* a rate must be finite and >= 0"):
        edges_by_python(Calls(Bad(rate=rate), space), space, np.array([0, 2]))


def test_parts_are_joined_in_their_order():
    one = Edges(*map(np.array, ([0], [1], [2.0], [5])))
    other = Edges(*map(np.array, ([3, 4], [4, 3], [1.0, 1.0], [6])))
    joined = Edges.joined([one, other])
    assert [part.tolist() for part in joined] == [[0, 3, 4], [1, 4, 3], [2.0, 1.0, 1.0], [5, 6]]


# Breadth-first search by the rules as they stand, some states at a time.


def tree(s, q):
    """Two states below each, down to 30."""
    for n in (2 * s.n + 1, 2 * s.n + 2):
        if n < 31:
            yield s._replace(n=n), 1.0 + n


def search(model, start, **options):
    calls = Calls(model, space_of(model))
    return Enumeration(calls, [calls.known(state) for state in start], **options)


def test_states_are_found_in_the_order_of_their_distance():
    found = search(one_component(range(31), tree), [(0,)])
    assert found.run(100)
    assert [state.n for state in found.states] == list(range(31))
    rows = found.rows()
    assert np.diff(rows.indptr).tolist() == [2] * 15 + [0] * 16
    assert rows.targets.tolist() == list(range(1, 31))
    assert rows.rates.tolist() == [1.0 + n for n in range(1, 31)]


def test_a_search_may_be_continued():
    whole, parts = (search(Queue(), [(5,)]) for _ in range(2))
    assert whole.run(100)
    steps = 0
    while not parts.run(2):
        steps += 1
        assert parts.done == 2 * steps
    assert parts.states == whole.states
    for one, other in zip(parts.rows(), whole.rows(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_closed_search_allows_no_other_states():
    some = [(n,) for n in range(5)]
    with pytest.raises(
        RuleError, match=r"^tree: State\(n=2\) -> State\(n=5\) .* outside the space"
    ):
        search(one_component(range(5), tree), some, closed=True).run(9)
    assert search(Queue(capacity=4), some, closed=True).run(9)


def test_more_states_than_allowed_are_refused():
    with pytest.raises(TooLargeError, match=r"more than 7 reachable states \(most=7\)"):
        search(one_component(range(31), tree), [(0,)], most=7).run(100)


def test_the_search_for_garbage_goes_on_after_an_error():
    assert gc.isenabled()
    with pytest.raises(RuleError):
        search(Bad(rate=-1.0), [(0,)]).run(9)
    assert gc.isenabled()


# Rules run on whole sets of states give the transitions of each of them.


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


# Rates to one target add up, and their sum is finite.


def test_rates_add_up():
    Q = generator(Bad(rate=0.0)).toarray()
    np.testing.assert_array_equal(Q[1], [1.0, -1.75, 0.75, 0.0])
    np.testing.assert_array_equal(Q[3], [1.75, 0.0, 0.0, -1.75])


def test_entries_of_a_column_add_up_wherever_they_are():
    class Duplicates(Queue):
        @staticmethod
        def rules(s, q):
            for n in (5, 2, 9, 2, 5, 2, 7):
                yield s._replace(n=n), 1.0 + n

    model = Duplicates(lowest=0)
    Q, plain = generator(model), generator(model, compiled=False)
    np.testing.assert_array_equal(Q.toarray(), plain.toarray())
    assert Q.has_canonical_format
    assert Q[0].toarray().ravel()[[2, 5, 7, 9]].tolist() == [9.0, 12.0, 8.0, 10.0]


@pytest.mark.parametrize("compiled", [True, False])
def test_rates_whose_sum_overflows(compiled):
    class Fast(Coin):
        @staticmethod
        def rules(s, q):
            yield s._replace(side=1 - s.side), 1e308
            yield s._replace(side=1 - s.side), 1e308

    with pytest.raises(ValueError, match=r"^Fast: State\(side=0\): the sum of the rates overflows"):
        generator(Fast(), compiled=compiled)


# Rows of regions copied block by block are those of their transitions one by one.


def twice_up(s, q):
    """Two transitions to the same state."""
    if s.n < 2999:
        yield s._replace(n=s.n + 1), 1.0
        yield s._replace(n=s.n + 1), 0.25
    if s.n > 0:
        yield s._replace(n=s.n - 1), 3.0


MODELS = [
    PauseTandem(buffers=(40, 30), high_threshold=20),
    PauseTandem(buffers=(3, 300), high_threshold=200, low_threshold=150),
    CoxTandem(capacity=25),
    one_component(range(3000), twice_up),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("block", [64, 100, 512])
def test_copied_rows_are_those_of_the_transitions(model, block, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", block)
    monkeypatch.setattr(blocks, "DENSER", 0)
    space = space_of(model)
    regions = find_regions(Calls(model, space), space)
    matrix = copied(regions, space)
    expected = from_edges(*edges_by_regions(regions, space)[:3], space.size)
    np.testing.assert_array_equal(matrix.indptr, expected.indptr)
    np.testing.assert_array_equal(matrix.indices, expected.indices)
    # the diagonal is a sum in another order
    np.testing.assert_allclose(matrix.data, expected.data, rtol=1e-15)


def test_few_states_for_each_kind_of_block_are_not_worth_copying():
    space = space_of(MODELS[0])
    regions = find_regions(Calls(MODELS[0], space), space)
    assert copied(regions, space) is None
