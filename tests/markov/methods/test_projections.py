"""GMRES and BiCGSTAB against dense solutions."""

from __future__ import annotations

import numpy as np
import pytest

import markov.methods.projections
from markov.computing.vectors import norm
from markov.methods.projections import bicgstab, gmres

BOTH = pytest.mark.parametrize("project", [gmres, bicgstab])
N = 90


def equations(seed=0):
    """Return an M-matrix like those of chains, not symmetric, and a right-hand side."""
    rng = np.random.default_rng(seed)
    rates = rng.random((N, N)) * (rng.random((N, N)) < 0.1)
    matrix = np.diag(rates.sum(axis=1) + 0.05 * rng.random(N)) - rates
    return matrix, rng.standard_normal(N)


@BOTH
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("restart", [15, 60])
def test_solution(project, seed, restart, monkeypatch):
    monkeypatch.setattr(markov.methods.projections, "RESTART", restart)
    matrix, right = equations(seed)
    scale = np.diag(matrix)
    x, steps = project(matrix, right, lambda r: r / scale, 1e-10, 2000)
    assert 0 < steps < 2000
    assert norm(right - matrix @ x) <= 1e-9 * norm(right)  # what it recurs on drifts by rounding
    np.testing.assert_allclose(x, np.linalg.solve(matrix, right), rtol=1e-6, atol=1e-6)


def test_gmres_ends_with_the_dimension():
    matrix, right = equations()
    few = matrix[:12, :12] + np.eye(12)
    x, steps = gmres(few, right[:12], lambda r: r, 1e-12, 1000)
    assert steps <= 12
    np.testing.assert_allclose(x, np.linalg.solve(few, right[:12]), rtol=1e-10)


@BOTH
def test_exact_preconditioner(project):
    matrix, right = equations()
    x, steps = project(matrix, right, lambda r: np.linalg.solve(matrix, r), 1e-10, 100)
    assert steps == 1
    np.testing.assert_allclose(matrix @ x, right, rtol=1e-10)


@BOTH
def test_most_steps(project):
    matrix, right = equations()
    x, steps = project(matrix, right, lambda r: r, 1e-14, 7)
    assert steps == 7
    assert 1e-14 < norm(right - matrix @ x) / norm(right) < np.inf


@BOTH
def test_what_is_not_a_number_ends(project):
    matrix, right = equations()
    with np.errstate(all="ignore"):
        x, steps = project(matrix, right, lambda r: r * np.nan, 1e-10, 50)
    assert steps <= 2
    assert not np.any(np.isfinite(x))
    nothing, steps = project(matrix, np.zeros(N), lambda r: r, 1e-10, 50)
    assert steps == 0
    assert not nothing.any()
