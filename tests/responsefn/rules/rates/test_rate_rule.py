"""Rate rules of users: what they must write, and how they begin."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest

from responsefn import DCQCN, Elapsed, Feedback, RateRule


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
