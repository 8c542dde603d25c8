"""CUBIC between its cubic and the Reno-friendly region."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import (
    CUBIC,
    simulate_rule,
)


@pytest.mark.parametrize("rtt", [pytest.param(0.01, marks=pytest.mark.slow), 0.1])
def test_cubic_between_cubic_and_reno_is_the_simulation(rtt):
    """Where a cycle has parts of both kinds, RFC 9438's larger of two forms is up to 4 % low."""
    first, last = 0.463 * rtt**3, 13.6 * rtt**3
    for p in np.geomspace(1.2 * first, 0.8 * last, 4):
        run = simulate_rule(CUBIC(), p, rtt, events=400)
        assert CUBIC().rate(p, rtt) == pytest.approx(run.rate, rel=1e-3)
        assert CUBIC().peak_window(p, rtt) == pytest.approx(run.peak_window, rel=5e-3)
