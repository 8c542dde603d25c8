"""Ways to a chain: which is taken, their transitions, and operators without a matrix."""

from __future__ import annotations

import gc
import random
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import markov
import markov.computing.memory
from markov import (
    MM1K,
    ChainModel,
    Cluster,
    Courtois,
    CoxTandem,
    GeneratorOperator,
    JacksonTandem,
    MarkovChain,
    PauseTandem,
    generator,
    stationary,
    stationary_by_class,
)
from markov.computing.matrices import from_edges
from markov.errors import RuleError, RuleWarning
from markov.generators import blocks, building, regions, sets
from markov.generators.blocks import copied
from markov.generators.building import build_chain
from markov.generators.built_chains import Series
from markov.generators.calls import Calls
from markov.generators.compilation import splicing
from markov.generators.edges import Edges, edges_by_python
from markov.generators.enumeration import Enumeration
from markov.generators.regions import edges_by_regions, find_regions
from markov.generators.sets import edges_by_sets, edges_of
from markov.generators.ways import Ways
from tests.markov.conftest import Machine, Queue
from tests.markov.generators.conftest import Bad, as_pairs, edges_of_states, one_component, space_of
from tests.markov.random_rules import HELPERS, rate_of
from tests.markov.test_ways_to_write import (
    GRIDS,
    RIGHT,
    VARIANTS,
    WRONG,
    agree,
    check,
    grid_of,
    model_of,
    outcome,
)

# From rules to a matrix: which way is taken, and what is checked.


