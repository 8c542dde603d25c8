"""Krylov methods with a cycle of multigrid as preconditioner, and their parameters."""

from __future__ import annotations

import numpy as np
import pytest

import markov
import markov.multigrid.linear_multigrid
from hopflow import Status
from markov import GTH, GaussSeidel, Krylov, MarkovChain, PauseTandem, stationary


@pytest.mark.parametrize("solver", ["gmres", "bicgstab"])
def test_a_cycle_preconditions(solver):
    """As many Krylov iterations as cycles alone, give or take; without it, hundreds of sweeps."""
    chain = MarkovChain(PauseTandem(buffers=(20, 40), high_threshold=30))
    method = Krylov(preconditioner="multilevel", solver=solver, max_iterations=60)
    answer = stationary(chain, method)
    assert answer.status is Status.CONVERGED
    assert answer.pi.min() >= 0.0
    assert answer.smallest > 0.0
    assert answer.iterations <= 60
    assert stationary(chain, GaussSeidel()).iterations > 100
    truth = stationary(chain, GTH())
    assert 0.5 * np.abs(answer.pi - truth.pi).sum() <= answer.error_bound + truth.error_bound


def test_levels_that_cannot_be_frozen_are_left_to_sweeps(monkeypatch):
    def broken(self):
        return np.full(self.n, np.nan)

    monkeypatch.setattr(markov.multigrid.linear_multigrid.LinearMultigrid, "cycle", broken)
    answer = stationary(PauseTandem(), Krylov(preconditioner="multilevel"))
    assert answer.status.ok
    few = Krylov(preconditioner="multilevel", max_iterations=1)
    few = stationary(PauseTandem(), few, on_failure="return")
    assert few.status is Status.INACCURATE
    assert few.pi.min() >= 0.0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"solver": "cg"}, r"^solver = 'cg': must be one of 'gmres', 'bicgstab'"),
        ({"preconditioner": "lu"}, r"^preconditioner = 'lu': must be one of 'ilu', 'mult"),
        ({"drop_tolerance": -1.0}, r"^drop_tolerance = -1: must be"),
        ({"fill_factor": 0.5}, r"^fill_factor = 0.5: must be"),
    ],
)
def test_bad_parameters_of_krylov(changes, said):
    with pytest.raises(ValueError, match=said):
        Krylov(**changes)
