"""Means in integers: the interval holds the exact rational value, and is far narrower than a float64 can say."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from markov import GTH, Kanban, MarkovChain, Multilevel, explore, stationary
from markov.models.measures import resolve_measure
from markov.proofs.bounded import ExactBounded
from markov.proofs.checker import check
from tests.markov.conftest import Queue
from tests.markov.proofs.conftest import exact_solution
from tests.surface import for_each


def random_chain(rng):
    """Return a chain of up to nine states, some of its rates tiny, and its exact solution."""
    n = int(rng.integers(2, 10))
    rates = 10.0 ** rng.uniform(-6, 6, (n, n)) * (rng.random((n, n)) < 0.5)
    rates[np.arange(n), (np.arange(n) + 1) % n] = 10.0 ** rng.uniform(-6, 6, n)  # one class
    np.fill_diagonal(rates, 0.0)
    rows = [[(t, Fraction(rate)) for t, rate in enumerate(row) if rate] for row in rates.tolist()]
    return rates - np.diag(rates.sum(axis=1)), exact_solution(rows)


def mean_of(f, pi):
    return sum(Fraction(v) * p for v, p in zip(f.tolist(), pi, strict=True))


@for_each(range(40))
def test_random_chains_have_their_exact_values_in_the_interval(seed):
    rng = np.random.default_rng(seed)
    Q, pi = random_chain(rng)
    answer = stationary(MarkovChain(Q))
    for f in (rng.normal(size=len(pi)), rng.random(len(pi)) * 10.0 ** rng.uniform(-9, 9)):
        found, truth = answer.bound(f, exact=True), mean_of(f, pi)
        assert found.lower <= truth <= found.upper
        assert abs(found.value - truth) <= Fraction(found.error)
        assert found.error < 1e-18 * mean_of(np.abs(f), pi)
        above, below = rng.normal(size=len(pi)), 0.1 + rng.random(len(pi))
        ratio = answer.bound((above, below), exact=True)
        assert ratio.lower <= mean_of(above, pi) / mean_of(below, pi) <= ratio.upper
        assert ratio.error < 1e-16


@for_each(range(20))
def test_a_wrong_vector_gives_a_true_interval(seed):
    """Whatever the vector, the interval is right; here it is off by up to a tenth of each entry."""
    rng = np.random.default_rng(seed)
    Q, pi = random_chain(rng)
    answer = stationary(MarkovChain(Q))
    wrong = answer.pi * (1.0 + 0.1 * rng.random(len(pi)))
    f = rng.normal(size=len(pi))
    found = replace(answer, pi=wrong / wrong.sum(), proof=None).bound(f, exact=True)
    assert found.lower <= mean_of(f, pi) <= found.upper


def test_without_corrections_the_interval_is_wide_and_true(monkeypatch):
    """A vector that is not corrected, and a g that is far off, prove little, and nothing false."""
    monkeypatch.setattr("markov.proofs.certificate_files.REFINEMENTS", 0)
    monkeypatch.setattr("markov.proofs.certificate_files.FUNCTION_BITS", 3)
    narrowest = math.inf
    for seed in range(20):
        rng = np.random.default_rng(seed)
        Q, pi = random_chain(rng)
        answer = stationary(MarkovChain(Q))
        wrong = answer.pi * (1.0 + 0.1 * rng.random(len(pi)))
        answer = replace(answer, pi=wrong / wrong.sum(), proof=None)
        answer._certificate.low[:] = 0.0
        f = rng.normal(size=len(pi))
        found = answer.bound(f, exact=True)
        assert found.lower <= mean_of(f, pi) <= found.upper
        narrowest = min(narrowest, found.error)
    assert narrowest > 1e-12


@pytest.mark.parametrize("method", [None, GTH(), Multilevel()], ids=repr)
def test_kanban_with_one_ticket_against_fractions(method):
    model = explore(Kanban(tickets=1))
    exact = stationary(model, exact=True)
    chain = exact.chain
    f = resolve_measure("throughput", chain.model, chain.table, np.arange(chain.size)).of
    found = stationary(model, method).bound("throughput", exact=True)
    assert found.error < 1e-28
    assert mean_of(f, exact.exact) in found


@pytest.mark.parametrize("tickets", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_kanban_is_proved_to_far_more_digits_than_float64_has(tickets):
    answer = stationary(explore(Kanban(tickets=tickets)), Multilevel())
    plain, found = answer.bound("throughput"), answer.bound("throughput", exact=True)
    assert found.error <= 2.7e-22
    assert found.error < 1e-6 * plain.error
    assert plain.lower <= found.lower <= found.upper <= plain.upper
    rough = stationary(explore(Kanban(tickets=tickets)), Multilevel(tolerance=1e-7))
    other = rough.bound("throughput", exact=True)  # by another vector
    assert other.lower <= found.upper
    assert found.lower <= other.upper


def test_the_interval_is_that_of_a_certificate(tmp_path):
    answer = stationary(Queue())
    answer.certificate(tmp_path / "queue.cert", measures={"f": np.arange(answer.chain.size) / 3.0})
    low, high = check(tmp_path / "queue.cert").means["f"]
    found = answer.bound(np.arange(answer.chain.size) / 3.0, exact=True)
    assert (low, high) == (found.lower, found.upper)


def test_vectors_single_states_and_pickled_answers():
    answer = stationary([[-1.0, 1.0], [3.0, -3.0]])
    found = answer.bound(np.eye(2), exact=True)
    assert [each.value for each in found] == [Fraction(3, 4), Fraction(1, 4)]
    assert "_exact_means" in answer.__dict__
    again = pickle.loads(pickle.dumps(answer))
    assert "_exact_means" not in again.__dict__
    assert again.bound([0.0, 1.0], exact=True).value == Fraction(1, 4)
    assert stationary([[0.0]]).bound([2.5], exact=True) == ExactBounded.between(Fraction(5, 2), Fraction(5, 2))


def test_what_is_refused():
    answer = stationary([[-1.0, 1.0], [1.0, -1.0]])
    with pytest.raises(ValueError, match="the mean to divide by may be zero"):
        answer.bound(([1.0, 0.0], [1.0, -1.0]), exact=True)
    with pytest.raises(ValueError, match="exact = 'yes'"):
        answer.bound([1.0, 0.0], exact="yes")
    answer = stationary([[-1.0, 1.0], [1.0, -1.0]])
    answer._certificate.supersolution = None
    with pytest.raises(ValueError, match="nothing was proved"):
        answer.bound([1.0, 0.0], exact=True)
