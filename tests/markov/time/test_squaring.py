"""exp(Q t) by squaring, its words and its weights: every entry against exact arithmetic, at any stiffness and time."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from markov.computing.rounding import U
from markov.time import squaring
from markov.time.exponentials import squaring_pays
from markov.time.kernels import pairs, triples
from markov.time.squaring import (
    Evolution,
    exact_sum,
    plan_squarings,
    product,
    total,
    total_error,
    unit_error,
    weights_in_words,
)
from markov.time.uniformization import max_jumps
from tests.markov.time.exact_exponentials import exact
from tests.surface import for_each

DISKS = np.array([[0.0, 2e-5, 0.0], [30.0, 0.0, 1e-5], [0.0, 0.0, 0.0]])
STIFF = 10.0 ** np.random.default_rng(49).uniform(-9.0, 6.0, (6, 6)) * (1.0 - np.eye(6))


def pair(rates):
    return np.array([rates, np.zeros_like(rates)])


def check(found, row, truth):
    """Check all entries of a row of what was found against a row of the exact ones."""
    relative, absolute = float(found.relative[row]), float(found.absolute[row])
    for value, known in zip(found.values[row].tolist(), truth, strict=True):
        assert abs(Fraction(value) - known) <= Fraction(relative) * known + Fraction(absolute)


@pytest.mark.parametrize(
    ("rates", "times"),
    [(DISKS, [1.0, 1e11]), (STIFF, [1e-6, 0.3, 1e6]), (STIFF, [1e16])],
    ids=["disks", "stiff", "triples"],
)
def test_every_entry_is_within_its_relative_bound(rates, times):
    n = len(rates)
    evolution = Evolution(pair(rates), min(times), max(times), stored=True)
    assert (evolution.plan.precise > 0) == (max(times) == 1e16)
    truths = [exact(rates, time, digits=700) for time in times]
    for state in range(0, n, 5):
        one = np.eye(n)[state]
        forward, backward = evolution.forward(one, times), evolution.backward(one, times)
        for row, truth in enumerate(truths):
            check(forward, row, truth[state])
            check(backward, row, [entries[state] for entries in truth])
        for found in (forward, backward):
            assert found.relative.max() < 5e-13
            assert found.absolute.max() < 1e-290


@pytest.mark.parametrize("seed", [n if n < 5 else pytest.param(n, marks=pytest.mark.slow) for n in range(8)])
def test_random_chains_with_absorbing_states_keep_their_bounds(seed):
    rng = np.random.default_rng(seed)
    n, stiffness = int(rng.integers(2, 7)), rng.choice([0.0, 4.0, 10.0, 16.0])
    rates = 10.0 ** rng.uniform(-stiffness, 0.0, (n, n)) * (rng.random((n, n)) < 0.7)
    np.fill_diagonal(rates, 0.0)
    rates[0, 1] = 1.0
    rates[n - int(rng.integers(0, 2)) :] = 0.0
    times = np.sort(10.0 ** rng.uniform(-4.0, 17.0, 3)).tolist()
    start = rng.dirichlet(np.ones(n))
    found = Evolution(pair(rates), times[0], times[-1]).forward(start, times)
    assert found.relative.max() < 5e-13
    for row, time in enumerate(times):
        matrix = exact(rates, time, digits=500)
        known = [sum(Fraction(p) * line[j] for p, line in zip(start.tolist(), matrix, strict=True)) for j in range(n)]
        check(found, row, known)


@pytest.mark.parametrize("time", [1e-3, 4.0, 300.0])
def test_a_row_of_states_is_a_poisson_number_however_unlikely(time):
    """A hundred states, each with a jump to the next one alone: down to 1e-290."""
    n = 101
    line = pair(np.diag(np.ones(n - 1), 1))
    found = Evolution(line, time, time).forward(np.eye(n)[0], [time])
    with mpmath.workdps(60):
        exact = mpmath.exp(-mpmath.mpf(time))
        for k, value in enumerate(found.values[0, :-1].tolist(), start=1):
            if exact > 1e-290:
                assert abs(value - exact) <= float(found.relative[0]) * exact
            exact *= mpmath.mpf(time) / k
    assert found.relative[0] < 2e-16


def test_a_chain_that_is_left_loses_what_leaves_it():
    """A substochastic generator is one whose last state is left out: the others sum to less than one."""
    stopped = pair(DISKS)
    found = Evolution(stopped, 1e9, 1e9).forward(np.eye(3)[0], [1e9])
    truth = exact(DISKS, 1e9)[0]
    left = math.fsum(found.values[0, :2].tolist())
    assert abs(Fraction(left) - truth[0] - truth[1]) <= Fraction(1e-15) * (truth[0] + truth[1])


def test_rates_in_two_words_count_in_full():
    rates = np.array([[[0.0, 1.0], [0.0, 0.0]], [[0.0, 1e-17], [0.0, 0.0]]])
    found = Evolution(rates, 500.0, 500.0).forward(np.array([1.0, 0.0]), [500.0])
    exponent = Fraction(500) * (1 + Fraction(1e-17))
    assert found.values[0, 0] == pytest.approx(math.exp(-500.0) * (1.0 - 5e-15), rel=1e-15)
    assert exponent > 500
    alone = Evolution(pair(rates[0]), 500.0, 500.0).forward(np.array([1.0, 0.0]), [500.0])
    assert alone.values[0, 0] != found.values[0, 0]


def test_one_call_and_many_calls_give_the_same():
    times = [0.3, 5.0, 1e6]
    stored = Evolution(pair(STIFF), 0.3, 1e6, stored=True)
    once = Evolution(pair(STIFF), 0.3, 1e6).forward(np.eye(6)[2], times)
    for _ in range(2):
        again = stored.forward(np.eye(6)[2], times)
        assert np.array_equal(once.values, again.values)
        assert np.array_equal(once.relative, again.relative)


def test_no_time_no_rates_and_what_cannot_be_proved():
    one = np.eye(3)[0]
    assert np.array_equal(Evolution(pair(DISKS), 1.0, 1.0).forward(one, [0.0]).values[0], one)
    still = Evolution(pair(0.0 * DISKS), 1.0, 1.0)
    assert np.array_equal(still.forward(one, [1.0]).values[0], one)
    assert still.products == 0
    with pytest.raises(ValueError, match=r"times up to 1e\+40: .* too many jumps"):
        Evolution(pair(DISKS), 1e40, 1e40)
    for time in (1e36, 1e300):  # of which the first may be planned
        with pytest.raises(ValueError, match="too many jumps for a relative error"):
            Evolution(pair(DISKS), time, time)
        assert squaring_pays(3, 60.0 * time, 4) is (time < 1e39)
    with pytest.raises(ValueError, match="more than 290 decades apart"):
        Evolution(pair(np.array([[0.0, 1e-300], [1.0, 0.0]])), 1.0, 1.0)
    with pytest.raises(ValueError, match=r"times = \[2.0\]: must be 0, or from 0.5 to 1.0"):
        Evolution(pair(DISKS), 0.5, 1.0).forward(one, [2.0])


def test_only_as_many_matrices_have_three_words_as_needed():
    assert plan_squarings(16, 1e15, 1e15).precise == 0
    later = plan_squarings(16, 1e20, 1e20)
    assert 0 < later.precise < 0.4 * later.squarings
    assert later.seconds > plan_squarings(16, 1e15, 1e15).seconds


def test_squaring_is_chosen_by_what_it_takes():
    assert squaring_pays(16, 1.0, 40)
    assert squaring_pays(400, 1e8, 2_000)
    assert not squaring_pays(400, 1e3, 2_000)
    assert not squaring_pays(squaring.MAX_STATES + 1, 1e18, 2_000)


# Products of sums of two and three float64 against fractions: compiled, as plain Python and by NumPy.


def random_words(rng, words, rows, columns):
    """Return entries of any size from 1e-60 to 1, some of them zero."""
    parts = [10.0 ** rng.uniform(-60.0, 0.0, (rows, columns)) * (rng.random((rows, columns)) < 0.9)]
    for _ in range(words - 1):
        parts.append(parts[-1] * U * rng.uniform(-1.0, 1.0, (rows, columns)))
    return np.array(parts)


def value(a, i, j):
    return sum(map(Fraction, a[:, i, j].tolist()))


def check_product(found, a, b):
    words, rows, inner = a.shape
    for i in range(rows):
        for j in range(b.shape[2]):
            known = sum(value(a, i, k) * value(b, k, j) for k in range(inner))
            off = abs(value(found, i, j) - known)
            assert off <= Fraction(unit_error(words, inner)) * known
            parts = np.abs(found[:, i, j])
            assert np.all(parts[1:] <= 1.01 * U * parts[:-1])


SHAPES = [(1, 1, 1), (2, 3, 2), (5, 8, 130), (3, 41, 2), (7, 6, 7)]


@pytest.mark.parametrize("words", [2, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_product_is_within_its_bound(words, shape):
    rng = np.random.default_rng([words, *shape])
    a, b = random_words(rng, words, *shape[:2]), random_words(rng, words, *shape[1:])
    check_product(product(a, b), a, b)


@pytest.mark.parametrize("kernel", [pairs, triples])
def test_the_kernel_as_plain_python_is_within_the_bound(kernel):
    words = 2 if kernel is pairs else 3
    rng = np.random.default_rng(words)
    a, b = random_words(rng, words, 2, 5), random_words(rng, words, 5, 2)
    out = np.empty((words, 2, 2))
    kernel.run(a, b, a[0] @ b[0] * squaring.ESTIMATE_MARGIN, out)
    check_product(out, a, b)


@pytest.mark.parametrize("words", [2, 3])
def test_equal_terms_whose_rounding_errors_all_have_one_sign(words):
    """Each addition of the largest terms rounds in the same direction: the proof's worst case."""
    inner = 64
    a = np.zeros((words, 1, inner))
    b = np.zeros((words, inner, 1))
    a[0] = 1.0 + 3.0 * U
    b[0] = 1.0 + 2.0 * U
    a[1] = b[1] = U * (1.0 - 2.0 * U)
    check_product(product(a, b), a, b)


