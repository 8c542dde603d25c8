"""Events in calendar queues are packets with numbers below zero: each kind has its own."""

from __future__ import annotations

from dfcmodel.packets.kernel import (
    backpressure,
    diffusion,
    interfaces,
    laws,
    path_elements,
    pauses,
    timers,
    watchdogs,
)


def test_numbers_of_events_are_distinct() -> None:
    numbers = [
        backpressure.BACKPRESSURE, interfaces.READY, laws.REPORT, laws.ENDED, path_elements.FLUSH,
        pauses.PAUSE, pauses.RESUME, pauses.RENEW, diffusion.SEND_FEEDBACK, diffusion.RECEIVE_FEEDBACK, timers.WAKE, timers.STOP, watchdogs.POLL,
    ]  # fmt: skip
    assert len(set(numbers)) == len(numbers)
    assert max(numbers) < 0
