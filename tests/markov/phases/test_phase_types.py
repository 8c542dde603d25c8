"""Phase-type distributions and what has them: closed forms, samples, fits, semi-Markov processes."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from markov import (
    MAP,
    MarkovChain,
    PhaseQueue,
    PhaseType,
    SemiMarkov,
    fit_phase_type,
    passage,
    paths,
    phase_type_of,
    stationary,
    transient,
    write_explicit,
)
from tests.markov.time.exact_exponentials import exact
from tests.surface import for_each

STAGES = np.diag([-1.5, -1.5, -1.5]) + np.diag([1.5, 1.5], k=1)


@pytest.mark.parametrize(
    ("alpha", "T", "warns"),
    [
        ([1.0, 0.0, 0.0], STAGES, False),
        ([1.0, 0.0, 0.0], STAGES.T, True),  # an exponential time in place of three stages
        ([1.0, 0.0], [[-3.0, 0.0], [1.0, -1.0]], True),
        ([0.0, 1.0, 0.0], STAGES, False),
        ([1.0, 0.0], [[-3.0, 0.0], [0.0, -1.0]], False),
    ],
)
def test_rates_by_columns_are_named_where_phases_are_never_entered(alpha, T, warns):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PhaseType(alpha, T)
    expected = (
        "T: phases that alpha gives 0 are never entered: row i of T has the rates out of phase i; give the transpose"
    )
    assert [str(warning.message).startswith(expected) for warning in caught] == [True] * warns
    assert all(warning.filename == __file__ for warning in caught)


COX = PhaseType([0.3, 0.7], [[-3.0, 1.5], [0.0, -1.0]])


def test_erlang_is_the_gamma_distribution():
    found, x = PhaseType.erlang(4, mean=2.0), np.array([[0.0, 0.5], [2.0, 9.0]])
    known = stats.gamma(4, scale=0.5)
    np.testing.assert_allclose(found.cdf(x), known.cdf(x), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.pdf(x), known.pdf(x), rtol=1e-12)
    np.testing.assert_allclose(found.survival(x), known.sf(x), rtol=1e-12)
    assert found.quantile(0.9) == pytest.approx(known.ppf(0.9), rel=1e-12)
    assert [found.moment(k) for k in range(5)] == pytest.approx(
        [known.moment(k) if k else 1.0 for k in range(5)], rel=1e-12
    )


def test_a_mixture_of_exponentials_has_the_mixture_of_their_moments():
    found = PhaseType.hyperexponential([0.2, 0.8], [0.1, 4.0])
    for k in range(1, 6):
        known = math.factorial(k) * (0.2 / 0.1**k + 0.8 / 4.0**k)
        assert found.moment(k) == pytest.approx(known, rel=1e-13)
    parts = PhaseType.mixture([0.2, 0.8], [PhaseType.exponential(0.1), PhaseType.exponential(4.0)])
    np.testing.assert_array_equal(parts.T, found.T)


def test_sums_add_cumulants_and_minima_multiply_survivals():
    other = PhaseType.erlang(3, mean=0.5)
    total = COX + other
    assert total.mean == pytest.approx(COX.mean + other.mean, rel=1e-13)
    assert total.variance == pytest.approx(COX.variance + other.variance, rel=1e-12)
    x = np.linspace(0.0, 3.0, 7)
    least = COX.minimum(other)
    np.testing.assert_allclose(least.survival(x), COX.survival(x) * other.survival(x), rtol=1e-11)
    assert COX.scaled(3.0).quantile(0.5) == pytest.approx(3.0 * COX.quantile(0.5), rel=1e-12)


def test_samples_have_the_distribution():
    """Kolmogorov and Smirnov's test at a fixed seed: it fails by chance once in a thousand seeds."""
    times = COX.sample(20_000, seed=2)
    assert stats.kstest(times[:2000], COX.cdf).pvalue > 1e-3
    assert times.mean() == pytest.approx(COX.mean, abs=4.0 * math.sqrt(COX.variance / 20_000))
    np.testing.assert_array_equal(times[:5], COX.sample(20_000, seed=2)[:5])


def test_tails_keep_their_digits():
    """Erlang's distribution is the gamma distribution; 1 - 1e-200 has no digits of a tail."""
    erlang, x = PhaseType.erlang(5, mean=1.0), np.array([0.0, 1e-9, 0.01, 1.0, 10.0, 100.0])
    exact = stats.gamma(5, scale=0.2)
    np.testing.assert_allclose(erlang.survival(x), exact.sf(x), rtol=1e-13)
    np.testing.assert_allclose(erlang.pdf(x), exact.pdf(x), rtol=1e-13)


