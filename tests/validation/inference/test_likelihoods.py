"""Weights of settings: densities, errors of the model that are recovered, coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from validation.inference.likelihoods import (
    evidence_of,
    held_out,
    infer,
    joined,
    of_words,
)


def test_density_is_that_of_the_whole_covariance_matrix() -> None:
    rng = np.random.default_rng(1)
    residuals, noise = rng.normal(size=(4, 5)), rng.uniform(0.1, 0.3, 5)
    groups = ["a", "a", "b", "a", "b"]
    posterior = infer(residuals, noise, groups)
    same = np.array([[one == other for one in groups] for other in groups])
    for n in (0, 100, 255):
        tau, omega = posterior.errors[n]
        covariance = np.diag(noise**2 + tau**2) + omega**2 * same
        exact = multivariate_normal(cov=covariance).logpdf(residuals)
        assert posterior.logs[:, n] == pytest.approx(exact, rel=1e-9)


def test_errors_of_the_model_are_recovered() -> None:
    """100 groups of four cells: the grid has steps of a factor of 1.4."""
    rng = np.random.default_rng(2)
    tau, omega = 0.1, 0.3
    shared = np.repeat(rng.normal(0, omega, 100), 4)
    right = shared + rng.normal(0, tau, 400)
    posterior = infer(
        np.stack([right, right + 0.5]), np.zeros(400), np.repeat(range(100), 4).astype(str).tolist()
    )
    assert posterior.weights[0] > 0.999
    assert posterior.model_errors == pytest.approx((tau, omega), rel=0.25)


def test_intervals_cover_as_often_as_they_say() -> None:
    """Of 400 cells set aside 360 are expected in 90 % intervals; the binomial deviation is 6."""
    rng = np.random.default_rng(3)
    residuals = rng.normal(0, 0.2, (1, 800))
    noise = np.full(800, 0.05)
    posterior = infer(residuals[:, :400], noise[:400])
    assert 340 <= posterior.covered(residuals[:, 400:], noise[400:]) <= 380


def test_a_sentence_that_is_not_kept_lowers_the_weight() -> None:
    logs = of_words(np.array([[True, True, True], [True, True, False], [False, False, False]]))
    assert logs[0] > logs[1] > logs[2]
    posterior = joined(infer(np.zeros((3, 2)), np.full(2, 0.1)), logs)
    assert posterior.weights == pytest.approx(np.exp(logs) / np.exp(logs).sum())


def test_evidence_is_the_mean_over_the_errors() -> None:
    posterior = infer(np.array([[0.1, -0.2]]), np.full(2, 0.1))
    assert evidence_of(posterior) == pytest.approx(np.log(np.exp(posterior.logs).mean(axis=1)))


def test_a_fifth_is_set_aside_by_the_seed_alone() -> None:
    assert held_out(240, 2001).sum() == 48
    assert (held_out(240, 2001) == held_out(240, 2001)).all()
    assert (held_out(240, 2001) != held_out(240, 2002)).any()
