"""Which rules a fluid must show single ACKs."""

from __future__ import annotations

import pytest

from responsefn import AIMD, BIC, CUBIC, HSTCP, NewReno, Reno, Scalable, Tahoe, hystart
from responsefn.responses.event_checks import acts_on_single_acks
from tests.responsefn.simulation.kernel_rules import CountedReno, PerRound, Timer


@pytest.mark.parametrize(
    "rule", [Reno(), AIMD(0.3, 0.2), Scalable(), HSTCP(), BIC(), CUBIC()], ids=repr
)
def test_rules_that_add_the_same_at_each_ack_may_see_several(rule):
    assert not acts_on_single_acks(rule, 0.04, 2000.0, 150.0, 16.0)


@pytest.mark.parametrize("rule", [CountedReno(), PerRound(), Timer(), hystart(NewReno())], ids=repr)
def test_rules_that_act_at_some_acks_must_see_each(rule):
    assert acts_on_single_acks(rule, 0.04, 2000.0, 150.0, 16.0)
    assert acts_on_single_acks(rule, 0.001, 1e5, 150.0, 16.0)


def test_the_end_of_a_slow_start_is_as_exact_as_the_step() -> None:
    """Tahoe's slow start ends within the ACKs of one step: an eighth of a large window is too much."""
    assert acts_on_single_acks(Tahoe(), 0.06, 3e4, 2000.0, 8.0)
    assert not acts_on_single_acks(Tahoe(), 0.06, 3e4, 2000.0, 240.0)
