"""Bounds of total variation, of entries and of measures, against 50 digits and published values.

Random chains are those of `test_random_chains`; Kanban's values are of the quantitative verification
benchmark set, ctmc/kanban/results, where HOPFLOW_SUITES says where that is.
"""

from __future__ import annotations

import json
import math
import os
import pickle
from pathlib import Path

import mpmath
import numpy as np
import pytest
from test_random_chains import KINDS, chain_of, distance, nearly_decomposable, truth_of

from hopflow import Status
from markov import (
    GTH,
    MM1K,
    Kanban,
    Levels,
    MarkovChain,
    Multilevel,
    PauseTandem,
    SparseLU,
    explore,
    stationary,
)
from markov.measures import functionals

METHODS = (None, GTH(block=3), Levels(), SparseLU(), Multilevel())
SUITES = os.environ.get("HOPFLOW_SUITES")


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
        entries = max(
            abs(mpmath.mpf(float(x)) - y) / y for x, y in zip(answer.pi, truth, strict=True)
        )
        assert entries <= answer.entry_error, (kind, seed, method)
        f, over = rng.random((2, chain.size)) * 10.0 ** rng.uniform(-9, 9, (2, chain.size))
        bound = answer.bound(f)
        assert bound.lower <= mean_of(truth, f) <= bound.upper, (kind, seed, method)
        ratio = answer.bound((f, over))
        assert ratio.lower <= mean_of(truth, f) / mean_of(truth, over) <= ratio.upper
    return answer.error_bound / max(float(apart), 2.0**-60)


@pytest.mark.parametrize("method", METHODS, ids=repr)
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
        check_all_bounds(kind, seed, METHODS[1 + seed % 4])


def test_bounds_of_elimination_are_sharp():
    """At most five times the true error in the median, as double-double residuals leave it."""
    slack = [check_all_bounds(kind, seed, None) for kind in KINDS for seed in range(100, 125)]
    assert np.median(slack) <= 5.0


@pytest.mark.parametrize("exponent", range(1, 17, 3))
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


# --------------------------------------------------------------------------- measures


def published(tickets, kind):
    place = Path(SUITES) / "qcomp/benchmarks/ctmc/kanban/results"
    return place / f"Storm.{kind}{tickets}.json"


@pytest.mark.skipif(SUITES is None, reason="HOPFLOW_SUITES: no outside suites here")
def test_kanban_with_one_card_has_the_published_throughput():
    text = (Path(SUITES) / "qcomp/benchmarks/ctmc/kanban/kanban.prism").read_text()
    assert "throughput" in text or "rewards" in text
    files = sorted((Path(SUITES) / "qcomp/benchmarks/ctmc/kanban/results").glob("*exact.1.*.json"))
    found = json.loads(files[0].read_text())
    values = [v for v in numbers_in(found) if abs(v - 0.0925846346333826) < 1e-9]
    assert values  # of rational arithmetic
    bound = stationary(explore(Kanban(tickets=1))).bound("throughput")
    assert bound.lower - 1e-17 <= values[0] <= bound.upper + 1e-17  # rounded when it was printed
    assert bound.relative_error < 1e-14


def numbers_in(found):
    """Return all floats in a JSON document."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list):
        return [v for part in found for v in numbers_in(part)]
    if isinstance(found, float):
        return [found]
    return []


@pytest.mark.parametrize("tickets", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_throughput_by_multigrid_is_proved_to_twelve_digits(tickets):
    """The two values agree, by methods that share nothing, within their bounds; 2e-13 was asked for."""
    chain = explore(Kanban(tickets=tickets)).chain
    cycles = stationary(chain, Multilevel()).bound("throughput")
    assert cycles.relative_error < 4e-13
    if tickets == 2:
        factors = stationary(chain, GTH()).bound("throughput")
        assert factors.relative_error < 1e-14
        assert cycles.lower <= factors.upper
        assert factors.lower <= cycles.upper


def test_labels_rewards_ratios_and_queues_have_bounds():
    """Each holds the value under pi within what pi may be wrong by."""
    model = PauseTandem(high_threshold=12)
    answer = stationary(model)
    for name, mean in functionals(model, answer.states).items():
        found = answer.bound(name)
        values = np.atleast_1d(answer[name])
        found = found if isinstance(found, list) else [found]
        assert len(found) == len(values)
        for bound, value in zip(found, values, strict=True):
            assert bound.lower <= bound.value <= bound.upper
            assert bound.error <= 1e-13 * max(abs(bound.value), 1e-3)
            size = float(np.max(np.abs(mean.of)))
            assert abs(bound.value - value) <= 1e-12 * max(size, 1.0)


def test_a_closed_form_lies_within_the_bound():
    model = MM1K(arrival_rate=9.0, service_rate=10.0, capacity=50)
    ratio = mpmath.mpf(9) / 10
    with mpmath.workdps(50):
        weights = [ratio**k for k in range(51)]
        exact = exactly(k * w for k, w in enumerate(weights)) / exactly(weights)
        bound = stationary(model).bound(np.arange(51.0))
        assert bound.lower <= exact <= bound.upper
    assert bound.relative_error < 1e-15


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


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        ("thruput", "must be a label or reward of PauseTandem"),
        (np.ones(3), "must be"),
        (np.full(50, np.nan), "must be"),
        ("x" * 3, "must be a label"),
        ([object()], "numbers over the states"),
    ],
)
def test_bad_measures(measure, said):
    with pytest.raises(ValueError, match=said):
        stationary(PauseTandem()).bound(measure)


def test_a_name_needs_a_model_and_numbers_must_be_finite():
    answer = stationary([[-1.0, 1.0], [3.0, -3.0]])
    with pytest.raises(ValueError, match="has no measures; pass an array"):
        answer.bound("throughput")
    with pytest.raises(ValueError, match="not finite in state number 1"):
        answer.bound([1.0, math.nan])


# --------------------------------------------------------------------------- what is asked for


def test_without_proof_nothing_is_bounded_or_raised():
    answer = stationary(MM1K(), SparseLU(), proof=False)
    assert answer.status is Status.SOLVED
    assert answer.error_bound == math.inf
    assert "not computed" in repr(answer)


def test_a_tight_proof_is_sharper():
    """For a method that iterates: at most twenty times the true error, where GTH tells that."""
    chain = MarkovChain(PauseTandem(buffers=(22, 43), high_threshold=32))
    loose, tight = (stationary(chain, Multilevel(), proof=proof) for proof in (True, "tight"))
    exact = stationary(chain, GTH())
    truth = 0.5 * np.abs(tight.pi - exact.pi).sum()
    assert truth - exact.error_bound <= tight.error_bound <= 20.0 * (truth + exact.error_bound)
    assert tight.error_bound <= loose.error_bound


@pytest.mark.parametrize("proof", ["loose", 2, None])
def test_proof_is_checked(proof):
    with pytest.raises(ValueError, match="proof"):
        stationary(MM1K(), proof=proof)


def test_an_answer_can_be_pickled_and_bounded_again():
    answer = stationary(MM1K())
    again = pickle.loads(pickle.dumps(answer))
    assert again.error_bound == answer.error_bound
    f = np.arange(len(answer.pi))
    one, other = answer.bound(f), again.bound(f)
    assert one.lower <= other.upper
    assert other.lower <= one.upper
