"""Events in calendar queues are packets with numbers below zero: each kind has its own."""

from __future__ import annotations

from dfcmodel.packets.kernel.codes import (
    BACKPRESSURE,
    ENDED,
    EVENTS,
    FLUSH,
    GONE,
    PAUSE,
    POLL,
    READY,
    RECEIVE_FEEDBACK,
    RENEW,
    REPORT,
    RESUME,
    SEND_FEEDBACK,
    STOP,
    WAKE,
)


def test_numbers_of_events_are_distinct() -> None:
    numbers = [
        BACKPRESSURE, ENDED, FLUSH, GONE, PAUSE, POLL, READY, RECEIVE_FEEDBACK, RENEW, REPORT, RESUME, SEND_FEEDBACK, STOP, WAKE,
    ]  # fmt: skip
    assert len(set(numbers)) == len(numbers)
    assert max(numbers) < 0
    assert set(numbers) == set(EVENTS)
