"""Losses on their way in the reference, by hand: densities, stretches all lost, marks, two queues."""

from __future__ import annotations

import pytest

from tests.oracles.fluid.losses import LossCurve, pieces

Q = 2.0**-26


def curve(*stretches: tuple[float, float, float, float]) -> LossCurve:
    found = LossCurve(Q)
    for first, end, lost, marked in stretches:
        found.add(first, end, lost, marked, 0.0)
    return found


def test_what_came_is_a_curve_over_what_left() -> None:
    one = curve((4.0, 8.0, 2.0, 0.0), (10.0, 11.0, 1.0, 0.0))
    assert [one.came(left) for left in (3.0, 4.0, 5.0, 6.0, 8.0)] == [3.0, 4.0, 6.0, 8.0, 10.0]
    assert one.came(8.0, after=True) == 11.0  # behind the packet of which nothing leaves
    assert [one.left(came) for came in (3.0, 6.0, 8.0, 10.0, 11.0)] == [3.0, 5.0, 6.0, 8.0, 8.0]


def test_a_receiver_sees_each_density_for_itself() -> None:
    one = curve((4.0, 8.0, 2.0, 0.0), (10.0, 11.0, 1.0, 0.0))
    assert list(pieces([one], 3.0, 9.0)) == [
        (1.0, 1.0, 0.0),
        (2.0, 4.0, 0.0),
        (2.0, 2.0, 0.0),
        (0.0, 1.0, 0.0),
        (1.0, 1.0, 0.0),
    ]
    assert list(pieces([one], 3.0, 3.0)) == []


def test_short_stretches_that_touch_are_one() -> None:
    one = curve((4.0, 4.5, 0.1, 0.0), (4.5, 5.0, 0.3, 0.0), (6.0, 6.5, 0.1, 0.0))
    assert [(each.first, each.end, each.lost) for each in one.stretches] == [
        (4.0, 5.0, pytest.approx(0.4)),
        (6.0, 6.5, 0.1),
    ]


def test_what_was_read_of_a_stretch_stays_as_it_was() -> None:
    one = curve((4.0, 4.5, 0.25, 0.0))
    one.add(4.5, 5.0, 0.25, 0.0, 4.125)  # half of what left of the stretch was read
    assert [(each.first, each.end, each.lost) for each in one.stretches] == [
        (4.0, 4.25, 0.125),
        (4.25, 5.0, 0.375),
    ]


def test_a_packet_is_marked_once_and_a_lost_one_not_at_all() -> None:
    all_marked = curve((0.0, 8.0, 0.0, 8.0))
    half_marked = curve((0.0, 8.0, 0.0, 4.0))
    half_lost = curve((0.0, 8.0, 4.0, 0.0))
    assert list(pieces([all_marked, all_marked], 0.0, 2.0)) == [(2.0, 2.0, 2.0)]
    assert list(pieces([half_marked, half_marked], 0.0, 4.0)) == [(4.0, 4.0, 3.0)]
    assert list(pieces([all_marked, half_lost], 0.0, 2.0)) == [(2.0, 4.0, 2.0)]
    both = curve((0.0, 4.0, 0.0, 4.0))
    both.add(0.0, 4.0, 3.0, 0.0, 0.0)  # three of four are lost in the same step
    assert list(pieces([both], 0.0, 1.0)) == [(1.0, 4.0, 1.0)]
