"""Numbers that the modules of this package agree on: kinds of events, flags of packets, repairs."""

from __future__ import annotations

__all__ = [
    "BACKPRESSURE",
    "CUT",
    "ENDED",
    "EVENTS",
    "FLUSH",
    "GAP",
    "GONE",
    "GO_BACK_N",
    "PAUSE",
    "POLL",
    "PUSHED",
    "READY",
    "RECEIVE_FEEDBACK",
    "REDUCED",
    "RENEW",
    "REPORT",
    "RESUME",
    "SELECTIVE",
    "SEND_FEEDBACK",
    "STOP",
    "UNMARKABLE",
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
REDUCED, UNMARKABLE, PUSHED = 1, 2, 4
"""Flags of a packet: CWR; not ECN-capable; PSH."""
GAP = 4
"""Flag of an ACK: a packet is missing."""
CUT = 8
"""Flag of a packet: only its header is left."""
GO_BACK_N, SELECTIVE = 1, 2
"""How a flow at the rate of a rule repairs losses; 0: not at all."""
