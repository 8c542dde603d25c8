"""Weights of settings: likelihoods, what is recorded, and marginals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from validation import cases
from validation.inference.likelihoods import (
    evidence_of,
    held_out,
    infer,
    joined,
    of_words,
)
from validation.inference.parameters import Choice, Range
from validation.inference.recording import (
    CASES,
    CIRCULAR,
    PAPERS,
    differences,
    infer_paper,
    recorded,
    recorded_parameters,
    sentence,
)
from validation.inference.results import Inference, Weight, marginals, percent
from validation.report.pages import paper_page

# Weights of settings: densities, errors of the model that are recovered, coverage.


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


# The recorded weights are those that the bundled runs give.

QUICK = "zheng2002"
SLOW = [pytest.param(paper, marks=pytest.mark.slow) for paper in PAPERS if paper != QUICK]


@pytest.mark.parametrize("paper", [QUICK, *SLOW])
def test_recorded_weights_are_found_again(paper: str) -> None:
    found = infer_paper(paper)
    assert differences(found) == []
    changed = replace(found.claims[0], every=1.0 - round(found.claims[0].every))
    assert differences(replace(found, claims=(changed,))) == [changed.claim]
    new = Weight("X01", {"all": 1.0}, 1.0, 1.0)
    assert differences(replace(found, claims=(new,))) == ["X01"]


def test_a_claim_has_one_sentence() -> None:
    assert sentence("M01") == ""
    said = sentence("Z06")
    assert said.startswith("the claim holds in ")
    assert "of the settings compatible with them" in said
    assert set(recorded()["Z06"].statements) == {"share", "smooth"}


def test_claims_on_the_numbers_used_say_so() -> None:
    """K03 is about the shares that the settings are inferred from; zheng2002 leaves a claim's own numbers out."""
    assert "not independent" in sentence("K03")
    assert "another slide" in sentence("K06")
    assert "not independent" not in sentence("Z06")
    assert set(CIRCULAR) <= set(recorded())


def test_every_paper_names_its_runs() -> None:
    names = {case for own in CASES.values() for case in own}
    assert set(CASES) == set(PAPERS)
    assert names <= set(cases())


def test_pages_of_papers_have_the_parameters_and_others_no_section() -> None:
    parameters = recorded_parameters("kaneko2007")
    assert len(parameters) == 19
    page = paper_page("kaneko2007", [])
    assert all(each.after in page for each in parameters)
    assert "Unstated parameters" not in paper_page("takano2006", [])


def test_unknown_papers_are_refused() -> None:
    with pytest.raises(ValueError, match="paper = 'takano2006': "):
        infer_paper("takano2006")


# Marginals of parameters, percentages, and what counts as compatible.


def test_marginals_are_weights_of_alternatives_and_weighted_quantiles() -> None:
    parameters = [Choice("kind", ("a", "b"), "", "which"), Range("x", 1, 100, "s", "time")]
    settings = [{"kind": "a" if n < 50 else "b", "x": float(n + 1)} for n in range(100)]
    kind, x = marginals(parameters, settings, np.where(np.arange(100) < 50, 0.015, 0.005))
    assert kind.after == "a: 75 %, b: 25 %"
    assert x.after == "34 (4 to 90)"
    assert (kind.before, x.before) == ("a, b", "1 to 100")


@pytest.mark.parametrize(
    ("part", "words"), [(0.0, "less than 1 %"), (0.5, "50 %"), (1.0, "more than 99 %")]
)
def test_percentages_do_not_pretend_to_certainty(part: float, words: str) -> None:
    assert percent(part) == words


def test_compatible_is_within_twice_the_noise() -> None:
    found = Inference("x", 1, 1, 1, 0, 0, 1.0, (0.1, 0.0), 0.19, 0.1, (), ())
    assert found.compatible
    assert not replace(found, best=0.21).compatible
