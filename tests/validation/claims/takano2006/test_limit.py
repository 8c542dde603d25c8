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


NODES = np.array([16.0, 32.0, 64.0, 128.0, 256.0])
SECOND_ORDER, CONSTANT = 50.0 / NODES**2, np.full(5, 0.05)


@pytest.mark.parametrize(
    ("square", "linear", "expected"),
    [
        (SECOND_ORDER, CONSTANT, (Verdict.HOLDS, Verdict.CONTRADICTED)),
        (CONSTANT, SECOND_ORDER, (Verdict.CONTRADICTED, Verdict.HOLDS)),
        (SECOND_ORDER * 2.0, SECOND_ORDER * 2.0, (Verdict.CONTRADICTED, Verdict.CONTRADICTED)),
        (50.0 / NODES**1.85 / 256**0.15, 50.0 / NODES**1.95 / 256**0.05, (Verdict.CONTRADICTED, Verdict.HOLDS)),
    ],
    ids=["square", "linear", "too large an error", "order 1.85 and 1.95"],
)  # fmt: skip
def test_errors_of_second_order_below_a_thousandth_converge(square, linear, expected) -> None:
    """Order 2 to within 0.1 and an error below 1e-3 with 256 nodes; each reading by its own errors."""
    found = limit.Refinement(NODES, square, linear, CONSTANT)
    (other,) = limit.readings(found).values()
    assert (limit.judge(found)["converges"].model, other["converges"].model) == expected


def test_only_a_delay_like_the_square_of_the_distance_has_the_limit() -> None:
    """With d as h the diffusion coefficient D h^2 / d vanishes as h, and eq. (7) is no limit."""
    found = limit.measure.measure()
    assert limit.judge(found)["converges"].model is Verdict.HOLDS
    (other,) = limit.readings(found).values()
    assert other["converges"].model is Verdict.CONTRADICTED
    assert found.order_vanished == pytest.approx(1.0, abs=0.2)  # the remainder is of order h