@pytest.mark.parametrize("words", [2, 3])
def test_sums_of_two_are_within_their_bound(words):
    rng = np.random.default_rng(words)
    a, b = random_words(rng, words, 6, 6), random_words(rng, words, 6, 6)
    found = total(a, b)
    for i in range(6):
        for j in range(6):
            known = value(a, i, j) + value(b, i, j)
            assert abs(value(found, i, j) - known) <= Fraction(total_error(words)) * known


def test_words_of_a_sum_are_rounded_one_by_one():
    found = exact_sum([1.0, 2.0**-60, 2.0**-120, -(2.0**-180)], 3)
    assert found == (1.0, 2.0**-60, 2.0**-120)
    assert exact_sum([1.0, -1.0]) == (0.0, 0.0)


# Poisson weights in words, and a number that is not exceeded, against sixty digits.


@pytest.mark.parametrize("words", [2, 3])
@pytest.mark.parametrize("x", [Fraction(2), Fraction(0.7), Fraction(1, 3), Fraction(1e-20)])
def test_every_weight_is_right_in_all_words(words, x):
    found = weights_in_words(x, 40, words)
    with mpmath.workdps(80):
        for k in range(40):
            exact = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
            exact *= (mpmath.mpf(x.numerator) / x.denominator) ** k / mpmath.factorial(k)
            if exact > 1e-200:
                value = sum(map(mpmath.mpf, found[:, k].tolist()))
                assert abs(value - exact) <= 2.0 ** (-52 * words) * exact


