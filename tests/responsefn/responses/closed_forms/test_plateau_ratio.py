"""The root of CUBIC's mixed cycle against its equation in symbols."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from responsefn.responses.closed_forms.cubic_region import PlateauRatio, ends
from responsefn.responses.closed_forms.plateau_ratio import solve_plateau


def packets(x, beta):
    """Area of the cycle in units of C K_0^4/R, by quadrature: cubic to the meeting, then the line."""
    met = (3 * x - np.sqrt(4 - 3 * x**2)) / 2
    kept = beta / (1 - beta)
    t = np.linspace(0.0, met, 20_001)
    cubic = np.trapezoid((t - x) ** 3 + x**3 / (1 - beta), t)
    t = np.linspace(met, x**3, 3)
    return cubic + np.trapezoid(kept * x**3 + t, t)


@pytest.mark.parametrize("beta", [0.5, 0.7, 0.85])
def test_the_root_gives_the_packets_of_the_cycle(beta):
    low, high = (float(end) for end in ends(sp.Float(beta)))
    for u in np.linspace(low * (1 + 1e-9), high * (1 - 1e-9), 15):
        x = solve_plateau(u, beta)
        assert 1 / np.sqrt(3) - 1e-9 < x < 1 + 1e-9
        assert packets(x, beta) == pytest.approx(u, rel=1e-7)


def test_derivatives_are_differences_of_the_root():
    u, beta = sp.symbols("u beta", positive=True)
    h = 1e-6
    at = {u: 1.0, beta: 0.7}
    for n, symbol in enumerate((u, beta)):
        slope = PlateauRatio(u, beta).diff(symbol).subs(at)
        slope = slope.replace(
            PlateauRatio, lambda *args: sp.Float(solve_plateau(*map(float, args)))
        )
        up, down = ([1.0, 0.7] for _ in range(2))
        up[n], down[n] = up[n] + h, down[n] - h
        difference = (solve_plateau(*up) - solve_plateau(*down)) / (2 * h)
        assert float(slope) == pytest.approx(difference, rel=1e-7)
