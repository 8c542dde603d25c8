"""Fits to samples: their moments, warnings, what answers say of them, and losses beside exact ones."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from scipy.stats import poisson

from benchmarks import phase_fits
from markov import (
    MAP,
    DiscreteChain,
    ObservedPath,
    PhaseQueue,
    PhaseType,
    SemiMarkov,
    best,
    estimate,
    explore,
    fit_map,
    fit_phase_type,
    passage,
    stationary,
    stationary_by_level,
    transient,
)
from markov.errors import FitWarning
from markov.phases.sample_fits import record_fit

TWO_VALUES = np.repeat([0.001, 0.010], [900, 100])


@pytest.fixture(scope="module")
def fitted() -> PhaseType:
    return fit_phase_type(TWO_VALUES, phases=2).distribution


# The right losses.


def test_the_loss_of_m_m_1_k_by_quadrature():
    """rho^K (1 - rho) / (1 - rho^(K + 1))."""
    times, weights = phase_fits.SERVICES["exponential"].quadrature()
    expected = 0.7**5 * 0.3 / (1.0 - 0.7**6)
    assert phase_fits.loss_of_m_g_1_k(times, weights, 700.0, 5) == pytest.approx(expected, rel=1e-10)


def test_a_service_of_two_values_by_the_chain_at_the_ends_of_services():
    """Sums over the two values, and `DiscreteChain` as on the page on phase-type times."""
    times, weights = phase_fits.SERVICES["1 ms (90 %) or 10 ms"].quadrature()
    assert phase_fits.loss_of_m_g_1_k(times, weights, 400.0, 20) == pytest.approx(0.005144294629, rel=1e-9)
    arrivals = weights @ poisson.pmf(np.arange(20), 400.0 * times[:, None])

    def left_behind(n):
        first = max(n - 1, 0)
        steps = [(first + k, arrivals[k]) for k in range(19 - first)]
        return [*steps, (19, 1.0 - sum(p for _, p in steps))]

    chain = DiscreteChain.of_rules(left_behind, start=0).stationary()
    assert 1.0 - 1.0 / (chain.probability(0) + 0.76) == pytest.approx(0.005144294629, rel=1e-9)


# Losses of fits: within 5 % of the sample's above 1e-3, or a warning; a note below.


@pytest.mark.parametrize("name", ["fixed", "exponential", "gamma, scv 0.3"])
def test_losses_of_fits(name):
    assert [row.verdict for row in phase_fits.rows_of(name, seed=1)] == ["right"] * 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", phase_fits.SEEDS)
@pytest.mark.parametrize("name", [*phase_fits.SERVICES, *phase_fits.HELD_OUT])
def test_losses_of_all_fits(name, seed):
    """All but one: there two of 20,000 draws are above 60 times the mean, and the sample's loss is 1.8 times the law's."""
    wrong = {
        (row.service, row.seed, row.capacity, row.load)
        for row in phase_fits.rows_of(name, seed)
        if row.verdict != "right"
    }
    assert wrong <= {("lognormal, scv 2", 3, 20, 0.7)}


def test_more_phases_do_not_miss_the_variance():
    """The fit of largest likelihood to two values has an scv of 1.0 with 2 phases and 4.2 with 4, and the wrong loss."""
    for phases in (2, 4):
        fit = fit_phase_type(TWO_VALUES, phases=phases)
        assert fit.matched == 3
        assert fit.distribution.scv == pytest.approx(TWO_VALUES.var() / TWO_VALUES.mean() ** 2, rel=1e-6)
        assert fit.distribution.order == phases
        loss = stationary(PhaseQueue(MAP.poisson(400.0), fit.distribution, capacity=20))["loss_probability"]
        assert loss == pytest.approx(0.005144294629, rel=0.07)


# Moments, and the first that differs.


def test_moments_of_a_fit_are_those_of_the_sample():
    times = np.random.default_rng(1).gamma(3.0, 0.1, 4000)
    fit = fit_phase_type(times)
    deviations = (times - times.mean()) / times.std()
    mean, scv, skewness = fit.moments
    assert (mean.name, scv.name, skewness.name) == ("mean", "scv", "skewness")
    assert (mean.sample, mean.fit) == (pytest.approx(times.mean()), pytest.approx(times.mean(), rel=1e-6))
    assert (scv.sample, scv.fit) == (
        pytest.approx(times.var() / times.mean() ** 2),
        pytest.approx(scv.sample, rel=1e-6),
    )
    assert (skewness.sample, skewness.fit) == (
        pytest.approx((deviations**3).mean()),
        pytest.approx(skewness.sample, rel=1e-5),
    )
    assert skewness.fit == pytest.approx(fit.distribution.skewness, rel=1e-12)
    direct = float(np.log(fit.distribution.pdf(times)).sum())
    assert fit.log_likelihood == pytest.approx(direct, rel=1e-9)


def test_intervals_of_the_samples_moments_cover():
    """95 % of 400 samples of 2000: 93 to 97.5 % within two standard errors, less where the skewness is large."""
    rng, truth = np.random.default_rng(4), (1.0, 0.25, 1.0)
    covered = np.zeros(3)
    for _ in range(400):
        covered += [not moment.differs for moment in record_fit(rng.gamma(4.0, 0.25, 2000), truth).moments]
    assert (covered[:2] >= 0.925 * 400).all()
    assert covered[2] >= 0.90 * 400
    assert (covered <= 0.98 * 400).all()


def test_too_few_phases_match_two_moments_and_the_warning_names_the_third():
    times = np.repeat([1.0, 3.0], 500)
    with pytest.warns(
        FitWarning, match=r"skewness of the fit differs .* phases=\d+ reach three moments; .*DiscreteChain"
    ) as caught:
        fit = fit_phase_type(times, phases=6)
    assert fit.matched == 2
    assert caught[0].message.moment == fit.moments[2]
    assert not fit.moments[1].differs
    assert caught[0].filename == __file__
    enough = fit_phase_type(times)
    assert enough.matched == 3
    assert not any(moment.differs for moment in enough.moments)


def test_equal_times_have_no_fit_and_the_warning_says_so():
    with pytest.warns(FitWarning, match="scv of the fit differs .* 40 phases do not reach it"):
        fit = fit_phase_type(np.full(50, 0.002))
    assert fit.distribution.scv == pytest.approx(1 / 40)
    assert "not defined for equal times" in repr(fit)


def test_times_of_events_are_named() -> None:
    """Arrival times in place of the times between were fitted without a word; `fit_map` refuses them."""
    between = np.random.default_rng(1).exponential(0.1, 50)
    with pytest.warns(UserWarning, match=r"times ascend throughout, as times of events do: .* np\.diff\(times\)"):
        fit_phase_type(np.cumsum(between))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_phase_type(between)


def test_a_likelier_fit_within_the_samples_error_is_preferred():
    """Two exponential branches with the sample's exact skewness cost 9 in log-likelihood: chance explains 4.6."""
    rng = np.random.default_rng(0)
    times = rng.exponential(np.where(rng.random(20_000) < 0.976, 0.51, 20.5))
    fit = fit_phase_type(times, phases=2)
    assert not any(moment.differs for moment in fit.moments)
    truth = PhaseType.hyperexponential([0.976, 0.024], [1 / 0.51, 1 / 20.5])
    assert fit.log_likelihood > float(np.log(truth.pdf(times)).sum()) - 4.6