@for_each([1e-250, 1e-3, 1.0, 40.0, 1e4, 1e9])
def test_more_jumps_have_a_probability_below_1e_320(mean):
    most = max_jumps(mean)
    with mpmath.workdps(60):
        k = mpmath.floor(most) + 1
        term = mpmath.exp(k * mpmath.log(mean) - mean - mpmath.loggamma(k + 1))
        assert term / (1 - mpmath.mpf(mean) / (k + 1)) < mpmath.mpf("1e-320")
    assert mean < most < 1.0 + 500.0 + mean + 60.0 * mean**0.5


def test_without_time_nothing_jumps():
    assert max_jumps(0.0) == 0.0


def test_many_times_in_float64_are_within_their_bound():
    rates = np.zeros((2, 4, 4))
    rates[0] = [[0.0, 1e-9, 1e3, 0.0], [1.0, 0.0, 0.0, 1e-6], [1e6, 2.0, 0.0, 1e-12], [0.0, 0.0, 0.0, 0.0]]
    start, times = np.array([0.5, 0.25, 0.25, 0.0]), np.array([3e-5, 0.1, 7.0, 1e4, 2.0**30])
    evolution = Evolution(rates, 1e-5, 2.0**30, stored=True)
    rows, error = evolution.forward_many(start, times)
    assert error < 1e-12
    for row, time in zip(rows, times.tolist(), strict=True):
        P = exact(rates[0], time, digits=120)
        true = [float(sum(Fraction(p) * P[i][j] for i, p in enumerate(start.tolist()))) for j in range(4)]
        np.testing.assert_allclose(row, true, rtol=error)
    both, _ = evolution.forward_many(np.array([start, start[::-1]]), times)
    np.testing.assert_allclose(both[:, 0], rows, rtol=error)
    with pytest.raises(ValueError, match=r"longest = 3.0: must be a power of two"):
        Evolution(rates, 1.0, 3.0).forward_many(start, times)


