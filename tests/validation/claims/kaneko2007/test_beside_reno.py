"""One flow beside a Reno flow."""

from __future__ import annotations

import pytest

from validation.claims.kaneko2007.beside_reno import _equal
from validation.statistics import Estimate


def test_deviations_from_half_are_relative() -> None:
    (found,) = _equal({"fusion": Estimate(0.55, 0.01)}, ("fusion",))
    assert (found.value, found.error) == pytest.approx((0.1, 0.02))
