"""Tables that a run of either level fills for its result: drops by cause, rooms that were too small, what waits at the end."""

from __future__ import annotations

import numpy as np

__all__ = [
    "AT_RANDOM",
    "BUFFER_FULL",
    "BY_FAILURE",
    "BY_MANAGER",
    "BY_POLICER",
    "BY_WATCHDOG",
    "CAUSES",
    "DROPPED",
    "EXCESS",
    "EXPIRED",
    "LAST_PART",
    "TRIMMED",
    "WAITING",
]

CAUSES = ("buffer", "manager", "random", "watchdog", "trimmed", "policer", "failure", "ttl")
"""Why packets were dropped: no room, by a queue manager or switch program, at random on the link, by a watchdog of pauses,
their data was cut by a switch program and the header alone reached the receiver, by a policer, their link was down, or their time
to live was over."""
BUFFER_FULL, BY_MANAGER, AT_RANDOM, BY_WATCHDOG, TRIMMED, BY_POLICER, BY_FAILURE, EXPIRED = range(len(CAUSES))
LAST_PART = 0.25
"""The last part of a run, in which nothing moves where it has come to a standstill."""

DROPPED = np.dtype(
    [(name, np.int64) for name in ("flow", "link", "cause", "ack")] + [("packets", np.float64), ("first", np.float64)]
)
"""Drops of a flow at a link by one cause (place in `CAUSES`), of its packets or (``ack`` = 1) its ACKs; when the first
was, s."""
EXCESS = np.dtype([(name, np.int64) for name in ("link", "via", "priority")] + [("packets", np.float64)])
"""The most packets of an ingress without room in one pause: of the link that counts them, the link over which they came
(-1 - flow: the access link of a host) and their class; the last two are ALL for all of a link with `Pause`."""
WAITING = np.dtype([(name, np.int64) for name in ("link", "via", "flow", "ack", "still")] + [("packets", np.float64)])
"""Packets (``ack`` = 1: ACKs) of a flow that wait at a link at the end of a run (-1 - flow: at the access link of a host);
the link over which they came (-1 - flow: from their host); ``still`` = 1: nothing left the queue that they stand in
during the last part of the run, `LAST_PART`."""