def exact_values(distribution, time):
    """Return P(X <= t), P(X > t) and the density as fractions, from rates and exits."""
    m = distribution.order
    rates = np.zeros((m + 1, m + 1))
    rates[:m, :m], rates[:m, m] = distribution.T, distribution.exits
    np.fill_diagonal(rates, 0.0)
    P = exact(rates, time, digits=120)
    alpha = [Fraction(p) for p in distribution.alpha.tolist()]
    row = [sum(a * P[i][j] for i, a in enumerate(alpha)) for j in range(m + 1)]
    density = sum(p * Fraction(rate) for p, rate in zip(row, distribution.exits.tolist(), strict=False))
    return row[m], sum(row[:m]), density


def spread_rates(kind, decades, draw):
    """Return a random distribution whose rates are log-uniform over some decades."""
    m = 4
    rates, exits, alpha = np.zeros((m, m)), np.zeros(m), np.eye(m)[0]
    drawn = 10.0 ** draw.uniform(-decades / 2, decades / 2, (m, m))
    if kind == "hypoexponential":
        rates[np.arange(m - 1), np.arange(1, m)], exits[-1] = drawn[0, : m - 1], drawn[0, -1]
    elif kind == "hyperexponential":
        exits, alpha = drawn[0], draw.dirichlet(np.ones(m))
    elif kind == "Coxian":
        go_on = draw.uniform(size=m) * (np.arange(m) < m - 1)
        rates[np.arange(m - 1), np.arange(1, m)] = (drawn[0] * go_on)[:-1]
        exits = drawn[0] * (1.0 - go_on)
    else:
        rates = np.triu(drawn, 1) if kind == "acyclic" else drawn * (1.0 - np.eye(m))
        exits, alpha = 10.0 ** draw.uniform(-decades / 2, decades / 2, m), draw.dirichlet(np.ones(m))
    return PhaseType(alpha, rates - np.diag(rates.sum(axis=1) + exits), exits)


