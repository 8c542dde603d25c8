"""Transmission of a packet by a window sender: flags, RTT measurement, retransmission timer."""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import inlined

from ..calendar_queue import OUT
from ..codes import PUSHED, REDUCED, UNMARKABLE
from ..layout import NATIVE
from .native_rules import on_native_sent
from .ns2 import is_ns2
from .timers import NOW, set_timer

__all__ = ["output"]


@inlined
def output(net: Any, senders: Any, f: int, number: int) -> None:
    """Add packet ``number`` of flow f to ``out`` with its flags; start an RTT sample and the timer if none runs."""
    counters = net.counters
    s = senders.flow[f]
    idle = s.snd_una == s.snd_max
    is_new = number >= s.snd_max
    flags = 0
    if is_new:  # RFC 3168, 6.1.2
        flags = s.reduced * REDUCED + s.not_ect * UNMARKABLE
        s.reduced = 0
    elif s.accurate == 0 and not is_ns2(senders):  # 6.1.5: retransmissions are not ECN-capable
        flags = UNMARKABLE
    if s.segments == 1:
        flags += s.pushing * PUSHED
        s.wrote_at = senders.clock[NOW]
        s.written -= is_new
    senders.out[counters[OUT], 0] = number
    senders.out[counters[OUT], 1] = flags
    counters[OUT] += 1
    if is_new:
        s.snd_max = number + 1
        if s.timing == 0:  # one sample per round trip (RFC 6298, 3), of new data (Karn's algorithm)
            s.timing = 1
            if number > s.timed:
                s.timed = number
                s.timed_at = senders.clock[NOW]
    if idle or s.deadline == math.inf:  # RFC 6298, 5.1
        set_timer(net, senders, f)
    if s.listed == NATIVE and number >= s.opening:
        on_native_sent(net, senders, f, number, is_new)
