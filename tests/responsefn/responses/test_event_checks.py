"""Which rules a fluid must show single ACKs."""

from __future__ import annotations

import math

import pytest

from responsefn import AIMD, BIC, CUBIC, HSTCP, NewReno, Reno, Scalable, Tahoe, hystart
from responsefn.responses.event_checks import acts_on_single_acks
from responsefn.rules.base import Event
from tests.responsefn.simulation.kernel_rules import RULES, CountedReno, PerRound, Timer


@pytest.mark.parametrize("rule", [Reno(), AIMD(0.3, 0.2), Scalable(), HSTCP(), CUBIC()], ids=repr)
def test_rules_that_add_the_same_at_each_ack_may_see_several(rule):
    assert not acts_on_single_acks(rule, 0.04, 2000.0, 150.0, 16.0)


@pytest.mark.parametrize("rule", [CountedReno(), PerRound(), Timer(), hystart(NewReno())], ids=repr)
def test_rules_that_act_at_some_acks_must_see_each(rule):
    assert acts_on_single_acks(rule, 0.04, 2000.0, 150.0, 16.0)
    assert acts_on_single_acks(rule, 0.001, 1e5, 150.0, 16.0)


@pytest.mark.parametrize("rule", [Tahoe(), BIC()], ids=repr)
def test_rules_that_change_their_growth_at_a_window_must_see_each(rule):
    """A slow start, or a search, that ends within the ACKs of one step: 1 to 4 % of the time of a cycle."""
    assert acts_on_single_acks(rule, 0.06, 3e4, 2000.0, 16.0)


def cycles(rule, rtt, packets, amount, losses=12):
    """Return the time in s of loss cycles of so many packets; each event is for ``amount(cwnd)`` ACKs.

    An event for several ACKs moves the fields that are not assigned by that multiple, as in the fluid.
    """
    state = rule.start(rtt, None)._replace(cwnd=math.sqrt(8.0 * packets / 3.0), ssthresh=2.0)
    state = rule.on_loss(state, rule.params, Event(100.0, rtt))
    now = 100.0
    for _ in range(losses):
        left = packets
        while left > 0.0:
            acks = min(left, amount(state.cwnd))
            now += acks * rtt / state.cwnd
            new = rule.on_ack(state, rule.params, Event(now, rtt))
            if acks != 1.0:
                new = type(state)(
                    *(
                        after if name in rule.assigned else before + acks * (after - before)
                        for name, before, after in zip(state._fields, state, new, strict=True)
                    )
                )
            state = new
            left -= acks
        state = rule.on_loss(state, rule.params, Event(now, rtt))
    return now - 100.0


@pytest.mark.parametrize("rtt", [0.001, 0.01, 0.1, 0.6])
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_rules_that_see_several_acks_at_once_come_to_the_times_of_single_ones(rule, rtt):
    """Loss cycles by plain Python, of other lengths than those that the decision compares.

    In small windows a step has a part of an ACK, and in large ones several. The decision allows 0.5 %; cycles of
    other lengths may differ by a little more.
    """
    if acts_on_single_acks(rule, rtt, None, 300.0, 16.0):
        return
    for packets in (150, 2000):
        alone = cycles(rule, rtt, packets, lambda cwnd: 1.0)
        steps = cycles(rule, rtt, packets, lambda cwnd: max(0.25, cwnd / 16.0))
        assert steps == pytest.approx(alone, rel=0.007)


def test_which_kernel_rules_see_several_acks_at_once():
    """Most act at some ACKs only; the others add the same at each of them and change at losses."""
    assert {type(rule).__name__ for rule in RULES if not acts_on_single_acks(rule, 0.1, None, 300.0, 16.0)} == {
        "Hysteresis", "Alternating", "TenthLoss",
    }  # fmt: skip
