"""Passages by powers and by multigrid: which states are reached, Perron vectors, and positive factors."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from hopflow import Status
from markov import MM1K, MarkovChain, PauseTandem, passage
from markov.computing.matrices import leads_to, off_diagonal, stop_outside
from markov.elimination.bands import PositiveFactors
from markov.time import absorbing, passage_times
from markov.time.absorbing import Absorbing, multigrid_solver
from markov.time.passage_times import PassageTime, PowerSums
from markov.time.perron import slowest_decay
from markov.time.squaring import MAX_STATES
from tests.markov.conftest import generator_of, solved_exactly
from tests.markov.time.erlang_chains import erlang
from tests.markov.time.exact_exponentials import exact
from tests.surface import for_each

# Powers and slowest decay against exact exponentials, squaring, and chains whose answer is that of a part of them.


def sums_of(rates: np.ndarray, start: np.ndarray) -> PowerSums:
    """Powers of all states but the last two: the target, and one that never leads there."""
    Q, m = sp.csr_matrix(rates), len(rates) - 2
    system = Absorbing(Q, np.arange(m + 2) < m)
    ended = float(start[m]), float(start[m + 1])
    return PowerSums(system, start[:m], (rates[:m, m], rates[:m, m + 1]), ended)


def rare(seed: int) -> np.ndarray:
    """Six states that all lead to each other, with rates to both ends that are small by up to nine decades."""
    rng = np.random.default_rng(seed)
    rates = np.zeros((8, 8))
    rates[:6, :6] = 10.0 ** rng.uniform(-1.0, 1.0, (6, 6)) * (1.0 - np.eye(6))
    rates[rng.integers(6), 6] = 10.0 ** rng.uniform(-9.0, -1.0)
    if seed % 2:
        rates[rng.integers(6), 7] = 10.0 ** rng.uniform(-9.0, -3.0)
    return rates


@pytest.mark.parametrize("seed", range(6))
def test_both_tails_are_within_their_relative_bound_at_any_time(seed, monkeypatch):
    monkeypatch.setattr(passage_times, "MIN_POWERS_FOR_PERRON", 0)
    monkeypatch.setattr(passage_times, "SECONDS_PER_ENTRY", 1.0)
    rates, start = rare(seed), np.zeros(8)
    start[[0, 6, 7]] = 0.75, 0.125 * (seed % 3 == 2), 0.25 - 0.125 * (seed % 3 == 2)
    sums = sums_of(rates, start)
    times = [1e-3, 1.0, 30.0, 1e3, 1e6]
    found = {time: sums.evaluate(time) for time in reversed(times)}
    assert sums.tail is not None
    for time, place in found.items():
        row = exact(rates, time)[0]
        first = [Fraction(value) for value in start.tolist()]
        cdf = first[0] * row[6] + first[6]
        survival = first[0] * sum([*row[:6], row[7]]) + first[7]
        density = sum(first[0] * p * Fraction(b) for p, b in zip(row, rates[:, 6].tolist(), strict=True))
        for value, truth in ((place.cdf, cdf), (place.survival, survival)):
            assert abs(Fraction(value) - truth) <= Fraction(place.relative) * truth
            assert abs(Fraction(value) - truth) <= Fraction(place.error)
        assert place.density == pytest.approx(float(density), rel=1e-11)
        assert place.relative < 1e-12


def product_chain(levels: int, others: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """A queue until it is full, and beside it one that has no influence; the generator and the target."""
    queue = np.diag(np.full(levels, 1.0), 1) + np.diag(np.full(levels, 1.3), -1)
    beside = np.diag(np.full(others - 1, 0.7), 1) + np.diag(np.full(others - 1, 0.9), -1)
    rates = sp.kron(queue, sp.identity(others)) + sp.kron(sp.identity(levels + 1), beside)
    target = np.repeat(np.arange(levels + 1) == levels, others)
    return sp.csr_matrix(rates - sp.diags(np.asarray(rates.sum(axis=1)).ravel())), target


@pytest.mark.parametrize(("levels", "others"), [(40, 20), pytest.param(100, 100, marks=pytest.mark.slow)])
def test_thousands_of_states_agree_with_the_forty_or_hundred_that_matter(levels, others):
    """The second, of 10,100 states, is full once in 1e13 s: both tails at any horizon, and quantiles."""
    Q, target = product_chain(levels, others)
    small, end = product_chain(levels, 1)
    large = PassageTime(MarkovChain(Q), target, np.eye(1, Q.shape[0])[0])
    few = PassageTime(MarkovChain(small), end, np.eye(1, levels + 1)[0])
    times = np.array([0.0, 30.0, 300.0, 2e4, 1e9, 1e14 if levels > 40 else 1e8])
    found = large.at(times)
    system = Absorbing(Q, ~target)
    assert system.F.shape[0] > MAX_STATES
    for k, time in enumerate(times.tolist()):
        truth = few._by_squaring(time) if time else few.at(times[:1])
        cdf, survival = float(np.ravel(truth.cdf)[0]), float(np.ravel(truth.survival)[0])
        bound = found.relative_error[k] + (1e-13 if time else 0.0)
        assert found.cdf[k] == pytest.approx(cdf, rel=bound, abs=0.0)
        assert found.survival[k] == pytest.approx(survival, rel=bound, abs=0.0)
    assert np.all(found.relative_error <= 1e-12)
    scale = 1e9
    for q in (1e-10, 0.5, 0.999):
        one, other = large.quantile(q, scale), few.quantile(q, scale)
        assert one.lower <= other.upper
        assert other.lower <= one.upper
        assert one.error <= 1e-11 * one.value


def test_the_mean_of_a_target_that_is_rarer_than_rounding_is_proved():
    """Exit rates are 4, and the target is entered once in 6e12 s: factors with subtractions prove nothing."""
    Q, target = product_chain(120, 30)
    small, end = product_chain(120, 1)
    found, few = (passage(MarkovChain(matrix), ends, start=0) for matrix, ends in ((Q, target), (small, end)))
    assert abs(found.mean - few.mean) <= found.mean_error + few.mean_error
    assert found.mean_error <= 1e-10 * found.mean


def test_what_is_neither_proved_nor_summed_is_refused(monkeypatch):
    """Two groups of states, the first of which is never entered again: Perron vectors have zeros."""
    monkeypatch.setattr(passage_times, "MAX_POWERS", 20_000)
    n = 30
    rates = np.zeros((2 * n + 2, 2 * n + 2))
    rates[:n, :n] = rates[n : 2 * n, n : 2 * n] = 1.0 / n
    np.fill_diagonal(rates, 0.0)
    rates[0, n] = rates[n, 2 * n] = 1e-5
    sums = sums_of(rates, np.eye(1, 2 * n + 2)[0])
    assert sums.evaluate(100.0).relative < 1e-12
    with pytest.raises(ValueError, match=r"time = 1e\+06: about 1.1e\+06 jumps: .* no slowest decay is proved"):
        sums.evaluate(1e6)
    assert sums.tail is None


def test_a_chain_that_has_stopped_is_known_at_any_later_time():
    """Erlang stages have no Perron vector, and need none: a survival that is only known to be tiny has no relative bound."""
    rates = np.zeros((602, 602))
    rates[np.arange(600), np.arange(1, 601)] = 1.0
    sums = sums_of(rates, np.eye(1, 602)[0])
    early = sums.evaluate(500.0)
    assert early.relative < 1e-12
    late = sums.evaluate(1e12)
    assert late.cdf == pytest.approx(1.0, abs=late.error)
    assert late.survival == 0.0
    assert late.error <= 2e-14
    assert np.isinf(late.relative)


# Multigrid for the equations of a chain until it leaves some states.


@pytest.fixture(scope="module")
def chain() -> MarkovChain:
    """A pause chain of some 1,500 states."""
    return MarkovChain(PauseTandem(buffers=(25, 25), high_threshold=20))


def away_from(chain: MarkovChain, *states: int) -> Absorbing:
    inside = np.ones(chain.size, dtype=bool)
    inside[list(states)] = False
    return Absorbing(chain.Q, inside)


@pytest.mark.parametrize("states", [(0,), (3, 700), tuple(range(40, 400))], ids=len)
def test_the_residual_falls_by_the_factor_asked_for(chain: MarkovChain, states: tuple[int, ...]) -> None:
    system = away_from(chain, *states)
    leaving = system.rates_into(~system.inside).astype(float)
    costs = 1.0 + system.exit_rates
    solve = multigrid_solver(system.A, leaving, costs)
    assert solve is not None
    b = np.random.default_rng(4).uniform(size=len(costs))
    x = solve(b, 1e-9)
    assert np.max(np.abs(b - system.A @ x) / costs) <= 1.01e-9 * np.max(b / costs)


def few_factors(monkeypatch: pytest.MonkeyPatch, most: int = 100) -> None:
    """Let systems of more states go to multigrid."""
    monkeypatch.setattr(absorbing, "MAX_FACTORED_STATES", most)
    monkeypatch.setattr(absorbing, "MAX_FACTORED_TREE_STATES", most)


@pytest.mark.parametrize("to", [0, [5, 900]])
def test_passages_are_those_by_factors_within_both_bounds(
    chain: MarkovChain, to: int | list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = chain.size - 1
    direct = passage(MarkovChain(chain.Q), to=to, start=start)
    few_factors(monkeypatch)
    cycled = passage(MarkovChain(chain.Q), to=to, start=start)
    for value, error in (("mean", "mean_error"), ("variance", "variance_error")):
        a, b = getattr(direct, value), getattr(cycled, value)
        bound = getattr(direct, error) + getattr(cycled, error)
        assert a != b
        assert abs(a - b) <= bound <= 1e-9 * a


@pytest.mark.parametrize("to", [0, [5, 900]])
def test_the_bound_of_a_variance_holds_for_rough_means(
    chain: MarkovChain, to: int | list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Means proved to a hundredth: what they lack is far above rounding in the variances."""
    start = chain.size - 1
    direct = passage(MarkovChain(chain.Q), to=to, start=start)
    few_factors(monkeypatch)
    monkeypatch.setattr(absorbing, "MANY_ENTRIES_ROUNDING", 1e-2)
    rough = passage(MarkovChain(chain.Q), to=to, start=start, on_failure="return")
    off = np.abs(rough.moments.variance - direct.moments.variance)
    assert np.all(off <= rough.moments.variance_error + direct.moments.variance_error)
    assert off.max() > 1e-8 * direct.variance
    assert rough.variance_error < 0.1 * direct.variance


