"""FAST TCP's update against its equation."""

from __future__ import annotations

import pytest

from responsefn import FAST
from responsefn.responses.dynamics import Event


@pytest.mark.parametrize("rtt", [0.04, 0.05, 0.08])
def test_a_window_of_acks_is_one_update(rtt):
    """w <- min(2w, (1-gamma) w + gamma (base/rtt w + alpha)), to the order of a packet's share."""
    rule, window = FAST(alpha=20.0, gamma=0.5), 1000.0
    state = rule.State(window, 2.0, 0.04)
    for _ in range(1000):
        state = rule.on_ack(state, rule.params, Event(0.0, rtt))
    update = min(2 * window, 0.5 * window + 0.5 * (0.04 / rtt * window + 20.0))
    # the window moves while the ACKs come: by up to 1/4 of it at twice the delay
    assert state.cwnd - window == pytest.approx(update - window, rel=0.13)


def test_it_rests_with_alpha_packets_in_the_queue():
    rule, window = FAST(alpha=20.0), 100.0
    rtt = 0.04 * window / (window - 20.0)
    state = rule.State(window, 2.0, 0.04)
    assert rule.on_ack(state, rule.params, Event(0.0, rtt)).cwnd == pytest.approx(window, rel=1e-12)
