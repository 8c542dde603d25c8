"""The continuous limits: coefficients of a scenario, refused parameters."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from dfcmodel import DiffusionEquation, Empty, FeedbackEquation, Lines, evolve, takano2006
from dfcmodel.theory.analytic import gaussian


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