def test_a_process_with_other_correlations_is_named():
    rng = np.random.default_rng(3)
    times = np.abs(np.sin(np.arange(400) / 7.0)) + 0.1 * rng.random(400)  # waves: no two phases follow them
    with pytest.warns(FitWarning, match="of the fit differs"):
        fit = fit_map(times, phases=2)
    assert [moment.name for moment in fit.moments] == ["mean", "scv", "lag-1 correlation"]
    assert any(moment.differs for moment in fit.moments)
    assert "(differs)" in repr(fit)
    assert fit.to_xarray()["sample"].sizes == {"lag": 20}


# What answers say.


def test_answers_say_what_their_bound_covers(fitted):
    plain = PhaseType(fitted.alpha, fitted.T)
    assert plain == fitted
    queue = PhaseQueue(MAP.poisson(400.0), plain, capacity=20)
    assert "bound covers" not in stationary(queue).summary()
    answer = stationary(PhaseQueue(MAP.poisson(400.0), fitted, capacity=20))
    note = answer.summary()["bound covers"]
    assert "this chain; not the service: a fit to 1000 times with their mean, scv and skewness" in note
    assert "moments do not fix a loss" in note
    assert "DiscreteChain.of_rules" in note
    assert "bound covers" in repr(answer)
    assert "bound covers" in answer._repr_html_()
    assert "bound covers" in pickle.loads(pickle.dumps(answer)).summary()
    small = stationary(PhaseQueue(MAP.poisson(100.0), fitted, capacity=20)).summary()["bound covers"]
    assert "moments do not fix a loss below 1e-3, as this one of" in small


