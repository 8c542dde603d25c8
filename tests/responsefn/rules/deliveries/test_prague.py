"""Prague: its answer to marks and its growth at short round trips."""

from __future__ import annotations

import pytest

from responsefn import Delivery, Prague

RULE = Prague()
START = RULE.State()._replace(cwnd=100.0, ssthresh=50.0, alpha=0.4, marked=1.0)
SEEN = Delivery(*[0.0] * 15)._replace(time=1.0, rtt=0.05, acked=1.0, delivered=1.0)


@pytest.mark.parametrize(("rtt", "time"), [(0.05, 0.05), (0.005, 0.025)])
def test_a_mark_cuts_by_half_of_alpha_once_per_virtual_round_trip(rtt: float, time: float) -> None:
    """Of the round-trip time or 25 ms, the longer (prague_enter_cwr of tcp_prague.c)."""
    seen = SEEN._replace(marks=1.0, rtt=rtt)
    state = Prague.on_delivery(START._replace(next=9.0), RULE.params, seen)
    assert state.cwnd == pytest.approx(80.0)
    again = Prague.on_delivery(state, RULE.params, seen._replace(time=1.0 + 0.9 * time))
    assert again.cwnd == pytest.approx(80.0)
    later = Prague.on_delivery(state, RULE.params, seen._replace(time=1.0 + 1.1 * time))
    assert later.cwnd == pytest.approx(64.0)


@pytest.mark.parametrize(("rtt", "growth"), [(0.05, 1.0), (0.025, 1.0), (0.005, 0.04)])
def test_growth_is_that_of_the_virtual_round_trip(rtt: float, growth: float) -> None:
    state = Prague.on_delivery(START._replace(next=9.0), RULE.params, SEEN._replace(rtt=rtt))
    assert state.cwnd - 100.0 == pytest.approx(growth / 100.0)


def test_it_is_paced_at_a_window_per_round_trip() -> None:
    state = Prague.on_delivery(START._replace(next=9.0), RULE.params, SEEN)
    assert state.pacing_rate == pytest.approx(state.cwnd / 0.05)
