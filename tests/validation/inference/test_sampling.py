"""Points drawn from a likelihood: moments of a normal one, two modes, flat directions."""

from __future__ import annotations

import numpy as np
import pytest

from validation.inference.sampling import tempered


def test_moments_of_a_narrow_normal_density() -> None:
    """Deviations of .02 and .05 in two of six dimensions; the mean of 600 points is known within .003."""

    def logs(u: np.ndarray) -> np.ndarray:
        found: np.ndarray = -0.5 * (((u[:, 0] - 0.7) / 0.02) ** 2 + ((u[:, 1] - 0.4) / 0.05) ** 2)
        return found

    points = tempered(logs, 6, 600, seed=1)
    assert points.shape == (600, 6)
    assert points[:, :2].mean(axis=0) == pytest.approx([0.7, 0.4], abs=0.01)
    assert points[:, :2].std(axis=0) == pytest.approx([0.02, 0.05], rel=0.25)
    assert points[:, 2:].std(axis=0) == pytest.approx(np.full(4, 12**-0.5), rel=0.15)
    assert ((points >= 0.0) & (points <= 1.0)).all()


def test_both_modes_are_found_with_their_weights() -> None:
    """Two normal modes, one of three times the weight: a quarter of 600 points, deviation .02 and resampling."""

    def logs(u: np.ndarray) -> np.ndarray:
        low, high = (np.exp(-0.5 * ((u[:, 0] - at) / 0.04) ** 2) for at in (0.2, 0.8))
        found: np.ndarray = np.log(0.75 * low + 0.25 * high + 1e-300)
        return found

    points = tempered(logs, 3, 600, seed=2)
    assert (points[:, 0] > 0.5).mean() == pytest.approx(0.25, abs=0.1)
