"""What is compared of the fluid's runs and of those in packets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from validation import evidence, network_comparison, network_runs
from validation.network_comparison import Differences, criteria, model_error
from validation.network_runs import Runs
from validation.unseen_networks import NETWORKS


def test_a_fluid_equal_to_the_packets_agrees(monkeypatch) -> None:
    table = evidence.table(network_runs.CASE)
    monkeypatch.setattr(
        network_comparison, "runs_of", lambda network, *_: network_runs.recorded(network, table)
    )
    found = network_comparison.compare([NETWORKS["chain-8"], NETWORKS["dumbbell-2"]])
    assert found.mean_error == found.losses == found.first == 0.0
    assert found.chance == 0.0
    assert found.spread == 1.0
    assert found.inside.all()


def test_errors_are_those_of_paired_runs(monkeypatch) -> None:
    """A fluid with a constant excess has a difference without error."""
    table = evidence.table(network_runs.CASE)

    def shifted(network, *_):  # type: ignore[no-untyped-def]
        runs = network_runs.recorded(network, table)
        return Runs(runs.shares + 0.03, 1.1 * runs.lost, 0.98 * runs.first)

    monkeypatch.setattr(network_comparison, "runs_of", shifted)
    found = network_comparison.compare([NETWORKS["chain-8"]])
    assert found.mean_error == pytest.approx(0.03)
    assert found.beyond == pytest.approx(0.03)
    assert found.losses == pytest.approx(0.1)
    assert found.first == pytest.approx(0.02)


def test_chance_makes_the_mean_of_a_normal_deviation(monkeypatch) -> None:
    """Differences of standard deviation s over 16 seeds: on average s / 4 times sqrt(2 / pi)."""
    noise = np.random.default_rng(0).normal(0.0, 0.1, (16, 2))
    noise = (noise - noise.mean(axis=0)) / noise.std(axis=0, ddof=1) * 0.1
    table = evidence.table(network_runs.CASE)

    def noisy(network, *_):  # type: ignore[no-untyped-def]
        runs = network_runs.recorded(network, table)
        return Runs(runs.shares + noise, runs.lost, runs.first)

    monkeypatch.setattr(network_comparison, "runs_of", noisy)
    found = network_comparison.compare([NETWORKS["chain-8"]])
    assert found.chance == pytest.approx(0.025 * np.sqrt(2.0 / np.pi))
    assert found.mean_error == pytest.approx(0.0, abs=1e-12)


def differences(values: object, error: float) -> Differences:
    """Return shares that differ by these values, each with the same error over the seeds."""
    shares = pd.DataFrame({"difference": values, "error": error, "spread": 1.0})
    return Differences(shares, pd.DataFrame([{"ratio": 1.0, "later": 0.0}]))


def test_the_error_of_the_model_is_what_intervals_lack() -> None:
    """Of 39 shares the 38th is taken; without an error over the seeds it is the difference itself."""
    values = np.linspace(-0.039, -0.001, 39)
    assert model_error(differences(values, 0.0)) == pytest.approx(0.038)
    half = float(student.ppf(0.975, 15)) * 0.01
    assert model_error(differences(values, 0.01)) == pytest.approx(np.sqrt(0.038**2 - half**2))
    assert model_error(differences(values, 0.02)) == 0.0, "covered by the seeds"
    assert model_error(differences(values[:18], 0.0)) == np.inf, "too few for 95 %"


def test_with_the_error_of_the_model_other_shares_are_covered_as_often_as_they_say() -> None:
    """Whatever the distribution: Laplace's here, with an error over the seeds of a third of it."""
    rng = np.random.default_rng(5)
    covered = []
    for _ in range(200):
        both = rng.laplace(0.0, 0.02, 120) + rng.normal(0.0, 0.01, 120)
        old, new = differences(both[:80], 0.01), differences(both[80:], 0.01)
        covered.append(new.covered(model_error(old)).mean())
        assert new.covered(0.0).mean() < 0.9
    assert np.mean(covered) == pytest.approx(0.95, abs=0.01)


def test_each_criterion_has_its_limit() -> None:
    good = differences(np.resize([0.019, -0.019], 40), 0.01)
    assert all(criteria(good).values())
    assert not criteria(good, shares=0.018)["shares"]
    far = differences(np.resize([0.019, -0.019], 40), 0.001)
    assert not criteria(far)["interval"]
    assert criteria(far, 0.02)["interval"], "with an error of the model"
    assert not criteria(differences([0.081], 0.01))["worst"]
    assert criteria(differences([0.079], 0.01))["worst"]
