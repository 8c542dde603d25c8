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
import markov.computing.resources
from markov import (
    MM1K,
    ChainModel,
    Cluster,
    Courtois,
    GeneratorOperator,
    MarkovChain,
    PauseTandem,
    generator,
    stationary,
    stationary_by_class,
)
from markov.errors import RuleError
from markov.generators.building import ChainBuilder, build_chain
from markov.generators.plain import Calls, Enumeration
from tests.markov.conftest import Queue
from tests.markov.generators.conftest import Bad, one_component, space_of
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


def test_models_of_the_package_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (markov.PauseTandem(), markov.Kanban(), markov.Cluster(workstations=3)):
            stationary(model)


class Started(Queue):
    def start(self):
        return self.State(0)


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


# Arrays give the chain of plain Python, and say so.


@pytest.mark.parametrize("reachable", [True, False])
def test_arrays_give_the_chain_of_plain_python(reachable):
    builder = ChainBuilder(Started(capacity=300), reachable, 10**6)
    plain, found = builder.build_by_python(), builder.build_on_arrays()
    assert found.how == "the rules on arrays of states"
    assert plain.how == "the rules as they stand"
    np.testing.assert_array_equal(found.codes, plain.codes)
    assert abs(found.Q - plain.Q).max() <= 1e-15 * abs(plain.Q).max()


# Breadth-first search by the rules as they stand, some states at a time.


def tree(s, q):
    """Two states below each, down to 30."""
    for n in (2 * s.n + 1, 2 * s.n + 2):
        if n < 31:
            yield s._replace(n=n), 1.0 + n


def search(model, start, **options):
    calls = Calls(model, space_of(model))
    return Enumeration(calls, [calls.as_state(state) for state in start], **options)


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
    with pytest.raises(RuleError, match=r"^tree: State\(n=2\) -> State\(n=5\) .* outside the space"):
        search(one_component(range(5), tree), some, closed=True).run(9)
    assert search(Queue(capacity=4), some, closed=True).run(9)


def test_the_search_for_garbage_goes_on_after_an_error():
    assert gc.isenabled()
    with pytest.raises(RuleError):
        search(Bad(rate=-1.0), [(0,)]).run(9)
    assert gc.isenabled()


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


# Products by the rules against the matrix; labels and rewards.


BOXES = [
    MM1K(capacity=12),
    Courtois(),
    Cluster(workstations=2),
    PauseTandem(buffers=(4, 6), high_threshold=4),
]


@pytest.mark.parametrize("model", BOXES, ids=repr)
def test_products_are_those_of_the_matrix(model: ChainModel) -> None:
    Q, operator = generator(model, reachable=False), GeneratorOperator(model)
    x = np.random.default_rng(0).normal(size=(model.space_size, 3))
    assert operator.shape == Q.shape
    # sums of a row's entries in another order
    near = {"rtol": 1e-13, "atol": 1e-13 * abs(Q).max() * abs(x).max()}
    assert_allclose(operator @ x[:, 0], Q @ x[:, 0], **near)
    assert_allclose(operator @ x, Q @ x, **near)
    assert_allclose(operator.T @ x[:, 1], Q.T @ x[:, 1], **near)
    assert_allclose(operator.exit_rates, -Q.diagonal(), rtol=1e-13)
    assert_allclose(operator @ np.ones(model.space_size), 0.0, atol=0.0)


@pytest.mark.slow
def test_operator_is_one_of_scipy() -> None:
    model = MM1K(capacity=30)
    operator = aslinearoperator(GeneratorOperator(model))
    assert isinstance(operator, LinearOperator)
    pi, lazy = (
        np.full(model.space_size, 1.0 / model.space_size),
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
    assert_allclose(list(found.values()), [exact[0], 1.0, 2.0 * (1.0 - exact[0]), exact @ n], rtol=1e-13)
    assert "throughput" in repr(answer)
    assert MarkovChain(MM1K()).model.measures(MM1K().exact()) == {}


# Arrays by themselves, on the queue and the rates of `tests/markov/test_ways_to_write.py`, and on random rates.


def by_arrays(model: ChainModel) -> Any:
    return build_chain(model, by="arrays").Q


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hopflow.errors.RuleWarning")  # and then not taken
@pytest.mark.parametrize("number", range(len(VARIANTS)), ids=list(VARIANTS))
def test_each_means_the_same_on_arrays(number, tmp_path):
    text = list(VARIANTS.values())[number]
    queue: type[ChainModel] = model_of(text, tmp_path, 1000 + number).Queue
    try:
        found = build_chain(queue(capacity=2400), by="arrays")
    except ValueError as error:
        assert "cannot be run by arrays" in str(error)  # noqa: PT017
        return
    check(found.Q, 2400)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::hopflow.errors.RuleWarning")
@pytest.mark.parametrize("number", range(len(WRONG + RIGHT)), ids=WRONG + RIGHT)
def test_where_python_raises_arrays_do(number, tmp_path, monkeypatch):
    """Without the comparison in a sample."""
    arrays_alone(monkeypatch)
    grid = grid_of((WRONG + RIGHT)[number], tmp_path, 3000 + number)
    for width, height, x, y in GRIDS:
        model = grid(width=width, height=height, x=x, y=y)
        expected = outcome(generator, model, compiled=False)
        found = outcome(by_arrays, model)
        assert "cannot be run by" in str(found) or agree(found, expected), found


def arrays_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept chains from arrays without a comparison."""
    monkeypatch.setattr(ChainBuilder, "_verify_sample", lambda _builder, built, _sample: built)


QUICK, SLOW = 12, 2000  # rules


def compare(rates: list[str], folder: Path, sizes: list[tuple[int, ...]]) -> int:
    """Compare random rules with plain Python; return how many were not refused."""
    answered = 0
    for number, rate in enumerate(rates):
        grid = grid_of(rate, folder, 5000 + number, HELPERS)
        for width, height, x, y in sizes:
            model = grid(width=width, height=height, x=x, y=y)
            expected = outcome(generator, model, compiled=False)
            found = outcome(by_arrays, model)
            refused = "cannot be run by" in str(found)
            assert refused or agree(found, expected), (rate, found, expected)
            answered += not refused
    return answered


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_rules_on_arrays(tmp_path, monkeypatch):
    arrays_alone(monkeypatch)
    rng = random.Random(1)
    rates = [rate_of(rng) for _ in range(QUICK)]
    assert compare(rates, tmp_path, GRIDS[1:]) >= QUICK // 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(10))
def test_many_random_rules_on_arrays(seed, tmp_path, monkeypatch):
    arrays_alone(monkeypatch)
    rng = random.Random(100 + seed)
    rates = [rate_of(rng) for _ in range(SLOW // 10)]
    assert compare(rates, tmp_path, GRIDS) > SLOW // 20
