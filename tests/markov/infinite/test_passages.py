"""First passages of infinite chains: closed forms, far larger truncations, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from markov import explore, passage, stationary
from markov.errors import RuleError
from markov.results import InfinitePassage
from tests.markov.infinite.families import (
    coupled,
    epidemic,
    gene,
    jackson,
    mm1,
    random_chain,
    shortest,
)
from tests.markov.infinite.test_answers import Breakdowns

LARGE = 10_000  # a box that is left with a probability below all bounds


def test_mean_of_one_queue_is_the_known_one():
    found = passage(explore(mm1, start=0), to=0, start=5)
    assert abs(found.mean - 50.0) <= found.mean_error <= 1e-9 * found.mean  # 5 / (1 - 0.9)
    assert (found.probability, found.probability_error) == (1.0, 0.0)
    assert isinstance(found, InfinitePassage)
    assert math.isnan(found.variance)
    assert "infinitely many" in str(found.summary()["states"])
    assert found.summary()["standard deviation"] == "not computed for infinitely many states"
    lengths = found.chain.states
    off = np.abs(found.means - 10.0 * lengths)
    assert (off <= found.moments.mean_error).all()


def test_distribution_and_quantile_of_one_queue_agree_with_a_long_finite_one():
    def short(n):
        yield n + 1, 0.5
        if n > 0:
            yield n - 1, 1.0

    def long(n):
        yield from ((m, rate) for m, rate in short(n) if m <= 300)

    found, truth = (
        passage(explore(short, start=0), 0, start=3),
        passage(explore(long, start=0), 0, start=3),
    )
    times = [0.5, 3.0, 30.0]
    own, other = found.distribution(times), truth.distribution(times)
    slack = own.error_bound + other.error_bound
    assert (np.abs(own.cdf - other.cdf) <= slack).all()
    assert (np.abs(own.survival - other.survival) <= slack).all()
    assert own.error_bound.max() < 1e-8
    assert np.isinf(own.relative_error).all()
    for q in (0.1, 0.9):
        median, exact = found.quantile(q), truth.quantile(q)
        assert median.lower <= exact.value <= median.upper
        assert median.error < 1e-6
    early = found.quantile(1e-14)
    assert 0.0 < early.lower <= truth.quantile(1e-14).value <= early.upper
    assert found.quantile(1e-30).lower == 0.0  # below what may be outside of the states
    assert found.conditional_mean.lower <= 6.0 <= found.conditional_mean.upper


def test_a_trap_makes_the_mean_infinite_and_the_probability_known():
    """From n the queue empties before the trap with x^n, where 0.5 x^2 - 1.6 x + 1 = 0."""

    def rules(s):
        n, trapped = s
        if trapped or n == 0:
            return
        yield (n + 1, 0), 0.5
        yield (n - 1, 0), 1.0
        yield (0, 1), 0.1

    exact = (1.6 - math.sqrt(1.6**2 - 2.0)) ** 3
    found = passage(explore(rules, start=(3, 0)), to=(0, 0))
    assert abs(found.probability - exact) <= found.probability_error <= 1e-9
    assert (found.mean, found.mean_error) == (math.inf, 0.0)
    with pytest.raises(ValueError, match="conditional_mean of a set that may never be entered"):
        _ = found.conditional_mean


def test_a_chain_that_stops_after_finitely_many_states_needs_no_lyapunov_function():
    found = passage(explore(lambda n: mm1(n, 1.1), start=0), to=30)
    exact = sum(sum(1.1**-k for k in range(1, n + 2)) for n in range(30))
    assert found.mean == pytest.approx(exact, rel=1e-12)
    assert found.mean_error < 1e-9
    assert found.standard_deviation > 0.0


def check_against_a_box(rules, start, to, side, begin=None):
    """Compare with the chain that ignores what leaves a far larger box."""

    def boxed(s):
        sizes = s if isinstance(s, tuple) else (s,)
        for target, rate in rules(s):
            if rate > 0.0 and all(v <= side for v in (target if sizes is s else (target,))):
                yield target, rate

    first = start if begin is None else begin
    truth = passage(explore(boxed, start=start), to=to, start=first)
    found = passage(explore(rules, start=start), to=to, start=first)
    assert found.mean_error <= 1e-9 * found.mean
    assert abs(found.mean - truth.mean) <= found.mean_error + truth.mean_error
    return found


def test_means_of_two_coupled_queues_agree_with_a_far_larger_set():
    found = check_against_a_box(coupled, (0, 0), (0, 0), 110, (3, 3))
    assert found.chain.size < LARGE


@pytest.mark.slow
def test_means_of_two_dimensions_agree_with_far_larger_sets():
    check_against_a_box(shortest, (0, 0), (0, 0), 90, (4, 0))
    check_against_a_box(epidemic, (0, 0), lambda s: s[1] == 0, 220, (10, 5))
    check_against_a_box(gene, (0, 0), lambda s: s[1] >= 40, 90)


@pytest.mark.slow
def test_three_queues_until_they_are_empty_agree_with_a_larger_set():
    check_against_a_box(jackson, (0, 0, 0), (0, 0, 0), 40, (2, 2, 2))


def check_random_passage(seed):
    rules, start = random_chain(seed)
    rng = np.random.default_rng(seed + 1000)
    if isinstance(start, tuple):
        begin = (int(rng.integers(1, 6)), int(rng.integers(6)))
        side = 120
    else:
        begin, side = int(rng.integers(1, 9)), 1500
    check_against_a_box(rules, start, start, side, begin)


@pytest.mark.parametrize("seed", [0, 3])
def test_no_bound_of_random_chains_is_violated(seed):
    check_random_passage(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 64))
def test_no_bound_of_many_random_chains_is_violated(seed):
    check_random_passage(seed)


def test_labels_models_and_given_functions():
    class Watched(Breakdowns):
        def labels(self, s):
            return {"long": s.n >= 4, "down": s.mode == "down"}

    found = passage(Watched(), to="long")
    assert found.mean > 0.0
    up = explore(Watched())
    empty = passage(up, to=lambda s: s.n == 0, start=Watched.State(3, "down"))
    V = passage(up, to=(0, "up"), start=(3, "down"), lyapunov=lambda s: s.n + (s.mode != "up"))
    for answer in (empty, V):  # it empties in mode up
        assert abs(answer.mean - 20.0) <= answer.mean_error <= 2e-8
    assert "(s)" in V.lyapunov


def test_what_cannot_be_bounded_is_refused():
    chain = explore(lambda n: mm1(n, 1.1), start=0)
    with pytest.raises(RuleError, match="no Lyapunov function of degree 2 or less was found"):
        passage(chain, to=0, start=5)
    stable = explore(mm1, start=0)
    with pytest.raises(RuleError, match=r"the drift of lyapunov= is not proved.*An unstable chain has none"):
        passage(stable, to=0, start=2, lyapunov=lambda n: 1.0 + 0.0 * n)
    for to, said in (
        (np.zeros(3, dtype=bool), "is an array"),
        (-1, "must be a function"),
        ([], "no state"),
    ):
        with pytest.raises(ValueError, match=said):
            passage(stable, to=to, start=2)
    with pytest.raises(ValueError, match="is 'yes' in 2: must be True or False"):
        passage(stable, to=lambda n: "yes", start=2)
    with pytest.raises(ValueError, match=r"write not, or np\.logical_not"):
        passage(stable, to=lambda n: ~(n > 3) if n > 40 else n == 0, start=2)
    assert passage(stable, to=lambda n: n - 9 if n < 9 else 0, start=12).mean > 1.0
    with pytest.raises(ValueError, match=r"start = -3: must be one state"):
        passage(stable, to=0, start=-3)
    with pytest.raises(ValueError, match="lyapunov: goes with chains that have infinitely many"):
        passage([[-1.0, 1.0], [1.0, -1.0]], to=0, start=1, lyapunov=abs)
    with pytest.raises(ValueError, match="reward is not computed"):
        passage(stable, to=0, start=2).reward("length")
    assert passage(stable, to=0).mean == 0.0


def queue_beside(s: Any, _q: Any) -> Any:
    """An unstable queue beside a stable one."""
    yield s._replace(n=s.n + 1), 1.5
    if s.n > 0:
        yield s._replace(n=s.n - 1), 1.0
    yield s._replace(m=s.m + 1), 1.0
    if s.m > 0:
        yield s._replace(m=s.m - 1), 2.0


def test_drift_counts_only_outside_of_the_target():
    """The chain has no stationary distribution, but enters the target: its first queue alone decides when."""
    both = explore(queue_beside, start={"n": 0, "m": 0})
    with pytest.raises(RuleError, match="no Lyapunov function"):
        stationary(both)
    found = passage(both, to=lambda s: s.n >= 20)
    alone = passage(explore(lambda n: mm1(n, 1.5), start=0), to=lambda n: n >= 20)
    assert abs(found.mean - alone.mean) <= found.mean_error + alone.mean_error
    assert found.mean_error < 1e-8 * found.mean
    between = passage(both, to=lambda s: s.n >= s.m + 10)
    assert between.mean_error < 1e-8 * between.mean
    assert 0.0 < between.mean < found.mean


def test_a_target_that_cannot_be_followed_does_without():
    """Whether a state is in the target is asked by its type: the drift counts everywhere."""
    stable = explore(mm1, start=0)
    for to in (lambda n: type(n) is not int or n == 0, lambda n: {0: True}.get(n, False)):
        found = passage(stable, to=to, start=3)
        assert abs(found.mean - 30.0) <= found.mean_error + 1e-12, found
