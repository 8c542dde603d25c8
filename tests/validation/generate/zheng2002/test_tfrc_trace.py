"""A TFRC receiver: which intervals were closed, and which packets began them."""

from __future__ import annotations

import pytest

from validation.generate.zheng2002 import tfrc_trace


@pytest.mark.simulators
def test_ns2_repeats_the_bundled_rows(repeats) -> None:
    repeats("zheng2002/tfrc-receiver-trace", seed=1)


def test_closed_intervals_shift_the_history() -> None:
    old = [5, 40, 30, 20, 10]
    assert tfrc_trace.shifts(old, [9, 40, 30, 20, 10]) == 0
    assert tfrc_trace.shifts(old, [2, 7, 40, 30, 20]) == 1
    assert tfrc_trace.shifts(old, [1, 3, 7, 40, 30]) == 2
    with pytest.raises(RuntimeError, match="histories do not fit"):
        tfrc_trace.shifts(old, [1, 1, 1, 1, 1])


def test_events_begin_at_lost_packets() -> None:
    lost = {3, 10, 12, 20}
    packets = {s: {"lost": float(s in lost)} for s in range(30)}
    assert tfrc_trace.event_begins([7, 10], packets) == [10, 20]
    with pytest.raises(RuntimeError, match="do not fit the lost packets"):
        tfrc_trace.event_begins([7, 11], packets)
