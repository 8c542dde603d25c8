"""What rules that go by the queueing delay share."""

from __future__ import annotations

import pytest

from responsefn import FAST, LinuxVegas, NS2Vegas, Vegas
from responsefn.rules.delay_based import queued


def test_queued_is_what_the_path_does_not_hold():
    """A window W at the rate W/R holds W base/R on the path: the rest waits (Little)."""
    assert queued(100.0, 0.04, 0.05) == pytest.approx(100.0 - 100.0 / 0.05 * 0.04)
    assert queued(100.0, 0.04, 0.04) == 0.0


@pytest.mark.parametrize("rule", [Vegas(), LinuxVegas(), NS2Vegas(), FAST()], ids=repr)
def test_all_halve_at_a_loss(rule):
    state = rule.on_loss(rule.State(64.0, 100.0, 0.04), rule.params, None)
    assert (state.cwnd, state.ssthresh) == (32.0, 32.0)
