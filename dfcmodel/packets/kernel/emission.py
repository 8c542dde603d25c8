"""A packet that a window sender sends: its flags, its RTT measurement, its timer."""

from __future__ import annotations

import math
from typing import Any

from .calendar_queue import OUT
from .jit import inlined
from .timers import NOW, NS2, set_timer

__all__ = ["REDUCED", "UNMARKABLE", "output"]

REDUCED, UNMARKABLE = 1, 2  # flags of a packet: CWR; not ECN-capable


@inlined
def output(net: Any, senders: Any, f: int, number: int) -> None:
    """Send a packet; start its RTT measurement and the retransmission timer if needed."""
    counters = net.counters
    s = senders.flow[f]
    idle = s.snd_una == s.snd_max
    flags = 0
    if number >= s.snd_max:  # RFC 3168, 6.1.2 and 6.1.5
        flags = s.reduced * REDUCED + s.not_ect * UNMARKABLE
        s.reduced = 0
    elif s.accurate == 0 and senders.clock[NS2] == 0.0:
        flags = UNMARKABLE
    senders.out[counters[OUT], 0] = number
    senders.out[counters[OUT], 1] = flags
    counters[OUT] += 1
    if number >= s.snd_max:
        s.snd_max = number + 1
        if s.timing == 0:
            s.timing = 1
            if number > s.timed:
                s.timed = number
                s.timed_at = senders.clock[NOW]
    if idle or s.deadline == math.inf:
        set_timer(net, senders, f)
