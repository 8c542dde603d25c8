"""Solvers and certificates against exact rational solutions and closed forms."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from hopflow import NotSolvedError, Status
from markov import (
    GTH,
    MarkovChain,
    Solution,
    SparseLU,
    stationary,
    stationary_by_class,
)
from markov.proofs.certificates import error_bound, relative_residual

BOTH = pytest.mark.parametrize("method", [GTH(), GTH(block=3), SparseLU()], ids=repr)


def generator_of(rates):
    """Return rates off the diagonal with the diagonal that makes rows sum to zero."""
    Q = np.array(rates, dtype=float)
    np.fill_diagonal(Q, 0.0)
    return Q - np.diag(Q.sum(axis=1))


def exact(Q):
    """Return the stationary vector of an irreducible chain in exact rational arithmetic."""
    n = len(Q)
    rates = [
        [Fraction(float(Q[x, y])) if x != y else Fraction(0) for y in range(n)] for x in range(n)
    ]
    for k in range(n - 1, 0, -1):  # censoring
        out = sum(rates[k][:k])
        for x, y in product(range(k), repeat=2):
            rates[x][y] += rates[x][k] * rates[k][y] / out
        for x in range(k):
            rates[x][k] /= out
    pi = [Fraction(1)]
    for k in range(1, n):
        pi.append(sum(pi[x] * rates[x][k] for x in range(k)))
    total = sum(pi)
    return [value / total for value in pi]


def distance(pi, truth):
    """Return the exact total-variation distance."""
    return sum(abs(Fraction(float(x)) - y) for x, y in zip(pi, truth, strict=True)) / 2


def birth_death(up, down):
    return generator_of(np.diag(up, 1) + np.diag(down, -1))


@st.composite
def chains(draw, decades=6.0, largest=7):
    """Irreducible chains: a cycle through all states in random order, and some rates more."""
    n = draw(st.integers(2, largest))
    rate = st.floats(-decades, decades).map(lambda x: 10.0**x)
    rates = np.zeros((n, n))
    order = draw(st.permutations(range(n)))
    for x, y in zip(order, [*order[1:], order[0]], strict=True):
        rates[x, y] = draw(rate)
    for x, y in draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=2 * n)):
        rates[x, y] = draw(rate)
    return generator_of(rates)


# --------------------------------------------------------------------------- closed forms


@BOTH
@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_matrix, sp.coo_matrix, sp.csc_array, sp.lil_array]
)
def test_mm1k(method, form):
    K, rho = 30, 0.7
    Q = birth_death([7.0] * K, [10.0] * K)
    answer = stationary(MarkovChain(form(Q)), method)
    truth = (1 - rho) * rho ** np.arange(K + 1) / (1 - rho ** (K + 1))
    np.testing.assert_allclose(answer.pi, truth, rtol=1e-12)
    assert answer.method == method
    rounded = 2 * K * 2.0**-53  # powers of a rounded rho
    assert 0.5 * np.abs(answer.pi - truth).sum() <= answer.error_bound + rounded
    assert answer.error_bound < 1e-15


@BOTH
def test_birth_death(method):
    up, down = np.array([3.0, 0.2, 50.0, 7.0]), np.array([1.0, 4.0, 4.0, 90.0])
    weights = np.concatenate([[1.0], np.cumprod(up / down)])
    answer = stationary(birth_death(up, down), method)
    np.testing.assert_allclose(answer.pi, weights / weights.sum(), rtol=1e-13)


@BOTH
def test_two_states_and_one(method):
    a, b = 3.0, 5.0
    answer = stationary([[-a, a], [b, -b]], method)
    np.testing.assert_allclose(answer.pi, [b / (a + b), a / (a + b)], rtol=1e-15)
    alone = stationary([[0.0]], method)
    assert alone.pi.tolist() == [1.0]
    assert alone.error_bound < 1e-15


@BOTH
def test_independent_sources_lump_to_a_binomial(method):
    """Six on/off sources: 64 states, of which the number that is on is binomial."""
    on, off, n = 0.3, 1.1, 6
    single = np.array([[-on, on], [off, -off]])
    Q = np.zeros((1, 1))
    for _ in range(n):
        Q = np.kron(Q, np.eye(2)) + np.kron(np.eye(len(Q)), single)
    count = np.array([x.bit_count() for x in range(2**n)])
    lumped = np.bincount(count, stationary(Q, method).pi)
    p = on / (on + off)
    truth = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    np.testing.assert_allclose(lumped, truth, rtol=1e-13)


@settings(max_examples=30)
@given(chains(), st.randoms(use_true_random=False), st.sampled_from([2.0**-30, 3.7, 1e12]))
def test_relabelling_and_time_scaling(Q, random, factor):
    order = list(range(len(Q)))
    random.shuffle(order)
    pi = stationary(Q).pi
    np.testing.assert_allclose(stationary(Q[np.ix_(order, order)]).pi, pi[order], rtol=1e-12)
    np.testing.assert_allclose(stationary(Q * factor).pi, pi, rtol=1e-12)


# --------------------------------------------------------------------------- GTH, entry by entry


@settings(max_examples=60)
@given(chains(decades=12.0, largest=8), st.sampled_from([1, 2, 64]))
def test_gth_is_accurate_in_every_entry(Q, block):
    truth = exact(Q)
    pi = GTH(block=block).solve(MarkovChain(Q).Q).pi
    for value, true in zip(pi, truth, strict=True):
        assert abs(Fraction(float(value)) / true - 1) < 40 * len(Q) * Fraction(2) ** -53


@pytest.mark.parametrize("coupling", [1e-16, 1e-100])
def test_nearly_decomposable(coupling):
    rng = np.random.default_rng(5)
    Q = rng.random((8, 8)) * 10.0 ** rng.integers(-3, 3, (8, 8))
    Q[:4, 4:] *= coupling
    Q[4:, :4] *= 3.0 * coupling
    Q = generator_of(Q)
    truth = exact(Q)
    answer = stationary(Q)
    relative = [abs(Fraction(float(x)) / y - 1) for x, y in zip(answer.pi, truth, strict=True)]
    assert max(relative) < 1e-14
    assert distance(answer.pi, truth) <= answer.error_bound
    assert answer.status is Status.CONVERGED  # at any coupling: by the count of roundings
    assert max(relative) <= answer.entry_error < 1e-12
    assert answer.error_bound <= answer.entry_error
    other = stationary(Q, SparseLU(), on_failure="return")  # may be far off, and then says so
    assert distance(other.pi, truth) <= other.error_bound if other.status.ok else True
    assert other.status is not Status.CONVERGED or other.error_bound <= 1e-3


@pytest.mark.parametrize("method", [GTH(), GTH(block=7), SparseLU()], ids=repr)
@pytest.mark.parametrize("reverse", [False, True])
def test_tiny_probabilities(method, reverse):
    """Entries down to 1e-250, in either order of the states."""
    up, down = np.full(50, 1.0), np.full(50, 1e5)
    Q = birth_death(down, up) if reverse else birth_death(up, down)
    expected = [Fraction(10**5) ** -n for n in range(51)]
    total = sum(expected)
    expected = np.array([float(x / total) for x in expected])
    pi = stationary(Q, method).pi
    np.testing.assert_allclose(pi[::-1] if reverse else pi, expected, rtol=1e-13)
    assert 0 < pi.min() < 1e-249


@pytest.mark.parametrize("reverse", [False, True])
def test_probabilities_that_underflow(reverse):
    """Entries down to 1e-400: the others are as good as ever."""
    up, down = np.full(80, 1.0), np.full(80, 1e5)
    pi = stationary(birth_death(down, up) if reverse else birth_death(up, down)).pi
    pi = pi[::-1] if reverse else pi
    np.testing.assert_allclose(pi[:60], (1 - 1e-5) * 10.0 ** (-5.0 * np.arange(60)), rtol=1e-12)
    assert 0 <= pi[60:].max() < 1e-299


def test_beyond_float64_is_not_silent():
    """A ratio of 1e350 between neighbours of a chain of four cannot be held: zero is right."""
    Q = birth_death([1.0, 1.0, 1e-200], [1e200, 1e150, 1.0])
    answer = stationary(Q, on_failure="return")
    assert answer.status.ok
    assert distance(answer.pi, exact(Q)) <= answer.error_bound


@settings(max_examples=20)
@given(st.integers(2, 90), st.integers(1, 100), st.integers(1, 90), st.integers(0, 10**6))
def test_blocks_do_not_matter(n, block, band, seed):
    rng = np.random.default_rng(seed)
    rates = rng.random((n, n)) * (np.abs(np.subtract.outer(range(n), range(n))) <= band)
    rates *= rng.random((n, n)) < 0.7
    rates += np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
    Q = MarkovChain(generator_of(rates)).Q
    one = GTH(block=1).solve(Q).pi
    np.testing.assert_allclose(GTH(block=block).solve(Q).pi, one, rtol=1e-13)
    np.testing.assert_allclose(SparseLU().solve(Q).pi, one, rtol=1e-10)


@pytest.mark.parametrize("block", [0, -1, 1.5, "64", True, None])
def test_bad_block(block):
    with pytest.raises(ValueError, match=r"^block = .*: must be a whole number in 1\.\.1000000"):
        GTH(block=block)


# --------------------------------------------------------------------------- certificates


@settings(max_examples=100)
@given(chains(), st.floats(-17.0, 0.0), st.integers(0, 10**6))
def test_bound_holds(Q, decade, seed):
    rng = np.random.default_rng(seed)
    Q = MarkovChain(Q).Q
    truth = exact(Q.toarray())
    pi = np.array([float(x) for x in truth])
    pi = pi * (1.0 + 10.0**decade * rng.uniform(-1, 1, len(pi)))
    if seed % 3 == 0:
        pi = pi + 10.0**decade * rng.random(len(pi))
    if seed % 2 == 0:
        pi = pi / pi.sum()
    assert distance(pi, truth) <= error_bound(Q, pi)


@settings(max_examples=60)
@given(chains(decades=2.0))
def test_bound_is_not_absurd(Q):
    """Rates within four decades: the bound of the rounded true vector is some units of rounding
    times the conditioning, the longest mean time to the likeliest state in units of its sojourn.
    """
    Q = MarkovChain(Q).Q
    pi = np.array([float(x) for x in exact(Q.toarray())])
    dense = Q.toarray()
    others = np.delete(np.arange(len(pi)), np.argmax(pi))
    hitting = np.linalg.solve(dense[np.ix_(others, others)], -np.ones(len(others)))
    flow = pi @ np.abs(np.diag(dense))
    assert error_bound(Q, pi) <= 100 * len(pi) * 2.0**-53 * (1.0 + hitting.max() * flow)


def test_bound_grows_with_the_error():
    Q = MarkovChain(birth_death([3.0] * 5, [4.0] * 5)).Q
    pi = GTH().solve(Q).pi
    wrong = np.roll(pi, 2)
    truth = 0.5 * np.abs(wrong - pi).sum()
    assert truth <= error_bound(Q, wrong) < 100 * truth
    assert relative_residual(Q, wrong) > 1e-3
    assert relative_residual(Q, pi) < 1e-15
    assert error_bound(Q, 0.5 * pi) >= 0.5 - 1e-12  # mass is missing


@pytest.mark.parametrize("exponent", [-40, -45, -50])
def test_bound_counts_what_rounding_hides(exponent):
    """Weight is moved between two halves that hardly exchange any: the residual is all rounding."""
    coupling = 2.0**exponent
    Q = np.zeros((4, 4))
    Q[0, 1] = Q[1, 0] = Q[2, 3] = Q[3, 2] = 1.0
    Q[1, 2] = Q[2, 1] = coupling
    Q = MarkovChain(generator_of(Q)).Q
    hidden = 0
    for shift in 2.0**-52 / coupling * np.linspace(0.01, 1.0, 60):
        pi = 0.25 * np.array([1.0 + shift, 1.0 + shift, 1.0 - shift, 1.0 - shift])
        truth = distance(pi, [Fraction(1, 4)] * 4)
        assert truth <= error_bound(Q, pi)
        flow = Fraction(coupling) * (Fraction(pi[1]) - Fraction(pi[2]))  # the exact residual
        hidden += Fraction(np.abs(pi @ Q).sum()) < 2 * abs(flow)
    assert hidden > 0


def test_hub_with_many_neighbours():
    """The rounding of a long row is part of the bound: 20,000 rates out of the hub."""
    n = 20_000
    rng = np.random.default_rng(1)
    out, back = rng.random(n) * 10.0 ** rng.integers(-8, 8, n), rng.random(n)
    rows = np.concatenate([np.zeros(n, int), np.arange(1, n + 1)])
    columns = np.concatenate([np.arange(1, n + 1), np.zeros(n, int)])
    rates = sp.coo_matrix((np.concatenate([out, back]), (rows, columns)), shape=(n + 1, n + 1))
    Q = rates.tocsr() - sp.diags(np.asarray(rates.sum(axis=1)).ravel())
    answer = stationary(Q)
    truth = np.concatenate([[1.0], out / back])
    truth /= math.fsum(truth)
    assert 0.5 * math.fsum(np.abs(answer.pi - truth)) <= answer.error_bound < 1e-6


def test_unverified_is_infinite():
    """Two halves that residuals cannot see connected: only the count of roundings proves anything."""
    Q = np.zeros((4, 4))
    Q[0, 1] = Q[1, 0] = Q[2, 3] = Q[3, 2] = 1.0
    Q[1, 2] = Q[2, 1] = 1e-300
    answer = stationary(generator_of(Q))
    np.testing.assert_allclose(answer.pi, 0.25, rtol=1e-15)  # GTH knows
    assert answer.entry_error == math.inf  # its products underflow
    assert answer.error_bound >= 0.5
    assert answer.status is Status.UNPROVED
    failed = stationary(generator_of(Q), SparseLU(), on_failure="return")
    assert not failed.status.ok or failed.error_bound >= 0.5


# --------------------------------------------------------------------------- failure


class Broken:
    """A method that returns what it was given."""

    def __init__(self, pi):
        self.pi = np.array(pi)

    def solve(self, Q, components=None):
        return Solution(self.pi)


@pytest.mark.parametrize(
    ("pi", "status"),
    [
        ([math.nan, 1.0], Status.NOT_FINITE),
        ([math.inf, 1.0], Status.NOT_FINITE),
        ([-0.1, 1.1], Status.NEGATIVE),
        ([0.5, 0.5], Status.INACCURATE),
    ],
)
def test_failure_carries_the_result(pi, status):
    Q = [[-1.0, 1.0], [2.0, -2.0]]
    with pytest.raises(NotSolvedError) as caught:
        stationary(Q, Broken(pi))
    result = caught.value.result
    assert result.status is status
    assert str(status) in str(caught.value)
    assert result.error_bound == math.inf
    np.testing.assert_array_equal(result.pi, pi)
    returned = stationary(Q, Broken(pi), on_failure="return")
    assert returned.status is status
    assert status.label in repr(returned)
    (by_class,) = stationary_by_class(Q, Broken(pi), on_failure="return")
    assert by_class.status is status


def test_on_failure_is_checked():
    with pytest.raises(ValueError, match=r"^on_failure = 'warn': must be one of 'raise', 'return'"):
        stationary([[0.0]], on_failure="warn")


@pytest.mark.parametrize("solve", [stationary, stationary_by_class])
@pytest.mark.parametrize("method", ["gth", GTH, 3])
def test_method_is_an_object(solve, method):
    with pytest.raises(ValueError, match=r"^method = .*: must be a method object such as GTH"):
        solve(generator_of([[0, 1], [2, 0]]), method)