def test_compiled_rules_that_differ_are_not_taken(monkeypatch):
    """Here because nothing checks their operations: a sample of states shows it, and a warning says so."""

    class Wrapping(ChainModel):
        class State(NamedTuple):
            n: int

        class Params(NamedTuple):
            most: int = 400
            base: int = 3

        def space(self):
            return {"n": range(self.most)}

        @staticmethod
        def rules(s, q):
            yield s._replace(n=(s.n + 1) % q.most), 1.0 + q.base ** (s.n // 4) % 5

    parts = splicing._parts
    monkeypatch.setattr(splicing, "_parts", lambda model: parts(model) | {"checked": False})
    said = (
        r"Wrapping: State\(n=.*\): the rules compiled give the rate .* where plain Python gives .*"
    )
    with (
        pytest.warns(RuleWarning, match=said + r"test_ways_to_build.py, line \d+: def rules"),
        pytest.raises(RuleError, match="cannot be run by compiled"),
    ):
        build_chain(Wrapping(), by="compiled")
    monkeypatch.setattr(building, "PYTHON_STATES", 10)
    monkeypatch.setattr(building, "_compiling", lambda *_: 0.0)
    monkeypatch.setattr(building.Ways, "by_regions", lambda *_: None)
    monkeypatch.setattr(building.Ways, "by_sets", lambda *_: None)
    with pytest.warns(RuleWarning, match=said):
        found = build_chain(Wrapping())
    assert found.how == "the rules as they stand"
    expected = [1.0 + 3 ** (n // 4) % 5 for n in range(399)]
    np.testing.assert_array_equal(found.Q.diagonal(1), expected)


def test_models_of_the_package_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (markov.PauseTandem(), markov.Kanban(), markov.Cluster(workstations=3)):
            stationary(model)


class Started(Queue):
    def start(self):
        return self.State(0)


def test_chains_of_a_series_share_their_pattern():
    series = Series()
    one, other = (
        Ways(Started(arrival_rate=rate), True, 100, series).by_compiler() for rate in (0.5, 2.0)
    )
    assert one.codes is other.codes
    assert one.Q.indices is other.Q.indices
    alone = Ways(Started(arrival_rate=2.0), True, 100).by_compiler()
    assert abs(other.Q - alone.Q).max() <= 1e-15 * abs(alone.Q).max()
    longer = Ways(Started(capacity=20), True, 100, series).by_compiler()  # another pattern
    assert longer.Q.shape == (21, 21)


def test_start_decides_between_closed_classes():
    class Forked(Queue):
        class Params(NamedTuple):
            first: int = 0

        capacity = 5

        def space(self):
            return {"n": range(6)}

        def start(self):
            return None if self.first < 0 else self.State(self.first)

        @staticmethod
        def rules(s, q):
            if s.n == 0:
                yield s._replace(n=1), 1.0
            elif s.n == 1:
                yield s._replace(n=0), 3.0
            elif s.n < 5:
                yield s._replace(n=s.n + 1), 1.0

    np.testing.assert_allclose(stationary(Forked()).pi, [0.75, 0.25])
    assert stationary(Forked(first=3)).states.n.tolist() == [3, 4, 5]
    assert stationary(Forked(first=3)).pi.tolist() == [0, 0, 1]
    assert len(stationary_by_class(Forked(first=-1))) == 2
    whole = MarkovChain(Forked(), reachable=False)
    assert whole.transient_states.tolist() == [2, 3, 4, 5]
    np.testing.assert_allclose(stationary(whole).pi, [0.75, 0.25, 0, 0, 0, 0])


def lost(s, q):
    """Rules of two queues, of which the second loses what the first one sends: 17 of 120,000 states are entered."""
    if s.a < 16:
        yield s._replace(a=s.a + 1), q.arrivals
    if s.a > 0:
        yield s._replace(a=s.a - 1), 2.0


def queues(rules) -> ChainModel:
    """Return a model with a start and a large space."""

    class State(NamedTuple):
        a: int
        b: int

    class Params(NamedTuple):
        arrivals: float = 1.0

    members = {
        "State": State, "Params": Params, "rules": staticmethod(rules),
        "space": lambda _: {"a": range(300), "b": range(400)}, "start": lambda _: {"a": 0, "b": 0},
    }  # fmt: skip
    model: ChainModel = type("Queues", (ChainModel,), members)()
    return model


def copy_of(rules):
    return type(rules)(rules.__code__, rules.__globals__)


def test_rules_whose_searches_last_long_are_compiled(monkeypatch) -> None:
    """Once searches on arrays have lasted as long as compilation does; not where the states are known."""
    experience = building._Experience()
    monkeypatch.setattr(building, "_experience", experience)
    monkeypatch.setattr(building, "PYTHON_STATES", -1)
    monkeypatch.setattr(building, "_seconds_to_compile", lambda _: 0.0)
    first = build_chain(queues(lost))
    again = build_chain(queues(lost))
    assert again.how == first.how != "the rules compiled"
    (code,) = experience.searched
    assert 0.0 < experience.searched[code] < 10.0
    experience.searched[code] = 10.0
    assert build_chain(queues(lost)).how == "the rules compiled"  # of other State types
    known = queues(lost)
    build_chain(known, by="arrays")
    assert build_chain(known).how == first.how
    other = build_chain(queues(copy_of(lost)))
    assert other.how == "the rules compiled"
    np.testing.assert_array_equal(other.Q.toarray(), first.Q.toarray())
    np.testing.assert_array_equal(other.codes, first.codes)


def test_rules_that_do_not_compile_are_not_tried_again(monkeypatch) -> None:
    experience = building._Experience()
    monkeypatch.setattr(building, "_experience", experience)
    monkeypatch.setattr(building, "PYTHON_STATES", -1)
    monkeypatch.setattr(building, "_seconds_to_compile", lambda _: 0.0)
    tried = []
    monkeypatch.setattr(building.Ways, "by_compiler", lambda *_: tried.append(1))
    experience.searched[lost.__code__] = 10.0
    for _ in range(3):
        assert build_chain(queues(copy_of(lost))).how != "the rules compiled"
    assert len(tried) == 1


# Every way from rules to states gives the same chain, and says which way it was.

WAYS = {
    "by_regions": (CoxTandem(capacity=40), "regions of the space"),
    "by_sets": (CoxTandem(capacity=40), "the rules on sets of states"),
    "by_compiler": (Started(capacity=300), "the rules compiled"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reachable", [True, False])
def test_a_way_gives_the_chain_of_plain_python(way, reachable):
    model, how = WAYS[way]
    plain = Ways(model, reachable, 10**6).by_python()
    found = getattr(Ways(model, reachable, 10**6), way)()
    assert how in found.how
    assert plain.how == "the rules as they stand"
    np.testing.assert_array_equal(found.codes, plain.codes)
    assert abs(found.Q - plain.Q).max() <= 1e-15 * abs(plain.Q).max()


def test_transitions_of_some_states_are_counted():
    ways = Ways(Queue(), True, 100)
    inside, ends = 3 * 120, 2 * 120  # up, down, to itself; at the ends one less
    assert ends <= ways.count_of_some() <= inside


# Breadth-first search by the rules as they stand, some states at a time.


def tree(s, q):
    """Two states below each, down to 30."""
    for n in (2 * s.n + 1, 2 * s.n + 2):
        if n < 31:
            yield s._replace(n=n), 1.0 + n


def search(model, start, **options):
    calls = Calls(model, space_of(model))
    return Enumeration(calls, [calls.known(state) for state in start], **options)


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


# Rates to one target add up, and their sum is finite.


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


# Products by the rules against the matrix; labels and rewards.


BOXES = [
    MM1K(capacity=12),
    Courtois(),
    Cluster(workstations=2),
    pytest.param(
        PauseTandem(buffers=(4, 6), high_threshold=4), marks=pytest.mark.slow
    ),  # compiles 8 s
]


@pytest.mark.parametrize("model", BOXES, ids=repr)
def test_products_are_those_of_the_matrix(model: ChainModel) -> None:
    Q, operator = generator(model, reachable=False), GeneratorOperator(model)
    x = np.random.default_rng(0).normal(size=(model.size, 3))
    assert operator.shape == Q.shape
    # sums of a row's entries in another order
    near = {"rtol": 1e-13, "atol": 1e-13 * abs(Q).max() * abs(x).max()}
    assert_allclose(operator @ x[:, 0], Q @ x[:, 0], **near)
    assert_allclose(operator @ x, Q @ x, **near)
    assert_allclose(operator.T @ x[:, 1], Q.T @ x[:, 1], **near)
    assert_allclose(operator.exit_rates, -Q.diagonal(), rtol=1e-13)
    assert_allclose(operator @ np.ones(model.size), 0.0, atol=0.0)


def test_operator_is_one_of_scipy() -> None:
    model = MM1K(capacity=30)
    operator = aslinearoperator(GeneratorOperator(model))
    assert isinstance(operator, LinearOperator)
    pi, lazy = (
        np.full(model.size, 1.0 / model.size),
        1.0 / (2.0 * GeneratorOperator(model).exit_rates.max()),
    )
    for _ in range(20_000):  # power steps without a matrix
        pi = pi + lazy * (operator.T @ pi)
    assert_allclose(pi, model.exact(), atol=1e-12)


class Watched(MM1K):
    """M/M/1/K whose sets of states have names."""

    def labels(self, s: Any) -> dict[str, Any]:
        return {"idle": s.n == 0, "always": True}

    def rewards(self, s: Any) -> dict[str, Any]:
        return {"throughput": self.params.service_rate * (s.n > 0), "customers": s.n}


def test_labels_and_rewards_are_measures() -> None:
    model = Watched(arrival_rate=1.0, service_rate=2.0, capacity=9)
    exact, n = model.exact(), np.arange(10)
    answer = stationary(model)
    found = {name: float(answer[name]) for name in ("idle", "always", "throughput", "customers")}
    assert_allclose(
        list(found.values()), [exact[0], 1.0, 2.0 * (1.0 - exact[0]), exact @ n], rtol=1e-13
    )
    assert "throughput" in repr(answer)
    assert MarkovChain(MM1K()).model.measures(MM1K().exact()) == {}


# Every way by itself, on the queue and the rates of `tests/markov/test_ways_to_write.py`, and on random rates.


def by(model: ChainModel, way: str) -> Any:
    return build_chain(model, by=way).Q


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hopflow.errors.RuleWarning")  # and then not taken
@pytest.mark.parametrize("number", range(len(VARIANTS)), ids=list(VARIANTS))
@pytest.mark.parametrize("way", ["arrays", "regions", "sets", "compiled"])
def test_each_means_the_same_in_every_way_that_it_can_go(number, way, tmp_path):
    text = list(VARIANTS.values())[number]
    queue: type[ChainModel] = model_of(text, tmp_path, 1000 + number).Queue
    try:
        found = build_chain(queue(capacity=2400), by=way)
    except ValueError as error:
        assert f"cannot be run by {way}" in str(error)  # noqa: PT017
        return
    check(found.Q, 2400)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::hopflow.errors.RuleWarning")
@pytest.mark.parametrize("number", range(len(WRONG + RIGHT)), ids=WRONG + RIGHT)
def test_where_python_raises_so_does_every_way(number, tmp_path, monkeypatch):
    """Each way by itself, however small the regions and sets, and without the comparison on a sample."""
    each_way_alone(monkeypatch)
    grid = grid_of((WRONG + RIGHT)[number], tmp_path, 3000 + number)
    for width, height, x, y in GRIDS:
        model = grid(width=width, height=height, x=x, y=y)
        expected = outcome(generator, model, compiled=False)
        for way in ("arrays", "regions", "sets", "compiled"):
            found = outcome(by, model, way=way)
            assert "cannot be run by" in str(found) or agree(found, expected), (way, found)


def each_way_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every way run, whatever it costs, and believe it."""
    for module in (regions, sets):
        monkeypatch.setattr(module, "STATES_PER_RUN", 1)
        monkeypatch.setattr(module, "DEFERRED", 1.0)
    monkeypatch.setattr(sets, "PROBED", 10**9)
    monkeypatch.setattr(Ways, "_compared", lambda _ways, built, *_: built)


QUICK, SLOW, COMPILED = 12, 2000, 100  # rules


def compare(rates: list[str], folder: Path, ways: list[str], sizes: list[tuple[int, ...]]) -> int:
    """Compare random rules with plain Python; return how many were not refused."""
    answered = 0
    for number, rate in enumerate(rates):
        grid = grid_of(rate, folder, 5000 + number, HELPERS)
        for width, height, x, y in sizes:
            model = grid(width=width, height=height, x=x, y=y)
            expected = outcome(generator, model, compiled=False)
            for way in ways:
                found = outcome(by, model, way=way)
                refused = "cannot be run by" in str(found)
                assert refused or agree(found, expected), (rate, way, found, expected)
                answered += not refused
    return answered


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_rules_by_arrays_regions_and_sets(tmp_path, monkeypatch):
    each_way_alone(monkeypatch)
    rng = random.Random(1)
    rates = [rate_of(rng) for _ in range(QUICK)]
    assert compare(rates, tmp_path, ["arrays", "regions", "sets"], GRIDS[1:]) >= QUICK // 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(10))
def test_many_random_rules_by_arrays_regions_and_sets(seed, tmp_path, monkeypatch):
    each_way_alone(monkeypatch)
    rng = random.Random(100 + seed)
    rates = [rate_of(rng) for _ in range(SLOW // 10)]
    assert compare(rates, tmp_path, ["arrays", "regions", "sets"], GRIDS) > SLOW // 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(5))
def test_random_rules_compiled(seed, tmp_path, monkeypatch):
    each_way_alone(monkeypatch)
    rng = random.Random(200 + seed)
    rates = [rate_of(rng) for _ in range(COMPILED // 5)]
    assert compare(rates, tmp_path, ["compiled"], GRIDS) > COMPILED // 40
