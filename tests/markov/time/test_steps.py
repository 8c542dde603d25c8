"""Chains in discrete time: gambler's ruin, geometric times, periodic walks, and powers."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from markov import (
    DiscreteChain,
    MarkovChain,
    autocovariance,
    lump,
    mixing_time,
    passage,
    paths,
    quasi_stationary,
    stationary,
    stationary_by_class,
    to_networkx,
    transient,
)
from markov.errors import ConvergenceError


def gambler(n):
    """Win with probability 0.4 until 0 or 6 is reached."""
    return [(n, 1.0)] if n in (0, 6) else [(n + 1, 0.4), (n - 1, 0.6)]


def test_ruin_has_its_closed_forms():
    """W. Feller, An Introduction to Probability Theory, vol. 1, XIV.2 and 3."""
    game, r = DiscreteChain.of_rules(gambler, start=2), 0.6 / 0.4
    wins = game.passage(to=6, start=2)
    assert 1.0 - wins.probability.value == pytest.approx((r**6 - r**2) / (r**6 - 1.0), rel=1e-12)
    assert wins.mean.value == np.inf
    either = game.passage(to=[0, 6], start=2)
    exact = 2.0 / 0.2 - 6.0 / 0.2 * (1.0 - r**2) / (1.0 - r**6)
    assert either.mean.value == pytest.approx(exact, rel=1e-14)
    assert either.mean.error < 1e-12


def test_a_geometric_number_of_steps():
    found = DiscreteChain([[0.75, 0.25], [0.0, 1.0]]).passage(to=1, start=0)
    assert found.mean.value == pytest.approx(4.0, rel=1e-14)
    assert 0.75 / 0.25**2 in found.variance
    np.testing.assert_allclose(found.survival([0, 3, 10]), 0.75 ** np.array([0, 3, 10]))


def test_passages_through_rates_too_far_apart_are_refused_with_the_reason():
    """States that are left after some 1e20 steps, and hardly ever for the set: too far apart for double-double."""
    P = np.diag([0.0, 0.0, 0.0, 1.0])
    P[0, 1:3], P[0, 3] = 1.0 / 3.0, 1.0 - 2.0 / 3.0
    P[1, [1, 2, 3]], P[2, [2, 1, 3]] = [1.0, 1e-20, 1e-46], [1.0, 1e-30, 1e-80]
    with pytest.raises(
        ConvergenceError, match=r"no useful bound on the mean was proved: rates .* 80 decades apart; leave"
    ):
        DiscreteChain(P).passage(to=3, start=0)


RUIN = np.array([[1.0, 0.0, 0.0], [0.25, 0.25, 0.5], [0.0, 0.0, 1.0]])


def test_a_matrix_by_columns_is_refused_with_the_advice_to_transpose_it() -> None:
    """Columns that sum to one are another convention; where neither does, nothing is said of it."""
    with pytest.raises(ValueError, match=r"row 1 of P sums to 0\.25: .* its columns sum to 1: .* give the transpose"):
        DiscreteChain(RUIN.T)
    with pytest.raises(ValueError, match=r"row 2 of P sums to 0\.5: must be 1 within 1e-10$"):
        DiscreteChain(np.diag([1.0, 1.0, 0.5]))


@pytest.mark.parametrize(
    "call",
    [
        MarkovChain,
        stationary,
        stationary_by_class,
        mixing_time,
        lambda chain: transient(chain, [1.0], start=1),
        lambda chain: passage(chain, to=0, start=1),
        lambda chain: paths(chain, duration=1.0, start=1, seed=1),
    ],
    ids=["MarkovChain", "stationary", "stationary_by_class", "mixing_time", "transient", "passage", "paths"],
)
def test_functions_of_rates_name_the_methods_of_a_chain_in_steps(call: Any) -> None:
    """A step is no time: a distribution after 3 s is another one than after 3 steps."""
    with pytest.raises(
        (TypeError, ValueError), match=r"has methods of its own: .*after\(\)\. MarkovChain\(chain\.P - I"
    ):
        call(DiscreteChain(RUIN))


EHRENFEST = np.diag([1.0, 0.75, 0.5, 0.25], 1) + np.diag([0.25, 0.5, 0.75, 1.0], -1)
"""Four balls in two urns: period 2."""


@pytest.mark.parametrize(
    ("P", "f", "expected"),
    [
        ([[0.0, 1.0], [1.0, 0.0]], [1.0, 0.0], 0.0),  # alternates: half of any even number of steps
        ([[0.5, 0.5], [0.5, 0.5]], [1.0, 0.0], 0.25),  # independent steps: p (1 - p)
        ([[0.75, 0.25], [0.25, 0.75]], [1.0, 0.0], 0.75),  # 1/4 (1 + r) / (1 - r) with r = 1/2
        (EHRENFEST, np.arange(5.0), 3.0),  # eigenvalue 1/2: variance 1 times 3
        (EHRENFEST, (np.arange(5.0), np.full(5, 2.0)), 0.75),
        ([[1.0]], [3.0], 0.0),
    ],
)
def test_the_variance_of_a_chain_in_steps_is_that_of_means_over_steps(P: Any, f: Any, expected: float) -> None:
    """In continuous time it is larger by the variance of f in the stationary distribution."""
    result = DiscreteChain(P).stationary().variance(f)
    assert expected in result
    assert result.error < 1e-12
    assert result.value == pytest.approx(expected, abs=1e-12)


def test_the_variance_in_steps_is_that_of_random_chains() -> None:
    rng = np.random.default_rng(3)
    for n in (2, 3, 7, 30):
        P, f = rng.dirichlet(np.full(n, 0.3), size=n) + 1e-6, rng.normal(size=n)
        P /= P.sum(axis=1)[:, None]
        answer = DiscreteChain(P).stationary()
        g = f - answer.pi @ f
        deviation = np.linalg.solve(np.eye(n) - P + answer.pi, g)
        expected = answer.pi @ (g * (2.0 * deviation - g))
        result = answer.variance(f)
        assert result.value == pytest.approx(expected, rel=1e-9)
        assert result.lower <= expected * (1.0 + 1e-9)
        assert result.upper >= expected * (1.0 - 1e-9)
        np.testing.assert_allclose(answer.deviation(f), deviation - answer.pi @ deviation, atol=1e-9)


@pytest.mark.parametrize("of", [lambda answer: answer, lambda answer: answer.chain], ids=["answer", "chain"])
@pytest.mark.parametrize(
    "call",
    [
        MarkovChain,
        stationary,
        stationary_by_class,
        lambda chain: mixing_time(chain, start=0),
        lambda chain: transient(chain, [1.0], start=1),
        lambda chain: passage(chain, to=0, start=1),
        lambda chain: paths(chain, duration=1.0, start=1, seed=1),
        lambda chain: quasi_stationary(chain, to=0),
        lambda chain: lump(chain, keep={"f": lambda s: s == 0}),
        to_networkx,
    ],
    ids=["MarkovChain", "stationary", "stationary_by_class", "mixing_time", "transient", "passage", "paths",
         "quasi_stationary", "lump", "to_networkx"],
)  # fmt: skip
def test_an_answer_of_a_chain_in_steps_is_no_chain_in_time(call: Any, of: Any) -> None:
    """Its chain has the generator P - I, which steps once per second on average."""
    answer = DiscreteChain(EHRENFEST).stationary()
    with pytest.raises((TypeError, ValueError), match=r"has methods of its own: .*after\(\)"):
        call(of(answer))


def test_autocovariances_over_times_are_not_those_over_steps() -> None:
    answer = DiscreteChain(EHRENFEST).stationary()
    with pytest.raises(TypeError, match=r"answer: of a chain in discrete time, whose lags are steps"):
        autocovariance(answer, np.arange(5.0), [0.0, 1.0])


def test_an_answer_of_a_chain_in_steps_says_so() -> None:
    answer = DiscreteChain(EHRENFEST).stationary()
    assert "given by its probabilities of steps" in repr(answer)
    assert "2 steps: pi are means, the distribution after n steps does not converge" in repr(answer)
    assert "period" not in repr(DiscreteChain(0.5 * np.eye(5) + 0.5 * EHRENFEST).stationary())
    assert answer.chain.periods == [2]
    again = pickle.loads(pickle.dumps(answer))
    assert again.variance(np.arange(5.0)).value == pytest.approx(3.0, rel=1e-12)


def test_several_classes_are_refused_with_advice_that_works() -> None:
    """From the middle state, the first class has a third of the weight: 1/4 of 1/4 + 1/2."""
    chain = DiscreteChain(RUIN, states=["lost", "even", "won"])
    with pytest.raises(
        ValueError, match=r"2 recurrent classes: .* chain\.passage\(to=CLASS, start=STATE\)\.probability .*chain\.P - I"
    ):
        chain.stationary()
    assert 1.0 / 3.0 in chain.passage(to="lost", start="even").probability
    rates = MarkovChain(chain.P - sp.identity(3), states=chain.states)
    assert [answer.pi.tolist() for answer in stationary_by_class(rates)] == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


def test_steps_print_their_numbers():
    found = DiscreteChain([[0.5, 0.5], [0.0, 1.0]]).passage(to=1, start=0)
    assert repr(found).startswith("Steps(probability=1 +- ")
    assert "matrix" not in repr(found)


@pytest.mark.parametrize("seed", range(5))
def test_moments_are_those_of_the_fundamental_matrix(seed):
    """Mean N 1 and variance (2 N - I) N 1 - (N 1)^2 with N = (I - B)^-1 (Kemeny and Snell, 3.3)."""
    P = np.random.default_rng(seed).dirichlet(np.full(7, 0.3), 7)
    chain, B = DiscreteChain(P), P[:6, :6]
    N = np.linalg.inv(np.eye(6) - B)
    mean = N.sum(axis=1)
    variance = (2.0 * N - np.eye(6)) @ mean - mean**2
    for start in (0, 5):
        found = chain.passage(to=6, start=start)
        assert found.mean.value == pytest.approx(mean[start], rel=1e-9)
        assert found.variance.value == pytest.approx(variance[start], rel=1e-8)
        assert found.survival(4)[0] == pytest.approx(np.linalg.matrix_power(B, 4)[start].sum(), rel=1e-12)


def test_steps_are_powers_and_the_limit_is_stationary():
    P = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.4, 0.4]])
    chain = DiscreteChain(sp.coo_matrix(P), states=["sun", "clouds", "rain"])
    found = chain.after([0, 1, 3, 200], start="clouds")
    for row, n in zip(found, (0, 1, 3, 200), strict=True):
        np.testing.assert_allclose(row, np.linalg.matrix_power(P, n)[1], atol=1e-13)
    answer = chain.stationary()
    np.testing.assert_allclose(answer.pi @ P, answer.pi, rtol=1e-14)
    np.testing.assert_allclose(found[3], answer.pi, atol=1e-13)
    assert answer.probability("rain") == answer.pi[2]


def test_a_billion_steps_are_a_few_squares():
    """Geometric times, and a chain that has long forgotten its start; both within (states + 2) n 2^-53."""
    found = DiscreteChain([[1.0 - 2.0**-30, 2.0**-30], [0.0, 1.0]]).passage(to=1, start=0)
    steps = np.array([5, 20_000, 30_000, 10**9])
    exact = np.exp(steps * np.log1p(-(2.0**-30)))
    np.testing.assert_allclose(found.survival(steps), exact, rtol=4 * 10**9 * 2.0**-53)
    np.testing.assert_allclose(found.survival(steps[:3]), exact[:3], rtol=4 * 30_000 * 2.0**-53)
    ring = DiscreteChain(np.roll(np.eye(5), 1, axis=1))
    np.testing.assert_array_equal(ring.after([10**9 - 3, 10**9], start=1), np.eye(5)[[3, 1]])
    assert DiscreteChain([[0.5, 0.5], [0.0, 1.0]]).passage(to=1, start=0).survival(10**9)[0] == 0.0


def test_a_periodic_chain_has_fractions_of_steps_and_a_period():
    ring = DiscreteChain(np.roll(np.eye(4), 1, axis=1))
    assert ring.periods == [4]
    np.testing.assert_allclose(ring.stationary().pi, 0.25)
    lazy = DiscreteChain(0.5 * np.eye(4) + 0.5 * np.roll(np.eye(4), 1, axis=1))
    assert lazy.periods == [1]


def test_rows_within_the_tolerance_lose_nothing_in_many_steps():
    """A row lacked 5e-11, so that 2.5 % of the probability was gone after 10^9 steps."""
    chain = DiscreteChain([[0.5, 0.5 - 5e-11], [0.5, 0.5]])
    assert chain.after([10**6, 10**9], start=0).sum(axis=1) == pytest.approx([1.0, 1.0], abs=1e-6)
    np.testing.assert_allclose(chain.after(10**9, start=0)[0], chain.stationary().pi, atol=1e-6)
    walk = DiscreteChain.of_rules(lambda n: [(n - 1, 0.5), (n + 1, 0.5 + 5e-11)] if 0 < n < 3 else [(n, 1.0)], start=1)
    ends = walk.passage(to=[0, 3], start=1)
    assert ends.survival([0, 1, 2]).tolist() == pytest.approx([1.0, 0.5, 0.25], rel=1e-9)
    assert ends.mean.value >= 1.0


def test_staying_is_what_small_probabilities_of_leaving_leave():
    """Divided by their sum they would lose digits: 1e-13 of leaving is below the error of that of staying."""
    leaving = 1e-13
    chain = DiscreteChain([[1.0 - 5e-11, leaving], [0.0, 1.0]])
    assert chain.P[0, 1] == leaving
    assert chain.passage(to=1, start=0).mean.value == pytest.approx(1.0 / leaving, rel=1e-15)
    assert chain.passage(to=1, start=0).survival([10**9])[0] == pytest.approx(1.0 - 1e-4, abs=1e-6)


def test_rows_that_sum_to_one_but_for_rounding_keep_their_entries():
    entries = np.full((10, 10), 0.1)
    assert (DiscreteChain(entries).P.toarray() == entries).all()
    turns = np.roll(np.eye(3) * (1.0 - 5e-11), 1, axis=1)  # no probability of staying, which would end the period
    assert DiscreteChain(turns).periods == [3]
    assert (DiscreteChain(turns).P.toarray() == np.roll(np.eye(3), 1, axis=1)).all()


def test_starts_within_the_tolerance_are_distributions():
    """A certain event had the probability 1 - 9e-13, with a bound of 2e-16."""
    chain = MarkovChain([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, 0.0]])
    found = passage(chain, to=2, start=np.array([0.5, 0.5 - 9e-13, 0.0]))
    assert abs(found.probability - 1.0) <= found.probability_error
    later = transient(chain, [0.0, 3.0], start=np.array([0.5 + 9e-13, 0.5, 0.0]))
    assert np.abs(later.pi.sum(axis=1) - 1.0).max() <= later.error_bound.max()


def test_a_start_in_the_set_is_named():
    """Without a step the set is there: tables of mean recurrence times have another number on their diagonals."""
    chain = DiscreteChain([[0.0, 1.0], [0.5, 0.5]])
    inside = "start in the set with probability {}: the number of steps is 0 then, not that of a return)"
    assert repr(chain.passage(to=0, start=0)).endswith(inside.format(1))
    assert repr(chain.passage(to=0, start=np.array([0.25, 0.75]))).endswith(inside.format(0.25))
    assert "start" not in repr(chain.passage(to=0, start=1))


def test_distributions_after_many_steps_sum_to_one():
    """After 10^9 steps it was 1 + 5e-8, with the ninth digit of each probability."""
    chain = DiscreteChain([[0.9, 0.1, 0.0], [0.4, 0.4, 0.2], [0.1, 0.1, 0.8]])
    assert np.abs(chain.after([10**5, 10**9], start=0) - [5 / 7, 1 / 7, 1 / 7]).max() < 1e-15
