"""D02 fails where the limit is another."""

from __future__ import annotations

import numpy as np
import pytest

from validation.claims.takano2006 import limit
from validation.verdicts import Verdict


def test_another_limit_is_noticed(monkeypatch) -> None:
    def another(x, kappa, time):
        return 1 + 0.3 * np.cos(2 * np.pi * x) + 0 * kappa * time

    monkeypatch.setattr(limit, "density", another)
    assert limit.judge(limit.measure.measure())["converges"].model is Verdict.CONTRADICTED


def test_the_density_solves_the_diffusion_equation() -> None:
    """dn/dt = -dr/dx + kappa d2n/dx2 by central differences."""
    x, kappa, time, h = np.linspace(0, 1, 9), 0.01, 0.7, 1e-4
    n = lambda x, t: limit.density(x, kappa, t)
    rate = 0.2 * 2 * np.pi * np.cos(2 * np.pi * x)
    curvature = (n(x + h, time) - 2 * n(x, time) + n(x - h, time)) / h**2
    change = (n(x, time + h) - n(x, time - h)) / (2 * h)
    assert change == pytest.approx(-rate + kappa * curvature, abs=1e-4)
