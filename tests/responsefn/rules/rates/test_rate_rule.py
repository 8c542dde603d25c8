"""Rate rules of users: what they must write, and how they begin."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest

from responsefn import DCQCN, Elapsed, Feedback, FixedRate, RateRule


class Halving(RateRule):
    class State(NamedTuple):
        rate: float = math.inf
        line_rate: float = 0.0
        marks: float = 0.0

    @staticmethod
    def on_feedback(s, q, e):
        return s._replace(rate=0.5 * s.rate, marks=s.marks + e.marks)


def test_a_sender_begins_at_line_rate_and_stays_there_without_feedback() -> None:
    rule = Halving()
    state = rule.start(line_rate=2e5)
    assert state == (2e5, 2e5, 0.0)
    assert rule.on_time(state, rule.params, Elapsed(1.0, 1e-6, 0.2)) == state


def test_feedback_tells_acks_and_marks_apart() -> None:
    rule = Halving()
    state = rule.on_feedback(rule.start(100.0), rule.params, Feedback(0.1, 0.05, 7.0, 2.5))
    assert (state.rate, state.marks) == (50.0, 2.5)


def test_a_rule_without_feedback_is_incomplete() -> None:
    with pytest.raises(TypeError, match="on_feedback"):
        type("Nothing", (RateRule,), {})()


def test_a_rule_states_its_source_or_none() -> None:
    assert Halving().cite() == "Halving: no source stated"
    assert not Halving().uses_closed_form()
    assert "SIGCOMM 2015" in DCQCN().cite()


def test_a_constant_rate_is_at_most_that_of_the_line_and_follows_nothing() -> None:
    assert FixedRate().start(1e6).rate == 1e6
    assert FixedRate(sending_rate=2e6).start(1e6).rate == 1e6
    rule = FixedRate(sending_rate=2e5)
    state = rule.start(1e6)
    assert rule.on_feedback(state, rule.params, Feedback(0.1, 0.05, 7.0, 2.5)) == state
    assert rule.is_constant
    assert not DCQCN().is_constant


@pytest.mark.parametrize("given", [0.0, -1.0, math.nan, "fast", None, [1.0, 2.0]])
def test_a_constant_rate_is_a_number_above_0_or_inf(given: object) -> None:
    with pytest.raises((ValueError, TypeError), match="sending_rate"):
        FixedRate(sending_rate=given)
