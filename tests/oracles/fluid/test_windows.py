"""Window rules in the reference: ACKs of parts of packets, losses, marks."""

from __future__ import annotations

import pytest

from responsefn import DCTCP, NewReno
from tests.oracles.fluid.windows import Window


def test_several_acks_move_the_window_by_that_multiple_in_parts_of_it() -> None:
    one = Window(NewReno(), 0.1, 64.0)
    begin = one.cwnd
    one.grow(0.0, 0.01, (0.1, 0.1), 0.5)
    assert one.cwnd == begin + 0.5  # slow start
    one.state = one.state._replace(cwnd=8.0, ssthresh=4.0)
    one.grow(0.0, 0.01, (0.1, 0.1), 2.0)
    first = 8.0 + 1.0 / 8.0
    assert one.cwnd == pytest.approx(first + (1.0 - (first * 0.125 - 1.0)) / first, rel=2e-3)


def test_single_acks_arrive_evenly_in_a_step() -> None:
    """Two ACKs in a step of 10 ms, half an ACK pending: after a quarter and three quarters of it."""
    seen = []

    class Recorder(NewReno):
        @staticmethod
        def on_ack(s, q, e):
            seen.append((e.time, e.rtt))
            return s

    one = Window(Recorder(), 0.1, 64.0, single=True)
    one.part = 0.5
    one.grow(1.0, 0.01, (0.1, 0.2), 2.0)
    assert [time for time, _ in seen] == pytest.approx([0.9925, 0.9975])
    assert [rtt for _, rtt in seen] == pytest.approx([0.125, 0.175], rel=1e-8)
    assert one.part == 0.5


def test_a_loss_halves_what_the_receiver_allows() -> None:
    one = Window(NewReno(), 0.1, 20.0)
    one.state = one.state._replace(cwnd=30.0)
    one.reduce("on_loss", 1.0, 0.1)
    assert one.cwnd == 10.0
    one.reduce("on_timeout", 1.0, 0.1)
    assert one.cwnd == 1.0


def test_a_rule_that_answers_marks_hears_how_many() -> None:
    one = Window(DCTCP(), 0.1, 64.0)
    assert one.answers_marks
    before = one.state
    one.hear_marks(1.0, 0.1, 4.0, 2.0)
    assert one.state != before
    assert not Window(NewReno(), 0.1, 64.0).answers_marks
