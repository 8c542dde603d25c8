"""Numbers that the modules of this package agree on: kinds of events, and causes of drops."""

from __future__ import annotations

__all__ = [
    "AT_RANDOM",
    "BACKPRESSURE",
    "BUFFER_FULL",
    "BY_FAILURE",
    "BY_MANAGER",
    "BY_POLICER",
    "BY_WATCHDOG",
    "ENDED",
    "EVENTS",
    "EXPIRED",
    "FLUSH",
    "GONE",
    "PAUSE",
    "POLL",
    "READY",
    "RECEIVE_FEEDBACK",
    "RENEW",
    "REPORT",
    "RESUME",
    "SEND_FEEDBACK",
    "STOP",
    "TRIMMED",
    "WAKE",
]

EVENTS = range(-1, -15, -1)
"""Numbers of packets in calendar queues that are events, not packets: below zero."""
(
    WAKE,  # a timer of a sender or a receiver
    GONE,  # a free row: no event
    PAUSE,  # a message: the port pauses
    RESUME,  # and sends again
    RENEW,  # the quanta of a pause end, and are renewed
    SEND_FEEDBACK,  # a port reports its queues under DFC
    RECEIVE_FEEDBACK,  # and the one before it learns of them
    READY,  # an interface may begin its next transmission
    STOP,  # a flow sends no new packets any more
    POLL,  # a watchdog looks at its queues
    REPORT,  # a message of a law of flow control
    ENDED,  # a transmission under such a law has ended
    BACKPRESSURE,  # a message: one flow pauses or resumes
    FLUSH,  # a batch is passed on that is not full
) = EVENTS
(BUFFER_FULL, BY_MANAGER, AT_RANDOM, BY_WATCHDOG, TRIMMED, BY_POLICER, BY_FAILURE, EXPIRED) = range(8)
"""Causes of drops: columns of ``causes``, in the order of `dfcmodel.network.run_tables.CAUSES`."""