def test_the_time_at_which_a_probability_is_passed():
    rates = np.zeros((2, 2, 2))
    rates[0, 0, 1] = 1e-3
    evolution = Evolution(rates, 1.0, 2.0**13, stored=True)
    start = np.array([1.0, 0.0])
    for states, probability in (([1], 0.25), ([0], 0.75)):
        time, error = evolution.time_at(start, np.array(states), probability)
        assert time == pytest.approx(-1e3 * math.log(0.75), rel=1e-15)
        assert error < 1e-20
    assert evolution.time_at(start, np.array([1]), 1.0 - 1e-9)[0] == math.inf


@pytest.mark.parametrize("exponent", [-1, -100, -300, -600, -900])
def test_weights_of_short_steps_have_all_digits(exponent):
    """In whole units of 2^-220 a step of 2^-600 jumps had no digits: all its weights but the first were 0."""
    x = Fraction(float(Fraction(5, 7) * Fraction(2) ** exponent))
    for k, parts in enumerate(weights_in_words(x, 4, 3).T.tolist()):
        with mpmath.workdps(400):
            mean = mpmath.mpf(x.numerator) / x.denominator
            true = mpmath.exp(-mean) * mean**k / mpmath.factorial(k)
            assert true < 1e-250 or abs(sum(map(mpmath.mpf, parts)) / true - 1) < 1e-47


def test_short_times_have_relative_digits():
    rates = np.zeros((2, 3, 3))
    rates[0, 0, 1], rates[0, 1, 2] = 2.0, 3.0
    for time in (1e-30, 1e-70, 1e-130):
        found = Evolution(rates, time, time).forward(np.array([1.0, 0.0, 0.0]), [time])
        np.testing.assert_allclose(found.values[0, 1:], [2.0 * time, 3.0 * time**2], rtol=1e-14)
