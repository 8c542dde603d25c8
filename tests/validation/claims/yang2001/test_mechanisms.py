"""Differences of classes between mechanisms."""

from __future__ import annotations

import pytest

from validation.claims.yang2001.mechanisms import between
from validation.claims.yang2001.tables import CLASSES, DISCIPLINES, seen


def test_differences_are_relative_to_the_first_environment() -> None:
    """TCP1 under FCFS, the first of all, by the means of the runs."""
    found = between("cc/cc", "ts/ts", "cc", "ts")
    assert len(found) == len(DISCIPLINES) * len(CLASSES)
    cc, ts = seen("cc/cc", "FCFS")["cc", "TCP1"], seen("ts/ts", "FCFS")["ts", "TCP1"]
    assert found[0].value == pytest.approx((ts / cc - 1.0).mean())
