"""The view of a shared headroom pool against its code."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel.lossless import PausedGroups, overflow, worst_demand
from tests.validation.explore.test_views import drawn
from validation.explore.shared_pool import VIEW


@pytest.mark.parametrize(("blocked", "verdict"), [("1us", "cannot overflow"), ("1ms", "overflows")])
def test_the_finding_and_the_curve_are_those_of_the_code(blocked: str, verdict: str) -> None:
    found, names = drawn(VIEW, ports="4", classes="1", size="300 kB", blocked=blocked)
    worst, risk = (
        worst_demand(names["pool"], blocked=blocked),
        overflow(names["pool"], PausedGroups(0.01)),
    )
    assert f"for {blocked}, the pool {verdict}: {worst.upper / 1e6:,.3g} MB" in found.finding
    assert f"{risk.least_size(1e-9) / 1e6:,.3g} MB are exceeded" in found.finding
    (line,) = found.charts[0].lines
    np.testing.assert_allclose(10.0**line.y, risk.survival(line.x * 1e6), rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "alpha"), [("1/8", 0.125), ("1/3", 1 / 3), ("0.3", 0.3), ("4", 4.0)]
)
def test_thresholds_are_fractions_or_numbers(text: str, alpha: float) -> None:
    assert VIEW.values(alpha=text)["alpha"] == alpha
