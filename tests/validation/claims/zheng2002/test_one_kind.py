"""Flows of one kind behind RED."""

from __future__ import annotations

from validation.claims.zheng2002.one_kind import LOW_THRESHOLD_CASE, ONE_KIND, _grows, _losses


def test_loss_of_the_fixed_point_grows_with_the_flows_and_with_lower_thresholds() -> None:
    high, low = (_losses(case, "TFRC", [10, 40, 70]) for case in (ONE_KIND, LOW_THRESHOLD_CASE))
    assert all(e.value > 0 for e in _grows(high))
    assert all(b > a for a, b in zip(high, low, strict=True))
