"""Parts of BBR's model: flight, headroom, slope."""

from __future__ import annotations

import pytest

from responsefn import BBR
from responsefn.rules.deliveries import bbr_model

STATE = BBR.State()._replace(bw_now=1000.0, min_rtt=0.05, pacing_rate=1000.0)


def test_flight_is_the_product_and_at_least_four() -> None:
    assert bbr_model.inflight(STATE, 2.0) == 100.0
    assert bbr_model.inflight(STATE._replace(bw_now=10.0), 1.0) == 4.0
    assert bbr_model.inflight(STATE._replace(mode=5.0), 2.0) == 102.0


def test_headroom_is_a_part_of_the_bound() -> None:
    """Sect. 5.3.3.4: 15 % less, at least one packet less, at least four."""
    q = BBR().params
    assert bbr_model.with_headroom(STATE._replace(inflight_longterm=100.0), q) == 85.0
    assert bbr_model.with_headroom(STATE._replace(inflight_longterm=5.0), q) == 4.0


def test_the_bound_grows_faster_round_by_round() -> None:
    """RaiseInflightLongtermSlope: 1, 2, 4, ... packets per round."""
    state = STATE._replace(cwnd=64.0)
    steps = []
    for _ in range(4):
        state = bbr_model.steeper(state)
        steps.append(64.0 / state.probe_up_acked_per_inc)
    assert steps == pytest.approx([1.0, 2.0, 4.0, 8.0])
