"""The decrease RTTmin/RTT."""

from __future__ import annotations

import pytest

from validation.claims.kaneko2007.decreases import share_ratio


@pytest.mark.parametrize(("buffer", "ratio"), [(1.0, 1.0), (0.5, 5 / 3), (2.0, 2 / 3)])
def test_the_share_is_that_of_the_decrease_at_a_full_queue(buffer: float, ratio: float) -> None:
    """(2 - b)/(3 b) with b = x/(1 + x): one at a bandwidth-delay product, as the slide has it."""
    assert share_ratio(buffer) == pytest.approx(ratio)
