"""H-TCP against its own increase, integrated."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import HTCP


@pytest.mark.parametrize("p", [1e-6, 1e-4, 1e-3])
def test_the_cycle_is_the_integral_of_alpha(p):
    """Without a queue beta is 0.8: the window grows by 0.4 (1 + 10 (t-1) + (t-1)^2/4) per round trip."""
    rtt = 0.1
    cycle = HTCP().cycle(p, rtt)
    t = np.linspace(0.0, float(cycle.duration), 200_001)
    late = np.maximum(0.0, t - 1.0)
    alpha = 0.4 * (1.0 + 10.0 * late + 0.25 * late**2)
    grown = np.concatenate([[0.0], np.cumsum(0.5 * (alpha[1:] + alpha[:-1]) * np.diff(t))]) / rtt
    window = 0.8 * float(cycle.peak_window) + grown
    assert window[-1] == pytest.approx(float(cycle.peak_window), rel=2e-3)
    assert np.trapezoid(window, t) / rtt == pytest.approx(1 / p, rel=2e-3)
