"""Random chains of every difficult kind, against 50 digits: bounds, methods, what may not change."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopflow import Status
from markov import (
    GTH,
    GaussSeidel,
    Krylov,
    Levels,
    MarkovChain,
    Multilevel,
    Power,
    SparseLU,
    stationary,
    stationary_by_class,
)
from markov.certificates import error_bound

METHODS = [
    GTH(),
    GTH(block=3),
    SparseLU(),
    Levels(),
    Multilevel(),
    GaussSeidel(max_iterations=3000),
    Krylov(max_iterations=3000),
    Krylov(preconditioner="multilevel", max_iterations=3000),
    Power(max_iterations=3000),
]
ACCURATE = (GTH, Levels)
"""They promise every entry to some n units of rounding, whatever the rates."""
EVERY = pytest.mark.parametrize("method", METHODS, ids=repr)
SEEDS = st.integers(0, 2**32 - 1)


# --------------------------------------------------------------------------- the kinds of chains


def rates_over(decades, rng, shape):
    """Return rates over so many decades above and below 1."""
    return 10.0 ** rng.uniform(-decades, decades, shape)


def ring_and_more(rng, n, decades, density=0.3):
    """Return an irreducible chain: a ring in random order, and rates at random places."""
    rates = rates_over(decades, rng, (n, n)) * (rng.random((n, n)) < density)
    order = rng.permutation(n)
    rates[order, np.roll(order, -1)] += rates_over(decades, rng, n)
    return rates


def irreducible(rng):
    return ring_and_more(rng, rng.integers(2, 12), 2.0)


def badly_scaled(rng):
    """Return rates from 1e-12 to 1e12."""
    return ring_and_more(rng, rng.integers(2, 12), 12.0)


def nearly_decomposable(rng):
    """Return two to four groups that exchange 1e-16 to 1e-1 of what flows inside."""
    groups = [ring_and_more(rng, rng.integers(1, 5), 0.5) for _ in range(rng.integers(2, 5))]
    ends = np.cumsum([len(group) for group in groups])
    n = int(ends[-1])
    rates = 10.0 ** rng.uniform(-16.0, -1.0) * ring_and_more(rng, n, 0.5, density=0.1)
    for group, end in zip(groups, ends, strict=True):
        rates[end - len(group) : end, end - len(group) : end] = group
    order = rng.permutation(n)
    return rates[np.ix_(order, order)]


def periodic(rng):
    """Return sets of states that are passed in a circle: the jump chain has their number as period."""
    period = int(rng.integers(2, 5))
    groups = np.array_split(rng.permutation(period * 3), period)
    rates = np.zeros((period * 3, period * 3))
    for here, there in zip(groups, groups[1:] + groups[:1], strict=True):
        rates[np.ix_(here, there)] = rates_over(1.0, rng, (len(here), len(there)))
    return rates


KINDS = {kind.__name__: kind for kind in (irreducible, badly_scaled, nearly_decomposable, periodic)}
KIND = pytest.mark.parametrize("kind", KINDS)


def chain_of(rates):
    rates = np.array(rates, dtype=float)
    np.fill_diagonal(rates, 0.0)
    return MarkovChain(rates - np.diag(rates.sum(axis=1)))


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
        return (
            mpmath.fsum(abs(mpmath.mpf(float(x)) - y) for x, y in zip(pi, truth, strict=True)) / 2
        )


def check_bounds(kind, seed):
    """Check the bounds of two methods and of a vector that is wrong by a random amount."""
    rng = np.random.default_rng(seed)
    chain = chain_of(KINDS[kind](rng))
    truth = truth_of(chain)
    for method in (GTH(), SparseLU()):
        answer = stationary(chain, method, on_failure="return")
        if answer.status.ok:
            assert distance(answer.pi, truth) <= answer.error_bound, (kind, seed, method)
        else:
            assert answer.error_bound == np.inf
    noise = 1.0 + 10.0 ** rng.uniform(-17.0, 0.0) * rng.uniform(-1.0, 1.0, chain.size)
    wrong = np.array([float(value) for value in truth]) * noise
    if rng.random() < 0.5:
        wrong /= wrong.sum()
    assert distance(wrong, truth) <= error_bound(chain.Q, wrong), (kind, seed)


# --------------------------------------------------------------------------- bounds


@KIND
@settings(max_examples=50)
@given(seed=SEEDS)
def test_bounds_are_never_violated(kind, seed):
    check_bounds(kind, seed)


@pytest.mark.slow
@KIND
def test_bounds_are_never_violated_on_ten_thousand_chains(kind):
    for seed in range(2500):  # of each of four kinds
        check_bounds(kind, seed)


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
    parts = [ring_and_more(rng, rng.integers(1, 5), 6.0) for _ in range(classes)]
    ends = np.cumsum([transient, *map(len, parts)])
    rates = np.zeros((ends[-1], ends[-1]))
    for part, start, end in zip(parts, ends, ends[1:], strict=False):
        rates[start:end, start:end] = part
    for x in range(transient):  # each leads on to the next one, the last one into a class
        rates[x, x + 1 :] = rates_over(1.0, rng, ends[-1] - x - 1) * (
            rng.random(ends[-1] - x - 1) < 0.4
        )
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
    assert chain_of(periodic(rng)).periods == [period]


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
