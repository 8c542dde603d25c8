"""Filters and thresholds of properties."""

from __future__ import annotations

from typing import Any

import pytest


def test_thresholds_give_truth_values_and_filters_choose_states(queue: Any) -> None:
    assert queue.property('S<0.1 [ "full" ]').value is True
    assert queue.property("P>=1 [ F n=10 ]").value is True
    assert queue.property("filter(count, P>0.5 [ X n=5 ])").value == 2 - 1
    assert queue.property("filter(max, P=? [ X n=5 ])").value == pytest.approx(10 / 17)
