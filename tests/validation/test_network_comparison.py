"""What is compared of the fluid's runs and of those in packets."""

from __future__ import annotations

import numpy as np
import pytest

from validation import evidence, network_comparison, network_runs
from validation.network_runs import Runs
from validation.unseen_networks import NETWORKS


def test_a_fluid_equal_to_the_packets_agrees(monkeypatch) -> None:
    table = evidence.table(network_runs.CASE)
    monkeypatch.setattr(
        network_comparison, "runs_of", lambda network, _: network_runs.recorded(network, table)
    )
    found = network_comparison.compare([NETWORKS["chain-8"], NETWORKS["dumbbell-2"]])
    assert found.mean_error == found.losses == found.first == 0.0
    assert found.chance == 0.0
    assert found.spread == 1.0
    assert found.inside.all()


def test_errors_are_those_of_paired_runs(monkeypatch) -> None:
    """A fluid with a constant excess has a difference without error."""
    table = evidence.table(network_runs.CASE)

    def shifted(network, _):  # type: ignore[no-untyped-def]
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

    def noisy(network, _):  # type: ignore[no-untyped-def]
        runs = network_runs.recorded(network, table)
        return Runs(runs.shares + noise, runs.lost, runs.first)

    monkeypatch.setattr(network_comparison, "runs_of", noisy)
    found = network_comparison.compare([NETWORKS["chain-8"]])
    assert found.chance == pytest.approx(0.025 * np.sqrt(2.0 / np.pi))
    assert found.mean_error == pytest.approx(0.0, abs=1e-12)
