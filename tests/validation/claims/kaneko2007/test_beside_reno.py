"""One flow beside a Reno flow."""

from __future__ import annotations

import pytest

from validation.claims.kaneko2007.beside_reno import _equal, share_ratio
from validation.statistics import Estimate


@pytest.mark.parametrize(("buffer", "ratio"), [(1.0, 1.0), (0.5, 5 / 3), (2.0, 2 / 3)])
def test_the_share_is_that_of_the_decrease_at_a_full_queue(buffer: float, ratio: float) -> None:
    """(2 - b)/(3 b) with b = x/(1 + x): one at a bandwidth-delay product, as the slide has it."""
    assert share_ratio(buffer) == pytest.approx(ratio)


def test_deviations_from_half_are_relative() -> None:
    (found,) = _equal({"fusion": Estimate(0.55, 0.01)}, ("fusion",))
    assert (found.value, found.error) == pytest.approx((0.1, 0.02))
