"""Two kinds of flow, in growing numbers and at growing distances."""

from __future__ import annotations

import itertools

import pytest

from validation.claims.zheng2002.more_flows import QUARTER, TCP, TFRC, by_delay, gap, modelled


def test_kinds_with_one_law_have_no_gap_in_the_model() -> None:
    assert {e.value for e in modelled(QUARTER, TCP, [2, 16]).values()} == {0.0}


def test_gaps_change_sign_with_the_order_of_the_kinds() -> None:
    one, other = modelled(TFRC, TCP, [8])[8], modelled(TCP, TFRC, [8])[8]
    assert one.value == pytest.approx(-other.value, abs=2e-6)


def test_the_gap_of_runs_is_the_mean_logarithm_over_the_seeds() -> None:
    found = gap("zheng2002/friendliness-15", TFRC, TCP)
    assert set(found) >= {2, 16, 64}
    assert all(e.error > 0 for e in found.values())


def test_rates_fall_as_the_inverse_of_the_round_trip_time() -> None:
    """All flows see one loss rate and one wait: rates are as 1/RTT where timeouts are alike."""
    rates = by_delay(TFRC, TCP)[TCP]
    assert all(a > b for a, b in itertools.pairwise(rates))
