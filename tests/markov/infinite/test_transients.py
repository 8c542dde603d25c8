"""Distributions over time of infinite chains: closed forms, far larger truncations, refusals."""

from __future__ import annotations

import math

import pytest

from markov import explore, transient
from tests.markov.infinite.families import (
    coupled,
    gene,
    jackson,
    mm1,
    random_chain,
    states_of,
    toggle,
)
from tests.markov.infinite.test_answers import Breakdowns


def test_arrivals_are_those_of_poisson():
    found = transient(explore(lambda n: [(n + 1, 2.0)], start=0), [0.0, 1.0, 10.0])
    for k, mean in enumerate((0.0, 2.0, 20.0)):
        exact = [math.exp(-mean) * mean**n / math.factorial(n) for n in found.states]
        off = found.pi[k] - exact
        worst = max(off[off > 0].sum(), 1.0 - math.fsum(exact) - off[off < 0].sum())
        assert worst <= found.error_bound[k] + 1e-14
    assert found.error_bound.max() <= 1e-12
    assert found.status.ok
    assert "infinitely many" in found.summary()["states"]


def test_molecules_that_decay_stay_poisson():
    """Born at rate 12, each lost at rate 1, from none: mean 12 (1 - exp(-t))."""
    found = transient(explore(lambda n: [(n + 1, 12.0), (n - 1, 1.0 * n)], start=0), 2.0)
    mean = 12.0 * (1.0 - math.exp(-2.0))
    exact = [math.exp(-mean) * mean**n / math.factorial(n) for n in found.states]
    assert abs(found.pi[0] - exact).sum() / 2 <= found.error_bound[0] + 1e-14


def check_against_a_box(rules, start, times, side, tolerance):
    """Compare with the chain that ignores what leaves a far larger box."""

    def boxed(s):
        for target, rate in rules(s):
            sizes = target if isinstance(target, tuple) else (target,)
            if rate > 0.0 and max(sizes) <= side:
                yield target, rate

    truth = transient(explore(boxed, start=start), times)
    found = transient(explore(rules, start=start), times, tolerance=tolerance)
    places = {state: k for k, state in enumerate(states_of(truth))}
    kept = [places[state] for state in states_of(found)]
    for k in range(len(found.times)):
        off = found.pi[k] - truth.pi[k, kept]
        missing = 1.0 - math.fsum(truth.pi[k, kept])
        worst = max(off[off > 0].sum(), missing - off[off < 0].sum())
        assert worst <= found.error_bound[k] + truth.error_bound[k] + 1e-14
    assert found.error_bound[-1] <= tolerance * (1.0 + 1e-9) + 1e-11
    return found


@pytest.mark.parametrize("tolerance", [1e-2, 1e-6])
def test_two_coupled_queues_agree_with_a_far_larger_set(tolerance):
    found = check_against_a_box(coupled, (0, 0), [1.0, 15.0], 60, tolerance)
    assert found.error_bound[-1] > 1e-6 * tolerance  # not many more states than are needed


@pytest.mark.slow
def test_three_queues_agree_with_a_far_larger_set():
    check_against_a_box(jackson, (0, 0, 0), [0.5, 5.0], 16, 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-3, 1e-9])
def test_genes_agree_with_far_larger_sets(tolerance):
    check_against_a_box(gene, (0, 0), [0.5, 5.0], 110, tolerance)
    check_against_a_box(toggle, (0, 0), [0.5, 5.0], 70, tolerance)


@pytest.mark.parametrize("seed", [0, 3])
def test_no_bound_of_random_chains_is_violated(seed):
    rules, start = random_chain(seed)
    check_against_a_box(rules, start, [1.0, 20.0], 400, 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 64))
def test_no_bound_of_many_random_chains_is_violated(seed):
    rules, start = random_chain(seed)
    side = 60 if isinstance(start, tuple) else 1500
    for tolerance in (1e-2, 1e-4, 1e-7):
        check_against_a_box(rules, start, [1.0, 20.0], side, tolerance)


def test_an_unstable_queue_has_a_distribution_at_each_time():
    found = transient(explore(lambda n: mm1(n, 1.5), start=0), 20.0, tolerance=1e-8)
    assert found.error_bound[0] <= 1e-8
    assert found.pi.sum() == pytest.approx(1.0, abs=1e-7)


def test_models_start_elsewhere_and_have_measures():
    model = Breakdowns()
    found = transient(model, [0.0, 1.0], start=model.State(7, "down"))
    assert found.probability(model.State(7, "down"))[0] == 1.0
    assert found["length"][0] == 7.0
    with pytest.raises(ValueError, match="occupancy is not computed"):
        _ = found.occupancy
    with pytest.raises(ValueError, match=r"start = 'nowhere': must be one state"):
        transient(model, 1.0, start="nowhere")
    with pytest.raises(ValueError, match="tolerance = 0: must be"):
        transient(model, 1.0, tolerance=0)


def test_a_chain_that_explodes_has_bounds_before_it_does():
    chain = explore(lambda n: [(n + 1, 1.0 * n * n)], start=1)
    early = transient(chain, 0.05, tolerance=1e-4)
    assert abs(early.probability(1)[0] - math.exp(-0.05)) <= early.error_bound[0]
