"""What responses need of a rule: every rule of the catalogue has it, and so may any other class."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import Reno, catalogue
from responsefn.responses.cycles import solve
from responsefn.responses.dynamics import Cycle, Event


@pytest.mark.parametrize("rule", catalogue("rule").entries, ids=repr)
def test_events_bring_a_rule_from_state_to_state(rule):
    state = rule.start(0.1, 1000.0)._replace(cwnd=50.0, ssthresh=2.0)
    for event in (rule.on_ack, rule.on_loss, rule.on_timeout):
        after = event(state, rule.params, Event(time=1.0, rtt=0.12))
        assert type(after) is rule.State
        assert 1.0 <= after.cwnd <= 60.0


def test_a_cycle_is_one_shape_and_its_rate_is_packets_over_duration():
    p = np.array([[1e-4], [1e-3]])
    cycle = solve(Reno(), p, np.array([0.05, 0.1, 0.2]), None)
    assert isinstance(cycle, Cycle)
    assert cycle.rate.shape == cycle.period.shape == (2, 3)
    np.testing.assert_allclose(cycle.rate * cycle.duration * p, 1.0, rtol=1e-12)
