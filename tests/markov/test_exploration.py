"""From rules to states: what exploring finds, in both ways, and what it refuses."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.sparse.csgraph import breadth_first_order

from markov import (
    GTH,
    MM1K,
    ChainModel,
    Cluster,
    DiscreteChain,
    Levels,
    MarkovChain,
    PauseChain,
    PauseTandem,
    explore,
    generator,
    stationary,
)
from tests.markov.conftest import Coin, Queue


@pytest.mark.parametrize("lowest", [0, -3, 5])
@pytest.mark.parametrize("compiled", [False, True])
def test_queue(lowest, compiled):
    model = Queue(lowest=lowest)
    chain = MarkovChain(model)
    rho = 0.7
    exact = (1 - rho) * rho ** np.arange(13) / (1 - rho**13)
    np.testing.assert_allclose(stationary(chain).pi, exact, rtol=1e-13)
    Q = generator(model, compiled=compiled)
    np.testing.assert_array_equal(Q.toarray(), chain.Q.toarray())
    assert model.shape == (13,)
    assert model.space_size == 13
    assert model.states().n.tolist() == list(range(lowest, lowest + 13))
    assert model.transitions((lowest,)) == [((lowest + 1,), 7.0), ((lowest,), 5.0)]


@pytest.mark.parametrize("compiled", [True, False])
def test_no_parameters(compiled):
    expected = [[-1.0, 1.0], [3.0, -3.0]]
    assert generator(Coin(), compiled=compiled).toarray().tolist() == expected
    assert explore(Coin(), compiled=compiled).chain.Q.toarray().tolist() == expected


def test_explored_chains_know_their_components():
    """By which methods find structure, and the proof what multigrid on the matrix alone cannot."""
    found = explore(PauseTandem(buffers=(30, 60), high_threshold=45))
    assert set(found.chain.components) == {"i", "j", "k", "a"}
    for name, values in found.chain.components.items():
        np.testing.assert_array_equal(values, getattr(found.states, name))
    part = found.chain.restricted(found.chain.recurrent_classes[0])
    assert part.components["j"].max() == 60
    answer = stationary(found.chain, Levels("i"))
    np.testing.assert_allclose(answer.pi, stationary(found.chain, GTH()).pi, rtol=1e-12)
    assert MarkovChain(found.chain.Q).components is None


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    "model",
    [
        PauseTandem(), PauseTandem(buffers=(30, 40), low_threshold=3), Cluster(workstations=2),
        Cluster(workstations=10), MM1K(capacity=1), MM1K(capacity=9000),
    ],
    ids=repr,
)  # fmt: skip
def test_exploring_finds_what_the_product_space_has(model, compiled):
    class Started(type(model)):
        def start(self):
            return super().start() or self.State(0)

    started = Started(*model.params)
    found = explore(started, compiled=compiled)
    whole = MarkovChain(model, reachable=False)
    space = model.space().values()
    place = [part - values.start for part, values in zip(found.states, space, strict=True)]
    numbers = np.ravel_multi_index(place, model.shape)
    first = whole.number_of(started.start())
    reached = breadth_first_order(whole.Q, first, return_predecessors=False)
    np.testing.assert_array_equal(numbers, np.sort(reached))
    expected = whole.Q[numbers][:, numbers]
    assert abs(found.chain.Q - expected).max() <= 1e-15 * abs(expected).max()


class Walk(ChainModel):
    class State(NamedTuple):
        x: int
        y: int

    class Params(NamedTuple):
        wide: int = 10
        limit: int = 5
        rate: float = 1.0
        begun: bool = True

    def space(self):
        return dict.fromkeys("xy", range(self.wide))

    def start(self):
        return self.State(0, 0) if self.begun else None

    @staticmethod
    def rules(s, q):
        if s.x < q.limit:
            yield s._replace(x=s.x + 1), 1.0
        if s.x > 0:
            yield s._replace(x=s.x - 1), q.rate


@pytest.mark.parametrize("wide", [3 * 10**9, 10**10, 10**30])
def test_a_few_states_of_a_huge_space(wide):
    found = explore(Walk(wide=wide))
    assert found.states.x.tolist() == list(range(6))
    assert stationary(found.chain).pi == pytest.approx([1 / 6] * 6)


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"begun": False}, ValueError, r"^Walk: start is None: exploring needs a state"),
        ({"limit": 10}, ValueError, r"Walk: State\(x=9, y=0\) -> State\(x=10, y=0\) .* outside"),
        ({"rate": -1.0}, ValueError, r"Walk: State\(x=1, y=0\) -> .* rate -1.0: a rate must be"),
    ],
)
def test_exploring_refuses(changes, error, said):
    with pytest.raises(error, match=said):
        explore(Walk(**changes))


def test_a_space_makes_the_search_quicker_and_changes_nothing():
    def rules(s, q):
        if s.x < q.n:
            yield s._replace(x=s.x + 1), 1.0
        if s.x > 0 and s.y < q.n:
            yield s._replace(x=s.x - 1, y=s.y + 1), 2.0
        if s.y > 0:
            yield s._replace(y=s.y - 1), 3.0

    given = {"start": {"x": 0, "y": 0}, "params": {"n": 40}}
    one = explore(rules, **given)
    other = explore(rules, **given, space={"x": range(41), "y": range(41)})
    assert one.chain.how == "the rules as they stand"
    assert "arrays" in other.chain.how
    np.testing.assert_array_equal(np.array(one.states), np.array(other.states))
    assert abs(one.chain.Q - other.chain.Q).max() == 0.0


def test_the_product_space_is_named_as_such_and_the_chain_counts_what_is_solved() -> None:
    model = PauseChain(hops=1, buffers=(5, 5), high_threshold=4)
    assert model.space_size == math.prod(model.shape) == 144
    assert MarkovChain(model).size == len(stationary(model).pi) == 84
    with pytest.warns(DeprecationWarning, match=r"PauseChain\.size is deprecated .* write PauseChain\.space_size"):
        assert model.size == 144


@pytest.mark.parametrize("step", [0.1, 0.7, 1e-9])
def test_states_that_differ_by_rounding_are_named(step: float) -> None:
    """0.1 + 0.2 is another state than 0.3, so that the probability of one was divided without a word."""

    def walk(x: float) -> Any:
        if x < 3 * step:
            yield x + step, 1.0
        if x > 0.0:
            yield x - step, 1.0

    message = r"walk: state has the values \S+ and \S+, which differ by rounding alone: .* whole numbers"
    with pytest.warns(UserWarning, match=message):
        explore(walk, start=0.0, most=100)
    with pytest.warns(UserWarning, match=r"<lambda>: x has the values"):
        explore(lambda s: ((s._replace(x=x), rate) for x, rate in walk(s.x)), start={"x": 0.0}, most=100)
    with pytest.warns(UserWarning, match=r"rules: state\[0\] has the values"):
        DiscreteChain.of_rules(lambda s: [((min(s[0] + 0.1, 0.3), 0), 0.5), ((max(s[0] - 0.1, 0.0), 0), 0.5)], (0.0, 0))


@pytest.mark.parametrize("values", [
    [0.0, 0.25, 0.5, 0.75],
    [0.1, 0.2, 0.3],
    [1e-9, 1e-6, 1e-3, 1.0],
    [1e10, 1e10 + 1e-5, 0.5],
    [Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**20)],
    ["a", 0.5],
    [(0.5, "a"), (0.5, "b")],
    [(10**15, 0), (10**15 + 1, 0), (0.5, 0)],
    [math.inf, 0.5],
])  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_states_of_any_numbers_are_explored_without_a_word(values: list[Any]) -> None:
    after = dict(itertools.pairwise([*values, values[0]]))
    assert explore(lambda s: [(after[s], 1.0)], start=values[0]).chain.size == len(values)


def test_a_rate_in_the_place_of_a_target_is_named() -> None:
    """Pairs (rate, target) are states 0 and 1.5 and a rate of 1, where the state is a plain number."""
    message = r"the states 0 and 1\.5 are a whole number and a float: rules yield pairs \(target, rate\)"
    with pytest.warns(UserWarning, match=message):
        explore(lambda n: [(1.5, 1 - n)] if n in (0, 1) else [], start=0)
    with pytest.warns(UserWarning, match="the states 0 and 1.0 are a whole number and a float"):
        DiscreteChain.of_rules(lambda _: [(1.0, 1)], start=0)


def test_numbers_of_numpy_are_starts_like_those_of_python() -> None:
    """Their infinitely many states are proved as from 0, and not searched for up to the limit; of 0.0 that is named."""

    def queue(n: Any) -> Any:
        yield n + 1, 1.0
        if n:
            yield n - 1, 2.0

    for start in (np.int64(0), np.array(0)):
        assert stationary(explore(queue, start=start)).probability(1) == pytest.approx(0.25, abs=1e-9)
    named = explore(lambda s: ((s._replace(n=n), r) for n, r in queue(s.n)), start={"n": np.int64(0)})
    assert stationary(named).probability((1,)) == pytest.approx(0.25, abs=1e-9)
    with pytest.raises(MemoryError, match=r"searched in whole numbers only, not from 0\.0"):
        explore(queue, start=0.0, most=3000)