def left_at(rate: float) -> MarkovChain:
    """Three states, of which the last leads to a fourth at some rate."""
    rates = np.array([[0.0, 1, 0, 0], [0.7, 0, 1, 0], [0, 1, 0, rate], [1, 0, 0, 0]])
    return MarkovChain(rates - np.diag(rates.sum(axis=1)))


def test_what_twice_float64_cannot_tell_from_a_chain_that_is_never_left_has_no_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few_factors(monkeypatch, 2)
    found = passage(left_at(1e-40), to=3, start=0, on_failure="return")
    assert found.mean_error == found.variance_error == np.inf
    assert found.status is Status.INACCURATE
    found = passage(left_at(1e-25), to=3, start=0)
    assert abs(found.mean - 2.7e25) <= found.mean_error < 1e-6 * found.mean


def test_only_a_graph_that_is_nearly_a_tree_is_factored(chain: MarkovChain, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what is proved: rounding by factors, 1e-10 by cycles."""
    monkeypatch.setattr(absorbing, "MAX_FACTORED_STATES", 100)
    n = 300
    line = np.diag(np.full(n - 1, 0.9), 1) + np.diag(np.full(n - 1, 1.0), -1)
    for Q, factored in ((line - np.diag(line.sum(axis=1)), True), (chain.Q, False)):
        found = passage(MarkovChain(Q), to=0, start=Q.shape[0] - 1)
        assert (found.mean_error < 1e-14 * found.mean) == factored
        assert found.mean_error < 1e-10 * found.mean


# Linear equations of a chain until it is absorbed.


def test_equations_without_states_have_no_solution_to_find() -> None:
    chain = MarkovChain(erlang(2, 1.0))
    x, error = Absorbing(chain.Q, np.zeros(3, dtype=bool)).solve(np.zeros(0))
    assert len(x) == len(error) == 0


def test_a_right_hand_side_of_zeros_has_the_solution_zero() -> None:
    chain = MarkovChain(erlang(2, 1.0))
    system = Absorbing(chain.Q, np.array([True, True, False]))
    for allowed in (0.0, np.ones(2)):
        found = system.refine(np.zeros(2), allowed)
        assert np.all(found.high == 0.0)
        assert np.all(found.error < 1e-300)


# Which states lead to a set, and the chain that stops in one.


def random_rates(n: int, seed: int) -> sp.csr_matrix:
    rng = np.random.default_rng(seed)
    rates = rng.random((n, n)) * (rng.random((n, n)) < 1.3 / n)
    np.fill_diagonal(rates, 0.0)
    return sp.csr_matrix(rates)


def truth(n: int, *states: int) -> np.ndarray:
    found = np.zeros(n, dtype=bool)
    found[list(states)] = True
    return found


def test_rates_between_different_states_leave_the_diagonal_and_zeros_out() -> None:
    Q = sp.coo_matrix(([-2.0, 2.0, 0.0, 3.0, -3.0], ([0, 0, 0, 1, 1], [0, 1, 2, 0, 1])), shape=(3, 3))
    found = off_diagonal(sp.csr_matrix(Q))
    assert found.toarray().tolist() == [[0.0, 2.0, 0.0], [3.0, 0.0, 0.0], [0.0] * 3]
    assert found.nnz == 2


@for_each(range(6))
def test_states_that_lead_to_a_set_are_the_ancestors_of_its_states(seed: int) -> None:
    rates = random_rates(40, seed)
    graph = nx.from_scipy_sparse_array(rates, create_using=nx.DiGraph)
    found = leads_to(sp.csr_matrix(rates.T), truth(40, 3, 17))
    expected = {3, 17} | nx.ancestors(graph, 3) | nx.ancestors(graph, 17)
    assert set(np.flatnonzero(found).tolist()) == expected


def test_only_some_states_may_be_passed_on_the_way() -> None:
    ring = sp.csr_matrix(np.roll(np.eye(6), 1, axis=1))  # 0 -> 1 -> ... -> 5 -> 0
    backward = sp.csr_matrix(ring.T)
    found = leads_to(backward, truth(6, 5), within=truth(6, 0, 1, 3, 4))
    assert np.flatnonzero(found).tolist() == [3, 4, 5]
    assert leads_to(backward, truth(6, 5)).all()


def test_a_stopped_chain_ends_in_the_target_or_elsewhere() -> None:
    Q = generator_of([[0, 1, 2, 0], [3, 0, 0, 4], [5, 6, 0, 7], [8, 0, 9, 0]])
    rates = off_diagonal(sp.csr_matrix(Q))
    found, reached = stop_outside(rates, running=truth(4, 0, 2), target=truth(4, 1))
    assert found.toarray().tolist() == [  # states 0 and 2, the target, elsewhere
        [-3.0, 2.0, 1.0, 0.0],
        [5.0, -18.0, 6.0, 7.0],
        [0.0] * 4,
        [0.0] * 4,
    ]
    assert reached.tolist() == [0.0, 0.0, 1.0, 0.0]


def test_powers_that_never_come_near_enough_to_one_vector_go_on_with_the_other(monkeypatch):
    """With a spread of zero asked of one side, both sides are iterated, to the same probabilities."""
    Q, target = product_chain(40, 20)
    start, times = np.eye(1, Q.shape[0])[0], np.array([2e4, 1e8])
    one = PassageTime(MarkovChain(Q), target, start).at(times)
    monkeypatch.setattr(passage_times, "ONE_SIDE_SPREAD", 0.0)
    found = PassageTime(MarkovChain(Q), target, start)
    both = found.at(times)
    assert found._powers is not None
    assert found._powers.tail is not None
    assert max(found._powers.tail.spreads) <= passage_times.TWO_SIDE_SPREAD
    for a, b in ((one.cdf, both.cdf), (one.survival, both.survival)):
        assert np.all(np.abs(a - b) <= (one.relative_error + both.relative_error) * b)
    assert np.all(both.relative_error <= 1e-12)


def test_a_vector_that_is_not_accurate_enough_does_not_stop_the_powers(monkeypatch):
    """A left vector off by 1e-9 never comes within 1e-13 of the powers: both sides are iterated."""
    found = passage_times.slowest_decay

    def off(system):
        decay = found(system)
        left = decay.left * (1.0 + 1e-9 * np.linspace(0.0, 1.0, len(decay.left)))
        return decay._replace(left=left, low=decay.low * (1.0 - 1e-6), high=decay.high * (1.0 + 1e-6))

    monkeypatch.setattr(passage_times, "slowest_decay", off)
    Q, target = product_chain(40, 20)
    sums = PassageTime(MarkovChain(Q), target, np.eye(1, Q.shape[0])[0])
    assert sums.at(np.array([1e6])).cdf[0] > 0.0
    assert sums._powers is not None
    assert sums._powers.tail is not None
    assert 1e-10 < sums._powers.tail.spreads[0] < passage_times.TWO_SIDE_SPREAD


# Perron vectors and their eigenvalue against a cosine formula and against what the vectors must satisfy.


def walk(m, up, down, top):
    """A walk on m states that is left from the last one only, at another rate."""
    rates = np.zeros((m + 1, m + 1))
    rates[np.arange(m - 1), np.arange(1, m)] = up
    rates[np.arange(1, m), np.arange(m - 1)] = down
    rates[m - 1, m] = top
    return Absorbing(sp.csr_matrix(rates), np.arange(m + 1) < m)


def eigenvalues_below(x, m, up, down, top):
    """Return how many eigenvalues of a walk's -Q are below a number, by Sturm's sequence in exact arithmetic."""
    x, up, down, top = map(Fraction, (x, up, down, top))
    pivot, count = up - x, 0
    for k in range(1, m + 1):
        count += pivot < 0
        pivot = down + (up if k < m - 1 else top) - x - up * down / pivot
    return count


@pytest.mark.parametrize(("m", "down"), [(10, 2.0), (30, 3.0), (40, 3.0)])
def test_the_interval_holds_the_smallest_eigenvalue(m, down):
    """The last has a decay rate of 1e-19 beside rates of 3."""
    found = slowest_decay(walk(m, 1.0, down, 1.0))
    assert eigenvalues_below(found.low, m, 1.0, down, 1.0) == 0
    assert eigenvalues_below(found.high, m, 1.0, down, 1.0) == 1
    assert found.low <= found.rate <= found.high <= (1.0 + 1e-9) * found.low
    assert found.left.min() > 0.0
    assert found.right.min() > 0.0


def test_both_vectors_satisfy_their_inequalities():
    system = walk(12, 1.0, 1.7, 0.3)
    found = slowest_decay(system)
    np.testing.assert_allclose(system.A.T @ found.left, found.rate * found.left, rtol=1e-9)
    np.testing.assert_allclose(system.A @ found.right, found.rate * found.right, rtol=1e-9)


def test_no_vectors_without_a_proof():
    assert slowest_decay(walk(60, 1.0, 3.0, 1.0)) is None  # beyond twice float64
    one_way = sp.csr_matrix(np.diag(np.ones(5), 1))
    assert slowest_decay(Absorbing(one_way, np.arange(6) < 5)) is None
    halves = np.zeros((5, 5))  # two pairs that are hardly joined and are left equally often
    halves[0, 1] = halves[1, 0] = halves[2, 3] = halves[3, 2] = 1.0
    halves[0, 2] = halves[2, 0] = 1e-6
    halves[1, 4] = halves[3, 4] = 1e-3
    halves[1, 4] *= 1.0001
    assert slowest_decay(Absorbing(sp.csr_matrix(halves), np.arange(5) < 4)) is None


# Solutions without a subtraction against fractions, entry by entry.


@for_each(range(6))
def test_every_entry_is_right_however_rarely_the_states_are_left(seed):
    """Exit rates of 1 to 100, and one in 1e30 s out of the states: nothing is left of that in a diagonal."""
    rng = np.random.default_rng(seed)
    n = 9
    rates = 10.0 ** rng.uniform(-3.0, 2.0, (n, n)) * (rng.random((n, n)) < 0.5) + 0.1
    np.fill_diagonal(rates, 0.0)
    leaving = np.zeros(n)
    leaving[rng.integers(n)] = 1e-30
    right = 10.0 ** rng.uniform(-2.0, 2.0, n)
    factors = PositiveFactors(sp.csr_matrix(rates), leaving)
    exact = [[-Fraction(v) for v in row] for row in rates.tolist()]
    for i in range(n):
        exact[i][i] = Fraction(float(leaving[i])) - sum(exact[i])
    for found, matrix in (
        (factors.right(right), exact),
        (factors.left(right), [list(column) for column in zip(*exact, strict=True)]),
    ):
        for value, truth in zip(found.tolist(), solved_exactly(matrix, right), strict=True):
            assert abs(Fraction(value) - truth) <= Fraction(1, 10**13) * truth


def test_states_apart_from_each_other_are_solved_too():
    factors = PositiveFactors(sp.csr_matrix((2, 2)), np.array([2.0, 4.0]))
    assert factors.right(np.ones(2)).tolist() == [0.5, 0.25]
    assert factors.left(np.ones(2)).tolist() == [0.5, 0.25]


def test_a_distribution_that_takes_too_long_is_refused_with_the_time_and_the_argument(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A walk without drift over 3,000 places needs some nine million steps; its mean is known at once."""
    monkeypatch.setattr("markov.computing.resources.FIRST_PREDICTION", 0.05)
    found = passage(MM1K(arrival_rate=1.0, service_rate=1.0, capacity=3000), to=(3000,), start=(0,))
    assert found.mean == pytest.approx(3000 * 3001 / 2, rel=1e-9)
    words = r"about .* s for .* products .*, more than max_seconds = 0.2: the chain has not entered the set before; max_seconds=\S+ allows it"
    with pytest.raises(ValueError, match=words):
        found.distribution([4e6], max_seconds=0.2)
    with pytest.raises(ValueError, match=words):
        found.quantile(0.5, max_seconds="200ms")
    with pytest.raises(ValueError, match="max_seconds = 0: must be a finite number > 0"):
        found.survival([1.0], max_seconds=0)
