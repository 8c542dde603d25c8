"""Illinois has two responses where Reno's own cycle is within its low region."""

from __future__ import annotations

import pytest

from responsefn import (
    Illinois,
    Reno,
)


def test_two_responses_are_listed():
    """Illinois above p = 0.0119: below 15 packets it is Reno, whose cycle stays there."""
    high, low = Illinois().attractors(0.02, 0.1)
    assert high == pytest.approx(Illinois().rate(0.02, 0.1), rel=1e-3)
    assert low == pytest.approx(Reno().rate(0.02, 0.1), rel=0.002)
    assert len(Illinois().attractors(0.005, 0.1)) == 1
    assert len(Reno().attractors(0.02, 0.1)) == 1
