"""Krylov methods and others that iterate."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

import markov
import markov.multigrid.linear_multigrid
from hopflow import Status
from markov import GTH, GaussSeidel, Krylov, MarkovChain, Multilevel, PauseTandem, Power, stationary

# Krylov methods with a cycle of multigrid as preconditioner, and their parameters.


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


# Iteration on the jump chain: residuals on the way, and sweeps without Numba.


@pytest.mark.parametrize("method", [GaussSeidel(), Krylov(), Multilevel(), Power()], ids=lambda m: type(m).__name__)
def test_methods_report_their_residuals(method):
    answer = stationary(PauseTandem(), method)
    iterations, residuals = zip(*answer.history, strict=True)
    assert list(iterations) == sorted(iterations)
    assert residuals[-1] <= method.tolerance
    # the residual of the answer, up to the rounding of its normalization
    assert residuals[-1] == pytest.approx(answer.residual, rel=1e-2, abs=1e-15)
    assert answer.plot_convergence().lines


# Gauss-Seidel


def sweep(Q, order, iterations):
    """Return the distribution after Gauss-Seidel sweeps forward and backward through the states in an order."""
    exits = -np.diag(Q)
    jumps = Q / exits[:, None]
    np.fill_diagonal(jumps, 0.0)
    flow = exits / exits.sum()
    for _ in range(iterations):
        for state in (*order, *order[::-1]):
            flow[state] = flow @ jumps[:, state]
        flow = flow / flow.sum()
    pi = flow / exits
    return pi / pi.sum()


@pytest.mark.parametrize("iterations", [1, 3])
def test_sweeps_visit_the_states_in_their_ordering(iterations):
    """Before convergence each ordering has a distribution of its own; that of the states' numbers is computed apart."""
    draw = np.random.default_rng(0)
    Q = draw.uniform(size=(12, 12)) * (draw.uniform(size=(12, 12)) < 0.3)
    Q += np.roll(np.eye(12), 1, axis=1)
    np.fill_diagonal(Q, 0.0)
    Q -= np.diag(Q.sum(axis=1))
    orders = {
        "natural": np.arange(12),
        "cuthill-mckee": reverse_cuthill_mckee(sp.csr_matrix(Q - np.diag(np.diag(Q))).T.tocsr(), symmetric_mode=False),
        "flow": np.argsort(sweep(Q, np.arange(12), 10) * np.diag(Q), kind="stable"),
    }
    for name, order in orders.items():
        method = GaussSeidel(ordering=name, max_iterations=iterations)
        answer = stationary(Q, method, on_failure="return")
        np.testing.assert_allclose(answer.pi, sweep(Q, order, iterations), rtol=1e-12)
        assert np.abs(answer.pi - sweep(Q, order[::-1], iterations)).max() > 1e-5
