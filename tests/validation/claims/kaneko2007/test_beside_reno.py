"""One flow beside a Reno flow."""

from __future__ import annotations

import pytest

from validation.claims.kaneko2007.beside_reno import _deviation
from validation.statistics import Estimate


def test_deviations_from_half_are_relative() -> None:
    (found,) = _deviation(Estimate(0.55, 0.01))
    assert (found.value, found.error) == pytest.approx((0.1, 0.02))
