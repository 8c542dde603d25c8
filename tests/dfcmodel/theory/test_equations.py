"""Equations of the continuous limits, their exact solutions, and arrays on rings."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from dfcmodel import takano2006
from dfcmodel.theory import DiffusionEquation, Empty, FeedbackEquation, Lines, bare_law, evolve
from dfcmodel.theory.analytic import cosine_series, gaussian
from dfcmodel.theory.ring_arrays import TILE, advance_rings

# The continuous limits: coefficients of a scenario, refused parameters.


def bump(x):
    return 1 + 0.5 * np.cos(np.pi * x) + np.exp(-40 * (x - 0.3) ** 2)


def test_scenario_gives_the_coefficients_of_its_links() -> None:
    bar = DiffusionEquation.of(takano2006("1"), lambda x: 0 * x)
    assert bar.length == 29
    np.testing.assert_allclose(bar.coefficient(jnp.array([0.0, 0.5, 28.9])), 0.1 / 1e-4)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: DiffusionEquation(bump, 0.0), "coefficient"),
        (lambda: DiffusionEquation(bump, 1.0, length=-1), "length"),
        (lambda: FeedbackEquation(bump, 1.2), "diffusion"),
        (lambda: Empty(0.0), "distance"),
        (lambda: Lines(2), "cells"),
        (lambda: evolve(DiffusionEquation(bump, 1.0), [1.0, 0.5]), "times"),
        (lambda: evolve(DiffusionEquation(bump, 1.0), []), "times has shape"),
        (lambda: gaussian(0.0, 0.0, 1.0), "width"),
    ],
)
def test_bad_input_names_the_parameter(make, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        make()


# Exact solutions against each other.


def test_gaussian_and_cosine_series_agree_far_from_the_ends() -> None:
    """1e-10: the normal density at the ends is exp(-78)."""
    narrow = {"packets": 3.0, "centre": 0.5, "width": 0.03}
    series = cosine_series(lambda x: gaussian(x, 0.0, 0.01, **narrow), 0.01)
    x = np.linspace(0, 1, 101)
    np.testing.assert_allclose(series(x, 0.05), gaussian(x, 0.05, 0.01, **narrow), atol=1e-10)


# The compiled law on rings against the law itself.


@pytest.mark.parametrize(("nodes", "threads"), [(20, 1), (20, 3), (TILE + 6, 1), (3 * TILE, 2)])
def test_rings_follow_the_law(nodes: int, threads: int) -> None:
    """In one tile and in several, whose last one is short or whole; 18 periods are two turns."""
    n = np.random.default_rng(3).uniform(0, 10, (5, nodes))
    expected = [bare_law(row, 0.1, 30, base_rate=5.0)[-1] for row in n]
    J = np.full_like(n, 5.0)
    w = J - 0.1 * n
    advance_rings(n, J, w, 0.1, 12, threads=threads)
    advance_rings(n, J, w, 0.1, 18, threads=threads)
    np.testing.assert_allclose(n, expected, rtol=1e-12)


def test_rings_refuse_what_is_not_alike() -> None:
    n = np.ones((2, 5))
    with pytest.raises(ValueError, match="sent of shape"):
        advance_rings(n, n[:1], n.copy(), 0.1, 1)
    with pytest.raises(ValueError, match="told of shape"):
        advance_rings(n, n.copy(), np.ones((5, 2)).T, 0.1, 1)
    with pytest.raises(ValueError, match="diffusion"):
        advance_rings(n, n.copy(), n.copy(), 0.0, 1)
