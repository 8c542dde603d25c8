"""Exponents of RTT unfairness against published ones."""

from __future__ import annotations

import pytest

from responsefn import (
    AIMD,
    CTCP,
    CUBIC,
    rtt_unfairness,
)


def test_unfairness_exponents():
    """Xu et al. 2004, Sect. II: 2 for AIMD; for a window of c/p^d 1/(1-d)."""
    assert rtt_unfairness(AIMD(), 1e-5).synchronized == pytest.approx(2.0, rel=1e-6)
    assert rtt_unfairness(CTCP(), 1e-5).synchronized == pytest.approx(5.0, rel=1e-6)
    assert rtt_unfairness(
        CUBIC(friendly=0, form="published"), 1e-6
    ).same_loss_rate == pytest.approx(0.25, rel=1e-6)