def test_every_kind_of_answer_says_it(fitted):
    queue = PhaseQueue(MAP.poisson(400.0), fitted, capacity=5)
    machine = SemiMarkov(sojourns=(fitted, PhaseType.exponential(4.0)))
    answers = [
        stationary_by_level(PhaseQueue(MAP.poisson(400.0), fitted)),
        transient(queue, [0.1]),
        passage(machine, to=lambda s: s.state == 1),
        stationary(machine),
        best(queue, "capacity", among=[4, 5], minimize="loss_probability"),
    ]
    assert all("a fit to 1000 times" in answer.summary()["bound covers"] for answer in answers)


def test_derived_distributions_remember_the_fit(fitted):
    exponential = PhaseType.exponential(1.0)
    derived = [
        fitted.scaled(2.0),
        fitted + exponential,
        exponential.minimum(fitted),
        PhaseType.mixture([0.5, 0.5], [exponential, fitted]),
        MAP.renewal(fitted),
        MAP.renewal(fitted) + MAP.poisson(1.0),
        MAP.renewal(fitted).interval,
        pickle.loads(pickle.dumps(fitted)),
    ]
    assert all(each.fits == fitted.fits for each in derived)
    assert (exponential + exponential).fits == ()
    arrivals = stationary(PhaseQueue(MAP.renewal(fitted), exponential, capacity=3))
    assert "the arrivals: a fit to 1000 times" in arrivals.summary()["bound covers"]


def test_a_fit_that_differs_is_named_in_the_answer():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        service = fit_phase_type(np.full(10, 0.001), phases=4).distribution
    note = stationary(PhaseQueue(MAP.poisson(700.0), service, capacity=5)).summary()["bound covers"]
    assert "a fit to 10 times whose scv differs from the sample's (0.25, sample 0 ± 0)" in note


def test_answers_of_estimated_models_say_it():
    machine = explore(
        lambda up, q: [(not up, q.failure if up else q.repair)], start=True, params={"failure": 0.1, "repair": 1.0}
    )
    seen = ObservedPath([0.0, 8.0, 9.0, 13.0, 15.0], [True, False, True, False, True], end=20.0)
    result = estimate(machine, seen, ["failure", "repair"])
    note = "this chain; not failure, repair: estimated from 4 observations"
    assert stationary(result.model).summary()["bound covers"] == note
    assert stationary(pickle.loads(pickle.dumps(result.model))).summary()["bound covers"] == note
    assert stationary(result.model.replace(repair=2.0)).summary()["bound covers"] == note
    assert "bound covers" not in stationary(machine).summary()
    assert "bound; not of the fit" in result.summary()["log-likelihood"]


def test_a_series_shorter_than_the_batches_of_its_errors_is_fitted() -> None:
    with pytest.warns(FitWarning, match="scv of the fit differs"):
        fit_map([1.0, 2.0, 6.0] * 4, phases=1)