KINDS = ["hypoexponential", "hyperexponential", "Coxian", "acyclic", "cyclic"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("decades", [2, 12, 20])
def test_probabilities_and_densities_keep_their_digits_however_far_rates_lie_apart(kind, decades):
    draw = np.random.default_rng([KINDS.index(kind), decades])
    found = spread_rates(kind, decades, draw)
    times = found.mean * 10.0 ** draw.uniform(-decades - 2.0, 2.0, 3)
    values = np.array([found.cdf(times), found.survival(times), found.pdf(times)])
    for time, column in zip(times.tolist(), values.T.tolist(), strict=True):
        for value, true in zip(column, exact_values(found, time), strict=True):
            assert true < 1e-280 or abs(value / float(true) - 1.0) < 1e-12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("q", [1e-30, 1e-6, 0.3, 0.5, 0.99])
def test_quantiles_are_right_however_far_rates_lie_apart(kind, q):
    found = spread_rates(kind, 18, np.random.default_rng(KINDS.index(kind)))
    x = found.quantile(q)
    below, above, density = exact_values(found, x)
    missing = Fraction(q) - below if q <= 0.5 else above - Fraction(1.0 - q)
    assert abs(missing) <= 1e-12 * float(density) * x


@pytest.mark.parametrize("q", [1e-300, 1e-250, 1e-100, 1e-20, 1.0 - 2.0**-53])
def test_extreme_quantiles(q):
    assert PhaseType.exponential(4.0).quantile(q) == pytest.approx(-math.log1p(-q) / 4.0, rel=1e-13)
    if q > 1e-280:
        x = PhaseType.erlang(2, mean=1.0).quantile(q)
        assert stats.gamma(2, scale=0.5).cdf(x) == pytest.approx(q, rel=1e-10)


def test_a_rare_event_before_a_fast_phase():
    """One failure in 1e9 h, then 3.6 ms, 1 us and 0.1 ns: the median is that of the failure."""
    for fast in (1e6, 3.6e9, 3.6e13):
        found = PhaseType.exponential(1e-9) + PhaseType.exponential(fast)
        assert found.cdf(1e9) == pytest.approx(-math.expm1(-1.0), rel=1e-14)
        assert found.cdf(8760.0) == pytest.approx(-math.expm1(-8.76e-6), rel=1e-9)
        assert found.quantile(0.5) == pytest.approx(1e9 * math.log(2.0), rel=1e-13)


def test_both_tails_of_erlang_and_hyperexponential_distributions():
    below = sum(Fraction(60) ** k / math.factorial(k) for k in range(200, 500)) * Fraction(math.exp(-60.0))
    erlang = PhaseType.erlang(200, mean=1.0)
    assert erlang.cdf(0.3) == pytest.approx(float(below), rel=1e-12)
    assert erlang.quantile(float(below)) == pytest.approx(0.3, rel=1e-13)
    assert PhaseType.erlang(10, mean=1.0).cdf(0.01) == pytest.approx(stats.gamma(10, scale=0.1).cdf(0.01), rel=1e-12)
    hyper = PhaseType.hyperexponential([0.5, 0.5], [1e9, 1e-9])
    assert hyper.survival(6e11) == pytest.approx(0.5 * math.exp(-600.0), rel=1e-12)
    np.testing.assert_array_equal(hyper.survival([1e13, 1e300]), 0.0)
    np.testing.assert_allclose(hyper.cdf([0.0, 1e13, 1e300]), [0.0, 1.0, 1.0], rtol=1e-15)


def test_a_quantile_where_the_distribution_is_flat_says_so():
    """Half of the times end within some ns, the others after years: near 1/2 only q tells the time."""
    found = PhaseType.hyperexponential([0.5, 0.5], [1e9, 1e-9])
    with pytest.warns(RuntimeWarning, match="flat there"):
        x = found.quantile(0.5 + 5e-10)
    assert x == pytest.approx(1.0, rel=1e-6)


def test_rates_of_absorption_far_below_the_others():
    """MTTF (a + mu + b) / (a b) of two parts with repair: b has no digits in T[1, 1]."""
    a, b, mu = 1e-9, 3e-9, 1e6
    T = [[-a, a], [mu, -(mu + b)]]
    found = PhaseType([1.0, 0.0], T, [0.0, b])
    mttf = (a + mu + b) / (a * b)
    assert found.mean == pytest.approx(mttf, rel=1e-14)
    assert found.quantile(0.5) == pytest.approx(mttf * math.log(2.0), rel=1e-12)
    for changed in (found.scaled(1.0), PhaseType.mixture([1.0], [found]), found.with_fits(())):
        assert changed == found
    assert (found + found).mean == pytest.approx(2.0 * mttf, rel=1e-14)
    assert found.minimum(PhaseType.exponential(1.0 / mttf)).mean == pytest.approx(0.5 * mttf, rel=1e-12)


def test_the_table_of_a_distribution():
    assert repr(COX) == "PhaseType: 2 phases, mean 0.95 s, scv 1.06833"


# Distributions with given moments, and fitted ones.


@for_each([0.01, 0.1, 0.25, 0.3, 0.5, 0.99, 1.0, 1.01, 4.0, 100.0])
def test_two_moments_are_met(scv):
    found = phase_type_of(2.5, scv)
    assert found.mean == pytest.approx(2.5, rel=1e-11)
    assert found.scv == pytest.approx(scv, rel=1e-9)


@pytest.mark.parametrize(("scv", "skewness"), [(4.0, 5.0), (1.5, 3.0), (30.0, 40.0)])
def test_three_moments_are_met(scv, skewness):
    found = phase_type_of(0.2, scv, skewness)
    third = found.moment(3) - 3.0 * found.mean * found.moment(2) + 2.0 * found.mean**3
    assert (found.mean, found.scv) == (pytest.approx(0.2), pytest.approx(scv))
    assert third / found.variance**1.5 == pytest.approx(skewness, rel=1e-9)


def test_a_fit_finds_what_the_sample_was_drawn_from():
    """Twice the gain in log likelihood over the truth is below chi-square's 99.9 % quantile."""
    truth = PhaseType.mixture([0.6, 0.4], [PhaseType.exponential(5.0), PhaseType.erlang(2, mean=3.0)])
    times = truth.sample(3000, seed=3)
    found = fit_phase_type(times, phases=3)
    assert found.branches == (1, 2)
    likelihood = float(np.log(truth.pdf(times)).sum())
    assert 0.0 <= 2.0 * (found.log_likelihood - likelihood) < stats.chi2(3).ppf(0.999)
    direct = float(np.log(found.distribution.pdf(times)).sum())
    assert found.log_likelihood == pytest.approx(direct, rel=1e-9)


def test_an_exponential_fit_has_the_mean_of_the_sample():
    times = np.array([0.1, 0.7, 2.0])
    found = fit_phase_type(times, phases=1)
    assert found.distribution.mean == pytest.approx(times.mean(), rel=1e-12)


# Semi-Markov processes: fractions of time by the mean times, passages by the whole distributions.


JUMPS = ((0.1, 0.6, 0.3), (0.5, 0.0, 0.5), (1.0, 0.0, 0.0))
TIMES = (phase_type_of(2.0, 0.3), PhaseType.exponential(4.0), phase_type_of(0.5, 3.0))


def test_fractions_of_time_follow_the_mean_times():
    answer = stationary(SemiMarkov(JUMPS, TIMES))
    P = np.array(JUMPS)
    values, vectors = np.linalg.eig(P.T)
    v = np.real(vectors[:, np.argmin(abs(values - 1.0))])
    weights = v * [each.mean for each in TIMES]
    np.testing.assert_allclose(answer["fraction"], weights / weights.sum(), rtol=1e-12)
    assert answer["jump_rate"] == pytest.approx(v.sum() / weights.sum(), rel=1e-12)
    assert answer.measures.fraction.dims == ("process_state",)


def test_a_first_passage_has_the_distribution_of_the_sum_of_its_times():
    """A line 0 -> 1 -> 2: the time to 2 is the sum of the first two."""
    line = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
    found = passage(SemiMarkov(line, TIMES), to=lambda s: s.state == 2, start=(0, 0))
    begun = PhaseType(np.eye(TIMES[0].order)[0], TIMES[0].T) + TIMES[1]
    assert found.mean == pytest.approx(begun.mean, rel=1e-11)
    assert found.quantile(0.9).value == pytest.approx(begun.quantile(0.9), rel=1e-8)


MIXED = PhaseType.hyperexponential([0.6, 0.4], [1.0, 10.0])


@pytest.mark.parametrize("jumps", [((0.0, 1.0), (1.0, 0.0)), ((0.0, 1.0), (0.0, 1.0))])
@pytest.mark.parametrize("sojourn", [MIXED, phase_type_of(2.0, 0.3), PhaseType.erlang(3, mean=1.0), COX])
def test_the_first_sojourn_begins_in_each_of_its_phases(jumps, sojourn):
    """The time to leave the first state has its whole distribution, also where that state is never entered again."""
    process = SemiMarkov(jumps, (sojourn, PhaseType.erlang(5, mean=1.0)))
    found = passage(process, to=lambda s: s.state == 1)
    assert found.mean == pytest.approx(sojourn.mean, rel=1e-12)
    assert found.variance == pytest.approx(sojourn.variance, rel=1e-12)
    np.testing.assert_allclose(found.survival([0.1, 3.0]), sojourn.survival([0.1, 3.0]), rtol=1e-9)
    assert found.quantile(0.5).value == pytest.approx(sojourn.quantile(0.5), rel=1e-9)
    begun = transient(process, [0.0]).probability(lambda s: s.state == 0)
    assert begun.tolist() == [1.0]
    assert len(MarkovChain(process).states.phase) == sojourn.order + 5


def test_jumps_within_the_tolerance_do_not_lengthen_sojourns():
    one = PhaseType.exponential(1.0)
    found = passage(SemiMarkov(((0.0, 1.0 - 5e-11), (1.0, 0.0)), (one, one)), to=lambda s: s.state == 1)
    assert found.mean == pytest.approx(1.0, abs=found.mean_error)


def test_paths_begin_in_each_phase_of_the_first_sojourn():
    """600 of 1,000 first sojourns are slow, give or take five standard deviations."""
    process = SemiMarkov(((0.0, 1.0), (0.0, 1.0)), (MIXED, PhaseType.exponential(1.0)))
    phases = transient(process, [0.0]).pi[0]
    assert sorted(phases.tolist()) == pytest.approx([0.0, 0.4, 0.6])
    sample = paths(process, 1.0, runs=1000, seed=1)
    slow = sum(sample.path(run)[1][0] == np.argmax(phases) for run in range(1000))
    assert abs(slow - 600) < 5 * math.sqrt(240)


def test_an_interval_of_arrivals_begins_in_each_of_its_phases():
    queue = PhaseQueue(MIXED, PhaseType.exponential(2.0), capacity=3)
    assert passage(queue, to=lambda s: s.n == 1).mean == pytest.approx(MIXED.mean, rel=1e-12)
    assert passage(queue, to=lambda s: s.n == 1, start=(0, 0, 0)).mean == pytest.approx(1.0, rel=1e-12)
    stream = MAP.modulated([[-1.0, 1.0], [2.0, -2.0]], [0.0, 5.0])
    assert transient(PhaseQueue(stream, MIXED, capacity=2), [0.0]).probability((0, 0, 0)).tolist() == [1.0]


def test_files_of_a_process_have_no_initial_state_where_it_is_random(tmp_path):
    """What was written began in the most probable phase."""
    mixed = SemiMarkov(((0.0, 1.0), (1.0, 0.0)), (MIXED, PhaseType.exponential(3.0)))
    for name in ("mixed.tra", "mixed.umb"):
        with pytest.warns(UserWarning, match="SemiMarkov starts in several states with probabilities, which a file"):
            write_explicit(mixed, tmp_path / name)
    assert not (tmp_path / "mixed.lab").exists()
    write_explicit(SemiMarkov(sojourns=(PhaseType.erlang(2, mean=1.0),) * 2), tmp_path / "plain.tra")
    assert (tmp_path / "plain.lab").read_text(encoding="utf-8").splitlines()[:2] == ['0="init"', "0: 0"]
