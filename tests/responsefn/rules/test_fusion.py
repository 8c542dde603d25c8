"""TCP-Fusion, step by step as on its slides."""

from __future__ import annotations

import pytest

from responsefn import Fusion
from responsefn.responses.dynamics import Event


def state_with(waiting, rtt=0.044, base=0.04):
    """A window of which so many packets wait in the queue, and an estimate for alpha = 2 packets."""
    rule = Fusion()
    window = waiting * rtt / (rtt - base)
    return rule, rule.State(window, 2.0, base, 2000.0, 2000.0, 1.0), Event(1.0, rtt)


@pytest.mark.parametrize(
    ("waiting", "step"),
    [
        (1.0, 2.0),  # B D_min = 2000 packets/s * 1 ms
        (4.0, 0.0),  # between alpha and 3 alpha
        (9.0, 2.0 - 9.0),  # alpha - N above 3 alpha
    ],
)
def test_the_three_regions_of_the_queue(waiting, step):
    rule, state, event = state_with(waiting)
    grown = rule.on_ack(state, rule.params, event)
    assert (grown.cwnd - state.cwnd) * state.cwnd == pytest.approx(step, abs=1e-9)


def test_a_loss_keeps_what_the_path_holds_and_no_less_than_half():
    rule, state, _ = state_with(4.0)
    for rtt, kept in ((0.044, 0.04 / 0.044), (0.1, 0.5)):
        after = rule.on_loss(state, rule.params, Event(1.0, rtt))
        assert after.cwnd == pytest.approx(kept * state.cwnd)


def test_it_is_never_below_renos_window():
    rule, state, event = state_with(9.0)
    above = state._replace(reno=2 * state.cwnd)
    grown = rule.on_ack(above, rule.params, event)
    assert grown.cwnd == pytest.approx(2 * state.cwnd + 1 / state.cwnd)
