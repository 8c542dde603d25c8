"""Vegas and FAST rest with alpha packets in the queue."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import (
    FAST,
    Vegas,
)


def test_rest_without_loss():
    """Vegas and FAST keep alpha packets in the queue; Vegas' last step is up to 1/16 of a packet."""
    C, R, p = 2000.0, 0.04, np.array([1e-10, 1e-7, 1e-5])
    fast = FAST(alpha=50.0).cycle(p, R, C)
    np.testing.assert_allclose(fast.peak_window, C * R + 50.0, rtol=1e-9)
    assert fast.mean_window[0] == pytest.approx(C * R + 50.0, rel=1e-6)
    vegas, W = Vegas().cycle(p, R, C), C * R + 2.0
    assert ((vegas.peak_window >= W) & (vegas.peak_window <= W + 1 / 16)).all()
    climb = R * (C * R - W / 2) - ((C * R) ** 2 - (W / 2) ** 2) / (2 * C)
    np.testing.assert_allclose(vegas.rate, 1 / (p * climb + 1 / C), rtol=1e-3)


def test_alpha_and_beta_are_compared() -> None:
    with pytest.raises(ValueError, match=r"^beta = 4: .*; alpha <= beta"):
        Vegas(alpha=5.0)
