"""Random chains of every difficult kind, against 50 digits: bounds, methods, what may not change."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.chain_families import (
    badly_scaled,
    cyclic,
    generator_of,
    nearly_decomposable,
    rates_over,
    ring,
)
from benchmarks.random_chains import METHODS, Check, chain_checks
from benchmarks.random_sensitivities import kink_checks, point_checks
from hopflow import Status
from markov import (
    GTH,
    Krylov,
    Levels,
    MarkovChain,
    Multilevel,
    SparseLU,
    stationary,
    stationary_by_class,
)
from tests.surface import for_each

EVERY_METHOD = (*METHODS, Krylov(preconditioner="multilevel", max_iterations=2000))
BOUNDED = (None, GTH(block=3), Levels(), SparseLU(), Multilevel())
ACCURATE = (GTH, Levels)
"""They promise every entry to some n units of rounding, whatever the rates."""
EVERY = pytest.mark.parametrize("method", EVERY_METHOD, ids=repr)
SEEDS = st.integers(0, 2**32 - 1)


# --------------------------------------------------------------------------- the kinds of chains


def irreducible(rng):
    return ring(rng, rng.integers(2, 12), 2.0, 0.3)


KINDS = {kind.__name__: kind for kind in (irreducible, badly_scaled, nearly_decomposable, cyclic)}
KIND = pytest.mark.parametrize("kind", KINDS)


def chain_of(rates):
    return MarkovChain(generator_of(rates))


def truth_of(chain):
    """Return the stationary vector of an irreducible chain with 50 digits.

    Elimination without subtractions, entrywise accurate to some n units in the last of them.
    """
    n = chain.size
    with mpmath.workdps(50):
        rates = [[mpmath.mpf(float(value)) for value in row] for row in chain.Q.toarray()]
        for k in range(n - 1, 0, -1):
            out = mpmath.fsum(rates[k][:k])
            for x in range(k):
                rates[x][k] /= out
                for y in range(k):
                    if y != x:
                        rates[x][y] += rates[x][k] * rates[k][y]
        pi = [mpmath.mpf(1)]
        for k in range(1, n):
            pi.append(mpmath.fsum(pi[x] * rates[x][k] for x in range(k)))
        total = mpmath.fsum(pi)
        return [value / total for value in pi]


def distance(pi, truth):
    """Return the total-variation distance, with 50 digits."""
    with mpmath.workdps(50):
        return mpmath.fsum(abs(mpmath.mpf(float(x)) - y) for x, y in zip(pi, truth, strict=True)) / 2


def exactly(terms):
    with mpmath.workdps(50):
        return mpmath.fsum(terms)


def mean_of(truth, f):
    with mpmath.workdps(50):
        return exactly(mpmath.mpf(float(value)) * p for value, p in zip(f, truth, strict=True))


def check_all_bounds(kind, seed, method):
    """Check the bounds of an answer; return the slack of the first one, or None."""
    rng = np.random.default_rng(seed)
    chain = chain_of(KINDS[kind](rng))
    truth = truth_of(chain)
    answer = stationary(chain, method, on_failure="return")
    if not answer.status.ok:
        assert isinstance(method, SparseLU)  # the only one that subtracts
        return None
    apart = distance(answer.pi, truth)
    assert apart <= answer.error_bound <= 1.0, (kind, seed, method)
    with mpmath.workdps(50):
        entries = max(abs(mpmath.mpf(float(x)) - y) / y for x, y in zip(answer.pi, truth, strict=True))
        assert entries <= answer.entry_error, (kind, seed, method)
        f, over = rng.random((2, chain.size)) * 10.0 ** rng.uniform(-9, 9, (2, chain.size))
        bound = answer.bound(f)
        assert bound.lower <= mean_of(truth, f) <= bound.upper, (kind, seed, method)
        ratio = answer.bound((f, over))
        assert ratio.lower <= mean_of(truth, f) / mean_of(truth, over) <= ratio.upper
    return answer.error_bound / max(float(apart), 2.0**-60)


# --------------------------------------------------------------------------- bounds


@KIND
@settings(max_examples=50)
@given(seed=SEEDS)
def test_bounds_are_never_violated(kind, seed):
    check_all_bounds(kind, seed, None)


@pytest.mark.parametrize("method", BOUNDED, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_no_bound_is_violated(kind, method):
    for seed in range(12):
        check_all_bounds(kind, seed, method)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_bound_is_violated_on_three_thousand_chains(kind):
    """750 of each kind; elimination is in the median within a factor of five of the true error."""
    slack = [check_all_bounds(kind, seed, None) for seed in range(750)]
    assert np.median(slack) <= 5.0
    for seed in range(750):
        check_all_bounds(kind, seed, BOUNDED[1 + seed % 4])


def test_bounds_of_elimination_are_sharp():
    """At most five times the true error in the median, as double-double residuals leave it."""
    slack = [check_all_bounds(kind, seed, None) for kind in KINDS for seed in range(100, 125)]
    assert np.median(slack) <= 5.0


@for_each(range(1, 17, 3))
def test_groups_that_exchange_next_to_nothing(exponent):
    """Two rings of five, coupled by 1e-16 at least: all is proved."""
    rng = np.random.default_rng(exponent)
    rates = np.zeros((10, 10))
    for start in (0, 5):
        rates[start : start + 5, start : start + 5] = rng.random((5, 5))
    rates[2, 7], rates[8, 1] = 10.0**-exponent * rng.random(2)
    chain = chain_of(rates)
    answer, truth = stationary(chain), truth_of(chain)
    assert answer.status is Status.CONVERGED
    assert distance(answer.pi, truth) <= answer.error_bound < 1e-13  # K is some 1e-13 for n = 10
    assert answer.entry_error < 1e-12


def test_large_random_chains_against_extended_precision():
    """Up to 300 states; elimination in long double is right to some 1e-17."""
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("no extended precision")
    for n, coupling in ((80, 1.0), (150, 1e-8), (300, 1e-14)):
        rng = np.random.default_rng(n)
        rates = rng.random((n, n)) * (rng.random((n, n)) < 0.2) + np.roll(np.eye(n), 1, 1)
        half = np.arange(n) < n // 2
        rates[half[:, None] != half[None, :]] *= coupling
        chain = chain_of(rates)
        exact = extended(chain.Q.toarray())
        answer = stationary(chain)
        apart = float(0.5 * np.abs(answer.pi - exact).sum())
        assert apart <= answer.error_bound + 1e-17
        assert float((np.abs(answer.pi - exact) / exact).max()) <= answer.entry_error
        assert answer.error_bound < 1e-12


def extended(Q):
    """Return pi by elimination without subtractions in long double."""
    rates, n = Q.astype(np.longdouble), len(Q)
    for k in range(n - 1, 0, -1):
        rates[:k, k] /= rates[k, :k].sum()
        rates[:k, :k] += np.outer(rates[:k, k], rates[k, :k])
    pi = np.ones(n, dtype=np.longdouble)
    for k in range(1, n):
        pi[k] = pi[:k] @ rates[:k, k]
    return pi / pi.sum()


def test_the_bracket_of_odoni_where_no_distance_is_proved():
    """pi is spoilt so that nothing is proved of it; what is proved of a mean does not need it."""
    rng = np.random.default_rng(3)
    chain = chain_of(nearly_decomposable(rng))
    truth = truth_of(chain)
    answer = stationary(chain, proof=False)
    f = rng.random(chain.size)
    bound = answer.bound(f)
    assert bound.lower <= mean_of(truth, f) <= bound.upper


def test_what_rounding_of_rates_may_change():
    """Rates that are moved by half a unit at random change a mean by no more than that."""
    rng = np.random.default_rng(5)
    rates = rng.random((6, 6))
    f, one = rng.random(6), stationary(chain_of(rates))
    allowed = one.input_error(f)
    exact = mean_of(truth_of(one.chain), f)
    moved = rates * (1.0 + 1e6 * 2.0**-53 * rng.uniform(-1.0, 1.0, rates.shape))
    other = mean_of(truth_of(chain_of(moved)), f)
    # a million times as much as rounding, so that what is seen is not rounding itself
    assert 0.0 < abs(float(other - exact)) <= 1e6 * allowed * 1.02


@KIND
@settings(max_examples=25)
@given(seed=SEEDS)
def test_elimination_is_accurate_in_every_entry(kind, seed):
    """O'Cinneide's bound is of the order of n^3 units of rounding; 2e-13 is some 900 units."""
    chain = chain_of(KINDS[kind](np.random.default_rng(seed)))
    truth = np.array([float(value) for value in truth_of(chain)])
    for method in ACCURATE:
        np.testing.assert_allclose(stationary(chain, method()).pi, truth, rtol=2e-13, atol=1e-300)


@EVERY
@KIND
@pytest.mark.parametrize("seed", range(3))
def test_every_method_is_right_or_says_so(method, kind, seed):
    chain = chain_of(KINDS[kind](np.random.default_rng(seed)))
    answer = stationary(chain, method, on_failure="return")
    if not answer.status.ok:
        assert not isinstance(method, ACCURATE)
        told = {Status.INACCURATE, Status.NOT_FINITE}
        if isinstance(method, SparseLU):  # the only one that subtracts and does not clip
            told.add(Status.NEGATIVE)
        assert answer.status in told
        assert answer.error_bound == np.inf
        return
    assert answer.pi.min() >= 0.0
    assert answer.mass_defect < 1e-14
    assert answer.residual <= 1e-12
    assert distance(answer.pi, truth_of(chain)) <= answer.error_bound


# --------------------------------------------------------------------------- reducible and periodic


@settings(max_examples=40)
@given(seed=SEEDS, classes=st.integers(2, 4), transient=st.integers(0, 4))
def test_reducible_chains(seed, classes, transient):
    rng = np.random.default_rng(seed)
    parts = [ring(rng, rng.integers(1, 5), 6.0, 0.3) for _ in range(classes)]
    ends = np.cumsum([transient, *map(len, parts)])
    rates = np.zeros((ends[-1], ends[-1]))
    for part, start, end in zip(parts, ends, ends[1:], strict=False):
        rates[start:end, start:end] = part
    for x in range(transient):  # each leads on to the next one, the last one into a class
        rates[x, x + 1 :] = rates_over(1.0, rng, ends[-1] - x - 1) * (rng.random(ends[-1] - x - 1) < 0.4)
        rates[x, x + 1] += 1.0
    order = rng.permutation(ends[-1])
    chain = chain_of(rates[np.ix_(order, order)])
    with pytest.raises(ValueError, match="not unique; use stationary_by_class"):
        stationary(chain)
    answers = stationary_by_class(chain)
    assert len(answers) == classes
    assert len(chain.transient_states) == transient
    for states, answer in zip(chain.recurrent_classes, answers, strict=True):
        truth = truth_of(chain.restricted(states))
        assert distance(answer.pi[states], truth) <= answer.error_bound
        assert np.delete(answer.pi, states).sum() == 0.0
    ending = chain.absorption_probabilities
    np.testing.assert_allclose(ending.sum(axis=1), 1.0, rtol=1e-13)
    drift = np.abs(chain.Q @ ending) / np.maximum(chain.exit_rates, 1e-300)[:, None]
    assert drift[chain.transient_states].max(initial=0.0) <= 1e-13  # harmonic: Q h = 0


@settings(max_examples=25)
@given(seed=SEEDS)
def test_periods_are_found(seed):
    rng = np.random.default_rng(seed)
    period = int(np.random.default_rng(seed).integers(2, 5))
    assert chain_of(cyclic(rng)).periods == [period]


# --------------------------------------------------------------------------- what may not change


@EVERY
@KIND
@pytest.mark.parametrize("seed", range(2))
def test_lumping(method, kind, seed):
    """States are split into copies that the others cannot tell apart: their sums are the old ones."""
    rng = np.random.default_rng(seed)
    few = chain_of(KINDS[kind](rng))
    copies = rng.integers(1, 4, few.size)
    block = np.repeat(np.arange(few.size), copies)
    share = rng.dirichlet(np.ones(len(block)), len(block))
    inside = block[:, None] == block[None, :]
    share /= np.array([[share[x, block == b].sum() for b in block] for x in range(len(block))])
    rates = few.Q.toarray()[np.ix_(block, block)] * share
    rates[inside] = rng.random(inside.sum()) * few.exit_rates[block[np.nonzero(inside)[0]]]
    one = stationary(few, method, on_failure="return")
    whole = stationary(chain_of(rates), method, on_failure="return")
    if one.status.ok and whole.status.ok:
        apart = 0.5 * np.abs(np.bincount(block, whole.pi) - one.pi).sum()
        # The rates of the split chain are rounded: some eps of each, entrywise conditioned by 2 n.
        assert apart <= one.error_bound + whole.error_bound + 2e-15 * len(block) ** 2
    else:
        assert not isinstance(method, ACCURATE)


@EVERY
@KIND
def test_time_has_no_unit_and_states_have_no_order(method, kind):
    rng = np.random.default_rng(5)
    rates = KINDS[kind](rng)
    order = rng.permutation(len(rates))
    answer, faster, relabelled = (
        stationary(chain_of(each), method, on_failure="return")
        for each in (rates, rates * 2.0**20, rates[np.ix_(order, order)])
    )
    assert faster.status is answer.status
    if answer.status.ok:
        np.testing.assert_array_equal(faster.pi, answer.pi)  # a power of two: no rounding differs
    if answer.status.ok and relabelled.status.ok:
        apart = 0.5 * np.abs(relabelled.pi - answer.pi[order]).sum()
        assert apart <= answer.error_bound + relabelled.error_bound


# --------------------------------------------------------------------------- all kinds of bounds


def violated(checks, numbers):
    return [(number, each) for number in numbers for each in map(Check._make, checks(number)) if not each.holds]


def test_no_bound_of_any_kind_is_violated():
    """All that `python -m benchmarks.random_chains` compares, on its first chains, and two in a file."""
    assert not violated(chain_checks, range(10))


def test_derivatives_at_random_points_and_at_kinks_are_within_their_errors():
    assert not violated(point_checks, range(10))
    assert not violated(kink_checks, range(5))


@pytest.mark.slow
def test_no_bound_is_violated_on_two_thousand_chains():
    assert not violated(chain_checks, range(10, 2000))
    assert not violated(point_checks, range(500))
    assert not violated(kink_checks, range(100))
